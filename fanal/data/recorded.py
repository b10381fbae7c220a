"""What a recorded step read: the order of a run, made again from its record, and the documents at one row of it.

Guarantees that the corpus beside the record is the one that the record names, by its fingerprint; from there
on it is the arithmetic of `trace.py`. Row s of a run is written after its s-th step and stands for positions
[(s − 1) · batch_seqs, s · batch_seqs); row 0 comes before the first step and read nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fanal.campaign.spec import Mixture, Phase
from fanal.data.corpus import Corpus, load_corpus
from fanal.data.mixture import make_stretches
from fanal.data.order import Order
from fanal.data.show import trace_text
from fanal.data.trace import TracedSeq, trace
from fanal.errors import DataError, RecordError
from fanal.record.reading.read import Record, RunView, open_record


@dataclass(frozen=True)
class TracedStep:
    """What one step of a run read."""

    run: str
    step: int
    sequences: tuple[TracedSeq, ...]

    @property
    def text(self) -> str:
        """For a terminal."""
        return f"{self.run}, step {self.step}\n{trace_text(self.sequences)}".rstrip("\n")

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def trace_step(path: Path, run: str, step: int) -> TracedStep:
    """The documents that `step` of `run` read; `path` is a campaign's folder or its record, the corpus beside it.

    Raises:
        RecordError: no such run, or a record without a campaign.
        DataError: the corpus is not there, or is not the one that the run drew from; no such step.
    """
    record = open_record(path)
    if run not in record.runs:
        raise RecordError(f"{record.path} has no run {run!r}; there are {', '.join(record.runs)}")
    view, corpus = record.runs[run], recorded_corpus(record)
    config = view.config
    num_steps, batch_seqs = int(config["num_steps"]), int(config["batch_seqs"])
    if not 1 <= step <= num_steps:
        raise DataError(f"run {run} has steps 1 to {num_steps}, got {step}")
    positions = range((step - 1) * batch_seqs, step * batch_seqs)
    return TracedStep(run, step, tuple(trace(corpus, recorded_order(record, view, corpus), positions)))


def recorded_corpus(record: Record) -> Corpus:
    """The corpus beside the record, held against the fingerprint in it."""
    named = _last(record, "corpus")["fingerprint"]
    corpus = load_corpus(record.path.parent / "data")
    if corpus.fingerprint != named:
        raise DataError(
            f"{corpus.path} has fingerprint {corpus.fingerprint[:12]}, the record names {str(named)[:12]}: "
            "it was built from other settings; `fanal data build` with the campaign of the record makes it again"
        )
    return corpus


def recorded_order(record: Record, view: RunView, corpus: Corpus) -> Order:
    """The order in which a recorded run draws."""
    mixture = _last(record, "plan")["resolved"]["campaign"]["mixture"]
    phases = tuple(Phase(float(p["until"]), {k: float(w) for k, w in p["weights"].items()}) for p in mixture["phase"])
    domains = tuple(d.name for d in corpus.domains)
    total_seqs = int(view.config["num_steps"]) * int(view.config["batch_seqs"])
    stretches = make_stretches(Mixture(phases), domains, total_seqs)
    return Order(domains, tuple(d.num_seqs for d in corpus.domains), stretches, int(view.config["seed"]))


def _last(record: Record, kind: str) -> Mapping[str, Any]:
    events = record.campaign.events(kind) if record.campaign else []
    if not events:
        raise RecordError(f"{record.path} holds no {kind!r} event of a campaign: its steps cannot be traced")
    return events[-1].fields

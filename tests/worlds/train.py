"""A tiny training without a corpus: a run of 12 steps, batches and eval sets that are functions of integers.

Tokens of a row count upwards by small steps from a random start, so that a model learns within a dozen steps; each row
holds two documents. `Kept` is a recorder that can be looked into.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fanal.campaign.derived import RunPlan
from fanal.campaign.plan import plan_campaign
from fanal.data.batches import Batch, make_batch
from fanal.record.attempt import Start, start
from fanal.train.compile import Compiler, compiling
from fanal.train.inputs import LoopSettings, TrainInputs
from fanal.train.loop import resume_point, train
from fanal.train.stop import StopFlag, stop_on_signals
from tests.worlds.campaign import tiny_campaign

DOMAINS = ("verse", "code", "ledger")
SEQ_TOKENS, VOCAB = 32, 300
BYTES_PER_TOKEN = 3


def tiny_run(num_steps: int = 12, **changes: Any) -> RunPlan:
    """The tiny campaign's smallest run, `num_steps` long; pulse every 3 steps, full at the end."""
    run = plan_campaign(tiny_campaign()).runs[0]
    pulse = (*range(0, num_steps, 3), num_steps)
    steps = {"pulse_steps": pulse, "full_steps": (num_steps,), "sample_steps": (), "checkpoint_steps": (num_steps,)}
    return replace(run, num_steps=num_steps, tokens=num_steps * run.batch_tokens, **(steps | changes))


def made_row(number: int) -> np.ndarray:
    """The row of one position: seq_tokens + 1 ids, with a separator at a place of its own."""
    rng = np.random.default_rng(number)
    ids = (rng.integers(VOCAB) + rng.integers(0, 4, SEQ_TOKENS + 1).cumsum()) % (VOCAB - 1) + 1
    ids[rng.integers(4, SEQ_TOKENS - 4)] = 0
    return ids.astype(np.int32)


class MadeBatches:
    """Position p holds a row of domain p mod 3; every position asked for is remembered."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def batch(self, position: int, num_seqs: int) -> Batch:
        self.asked.append(position)
        rows = np.stack([made_row(p) for p in range(position, position + num_seqs)])
        return make_batch(rows, position, tuple(p % 3 for p in range(position, position + num_seqs)))

    def domain_tokens(self, position: int) -> dict[str, int]:
        return {name: SEQ_TOKENS * len(range(d, position, 3)) for d, name in enumerate(DOMAINS)}


@dataclass(frozen=True)
class MadeEvalSet:
    """Some rows of each domain, out of the batches' reach."""

    rows: Mapping[str, int]

    @property
    def domains(self) -> tuple[str, ...]:
        return tuple(self.rows)

    def batches(self, domain: str, batch_seqs: int, seq_tokens: int) -> Iterator[Batch]:
        assert seq_tokens == SEQ_TOKENS
        first = 1_000_000 * (1 + self.domains.index(domain))
        numbers = range(first, first + self.rows[domain])
        for begin in range(0, len(numbers), batch_seqs):
            part = [made_row(number) for number in numbers[begin : begin + batch_seqs]]
            lack = batch_seqs - len(part)
            batch = make_batch(np.stack(part + [np.zeros(seq_tokens + 1, np.int32)] * lack), 0, ())
            real = np.arange(batch_seqs)[:, None] < len(part)
            yield replace(batch, valid_BS=batch.valid_BS & real, scored_BS=batch.scored_BS & real)

    def bytes_scored(self, domain: str) -> int:
        return BYTES_PER_TOKEN * sum(int(batch.scored_BS.sum()) for batch in self.batches(domain, 1, SEQ_TOKENS))


class Letters:
    """A tokenizer whose ids are characters."""

    def encode(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


@dataclass
class Kept:
    """A recorder in memory."""

    rows: dict[int, dict[str, float]] = field(default_factory=dict[int, dict[str, float]])
    events: list[tuple[str, int | None, dict[str, Any]]] = field(default_factory=list[Any])
    order: list[tuple[str, int | None]] = field(default_factory=list[Any])
    ended: list[tuple[str, str | None]] = field(default_factory=list[Any])

    def log(self, metrics: Mapping[str, float | int], step: int | None = None) -> None:
        assert step is not None
        self.order.append(("row", step))
        self.rows.setdefault(step, {}).update(metrics)

    def event(self, kind: str, step: int | None = None, **fields: Any) -> None:
        self.order.append((kind, step))
        self.events.append((kind, step, fields))

    def finish(self, outcome: str = "finished", reason: str | None = None) -> None:
        self.ended.append((outcome, reason))

    def steps(self, key: str) -> list[int]:
        """The steps at which `key` was logged."""
        return sorted(step for step, row in self.rows.items() if key in row)


def tiny_inputs(compiler: Compiler, checkpoints: Path | None, **changes: Any) -> TrainInputs:
    """Inputs of one attempt, all fresh but the compiler."""
    inputs = TrainInputs(
        batches=MadeBatches(),
        eval_sets={
            "pulse": MadeEvalSet(dict.fromkeys(DOMAINS, 2)),
            "full": MadeEvalSet({"verse": 9, "code": 5, "ledger": 1}),
        },
        record=Kept(),
        checkpoints=checkpoints,
        data_fingerprint="made",
        compiler=compiler,
        stop=StopFlag(),
        settings=LoopSettings(norms_every_steps=5, temporary_seconds=1e9, quiet=True),
    )
    return replace(inputs, **changes)


KILLED_STEPS = 60


class Telling(MadeBatches):
    """Batches that say on standard output which step they are drawn for."""

    def batch(self, position: int, num_seqs: int) -> Batch:
        print("step", position // num_seqs + 1, flush=True)
        return super().batch(position, num_seqs)


def train_in_process() -> None:
    """The whole of a child process: train in the folder that is its argument, saving at every step."""
    folder = Path(sys.argv[1])
    checkpoints = folder / "ckpt" / "d16"
    run = tiny_run(KILLED_STEPS, checkpoint_steps=(25, KILLED_STEPS))
    with stop_on_signals() as stop, compiling() as compiler:
        record = start(folder / "record", Start(id="d16", role="rung", from_step=resume_point(checkpoints)))
        settings = LoopSettings(norms_every_steps=5, temporary_seconds=0.0, quiet=True)
        inputs = tiny_inputs(compiler, checkpoints, record=record, stop=stop, settings=settings, batches=Telling())
        result = train(run, inputs)
    print(json.dumps({"outcome": result.outcome, "step": result.step}))

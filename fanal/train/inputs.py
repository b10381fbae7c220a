"""What a training reads, writes and ends with, as types.

Everything a training may touch besides its plan stands here, so that a test can give it made-up batches and a
sweep can run without a record. Nothing here does anything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fanal.data.batches import Batch
from fanal.evals.perplexity import EvalSet
from fanal.train.compile import Compiler
from fanal.train.journal import Recorder
from fanal.train.stop import StopFlag


class Batches(Protocol):
    """The part of `fanal.data.batches.BatchSource` that a training needs."""

    def batch(self, position: int, num_seqs: int) -> Batch: ...

    def domain_tokens(self, position: int) -> dict[str, int]: ...


class Text(Protocol):
    """The part of `fanal.data.tokens.Tokenizer` that samples need."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str: ...


Foretold = Callable[[int, Mapping[str, float]], Sequence[Mapping[str, Any]]]
"""From a step and the metrics measured there to the fields of `forecast.score` events."""


@dataclass(frozen=True)
class Samples:
    """Prompts that the model continues at the plan's sample steps."""

    tokenizer: Text
    prompts: tuple[str, ...]
    tokens: int = 48
    """Tokens of a continuation."""


@dataclass(frozen=True)
class LoopSettings:
    """How densely a training writes and saves; changes no number of the model."""

    norms_every_steps: int = 10
    temporary_seconds: float = 60.0
    """Between two checkpoints of which the next replaces the last."""
    quiet: bool = False
    """No progress on standard error."""


@dataclass(frozen=True)
class TrainInputs:
    """Everything a training touches besides its plan."""

    batches: Batches
    eval_sets: Mapping[str, EvalSet]
    """`pulse` and `full`."""
    record: Recorder
    """The run in the record, its attempt begun with `from_step=resume_point(checkpoints)`; ended by the training."""
    checkpoints: Path | None
    """The run's folder, `<campaign>/ckpt/<run>`; None saves nothing and resumes nothing."""
    data_fingerprint: str
    """SHA-256 of corpus and mixture: a checkpoint of other data is refused."""
    compiler: Compiler
    stop: StopFlag
    samples: Samples | None = None
    settings: LoopSettings = LoopSettings()
    foretold: Foretold | None = None
    """Holds a forecast against what was measured, for the run it foretells."""


@dataclass(frozen=True)
class TrainResult:
    """What a training ended with."""

    run: str
    outcome: str
    """`finished` or `interrupted`."""
    step: int
    """Updates attempted."""
    updates: int
    """Updates applied."""
    tokens: int
    """Tokens drawn."""
    scores: Mapping[str, float]
    """The last pulse and full scores, by their keys in the record (`eval/full/macro`, …)."""
    seconds: Mapping[str, float]
    """Wall time by part (`clock.PARTS`), all attempts together."""

    @property
    def interrupted(self) -> bool:
        return self.outcome == "interrupted"

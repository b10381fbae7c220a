"""The table of event kinds: every typed fact that a record can hold, and each kind's fields.

An event is a kind, the run, attempt and writer it belongs to, the writer's sequence number, the
time (ns since 1970, UTC), a step or none, and the fields named here. Unknown fields and missing
ones are errors where the event is born. `python -m fanal.record.events > docs/events.md` writes the page.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

Json = Any
"""What `json` can hold, and floats that are not finite (`values.py` says how those travel)."""


@dataclass(frozen=True)
class Field:
    """One field of an event."""

    type: str
    """`str`, `int`, `float`, `bool`, `object`, `list`; a final `?` says that it may be null or absent."""
    text: str


@dataclass(frozen=True)
class EventKind:
    """One kind of event."""

    text: str
    fields: Mapping[str, Field]


@dataclass(frozen=True)
class Event:
    """One fact, as read back."""

    kind: str
    run: str
    attempt: int
    writer: str
    sequence: int
    time_ns: int
    step: int | None
    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])


KINDS: dict[str, EventKind] = {
    "attempt.start": EventKind(
        "An attempt of a run begins: a start, a resume, a rewind or a fork",
        {
            "role": Field("str", "`run`, `rung`, `hero` or `campaign`"),
            "cause": Field("str", "`start`, `resume`, `rewind` or `fork`"),
            "name": Field("str?", "the run's name for people"),
            "project": Field("str?", "project, as given to `init`"),
            "from_step": Field(
                "int?", "first step of this attempt; rows of earlier attempts from it on are superseded"
            ),
            "from_attempt": Field("int?", "the attempt it goes on from"),
            "fanal": Field("str", "version that writes"),
        },
    ),
    "attempt.end": EventKind(
        "An attempt ends in good order",
        {"outcome": Field("str", "`finished`, `interrupted` or `failed`"), "reason": Field("str?", "why")},
    ),
    "config": EventKind("The configuration of an attempt", {"config": Field("object", "names and values")}),
    "plan": EventKind(
        "The resolved campaign: everything written and every derived number with its law",
        {
            "fingerprint": Field("str", "SHA-256 of the resolved campaign"),
            "resolved": Field("object", "the resolved campaign"),
        },
    ),
    "stage.start": EventKind(
        "A stage of the pipeline begins",
        {"stage": Field("str", "its name, e.g. `data/near_duplicates` or `train/d32`")},
    ),
    "stage.end": EventKind(
        "A stage of the pipeline ends",
        {
            "stage": Field("str", "its name"),
            "seconds": Field("float", "wall time"),
            "cpu_seconds": Field("float", "processor time of this process and its finished children"),
            "report": Field(
                "object", "counts; for data stages documents and bytes in, out and removed, by domain and cause"
            ),
        },
    ),
    "corpus": EventKind(
        "The corpus that runs draw from",
        {
            "fingerprint": Field("str", "SHA-256 over tokenizer, shards and held-out sets"),
            "tokenizer_sha256": Field("str", "SHA-256 of the tokenizer's file"),
            "domains": Field(
                "list",
                "by domain: name, licence, origin, documents, bytes, tokens, sequences, bytes_per_token, text_sha256",
            ),
            "evals": Field("list", "by eval set and domain: eval_set, name, documents, bytes, tokens, sha256"),
        },
    ),
    "mixture": EventKind(
        "What the mixture plans for one run, by phase and domain",
        {"phases": Field("list", "first_seq, last_seq, and weights, sequences and epochs by domain")},
    ),
    "sample": EventKind(
        "The model continues a fixed prompt",
        {
            "prompt": Field("str", "the prompt"),
            "text": Field("str", "the continuation"),
            "temperature": Field("float", "0 is greedy"),
        },
    ),
    "checkpoint": EventKind(
        "A checkpoint is complete",
        {
            "path": Field("str", "relative to the campaign's folder"),
            "sha256": Field("str", "of its manifest"),
            "bytes": Field("int", "its size"),
            "keep": Field("bool", "false where the next one replaces it"),
            "position": Field("int", "sequences drawn"),
            "updates": Field("int", "updates applied"),
        },
    ),
    "skip": EventKind(
        "The guard skipped a step's update",
        {
            "reason": Field("str", "`non_finite`, `spike` or `no_scored_tokens`"),
            "loss": Field("float?", "the step's loss"),
            "limit": Field("float?", "the limit it met"),
        },
    ),
    "forecast": EventKind(
        "A forecast of this run; sealed where it precedes the run's first row",
        {
            "sha256": Field("str", "of the canonical document"),
            "document": Field("object", "the document of `ladder/seal.py`"),
        },
    ),
    "forecast.score": EventKind(
        "A forecast held against a measurement",
        {
            "forecast_sha256": Field("str", "which forecast"),
            "metric": Field("str", "which metric"),
            "progress": Field("float", "share of the run"),
            "measured": Field("float", "the measurement"),
            "p10": Field("float", "forecast"),
            "p50": Field("float", "forecast"),
            "p90": Field("float", "forecast"),
            "line": Field("float?", "the fixed-asymptote line's value"),
            "inside": Field("bool", "inside the 80 % interval"),
        },
    ),
    "verdict": EventKind(
        "The campaign's result",
        {"summary": Field("object", "the content of `summary.json`")},
    ),
    "recovered": EventKind(
        "A later process found an attempt that had not ended and saved what its log held",
        {
            "of_writer": Field("str?", "folder of that attempt's writer, inside the record"),
            "frames": Field("int", "whole frames kept"),
            "torn_bytes": Field("int", "bytes of a torn tail left out"),
            "damaged_frames": Field("int", "bad frames followed by good ones"),
        },
    ),
    "note": EventKind(
        "A person's words on a run, a step or a metric",
        {"text": Field("str", "the words"), "metric": Field("str?", "which metric"), "author": Field("str?", "who")},
    ),
}

_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "object": (dict,),
    "list": (list, tuple),
}


def check_event(kind: str, fields: Mapping[str, Json]) -> None:
    """Hold `fields` against the table.

    Raises:
        ValueError: an unknown kind or field, a missing field or one of another type; names it and the nearest.
    """
    if kind not in KINDS:
        raise ValueError(f"event kind {kind!r} is unknown; nearest: {nearest(kind, KINDS)}")
    known = KINDS[kind].fields
    for name, value in fields.items():
        if name not in known:
            raise ValueError(f"event {kind!r} has no field {name!r}; nearest: {nearest(name, known)}")
        if not _fits(value, known[name].type):
            raise ValueError(f"event {kind!r}: field {name!r} must be {known[name].type}, got {type(value).__name__}")
    missing = [n for n, f in known.items() if n not in fields and not f.type.endswith("?")]
    if missing:
        raise ValueError(f"event {kind!r} misses {', '.join(map(repr, missing))}")


def _fits(value: Json, declared: str) -> bool:
    if value is None:
        return declared.endswith("?")
    wanted = _TYPES[declared.removesuffix("?")]
    return isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))


def nearest(word: str, known: Iterable[str]) -> str:
    """The up to three known words most like `word`, for a message."""
    return ", ".join(get_close_matches(word, list(known), n=3, cutoff=0.0)) or "none"


def as_page() -> str:
    """The table as `docs/events.md`."""
    lines = [
        "# Events",
        "",
        "Generated from `fanal/record/events.py` by `python -m fanal.record.events > docs/events.md`.",
        "",
        "Every event has a kind, a run, an attempt, a writer, a sequence number in its writer, a time (ns since 1970,",
        "UTC) and a step or none, and the fields below. A `?` says that a field may be null or absent.",
    ]
    for name, kind in KINDS.items():
        lines += ["", f"## `{name}`", "", f"{kind.text}.", "", "| field | type | what |", "|---|---|---|"]
        lines += [f"| `{field_name}` | {known.type} | {known.text} |" for field_name, known in kind.fields.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_page(), end="")

"""The table of event kinds: every typed fact that a record can hold, and each kind's fields.

An event is a kind, the run, attempt and writer it belongs to, the writer's sequence number, the time (ns since 1970,
UTC), a step or none, and the fields named here. Where a field is a blob, it is `{"$blob": sha256, "bytes": n, "type":
media type}`. `python -m fanal.record.events > docs/events.md` writes the page.
"""

from collections.abc import Mapping
from dataclasses import dataclass


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


KINDS: dict[str, EventKind] = {
    "attempt.start": EventKind(
        "An attempt of a run begins: a start, a resume, a rewind or a fork",
        {
            "role": Field("str", "`run`, `rung`, `hero`, `campaign`, or `record` for facts about the record itself"),
            "cause": Field("str", "`start`, `resume`, `rewind`, `fork`, `stitch` or `import`"),
            "name": Field("str?", "the run's name for people"),
            "project": Field("str?", "project, as given to `init`"),
            "from_step": Field(
                "int?", "first step of this attempt; rows of earlier attempts from it on are superseded"
            ),
            "from_attempt": Field("int?", "the attempt it goes on from"),
            "from_run": Field("str?", "the other run it was forked from"),
            "group": Field("str?", "group of runs"),
            "job_type": Field("str?", "kind of work, e.g. `train` or `eval`"),
            "tags": Field("list?", "tags"),
            "notes": Field("object?", "blob of a person's words"),
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
    "metric": EventKind(
        "What keys mean and how they are shown: of two for one pattern, the later says what it names anew",
        {
            "pattern": Field("str", "a key, or a pattern with `*` over keys"),
            "text": Field("str?", "what it means, for people who were not there"),
            "unit": Field("str?", "its unit"),
            "better": Field("str?", "`lower`, `higher` or null"),
            "source": Field("str?", "the file and line that logs it"),
            "reduce": Field(
                "str?", "of writers that log the same step: `mean`, `max` or `same`; null keeps them apart"
            ),
            "axis": Field("str?", "`step`, or `time` for samples that belong to no step"),
            "step_metric": Field("str?", "the key whose values are its horizontal axis"),
            "summary": Field("str?", "`last`, `min`, `max`, `mean`, `best`, `first`, `copy` or `none`"),
            "goal": Field("str?", "`minimize` or `maximize`"),
            "hidden": Field("bool?", "not drawn unless asked for"),
        },
    ),
    "summary": EventKind(
        "Values that stand for the whole run, as the script set them",
        {"values": Field("object", "by name")},
    ),
    "settings": EventKind(
        "Arguments given to the tracker that Fanal keeps and does not act on",
        {"call": Field("str", "`init`, `log`, …"), "given": Field("object", "by argument's name")},
    ),
    "environment": EventKind(
        "What the attempt ran on, as far as it is public",
        {
            "python": Field("str", "version"),
            "platform": Field("str", "operating system and machine type"),
            "packages": Field("object", "versions of loaded packages that matter"),
            "devices": Field("object", "processor count, memory in bytes, accelerators by kind and count"),
        },
    ),
    "process": EventKind(
        "How the process was started; withheld from what is published unless it is declared public",
        {
            "argv": Field("list", "arguments, secrets replaced"),
            "executable": Field("str", "path of the interpreter"),
            "folder": Field("str", "working folder"),
            "host": Field("str", "name of the machine"),
            "user": Field("str?", "who"),
            "environment": Field("object", "allowed environment variables"),
        },
    ),
    "code": EventKind(
        "The code of the attempt",
        {
            "commit": Field("str?", "git commit"),
            "branch": Field("str?", "git branch"),
            "remote": Field("str?", "git remote, without user and token"),
            "changes": Field("object?", "blob of the difference to the commit"),
            "files": Field("list", "name, blob and bytes of each file kept"),
        },
    ),
    "file": EventKind(
        "A file kept with the run",
        {
            "name": Field("str", "its name, `/`-separated, inside the run"),
            "bytes": Field("int", "size"),
            "blob": Field("object?", "its content, or null where only its hash is kept"),
            "sha256": Field("str?", "of its content, where it is too large to keep"),
        },
    ),
    "artifact": EventKind(
        "A version of a named set of files is made or used by the run",
        {
            "name": Field("str", "its name"),
            "type": Field("str", "e.g. `model` or `dataset`"),
            "version": Field("int?", "counted by name within the record, from 0"),
            "aliases": Field("list", "names of this version"),
            "direction": Field("str", "`logged` or `used`"),
            "description": Field("str?", "words"),
            "metadata": Field("object", "as given"),
            "files": Field("list", "name, bytes, and blob or sha256 of each"),
        },
    ),
    "alert": EventKind(
        "The script calls for attention",
        {
            "title": Field("str", "in a few words"),
            "text": Field("object", "blob of the words"),
            "level": Field("str", "`info`, `warn` or `error`"),
        },
    ),
    "gap": EventKind(
        "Rows that could not be kept, for instance since the disk was full",
        {
            "frames": Field("int", "frames that were dropped"),
            "first_step": Field("int?", "lowest step among them"),
            "last_step": Field("int?", "highest step among them"),
            "seconds": Field("float", "how long nothing could be kept"),
            "reason": Field("str", "what the system said"),
        },
    ),
    "stitch": EventKind(
        "This run is others read one after the other: each from its step on, until the next begins",
        {"parts": Field("list", "run and from_step of each, in order; null where it logged nothing")},
    ),
    "imported": EventKind(
        "The run's rows came from another tool's files",
        {
            "source_kind": Field("str", "`wandb`, `wandb-online`, `tensorboard`, `csv`, `jsonl` or `hf`"),
            "report": Field("object", "rows, keys, first and last step, duplicates, gaps, unreadable"),
        },
    ),
    "import.state": EventKind(
        "How far an import has come; the next one goes on from there",
        {
            "source_kind": Field("str", "as in `imported`"),
            "state": Field("object", "place in the source, items imported after it, counts, what could not be read"),
        },
    ),
    "incident.reference": EventKind(
        "An incident that somebody else wrote down: a reference, which no rule reads",
        {
            "id": Field("str", "its number in the source"),
            "first_step": Field("int?", "where it begins"),
            "last_step": Field("int?", "where it ends"),
            "when": Field("str", "as the source gives it"),
            "symptom": Field("str", "what was seen"),
            "cause": Field("str", "as the source states it"),
            "resolution": Field("str", "as the source states it"),
            "link": Field("str?", "where it was told"),
        },
    ),
    "source": EventKind(
        "Where figures of this record come from",
        {
            "name": Field("str", "short name"),
            "where": Field("str", "address or path and version"),
            "text": Field("str", "what it holds"),
        },
    ),
    "figures": EventKind(
        "A table of figures that belong to no step",
        {
            "name": Field("str", "short name"),
            "text": Field("str", "what it holds, with units"),
            "rows": Field("list", "an object a row"),
        },
    ),
    "ladder": EventKind(
        "A scaling ladder as somebody published it: rungs, fit and forecasts",
        {"document": Field("object", "as published")},
    ),
    "key": EventKind(
        "The record's signing key: the first, or one that the key before it names",
        {
            "public_key": Field("str", "Ed25519, base64"),
            "signature": Field("str?", "by the key before, over the new one; null for the first"),
            "reason": Field("str?", "why it changed"),
        },
    ),
    "redaction": EventKind(
        "Bytes were removed; their hash stays",
        {
            "blob": Field("str", "SHA-256 of `nonce ‖ bytes`"),
            "reason": Field("str", "why, for everybody"),
            "replacement": Field("object?", "a blob that stands in its place"),
        },
    ),
    "anchor": EventKind(
        "A root was written down where others keep it",
        {
            "root": Field("str", "the root's hash, hexadecimal"),
            "size": Field("int", "leaves it covers"),
            "where": Field("str", "e.g. a git commit"),
        },
    ),
    "published": EventKind(
        "The record is being published",
        {"address": Field("str", "where people find it")},
    ),
}

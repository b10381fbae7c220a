"""Following: a verified copy that goes on, whatever lies between, and that refuses another history."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import fanal.record.copies.fetching
import fanal.record.copies.follow
from fanal.errors import RefusedError
from fanal.page.publish import publish
from fanal.record.attempt import Run, Start, start
from fanal.record.copies.fetching import UnreachableError
from fanal.record.copies.follow import FollowOptions, FollowReport, follow
from fanal.record.copies.publishing import alone
from fanal.record.files import canonical, seal, sha256
from fanal.record.proof.checkpoint import Checkpoint, Signer, origin_of
from fanal.record.proof.key_commands import key_new
from fanal.record.proof.redact import redact
from fanal.record.proof.signing import new_key
from fanal.record.proof.verify import verify
from fanal.record.reading.read import open_record
from fanal.record.withhold import Withhold
from tests.worlds.site import faulty_host, file_server


class EnoughError(Exception):
    """Ends what would go on for ever."""


ONCE = FollowOptions(once=True, patience_seconds=0)


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / "config"))
    monkeypatch.delenv("FANAL_KEY_FILE", raising=False)
    monkeypatch.setattr(fanal.record.copies.fetching, "FIRST_PAUSE_SECONDS", 0.001)


class World:
    """A record that grows, its site, the site's address and a copy."""

    def __init__(self, folder: Path, address: str) -> None:
        self.record, self.site, self.copy, self.address = folder / "record", folder / "site", folder / "copy", address
        self.run: Run = start(self.record, Start(id="one", withhold=(Withhold("secret/*", "a partner's figures"),)))
        self.steps = 0

    def log(self, rows: int) -> "World":
        for _ in range(rows):
            self.run.log({"loss": 1.0 / (self.steps + 1)}, self.steps)
            self.steps += 1
        return self

    def publish(self) -> "World":
        publish(self.record, self.site)
        return self

    def follow(self, options: FollowOptions = ONCE) -> FollowReport:
        return follow(self.address, self.copy, options)

    def is_whole(self) -> bool:
        """The copy verifies and holds every row once."""
        report = verify(self.copy)
        steps = open_record(self.copy).runs["one"].series("loss").steps.tolist()
        return report.ok and steps == list(range(self.steps))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    (tmp_path / "site").mkdir()
    with file_server(tmp_path / "site") as address:
        made = World(tmp_path, address)
        yield made
        made.run.finish()


def test_a_copy_follows_rows_closings_and_the_end(world: World) -> None:
    for rows in (10, 1, 4500, 100):
        assert world.log(rows).publish().follow().exit_code == 0
        assert world.is_whole(), verify(world.copy).words
    world.run.finish()
    report = world.publish().follow()
    assert world.is_whole()
    assert not list(world.copy.rglob("*.log"))
    assert report.segments == open_record(world.copy).runs["one"].writers()[0].segments[-1].number
    again = world.follow()
    assert again.files == 0
    assert again.words.startswith(f"{world.copy}: a copy of {world.address}, unsigned; 0 files")


def test_a_copy_holds_exactly_the_public_files(world: World) -> None:
    world.log(20).run.finish()
    world.publish().follow()
    there = {p.relative_to(world.record).as_posix() for p in world.record.rglob("*") if p.is_file()}
    copied = {p.relative_to(world.copy).as_posix(): p for p in world.copy.rglob("*") if p.is_file()}
    own = {name for name in copied if name not in there}
    assert all(name.startswith("blobs/") for name in own), own
    for name, path in copied.items():
        if name in there and name != "manifest.json":
            assert path.read_bytes() == (world.record / name).read_bytes(), name


def test_the_page_its_record_and_their_files_are_all_addresses_of_it(world: World, tmp_path: Path) -> None:
    world.log(5).publish()
    for number, end in enumerate(("", "index.html", "record", "record/", "record/manifest.json")):
        assert follow(f"{world.address}{end}", tmp_path / f"copy{number}", ONCE).exit_code == 0


def test_what_is_withheld_does_not_travel_and_the_copy_says_so(world: World) -> None:
    world.run.log({"secret/loss": 0.25, "loss": 1.0}, 0)
    world.run.finish()
    world.publish().follow()
    report = verify(world.copy)
    assert report.ok
    assert "a partner's figures" in report.words
    assert open_record(world.copy).runs["one"].keys() == ["loss"]
    assert set(open_record(world.record).runs["one"].keys()) == {"loss", "secret/loss"}
    for folder in (world.site, world.copy):
        assert not [p for p in folder.rglob("*") if p.is_file() and b"secret/loss" in p.read_bytes()]


def test_a_redaction_removes_the_bytes_everywhere_at_the_next_contact(world: World) -> None:
    said = world.run.blob(b"my telephone number is 555", "text/plain")
    world.run.event("alert", title="Call", text=said, level="info")
    world.log(3).publish().follow()
    name = said["$blob"]
    places = [world.record / "blobs" / name, world.site / "record" / "blobs" / name, world.copy / "blobs" / name]
    assert [place.exists() for place in places] == [True, True, True]
    redact(world.record, name, "a private number")
    assert world.publish().follow().exit_code == 0
    assert [place.exists() for place in places] == [False, False, False]
    assert world.is_whole()
    assert "a private number" in verify(world.copy).words


def test_a_history_that_shrinks_is_refused_and_the_copy_stays(world: World, tmp_path: Path) -> None:
    world.log(5).publish()
    shutil.copytree(world.site, tmp_path / "before")
    world.log(4200).publish().follow()
    kept = {p: p.read_bytes() for p in world.copy.rglob("*") if p.is_file()}
    shutil.rmtree(world.site)
    shutil.copytree(tmp_path / "before", world.site)
    report = world.follow()
    assert report.exit_code == 1
    assert "the history has shrunk" in report.words
    assert {p: p.read_bytes() for p in world.copy.rglob("*") if p.is_file()} == kept


def test_a_history_that_forks_is_refused_and_the_copy_stays(world: World, tmp_path: Path) -> None:
    world.log(5)
    shutil.copytree(world.record, tmp_path / "other")
    world.run.finish()
    world.publish().follow()
    other = start(tmp_path / "other", Start(id="two"))
    other.log({"loss": 9.0}, 0)
    other.finish()
    shutil.rmtree(world.site)
    publish(tmp_path / "other", world.site)
    report = world.follow()
    assert report.exit_code == 1
    assert "refused" in report.words
    assert world.is_whole()


def test_another_record_at_the_same_address_is_refused(world: World, tmp_path: Path) -> None:
    world.log(5).publish().follow()
    start(tmp_path / "other", Start(id="one")).finish()
    shutil.rmtree(world.site)
    publish(tmp_path / "other", world.site)
    report = world.follow()
    assert (report.exit_code, "another record" in report.words) == (1, True)
    assert world.is_whole()


@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_an_altered_file_at_the_source_never_enters_the_copy(world: World, damage: str) -> None:
    world.log(30).publish().follow()
    world.log(30).run.finish()
    world.publish()
    victim = max(world.site.glob("record/runs/*/*/*/seg/*.parquet"))
    data = bytearray(victim.read_bytes())
    data[40] ^= 1
    victim.unlink() if damage == "gone" else victim.write_bytes(data if damage == "flip" else data[:-9])
    with pytest.raises(fanal.record.copies.follow.RecordError, match=victim.name):
        world.follow()
    assert open_record(world.copy).runs["one"].series("loss").steps.tolist() == list(range(30))
    assert not [p for p in world.copy.rglob("*") if p.name == victim.name]


def resigned(data: bytes, signer: Signer | None) -> bytes:
    """A published manifest signed by somebody else, or by nobody."""
    fields = json.loads(data)
    fields.pop("self")
    fields.pop("note")
    fields["public_key"] = signer.public_key if signer else None
    origin, root = origin_of(fields["record_sha256"]), bytes.fromhex(fields["tree"]["root"])
    said = Checkpoint(origin, fields["tree"]["size"], root, sha256(canonical(fields)))
    return seal({**fields, "note": signer.sign(said) if signer else None})


def test_a_signed_record_is_followed_and_another_key_or_none_is_refused(world: World) -> None:
    key_new(world.record)
    world.log(5).publish()
    signed = world.follow()
    assert signed.signed is not None
    assert signed.words.count(f"signed by {signed.signed}") == 1
    assert verify(world.copy).exit_code == 0
    world.log(5).publish()
    path = world.site / "record" / "manifest.json"
    ours = path.read_bytes()
    for signer, code, words in ((new_key().signer, 3, "is known as its key"), (None, 1, "is not signed")):
        path.write_bytes(resigned(ours, signer))
        report = world.follow()
        assert (report.exit_code, words in report.words) == (code, True), report.words
        assert len(json.loads((world.copy / "manifest.json").read_bytes())["note"]) > 100
    path.write_bytes(ours)
    assert world.follow().exit_code == 0
    assert world.is_whole()


def test_a_changed_manifest_is_not_taken(world: World) -> None:
    world.log(5).publish().follow()
    path = world.site / "record" / "manifest.json"
    fields = json.loads(path.read_bytes())
    fields.pop("self")
    fields["tails"][0]["run"] = "two"
    path.write_bytes(seal(fields))
    report = world.follow()
    assert report.exit_code == 1
    assert "cannot be a slice of a log" in report.words
    assert world.is_whole()


def test_a_cache_that_remembers_missing_files_and_mixes_versions_leaves_the_copy_whole(world: World) -> None:
    """The child is asked for before it is there, the cache keeps the 404, and gives manifests of a minute ago."""
    world.log(5).publish()
    with faulty_host(world.address) as (address, cache):
        old = (world.site / "record" / "manifest.json").read_bytes()
        follow(address, world.copy, ONCE)
        world.log(5000).publish()
        rounds: list[str] = []

        def tick(seconds: float) -> None:
            rounds.append("tick")
            if len(rounds) == 2:
                cache.stale.clear()
            if len(rounds) == 4:
                cache.stale["/record/manifest.json"] = (200, old)
            if len(rounds) == 6:
                cache.stale.clear()

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(fanal.record.copies.follow, "time", SimpleNamespace(sleep=tick, monotonic=time.monotonic))
            new = json.loads((world.site / "record" / "manifest.json").read_bytes())
            for one in new["tails"]:
                cache.stale[f"/record/tails/{one['sha256']}"] = (404, b"")
            follow(address, world.copy, FollowOptions(once=True))
            assert world.is_whole()
            cache.stale["/record/manifest.json"] = (200, old)
            rounds[:] = ["tick"] * 4
            follow(address, world.copy, FollowOptions(once=True))
    assert world.is_whole()


def test_it_asks_at_half_the_runs_pace(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.log(1).publish()
    clock, pauses = [0.0], []

    def slept(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds
        if len(pauses) > 70:
            raise EnoughError
        if clock[0] - world.steps * 20 > 0:
            world.log(1).publish()

    monkeypatch.setattr(fanal.record.copies.follow, "time", SimpleNamespace(sleep=slept, monotonic=lambda: clock[0]))
    with pytest.raises(EnoughError):
        world.follow(FollowOptions())
    assert pauses[0] == 0.5
    assert 4 < sum(pauses[-20:]) / 20 < 16
    assert world.steps > 10


def test_a_source_in_trouble_is_said_once_and_asked_until_it_answers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.log(5).publish().follow()
    world.log(5).publish()
    down, said, pauses = [True], list[str](), list[float]()

    def slept(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            down[0] = False

    def done(report: FollowReport) -> None:
        raise EnoughError

    monkeypatch.setattr(fanal.record.copies.follow, "time", SimpleNamespace(sleep=slept, monotonic=time.monotonic))
    options = FollowOptions(on_trouble=said.append, on_round=done)
    host = faulty_host(world.address, lambda method, path, number: "503" if down[0] else None)
    with host as (address, _), pytest.raises(EnoughError):
        follow(address, world.copy, options)
    assert pauses == [1.0] * 5
    assert len(said) == 1
    assert "the host answers 503" in said[0]
    assert world.is_whole()


def test_other_folders_are_refused_and_untouched(world: World, tmp_path: Path) -> None:
    world.log(1).publish()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    with pytest.raises(RefusedError, match=r"holds 'thesis\.tex' and is no copy"):
        follow(world.address, tmp_path / "mine", ONCE)
    with pytest.raises(RefusedError, match="a record of its own"):
        follow(world.address, world.record, ONCE)
    with pytest.raises(RefusedError, match="is a file"):
        follow(world.address, tmp_path / "mine" / "thesis.tex", ONCE)
    with alone(f"follow into {world.copy.resolve()}"), pytest.raises(RefusedError, match="another process"):
        world.follow()


def test_nobody_at_the_address_is_said(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="cannot be fetched"):
        follow("http://127.0.0.1:9/", tmp_path / "copy", ONCE)


def test_a_copy_can_be_published_again(world: World, tmp_path: Path) -> None:
    world.log(30).run.finish()
    world.publish().follow()
    publish(world.copy, tmp_path / "mirror")
    assert verify(tmp_path / "mirror").ok


@pytest.mark.parametrize("damage", ["altered", "missing"])
def test_a_damaged_file_of_a_copy_is_fetched_again_by_the_next_follower(world: World, damage: str) -> None:
    for step in range(5):
        world.run.log({"loss": 1.0}, step)
    world.run.finish()
    world.publish().follow()
    victim = next(world.copy.rglob("1.values0.parquet"))
    whole = victim.read_bytes()
    victim.unlink()
    if damage == "altered":
        victim.write_bytes(whole + b"x")
    assert not verify(world.copy).ok
    world.follow()
    assert victim.read_bytes() == whole
    assert verify(world.copy).ok

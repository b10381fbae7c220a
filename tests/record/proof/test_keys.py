"""Which key signs a record: the one at hand that signed it before, or that its rotations lead to."""

import os
from pathlib import Path

import pytest

from fanal.errors import RecordError, RefusedError
from fanal.page.publish import publish
from fanal.record import layout
from fanal.record.attempt import Start, journal, start
from fanal.record.proof import keys, manifest
from fanal.record.proof.key_commands import key_new, key_rotate
from fanal.record.proof.keys import current_key, key_file, load, save, signer_for
from fanal.record.proof.manifest import read_manifest
from fanal.record.proof.signing import new_key, rotation_text
from fanal.record.proof.verify import verify
from tests.worlds.processes import python

pytestmark = pytest.mark.usefixtures("config")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    layout.open_record(tmp_path / "r")
    return tmp_path / "r"


def test_the_key_file_is_in_the_configuration_unless_another_is_named(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert key_file() == config / "key"
    monkeypatch.setenv("FANAL_KEY_FILE", "/k/mine")
    assert key_file() == Path("/k/mine")


def test_a_key_file_is_for_its_owner_alone_and_never_overwritten(config: Path) -> None:
    first = new_key()
    before = os.umask(0)
    try:
        save(key_file(), first)
    finally:
        os.umask(before)
    assert key_file().stat().st_mode & 0o777 == 0o600
    with pytest.raises(RefusedError, match="holds a key already, which is never overwritten"):
        save(key_file(), new_key())
    assert load(key_file()).public_key == first.public_key
    assert [path.name for path in config.iterdir()] == ["key"]


def test_a_key_that_others_can_read_or_that_is_none_is_refused() -> None:
    save(key_file(), new_key())
    key_file().chmod(0o640)
    with pytest.raises(RecordError, match=r"can be read by others than you: `chmod 600 "):
        load(key_file())
    key_file().chmod(0o600)
    key_file().write_text("no key")
    with pytest.raises(RecordError, match="holds no private key"):
        load(key_file())
    key_file().unlink()
    with pytest.raises(RecordError, match="No such file"):
        load(key_file())


def test_without_a_key_nothing_is_signed_and_nothing_made(record: Path, config: Path) -> None:
    assert signer_for(record) is None
    assert keys.commit(record) is None
    found = read_manifest(record)
    assert found is not None
    assert (found.public_key, found.note, found.is_signed) == (None, None, False)
    assert not config.exists()


def test_a_record_is_signed_by_the_key_at_hand_and_not_by_another(record: Path, config: Path) -> None:
    key = new_key()
    save(key_file(), key)
    assert keys.commit(record) is None
    assert current_key(record) == key.public_key
    found = read_manifest(record)
    assert found is not None
    assert found.is_signed
    assert found.public_key == key.public_key
    (config / "key").unlink()
    save(key_file(), new_key())
    assert signer_for(record) is None
    run = start(record, Start(id="a"))
    run.finish()
    assert keys.commit(record) is None
    later = read_manifest(record)
    assert later is not None
    assert (later.is_signed, later.note, later.public_key) == (False, found.note, key.public_key)
    save(config / "key.before", key)
    keys.commit(record)
    signed = read_manifest(record)
    assert signed is not None
    assert signed.is_signed
    assert signed.public_key == key.public_key


def test_a_key_that_cannot_be_used_hinders_no_commit(record: Path) -> None:
    save(key_file(), new_key())
    key_file().chmod(0o644)
    said = keys.commit(record)
    assert said is not None
    assert said.startswith("not signed: ")
    assert "chmod 600" in said
    assert read_manifest(record) is not None
    (record / "manifest.json").write_text("{}")
    key_file().chmod(0o600)
    said = keys.commit(record)
    assert said is not None
    assert "has changed since it was written" in said


def test_a_signer_chosen_before_a_rotation_does_not_sign_after_it(record: Path, config: Path) -> None:
    key_new(record)
    chosen_before = signer_for(record)
    rotated = key_rotate(record)
    start(record, Start(id="a")).finish()
    keys.commit(record)
    start(record, Start(id="b")).finish()
    (config / "key").unlink()
    manifest.commit(record, None, chosen_before)
    found = read_manifest(record)
    assert found is not None
    assert found.public_key == rotated.public_key
    report = verify(record)
    assert (report.exit_code, report.key) == (0, rotated.public_key)


def test_a_key_file_that_is_named_and_not_there_is_said(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANAL_KEY_FILE", str(record.parent / "mistyped"))
    with pytest.raises(RecordError, match="mistyped is not there, and FANAL_KEY_FILE names it"):
        signer_for(record)
    assert "FANAL_KEY_FILE names it" in (keys.commit(record) or "")


def test_rotations_lead_on_in_whatever_order_they_are_read(record: Path) -> None:
    first, second, third, thief = (new_key() for _ in range(4))
    origin = keys.origin_of_record(record)
    with journal(record) as run:
        for old, new in ((second, third), (first, second)):
            signature = old.sign(rotation_text(origin, old.public_key, new.public_key))
            run.event("key", public_key=new.public_key, signature=signature, reason=None)
        forged = thief.sign(rotation_text(origin, third.public_key, thief.public_key))
        run.event("key", public_key=thief.public_key, signature=forged, reason=None)
        run.event("key", public_key=first.public_key, signature=None, reason=None)
    assert keys.rotated(record, first.public_key) == third.public_key
    assert keys.rotated(record, thief.public_key) == thief.public_key
    assert current_key(record) == third.public_key


def test_a_training_process_loads_no_cryptography_and_its_record_is_signed_all_the_same(tmp_path: Path) -> None:
    save(key_file(), new_key())
    code = """
        import sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a"))
        run.log({"x": 1.0}, 0)
        run.finish()
        print([name for name in ("cryptography", "numpy", "pyarrow") if name in sys.modules])
    """
    done = python(code, tmp_path / "r")
    assert done.stdout == "[]\n", done.stderr
    report = verify(tmp_path / "r")
    assert (report.key, report.signed_segments) == (load(key_file()).public_key, None), report.words


def test_every_key_of_the_way_is_told(record: Path) -> None:
    first = key_new(record).public_key
    second, third = key_rotate(record).public_key, key_rotate(record).public_key
    assert keys.rotations(record, first) == [first, second, third]
    assert keys.rotations(record, third) == [third]
    assert keys.own_public_keys() == {first, second, third}
    key_file().chmod(0o644)
    assert keys.own_public_keys() == set()


def test_a_record_of_which_copies_were_signed_is_signed_by_their_key_after_another_record_was_rotated(
    record: Path, tmp_path: Path
) -> None:
    run = start(record, Start(id="a"))
    first = key_new().public_key
    publish(record, tmp_path / "site")
    assert verify(tmp_path / "site").key == first
    other = tmp_path / "other"
    layout.open_record(other)
    key_new(other)
    second = key_rotate(other).public_key
    with pytest.raises(RefusedError, match=r"`fanal key rotate .*` takes that one"):
        key_new(record)
    run.finish()
    keys.commit(record)
    report = verify(record)
    assert (report.exit_code, report.key) == (0, first), report.words
    assert key_rotate(record).public_key == second
    assert verify(record).key == second

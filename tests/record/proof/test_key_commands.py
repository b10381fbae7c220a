"""`fanal key new`, `show`, `rotate`, and rotations that are killed at every call."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fanal.errors import RecordError, RefusedError
from fanal.record.attempt import Start, start
from fanal.record.proof import keys
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.proof.key_commands import key_new, key_rotate, key_show
from fanal.record.proof.keys import key_file, load
from fanal.record.proof.verify import verify
from tests.worlds.kills import STOP_AT

pytestmark = pytest.mark.usefixtures("config")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    start(tmp_path / "r", Start(id="a")).finish()
    return tmp_path / "r"


def test_a_key_is_made_once_and_shown(config: Path) -> None:
    with pytest.raises(RecordError, match="`fanal key new` makes a key"):
        key_show()
    made = key_new()
    assert made.file == str(config / "key")
    assert "made, and readable by you alone" in made.words
    assert key_show().public_key == made.public_key == made.to_json()["public_key"]
    with pytest.raises(RefusedError, match="holds a key already: `fanal key rotate RECORD`"):
        key_new()
    assert load(config / "key").public_key == made.public_key


def test_a_record_gets_its_key_later_by_an_event(record: Path, config: Path) -> None:
    assert "whole, unsigned" in verify(record).words
    made = key_new(record)
    (fact,) = journal_facts(record, "key")
    assert fact.fields == {"public_key": made.public_key, "signature": None, "reason": None}
    assert f"whole, signed by {made.public_key}" in verify(record).words
    assert key_show(record).verifier_key == made.verifier_key
    assert "was there already" in key_new(record).words
    assert len(journal_facts(record, "key")) == 1
    (config / "key").rename(config / "elsewhere")
    key_new()
    with pytest.raises(RefusedError, match=f"is signed by {made.public_key.replace('+', '[+]')}, and .* another key"):
        key_new(record)
    shown = key_show(record)
    assert (shown.exit_code, shown.public_key) == (1, made.public_key)
    assert "signed by a key that is not here" in shown.words
    with pytest.raises(RefusedError, match="fetch that key"):
        key_rotate(record)


def test_a_rotation_keeps_the_old_key_and_is_proved_by_it(record: Path, config: Path) -> None:
    with pytest.raises(RecordError, match="`fanal key new` makes a key"):
        key_rotate(record)
    old = key_new(record)
    verify(record)
    rotated = key_rotate(record, "the laptop was lost")
    assert rotated.public_key != old.public_key
    assert load(config / "key").public_key == rotated.public_key
    (kept,) = config.glob("key.*")
    assert load(kept).public_key == old.public_key
    report = verify(record)
    assert report.exit_code == 0
    assert f"key rotated: {old.public_key} handed over to {rotated.public_key}" in report.words
    assert journal_facts(record, "key")[-1].fields["reason"] == "the laptop was lost"
    again = key_rotate(record)
    assert verify(record).key == again.public_key
    assert len(list(config.glob("key.*"))) == 2


def test_a_second_record_is_still_signed_by_the_old_key_until_it_is_rotated_too(record: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    start(other, Start(id="b")).finish()
    old = key_new(record)
    key_new(other)
    new = key_rotate(record)
    assert verify(other).key == old.public_key
    followed = key_rotate(other)
    assert followed.public_key == new.public_key
    assert verify(other).key == new.public_key


# Rotates the key of copies of a record in forked children that stop at the k-th call.
KILL = (
    STOP_AT
    + """
import shutil
from pathlib import Path
from fanal.record.proof.key_commands import key_rotate

folder = Path(sys.argv[1])

def rotate(call):
    os.environ["FANAL_CONFIG"] = str(folder / f"config{call}")
    shutil.copytree(folder / "config", folder / f"config{call}")
    shutil.copytree(folder / "r", folder / f"r{call}")
    return lambda: key_rotate(folder / f"r{call}")

print(stop_at_each(rotate))
"""
)


@pytest.mark.drill
def test_a_rotation_killed_at_any_call_leaves_a_record_that_verifies_and_is_finished_by_the_next(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = key_new(record)
    verify(record)
    code = [sys.executable, "-c", KILL, str(tmp_path)]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    calls = int(done.stdout)
    assert calls > 40
    for call in range(1, calls + 1):
        folder = tmp_path / f"r{call}"
        monkeypatch.setenv("FANAL_CONFIG", str(tmp_path / f"config{call}"))
        report = verify(folder)
        assert report.exit_code == 0, (call, report.words)
        key_rotate(folder)
        report = verify(folder)
        assert report.exit_code == 0, (call, report.words)
        assert report.key == load(key_file()).public_key != old.public_key, call
        assert not (tmp_path / f"config{call}" / "key.next").exists()
        shutil.rmtree(folder)
    assert os.environ["FANAL_CONFIG"].endswith(str(calls))


def test_what_is_shown_is_true_after_a_rotation_for_another_record(record: Path, tmp_path: Path, config: Path) -> None:
    other = tmp_path / "other"
    start(other, Start(id="b")).finish()
    old = key_new(record)
    new = key_rotate(record)
    key_new(other)
    assert key_show(record).words.startswith(f"{config / 'key'}: the key that signs {record}\n")
    third = key_rotate(other)
    shown = key_show(record)
    (kept,) = (path for path in config.glob("key.*") if load(path).public_key == new.public_key)
    assert (shown.exit_code, shown.public_key, shown.file) == (0, new.public_key, str(kept))
    assert f"{config / 'key'} holds another key since a rotation, `fanal key rotate {record}`" in shown.words
    assert len({old.public_key, new.public_key, third.public_key}) == 3


def test_a_key_is_not_shown_to_sign_a_record_that_is_unsigned(record: Path, config: Path) -> None:
    made = key_new()
    shown = key_show(record)
    assert (shown.exit_code, shown.public_key) == (0, made.public_key)
    assert f"{record} is not signed yet: the key that will sign it at its next commit" in shown.words
    assert "that signs" not in shown.words
    keys.commit(record)
    assert f"the key that signs {record}" in key_show(record).words

"""What stands above the tree: whose key signs, and whether an earlier root is still the record's beginning."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fanal.errors import RecordError
from fanal.page.publish import publish
from fanal.record.attempt import Start, journal, start
from fanal.record.copies.follow import FollowOptions, follow
from fanal.record.files import read_document, seal
from fanal.record.proof import keys, manifest, verify_root
from fanal.record.proof.key_commands import key_new, key_rotate
from fanal.record.proof.keys import key_file, load, origin_of_record
from fanal.record.proof.known_keys import KnownKey, remember, remembered
from fanal.record.proof.signing import new_key, rotation_text, verifier_key
from fanal.record.proof.verify import verify
from tests.worlds.proof_page import rows, script
from tests.worlds.signed import LIVING
from tests.worlds.site import file_server


def forge(record: Path, **changes: object) -> None:
    (record / "manifest.json").write_bytes(seal(read_document(record / "manifest.json") | changes))


def test_a_key_first_seen_is_remembered_and_said_and_another_refused(copied: Path) -> None:
    mine = load(key_file()).public_key
    report = verify(copied)
    assert (report.exit_code, report.key) == (0, mine)
    assert f"key {mine} is remembered for this record: another one will be refused" in report.words
    assert "is remembered" not in verify(copied).words
    other = new_key()
    forge(copied, note=None, public_key=None)
    manifest.commit(copied, (), other.signer)
    report = verify(copied)
    assert (report.exit_code, report.refused, report.ok) == (3, mine, False)
    assert f"signed by another key ({other.public_key})" in report.words
    assert f"{mine} was known, {other.public_key} signs, and none leads to it" in report.words
    assert remembered(origin_of_record(copied)) == KnownKey(mine)
    (copied / "stray").touch()
    assert verify(copied).exit_code == 1, "any changed byte is 1, whoever signed"


def test_a_key_that_is_given_counts_and_not_the_remembered_one(copied: Path, tmp_path: Path) -> None:
    mine = load(key_file()).public_key
    origin = origin_of_record(copied)
    assert verify(copied, key=new_key().public_key).exit_code == 3
    assert remembered(origin) is None, "a refused key is not remembered"
    (tmp_path / "theirs").write_text(verifier_key(origin, mine) + "\n")
    for given in (mine, verifier_key(origin, mine), str(tmp_path / "theirs")):
        assert verify(copied, key=given).exit_code == 0
    remember(origin, KnownKey(new_key().public_key))
    assert verify(copied).exit_code == 3
    assert verify(copied, key=mine).exit_code == 0
    for nothing in ("nothing", "x" * 5000, "\0"):
        with pytest.raises(RecordError, match="is no public key"):
            verify(copied, key=nothing)


def test_a_file_with_the_private_key_is_read_and_none_of_it_is_ever_said(copied: Path, tmp_path: Path) -> None:
    assert verify(copied, key=str(key_file())).exit_code == 0
    pem = key_file().read_text()
    secret = pem.splitlines()[1]
    (tmp_path / "damaged").write_text(pem.replace(secret, secret[:-8]))
    (tmp_path / "body").write_text(secret)
    (tmp_path / "bytes").write_bytes(b"\xff" + secret.encode())
    for given in ("damaged", "body", "bytes"):
        with pytest.raises(RecordError, match=rf"{given} (is no public key|holds no private key)") as said:
            verify(copied, key=str(tmp_path / given))
        assert secret[:20] not in str(said.value)
    with pytest.raises(RecordError, match="what was given as a key") as said:
        verify(copied, key=secret)
    assert secret[:20] not in str(said.value)


def killed(record: Path) -> None:
    """A record of a run that was killed before anything of it was closed."""
    subprocess.run([sys.executable, "-c", LIVING, str(record)], check=False)


def test_a_record_of_which_only_copies_were_ever_signed_is_not_signed_yet(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, site = tmp_path / "r", tmp_path / "site"
    killed(record)
    mine = key_new().public_key
    publish(record, site)
    assert verify(site).key == mine
    report = verify(record)
    assert (report.exit_code, report.key) == (0, None), report.words
    assert f"not signed yet, only published copies were, by {mine}" in report.words
    assert verify(record, key=mine).exit_code == 1, "whoever names the key wants it"
    with monkeypatch.context() as patch:
        patch.setenv("FANAL_KEY_FILE", str(tmp_path / "none"))
        assert verify(record).exit_code == 1, "the key is not this user's: somebody else signs this record"
    forge(site / "record", note=None, public_key=None)
    report = verify(site)
    assert (report.exit_code, report.first_bad) == (1, "manifest.json"), "a copy was signed"


def test_a_record_that_was_seen_signed_may_not_lose_its_signature_whatever_copies_say(
    tmp_path: Path, config: Path
) -> None:
    record, site = tmp_path / "r", tmp_path / "site"
    killed(record)
    key_new()
    publish(record, site)
    verify(site)
    keys.commit(record)
    shutil.copytree(record, tmp_path / "unseen")
    forge(tmp_path / "unseen", note=None)
    assert verify(tmp_path / "unseen").exit_code == 1, "it names a key itself"
    assert verify(record).exit_code == 0
    assert "published" not in (config / "known_keys").read_text()
    forge(record, note=None, public_key=None)
    assert verify(record).exit_code == 1


def test_a_copy_signed_by_a_key_before_the_known_one_is_older_and_no_strangers(copied: Path, tmp_path: Path) -> None:
    first = load(key_file()).public_key
    older, site = tmp_path / "older", tmp_path / "site"
    verify(copied)
    shutil.copytree(copied, older)
    publish(copied, site)
    key_rotate(copied)
    second = key_rotate(copied).public_key
    assert verify(copied).exit_code == 0
    kept = remembered(origin_of_record(copied))
    assert kept is not None
    assert (kept.key, kept.before[-1], len(kept.before)) == (second, first, 2)
    for one in (older, site):
        report = verify(one)
        assert (report.exit_code, report.key) == (0, first), report.words
        assert f"older: signed by {first}, the key before {second}" in report.words
    assert remembered(origin_of_record(copied)) == kept
    assert verify(older, key=second).exit_code == 3, "whoever names the key wants it"
    with file_server(site) as address:
        assert follow(address, tmp_path / "copy", FollowOptions(once=True)).exit_code == 0
    (older / "stray").touch()
    assert verify(older).exit_code == 1


def test_our_own_keys_before_the_first_seen_one_are_known_and_a_strangers_is_not(copied: Path, tmp_path: Path) -> None:
    first, thief = load(key_file()).public_key, new_key()
    older = tmp_path / "older"
    shutil.copytree(copied, older)
    second = key_rotate(copied).public_key
    with journal(copied) as run:
        signature = thief.sign(rotation_text(origin_of_record(copied), thief.public_key, second))
        run.event("key", public_key=second, signature=signature, reason=None)
    keys.commit(copied)
    assert verify(copied).exit_code == 0
    assert remembered(origin_of_record(copied)) == KnownKey(second, (first,))
    assert verify(older).exit_code == 0
    forge(older, note=None, public_key=None)
    manifest.commit(older, (), thief.signer)
    assert verify(older).exit_code == 3


def test_a_record_whose_key_is_known_may_not_lose_its_signature(copied: Path) -> None:
    verify(copied)
    forge(copied, note=None, public_key=None)
    report = verify(copied)
    assert (report.exit_code, report.first_bad) == (1, "manifest.json")
    assert "is not signed, and " in report.words


def test_a_damaged_records_key_is_not_remembered(copied: Path) -> None:
    (copied / "stray").touch()
    assert verify(copied).exit_code == 1
    assert remembered(origin_of_record(copied)) is None


def test_a_key_that_cannot_be_remembered_is_said_and_hinders_nothing(
    copied: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (config / "known_keys").mkdir()
    with pytest.raises(RecordError, match="cannot be read"):
        verify(copied)
    (config / "known_keys").rmdir()
    monkeypatch.setenv("FANAL_CONFIG", str(config / "key"))
    report = verify(copied)
    assert report.exit_code == 0
    assert "was seen and cannot be remembered" in report.words


def test_what_came_after_the_signature_is_said_to_be_unsigned(copied: Path, config: Path) -> None:
    (config / "key").unlink()
    start(copied, Start(id="later")).finish()
    report = verify(copied)
    assert report.exit_code == 0
    assert report.size is not None
    assert report.signed_segments is not None
    assert report.size > report.signed_segments
    assert f"up to segment {report.signed_segments} of {report.size}, what came after is not signed yet" in report.words


def cut_end(record: Path) -> tuple[Path, str, int]:
    """An earlier state of the record put back whole, manifest and all; the note, root and size that it had reached."""
    before = record.parent / "before"
    shutil.copytree(record, before)
    start(record, Start(id="cut")).finish()
    keys.commit(record)
    known = manifest.read_manifest(record)
    assert known is not None
    assert known.note is not None
    assert known.tree is not None
    note = record.parent / "seen.note"
    note.write_text(known.note)
    shutil.rmtree(record)
    before.rename(record)
    return note, known.tree.root, known.tree.size


def test_an_end_cut_off_whole_shows_with_a_root_and_not_without(copied: Path) -> None:
    note, root, size = cut_end(copied)
    report = verify(copied)
    assert report.exit_code == 0
    assert (
        "an end cut off together with its manifest would not show: `--since` a root seen earlier would tell"
        in report.words
    )
    report = verify(copied, since=str(note))
    assert (report.exit_code, report.first_bad) == (1, "manifest.json")
    assert f"is shorter than the root seen earlier: that covers {size} segments, this has {report.size}" in report.words
    assert verify(copied, since=f"{size}:{root}").words == report.words
    report = verify(copied, since=root)
    assert report.exit_code == 1
    assert "does not continue the root seen earlier: no beginning of its" in report.words


def test_a_history_that_was_only_appended_to_continues_the_earlier_root(copied: Path, tmp_path: Path) -> None:
    known = manifest.read_manifest(copied)
    assert known is not None
    assert known.note is not None
    assert known.tree is not None
    (tmp_path / "note").write_text(known.note)
    start(copied, Start(id="later")).finish()
    for since in (str(tmp_path / "note"), known.tree.root, f"{known.tree.size}:{known.tree.root}"):
        report = verify(copied, since=since)
        assert report.exit_code == 0
        said = f"continues the root seen earlier: {known.tree.size} segments then, {report.size} now"
        assert said in report.words
        assert "would not show" not in report.words


def test_a_history_that_was_rewritten_is_told_by_an_earlier_root(copied: Path, tmp_path: Path) -> None:
    known = manifest.read_manifest(copied)
    assert known is not None
    assert known.note is not None
    (tmp_path / "note").write_text(known.note)
    shutil.rmtree(copied / "runs" / "b")
    shutil.rmtree(copied / "tree")
    (copied / "manifest.json").unlink()
    start(copied, Start(id="b")).finish()
    start(copied, Start(id="c")).finish()
    start(copied, Start(id="d")).finish()
    keys.commit(copied)
    assert verify(copied).exit_code == 0
    report = verify(copied, since=str(tmp_path / "note"))
    assert report.exit_code == 1
    assert "is another history: its first" in report.words


def test_what_is_no_root_or_another_records_is_bad_input(copied: Path, tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="'xyz' is no root: give 64 hexadecimal digits, SIZE: and these, or a file"):
        verify(copied, since="xyz")
    (tmp_path / "file").write_text("no note\n")
    with pytest.raises(RecordError, match="file is no checkpoint of a record"):
        verify(copied, since=str(tmp_path / "file"))
    known = manifest.read_manifest(copied)
    assert known is not None
    assert known.note is not None
    (tmp_path / "note").write_text(known.note)
    with pytest.raises(RecordError, match=f"the note is of {known.origin}, and this record is"):
        verify(tiny, since=str(tmp_path / "note"))


def test_the_lines_of_the_page_check_a_signature_by_hand(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "check.py").write_text(script())
    assert len(script().splitlines()) <= 25

    def check() -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, str(tmp_path / "check.py"), str(copied)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    mine = load(key_file()).public_key
    assert check().stdout == f"signed by {mine} all of it\n", check().stderr
    size = verify(copied).size
    forge(copied, counts={})
    assert check().stdout == f"signed by {mine} up to segment {size}\n"
    forge(copied, note=read_document(copied / "manifest.json")["note"].replace(f"\n{size}\n", f"\n{size}0\n"))
    assert "InvalidSignature" in check().stderr


def test_the_words_of_the_page_are_those_of_the_program() -> None:
    sources = "".join(path.read_text("utf-8") for path in Path(verify_root.__file__).parent.glob("*.py"))
    for what, (code, words) in rows(2).items():
        assert code in (0, 1, 3), what
        assert all(part.strip() in sources for text in words for part in text.split("…")), what

import errno
import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import fanal
from fanal.errors import RecordError
from fanal.record import blobs as module
from fanal.record.attempt import Start, journal, start
from fanal.record.blobs import NONCE_BYTES, Blobs, read_blob
from fanal.record.notice import Notices
from fanal.record.values import BlobRef
from tests.worlds.processes import python


def test_bytes_read_back_and_the_name_is_of_a_nonce_and_them(tmp_path: Path) -> None:
    kept = Blobs(tmp_path, Notices("r"))
    one, two = kept.write([b"same ", b"bytes"], "text/plain"), kept.write([b"same bytes"], "text/plain")
    assert one["$blob"] != two["$blob"]
    assert (one["bytes"], one["type"]) == (10, "text/plain")
    assert read_blob(tmp_path, one) == read_blob(tmp_path, two["$blob"]) == b"same bytes"
    data = (tmp_path / "blobs" / one["$blob"]).read_bytes()
    assert hashlib.sha256(data).hexdigest() == one["$blob"]
    assert data[NONCE_BYTES:] == b"same bytes"


def test_a_file_of_any_size_is_kept_and_a_missing_one_is_the_callers_error(tmp_path: Path) -> None:
    kept = Blobs(tmp_path / "r", Notices("r"))
    (tmp_path / "r").mkdir()
    (tmp_path / "big").write_bytes(os.urandom(3_500_000))
    assert read_blob(tmp_path / "r", kept.copy(tmp_path / "big", "x/y")) == (tmp_path / "big").read_bytes()
    with pytest.raises(FileNotFoundError):
        kept.copy(tmp_path / "none", "x/y")


def test_a_blob_is_there_when_its_process_is_killed(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a"))
        print(run.blob(b"x" * 100_000, "text/plain")["$blob"], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    name = python(code, tmp_path / "r").stdout.strip()
    assert read_blob(tmp_path / "r", name) == b"x" * 100_000
    assert not [p for p in (tmp_path / "r" / "blobs").iterdir() if p.name.startswith(".tmp-")]


def test_the_writers_thread_makes_the_disk_confirm_blobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    kept = Blobs(tmp_path, Notices("r"))
    monkeypatch.setattr(os, "fsync", synced.append)
    kept.write([b"x"], "x/y")
    assert synced == []
    kept.sync()
    assert len(synced) == 2  # the file and its folder
    kept.sync()
    assert len(synced) == 2


def test_a_blob_that_finds_no_place_waits_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    kept = Blobs(tmp_path, Notices("r"))
    monkeypatch.setattr(module.os, "write", full)
    refs = [kept.write([bytes([n]) * 1000], "x/y") for n in range(3)]
    kept.sync()
    assert kept.num_lost == 0
    with pytest.raises(RecordError, match="is missing"):
        read_blob(tmp_path, refs[0])
    monkeypatch.undo()
    kept.sync()
    assert [read_blob(tmp_path, ref) for ref in refs] == [bytes([n]) * 1000 for n in range(3)]
    assert capfd.readouterr().err.count("a blob cannot be written") == 1
    assert not [p for p in (tmp_path / "blobs").iterdir() if p.name.startswith(".tmp-")]


def test_blobs_that_never_find_a_place_are_counted_and_said_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    monkeypatch.setattr(module, "HELD_BYTES", 5000)
    monkeypatch.setattr(module.Blobs, "_open", _no_file)
    refs = [run.blob(bytes(2000), "x/y") for _ in range(4)]
    assert all(isinstance(ref, BlobRef) for ref in refs)
    run.finish()
    (gap,) = fanal.open(tmp_path / "r").runs["a"].events("gap")
    assert (gap.fields["frames"], gap.fields["reason"]) == (0, "4 blobs found no place: Input/output error")


def _no_file(self: Blobs, temporary: Path) -> int:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_redacted_blob_says_why(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    ref = run.blob(b"a name", "text/plain")
    run.finish()
    with journal(tmp_path / "r") as written:
        written.event("redaction", blob=ref["$blob"], reason="names a person", replacement=None)
    assert read_blob(tmp_path / "r", ref) == b"a name"
    (tmp_path / "r" / "blobs" / ref["$blob"]).unlink()
    with pytest.raises(RecordError, match="redacted: names a person"):
        read_blob(tmp_path / "r", ref)


def test_what_has_changed_or_is_no_name_is_refused(tmp_path: Path) -> None:
    ref = Blobs(tmp_path, Notices("r")).write([b"abc"], "x/y")
    path = tmp_path / "blobs" / ref["$blob"]
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(RecordError, match="has changed"):
        read_blob(tmp_path, ref)
    with pytest.raises(RecordError, match="names no blob"):
        read_blob(tmp_path, "../../etc/passwd")


def test_two_writers_threads_place_what_waits_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Blobs(tmp_path, Notices("r"))
    with monkeypatch.context() as patch:
        patch.setattr(module.Blobs, "_open", _no_file)
        refs = [kept.write([bytes([n]) * 1000], "x/y") for n in range(3)]
    name = module.Blobs._name

    def meanwhile(self: Blobs, *arguments: Any) -> OSError | None:
        monkeypatch.undo()
        failed = name(self, *arguments)
        other = threading.Thread(target=kept.sync)
        other.start()
        other.join(30)
        return failed

    monkeypatch.setattr(module.Blobs, "_name", meanwhile)
    kept.sync()
    kept.settle()
    assert [read_blob(tmp_path, ref) for ref in refs] == [bytes([n]) * 1000 for n in range(3)]
    assert (kept.num_lost, kept._held_bytes) == (0, 0)


def test_a_writers_thread_waits_for_no_lock_of_an_interrupted_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Blobs(tmp_path, Notices("r"))
    with monkeypatch.context() as patch:
        patch.setattr(module.Blobs, "_open", _no_file)
        ref = kept.write([b"x" * 1000], "x/y")
    with kept._lock:
        thread = threading.Thread(target=kept.sync)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
        kept.settle()  # as `finish` in a signal's handler that came while the lock was held
    assert read_blob(tmp_path, ref) == b"x" * 1000

import os
import random
from pathlib import Path

import pytest

from fanal.record import log
from fanal.record.log import FIRST_FRAME, FRAME_BYTES, Damage, Frame, LogFile, read_header, scan, torn_bytes
from fanal.record.segments.tail import LogTail
from tests.worlds.processes import python


def frames(data: bytes) -> list[Frame | Damage]:
    header = read_header(data)
    return list(scan(data, header)) if header else []


def payloads(data: bytes) -> list[bytes]:
    return [one.payload for one in frames(data) if isinstance(one, Frame)]


def written(path: Path, bodies: list[bytes], first_sequence: int = 1) -> bytes:
    file = LogFile(path, first_sequence, 1_000)
    for body in bodies:
        assert file.room(len(body))
        file.append(body)
    file.close()
    return path.read_bytes()


BODIES = [random.Random(n).randbytes(random.Random(n).randint(1, 90)) for n in range(60)]


def test_frames_read_back_in_order_with_their_sequences(tmp_path: Path) -> None:
    data = written(tmp_path / "1.log", BODIES, first_sequence=7)
    assert payloads(data) == BODIES
    assert [one.sequence for one in frames(data) if isinstance(one, Frame)] == list(range(7, 67))


def test_a_log_cut_at_any_byte_holds_an_unbroken_beginning(tmp_path: Path) -> None:
    data = written(tmp_path / "1.log", BODIES)
    ends = [FIRST_FRAME]
    for body in BODIES:
        ends.append(ends[-1] + FRAME_BYTES + len(body))
    for cut in range(ends[-1] + 2):
        whole = sum(end <= cut for end in ends[1:])
        assert payloads(data[:cut]) == BODIES[:whole], cut
        assert not [one for one in frames(data[:cut]) if isinstance(one, Damage)], cut


def test_a_flipped_bit_costs_at_most_the_frame_it_hits(tmp_path: Path) -> None:
    data = written(tmp_path / "1.log", BODIES)
    used = FIRST_FRAME + sum(FRAME_BYTES + len(body) for body in BODIES)
    chance = random.Random(1)
    for _ in range(2000):
        position = chance.randrange(used)
        changed = bytearray(data)
        changed[position] ^= 1 << chance.randrange(8)
        found = frames(bytes(changed))
        lost = [n for n, body in enumerate(BODIES) if body not in {f.payload for f in found if isinstance(f, Frame)}]
        assert len(lost) <= 1
        if lost and lost[0] != len(BODIES) - 1:
            assert [one for one in found if isinstance(one, Damage)], position


@pytest.fixture(scope="module")
def log_of_a_run(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The log of a run as a killed process leaves it: an event, a group, rows, integers beyond 2^53, odd values."""
    code = """
        import os, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a", config={"lr": 0.1}))
        for n in range(40):
            run.log({"x": n / 7, "n": 2**60 + n if n % 10 == 0 else n}, n)
        run.log({"t": "text", "x": 1.0}, 40)
        os._exit(1)
    """
    folder = tmp_path_factory.mktemp("flipped") / "r"
    assert python(code, folder).returncode == 1
    return next(folder.rglob("1.log")).read_bytes().rstrip(b"\0")


@pytest.mark.parametrize("flips", [500, pytest.param(10_000, marks=pytest.mark.drill)])
def test_a_flipped_bit_of_a_runs_log_costs_at_most_its_frame_and_is_named(
    tmp_path: Path, log_of_a_run: bytes, flips: int
) -> None:
    path = tmp_path / "log" / "1.log"
    path.parent.mkdir()
    whole = sequences(path, log_of_a_run)
    chance = random.Random(3)
    for _ in range(flips):
        changed, position = bytearray(log_of_a_run), chance.randrange(len(log_of_a_run))
        changed[position] ^= 1 << chance.randrange(8)
        found = sequences(path, bytes(changed))
        lost = set(whole[0]) - set(found[0])
        assert len(lost) <= 1, position
        assert all(whole[0][sequence] == content for sequence, content in found[0].items()), position
        if lost and max(lost) < max(whole[0]):
            assert any("at byte" in words for words in found[1].damage), position
            assert [range(first, last + 1) for first, last in found[1].missing] == [range(min(lost), max(lost) + 1)]
        elif lost:
            assert found[1].torn > 0, position


def sequences(path: Path, data: bytes) -> tuple[dict[int, object], LogTail]:
    """What each sequence number of a log holds."""
    path.write_bytes(data)
    tail = LogTail(path.parent.parent)
    tail.refresh()
    found: dict[int, object] = {sequence: (fact.kind, str(fact.fields)) for sequence, fact in tail.facts}
    for group in tail.groups.values():
        width = 8 * len(group.keys)
        for i, sequence in enumerate(group.sequences):
            values = bytes(group.values[i * width : (i + 1) * width])
            found[sequence] = (group.steps[i], group.types[i], values, group.times_ns[i], group.exact.get(sequence))
    return found, tail


def test_another_runs_log_that_was_appended_is_none_of_ours(tmp_path: Path, log_of_a_run: bytes) -> None:
    path = tmp_path / "log" / "1.log"
    path.parent.mkdir()
    ours = sequences(path, log_of_a_run)
    other = written(tmp_path / "other.log", BODIES)
    found = sequences(path, log_of_a_run + other)
    assert found[0] == ours[0]
    assert not found[1].damage
    assert (ours[1].torn, found[1].torn) == (0, len(other.rstrip(b"\0")))


def test_another_logs_frames_are_no_frames_here(tmp_path: Path) -> None:
    one, other = written(tmp_path / "1.log", BODIES[:5]), written(tmp_path / "2.log", BODIES)
    end = FIRST_FRAME + sum(FRAME_BYTES + len(body) for body in BODIES[:5])
    assert payloads(one[:end] + other[FIRST_FRAME:]) == BODIES[:5]


def test_one_of_the_two_headers_is_enough(tmp_path: Path) -> None:
    data = bytearray(written(tmp_path / "1.log", BODIES))
    data[10] ^= 1
    assert payloads(bytes(data)) == BODIES
    data[74] ^= 1
    assert read_header(bytes(data)) is None


def test_what_follows_a_torn_frame_is_counted(tmp_path: Path) -> None:
    data = written(tmp_path / "1.log", BODIES[:2])
    end = FIRST_FRAME + sum(FRAME_BYTES + len(body) for body in BODIES[:2])
    assert torn_bytes(data, end) == 0
    assert torn_bytes(data[:end] + b"\0\0xyz\0\0", end) == 5


def test_the_file_grows_and_says_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_FILE_BYTES", 200_000)
    file = LogFile(tmp_path / "1.log", 1, 0)
    body, num = b"x" * 1000, 0
    while file.room(len(body)):
        file.append(body)
        num += 1
    file.close()
    assert num == (200_000 - FIRST_FRAME) // (1000 + FRAME_BYTES)
    assert len(payloads((tmp_path / "1.log").read_bytes())) == num


def test_a_frame_larger_than_a_file_gets_a_file_of_its_size(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "1.log", 1, 0, least_bytes=9_000_000)
    assert file.room(9_000_000)
    file.append(bytes(8_999_999) + b"1")
    file.close()
    assert [len(body) for body in payloads((tmp_path / "1.log").read_bytes())] == [9_000_000]


def test_a_log_file_is_never_written_over(tmp_path: Path) -> None:
    written(tmp_path / "1.log", BODIES)
    with pytest.raises(FileExistsError):
        LogFile(tmp_path / "1.log", 1, 0)


def test_a_part_of_what_a_full_disk_was_asked_for_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk gives what it has left: the file grew by that, and the row found no place."""
    file = LogFile(tmp_path / "1.log", 1, 0)
    file.append(b"first")
    write, left = os.pwrite, 700
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: write(handle, data[:left], at))
    with pytest.raises(OSError, match="no space left for the log"):
        file.room(5000)
    assert file.size == len(file.map)
    small = b"s" * (file.size - file.position)  # more than is mapped, less than the file
    assert file.room(len(small))
    file.append(small)
    monkeypatch.undo()
    assert file.room(5000)
    file.append(b"y" * 5000)
    file.close()
    assert payloads((tmp_path / "1.log").read_bytes()) == [b"first", small, b"y" * 5000]

import random
from pathlib import Path

import pytest

from fanal.record import log
from fanal.record.log import FIRST_FRAME, FRAME_BYTES, Damage, Frame, LogFile, read_header, scan, torn_bytes


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

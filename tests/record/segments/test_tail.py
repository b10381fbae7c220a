import random
import shutil
from pathlib import Path

from fanal.record.layout import WriterPath
from fanal.record.notice import Notices
from fanal.record.segments.tail import LogTail
from fanal.record.writer import Writer

KEYS = ("a", "b", "n")


def written(folder: Path, num: int) -> Path:
    """A writer's log of `num` rows and as many events; its folder. The log file alone, nothing closed."""
    writer = Writer(WriterPath(folder, "r", 1, "w"), Notices("r"))
    group = writer.group(KEYS, (float, float, int))
    for n in range(num):
        writer.row(group, n, (n / 3, -n / 7, n))
        writer.event("note", n, {"text": str(n)})
    writer.abandon()
    return writer.place.folder


def place(tmp_path: Path) -> Path:
    (tmp_path / "runs/r/1/w").mkdir(parents=True)
    return tmp_path


def content(tail: LogTail) -> list[tuple[int, object]]:
    """Sequence and content of every row and event."""
    found: list[tuple[int, object]] = [(sequence, fact.fields["text"]) for sequence, fact in tail.facts]
    for group in tail.groups.values():
        width = 8 * len(group.keys)
        found += [(s, bytes(group.values[i * width : (i + 1) * width])) for i, s in enumerate(group.sequences)]
    return sorted(found)


def read(folder: Path) -> LogTail:
    tail = LogTail(folder)
    tail.refresh()
    return tail


def test_a_log_is_read_at_the_cost_of_what_is_new(tmp_path: Path) -> None:
    writer = Writer(WriterPath(place(tmp_path), "r", 1, "w"), Notices("r"))
    tail = LogTail(writer.place.folder)
    assert not tail.refresh()
    group = writer.group(KEYS, (float, float, int))
    for n in range(50):
        writer.row(group, n, (0.5, 1.5, n))
        assert tail.refresh()
        assert not tail.refresh()
    writer.abandon()
    assert list(tail.groups[frozenset(KEYS)].steps) == list(range(50))
    assert not tail.damage + tail.missing


def test_the_same_keys_in_another_order_are_one_group(tmp_path: Path) -> None:
    writer = Writer(WriterPath(place(tmp_path), "r", 1, "w"), Notices("r"))
    writer.row(writer.group(("a", "b"), (float, int)), 0, (1.5, 2))
    writer.row(writer.group(("b", "a"), (int, float)), 1, (4, 3.5))
    writer.abandon()
    (group,) = read(writer.place.folder).groups.values()
    assert memoryview(group.values).cast("d").tolist() == [1.5, 2.0, 3.5, 4.0]
    assert group.types == ["fi", "fi"]


def test_a_log_cut_at_any_byte_reads_as_an_unbroken_beginning(tmp_path: Path) -> None:
    folder = written(place(tmp_path), 6)
    path = folder / "log" / "1.log"
    data = path.read_bytes().rstrip(b"\0")
    whole = content(read(folder))
    assert len(whole) == 12
    found = whole[:0]
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        tail = read(folder)
        found = content(tail)
        assert found == whole[: len(found)]
        assert not tail.damage
    assert len(found) == 12


def test_a_flipped_bit_loses_at_most_the_frame_it_hits_and_names_it(tmp_path: Path) -> None:
    folder = written(place(tmp_path), 30)
    path = folder / "log" / "1.log"
    data = path.read_bytes()
    used = len(data.rstrip(b"\0"))
    whole = content(read(folder))
    chance = random.Random(5)
    for _ in range(300):
        changed = bytearray(data)
        changed[chance.randrange(used)] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        tail = read(folder)
        found = content(tail)
        lost = [one for one in whole if one not in found]
        assert len(lost) <= 1
        assert not [one for one in found if one not in whole]
        if lost == whole[-1:]:
            assert tail.torn
        elif lost:
            assert tail.damage
            assert tail.missing == [(lost[0][0], lost[0][0])]


def test_a_log_that_is_missing_between_others_is_counted(tmp_path: Path) -> None:
    folder = written(place(tmp_path), 3)
    writer = folder / "log" / "1.log"
    data = writer.read_bytes()
    writer.unlink()
    assert not read(folder).missing  # an empty folder says nothing
    writer.write_bytes(data)
    tail = LogTail(folder, covered=0)
    tail.refresh()
    assert not tail.missing


def test_what_a_segment_covers_is_forgotten(tmp_path: Path) -> None:
    folder = written(place(tmp_path), 10)
    tail = read(folder)
    whole = content(tail)
    tail.forget(11)
    assert content(tail) == [one for one in whole if one[0] > 11]
    other = LogTail(folder, covered=11)
    other.refresh()
    assert content(other) == content(tail)


def test_a_file_that_is_there_twice_is_read_once_and_named(tmp_path: Path) -> None:
    folder = written(place(tmp_path), 10)
    whole = content(read(folder))
    shutil.copy(folder / "log" / "1.log", folder / "log" / "9.log")
    tail = read(folder)
    assert content(tail) == whole
    assert not tail.missing
    (damage,) = tail.damage
    assert damage.startswith("log/9.log at byte 128: frame 1 comes after frame")
    assert tail.last_sequences()["1.log"] == tail.next_sequence - 1

"""Event files: every point exact, torn tails told from damage, and reading on where it stopped."""

import struct
from pathlib import Path

import numpy as np
import pytest

from fanal.importers import event_file
from fanal.importers.event_file import EventFile
from tests.worlds.event_files import (
    Point,
    event,
    field,
    name,
    record,
    simple,
    tensor_scalar,
    version,
    write_events,
)

POINTS: list[Point] = [
    (tag, step, 1.7e9 + step + i / 7, (step + 1) / (i + 3))
    for step in range(300)
    for i, tag in enumerate(("loss", "accuracy/train", "lr"))
]


def read_points(file: EventFile) -> list[Point]:
    found: list[Point] = []
    for chunk in file.read():
        names = [tag.decode() for tag in chunk.columns.tags]
        parts = (chunk.columns.tag_ids, chunk.columns.steps, chunk.columns.wall_times, chunk.columns.values)
        found += [(names[t], s, w, v) for t, s, w, v in zip(*(p.tolist() for p in parts), strict=True) if t >= 0]
        slow = [(v.tag, e.step, e.wall_time, v.scalar) for _, e in chunk.others for v in e.values]
        found += [point for point in slow if point[3] is not None]  # type: ignore[misc]
    return found


def as_float32(points: list[Point]) -> list[Point]:
    return [(tag, step, wall, float(np.float32(value))) for tag, step, wall, value in points]


def test_every_point_comes_back_in_order_with_its_float32_and_time(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    write_events(path, POINTS)
    file = EventFile(path)
    assert read_points(file) == as_float32(POINTS)
    assert (file.unreadable, file.torn_bytes, file.offset) == ([], 0, path.stat().st_size)


@pytest.mark.parametrize("step", [0, 1, 127, 128, 2**31, 2**62, -1])
def test_any_step_comes_back(tmp_path: Path, step: int) -> None:
    path = tmp_path / name(1)
    write_events(path, [("a", step, 1.5e9, 0.5)])
    assert read_points(EventFile(path)) == [("a", step, 1.5e9, 0.5)]


def test_scalars_as_tensors_are_scalars(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    values = [tensor_scalar("a", 0.1), tensor_scalar("a", 0, 2, struct.pack("<d", 0.1))]
    path.write_bytes(version(1.0) + b"".join(record(event(2.0, 5, [value])) for value in values))
    assert read_points(EventFile(path)) == [("a", 5, 2.0, float(np.float32(0.1))), ("a", 5, 2.0, 0.1)]


def test_several_values_of_one_event_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    path.write_bytes(version(1.0) + record(event(2.0, 5, [simple("a", 1.0), simple("b", 2.0)])))
    assert read_points(EventFile(path)) == [("a", 5, 2.0, 1.0), ("b", 5, 2.0, 2.0)]


def test_a_cut_at_any_byte_is_a_torn_tail_that_growth_finishes(tmp_path: Path) -> None:
    path, grown = tmp_path / name(1), tmp_path / name(2)
    starts = write_events(path, POINTS[:9])
    data = path.read_bytes()
    for size in range(len(data)):
        grown.write_bytes(data[:size])
        file = EventFile(grown)
        before = read_points(file)
        whole = sum(start <= size for start in [*starts[1:], len(data)])
        assert len(before) == max(whole - 1, 0), size
        assert file.unreadable == []
        assert file.torn_bytes == size - file.offset
        grown.write_bytes(data)
        assert before + read_points(file) == as_float32(POINTS[:9])


@pytest.mark.parametrize("place", range(16))
def test_a_changed_byte_in_the_middle_is_named_and_costs_one_record(tmp_path: Path, place: int) -> None:
    path = tmp_path / name(1)
    starts = write_events(path, POINTS[:30])
    hit = starts[10]
    data = bytearray(path.read_bytes())
    data[hit + (place if place < 12 else 12 + place)] ^= 0x10
    path.write_bytes(data)
    file = EventFile(path)
    points = read_points(file)
    assert points == as_float32(POINTS[:9] + POINTS[10:30])
    assert [one.where for one in file.unreadable] == [f"{path.name} byte {hit}"]
    assert file.torn_bytes == 0


@pytest.mark.parametrize("place", [*range(8)])
def test_a_length_that_leads_beyond_the_file_is_named_and_passed(tmp_path: Path, place: int) -> None:
    path = tmp_path / name(1)
    starts = write_events(path, POINTS)
    data = bytearray(path.read_bytes())
    data[starts[700] + place] = 0xFF
    path.write_bytes(data)
    file = EventFile(path)
    assert read_points(file) == as_float32(POINTS[:699] + POINTS[700:])
    assert [one.where for one in file.unreadable] == [f"{path.name} byte {starts[700]}"]


def test_a_wrong_checksum_at_the_very_end_is_a_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    starts = write_events(path, POINTS[:9])
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    file = EventFile(path)
    assert len(read_points(file)) == 8
    assert (file.unreadable, file.offset) == ([], starts[-1])
    path.write_bytes(bytes(data) + record(event(3.0, 1, [simple("a", 1.0)])))
    assert read_points(file) == [("a", 1, 3.0, 1.0)]
    assert [one.where for one in file.unreadable] == [f"{path.name} byte {starts[-1]}"]


def test_a_record_that_is_no_message_is_named(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    path.write_bytes(version(1.0) + record(b"\xff\xff\xff") + record(event(2.0, 1, [simple("a", 1.0)])))
    file = EventFile(path)
    assert read_points(file) == [("a", 1, 2.0, 1.0)]
    assert "nothing known" in file.unreadable[0].what


def test_more_layouts_of_one_length_than_are_tried_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    odd = [field(1, b"a" * n) + field(7, b"b" * (40 - n)) + b"\x15" + struct.pack("<f", n) for n in range(1, 30)]
    path.write_bytes(version(1.0) + b"".join(record(event(2.0, 1, [value])) for value in odd))
    assert [value for *_, value in read_points(EventFile(path))] == [float(n) for n in range(1, 30)]


def test_another_file_is_no_torn_event_file(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    path.write_bytes(b"something else, of some length")
    file = EventFile(path)
    assert read_points(file) == []
    assert [(one.where, one.what) for one in file.unreadable] == [
        (f"{path.name} byte 0", "is not how an event file begins")
    ]


@pytest.mark.parametrize("chunk_bytes", [40, 100, 777, 5000])
def test_chunks_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int) -> None:
    monkeypatch.setattr(event_file, "CHUNK_BYTES", chunk_bytes)
    path = tmp_path / name(1)
    starts = write_events(path, POINTS)
    data = bytearray(path.read_bytes())
    for hit, place in ((100, 3), (101, 15), (400, 40), (700, 9)):
        data[starts[hit] + place] ^= 0x41
    path.write_bytes(data)
    file = EventFile(path)
    wanted = [point for number, point in enumerate(POINTS, 1) if number not in (100, 101, 400, 700)]
    assert read_points(file) == as_float32(wanted)
    assert {f"{path.name} byte {starts[hit]}" for hit in (100, 400, 700)} <= {one.where for one in file.unreadable}
    assert len(file.unreadable) <= 4  # the first two, which follow each other, may be one stretch


def test_random_flipped_bits_cost_the_record_they_hit_and_are_named(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    starts = write_events(path, POINTS[:60])
    data = path.read_bytes()
    chance = np.random.default_rng(3)
    for place in chance.integers(starts[1], starts[-1], 300).tolist():
        changed = bytearray(data)
        changed[place] ^= 1 << int(chance.integers(8))
        path.write_bytes(changed)
        file = EventFile(path)
        hit = int(np.searchsorted(starts, place, "right")) - 1
        assert read_points(file) == as_float32([p for n, p in enumerate(POINTS[:60], 1) if n != hit])
        assert [one.where for one in file.unreadable] == [f"{path.name} byte {starts[hit]}"]

"""Slices of logs: whole frames, in order, merged as they grow, the same again after a start."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fanal.page.slices import MAX_SLICE_BYTES, Slices, read_bytes
from fanal.record.attempt import Run, Start, start
from fanal.record.files import sha256
from fanal.record.layout import WriterPath
from fanal.record.log import FIRST_FRAME, Frame, read_header, scan
from fanal.record.proof.entries import TailSlice


@pytest.fixture
def run(tmp_path: Path) -> Any:
    opened = start(tmp_path / "record", Start(id="one"))
    yield opened
    opened.finish()


def place_of(run: Run) -> WriterPath:
    (folder,) = [p.parent for p in run.path.glob("runs/one/1/*/owner.json")]
    return WriterPath(run.path, "one", 1, folder.name)


def hold(slices: Slices, about: Sequence[TailSlice]) -> int:
    """Hold slices of one log against the file; the last sequence."""
    end, last = 0, 0
    for one in about:
        data = read_bytes(slices.path(one), one.offset, one.bytes)
        assert (one.offset, one.first_sequence, sha256(data)) == (end, last + 1, one.sha256)
        end, last = one.offset + one.bytes, one.last_sequence
    whole = read_bytes(slices.path(about[0]), 0, end)
    header = read_header(whole)
    assert header is not None
    frames = list(scan(whole, header, FIRST_FRAME))
    assert all(isinstance(frame, Frame) for frame in frames)
    assert len(frames) == last
    return last


def nothing(kind: str | None, said: Any) -> None:
    """Takes what a frame says."""


def test_every_frame_is_in_exactly_one_slice_and_few_slices_hold_many_frames(run: Run) -> None:
    slices = Slices(place_of(run), nothing)
    for step in range(1000):
        run.log({"loss": 1.0 / (step + 1)}, step)
        assert slices.refresh()
    assert not slices.refresh()
    assert hold(slices, slices.slices) >= 1000
    assert len(slices.slices) < 60


def test_no_slice_is_longer_than_a_mebibyte_and_a_large_log_is_cut(run: Run) -> None:
    slices = Slices(place_of(run), nothing)
    row = {f"key{i}": float(i) for i in range(1000)}
    for step in range(400):
        run.log(row, step)
    slices.refresh()
    assert len(slices.slices) > 2
    assert max(one.bytes for one in slices.slices) < MAX_SLICE_BYTES + 100_000
    hold(slices, [one for one in slices.slices if one.log == 1])


def test_a_new_publisher_goes_on_with_the_slices_that_are_there(run: Run) -> None:
    first = Slices(place_of(run), nothing)
    for step in range(30):
        run.log({"loss": 1.0}, step)
        first.refresh()
    seen: list[str | None] = []
    second = Slices(place_of(run), lambda kind, said: seen.append(kind), first.slices)
    assert second.refresh()
    assert second.slices == first.slices
    assert "attempt.start" in seen, "what they say is looked at again"
    run.log({"loss": 2.0}, 31)
    second.refresh()
    assert hold(second, second.slices) == first.slices[-1].last_sequence + 1


def test_slices_of_other_bytes_are_not_believed(run: Run) -> None:
    run.log({"loss": 1.0}, 0)
    place = place_of(run)
    lie = TailSlice("one", 1, place.writer, 1, 0, 200, "0" * 64, 1, 2)
    slices = Slices(place, nothing, [lie])
    slices.refresh()
    assert lie not in slices.slices
    hold(slices, slices.slices)


def test_a_frame_that_is_cut_short_waits(run: Run, tmp_path: Path) -> None:
    for step in range(10):
        run.log({"loss": 1.0}, step)
    place = place_of(run)
    data = (place.folder / "log" / "1.log").read_bytes()
    header = read_header(data)
    assert header is not None
    ends = [frame.position for frame in scan(data, header) if isinstance(frame, Frame)]
    copy = WriterPath(tmp_path / "copy", "one", 1, place.writer)
    (copy.folder / "log").mkdir(parents=True)
    for cut in range(len(data[: ends[-1]]) - 40, ends[-1]):
        (copy.folder / "log" / "1.log").write_bytes(data[:cut])
        slices = Slices(copy, nothing)
        slices.refresh()
        last = hold(slices, slices.slices)
        (copy.folder / "log" / "1.log").write_bytes(data)
        slices.refresh()
        assert hold(slices, slices.slices) > last


def test_a_log_that_is_gone_is_kept_until_a_segment_holds_it(run: Run) -> None:
    run.log({"loss": 1.0}, 0)
    place = place_of(run)
    slices = Slices(place, nothing)
    slices.refresh()
    about = slices.slices
    run.finish()
    slices.refresh()
    slices.forget(about[-1].last_sequence - 1)
    assert slices.slices == about
    slices.forget(about[-1].last_sequence)
    assert slices.slices == []

"""`.wandb` files: what they hold comes back with its type, whatever is cut or flipped costs one record and is named."""

import math
import random
from pathlib import Path

import pytest

from fanal.errors import RecordError
from fanal.importers.wandb_file import WandbReader, read_wandb
from tests.worlds.wandb_files import ended, field, history, item, run, write_wandb

ROWS = 120


def whole_file(folder: Path) -> Path:
    rows = [history(s, {"loss": 1 / (s + 1), ("n", "a"): s, "text": "x" * 400}) for s in range(ROWS)]
    return write_wandb(folder / "run-abc.wandb", [run("abc", "nice", {"lr": 0.1}), *rows, ended()])


def test_a_file_larger_than_a_block_comes_back_row_by_row(tmp_path: Path) -> None:
    found = read_wandb(whole_file(tmp_path))
    assert [step for step, _ in found.history] == list(range(ROWS))
    assert found.history[7][1]["loss"] == 1 / 8
    assert found.history[7][1]["n.a"] == 7
    assert (found.run.run_id, found.run.name, found.config, found.tail, found.exit_code) == (
        "abc",
        "nice",
        {"lr": 0.1},
        "whole",
        0,
    )


def test_values_keep_their_type(tmp_path: Path) -> None:
    values = {"nan": math.nan, "inf": -math.inf, "big": 2**63 + 1, "flag": True, "none": None, "损失": 1.0, "": 2}
    path = write_wandb(tmp_path / "a.wandb", [run("a"), history(0, values)])
    row = read_wandb(path).history[0][1]
    assert math.isnan(row["nan"])
    assert {key: row[key] for key in values if key != "nan"} == {k: v for k, v in values.items() if k != "nan"}
    assert type(row["big"]) is int


def test_an_object_with_a_type_is_one_value(tmp_path: Path) -> None:
    nested = {("h", "_type"): "histogram", ("h", "values"): [1, 2], ("h", "bins"): [0, 1, 2], ("m", "a"): 1}
    row = read_wandb(write_wandb(tmp_path / "a.wandb", [history(0, nested)])).history[0][1]
    assert row["h"] == {"_type": "histogram", "values": [1, 2], "bins": [0, 1, 2]}
    assert row["m.a"] == 1


def test_config_is_nested_and_its_updates_and_removals_count(tmp_path: Path) -> None:
    update = field(5, field(1, item(("opt", "lr"), 2)) + field(2, item("gone", 0)))
    path = write_wandb(tmp_path / "a.wandb", [run("a", config={"opt": {"lr": 1, "wd": 0}, "gone": 1}), update])
    assert read_wandb(path).config == {"opt": {"lr": 2, "wd": 0}}


def test_a_file_cut_anywhere_in_its_last_200_bytes_loses_one_record_at_most(tmp_path: Path) -> None:
    data = whole_file(tmp_path).read_bytes()
    cut = tmp_path / "cut.wandb"
    for size in range(len(data) - 200, len(data)):
        cut.write_bytes(data[:size])
        found = read_wandb(cut)
        assert len(found.history) >= ROWS - 1, size
        assert found.tail in ("torn", "whole")
        assert not found.unreadable


def test_a_flipped_bit_costs_the_record_that_it_hits_and_is_named(tmp_path: Path) -> None:
    data = whole_file(tmp_path).read_bytes()
    flipped = tmp_path / "flipped.wandb"
    chance = random.Random(7)
    for _ in range(60):
        place = chance.randrange(7, len(data) - 400)
        flipped.write_bytes(data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :])
        found = read_wandb(flipped)
        assert len(found.history) >= ROWS - 1, place
        assert found.tail == "corrupt"
        assert int(found.unreadable[0].where.removeprefix("byte ")) <= place


def test_a_file_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    data = whole_file(tmp_path).read_bytes()
    growing = tmp_path / "growing.wandb"
    growing.write_bytes(data[:20_000])
    reader = WandbReader(growing)
    seen = list(reader.read())
    assert reader.torn_bytes
    for size in (20_001, 40_000, len(data)):
        growing.write_bytes(data[:size])
        seen += list(reader.read())
    assert seen == list(WandbReader(tmp_path / "run-abc.wandb").read())
    assert list(WandbReader(growing, reader.offset).read()) == []


def test_no_file_and_two_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="found nothing"):
        read_wandb(tmp_path / "absent")
    with pytest.raises(RecordError, match=r"found 0 \.wandb files"):
        read_wandb(tmp_path)


def test_another_file_is_corrupt_and_says_why(tmp_path: Path) -> None:
    other = tmp_path / "a.wandb"
    other.write_bytes(b"not one of these")
    found = read_wandb(other)
    assert found.tail == "corrupt"
    assert "not the header" in found.unreadable[0].what


@pytest.mark.parametrize("chunk_bytes", [64, 5000, 33_000])
def test_chunks_of_any_size_give_the_same(tmp_path: Path, chunk_bytes: int) -> None:
    path = whole_file(tmp_path)
    data = bytearray(path.read_bytes())
    for place in (9000, 33_000):
        data[place] ^= 4
    path.write_bytes(data)
    whole, parts = WandbReader(path), WandbReader(path, chunk_bytes=chunk_bytes)
    assert list(parts.read()) == list(whole.read())
    assert parts.unreadable == whole.unreadable
    assert len(whole.unreadable) == 2

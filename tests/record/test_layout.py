import errno
import os
import stat
from pathlib import Path

import pytest

from fanal.errors import RecordError
from fanal.record import layout
from fanal.record.files import seal
from fanal.record.writers import new_place


@pytest.mark.parametrize("run", ["hero", "d32-s1", "a.b", "_x", "0", "A" * 80])
def test_a_run_id_may_be_a_folders_name(run: str) -> None:
    assert layout.check_run_id(run) == run


@pytest.mark.parametrize("run", ["", ".", "..", ".x", "a/b", "../x", "a b", "ü", "a\n", "a\0", "A" * 81, "%2e%2e"])
def test_another_run_id_is_refused_with_the_rule(run: str) -> None:
    with pytest.raises(ValueError, match="1 to 80 of A-Z a-z 0-9"):
        layout.check_run_id(run)


@pytest.mark.parametrize("name", ["hero run", "../../etc/passwd", "损失", "", "<img src=x>", "x" * 500, "-", "..."])
def test_any_name_gives_a_run_id(name: str) -> None:
    assert layout.check_run_id(layout.run_id_from(name))


def test_a_record_is_made_once_and_then_found(tmp_path: Path) -> None:
    header = layout.open_record(tmp_path / "a" / "record", campaign="f" * 64)
    assert header["campaign"] == "f" * 64
    assert layout.open_record(tmp_path / "a" / "record") == header
    assert layout.find_record(tmp_path / "a") == tmp_path / "a" / "record"
    assert [p.name for p in (tmp_path / "a" / "record").iterdir()] == ["record.json"]


def test_a_folder_with_other_things_does_not_become_a_record(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RecordError, match=r"thesis\.tex.*name a new folder"):
        layout.open_record(tmp_path)


def test_a_newer_format_is_said(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_bytes(seal({"format": 2, "kind": "record"}))
    with pytest.raises(RecordError, match="format 2, this version reads 1: install a newer fanal"):
        layout.open_record(tmp_path)


def test_a_changed_header_is_said(tmp_path: Path) -> None:
    layout.open_record(tmp_path)
    path = tmp_path / "record.json"
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2'))
    with pytest.raises(RecordError, match="has changed since it was written"):
        layout.read_header(tmp_path)


def test_no_record_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is no record"):
        layout.find_record(tmp_path)
    with pytest.raises(RecordError, match="is no record"):
        layout.read_header(tmp_path / "absent")


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with pytest.raises(RecordError, match="cannot become a record"):
        layout.open_record(tmp_path / "f" / "record")


def test_attempts_are_numbered_by_whoever_makes_the_folder_first(tmp_path: Path) -> None:
    assert [layout.begin_attempt(tmp_path, "a") for _ in range(3)] == [1, 2, 3]
    assert layout.attempts_of(tmp_path, "a") == [1, 2, 3]
    (tmp_path / "runs/a/x7").mkdir()
    assert layout.begin_attempt(tmp_path, "a") == 4


def test_a_new_run_of_a_name_gets_the_next_free_number(tmp_path: Path) -> None:
    assert [layout.begin_new_run(tmp_path, "x") for _ in range(3)] == ["x", "x-2", "x-3"]


def test_files_are_readable_by_others(tmp_path: Path) -> None:
    layout.open_record(tmp_path)
    assert stat.S_IMODE((tmp_path / "record.json").stat().st_mode) == 0o644


def test_a_record_begins_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(os, "link", refuse)
    first = layout.open_record(tmp_path / "r")
    assert layout.open_record(tmp_path / "r") == first
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["record.json"]


@pytest.mark.parametrize("taken", [[], [1], [1, 2, 3], [1, 3], [1, 2, 4, 5], [2], list(range(1, 40))])
def test_a_name_that_is_taken_gets_a_free_number(tmp_path: Path, taken: list[int]) -> None:
    for number in taken:
        (tmp_path / "runs" / ("x" if number == 1 else f"x-{number}")).mkdir(parents=True)
    made = [layout.begin_new_run(tmp_path, "x") for _ in range(3)]
    numbers = [1 if name == "x" else int(name.removeprefix("x-")) for name in made]
    assert not set(numbers) & set(taken)
    assert len(set(numbers)) == 3
    assert max(numbers) <= max(taken, default=0) + 3


def test_a_shared_attempt_is_begun_by_one_and_joined_by_others(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    assert layout.join_attempt(tmp_path / "r", "a") == (1, True)
    assert layout.join_attempt(tmp_path / "r", "a") == (1, True)  # nobody has written anything yet
    place = new_place(tmp_path / "r", "a", 1)
    (place.folder / "log" / "1.log").touch()
    assert layout.join_attempt(tmp_path / "r", "a") == (1, False)
    assert layout.begin_attempt(tmp_path / "r", "a") == 2
    new_place(tmp_path / "r", "a", 2)
    assert layout.join_attempt(tmp_path / "r", "a") == (2, True)

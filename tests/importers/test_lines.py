"""Lines of a growing file: whole ones once, the torn one later, in any encoding and any chunk."""

from pathlib import Path

import pytest

from fanal.importers import lines
from fanal.importers.lines import Head, LineFile

TEXT = "one\r\ntwo é\n\nvier 损失\nlast"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("chunk_bytes", [2, 7, 1 << 20])
def test_lines_come_in_any_encoding_and_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, chunk_bytes: int
) -> None:
    monkeypatch.setattr(lines, "CHUNK_BYTES", chunk_bytes)
    path = tmp_path / "a"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path.write_bytes(mark + TEXT.encode(encoding))
    file = LineFile(path)
    assert [line.text for line in file.read()] == ["one", "two é", "", "vier 损失"]
    assert file.torn_bytes == len("last".encode(encoding.removesuffix("-sig").replace("utf-16", "utf-16-le")[:9]))
    assert [(line.text, line.whole) for line in file.read(take_open_line=True)] == [("last", False)]


def test_each_line_says_its_number_and_the_byte_after_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"ab\ncd\n")
    assert [(line.number, line.end) for line in LineFile(path).read()] == [(1, 3), (2, 6)]
    assert [(line.number, line.text) for line in LineFile(path, 3, 1).read()] == [(2, "cd")]


def test_what_is_no_utf_8_is_read_as_windows_1252_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("naïve\n".encode("cp1252") + b"plain\n")
    file = LineFile(path)
    assert [line.text for line in file.read()] == ["naïve", "plain"]
    assert file.replaced == 1


def test_a_head_knows_a_file_that_has_grown_and_none_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    head = Head.from_json(Head.of(path).to_json())
    path.write_bytes(b"abcdef")
    assert head.fits(path)
    path.write_bytes(b"abX")
    assert not head.fits(path)

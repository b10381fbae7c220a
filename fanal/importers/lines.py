"""Whole lines of a growing text file from a byte on, each with the byte after it; the torn last line waits.

A file that was written anew (another beginning) is told from one that has grown, so that a table whose header got more
columns is read again from its start and the rows already imported are known by their content.
"""

import codecs
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

CHUNK_BYTES = 8 << 20
HEAD_BYTES = 4096
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class Line(NamedTuple):
    """One line without its end."""

    number: int
    text: str
    end: int
    """The byte after it."""
    whole: bool
    """It has an end of line."""


@dataclass
class Head:
    """The first bytes of a file, by which it is known again."""

    num_bytes: int
    digest: str

    @classmethod
    def of(cls, path: Path, num_bytes: int = HEAD_BYTES) -> "Head":
        """The head of a file; shorter where the file is."""
        with path.open("rb") as file:
            data = file.read(num_bytes)
        return cls(len(data), hashlib.sha256(data).hexdigest()[:32])

    def fits(self, path: Path) -> bool:
        """Whether a file begins so."""
        return Head.of(path, self.num_bytes) == self

    def to_json(self) -> list[Any]:
        """For a cursor."""
        return [self.num_bytes, self.digest]

    @classmethod
    def from_json(cls, value: list[Any]) -> "Head":
        """From a cursor."""
        return cls(int(value[0]), str(value[1]))


class LineFile:
    """Lines of a file, from `offset` on; `number` lines lie before it."""

    def __init__(self, path: Path, offset: int = 0, number: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.number = number
        self.replaced = 0
        """Lines that are no UTF-8, read as Windows-1252."""
        self.torn_bytes = 0

    def read(self, take_open_line: bool = False) -> Iterator[Line]:
        """Each whole line that has not been read; the last one without an end only where asked for."""
        encoding, mark = self._encoding()
        self.offset = max(self.offset, mark)
        with self.path.open("rb") as file:
            wanted = CHUNK_BYTES
            while True:
                file.seek(self.offset)
                data = file.read(wanted)
                before = self.offset
                yield from self._whole(data, encoding)
                if len(data) < wanted:
                    break
                wanted = CHUNK_BYTES if self.offset > before else wanted * 2
        rest = data[self.offset - before :]
        if rest.strip(b"\0") and take_open_line:
            text, end = self._decode(rest, encoding), self.offset + len(rest)
            self.number += 1
            yield Line(self.number, text, end, whole=False)
        self.torn_bytes = len(rest) if not take_open_line else 0

    def _encoding(self) -> tuple[str, int]:
        with self.path.open("rb") as file:
            head = file.read(4)
        return next(((name, len(mark)) for mark, name in _MARKS if head.startswith(mark)), ("utf-8", 0))

    def _whole(self, data: bytes, encoding: str) -> Iterator[Line]:
        end_of_line = "\n".encode(encoding)
        unit, position = len(end_of_line), 0
        while (at := data.find(end_of_line, position)) >= 0:
            if unit > 1 and (at - position) % unit:
                at = _aligned(data, end_of_line, position)
                if at < 0:
                    return
            text = self._decode(data[position:at], encoding)
            self.offset += at + unit - position
            self.number += 1
            position = at + unit
            yield Line(self.number, text.removesuffix("\r"), self.offset, whole=True)

    def _decode(self, data: bytes, encoding: str) -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            self.replaced += 1
            return data.decode("cp1252" if encoding == "utf-8" else encoding, "replace")


def _aligned(data: bytes, end_of_line: bytes, start: int) -> int:
    at = data.find(end_of_line, start)
    while at >= 0 and (at - start) % len(end_of_line):
        at = data.find(end_of_line, at + 1)
    return at

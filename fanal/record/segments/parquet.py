"""Row groups of columns as Parquet files that databases read and whose pages a browser reads without a Parquet library.

Every column is required and has one gzip page a row group. Files stay under 1 MiB, so that a fetch is a whole file.
`pages` tells where the compressed bytes of the columns lie. Source: the Parquet format's parquet.thrift.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanal.record.segments import thrift
from fanal.record.segments.columns import BYTE_ARRAY, Chunk

MAX_FILE_BYTES = 1 << 20
MAX_FILE_VALUES = 262_144
ROW_GROUP_VALUES = 16_384
"""A key is read in the time that one page takes."""
MAGIC = b"PAR1"
GZIP = 2
WRITER = b"fanal"
ROOM_BYTES = 1024
"""For what a footer holds beside its row groups."""


@dataclass(frozen=True)
class RowGroup:
    """Columns of equal length that go into one file together, and what the manifest says of them."""

    columns: Mapping[str, Chunk]
    about: Mapping[str, Any]
    num_rows: int


@dataclass(frozen=True)
class Written:
    """One finished file: its bytes, and by row group what it holds and where its pages are."""

    data: bytes
    groups: tuple[dict[str, Any], ...]


def write_files(groups: Iterator[RowGroup], paged: tuple[str, ...]) -> Iterator[Written]:
    """The row groups as few files as the limits allow; `paged` are the columns whose pages the manifest tells."""
    file: _File | None = None
    for group in groups:
        if file is not None and not file.has_room(group):
            yield file.finish()
            file = None
        if file is None:
            file = _File(_schema(group.columns))
        file.add(group, paged)
    if file is not None:
        yield file.finish()


@dataclass
class _File:
    """A file that row groups are being added to."""

    schema: list[bytes]
    data: bytearray = field(default_factory=lambda: bytearray(MAGIC))
    num_rows: int = 0
    footer: list[bytes] = field(default_factory=list[bytes])
    abouts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def has_room(self, group: RowGroup) -> bool:
        """Whether the file stays within its limits with another row group."""
        chunks = sum(len(chunk.data) + 2 * ROOM_BYTES // len(group.columns) for chunk in group.columns.values())
        held = len(self.data) + sum(map(len, self.footer)) + ROOM_BYTES
        return self.num_rows + group.num_rows <= MAX_FILE_VALUES and held + chunks <= MAX_FILE_BYTES

    def add(self, group: RowGroup, paged: tuple[str, ...]) -> None:
        """Append a row group."""
        start = len(self.data)
        columns, pages = list[bytes](), dict[str, list[int]]()
        for name, chunk in group.columns.items():
            at = len(self.data)
            columns.append(_column(name, chunk, at))
            self.data += chunk.data
            if name in paged:
                pages[name] = [at + chunk.body, len(chunk.data) - chunk.body]
        self.footer.append(
            thrift.struct(
                thrift.listed(1, thrift.STRUCT, columns),
                thrift.i64(2, sum(chunk.plain_bytes for chunk in group.columns.values())),
                thrift.i64(3, group.num_rows),
                thrift.i64(5, start),
                thrift.i64(6, len(self.data) - start),
            )
        )
        self.num_rows += group.num_rows
        self.abouts.append({**group.about, "pages": pages})

    def finish(self) -> Written:
        """The whole file."""
        typed = thrift.struct(thrift.nested(1))  # limits compare as their column's type does
        footer = thrift.struct(
            thrift.i32(1, 2),
            thrift.listed(2, thrift.STRUCT, self.schema),
            thrift.i64(3, self.num_rows),
            thrift.listed(4, thrift.STRUCT, self.footer),
            thrift.binary(6, WRITER),
            thrift.listed(7, thrift.STRUCT, [typed] * (len(self.schema) - 1)),
        )
        data = bytes(self.data) + footer + len(footer).to_bytes(4, "little") + MAGIC
        return Written(data, tuple(self.abouts))


def _schema(columns: Mapping[str, Chunk]) -> list[bytes]:
    """The root and each column, all required; bytes are strings."""
    elements = [thrift.struct(thrift.binary(4, b"schema"), thrift.i32(5, len(columns)))]
    for name, chunk in columns.items():
        fields = [thrift.i32(1, chunk.kind), thrift.i32(3, 0), thrift.binary(4, name.encode())]
        if chunk.kind == BYTE_ARRAY:
            fields += [thrift.i32(6, 0), thrift.nested(10, thrift.nested(1))]
        elements.append(thrift.struct(*fields))
    return elements


def _column(name: str, chunk: Chunk, at: int) -> bytes:
    """What the footer says of a column that begins at a byte of the file."""
    path = name.encode()
    fields = [
        thrift.i32(1, chunk.kind),
        thrift.listed(2, thrift.I32, [thrift.zigzag(one) for one in chunk.encodings]),
        thrift.listed(3, thrift.BINARY, [thrift.varint(len(path)) + path]),
        thrift.i32(4, GZIP),
        thrift.i64(5, chunk.num_values),
        thrift.i64(6, chunk.plain_bytes),
        thrift.i64(7, len(chunk.data)),
        thrift.i64(9, at + chunk.dictionary_bytes),
    ]
    if chunk.dictionary_bytes:
        fields.append(thrift.i64(11, at))
    if chunk.limits is not None:
        least, greatest = chunk.limits
        fields.append(thrift.nested(12, thrift.binary(5, greatest), thrift.binary(6, least)))
    return thrift.struct(thrift.i64(2, at), thrift.nested(3, *fields))

"""Columns as Parquet files that databases read and whose pages a browser reads without a Parquet library.

Every column is required, has one gzip page a row group, and no statistics where NaN may occur (engines prune by them).
Files stay under 1 MiB, so that a fetch is a whole file. `pages` tells where the compressed bytes of the columns lie;
floats are byte-stream-split: all first bytes, then all second bytes, and so on.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

MAX_FILE_BYTES = 1 << 20
MAX_FILE_VALUES = 262_144
ROW_GROUP_VALUES = 65_536
COMPRESSION_LEVEL = 3
_TYPES = {"key": pa.dictionary(pa.int32(), pa.string()), "row": pa.int32(), "level": pa.int32(), "bucket": pa.int32()}
_TYPES |= {"count": pa.int32(), "nonfinite": pa.int32()}
_TYPES |= {"step": pa.int64(), "time_ns": pa.int64(), "sequence": pa.int64()}
_TYPES |= {"value": pa.float64(), "min": pa.float64(), "max": pa.float64(), "mean": pa.float64()}
_SPLIT = {name for name, kind in _TYPES.items() if kind == pa.float64()}
_PLAIN = {"count", "nonfinite"}


@dataclass(frozen=True)
class RowGroup:
    """Columns of equal length that go into one file together, and what the manifest says of them."""

    columns: Mapping[str, Any]
    about: Mapping[str, Any]
    num_rows: int


@dataclass(frozen=True)
class Written:
    """One finished file: its bytes, and by row group what it holds and where its pages are."""

    data: bytes
    groups: tuple[dict[str, Any], ...]


def write_files(groups: Iterator[RowGroup], paged: tuple[str, ...]) -> Iterator[Written]:
    """The row groups as few files as the limits allow; `paged` are the columns whose pages the manifest tells."""
    sink, writer, held, num_rows, widest = pa.BufferOutputStream(), None, [], 0, 0
    for group in groups:
        full = num_rows + group.num_rows > MAX_FILE_VALUES or sink.tell() + widest > MAX_FILE_BYTES
        if writer is not None and full:
            yield _finish(sink, writer, held, paged)
            sink, writer, held, num_rows = pa.BufferOutputStream(), None, [], 0
        schema = pa.schema([pa.field(name, _TYPES[name], nullable=False) for name in group.columns])
        writer = writer or _writer(sink, schema)
        before = sink.tell()
        table = pa.table(list(group.columns.values()), schema=schema)
        writer.write_table(table, row_group_size=max(group.num_rows, 1))
        widest = max(widest, sink.tell() - before + FOOTER_BYTES)
        held.append(group)
        num_rows += group.num_rows
    if writer is not None:
        yield _finish(sink, writer, held, paged)


FOOTER_BYTES = 1024
"""About what a row group adds to the file's footer."""


def key_column(names: list[str], repeats: list[int]) -> pa.DictionaryArray:
    """Each name repeated; what UTF-8 cannot say is escaped here (the manifest has the exact names)."""
    plain = [name.encode("utf-8", "backslashreplace").decode("utf-8") for name in names]
    return pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(names), dtype=np.int32), repeats), pa.array(plain))


def inflate(body: bytes) -> NDArray[np.uint8]:
    """The bytes of one page; gzip checks them."""
    return np.frombuffer(zlib.decompress(body, wbits=31), np.uint8)


def split_floats(page: NDArray[np.uint8], first: int, num: int) -> NDArray[np.float64]:
    """Values `first` to `first + num` of a byte-stream-split page."""
    return page.reshape(8, -1)[:, first : first + num].T.copy().view("<f8")[:, 0]


def read_columns(data: bytes, names: list[str]) -> list[NDArray[Any]]:
    """Whole columns of a file."""
    table = pq.ParquetFile(pa.BufferReader(data)).read(columns=names, use_threads=False)
    return [table.column(name).to_numpy() for name in names]


def _writer(sink: Any, schema: pa.Schema) -> Any:
    named = set(schema.names)
    encodings = dict.fromkeys(named & _SPLIT, "BYTE_STREAM_SPLIT")
    encodings |= dict.fromkeys(named & _PLAIN, "PLAIN")
    encodings |= dict.fromkeys(named - _SPLIT - _PLAIN - {"key"}, "DELTA_BINARY_PACKED")
    return pq.ParquetWriter(
        sink,
        schema,
        compression="gzip",
        compression_level=COMPRESSION_LEVEL,
        use_dictionary=sorted(named & {"key"}),  # pyright: ignore[reportArgumentType]  a list, as pyarrow documents
        column_encoding=encodings,
        write_statistics=[name for name in schema.names if name not in _SPLIT],
        data_page_size=MAX_FILE_BYTES * 8,
        max_rows_per_page=MAX_FILE_VALUES,
        store_schema=False,
    )


def _finish(sink: Any, writer: Any, held: list[RowGroup], paged: tuple[str, ...]) -> Written:
    writer.close()
    data = sink.getvalue().to_pybytes()
    metadata = pq.ParquetFile(pa.BufferReader(data)).metadata
    groups: list[dict[str, Any]] = []
    for number, group in enumerate(held):
        row_group = metadata.row_group(number)
        chunks = {row_group.column(i).path_in_schema: row_group.column(i) for i in range(row_group.num_columns)}
        groups.append({**group.about, "pages": {name: _page_of(data, chunks[name]) for name in paged}})
    return Written(data, tuple(groups))


def _page_of(data: bytes, chunk: Any) -> list[int]:
    """Where the compressed body of a chunk's only page begins, and its length: the end of the chunk."""
    start = chunk.data_page_offset
    _, position = _varint(data, start + 1)  # page type
    _, position = _varint(data, position + 1)  # size before compression
    size, _ = _varint(data, position + 1)
    length = size >> 1  # zigzag
    end = start + chunk.total_compressed_size
    body = end - length
    assert position < body < position + 64, "a column chunk has one page"
    assert data[body : body + 2] == b"\x1f\x8b", "a page is a gzip member"
    return [body, length]


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while data[position] & 0x80:
        value |= (data[position] & 0x7F) << shift
        shift, position = shift + 7, position + 1
    return value | data[position] << shift, position + 1

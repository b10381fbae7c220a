"""CRC-32C of many records of one length at once, in numpy: a table for each place in a record, xor along it.

A checksum without its start and end values is linear, so the checksum of a record is the xor over its bytes of what
each byte adds from its place. Tables of `MAX_BYTES` places take a megabyte; longer records go byte by byte.
"""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
Bytes = NDArray[np.uint8]
POLYNOMIAL = 0x82F63B78
MAX_BYTES = 1024
BLOCK_VALUES = 1 << 18
"""Table values looked up at a time, so that they stay in the processor's cache."""


def _byte_table() -> Words:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ POLYNOMIAL, table >> 1).astype(np.uint32)
    return table


_BYTE = _byte_table()
_places: list[Words] = [_BYTE]
"""By number of bytes that follow, what each byte value adds."""


def _table(num_bytes: int) -> Words:
    """Tables of the places of a record of so many bytes, first place first."""
    while len(_places) < num_bytes:
        last = _places[-1]
        _places.append(((last >> 8) ^ _BYTE[last & 255]).astype(np.uint32))
    return np.concatenate(_places[:num_bytes][::-1])


def _of_zeros(num_bytes: int) -> int:
    """What the start value contributes, and the end value."""
    crc = 0xFFFFFFFF
    for _ in range(num_bytes):
        crc = (crc >> 8) ^ int(_BYTE[crc & 255])
    return crc ^ 0xFFFFFFFF


def checksums(records: Bytes) -> Words:
    """The CRC-32C of each row.

    Shapes: records [N, length].
    """
    num, length = records.shape
    if length > MAX_BYTES:
        return np.array([checksum(row.tobytes()) for row in records], np.uint32)
    found = np.empty(num, np.uint32)
    if length == 0:
        found[:] = 0
        return found
    table = _table(length)
    base = (np.arange(length, dtype=np.int64) * 256)[None, :]
    step = max(1, BLOCK_VALUES // length)
    for start in range(0, num, step):
        added = table[records[start : start + step] + base]
        found[start : start + step] = np.bitwise_xor.reduce(added, axis=1)
    return found ^ np.uint32(_of_zeros(length))


def checksum(data: bytes) -> int:
    """The CRC-32C of some bytes."""
    if len(data) > MAX_BYTES:
        return _in_pieces(data)
    return int(checksums(np.frombuffer(data, np.uint8)[None, :])[0])


def _in_pieces(data: bytes) -> int:
    """Pieces' checksums put together: a piece's own, and the one before moved over its length."""
    crc = 0
    for start in range(0, len(data), MAX_BYTES):
        piece = data[start : start + MAX_BYTES]
        crc = _moved(crc, len(piece)) ^ checksum(piece)
    return crc


def _moved(crc: int, num_bytes: int) -> int:
    """A checksum after so many zero bytes."""
    places = _table(max(num_bytes, 4)).reshape(-1, 256)
    if num_bytes < 4:
        for _ in range(num_bytes):
            crc = (crc >> 8) ^ int(_BYTE[crc & 255])
        return crc
    four = np.frombuffer(crc.to_bytes(4, "little"), np.uint8)
    return int(np.bitwise_xor.reduce(places[np.arange(4), four]))


def masked(crc: Words) -> Words:
    """As event files store it."""
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(0xA282EAD8)

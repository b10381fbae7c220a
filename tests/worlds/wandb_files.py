"""`.wandb` files written byte by byte, without wandb and without our own code: blocks, checksums, messages."""

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.worlds.event_files import field, varint

BLOCK = 32768
HEADER = b":W&B" + struct.pack("<HB", 0xBEE1, 0)


def framed(payloads: list[bytes]) -> bytes:
    """Records in blocks of 32 KiB."""
    data = bytearray(HEADER)
    for payload in payloads:
        rest, begun = payload, False
        while rest or not begun:
            left = BLOCK - len(data) % BLOCK
            if left < 7:
                data += bytes(left)
                continue
            part, rest = rest[: left - 7], rest[left - 7 :]
            kind = (4 if begun else 1) if not rest else (3 if begun else 2)
            data += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            begun = True
    return bytes(data)


def item(key: str | tuple[str, ...], value: Any) -> bytes:
    """A key with its value as JSON, bare NaN and Infinity included."""
    names = field(1, key.encode()) if isinstance(key, str) else b"".join(field(2, name.encode()) for name in key)
    return names + field(16, json.dumps(value).encode())


def history(step: int, values: Mapping[Any, Any]) -> bytes:
    """A row."""
    rows = {**values, "_step": step, "_timestamp": 1.7e9 + step}
    items = b"".join(field(1, item(key, value)) for key, value in rows.items())
    return field(2, items + field(2, b"\x08" + varint(step) if step else b""))


def run(run_id: str, name: str = "", config: Mapping[str, Any] | None = None, start: int = 1_700_000_000) -> bytes:
    """What a run says of itself."""
    settings = b"".join(field(1, item(key, value)) for key, value in (config or {}).items())
    said = field(1, run_id.encode()) + field(3, b"project") + field(4, settings) + field(8, name.encode())
    return field(17, said + field(17, b"\x08" + varint(start)))


def ended(code: int = 0) -> bytes:
    """The record of a run that ended in good order."""
    return field(18, b"\x08" + varint(code) if code else b"")


def write_wandb(path: Path, payloads: list[bytes]) -> Path:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(framed(payloads))
    return path

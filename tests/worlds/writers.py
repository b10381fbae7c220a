"""Writers made by hand, for tests of what stands above them: an owner file, segments that hold nothing, forged logs."""

import gzip
import time
from pathlib import Path

from fanal.record import frames, layout
from fanal.record.files import line, seal, sha256
from fanal.record.layout import WriterPath
from fanal.record.log import LogFile
from fanal.record.owner import owner_fields

NAMES = gzip.compress(line({"groups": []}), 6, mtime=0)


def ended_writer(folder: Path, run: str, writer: str) -> WriterPath:
    """A writer that wrote nothing: an owner file alone."""
    place = WriterPath(folder, run, layout.begin_attempt(folder, run), writer)
    place.folder.mkdir()
    layout.write_owner(place, owner_fields(time.time_ns(), "test"))
    return place


def forged_log(place: WriterPath, number: int, first_sequence: int) -> Path:
    """A log file with one event that the writer did not log."""
    (place.folder / "log").mkdir(exist_ok=True)
    log = LogFile(place.folder / "log" / f"{number}.log", first_sequence, 0)
    log.append(frames.pack_event("note", None, 0, {"text": "forged"}))
    log.close()
    return log.path


def closed(place: WriterPath, number: int, final: bool = True) -> None:
    """A segment that holds nothing."""
    seg = place.folder / "seg"
    seg.mkdir(exist_ok=True)
    before = seg / f"{number - 1}.json"
    empty = {"name": f"{number}.names0.json.gz", "role": "names", "bytes": len(NAMES), "sha256": sha256(NAMES)}
    (seg / f"{number}.names0.json.gz").write_bytes(NAMES)
    fields = {
        "format": layout.FORMAT,
        "kind": "segment",
        "run": place.run,
        "attempt": place.attempt,
        "writer": place.writer,
        "number": number,
        "first_sequence": number,
        "last_sequence": number,
        "prev": sha256(before.read_bytes()) if number > 1 else None,
        "final": final,
        "missing": [],
        "groups": [],
        "counts": {"rows": 0, "values": 0, "facts": 0},
        "files": [empty],
    }
    (seg / f"{number}.json").write_bytes(seal(fields))

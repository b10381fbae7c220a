"""A reader of records that imports nothing of Fanal, written from `docs/format.md` alone.

Lists runs, returns a stitched series and checks the chain. It reads closed segments; of open logs it reads rows too.
"""

import gzip
import hashlib
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

Point = tuple[int, int, float]
"""Sequence, step, value."""


def canonical(value: Any) -> bytes:
    return (json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True) + "\n").encode()


def document(path: Path) -> dict[str, Any]:
    """A document, whose every byte is checked."""
    data = path.read_bytes()
    fields: dict[str, Any] = json.loads(data)
    assert canonical(fields) == data, path
    claimed = fields.pop("self")
    assert hashlib.sha256(canonical(fields)).hexdigest() == claimed, path
    return fields


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def runs(record: Path) -> list[str]:
    return sorted(path.name for path in (record / "runs").iterdir())


def check(record: Path) -> int:
    """Assert the whole chain; the number of files that it names."""
    manifest = document(record / "manifest.json")
    assert digest(record / "record.json") == manifest["record_sha256"]
    writers = [*manifest["writers"]]
    for page in manifest["pages"]:
        data = (record / "blobs" / page).read_bytes()
        assert hashlib.sha256(data).hexdigest() == page
        writers += json.loads(data)["writers"]
    num_files = 2 + len(manifest["pages"])
    for entry in writers:
        folder = record / "runs" / entry["run"] / str(entry["attempt"]) / entry["writer"]
        assert digest(folder / "owner.json") == entry["owner_sha256"]
        wanted = entry["last_sha256"]
        for number in range(entry["segments"], 0, -1):
            path = folder / "seg" / f"{number}.json"
            assert digest(path) == wanted
            segment = document(path)
            for file in segment["files"]:
                assert digest(folder / "seg" / file["name"]) == file["sha256"]
            wanted = segment["prev"]
            num_files += 1 + len(segment["files"])
        num_files += 1
    return num_files


def segments(writer: Path) -> list[dict[str, Any]]:
    numbers = sorted(int(path.stem) for path in (writer / "seg").glob("*.json"))
    return [document(writer / "seg" / f"{number}.json") for number in numbers]


def closed_points(writer: Path, key: str) -> Iterator[Point]:
    for segment in segments(writer):
        files = {role: [f for f in segment["files"] if f["role"] == role] for role in ("names", "values", "rows")}
        groups = json.loads(gzip.decompress((writer / "seg" / files["names"][0]["name"]).read_bytes()))["groups"]
        tables = [pq.read_table(writer / "seg" / file["name"]) for file in files["rows"]]
        steps = np.concatenate([table["step"].to_numpy() for table in tables]) if tables else np.empty(0, int)
        sequences = np.concatenate([table["sequence"].to_numpy() for table in tables]) if tables else steps
        for file in files["values"]:
            data = (writer / "seg" / file["name"]).read_bytes()
            for row_group in file["row_groups"]:
                offset, length = row_group["pages"]["value"]
                page = np.frombuffer(gzip.decompress(data[offset : offset + length]), np.uint8)
                values = page.reshape(8, -1).T.copy().view("<f8")[:, 0]
                at = 0
                for group, first, end, num in row_group["keys"]:
                    for position in range(first, end):
                        if groups[group]["keys"][position] == key:
                            row = segment["groups"][group]["first_row"]
                            mine = slice(row, row + num)
                            columns = (sequences[mine], steps[mine], values[at : at + num])
                            yield from zip(*(column.tolist() for column in columns), strict=True)
                        at += num


def log_points(writer: Path, key: str) -> Iterator[Point]:
    covered = max((segment["last_sequence"] for segment in segments(writer)), default=0)
    for path in sorted((writer / "log").glob("*.log"), key=lambda path: int(path.stem)):
        data = path.read_bytes()
        magic, _, salt, first, base, crc = struct.unpack_from("<8sIIQqI", data)
        assert (magic, crc) == (b"fanallog", zlib.crc32(data[:32]))
        at, keys = 128, dict[int, list[str]]()
        while True:
            mark, length, relative, crc = struct.unpack_from("<HIII", data, at)
            payload = data[at + 14 : at + 14 + length]
            if mark != 0x17FA or crc != zlib.crc32(struct.pack("<III", salt, length, relative) + payload):
                break
            at += 14 + length
            kind, group = payload[0], struct.unpack_from("<I", payload)[0] >> 8
            if kind == 1:
                keys[group] = json.loads(zlib.decompress(payload[4:]))["keys"]
            elif kind in (2, 3, 4) and key in keys[group] and first + relative > covered:
                step = struct.unpack_from("<i" if kind == 2 else "<q", payload, 4)[0]
                start = (14 if kind == 2 else 20) + 8 * keys[group].index(key)
                yield first + relative, step, struct.unpack_from("<d", payload, start)[0]
        assert base > 0


def series(record: Path, run: str, key: str) -> tuple[list[int], list[float]]:
    """The default view of a key, of a run with one writer an attempt, each attempt going on from the one before."""
    shown: dict[int, float] = {}
    for attempt in sorted(int(path.name) for path in (record / "runs" / run).iterdir()):
        (writer,) = (record / "runs" / run / str(attempt)).iterdir()
        points = sorted([*closed_points(writer, key), *log_points(writer, key)])
        facts = [line for path in (writer / "seg").glob("*.facts*.jsonl") for line in path.read_text().splitlines()]
        starts = [fact for fact in map(json.loads, facts) if fact["kind"] == "attempt.start"]
        from_step = starts[0]["fields"]["from_step"] if starts else None
        if from_step is None and points:
            from_step = points[0][1]
        if attempt > 1 and from_step is not None:
            shown = {step: value for step, value in shown.items() if step < from_step}
        shown |= {step: value for _, step, value in points}
    return sorted(shown), [shown[step] for step in sorted(shown)]

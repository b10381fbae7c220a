"""Reads a Fanal record without Fanal: lists runs, returns a stitched series, checks every hash and the tree's root.

Written from docs/format.md and docs/proof.md; needs pyarrow. `python read_without_fanal.py RECORD [RUN KEY]`.
"""

import hashlib
import json
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

FIRST, LAST = -(1 << 63), 1 << 63


def content(path: Path, sha256: str) -> bytes:
    data = path.read_bytes()
    assert hashlib.sha256(data).hexdigest() == sha256, f"{path} has changed"
    return data


def document(path: Path, sha256: str | None = None) -> dict[str, Any]:
    """The fields of a document, whose every byte is checked."""
    fields: dict[str, Any] = json.loads(content(path, sha256) if sha256 else path.read_bytes())
    claimed = fields.pop("self")
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert hashlib.sha256(text.encode() + b"\n").hexdigest() == claimed, f"{path} has changed"
    return fields


def entries(writer: Path, key: str) -> Iterator[tuple[int, int | None, Any]]:
    """Sequence, step, and a value of the key, an event, or None (a row), of all that a writer wrote."""
    covered, wanted = 0, [("key", "=", key.encode("utf-8", "backslashreplace").decode())]
    for number in sorted(int(path.stem) for path in writer.glob("seg/*.json")):
        segment = document(writer / "seg" / f"{number}.json")
        covered, files = segment["last_sequence"], [(f["role"], writer / "seg" / f["name"]) for f in segment["files"]]
        rows = {row["row"]: row for role, p in files if role == "rows" for row in pq.read_table(p).to_pylist()}
        yield from ((row["sequence"], row["step"], None) for row in rows.values())
        points = [x for role, p in files if role == "values" for x in pq.read_table(p, filters=wanted).to_pylist()]
        yield from ((rows[x["row"]]["sequence"], x["step"], x["value"]) for x in points)
        facts = [json.loads(line) for role, p in files if role == "facts" for line in p.read_bytes().splitlines()]
        yield from ((fact["sequence"], fact["step"], fact) for fact in facts)
    for path in sorted(writer.glob("log/*.log"), key=lambda path: int(path.stem)):
        yield from (entry for entry in log_entries(path, key) if entry[0] > covered)


def log_entries(path: Path, key: str) -> Iterator[tuple[int, int | None, Any]]:
    """The same of one log, up to its first bad frame."""
    data, at, keys = path.read_bytes(), 128, dict[int, list[str]]()
    salt, first = struct.unpack_from("<IQ", data, 12)
    while at + 14 <= len(data):
        mark, length, relative, crc = struct.unpack_from("<HIII", data, at)
        sequence, payload = first + relative, data[at + 14 : at + 14 + length]
        if mark != 0x17FA or crc != zlib.crc32(struct.pack("<III", salt, length, relative) + payload):
            return
        at += 14 + length
        kind, group = payload[0], struct.unpack_from("<I", payload)[0] >> 8
        if kind == 1:
            keys[group] = json.loads(zlib.decompress(payload[4:]))["keys"]
        elif kind in (2, 3, 4):
            step = struct.unpack_from("<i" if kind == 2 else "<q", payload, 4)[0]
            yield sequence, step, None
            values = payload[14 if kind == 2 else 20 :]
            if key in keys[group]:
                yield sequence, step, struct.unpack_from("<d", values, 8 * keys[group].index(key))[0]
        elif kind == 5:
            yield sequence, None, json.loads(payload[12:])


def runs(record: Path) -> list[str]:
    return sorted(path.name for path in (record / "runs").iterdir())


def attempts(record: Path, run: str, key: str) -> dict[int, dict[str, Any]]:
    """The attempts that have begun: where from, the `parts` of a stitch, and the key's `points`."""
    found: dict[int, dict[str, Any]] = {}
    for number in sorted(int(path.name) for path in (record / "runs" / run).glob("*")):
        folders = sorted(path.parent for path in (record / "runs" / run / str(number)).glob("*/owner.json"))
        wrote = [(*e, folder.name) for folder in folders for e in sorted(entries(folder, key), key=lambda e: e[0])]
        facts = [what for _, _, what, _ in wrote if isinstance(what, dict)]
        firsts = {writer: step for _, step, what, writer in reversed(wrote) if what is None}.values()
        for start in [fact["fields"] for fact in facts if fact["kind"] == "attempt.start"][:1]:
            begun = start["from_step"] if start["from_step"] is not None else min(firsts, default=None)
            parts = [fact["fields"]["parts"] for fact in facts if fact["kind"] == "stitch"]
            points = [entry for entry in wrote if isinstance(entry[2], float)]
            found[number] = {**start, "begun": begun, "parts": parts[-1] if parts else [], "points": points}
    return found


def series(record: Path, run: str, key: str, upto: int = LAST, low: int = FIRST, high: int = LAST) -> list[Any]:
    """The default view of a key by step and writer: step, value, and the run, attempt and writer that logged it."""
    known = {number: told for number, told in attempts(record, run, key).items() if number <= upto}
    number, told = max(known.items(), default=(0, None))
    if told is None or low >= high:
        return []
    below = [(part["run"], LAST, part["from_step"]) for part in told["parts"] if part["from_step"] is not None]
    if not below and told.get("from_run") not in (None, run):
        below = [(told["from_run"], told["from_attempt"] or LAST, FIRST)]
    elif not below and len(known) > 1:
        below = [(run, told["from_attempt"] if told["from_attempt"] in [*known][:-1] else [*known][-2], FIRST)]
    first = high if below and told["begun"] is None else min(max(told["begun"] if below else FIRST, low), high)
    shown = {(step, writer): value for _, step, value, writer in told["points"] if first <= step < high}
    points = [(step, value, run, number, writer) for (step, writer), value in shown.items()]
    for other, newest, part in reversed(below):
        points += series(record, other, key, newest, max(part, low), first)
        first = min(max(part, low), first)
    return sorted(points, key=lambda point: (point[0], point[2:]))


def root(leaves: list[bytes]) -> bytes:  # RFC 6962, of hashes of leaves
    half = 1 << (len(leaves) - 1).bit_length() - 1 if len(leaves) > 1 else 0
    halves = b"\x01" + root(leaves[:half]) + root(leaves[half:]) if half else b""
    return leaves[0] if len(leaves) == 1 else hashlib.sha256(halves).digest()


def check(record: Path) -> int:
    """Asserts every hash and the root; how many segments there are. Of withheld writers there may be no segments."""
    manifest, known, leaves = document(record / "manifest.json"), dict[str, Any](), dict[tuple[str, int], str]()
    document(record / "record.json", manifest["record_sha256"])
    names = [*manifest["pages"]]
    while names:
        page = json.loads(content(record / "blobs" / names[0], names.pop(0)))
        names[:0] = page.get("pages", [])
        known |= {"runs/{run}/{attempt}/{writer}".format(**entry): entry for entry in page.get("writers", [])}
    known |= {"runs/{run}/{attempt}/{writer}".format(**entry): entry for entry in manifest["writers"]}
    for name, entry in known.items():
        document(record / name / "owner.json", entry["owner_sha256"])
        wanted, there = entry["last_sha256"], "withheld" not in entry or (record / name / "seg").is_dir()
        for number in range(entry["segments"], 0, -1) if there else ():
            path = record / name / "seg" / f"{number}.json"
            leaves[name, number] = hashlib.sha256(b"\0" + content(path, wanted)).hexdigest()
            wanted = document(path)["prev"]
            for file in document(path)["files"]:
                content(path.with_name(file["name"]), file["sha256"])
    if tree := manifest.get("tree"):
        last = record / "blobs" / tree["partial"] if "partial" in tree else record / "tree" / "partial"
        paths = [record / "tree" / str(i) for i in range(tree["size"] // 256)] + [last][: tree["size"] % 256]
        lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()][: tree["size"]]
        assert root([bytes.fromhex(line["leaf"]) for line in lines]).hex() == tree["root"], "the root is another"
        assert leaves.items() <= {(line["writer"], line["segment"]): line["leaf"] for line in lines}.items()
    return len(leaves)


if __name__ == "__main__":
    check(Path(sys.argv[1]))
    print(*(series(Path(sys.argv[1]), *sys.argv[2:]) if sys.argv[2:] else runs(Path(sys.argv[1]))), sep="\n")

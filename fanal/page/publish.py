"""The page as plain files for any file server: what the server serves, written once, children first.

A reader never finds a manifest before what it names: new files go in whole (temporary, fsync, rename),
the manifest last. A second call writes only what changed, and takes away no file but its own outdated
views and the copies of logs that the record has closed. A folder that holds other things is refused.
The record's own files go along, so that `fanal verify` works on the copy.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import fanal
from fanal.errors import RefusedError
from fanal.page.live import manifest_sha256, record_copy
from fanal.page.plan_view import CampaignView, campaign_view
from fanal.page.site import KIND, assets, view
from fanal.page.state import page_state
from fanal.page.words import counted, figure
from fanal.record.files import write_whole
from fanal.record.layout import find_record

KEPT_VIEWS = 8
_VIEW = re.compile(r"[0-9a-f]{64}\.json")


@dataclass(frozen=True)
class PublishReport:
    """What a call of `publish` did."""

    dest: str
    """The folder."""
    view: str
    """The view that the manifest names now."""
    files: int
    """Files of the site."""
    written: int
    """Files that were new or had changed."""
    written_bytes: int
    """Their size."""

    @property
    def words(self) -> str:
        """The report in one sentence."""
        wrote = (
            f"{counted(self.written, 'file')} written ({figure(self.written_bytes, 0)} bytes)"
            if self.written
            else "nothing changed"
        )
        return f"{self.dest}: {counted(self.files, 'file')}, {wrote}; serve it with any file server"

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return asdict(self)


def publish(path: Path | str, dest: Path | str) -> PublishReport:
    """Write the page of the record at `path` into the folder `dest`.

    Raises:
        RecordError: no record at `path`.
        RefusedError: `dest` holds other things than a page, or lies inside the record; or the campaign withholds
            something, which this version cannot.
    """
    source, target = find_record(Path(path)), Path(dest)
    _hold_dest(source, target)
    record = fanal.open(source)
    _hold_nothing_withheld(campaign_view(record))
    newest = view(page_state(record), manifest_sha256(source))
    shared, copied = assets(), record_copy(source)
    written: list[int] = []
    files = [
        *((name, body) for name, body in shared.files.items()),
        *((f"record/{name}", body) for name, body in copied.items()),
        (newest.name, newest.body),
        ("index.html", shared.index),
        ("manifest.json", newest.manifest),
    ]
    for name, body in files:
        if _put(target / name, body):
            written.append(len(body))
    for old in [*_old_views(target, newest.name), *_closed_logs(target / "record", copied)]:
        old.unlink()
    return PublishReport(str(dest), newest.name, len(files), len(written), sum(written))


def _hold_dest(source: Path, dest: Path) -> None:
    inside = dest.resolve()
    if inside == source.resolve() or source.resolve() in inside.parents:
        raise RefusedError(f"{dest} lies inside the record {source}: name a folder outside it")
    if dest.exists() and not dest.is_dir():
        raise RefusedError(f"{dest} is a file: name a new or empty folder")
    if not dest.exists() or not any(dest.iterdir()) or _is_ours(dest):
        return
    first = min(p.name for p in dest.iterdir())
    raise RefusedError(
        f"{dest} holds {first!r} and is no page of ours: name a new or empty folder, or one published to before"
    )


def _is_ours(dest: Path) -> bool:
    """Whether `dest` is a page, or the beginning of one whose first publish was cut off."""
    manifest = dest / "manifest.json"
    if not manifest.is_file():
        return {p.name for p in dest.iterdir()} <= {"assets", "record", "view", "index.html"}
    try:
        document: object = json.loads(manifest.read_bytes())
    except ValueError:
        return False
    return isinstance(document, dict) and cast("dict[str, object]", document).get("kind") == KIND


def _put(path: Path, body: bytes) -> bool:
    """Write `body` where it is not already; whether it wrote."""
    if path.is_file() and path.stat().st_size == len(body) and path.read_bytes() == body:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, body)
    return True


def _closed_logs(copy: Path, copied: dict[str, bytes]) -> list[Path]:
    """Logs of an earlier copy that the record has since closed into segments."""
    logs = copy.glob("runs/*/*/*/log/*.log")
    return [path for path in logs if path.relative_to(copy).as_posix() not in copied]


def _old_views(dest: Path, newest: str) -> Iterator[Path]:
    """Views that no page asks for any more: all but the newest few, and only those that are ours by their hash."""
    views = [p for p in (dest / "view").iterdir() if _VIEW.fullmatch(p.name) and f"view/{p.name}" != newest]
    for path in sorted(views, key=lambda p: p.stat().st_mtime_ns, reverse=True)[KEPT_VIEWS - 1 :]:
        if hashlib.sha256(path.read_bytes()).hexdigest() == path.stem:
            yield path


def _hold_nothing_withheld(campaign: CampaignView) -> None:
    withheld = campaign.written.get("publish", {}).get("withhold", ())
    if withheld:
        raise RefusedError(
            f"the campaign withholds {', '.join(withheld)} ([publish] withhold), and this version publishes a record "
            "whole or not at all: nothing was written"
        )

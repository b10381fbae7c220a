"""`fanal follow URL COPY`: a verified copy of a published record, and its continuation for as long as one likes.

The manifest is asked for at half the run's own pace, every 0.5 to 60 s; of everything else only what is new. A source
that is in trouble is asked again; one whose history shrinks or forks is refused, and the copy stays what it was. It
goes on after a kill at any instruction. One follower at a time for a copy.
"""

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fanal.errors import RecordError, RefusedError
from fanal.record.copies.fetching import AbsentError, Address, AlteredError, UnreachableError
from fanal.record.copies.history import HistoryError, OlderError
from fanal.record.copies.mirror import KeyChangedError, Mirror
from fanal.record.copies.publishing import alone
from fanal.record.files import TEMPORARY_PREFIX, DamagedError, read_document
from fanal.record.layout import MANIFEST_FILE, RECORD_FILE
from fanal.record.proof.leaves import PARTIAL, TREE
from fanal.record.proof.manifest import read_manifest

LEAST_SECONDS, MOST_SECONDS = 0.5, 60.0
PATIENCE_SECONDS = 120.0
"""How long an older state, or a file that is not there, is put down to a cache on the way."""
_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class FollowReport:
    """What following brought."""

    url: str
    copy: str
    files: int
    """Files fetched."""
    bytes: int
    segments: int
    writers: int
    signed: str | None
    """Public key of the signature, base64; None where it is not signed."""
    missing: tuple[str, ...] = ()
    """Blobs that the record refers to and the source does not have."""
    notes: tuple[str, ...] = ()
    refused: str | None = None
    """Why the source is not followed any further."""
    exit_code: int = 0
    """0 well, 1 the history is not the copy's, 3 a changed key."""

    @property
    def words(self) -> str:
        """The report for people."""
        if self.refused is not None:
            return f"{self.copy} stays as it was: {self.url} is refused, since {self.refused}"
        signed = f"signed by {self.signed}" if self.signed else "unsigned"
        size = f"{self.files} files ({self.bytes:,} bytes) fetched; {self.writers} writers, {self.segments} segments"
        lost = [f"blobs/{name}: not at the source" for name in self.missing]
        return "\n".join([f"{self.copy}: a copy of {self.url}, {signed}; {size}", *lost, *self.notes])

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""
        return asdict(self)


@dataclass(frozen=True)
class FollowOptions:
    """How a record is followed."""

    once: bool = False
    """Return when the copy is up to date."""
    interval_seconds: float | None = None
    """How often to ask; by the run's own pace where None."""
    patience_seconds: float = PATIENCE_SECONDS
    on_round: Callable[[FollowReport], None] | None = None
    """Called after each round that brought something."""
    on_trouble: Callable[[str], None] | None = None
    """Called with what is wrong when the source begins to be in trouble."""


def follow(url: str, copy: Path | str, options: FollowOptions | None = None) -> FollowReport:
    """Keep a verified copy of the record at `url` in the folder `copy`; returns when it is done or refused.

    Raises:
        RecordError: nothing is there; or with `once`, the source cannot be reached, or stays incomplete.
        RefusedError: `copy` holds other things, or another process follows into it.
    """
    folder = Path(copy)
    _hold_copy(folder)
    with alone(f"follow into {folder.resolve()}"):
        for left in folder.rglob(f"{TEMPORARY_PREFIX}*"):  # of a follower that was killed
            if left.is_file():
                left.unlink()
        with closing(_Follower(url, folder, options or FollowOptions())) as follower:
            try:
                return follower.run()
            except DamagedError as error:
                raise RecordError(f"{error}: run `fanal verify {folder}`, then remove that file") from error


class _Follower:
    def __init__(self, url: str, folder: Path, options: FollowOptions) -> None:
        self._url, self._folder, self._options = url, folder, options
        self._mirror: Mirror | None = None
        self._since: float | None = None
        """Since when the source has been in trouble."""
        self._between, self._last = 0.0, time.monotonic()

    def run(self) -> FollowReport:
        while True:
            try:
                is_new = self._round()
            except HistoryError as error:
                return self._report(f"{error}", 1)
            except KeyChangedError as error:
                return self._report(f"{error}", 3)
            except OlderError as error:
                if self._is_out_of_patience():
                    return self._report(f"{error}: the history has shrunk", 1)
                time.sleep(min(_PAUSE_SECONDS, self._interval()))
                continue
            except (AbsentError, AlteredError, UnreachableError) as error:
                if self._is_hopeless(error):
                    raise
                time.sleep(_PAUSE_SECONDS)
                continue
            self._since = None
            if is_new and self._options.on_round is not None:
                self._options.on_round(self._report())
            if self._options.once:
                return self._report()
            self._note(is_new)
            time.sleep(self._interval())

    def close(self) -> None:
        if self._mirror is not None:
            self._mirror.close()

    def _round(self) -> bool:
        if self._mirror is None:
            self._mirror = Mirror(record_address(self._url), self._folder)
        return self._mirror.round()

    def _is_hopeless(self, error: RecordError) -> bool:
        """Whether asking again is in vain: nothing was ever there, or, with `once`, it takes too long."""
        if self._since is None and self._options.on_trouble is not None:
            self._options.on_trouble(f"{error}; asking again")
        is_first = self._mirror is None or not self._mirror.seen
        if is_first and not (self._folder / MANIFEST_FILE).exists():
            return True
        in_vain = self._is_out_of_patience() or isinstance(error, UnreachableError)
        return self._options.once and in_vain

    def _is_out_of_patience(self) -> bool:
        now = time.monotonic()
        self._since = self._since if self._since is not None else now
        return now - self._since >= self._options.patience_seconds

    def _interval(self) -> float:
        if self._options.interval_seconds is not None:
            return self._options.interval_seconds
        return min(max(self._between / 2, LEAST_SECONDS), MOST_SECONDS)

    def _note(self, is_new: bool) -> None:
        now = time.monotonic()
        if is_new:
            self._between += 0.3 * (now - self._last - self._between)
            self._last = now
        elif now - self._last > self._between:
            self._between = now - self._last  # a run that falls silent is asked less and less often

    def _report(self, refused: str | None = None, exit_code: int = 0) -> FollowReport:
        known = read_manifest(self._folder) if (self._folder / MANIFEST_FILE).is_file() else None
        mirror = self._mirror
        return FollowReport(
            url=self._url,
            copy=str(self._folder),
            files=mirror.fetched if mirror else 0,
            bytes=mirror.fetched_bytes if mirror else 0,
            segments=known.tree.size if known and known.tree else 0,
            writers=len(known.entries) if known else 0,
            signed=mirror.key if mirror else None,
            missing=tuple(sorted(mirror.missing)) if mirror else (),
            notes=tuple(mirror.notes) if mirror else (),
            refused=refused,
            exit_code=exit_code,
        )


def record_address(url: str) -> Address:
    """The address of the record itself, given that or the page above it.

    Raises:
        AbsentError: neither is there.
        UnreachableError: the host does not answer.
    """
    with closing(Address(url)) as address:
        try:
            answer = address.get(MANIFEST_FILE)
        except AbsentError:
            return address.within("record")
        document: Any = None
        if answer is not None:
            try:
                document = json.loads(answer.body)
            except ValueError as error:
                raise AlteredError(f"{address.url}{MANIFEST_FILE} is no JSON") from error
        is_record = isinstance(document, dict) and document.get("kind") == "manifest"
        return address if is_record else address.within("record")


def _hold_copy(folder: Path) -> None:
    """Make the folder, or hold that it is a copy that may go on."""
    if folder.exists() and not folder.is_dir():
        raise RefusedError(f"{folder} is a file: name a new or empty folder for the copy")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = [p.name for p in folder.iterdir() if not p.name.startswith(TEMPORARY_PREFIX)]
    except OSError as error:
        raise RecordError(f"{folder} cannot be written: {error.strerror or error}") from error
    if names and RECORD_FILE not in names:
        raise RefusedError(f"{folder} holds {min(names)!r} and is no copy of a record: name a new or empty folder")
    manifest = folder / MANIFEST_FILE
    own = "tails" not in read_document(manifest) if manifest.is_file() else (folder / TREE / PARTIAL).exists()
    if own:
        raise RefusedError(f"{folder} is a record of its own and no copy of a published one: name another folder")

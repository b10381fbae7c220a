"""`start`, and its `Run` with `log`, `event`, `finish`: how any program writes an attempt of a run into a record.

`start` raises where the record cannot be; from then on `log` never raises and waits for no disk: what it cannot keep as
a number it keeps marked, and says so once by name. `finish` returns when every segment is closed, the manifest written
and no process of ours touches the record. A forked child that logs gets a writer of its own.
"""

import atexit
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fanal
from fanal.errors import RecordError, RefusedError
from fanal.record import layout, manifest
from fanal.record.events import check_event
from fanal.record.files import make_folder
from fanal.record.frames import TYPE_CODES
from fanal.record.layout import WriterPath
from fanal.record.notice import Notices
from fanal.record.owner import owner_fields
from fanal.record.recover import refuse_living_writer, save_dead_writers
from fanal.record.values import CONVERSION_ERRORS, encode
from fanal.record.writer import Group, Writer

STEP_BOUND = 1 << 62
COMMITTED_EVENTS = frozenset({"checkpoint", "forecast"})
"""After these the manifest is written again."""
_open: dict[tuple[Path, str], "Run"] = {}


class Run:
    """One attempt of a run, open for writing."""

    def __init__(self, place: WriterPath, first_step: int, notices: Notices) -> None:
        self.id = place.run
        self.attempt = place.attempt
        self.path = place.record
        self._notices = notices
        self._last_step = first_step - 1
        self._writer: Writer | None = Writer(place, notices)
        self._last: Group | None = None
        self._ended = False
        self._child = False

    @property
    def place(self) -> WriterPath | None:
        """Where this process writes; None where it does not."""
        return self._writer.place if self._writer else None

    def log(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Record one row; without `step`, the step after the last one. Never raises."""
        if type(step) is not int:
            step = self._last_step + 1 if step is None else self._odd_step(step)
        elif not -STEP_BOUND < step < STEP_BOUND:
            step = self._odd_step(step)
        self._last_step = step
        writer = self._writer or self._writer_after_fork()
        if writer is None:
            return
        try:
            keys, values = tuple(metrics), tuple(metrics.values())
        except CONVERSION_ERRORS:
            self._notices.once("mapping", f"log: {type(metrics).__name__} is no mapping: kept as such")
            writer.other(step, {"": encode(metrics)})
            return
        types = tuple(map(type, values))
        group = self._last
        if group is None or keys != group.keys or types != group.types:
            group = self._group(writer, keys, types)
            if group is None:
                self._log_odd(writer, step, keys, values)
                return
            self._last = group
        if keys:
            writer.row(group, step, values)

    def event(self, kind: str, step: int | None = None, **fields: Any) -> None:
        """Record a typed fact.

        Raises:
            ValueError: the kind or a field is not in the table of `events.py`; names the nearest.
        """
        check_event(kind, fields)
        writer = self._writer or self._writer_after_fork()
        if writer is None:
            return
        lossy: list[str] = []
        writer.event(kind, None if step is None else int(step), encode(fields, lossy))
        if lossy:
            self._notices.once(f"event {kind}", f"event {kind}: kept only as text: {', '.join(lossy[:5])}")
        if kind in COMMITTED_EVENTS:
            writer.commit()

    def finish(self, outcome: str = "finished", reason: str | None = None) -> None:
        """End the attempt; a second call does nothing."""
        if self._ended:
            return
        if not self._child:
            self.event("attempt.end", outcome=outcome, reason=reason)
        self._ended = True
        _open.pop((self.path.resolve(), self.id), None)
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.end()

    def _group(self, writer: Writer, keys: tuple[Any, ...], types: tuple[type, ...]) -> Group | None:
        """The group of a plain row; None where a key or value needs a second look."""
        if all(t in TYPE_CODES for t in types) and all(type(key) is str for key in keys):
            return writer.group(keys, types)
        return None

    def _log_odd(self, writer: Writer, step: int, keys: tuple[Any, ...], values: tuple[Any, ...]) -> None:
        """Numbers of other libraries become Python's; what is no number is kept marked, in a frame of its own."""
        plain: dict[str, float] = {}
        odd: dict[str, Any] = {}
        for key, value in zip(keys, values, strict=True):
            name = str(key) if isinstance(key, str) else self._odd_key(key)
            number = _as_number(value)
            if number is not None:
                plain[name] = number
            else:
                odd[name] = encode(value)
                self._notices.once(f"value {name}", f"log: {name!r} is {type(value).__name__}, no number: kept as such")
        if plain:
            writer.row(writer.group(tuple(plain), tuple(map(type, plain.values()))), step, tuple(plain.values()))
        if odd:
            writer.other(step, odd)

    def _odd_key(self, key: Any) -> str:
        text = str(encode(key))
        self._notices.once(f"key {text}", f"log: key {text} is {type(key).__name__}, not str: kept by its text")
        return text

    def _odd_step(self, step: Any) -> int:
        number = _as_number(step)
        if number is not None and number == number // 1 and abs(number) < STEP_BOUND:
            return int(number)
        self._notices.once("step", f"log: step {str(encode(step))[:100]} is no step: the next one is used")
        return self._last_step + 1

    def _writer_after_fork(self) -> Writer | None:
        if self._ended:
            self._notices.once("ended", "log after finish: dropped, since the attempt has ended")
            return None
        self._writer = Writer(_new_place(self.path, self.id, self.attempt), self._notices)
        self._last = None
        manifest.commit(self.path)
        return self._writer

    def forked(self) -> None:
        """In a forked child: the log belongs to the parent; the child gets its own when it logs."""
        self._writer = None
        self._child = True
        self._notices = Notices(self.id)


@dataclass(frozen=True)
class Start:
    """How an attempt begins."""

    project: str | None = None
    id: str | None = None
    name: str | None = None
    config: Mapping[str, Any] | None = None
    role: str = "run"
    cause: str | None = None
    from_step: int | None = None


def start(folder: Path, how: Start) -> Run:
    """Begin an attempt of a run in the record `folder`, which is made where it is none.

    Raises:
        RecordError: the record cannot be made or written.
        RefusedError: another living process writes this run.
        ValueError: the id cannot be a folder's name.
    """
    folder = folder.absolute()
    layout.open_record(folder)
    try:
        run, attempt = _take_attempt(folder, how)
        opened = Run(_new_place(folder, run, attempt), how.from_step or 0, Notices(run))
        manifest.commit(folder)
    except OSError as error:
        raise RecordError(f"{folder} cannot be written: {error.strerror or error}") from error
    _open[folder.resolve(), run] = opened
    opened.event(
        "attempt.start",
        role=how.role,
        cause=how.cause or ("start" if attempt == 1 else "resume"),
        name=how.name,
        project=how.project,
        from_step=how.from_step,
        from_attempt=attempt - 1 or None,
        fanal=fanal.__version__,
    )
    if how.config is not None:
        opened.event("config", config=dict(how.config))
    ours = {place for run in _open.values() if (place := run.place) is not None}
    for saved in save_dead_writers(folder, ours, Notices(opened.id)):
        opened.event(
            "recovered",
            of_writer=saved.writer.name,
            frames=saved.frames,
            torn_bytes=saved.torn_bytes,
            damaged_frames=saved.damaged_frames,
        )
    return opened


def _take_attempt(folder: Path, how: Start) -> tuple[str, int]:
    if how.id is not None:
        run = layout.check_run_id(how.id)
        if (folder.resolve(), run) in _open:
            raise RefusedError(f"run {run!r} is open in this process already: finish it first")
        refuse_living_writer(folder, run)
        return run, layout.begin_attempt(folder, run)
    wanted = layout.run_id_from(how.name) if how.name else f"run-{os.urandom(4).hex()}"
    return layout.begin_new_run(folder, wanted), 1


def _new_place(folder: Path, run: str, attempt: int) -> WriterPath:
    place = WriterPath(folder, run, attempt, os.urandom(6).hex())
    make_folder(place.folder)
    layout.write_owner(place, owner_fields(time.time_ns(), fanal.__version__))
    return place


def _as_number(value: Any) -> float | None:
    """A Python int, float or bool that is `value`, or None."""
    if not isinstance(value, bool | int | float):
        try:
            value = value.item()
        except CONVERSION_ERRORS:
            return None
    for plain in (bool, int, float):
        if isinstance(value, plain):
            return value if type(value) is plain else plain(value)
    return None


def _finish_at_exit() -> None:
    for run in list(_open.values()):
        run.finish("interrupted", "the process ended without finish()")


def _forked() -> None:
    for run in _open.values():
        run.forked()


atexit.register(_finish_at_exit)
os.register_at_fork(after_in_child=_forked)

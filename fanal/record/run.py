"""`Run`: one attempt of a run, open for writing: `log`, `event`, `blob`, `finish`.

`log` never raises and waits for no disk. `finish` returns when every segment is closed, the manifest written and no
process of ours touches the record. A forked child that logs gets writers of its own.
"""

import atexit
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from fanal.record import layout
from fanal.record.blobs import PLAIN_BYTES, Blobs
from fanal.record.events import check_event
from fanal.record.frames import TYPE_CODES
from fanal.record.given import STEP_BOUND, Given
from fanal.record.group import Group
from fanal.record.layout import WriterPath
from fanal.record.notice import Notices
from fanal.record.recover import close_dead_writers
from fanal.record.scalars import as_number, on_host
from fanal.record.secrets import redact_bytes
from fanal.record.values import CONVERSION_ERRORS, BlobRef, text_of
from fanal.record.withhold import parts, reason_for, reason_for_pattern
from fanal.record.writer import Writer
from fanal.record.writers import Opening, Writers

COMMITTED_EVENTS = frozenset({"checkpoint", "forecast"})
"""After these the manifest is written again."""
At = tuple[int | None, int | None]
"""Step and time of an event; a time of None is now."""


class Run:
    """One attempt of a run, open for writing."""

    def __init__(self, place: WriterPath, how: Opening) -> None:
        self.id = place.run
        self.attempt = place.attempt
        self.path = place.record
        self.ends_attempt = True
        """Whether `finish` says that the attempt ended; a forked child and a journal do not."""
        self._notices = Notices(place.run)
        self._blobs = Blobs(place.record, self._notices)
        self._given = Given(self._notices, self._blobs)
        self._writers = Writers(place, how.clock, self._notices, self._blobs)
        self._withhold = how.withhold
        self._key_rules = tuple(r for r in how.withhold if not r.pattern.startswith(("event:", "config:")))
        self._last_step = how.first_step - 1
        self._last: Group | None = None
        self._ended = False
        _open.add(self)

    @property
    def place(self) -> WriterPath | None:
        """Where this process writes; None where it does not."""
        return self._writers.public.place if self._writers.public else None

    @property
    def places(self) -> list[WriterPath]:
        """Where this process writes, what is withheld included."""
        return self._writers.places

    def log(self, metrics: Mapping[str, Any], step: int | None = None, time_ns: int | None = None) -> None:
        """Record one row; without `step`, the step after the last one. Never raises.

        `time_ns` is when the row was logged elsewhere, 0 where its source does not say; without it, now.
        """
        if type(step) is not int:
            following = self._last_step + 1
            step = following if step is None else self._given.step(step, following)
        elif not -STEP_BOUND < step < STEP_BOUND:
            step = self._given.step(step, self._last_step + 1)
        self._last_step = step
        writer = self._writers.public or self._writers.get()
        if writer is None:
            return
        if time_ns is not None:
            time_ns = self._given.time(time_ns)
        try:
            keys, values = list(metrics), tuple(metrics.values())
        except CONVERSION_ERRORS:
            self._log_unreadable(metrics, step, time_ns)
            return
        types = tuple(map(type, values))
        group = self._last
        try:
            if group is not None and (keys != group.key_list or types != group.types):
                group = None
        except CONVERSION_ERRORS:  # a key that cannot be compared
            group = None
        if group is None:
            group = self._group(writer, tuple(keys), types)
            if group is None:
                self._log_odd(keys, values, step, time_ns)
                return
            self._last = group
        if keys:
            writer.row(group, step, values, time_ns)

    def event(self, kind: str, step: int | None = None, time_ns: int | None = None, **fields: Any) -> None:
        """Record a typed fact; a `config` becomes a blob, divided where parts of it are withheld.

        Raises:
            ValueError: the kind or a field is not in the table of `kinds.py`; names the nearest.
        """
        check_event(kind, fields)
        at = (None if step is None else int(step), None if time_ns is None else self._given.time(time_ns))
        reason = reason_for(self._withhold, f"event:{kind}")
        if kind == "config" and not isinstance(fields["config"], BlobRef):
            self._put_config(reason, fields["config"], at)
        else:
            for why, part in self._divided(reason, kind, fields):
                self._put(why, kind, at, self._given.fields(kind, part))

    def blob(self, data: bytes, media_type: str) -> BlobRef:
        """Keep bytes in the record, secrets in text and JSON replaced; the reference, for an event or a medium."""
        kept, num = redact_bytes(data, media_type)
        if num:
            self._notices.once(f"secret {media_type}", f"{media_type}: {num} secrets are not written")
        return self._blobs.write([kept], media_type)

    def text_blob(self, text: str) -> BlobRef:
        """Keep a person's words in the record, secrets in them replaced; the reference to them."""
        kept: str = self._given.without_secrets("words", text)
        return self.blob(kept.encode("utf-8", "surrogatepass"), "text/plain")

    def file_blob(self, path: str | Path, media_type: str = PLAIN_BYTES) -> BlobRef:
        """Keep a file's content in the record; the reference to it.

        Raises:
            OSError: the file cannot be read.
        """
        return self._blobs.copy(Path(path), media_type)

    def finish(self, outcome: str = "finished", reason: str | None = None) -> None:
        """End the attempt; a second call does nothing."""
        if self._ended:
            return
        if self.ends_attempt:
            self.event("attempt.end", outcome=outcome, reason=reason)
        self._ended = True
        _open.discard(self)
        self._blobs.settle()
        if self._blobs.num_lost:
            lost = f"{self._blobs.num_lost} blobs found no place: {self._blobs.last_error}"
            self._put(None, "gap", (None, None), {"frames": 0, "seconds": 0.0, "reason": lost})
        tried = self._writers.end()
        if self.ends_attempt:
            self._close_children(tried)

    def abandon(self) -> None:
        """Write nothing more and close nothing: a later process finds what there is."""
        self._ended = True
        _open.discard(self)
        self._writers.abandon()

    def forked(self) -> None:
        """In a forked child: the log belongs to the parent; the child gets its own when it logs."""
        self.ends_attempt = False
        self._last = None
        self._notices = Notices(self.id)
        self._blobs = Blobs(self.path, self._notices)
        self._given = Given(self._notices, self._blobs)
        self._writers.forked(self._notices, self._blobs)

    def _group(self, writer: Writer, keys: tuple[Any, ...], types: tuple[type, ...]) -> Group | None:
        """The group of a row that is plain and public; None where a key or value needs a second look."""
        try:
            if (known := writer.known(keys, types)) is not None:
                return known
            plain = all(t in TYPE_CODES for t in types) and all(type(key) is str for key in keys)
        except CONVERSION_ERRORS:  # a key that cannot be hashed or compared
            return None
        if not plain or len(keys) != len(types):
            return None
        withheld = self._key_rules and any(reason_for(self._key_rules, key) is not None for key in keys)
        return None if withheld else writer.group(keys, types)

    def _log_odd(self, keys: list[Any], values: tuple[Any, ...], step: int, time_ns: int | None) -> None:
        """Numbers of other libraries become Python's; what is no number is kept marked, in a frame of its own."""
        plain: dict[str, float] = {}
        odd: dict[str, Any] = {}
        named = self._given.names(keys)
        for name, value in zip(named, on_host(values), strict=False):
            number = as_number(value)
            if number is not None:
                plain[name] = number
            else:
                odd[name] = self._given.value(name, value, self)
        for reason, names in parts(self._key_rules, ((name, named[name]) for name in plain)).items():
            if (writer := self._writers.get(reason)) is not None:
                numbers = tuple(plain[name] for name in names)
                writer.row(writer.group(tuple(names), tuple(map(type, numbers))), step, numbers, time_ns)
        for reason, names in parts(self._key_rules, ((name, named[name]) for name in odd)).items():
            if (writer := self._writers.get(reason)) is not None:
                writer.other(step, {name: odd[name] for name in names}, time_ns)

    def _log_unreadable(self, metrics: Any, step: int, time_ns: int | None) -> None:
        """What is no mapping, kept as such; withheld where rules speak of keys, which cannot be found in it."""
        reason = self._key_rules[0].reason if self._key_rules else None
        if (writer := self._writers.get(reason)) is not None:
            writer.other(step, {"": self._given.mapping(metrics)}, time_ns)

    def _divided(self, whole: str | None, kind: str, fields: dict[str, Any]) -> list[tuple[str | None, dict[str, Any]]]:
        """The reason and the fields of each event that an event becomes where it names keys that are withheld."""
        if whole is not None or not self._key_rules:
            return [(whole, fields)]
        if kind == "metric":
            patterns = [text_of(fields[name]) for name in ("pattern", "step_metric") if fields.get(name) is not None]
            reasons = (reason_for_pattern(self._key_rules, pattern) for pattern in patterns)
            return [(next((reason for reason in reasons if reason is not None), None), fields)]
        if kind == "summary":
            values = fields["values"]
            if not isinstance(values, Mapping):
                return [(self._key_rules[0].reason, fields)]
            kept = cast("Mapping[Any, Any]", values)
            found = parts(self._key_rules, ((name, self._given.key(name)) for name in kept)) or {None: []}
            return [(why, {**fields, "values": {name: kept[name] for name in names}}) for why, names in found.items()]
        return [(None, fields)]

    def _close_children(self, tried: list[WriterPath]) -> None:
        """Close what forked children that ended without a word have left."""
        try:
            others = (place for place in layout.writers_of(self.path, self.id, self.attempt) if place not in tried)
            close_dead_writers(others, open_places(), self._notices)
        except OSError as error:
            self._notices.once("children", f"logs of child processes are kept, not closed: {error.strerror or error}")

    def _put(self, reason: str | None, kind: str, at: At, fields: Any) -> None:
        writer = self._writers.get(reason)
        if writer is not None:
            writer.event(kind, at[0], fields, at[1])
            if kind in COMMITTED_EVENTS:
                writer.commit()

    def _put_config(self, whole: str | None, config: Mapping[Any, Any], at: At) -> None:
        """The names of each reason in an event of their own, as a blob, so that they can be redacted."""
        found = parts(self._withhold, ((name, f"config:{text_of(name)}") for name in config)) or {None: []}
        for reason, names in found.items():
            encoded = self._given.fields("config", {name: config[name] for name in names})
            self._put(whole if reason is None else reason, "config", at, {"config": self._given.as_blob(encoded)})


def open_runs() -> list[Run]:
    """The runs that this process has open."""
    return list(_open)


def open_places() -> set[WriterPath]:
    """Where this process writes."""
    return {place for run in _open for place in run.places}


_open: set[Run] = set()


def _finish_at_exit() -> None:
    for run in open_runs():
        run.finish("interrupted", "the process ended without finish()")


def _forked() -> None:
    for run in _open:
        run.forked()


atexit.register(_finish_at_exit)
os.register_at_fork(after_in_child=_forked)

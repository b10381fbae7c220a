"""The writers of one run in this process: the public one, one a reason for what is withheld, new ones after a fork.

A writer of withheld things is made when the first of them comes. Where a writer cannot be made, what it would have
written is lost and said so: it is never written where others may read it.
"""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import fanal
from fanal.record import layout
from fanal.record.blobs import Blobs
from fanal.record.files import make_folder
from fanal.record.layout import LOG, SEGMENTS, WriterPath
from fanal.record.logs import Clock
from fanal.record.notice import Notices
from fanal.record.owner import owner_fields
from fanal.record.withhold import BY_DEFAULT, Withhold
from fanal.record.writer import Writer


@dataclass(frozen=True)
class Opening:
    """What a run needs beside its place."""

    first_step: int = 0
    withhold: tuple[Withhold, ...] = BY_DEFAULT
    clock: Clock | None = None
    """Where None, the machine's."""


class Writers:
    """Where a run writes."""

    def __init__(self, place: WriterPath, clock: Clock | None, notices: Notices, blobs: Blobs) -> None:
        self._clock = clock or time.time_ns
        self.public: Writer | None = Writer(place, notices, blobs, self._clock)
        """None in a forked child that has logged nothing, and after the end."""
        self._place = place
        self._notices = notices
        self._blobs = blobs
        self._withheld: dict[str, Writer] = {}
        self._making = threading.RLock()
        self._ended = False

    @property
    def places(self) -> list[WriterPath]:
        """The folders that this process writes."""
        return [writer.place for writer in self._all()]

    def get(self, reason: str | None = None) -> Writer | None:
        """The public writer, or that of what is withheld for a reason; None where it cannot be."""
        with self._making:
            found = self.public if reason is None else self._withheld.get(reason)
            if found is not None:
                return found
            if self._ended:
                self._notices.once("ended", "log after finish: dropped, since the attempt has ended")
                return None
            made = self._make(reason)
            if made is not None and reason is None:
                self.public = made
            elif made is not None and reason is not None:
                self._withheld[reason] = made
            return made

    def end(self) -> list[WriterPath]:
        """Close everything; the folders that this process has written."""
        self._ended = True
        writers, self.public, self._withheld = self._all(), None, {}
        for writer in writers:
            writer.end()
        return [writer.place for writer in writers]

    def abandon(self) -> None:
        """Give the logs back as they are."""
        self._ended = True
        writers, self.public, self._withheld = self._all(), None, {}
        for writer in writers:
            writer.abandon()

    def _all(self) -> list[Writer]:
        return [*self._withheld.values(), *([self.public] if self.public else [])]

    def _make(self, reason: str | None) -> Writer | None:
        try:
            place = new_place(self._place.record, self._place.run, self._place.attempt, reason)
            writer = Writer(place, self._notices, self._blobs, self._clock)
        except OSError as error:
            self._notices.once("writer", f"a writer cannot be made, rows are lost: {error.strerror or error}")
            return None
        writer.commit()
        return writer

    def forked(self, notices: Notices, blobs: Blobs) -> None:
        """In a forked child: the logs are the parent's."""
        self.public, self._withheld = None, {}
        self._notices, self._blobs = notices, blobs
        self._making = threading.RLock()


def new_place(record: Path, run: str, attempt: int, withheld: str | None = None) -> WriterPath:
    """Make a writer's folder and its owner file.

    Raises:
        OSError: they cannot be written.
    """
    place = WriterPath(record, run, attempt, os.urandom(6).hex())
    make_folder(place.folder)
    for name in (LOG, SEGMENTS):
        (place.folder / name).mkdir()  # made to last with the owner file's name
    fields = owner_fields(time.time_ns(), fanal.__version__)
    layout.write_owner(place, fields if withheld is None else {**fields, "withheld": withheld})
    return place

"""The publisher: a process of its own that keeps a destination up to date while the record grows, until it has ended.

`python -m fanal.page.publisher RECORD DEST`. It reads the record and nothing of the training, so it survives the
training's crash and publishes what was left. It looks every 0.5 to 10 s by the run's own pace; the page's view takes at
most a tenth of a core, slices of logs go at once. Without a network it keeps trying, and catches up in one round. One
publisher at a time for a record and a destination; the first line it says is where people find the page.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fanal.errors import FanalError, RecordError, RefusedError
from fanal.page.publication import Publication
from fanal.page.published import PublishOptions, PublishReport
from fanal.page.stores import StoreError
from fanal.record import layout
from fanal.record.copies.publishing import alone, work_of
from fanal.record.files import DamagedError, read_document
from fanal.record.layout import LOG, OWNER_FILE, WriterPath, find_record, numbered
from fanal.record.owner import is_alive

EVERY_SECONDS, MOST_SECONDS = 0.5, 10.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
GIVEN_UP_TRIES = 5
"""How often a record that cannot be read is tried, once nobody writes it any more."""
QUIET_TRIES = 3
"""How often a file may be gone before it is said: a log that was closed into a segment just now is."""
ALLOW = "FANAL_PUBLISH_ALLOW"
"""Fingerprints that may be published, comma separated, for a publisher that a training starts."""


@dataclass(frozen=True)
class WatchOptions:
    """How long and how often."""

    forever: bool = False
    """Go on after the last writer has ended: another attempt may come."""
    every_seconds: float = EVERY_SECONDS
    on_address: Callable[[str], None] | None = None
    """Called with where people find it, once it is there; says so on standard error where None."""


def watch(path: Path, dest: str, options: PublishOptions, how: WatchOptions = WatchOptions()) -> PublishReport:
    """Publish until the record has no living writer and everything is there; the last round's report.

    Raises:
        RefusedError: another process publishes this record there; or a secret that nobody allowed came up.
        RecordError: the record cannot be read, again and again, and nobody writes it any more.
    """
    source = find_record(path)
    with alone(work_of(source, dest)):
        return _Watch(source, dest, options, how).run()


class _Watch:
    def __init__(self, source: Path, dest: str, options: PublishOptions, how: WatchOptions) -> None:
        self._source, self._dest, self._options, self._how = source, dest, options, how
        self._publication: Publication | None = None
        self._trouble = 0
        self._has_complained = False
        self._pace = _Pace(how.every_seconds)
        self._said = False

    def run(self) -> PublishReport:
        while True:
            is_last = not self._how.forever and not is_written(self._source)
            began = time.monotonic()
            report = self._round(is_last)
            if report is not None and is_last:
                return report
            took = time.monotonic() - began
            time.sleep(self._pause() if report is None else self._pace.after(took, report.written > 0))

    def _round(self, is_last: bool) -> PublishReport | None:
        """One round; None where it must be tried again."""
        try:
            if self._publication is None:
                self._publication = Publication(self._source, self._dest, self._options)
            report = self._publication.round()
        except RefusedError:
            raise
        except (StoreError, RecordError, DamagedError, OSError) as error:
            self._trouble += 1
            is_quiet = isinstance(error, FileNotFoundError) and self._trouble < QUIET_TRIES
            if not self._has_complained and not is_quiet:
                _say(f"{error}; trying again until it works")
                self._has_complained = True
            if is_last and not isinstance(error, StoreError) and self._trouble >= GIVEN_UP_TRIES:
                raise
            return None
        if self._has_complained:
            _say(f"{self._dest} is up to date again")
        if not self._said:
            found = report.address or report.dest
            self._how.on_address(found) if self._how.on_address else _say(f"see it at {found}")
        self._trouble, self._has_complained, self._said = 0, False, True
        return report

    def _pause(self) -> float:
        return min(FIRST_PAUSE_SECONDS * 2 ** min(self._trouble - 1, 10), LONGEST_PAUSE_SECONDS)


class _Pace:
    """How long to wait between rounds: half of what lies between news."""

    def __init__(self, every_seconds: float) -> None:
        self._every_seconds = every_seconds
        self._between = 0.0
        self._last = time.monotonic()

    def after(self, took: float, news: bool) -> float:
        """How long to wait after a round; where there was nothing new, looking costs at most a tenth of a core."""
        if news:
            now = time.monotonic()
            self._between += 0.2 * (now - self._last - self._between)
            self._last = now
        least = self._every_seconds if news else max(self._every_seconds, 9 * took)
        return min(max(least, self._between / 2), MOST_SECONDS)


def is_written(record: Path) -> bool:
    """Whether a living process writes the record."""
    return any(_lives(place) for place in layout.all_writers(record) if numbered(place.folder / LOG, ".log"))


def _lives(place: WriterPath) -> bool:
    try:
        return is_alive(read_document(place.folder / OWNER_FILE), place)
    except (DamagedError, FileNotFoundError):
        return False


def _say(text: str) -> None:
    print(f"fanal: {text}", file=sys.stderr, flush=True)


def _print(text: str) -> None:
    print(text, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Publish a record until it has ended; 0, or the error's exit code."""
    parser = argparse.ArgumentParser(prog="python -m fanal.page.publisher")
    parser.add_argument("record", type=Path)
    parser.add_argument("dest")
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("--address")
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--every", type=float, default=EVERY_SECONDS)
    asked = parser.parse_args(arguments)
    os.nice(10)
    named = [one.strip() for one in os.environ.get(ALLOW, "").split(",")]
    options = PublishOptions(allow=(*asked.allow, *filter(None, named)), address=asked.address)
    try:
        report = watch(asked.record, asked.dest, options, WatchOptions(asked.watch, asked.every, _print))
    except FanalError as error:
        _say(str(error))
        return error.exit_code
    _say(report.words)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`start` begins an attempt of a run in a record, or joins one; `journal` writes facts about the record itself.

`start` raises where the record cannot be; the `Run` that it returns never does (`run.py`). A run that a living process
writes is refused, unless both share it: then each is one more writer of the run's current attempt.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fanal
from fanal.errors import RecordError, RefusedError
from fanal.record import layout
from fanal.record.files import DamagedError
from fanal.record.layout import WriterPath
from fanal.record.logs import Clock
from fanal.record.notice import Notices
from fanal.record.proof import manifest
from fanal.record.proof.journal_facts import JOURNAL
from fanal.record.recover import refuse_living_writer, save_dead_writers
from fanal.record.run import Run, open_places, open_runs
from fanal.record.withhold import BY_DEFAULT, Withhold
from fanal.record.writers import Opening, new_place

__all__ = ["JOURNAL", "Run", "Start", "Withhold", "journal", "start"]

JOURNAL_ROLE = "record"
RESCAN_SECONDS = 60.0
"""How often a process that begins run after run looks through the whole record for writers that died."""
_scanned: dict[Path, float] = {}


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
    from_attempt: int | None = None
    """The attempt it goes on from; where None, the one before."""
    from_run: str | None = None
    """The run it is forked from."""
    group: str | None = None
    job_type: str | None = None
    tags: Sequence[str] | None = None
    notes: str | None = None
    """A person's words; kept as a blob."""
    shared: bool = False
    """Be one more writer of the run's current attempt, which is begun where there is none."""
    withhold: tuple[Withhold, ...] = BY_DEFAULT
    clock: Clock | None = None
    """Says when rows are logged and when a day has passed; where None, the machine's."""


def start(folder: Path, how: Start) -> Run:
    """Begin an attempt of a run in the record `folder`, which is made where it is none.

    Raises:
        RecordError: the record cannot be made or written.
        RefusedError: another living process writes this run.
        ValueError: the id cannot be a folder's name.
    """
    folder = folder.resolve()
    layout.open_record(folder)
    try:
        run, attempt, begins = _take_attempt(folder, how)
        place = new_place(folder, run, attempt)
        if not how.shared:
            _refuse_others(place)
        opened = Run(place, Opening(how.from_step or 0, how.withhold, how.clock))
    except OSError as error:
        raise RecordError(f"{folder} cannot be written: {error.strerror or error}") from error
    opened.ends_attempt = how.role != JOURNAL_ROLE
    if begins:
        opened.event("attempt.start", **_beginning(opened, how))
    try:
        manifest.commit(folder, changed=[place])
    except (OSError, DamagedError) as error:
        opened.abandon()
        raise RecordError(f"{folder} cannot be written: {error}") from error
    if how.config is not None:
        opened.event("config", config=dict(how.config))
    _save_dead_writers(opened)
    return opened


@contextmanager
def journal(folder: Path) -> Iterator[Run]:
    """A writer for facts about the record itself (keys, redactions, anchors, …), also beside others at any time.

    Raises:
        RecordError: `folder` is no record, or it cannot be written.
    """
    layout.read_header(folder)
    run = start(folder, Start(id=JOURNAL, role=JOURNAL_ROLE, shared=True))
    try:
        yield run
    finally:
        run.finish()


def _take_attempt(folder: Path, how: Start) -> tuple[str, int, bool]:
    """Run, attempt, and whether the attempt begins with this writer."""
    if how.shared:
        run = layout.check_run_id(how.id) if how.id is not None else layout.run_id_from(how.name or "shared")
        return run, *layout.join_attempt(folder, run)
    if how.id is None:
        wanted = layout.run_id_from(how.name) if how.name else layout.any_run_id()
        return layout.begin_new_run(folder, wanted), 1, True
    run = layout.check_run_id(how.id)
    if any(open_run.id == run and open_run.path == folder for open_run in open_runs()):
        raise RefusedError(f"run {run!r} is open in this process already: finish it first")
    refuse_living_writer(folder, run)
    return run, layout.begin_attempt(folder, run), True


def _refuse_others(place: WriterPath) -> None:
    """Of processes that begin a run at the same moment, the one with the lowest attempt goes on."""
    if place.attempt == 1:
        return
    layout.await_owner(place)
    try:
        refuse_living_writer(place.record, place.run, before=place.attempt)
    except RefusedError:
        layout.remove_attempt(place)
        raise


def _beginning(run: Run, how: Start) -> dict[str, Any]:
    cause = "fork" if how.from_run else "start" if run.attempt == 1 else "resume"
    before = max(layout.attempts_of(run.path, how.from_run), default=None) if how.from_run else run.attempt - 1 or None
    return {
        "role": how.role,
        "cause": how.cause or cause,
        "name": how.name,
        "project": how.project,
        "from_step": how.from_step,
        "from_attempt": how.from_attempt or before,
        "from_run": how.from_run,
        "group": how.group,
        "job_type": how.job_type,
        "tags": None if how.tags is None else list(how.tags),
        "notes": None if how.notes is None else run.text_blob(how.notes),
        "fanal": fanal.__version__,
    }


def _save_dead_writers(opened: Run) -> None:
    """Of this run always; of the whole record at first, and then once a minute."""
    folder = opened.path
    now = time.monotonic()
    whole = now - _scanned.get(folder, -RESCAN_SECONDS) >= RESCAN_SECONDS
    if whole:
        _scanned[folder] = now
    notices = Notices(opened.id)
    try:
        saved_writers = save_dead_writers(opened.path, None if whole else opened.id, open_places(), notices)
    except OSError as error:  # another's file that we may not read is no reason to stop a training
        notices.once("others", f"logs of processes that are gone are kept, not closed: {error}")
        return
    for saved in saved_writers:
        opened.event(
            "recovered",
            of_writer=saved.writer.name,
            frames=saved.frames,
            torn_bytes=saved.torn_bytes,
            damaged_frames=saved.damaged_frames,
        )

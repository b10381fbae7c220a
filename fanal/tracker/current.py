"""`init` and the current run of the process: what `fanal.log` and its like write to.

Arguments are those that people already pass to their tracker, then ours. `init` raises where the record cannot be or
a call cannot be meant; from then on nothing does. It takes about as long as four small files take to reach the disk.
"""

import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fanal.errors import RefusedError
from fanal.record.attempt import Start, Withhold, start
from fanal.record.notice import Notices
from fanal.record.values import CONVERSION_ERRORS
from fanal.tracker import code, earlier, ending, environment
from fanal.tracker.address import publish as publish_run
from fanal.tracker.asked import Asked, resolve
from fanal.tracker.errors import NoRunError, UsageError
from fanal.tracker.nowhere import Nowhere
from fanal.tracker.run import Run
from fanal.tracker.system import System
from fanal.tracker.util import generate_id

_current: Run | None = None
_open: list[Run] = []


def init(
    entity: str | None = None,
    project: str | None = None,
    dir: str | Path | None = None,
    id: str | None = None,
    name: str | None = None,
    notes: str | None = None,
    tags: Sequence[str] | None = None,
    config: Any = None,
    config_exclude_keys: Sequence[str] | None = None,
    config_include_keys: Sequence[str] | None = None,
    allow_val_change: bool | None = None,
    group: str | None = None,
    job_type: str | None = None,
    mode: str | None = None,
    force: bool | None = None,
    reinit: bool | str | None = None,
    resume: bool | str | None = None,
    resume_from: str | None = None,
    fork_from: str | None = None,
    save_code: bool | None = None,
    tensorboard: bool | None = None,
    sync_tensorboard: bool | None = None,
    monitor_gym: bool | None = None,
    settings: Any = None,
    anonymous: Any = None,
    *,
    publish: str | None = None,
    withhold: Sequence[str | tuple[str, str] | Withhold] | None = None,
    role: str | None = None,
    cause: str | None = None,
    from_step: int | None = None,
    **others: Any,
) -> Run:
    """Begin an attempt of a run and make it this process' current one (`docs/tracker.md` has a line an argument).

    `dir` is the record's folder, `fanal/<project>` where absent. An `id` that is there already begins a further
    attempt: with `resume` it goes on after the last step with the configuration it had, without it begins anew, and
    what it logs again supersedes the earlier rows, which stay. `withhold` names keys, `event:<kind>` or
    `config:<key>` that are not published; `publish` is an address to publish to from now on.

    Raises:
        RecordError: the record cannot be made or written.
        RefusedError: another living process writes this run.
        UsageError: the arguments cannot be meant; says which and why.
        ValueError: the id cannot be a folder's name.
    """
    return begin(resolve(dict(locals()), os.environ))


def begin(asked: Asked) -> Run:
    """Begin the run that is asked for, or return the open one where the call means that."""
    global _current
    open_run = _current
    if open_run is not None and not open_run.ended and not open_run.inherited and asked.reinit != "create_new":
        if asked.reinit != "finish_previous" and not asked.names_another(open_run.id, open_run.asked.name):
            differing = ", ".join(asked.differing(open_run.asked))
            words = f", and what this call says of {differing} counts for nothing" if differing else ""
            text = f"init: the run is open already: it goes on{words} (reinit=True begins another)"
            open_run.notices.once(f"reinit {differing}", text)
            open_run.config.update(asked.config)
            return open_run
        open_run.finish()
    run = _begun(asked)
    _open[:] = [*(other for other in _open if not other.ended), run]
    if asked.reinit != "create_new" or current() is None:
        _current = run
    return run


def current() -> Run | None:
    """The run that `fanal.log` writes to; None before `init` and after `finish`."""
    global _current
    if _current is not None and _current.ended:
        _current = None
    return _current


def running(call: str) -> Run:
    """The current run.

    Raises:
        NoRunError: there is none.
    """
    if (run := _current) is None or run.ended:
        raise NoRunError(f"fanal.{call}: there is no run; call fanal.init(...) first")
    return run


def log(data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, **ignored: Any) -> None:
    """Record one row in the current run, as `Run.log` does.

    Raises:
        NoRunError: `init` was not called.
    """
    running("log").log(data, step, commit, **ignored)


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:
    """End the current run's attempt; nothing where there is none."""
    if (run := current()) is not None:
        run.finish(exit_code, quiet)
    current()


def _begun(asked: Asked) -> Run:
    if asked.mode == "disabled":
        return Run(Nowhere(asked.id or generate_id(), asked.folder), asked, 0, resumed=False)
    asked, first_step, resumed = _aimed(asked)
    how = Start(
        project=asked.project,
        id=asked.id,
        name=asked.name,
        config=dict(asked.config) or None,
        role=asked.role,
        cause=asked.cause,
        from_step=asked.from_step,
        from_run=asked.fork_from[0] if asked.fork_from else None,
        group=asked.group,
        job_type=asked.job_type,
        tags=list(asked.tags) or None,
        notes=asked.notes,
        shared=asked.mode == "shared",
        withhold=asked.rules,
    )
    run = Run(start(asked.folder, how), asked, first_step, resumed)
    if run.attempt > 1:
        run.summary.set_before(earlier.summarised(asked.folder.absolute(), run.id))
    ending.watch()
    _say(run)
    _follow(run)
    return run


def _aimed(asked: Asked) -> tuple[Asked, int, bool]:
    """The run, first step and configuration that `resume`, `resume_from` and `fork_from` come to."""
    folder = asked.folder.absolute()
    if asked.resume_from and asked.fork_from:
        raise UsageError("init takes resume_from or fork_from, not both")
    if asked.resume_from or asked.fork_from:
        run, step = asked.resume_from or asked.fork_from or ("", 0)
        if not earlier.exists(folder, run):
            raise UsageError(f"init: {folder} has no run {run!r} to go on from")
        if step >= (reach := earlier.reach(folder, run)):
            last = f"its last step is {reach - 1}" if reach else "it has no step"
            Notices(run).once("reach", f"init: it goes on after step {step}, and {last}")
        config = {**earlier.config(folder, run), **asked.config}
        if asked.resume_from:
            return asked.with_(id=run, from_step=step + 1, cause=asked.cause or "rewind", config=config), step + 1, True
        return asked.with_(id=asked.id or generate_id(), from_step=step + 1, config=config), step + 1, False
    if asked.resume == "auto" and asked.id is None:
        asked = asked.with_(id=_remembered(folder))
    there = asked.id is not None and earlier.exists(folder, asked.id)
    if asked.resume == "must" and asked.id is None:
        raise UsageError("init: resume='must' needs an id: give the id of the run to go on with")
    if asked.resume == "must" and not there:
        raise UsageError(f"init: resume='must', and {folder} has no run {asked.id!r}: give the id of one that is there")
    if asked.resume == "never" and there:
        raise RefusedError(f"init: resume='never', and {folder} has a run {asked.id!r}: choose another id")
    if there and asked.resume in ("allow", "must", "auto"):
        assert asked.id is not None
        config = {**earlier.config(folder, asked.id), **asked.config}
        first = asked.from_step if asked.from_step is not None else earlier.next_step(folder, asked.id)
        return asked.with_(config=config), first, True
    if there and asked.mode == "shared":
        assert asked.id is not None
        return asked, earlier.next_step(folder, asked.id), False
    return asked, asked.from_step or 0, False


def _remembered(folder: Path) -> str:
    """With `resume='auto'`: the run that did not end in good order here, or a new id, which is then remembered."""
    mark = _mark(folder)
    try:
        return mark.read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        name = generate_id()
        folder.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(name, "ascii")
        return name


def _mark(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.resume")


def _say(run: Run) -> None:
    asked = run.asked
    if asked.recorded:
        run.note("init", asked.recorded)
    if asked.label is not None:
        run.record.event("settings", call="init", given={"x_label": asked.label})
    if asked.publish is not None:
        publish_run(run, asked.publish)
    elif asked.online and not asked.quiet:
        run.notices.once("online", f"is recorded in {run.record.path}; nothing is uploaded (publish='…' does that)")


def _follow(run: Run) -> None:
    """What goes on beside the training: the facts of the beginning, then the machine's state."""
    if run.asked.resume == "auto":
        run.finished.append(lambda: _mark(run.record.path).unlink(missing_ok=True))
    if run.asked.meta:
        facts = threading.Thread(target=_record_facts, args=(run,), name="fanal-facts", daemon=True)
        run.helpers.append(facts.join)
        facts.start()
    if run.asked.system:
        system = System(run, run.asked.sampling_seconds)
        run.helpers.append(system.stop)
        system.start()


def _record_facts(run: Run) -> None:
    try:
        environment.begin(run)
        code.begin(run)
    except (*CONVERSION_ERRORS, OSError) as error:  # for instance a working folder that is gone
        run.notices.once("facts", f"environment and code are not recorded: {error}")


def _finish_at_exit() -> None:
    """A script that did not call `finish`, or that an error ended."""
    for run in _open:
        if not run.ended:
            run.end(*ending.outcome())


def _forked() -> None:
    for run in _open:
        run.forked()


atexit.register(_finish_at_exit)
os.register_at_fork(after_in_child=_forked)

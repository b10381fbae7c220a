"""`Run`: the run that scripts log to, in the shape that they know from other trackers, over a record's attempt.

After `init` nothing here raises or waits for a disk: what is odd is kept and said once on stderr. A row is in the
record when `log` returns, also with `commit=False`, which only keeps the step from moving on. Rows of one step join
when they are read, the later value of a key showing; a lower step is kept as it is.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from fanal.record.attempt import Run as Attempt
from fanal.record.notice import Notices
from fanal.record.scalars import as_number
from fanal.record.values import CONVERSION_ERRORS, text_of, type_name
from fanal.record.withhold import reason_for
from fanal.tracker import alert, code, keep, use, watch
from fanal.tracker.asked import Asked
from fanal.tracker.errors import UnsupportedError
from fanal.tracker.labels import Labels
from fanal.tracker.latest import Latest
from fanal.tracker.metric import Metric, Metrics, checked, description, metric_fields
from fanal.tracker.names import Config, Summary
from fanal.tracker.nowhere import Nowhere
from fanal.tracker.rows import prepare
from fanal.tracker.settings import Settings

PLAIN = frozenset((float, int, bool))


class Run(Labels):
    """One attempt of a run, open for writing."""

    def __init__(self, record: Attempt | Nowhere, asked: Asked, first_step: int, resumed: bool) -> None:
        super().__init__(record, asked)
        self.notices = Notices(record.id)
        self.resumed = resumed
        self.start_time = time.time()
        self.starting_step = first_step
        self.inherited = False
        """Whether this is a forked child's view of its parent's run."""
        self.ended = False
        self.config = Config(asked.config, lambda changed: self._event("config", config=changed))
        rules = asked.rules
        self.summary = Summary(
            lambda changed: self._event("summary", values=changed),
            self._logged,
            lambda name: reason_for(rules, text_of(name)) is None,
        )
        self.helpers: list[Callable[[], None]] = []
        """What the end calls first: whoever follows the run stops."""
        self.finished: list[Callable[[], None]] = []
        """What a good end calls last."""
        self.watched: list[watch.Watched] = []
        self.kept = keep.Kept(self)
        self.versions: dict[str, int] = {}
        """By name of an artifact, the last version that is known."""
        self._metrics = Metrics()
        self._ignored: set[str] = set()
        """Arguments of `log` that were named."""
        self._latest = Latest()
        self.last_step: int | None = None
        """Of the last row; None before the first."""
        self._step = first_step
        self._lock = threading.Lock()

    def log(self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, **ignored: Any) -> None:
        """Record one row; without `step`, at the run's step, which then moves on unless `commit` is False.

        With `step` the run's step goes there, if it is higher, and stays for what else is logged of it, unless
        `commit` is True. Never raises.
        """
        if ignored and (new := {name: value for name, value in ignored.items() if name not in self._ignored}):
            self._ignored.update(new)
            self.note("log", new)
        try:
            shape = self._latest.shape(data)
            plain = not shape.own and PLAIN.issuperset(set(map(type, data.values())))
        except CONVERSION_ERRORS:  # no dict, keys that cannot be hashed or compared, one that is changing
            self._log_odd(data, step, commit)
            return
        if not plain:
            self._log_odd(data, step, commit)
            return
        at = self._advance(step, commit)
        try:
            if self._metrics.active and (beside := self._metrics.observe(data, self._latest.value)):
                data = {**data, **beside}
                shape = self._latest.shape(data)
            self._latest.take(shape, data)
            if self.config.waits:
                self.config.save()
            if self.summary.concerned:
                self.summary.logged_over(data)
        except CONVERSION_ERRORS as error:  # keys and mappings of the script's own, which the record marks
            self._not_followed(error)
        self.record.log(data, at)

    def event(self, kind: str, step: int | None = None, **fields: Any) -> None:
        """Record a typed fact of `docs/events.md`.

        Raises:
            ValueError: the kind or a field is not in the table; names the nearest.
        """
        self.record.event(kind, step, **fields)

    def describe(
        self, pattern: str, text: str, unit: str | None = None, better: str | None = None, source: str | None = None
    ) -> None:
        """Say what keys mean: for people who were not there; `better` is `lower` or `higher`.

        Raises:
            UsageError: `better` is something else.
        """
        self._event("metric", **description(pattern, text, unit, better, source))

    def define_metric(
        self,
        name: str,
        step_metric: Any = None,
        step_sync: bool | None = None,
        hidden: bool | None = None,
        summary: str | None = None,
        goal: str | None = None,
        overwrite: bool | None = None,
    ) -> Metric:
        """Say how a key, or a pattern of keys with `*`, is shown, and what of it stands for the run.

        Raises:
            UsageError: a summary or goal that there is not.
        """
        del overwrite  # the later definition always counts, and the earlier stays in the record
        metric = checked(Metric(name, getattr(step_metric, "name", step_metric), step_sync, hidden, summary, goal))
        if metric.summary is not None and "best" in metric.summary.split(",") and metric.goal is None:
            self.notices.once("best", "define_metric: summary='best' without a goal: the lowest value counts")
        self._metrics.define(metric)
        self._event("metric", **metric_fields(metric))
        return metric

    def alert(self, title: str, text: str = "", level: Any = None, wait_duration: Any = None) -> None:
        """Call for attention; an alert with the same title within `wait_duration` (s or timedelta) is left out."""
        alert.send(self, title, text, level, wait_duration)

    def save(self, glob_str: Any = None, base_path: Any = None, policy: str = "live", glob: bool = True) -> list[str]:
        """Keep files with the run: now, and those of policy `live` and `end` again as they are at the end."""
        return self.kept.save(glob_str, base_path, policy, glob)

    def log_code(
        self, root: str | None = ".", name: str | None = None, include_fn: Any = None, exclude_fn: Any = None
    ) -> None:
        """Keep the code under `root`: Python files, or those that `include_fn` takes."""
        code.log_code(self, root, name, code.Chosen(include_fn, exclude_fn))

    def log_artifact(
        self,
        artifact_or_path: Any,
        name: str | None = None,
        type: str | None = None,
        aliases: Any = None,
        tags: Any = None,
    ) -> Any:
        """Record a version of a named set of files; the artifact, with its version."""
        return use.log_artifact(self, use.as_artifact(self, artifact_or_path, name, type), aliases, tags)

    def use_artifact(
        self, artifact_or_name: Any, type: str | None = None, aliases: Any = None, use_as: str | None = None
    ) -> Any:
        """Record that the run uses an artifact: one made here, or `name:alias` of one logged in this record.

        Raises:
            UsageError: the record has no such artifact; names the nearest.
        """
        return use.use_artifact(self, artifact_or_name, type, aliases, use_as)

    def log_model(self, path: Any, name: str | None = None, aliases: Any = None) -> Any:
        """Record a model's files as an artifact of type `model`."""
        return self.log_artifact(path, name or f"run-{self.id}-model", "model", aliases)

    def watch(
        self,
        models: Any,
        criterion: Any = None,
        log: str | None = "gradients",
        log_freq: int = 1000,
        idx: int | None = None,
        log_graph: bool = False,
    ) -> None:
        """Record histograms of the gradients or parameters of PyTorch models, each `log_freq` backward passes.

        Raises:
            UsageError: `log` is none of the kinds, or a model is none of PyTorch's.
        """
        del criterion
        watch.watch(self, models, log, log_freq)
        if given := {name: value for name, value in (("idx", idx), ("log_graph", log_graph)) if value}:
            self.note("watch", given)

    def unwatch(self, models: Any = None) -> None:
        """Stop watching."""
        watch.unwatch(self, models)

    def use_model(self, name: str) -> str:
        """Use a model's artifact; the path of its file, or of its folder where it has several.

        Raises:
            UsageError: the record has no such artifact; names the nearest.
        """
        artifact = self.use_artifact(name)
        folder = artifact.download()
        return f"{folder}/{artifact.files()[0]}" if len(artifact.files()) == 1 else folder

    def link_artifact(self, artifact: Any, target_path: str, aliases: Any = None) -> Any:
        """Record that an artifact belongs to a collection somewhere else; the artifact."""
        given = {"artifact": str(getattr(artifact, "name", artifact)), "target_path": target_path, "aliases": aliases}
        self.note("link_artifact", given)
        return artifact

    def link_model(self, path: Any, registered_model_name: str, name: str | None = None, aliases: Any = None) -> Any:
        """Record a model's files, and the collection that it belongs to."""
        return self.link_artifact(self.log_model(path, name, aliases), registered_model_name, aliases)

    def upsert_artifact(self, artifact_or_path: Any, *given: Any, **named: Any) -> Any:
        """Record a version, as `log_artifact` does; what processes add is not put together."""
        return self.finish_artifact(artifact_or_path, *given, **named)

    def finish_artifact(
        self, artifact_or_path: Any, name: str | None = None, type: str | None = None, aliases: Any = None, **more: Any
    ) -> Any:
        """Record a version, as `log_artifact` does."""
        if more:
            self.note("finish_artifact", more)
        return self.log_artifact(artifact_or_path, name, type, aliases)

    def pin_config_keys(self, keys: Any = ()) -> None:
        """Record which names of the configuration matter most."""
        self.record.event("settings", call="pin_config_keys", given={"keys": list(keys)})

    def display(self, height: int = 420, hidden: bool = False) -> bool:
        """False: there is nothing to show inside a notebook."""
        del height, hidden
        return False

    def to_html(self, height: int = 420, hidden: bool = False) -> str:
        """A line that says where the run is."""
        del height, hidden
        return f"<p>fanal run {self.id}</p>"

    def restore(self, *_: Any, **__: Any) -> None:
        """Not here.

        Raises:
            UnsupportedError: always; says what to use instead.
        """
        raise UnsupportedError("fanal has no restore: fanal.open(path).runs[id] holds the files of every run")

    @property
    def config_static(self) -> Config:
        """The configuration."""
        return self.config

    @property
    def step(self) -> int:
        """Where the next row without a step goes."""
        return self._step

    @property
    def dir(self) -> str:
        """A folder for files of the script's own, which are kept with the run when it ends."""
        return str(self.kept.folder())

    def mark_preempting(self) -> None:
        """Record that the machine is about to be taken away."""
        self._event("settings", call="mark_preempting", given={})

    def write_logs(self, text: str) -> None:
        """Keep some words of the program."""
        self._event("note", text=str(text))

    def status(self) -> Settings:
        """How much waits to be sent: nothing, since `log` returns when a row is recorded."""
        return Settings(sync_items_total=0, sync_items_pending=0, sync_time=None)

    def finish(self, exit_code: int | None = None, quiet: bool | None = None) -> None:
        """End the attempt: finished, or failed where the exit code is not 0."""
        del quiet
        self.end(*(("failed", f"exit code {exit_code}") if exit_code else ("finished", None)))

    def end(self, outcome: str, reason: str | None = None) -> None:
        """End the attempt with an outcome of the record; a second call does nothing."""
        if self.ended:
            return
        self.ended = True
        if not self.inherited:
            for stop in self.helpers:
                stop()
            self.kept.save_again()
        self.flush()
        self.summary.settle()
        self.record.finish(outcome, reason)
        if outcome == "finished":
            for tell in self.finished:
                tell()

    def flush(self) -> None:
        """Write changes of config and summary into the record."""
        self.config.save()
        self.summary.save()

    def note(self, call: str, given: Mapping[str, Any]) -> None:
        """Record arguments that Fanal does not act on, and name them once."""
        names = ", ".join(given)
        self.notices.once(f"{call} {names}", f"{call}: recorded, and nothing else is done about: {names}")
        self._event("settings", call=call, given=dict(given))

    def forked(self) -> None:
        """In a forked child: the run is the parent's, which ends it; the child's rows go to a writer of its own."""
        self._lock = threading.Lock()
        self.inherited = True
        self.config.forked()
        self.summary.forked()

    def _log_odd(self, data: Any, step: Any, commit: bool | None) -> None:
        try:
            row = prepare(data, step) if issubclass(type(data), Mapping) else None
        except (*CONVERSION_ERRORS, OSError):  # a mapping of the script's own that cannot be read, or that changes
            row = None
        if row is None:
            self.record.log(data, self._advance(step, commit))
            return
        at = self._advance(row.step, commit)
        for part in row.parts or [{}]:
            self.record.log(self._followed(part), at, row.time_ns)

    def _followed(self, part: dict[Any, Any]) -> dict[Any, Any]:
        """A row with the axes that go with its keys, once the summary knows it."""
        whole = part
        try:
            self.flush()
            if self._metrics.active:
                whole = {**part, **self._metrics.observe(part, self._latest.value)}
            self._latest.take(self._latest.shape(whole), whole)
            if self.summary.concerned:
                self.summary.logged_over(whole)
        except CONVERSION_ERRORS as error:  # keys of the script's own, which the record marks
            self._not_followed(error)
        return whole

    def _not_followed(self, error: Exception) -> None:
        self.notices.once("follow", f"log: a row that config and summary cannot follow is kept: {type_name(error)}")

    def _advance(self, step: Any, commit: bool | None) -> Any:
        """The step that a row goes to; moves the run's own on."""
        with self._lock:
            if step is None:
                at = self.last_step = self._step
                if commit is not False:
                    self._step = at + 1
                return at
            if type(step) is not int:
                step = _whole(step)
            if type(step) is int:
                self.last_step = step
                if step >= self._step:
                    self._step = step + 1 if commit else step
            return step

    def _logged(self) -> Mapping[Any, Any]:
        return self._metrics.summarised(self._latest.values())

    def _event(self, kind: str, **fields: Any) -> None:
        self.record.event(kind, **fields)

    def _label(self, *_: Any, **labels: Any) -> None:
        """What frameworks say of themselves."""
        if given := {name: value for name, value in labels.items() if value}:
            self._event("settings", call="label", given=given)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.end("finished")
        else:
            self.end("interrupted" if issubclass(kind, KeyboardInterrupt) else "failed", kind.__name__)


def _whole(step: Any) -> Any:
    """A step of another library as an int; what is no whole number as it is."""
    number = as_number(step)
    return int(number) if number is not None and number == number // 1 else step

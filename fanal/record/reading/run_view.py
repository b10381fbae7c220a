"""One run of a record as it is read: attempts, keys, series exact and stitched, events, config, summary.

Nothing is sampled or rounded. Of a fork or a stitch the series and the attempts reach into the other runs; the events
are the run's own. Refreshing costs what is new. A missing key, attempt or writer is a KeyError naming the nearest.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fanal.record.events import Event, nearest
from fanal.record.owner import withheld_reason
from fanal.record.reading.begun import Attempt, as_told
from fanal.record.reading.lineage import FIRST_OF_ALL, LAST_OF_ALL, Node, attempts_behind, visible
from fanal.record.reading.meaning import Metric, meaning
from fanal.record.reading.own_run import Family, OwnRun
from fanal.record.reading.series import Origin, Series, Stretch, edge_of, reduced, series_of, together
from fanal.record.reading.summary import Other, Points, summary_of
from fanal.record.reading.writer_view import Piece, WriterView
from fanal.record.values import decode


@dataclass(frozen=True)
class Visible:
    """Steps `first_step <= step < end_step` of an attempt."""

    attempt: int
    """As numbered in the run's `attempts`."""
    first_step: int
    end_step: int

    def holds(self, step: int) -> bool:
        """Whether the step is among them."""
        return self.first_step <= step < self.end_step


class RunView:
    """One run of a record, as it is at the last refresh."""

    def __init__(self, own: OwnRun, family: Family) -> None:
        self.id = own.id
        self._own = own
        self._family = family
        self._known: dict[str, Any] = {}

    @property
    def created_ns(self) -> int:
        """When its first attempt began; 0 where none has."""
        return self._own.created_ns or 0

    @property
    def role(self) -> str:
        """`run`, `rung`, `hero`, `campaign` or `record`, as the first attempt said."""
        return self._own.role

    @property
    def name(self) -> str:
        """The run's name for people; its id where none was given."""
        return self._own.start.get("name") or self.id

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the last attempt that has one."""
        return next((attempt.config for attempt in reversed(self.attempts) if attempt.config_events), {})

    @property
    def summary(self) -> dict[str, Any]:
        """The values that stand for the run: what the script set, over what its metrics declare (the last)."""
        return dict(self._once("summary", self._summary))

    @property
    def withheld(self) -> dict[str, str]:
        """By writer, why what it wrote is not published."""
        reasons = ((name, withheld_reason(view.place)) for _, name, view in self._own.all_writers())
        return {name: reason for name, reason in reasons if reason is not None}

    @property
    def attempts(self) -> list[Attempt]:
        """Every attempt that has begun, in order; of a fork or a stitch the other runs' too, numbered through."""
        return self._once("attempts", self._all_attempts)

    def first_step(self) -> int | None:
        """The lowest step that the default view shows; None where nothing has been logged."""
        shown = [(writer, part) for part in self.lineage() for writer in self._writers_of(part.attempt).values()]
        steps = [writer.least_step(part.first_step, part.end_step) for writer, part in shown]
        return min((step for step in steps if step is not None), default=None)

    def keys(self) -> list[str]:
        """Every key with a number, in order of first appearance, writer after writer."""
        return list(self._once("keys", lambda: {key: None for *_, w in self._all_writers() for key in w.keys()}))  # noqa: SIM118

    def metric(self, key: str) -> Metric:
        """What a key means and how it is read, as far as anybody said."""
        known: dict[str, Metric] = self._once("metrics", dict[str, Metric])
        if key not in known:
            known[key] = meaning(key, self._once("said", self._said_of_metrics))
        return known[key]

    def series(self, key: str, attempt: int | None = None, writer: str | None = None) -> Series:
        """The history of a key: what the run's default view shows, or all that one attempt or writer logged.

        Writers of one step are joined where the metric declares how, unless `writer` names one.

        Raises:
            KeyError: no such key, attempt or writer; names the nearest.
            RecordError: writers of a key declared `same` differ.
        """
        series = self._unreduced(key, attempt, writer)
        how = self.metric(key).reduce
        return reduced(key, series, how) if how and writer is None and not self._by_time(key) else series

    def exact(self, key: str, attempt: int | None = None, writer: str | None = None) -> list[int | float | bool]:
        """The points with the types they were logged with, integers of any size; writers of one step are not joined.

        Raises:
            KeyError: no such key, attempt or writer; names the nearest.
        """
        series = self._unreduced(key, attempt, writer)
        kinds = {
            (number, index, sequence): (letter, value)
            for number, index, view in self._all_writers()
            for sequence, letter, value in view.exact(key)
        }
        points = zip(series.attempts.tolist(), series.writers.tolist(), series.sequences.tolist(), strict=True)
        typed = [kinds[point] for point in points]
        return [_typed(value, *kind) for value, kind in zip(series.values.tolist(), typed, strict=True)]

    def events(self, kind: str | None = None) -> list[Event]:
        """Every event of the run itself, or those of one kind, by attempt and sequence."""
        return [event for event in self._own.events() if kind is None or event.kind == kind]

    def others(self) -> list[Other]:
        """What was logged under a key and is no number, by attempt and sequence."""
        return [
            Other(key, number, sequence, f.step or 0, f.time_ns, decode(value))
            for number, _, view in self._all_writers()
            for sequence, f in view.facts()
            if f.kind is None
            for key, value in f.fields.items()
        ]

    def lineage(self) -> list[Visible]:
        """Which steps of which attempt the default view shows."""
        return self._once("lineage", self._lineage)

    def pieces(self, key: str, attempt: int) -> list[Piece]:
        """The points of a key that an attempt logged, as they lie in segments and logs."""
        return [piece for _, piece in self._pieces(key, attempt, None)]

    def writers(self) -> list[WriterView]:
        """The run's own writers, by attempt and name: what `verify` reads."""
        return [view for *_, view in self._own.all_writers()]

    def origin(self, attempt: int) -> Origin:
        """Where an attempt's points come from."""
        run, number = self._nodes()[attempt]
        return Origin(run, number, tuple(self._writers_of(attempt)))

    def forget(self) -> None:
        """Drop what was worked out from this run and others: something was read."""
        self._known.clear()

    def _once(self, name: str, work_out: Callable[[], Any]) -> Any:
        """A result that is kept until something new is read."""
        if name not in self._known:
            self._known[name] = work_out()
        return self._known[name]

    def _all_writers(self) -> Iterator[tuple[int, int, WriterView]]:
        """Number through, index in the attempt and view of each writer, those of other runs among them."""
        for number in self._nodes():
            for index, view in enumerate(self._writers_of(number).values()):
                yield number, index, view

    def _nodes(self) -> dict[int, Node]:
        """By number through, run and attempt of all that the view may show; attempts not begun yet among the own."""
        return self._once("nodes", self._find_nodes)

    def _find_nodes(self) -> dict[int, Node]:
        behind = attempts_behind(self.id, self._family.beginnings)
        if any(run != self.id for run, _ in behind):
            return dict(enumerate(behind, 1))
        return {number: (self.id, number) for number in self._own.numbers()}

    def _all_attempts(self) -> list[Attempt]:
        runs = [self._family.runs[run] for run in {run for run, _ in self._nodes().values()}]
        known = {(run.id, attempt.number): attempt for run in runs for attempt, _ in run.begun()}
        return [replace(known[node], number=number) for number, node in self._nodes().items() if node in known]

    def _lineage(self) -> list[Visible]:
        numbers = {node: number for number, node in self._nodes().items()}
        parts = visible(self.id, self._family.beginnings)
        return [Visible(numbers[part.node], part.first_step, part.end_step) for part in parts]

    def _said_of_metrics(self) -> list[Event]:
        others = dict.fromkeys(run for run, _ in self._nodes().values() if run != self.id)
        runs = [self._family.campaign, *map(self._family.runs.__getitem__, others), self._own, self._family.journal]
        metrics = ([e for e in run.events() if e.kind == "metric"] for run in runs if run is not None)
        return [event for told in metrics for event in as_told(told)]

    def _by_time(self, key: str) -> bool:
        return self.metric(key).axis == "time"

    def _unreduced(self, key: str, attempt: int | None, writer: str | None) -> Series:
        nodes, by_time = self._nodes(), self._by_time(key)
        if attempt is not None and attempt not in nodes:
            raise KeyError(f"run {self.id!r} has no attempt {attempt}; it has {list(nodes)}")
        if writer is not None and all(writer != view.place.writer for *_, view in self._all_writers()):
            known = [view.place.writer for *_, view in self._all_writers()]
            raise KeyError(f"run {self.id!r} has no writer {writer!r}; nearest: {nearest(writer, known)}")
        parts = [series_of(self._pieces(key, s.number, writer), s) for s in self._stretches(attempt, by_time)]
        found = [part for part in parts if part is not None]
        if not found and ((attempt is None and writer is None) or key not in self.keys()):
            raise KeyError(f"run {self.id!r} has no key {key!r}; nearest: {nearest(key, self.keys())}")
        origins = self._once("origins", lambda: {number: self.origin(number) for number in nodes})
        return replace(together(found), origins=origins)

    def _stretches(self, attempt: int | None, by_time: bool) -> list[Stretch]:
        if attempt is not None:
            return [Stretch(attempt, FIRST_OF_ALL, LAST_OF_ALL, by_time)]
        if by_time:
            return [Stretch(number, FIRST_OF_ALL, LAST_OF_ALL, by_time) for number in self._nodes()]
        shown = [Stretch(part.attempt, part.first_step, part.end_step, by_time) for part in self.lineage()]
        hidden = set(self._nodes()) - {stretch.number for stretch in shown}
        return shown + [Stretch(number, 0, 0, by_time) for number in sorted(hidden)]

    def _pieces(self, key: str, attempt: int, writer: str | None) -> list[tuple[int, Piece]]:
        """The pieces of a key with their writer's index."""
        writers = enumerate(self._writers_of(attempt).items())
        return [(i, piece) for i, (name, view) in writers if writer in (None, name) for piece in view.pieces(key)]

    def _writers_of(self, attempt: int) -> Mapping[str, WriterView]:
        """The writers of an attempt by its number through, by name."""
        run, number = self._nodes().get(attempt, (self.id, attempt))
        return self._family.runs[run].writers(number)

    def _summary(self) -> dict[str, Any]:
        shown = self.lineage()
        odd = [o for o in self.others() if any(part.attempt == o.attempt and part.holds(o.step) for part in shown)]
        points = Points(self._edge, lambda key: self.series(key).values)
        return summary_of([self.metric(key) for key in self.keys()], points, odd, self.events("summary"))

    def _edge(self, key: str, last: bool) -> int | float | bool:
        """The last or first point of the default view, with its type; reads one stretch of values."""
        if self._by_time(key) or self.metric(key).reduce:
            return float(self.series(key).values[-1 if last else 0])
        for part in reversed(self.lineage()) if last else self.lineage():
            wanted = Stretch(part.attempt, part.first_step, part.end_step, by_time=False)
            writers = list(self._writers_of(part.attempt).values())
            near = [
                (w, writer.edge_pieces(key, part.first_step, part.end_step, last)) for w, writer in enumerate(writers)
            ]
            found = edge_of([(w, piece) for w, pieces in near for piece in pieces], wanted, last)
            if found is not None:
                kind = writers[found.writer].typed(key, found.sequence)
                return _typed(float(found.piece.values()[found.at]), *kind)
        return float("nan")


def _typed(value: float, letter: str, exact: Any) -> int | float | bool:
    if exact is not None:
        return decode(exact)
    return bool(value) if letter == "b" else int(value) if letter == "i" else value

"""Which steps of which attempts the default view of a run shows: exact, from where each attempt began.

An attempt shows what it logged from its first step on; below stands what it went on from: the attempt before it,
another run (a fork), or several runs one after the other (a stitch). Steps that a later attempt took over stay readable
by attempt. A step going back inside an attempt begins no attempt. Attempts that name each other do not go round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

FIRST_OF_ALL, LAST_OF_ALL = -(1 << 63), 1 << 63

Node = tuple[str, int]
"""A run and the number of one of its attempts."""


@dataclass(frozen=True)
class Beginning:
    """Where an attempt begins, as its events say."""

    attempt: int
    from_step: int | None
    """First step it logs; None where it has said none and logged none, so that it supersedes nothing."""
    from_attempt: int | None = None
    """The attempt it goes on from; the one before where None (of another run: its last)."""
    from_run: str | None = None
    """The run it was forked from."""
    parts: tuple[tuple[str, int | None], ...] = ()
    """Run and first step of each part of a stitch, in order; None where it had logged nothing, and shows nothing."""


@dataclass(frozen=True)
class Shown:
    """Steps `first_step <= step < end_step` of an attempt of a run."""

    node: Node
    first_step: int
    end_step: int


Family = Callable[[str], Sequence[Beginning]]
"""The attempts of a run that have begun, in order; none for a run that the record does not hold."""


def visible(run: str, family: Family) -> list[Shown]:
    """The default view of a run, earliest steps first."""
    shown: list[Shown] = []
    waiting: list[tuple[Node, int, int, tuple[Node, ...]]] = [
        (node, FIRST_OF_ALL, LAST_OF_ALL, (node,)) for node in _newest(run, None, family)
    ]
    while waiting:
        node, low, high, crossed = waiting.pop()
        beginning = _beginning(node, family)
        below = _below(node, beginning, family)
        from_step = beginning.from_step if below else FIRST_OF_ALL
        if from_step is not None:
            first = min(max(from_step, low), high)
            if first < high:
                shown.append(Shown(node, first, high))
            high = first
        for earlier, first_step in reversed(below):
            first = min(max(first_step, low), high)
            before = earlier[0] == node[0] and earlier[1] < node[1]
            if first < high and (before or earlier not in crossed):
                waiting.append((earlier, first, high, crossed if before else (*crossed, earlier)))
            high = first
    return sorted(shown, key=lambda part: part.first_step)


def attempts_behind(run: str, family: Family) -> list[Node]:
    """Every attempt that a run's view may show, in order of history: those of other runs before those that follow."""
    found: dict[Node, None] = {}
    entered: set[Node] = set()

    def enter(node: Node) -> None:
        if node in entered:
            return
        entered.add(node)
        for beginning in family(node[0]):
            if beginning.attempt <= node[1]:
                for earlier, _ in _below((node[0], beginning.attempt), beginning, family):
                    if earlier[0] != node[0]:
                        enter(earlier)
                if not beginning.parts or beginning.from_step is not None:
                    found[node[0], beginning.attempt] = None

    for newest in _newest(run, None, family):
        enter(newest)
    return list(found)


def _below(node: Node, beginning: Beginning, family: Family) -> list[tuple[Node, int]]:
    """What an attempt goes on from, each with the step from which it counts."""
    run, attempt = node
    if beginning.parts:
        begun = [(name, step) for name, step in beginning.parts if step is not None]
        return [(newest, step) for name, step in begun for newest in _newest(name, None, family)]
    if beginning.from_run not in (None, run):
        return [(newest, FIRST_OF_ALL) for newest in _newest(str(beginning.from_run), beginning.from_attempt, family)]
    earlier = [other.attempt for other in family(run) if other.attempt < attempt]
    before = beginning.from_attempt if beginning.from_attempt in earlier else max(earlier, default=None)
    return [] if before is None else [((run, before), FIRST_OF_ALL)]


def _newest(run: str, up_to: int | None, family: Family) -> list[Node]:
    """The last attempt of a run, of those up to a number; none where there is none."""
    numbers = [beginning.attempt for beginning in family(run) if up_to is None or beginning.attempt <= up_to]
    return [(run, max(numbers))] if numbers else []


def _beginning(node: Node, family: Family) -> Beginning:
    return next(beginning for beginning in family(node[0]) if beginning.attempt == node[1])

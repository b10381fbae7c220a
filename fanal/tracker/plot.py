"""Ready-made charts, in the shapes that scripts ask for them: a table and what it is drawn as (`chart`)."""

from collections.abc import Iterable, Sequence
from typing import Any

from fanal.record.values import Media
from fanal.tracker.errors import UsageError
from fanal.tracker.table import Table


class Chart:
    """A table, and how it is drawn."""

    def __init__(self, table: Table, kind: str, **how: Any) -> None:
        self.table, self.kind = table, kind
        self.how = {name: value for name, value in how.items() if value is not None}

    def to_record(self, run: Any) -> Media:
        """The table's medium with `chart` beside it."""
        return Media({**self.table.to_record(run), "chart": {"kind": self.kind, **self.how}})


def line(
    table: Table, x: str, y: str, stroke: str | None = None, title: str | None = None, *_: Any, **__: Any
) -> Chart:
    """A line of one column over another."""
    return Chart(table, "line", x=x, y=y, stroke=stroke, title=title)


def scatter(table: Table, x: str, y: str, title: str | None = None, *_: Any, **__: Any) -> Chart:
    """Points of two columns."""
    return Chart(table, "scatter", x=x, y=y, title=title)


def bar(table: Table, label: str, value: str, title: str | None = None, *_: Any, **__: Any) -> Chart:
    """A bar a row."""
    return Chart(table, "bar", label=label, value=value, title=title)


def histogram(table: Table, value: str, title: str | None = None, *_: Any, **__: Any) -> Chart:
    """The distribution of a column."""
    return Chart(table, "histogram", value=value, title=title)


def line_series(xs: Any, ys: Any, keys: Any = None, title: str | None = None, xname: str = "x", *_: Any) -> Chart:
    """Several lines over one or over each their own axis.

    Raises:
        UsageError: the lines and their axes or names do not match.
    """
    lines = [list(y) for y in ys]
    first = list(xs)
    axes = [list(x) for x in first] if first and isinstance(first[0], Iterable) else [first] * len(lines)
    names = list(keys) if keys is not None else [f"key_{i}" for i in range(len(lines))]
    if not len(axes) == len(lines) == len(names):
        raise UsageError(f"line_series: {len(lines)} lines, {len(axes)} axes, {len(names)} names")
    rows = [[x, n, y] for xs_, n, ys_ in zip(axes, names, lines, strict=True) for x, y in zip(xs_, ys_, strict=False)]
    return Chart(Table(columns=[xname, "key", "y"], data=rows), "line", x=xname, y="y", stroke="key", title=title)


def confusion_matrix(
    probs: Any = None, y_true: Any = None, preds: Any = None, class_names: Any = None, title: str | None = None
) -> Chart:
    """How often each class was taken for each.

    Raises:
        UsageError: neither probabilities nor predictions are given.
    """
    if (probs is None) == (preds is None) or y_true is None:
        raise UsageError("confusion_matrix takes y_true, and probs or preds")
    guessed = [_largest(row) for row in _listed(probs)] if preds is None else list(map(int, _listed(preds)))
    true = list(map(int, _listed(y_true)))
    num = len(class_names) if class_names is not None else max([*guessed, *true], default=-1) + 1
    names = list(class_names) if class_names is not None else [f"Class_{i + 1}" for i in range(num)]
    pairs = list(zip(true, guessed, strict=True))
    rows = [[names[a], names[b], pairs.count((a, b))] for a in range(num) for b in range(num)]
    return Chart(Table(columns=["Actual", "Predicted", "nPredictions"], data=rows), "confusion_matrix", title=title)


def roc_curve(y_true: Any, y_probas: Any, labels: Any = None, *_: Any, title: str | None = None, **__: Any) -> Chart:
    """True over false positive rate, a line a class."""
    rows = [
        [name, wrong / max(num - positive, 1), right / max(positive, 1)]
        for name, num, positive, points in _by_class(y_true, y_probas, labels)
        for right, wrong in points
    ]
    return Chart(
        Table(columns=["class", "fpr", "tpr"], data=rows), "line", x="fpr", y="tpr", stroke="class", title=title
    )


def pr_curve(y_true: Any, y_probas: Any, labels: Any = None, *_: Any, title: str | None = None, **__: Any) -> Chart:
    """Precision over recall, a line a class."""
    rows = [
        [name, right / (right + wrong), right / max(positive, 1)]
        for name, _, positive, points in _by_class(y_true, y_probas, labels)
        for right, wrong in points
        if right + wrong
    ]
    columns = ["class", "precision", "recall"]
    return Chart(Table(columns=columns, data=rows), "line", x="recall", y="precision", stroke="class", title=title)


def _by_class(y_true: Any, y_probas: Any, labels: Any) -> Iterable[tuple[Any, int, int, list[tuple[int, int]]]]:
    """Of each class its name, examples, positives, and right and wrong ones among the surest, one more at a time."""
    true, scores = list(map(int, _listed(y_true))), _listed(y_probas)
    for place in range(len(scores[0]) if scores else 0):
        order = sorted(range(len(true)), key=lambda i, place=place: -scores[i][place])
        points, right, wrong = [(0, 0)], 0, 0
        for at, i in enumerate(order):
            right, wrong = (right + 1, wrong) if true[i] == place else (right, wrong + 1)
            if at + 1 == len(order) or scores[order[at + 1]][place] != scores[i][place]:
                points.append((right, wrong))
        yield labels[place] if labels is not None else place, len(true), right, points


def _largest(row: Sequence[float]) -> int:
    return max(range(len(row)), key=lambda i: row[i])


def _listed(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else [_listed(v) if hasattr(v, "tolist") else v for v in values]

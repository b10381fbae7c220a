"""Charts are tables that say how they are drawn."""

import fanal
from tests.tracker.conftest import logged


def test_charts_are_tables_that_say_how_they_are_drawn() -> None:
    table = fanal.Table(columns=["x", "y"], data=[[1, 2.0], [2, 4.0]])
    assert logged(fanal.plot.line(table, "x", "y", title="Growth"))["chart"] == {
        "kind": "line",
        "x": "x",
        "y": "y",
        "title": "Growth",
    }
    confusion = fanal.plot.confusion_matrix(y_true=[0, 1, 1], preds=[0, 1, 0], class_names=["cat", "dog"])
    assert confusion.table.data == [["cat", "cat", 1], ["cat", "dog", 0], ["dog", "cat", 1], ["dog", "dog", 1]]
    series = fanal.plot.line_series(xs=[0, 1], ys=[[1, 2], [3, 4]], keys=["up", "down"])
    assert series.table.data == [[0, "up", 1], [1, "up", 2], [0, "down", 3], [1, "down", 4]]
    scores = [[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8]]
    roc = fanal.plot.roc_curve([0, 1, 1, 1], scores, ["no", "yes"]).table.data
    assert [row[1:] for row in roc if row[0] == "yes"] == [
        [0.0, 0.0],
        [0.0, 1 / 3],
        [0.0, 2 / 3],
        [0.0, 1.0],
        [1.0, 1.0],
    ]
    precision = fanal.plot.pr_curve([0, 1, 1, 1], scores, ["no", "yes"]).table.data
    assert [row[1:] for row in precision if row[0] == "yes"][-1] == [0.75, 1.0]

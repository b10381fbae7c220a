"""The timeline's words for events that repeat."""

from pathlib import Path

from fanal.page.seen import see
from fanal.page.timeline import last_scores, timeline
from fanal.record.attempt import Run, Start, start
from fanal.record.events import Event
from fanal.record.reading.read import open_record


def hold(run: Run, step: int, inside: bool, metric: str = "eval/pulse/macro") -> None:
    numbers = {"measured": 3.0, "p10": 2.9, "p50": 3.0, "p90": 3.1, "line": None, "progress": step / 100}
    run.event("forecast.score", step=step, forecast_sha256="0" * 64, metric=metric, inside=inside, **numbers)


def test_an_eval_that_a_resume_repeated_is_counted_once_as_it_was_measured_last(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="hero", role="hero"))
    for step in (20, 40, 60):
        hold(run, step, inside=False)
    hold(run, 60, inside=True, metric="eval/full/macro")
    run.finish("interrupted", "SIGTERM")
    run = start(tmp_path / "r", Start(id="hero", role="hero", from_step=35))
    for step in (40, 60, 80):
        hold(run, step, inside=True)
    run.finish()
    happenings = timeline(see(open_record(tmp_path / "r"))).happenings
    (held,) = [h for h in happenings if h.title == "Held against the forecast"]
    assert held.detail == "inside the 80\u00a0% interval at 4 of 5 evals"
    assert held.step == 80


def test_of_scores_at_one_step_the_last_one_counts() -> None:
    def scored(step: int, metric: str, measured: float, attempt: int) -> Event:
        return Event("forecast.score", "hero", attempt, "w", 1, 0, step, {"metric": metric, "measured": measured})

    first = [scored(10, "pulse", 4.0, 1), scored(20, "pulse", 3.5, 1), scored(20, "full", 3.6, 1)]
    again = [scored(20, "pulse", 3.4, 2), scored(30, "pulse", 3.2, 2)]
    assert last_scores([*first, *again]) == [first[0], again[0], first[2], again[1]]

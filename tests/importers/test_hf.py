"""`trainer_state.json`: its history without times, from the newest checkpoint, once however often it is rewritten."""

import json
from pathlib import Path

import pytest

from fanal.errors import RecordError
from fanal.importers.source import import_source
from fanal.record.reading.read import RunView, open_record


def save(folder: Path, steps: range, offset: float = 0.0, number: int | None = None) -> None:
    target = folder / f"checkpoint-{number}" if number else folder
    target.mkdir(parents=True, exist_ok=True)
    history: list[dict[str, float]] = []
    for step in steps:
        history.append({"epoch": step / 10, "loss": step + offset, "step": step})
        if step % 5 == 0:
            history.append({"eval_loss": 0.5, "step": step})
    state = {"global_step": steps[-1], "max_steps": 100, "best_metric": 0.5, "log_history": history}
    (target / "trainer_state.json").write_text(json.dumps(state), "utf-8")


def only(record: Path) -> RunView:
    return open_record(record).runs["out"]


def test_the_history_comes_with_config_and_summary_and_without_times(tmp_path: Path) -> None:
    save(tmp_path / "out", range(1, 6))
    report = import_source("hf", tmp_path / "out", tmp_path / "record")
    view = only(tmp_path / "record")
    assert view.series("loss").values.tolist() == [1, 2, 3, 4, 5]
    assert view.series("eval_loss").steps.tolist() == [5]
    assert set(view.series("loss").times_ns.tolist()) == {0}
    assert view.config == {"max_steps": 100}
    assert view.summary["best_metric"] == 0.5
    assert report.runs[0].rows == 6


def test_the_newest_checkpoint_counts_and_adds_what_is_new(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for last in (20, 100):
        save(out, range(1, last + 1), number=last)
        report = import_source("hf", out, tmp_path / "record")
    assert only(tmp_path / "record").series("loss").steps.tolist() == list(range(1, 101))
    assert (report.runs[0].added_rows, report.runs[0].rows, report.runs[0].attempts) == (96, 120, 1)


def test_the_same_file_again_adds_nothing(tmp_path: Path) -> None:
    save(tmp_path / "out", range(1, 6))
    for added in (6, 0):
        assert import_source("hf", tmp_path / "out", tmp_path / "record").runs[0].added_rows == added


def test_a_history_that_departs_is_a_new_attempt(tmp_path: Path) -> None:
    save(tmp_path / "out", range(1, 9))
    import_source("hf", tmp_path / "out", tmp_path / "record")
    save(tmp_path / "out", range(4, 12), offset=0.5)
    import_source("hf", tmp_path / "out", tmp_path / "record")
    view = only(tmp_path / "record")
    assert view.series("loss").values.tolist() == [1, 2, 3, *(s + 0.5 for s in range(4, 12))]
    assert view.series("loss", attempt=1).values.tolist() == list(range(1, 9))


def test_a_folder_without_it_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"expected trainer_state\.json"):
        import_source("hf", tmp_path, tmp_path / "record")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("step,loss\n0,1\n", "is no JSON"),
        ("[]", "is no JSON object"),
        ('{"log_history": 3}', "no list `log_history`"),
        ('{"step": 1}\n{"step": 2}\n', "is no JSON: Extra data"),
    ],
)
def test_a_file_of_another_kind_is_bad_input(tmp_path: Path, data: str, words: str) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(data, "utf-8")
    with pytest.raises(RecordError, match=words):
        import_source("hf", path, tmp_path / "record")


def test_a_half_written_file_is_torn(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text('{"log_history": [', "utf-8")
    report = import_source("hf", path, tmp_path / "record")
    assert (report.exit_code, report.runs[0].torn_bytes) == (0, 17)

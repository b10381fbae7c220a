"""The loop: the order of a step, resume bit for bit, stopping, and a finished run left alone."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fanal.data.batches import Batch
from fanal.errors import CheckpointError
from fanal.record import metrics
from fanal.train import checkpoint
from fanal.train.compile import Compiler
from fanal.train.inputs import LoopSettings, Samples, TrainInputs
from fanal.train.loop import finished, resume_point, train
from fanal.train.state import init_state
from fanal.train.stop import StopFlag
from tests.worlds.train import DOMAINS, SEQ_TOKENS, Kept, Letters, MadeBatches, tiny_inputs, tiny_run


def final_leaves(folder: Path) -> dict[str, str]:
    """SHA-256 of every leaf of the latest state, by name."""
    ref = checkpoint.latest(folder)
    assert ref is not None
    return {leaf["name"]: leaf["sha256"] for leaf in ref.leaves}


class StopAfter(Kept):
    """A recorder that stops the training when it sees the row of a step."""

    def __init__(self, step: int, stop: StopFlag) -> None:
        super().__init__()
        self.step, self.stop = step, stop

    def log(self, metrics: Mapping[str, float | int], step: int | None = None) -> None:
        super().log(metrics, step)
        if step == self.step:
            self.stop.set("SIGTERM")


def stopping_inputs(compiler: Compiler, folder: Path, step: int) -> TrainInputs:
    stop = StopFlag()
    return tiny_inputs(compiler, folder, stop=stop, record=StopAfter(step, stop))


def kept(inputs: TrainInputs) -> Kept:
    assert isinstance(inputs.record, Kept)
    return inputs.record


@pytest.fixture(scope="module")
def undisturbed(compiler: Compiler, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainInputs]:
    folder = tmp_path_factory.mktemp("undisturbed") / "ckpt" / "d16"
    inputs = tiny_inputs(compiler, folder)
    result = train(tiny_run(), inputs)
    assert (result.outcome, result.step, result.updates, result.tokens) == ("finished", 12, 12, 12 * 4 * SEQ_TOKENS)
    return folder, inputs


def test_the_model_learns(undisturbed: tuple[Path, TrainInputs]) -> None:
    rows = kept(undisturbed[1]).rows
    assert rows[0][metrics.PULSE_MACRO] == pytest.approx(np.log(300), abs=0.3)
    assert rows[12][metrics.PULSE_MACRO] < rows[0][metrics.PULSE_MACRO] - 0.2


def test_every_step_has_one_row_and_what_is_due_stands_beside_it(undisturbed: tuple[Path, TrainInputs]) -> None:
    record = kept(undisturbed[1])
    assert record.steps(metrics.TRAIN_LOSS) == list(range(1, 13))
    assert record.steps(metrics.PULSE_MACRO) == [0, 3, 6, 9, 12]
    assert record.steps(metrics.FULL_MACRO) == [12]
    assert record.steps(metrics.norm2("param", "embedding")) == [5, 10]
    assert record.rows[7][metrics.TRAIN_TOKENS] == 7 * 4 * SEQ_TOKENS
    assert sum(record.rows[7][metrics.data_tokens(name)] for name in DOMAINS) == 7 * 4 * SEQ_TOKENS
    assert record.ended == [("finished", None)]


def test_no_key_is_logged_that_is_not_described(undisturbed: tuple[Path, TrainInputs]) -> None:
    keys = {key for row in kept(undisturbed[1]).rows.values() for key in row}
    assert [key for key in sorted(keys) if metrics.describe(key) is None] == []


def test_the_row_of_a_step_precedes_whatever_else_happens_at_it(compiler: Compiler, tmp_path: Path) -> None:
    inputs = tiny_inputs(compiler, tmp_path / "ckpt" / "d16")
    train(tiny_run(checkpoint_steps=(3, 7, 12)), inputs)
    order = kept(inputs).order
    assert [step for kind, step in order if kind == "checkpoint"] == [3, 7, 12]
    for place, (kind, step) in enumerate(order):
        assert kind == "row" or ("row", step) in order[:place]
        assert all(later >= (step or 0) for _, later in order[place:] if later is not None)


@pytest.mark.parametrize("stop_at", [0, 1, 5, 6, 10])
def test_a_stopped_and_resumed_run_ends_bit_for_bit_as_an_undisturbed_one(
    compiler: Compiler, tmp_path: Path, undisturbed: tuple[Path, TrainInputs], stop_at: int
) -> None:
    folder = tmp_path / "ckpt" / "d16"
    first = stopping_inputs(compiler, folder, stop_at)
    stopped = train(tiny_run(), first)
    assert stopped.interrupted
    assert kept(first).ended == [("interrupted", "SIGTERM")]
    assert resume_point(folder) == stopped.step + 1
    second = tiny_inputs(compiler, folder)
    result = train(tiny_run(), second)
    assert (result.outcome, result.step) == ("finished", 12)
    assert final_leaves(folder) == final_leaves(undisturbed[0])
    whole = [r for part in (first, second) for r in positions(part)]
    assert whole == positions(undisturbed[1])
    assert sorted({*kept(first).rows} & {*kept(second).rows}) == []
    assert values(kept(first).rows | kept(second).rows) == values(kept(undisturbed[1]).rows)


def positions(inputs: TrainInputs) -> list[int]:
    assert isinstance(inputs.batches, MadeBatches)
    return inputs.batches.asked


def values(rows: Mapping[int, Mapping[str, float]]) -> dict[tuple[int, str], float]:
    """Every logged value that is no time."""
    return {(s, key): value for s, row in rows.items() for key, value in row.items() if "second" not in key}


def test_a_run_killed_between_checkpoints_repeats_only_the_steps_after_the_last(
    compiler: Compiler, tmp_path: Path, undisturbed: tuple[Path, TrainInputs]
) -> None:
    folder = tmp_path / "ckpt" / "d16"

    class Killed(MadeBatches):
        def batch(self, position: int, num_seqs: int) -> Batch:
            if position == 9 * 4:
                raise OSError("the machine went away")
            return super().batch(position, num_seqs)

    run = tiny_run(checkpoint_steps=(4, 7, 12))
    with pytest.raises(OSError, match="went away"):
        train(run, tiny_inputs(compiler, folder, batches=Killed()))
    assert resume_point(folder) == 8
    again = tiny_inputs(compiler, folder)
    train(run, again)
    assert positions(again) == [4 * step for step in range(7, 12)]
    assert final_leaves(folder) == final_leaves(undisturbed[0])


def test_a_finished_run_is_not_trained_again(compiler: Compiler, undisturbed: tuple[Path, TrainInputs]) -> None:
    folder, first = undisturbed
    done = finished(tiny_run(), folder, "made")
    assert done is not None
    assert (done.outcome, done.step) == ("finished", 12)
    assert done.scores[metrics.FULL_MACRO] == kept(first).rows[12][metrics.FULL_MACRO]
    again = tiny_inputs(compiler, folder)
    assert train(tiny_run(), again).scores == done.scores
    assert positions(again) == []
    assert kept(again).rows == {}


def test_a_run_that_is_under_way_is_not_finished(compiler: Compiler, tmp_path: Path) -> None:
    folder = tmp_path / "ckpt" / "d16"
    assert finished(tiny_run(), folder, "made") is None
    assert resume_point(folder) is None
    train(tiny_run(), stopping_inputs(compiler, folder, 5))
    assert finished(tiny_run(), folder, "made") is None


@pytest.mark.parametrize("what", ["seed", "rate", "data"])
def test_a_checkpoint_of_another_plan_or_other_data_is_refused(
    undisturbed: tuple[Path, TrainInputs], what: str
) -> None:
    run, data = tiny_run(), "made"
    if what == "seed":
        run = replace(run, seed=1)
    elif what == "rate":
        run = replace(run, optimizer=replace(run.optimizer, adam_lr=0.5))
    else:
        data = "other"
    with pytest.raises(CheckpointError, match=r"step-12 was made by another plan or from other data.*move .*d16 away"):
        finished(run, undisturbed[0], data)


def test_when_things_are_measured_does_not_change_which_run_it_is(undisturbed: tuple[Path, TrainInputs]) -> None:
    assert finished(tiny_run(pulse_steps=(12,), checkpoint_steps=(6, 12)), undisturbed[0], "made") is not None


def test_temporary_checkpoints_replace_each_other_and_kept_ones_stay(compiler: Compiler, tmp_path: Path) -> None:
    folder = tmp_path / "ckpt" / "d16"
    settings = LoopSettings(norms_every_steps=5, temporary_seconds=0.0, quiet=True)
    inputs = tiny_inputs(compiler, folder, settings=settings)
    train(tiny_run(checkpoint_steps=(4, 12)), inputs)
    saved = [
        (step, fields["keep"], fields["path"]) for kind, step, fields in kept(inputs).events if kind == "checkpoint"
    ]
    assert saved == [(step, step in (4, 12), f"ckpt/d16/step-{step}") for step in range(1, 13)]
    assert sorted(path.name for path in folder.iterdir()) == ["step-12", "step-4"]


def test_a_batch_that_is_not_scored_is_skipped_and_said(compiler: Compiler, tmp_path: Path) -> None:
    class Unscored(MadeBatches):
        def batch(self, position: int, num_seqs: int) -> Batch:
            batch = super().batch(position, num_seqs)
            return replace(batch, scored_BS=np.zeros_like(batch.scored_BS)) if position == 6 * 4 else batch

    inputs = tiny_inputs(compiler, tmp_path / "ckpt" / "d16", batches=Unscored())
    result = train(tiny_run(), inputs)
    assert (result.step, result.updates) == (12, 11)
    skips = [(step, fields["reason"]) for kind, step, fields in kept(inputs).events if kind == "skip"]
    assert skips == [(7, "no_scored_tokens")]
    assert kept(inputs).rows[7][metrics.TRAIN_SKIPPED] == 1


def test_a_forecast_is_held_against_every_eval(compiler: Compiler) -> None:
    def foretold(step: int, measured: Mapping[str, float]) -> list[dict[str, Any]]:
        return [{"metric": metrics.PULSE_MACRO, "measured": measured[metrics.PULSE_MACRO], "progress": step / 12}]

    inputs = tiny_inputs(compiler, None, foretold=foretold)
    train(tiny_run(), inputs)
    scores = [(step, fields["measured"]) for kind, step, fields in kept(inputs).events if kind == "forecast.score"]
    assert scores == [(step, kept(inputs).rows[step][metrics.PULSE_MACRO]) for step in (0, 3, 6, 9, 12)]


def test_without_a_folder_nothing_is_saved(compiler: Compiler) -> None:
    inputs = tiny_inputs(compiler, None)
    result = train(tiny_run(), inputs)
    assert result.outcome == "finished"
    assert [kind for kind, _, _ in kept(inputs).events] == []


def test_a_further_seed_shares_the_programs_and_not_the_state(compiler: Compiler, tmp_path: Path) -> None:
    folder = tmp_path / "ckpt" / "d16-s1"
    seed1 = replace(tiny_run(), run="d16-s1", seed=1)
    assert compiler.programs(seed1) is compiler.programs(tiny_run())
    train(seed1, tiny_inputs(compiler, folder))
    ref = checkpoint.latest(folder)
    assert ref is not None
    state = checkpoint.load(ref, init_state(seed1))
    assert not np.array_equal(np.asarray(state.model.head), np.asarray(init_state(tiny_run()).model.head))


def test_every_prompt_is_continued_when_samples_are_due(compiler: Compiler) -> None:
    samples = Samples(Letters(), prompts=("ab", "x" * 40), tokens=5)
    inputs = tiny_inputs(compiler, None, samples=samples)
    train(tiny_run(sample_steps=(0, 6, 12)), inputs)
    found = [(step, fields["prompt"], fields["text"]) for kind, step, fields in kept(inputs).events if kind == "sample"]
    assert [(step, prompt) for step, prompt, _ in found] == [(s, p) for s in (0, 6, 12) for p in samples.prompts]
    assert all(len(text) <= 5 for _, _, text in found)
    assert len({text for _, _, text in found}) > 1


def test_a_resume_says_where_it_goes_on_and_names_what_a_kill_left(
    compiler: Compiler, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "ckpt" / "d16"
    train(tiny_run(), stopping_inputs(compiler, folder, 5))
    (folder / "step-9").mkdir()
    train(tiny_run(), tiny_inputs(compiler, folder, settings=LoopSettings(quiet=False)))
    said = capsys.readouterr().err
    assert f"d16: goes on after step 6 from {folder / 'step-6'}" in said
    assert f"{folder / 'step-9'} is incomplete" in said
    assert not (folder / "step-9").exists()

"""Programs: shared between seeds, compiled ahead, the same numbers either way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fanal.model.names import named
from fanal.optim.groups import group_of
from fanal.train.compile import Compiler, Rates, arrays_of, compile_step, shape_of
from fanal.train.state import init_state
from tests.worlds.train import MadeBatches, tiny_run


def three_steps(step: Callable[..., Any]) -> dict[str, bytes]:
    """Every leaf after three steps."""
    state, batches = init_state(tiny_run()), MadeBatches()
    for number in range(3):
        state, _ = step(state, arrays_of(batches.batch(4 * number, 4)), Rates.of(tiny_run()))
    return {name: np.asarray(leaf).tobytes() for name, leaf in named(state).items()}


def test_programs_compiled_in_the_background_give_the_same_bits(compiler: Compiler) -> None:
    compiler.ahead(tiny_run())
    on_the_spot = compile_step(shape_of(tiny_run()), init_state(tiny_run()))
    assert three_steps(compiler.programs(tiny_run()).step) == three_steps(on_the_spot)


@pytest.mark.parametrize(
    "same", [{"run": "d16-s1"}, {"role": "hero"}, {"seed": 5}, {"pulse_steps": (1,)}, {"checkpoint_steps": ()}]
)
def test_id_seed_and_measuring_times_are_no_part_of_a_shape(same: dict[str, object]) -> None:
    assert shape_of(replace(tiny_run(), **same)) == shape_of(tiny_run())  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [{"tokens": 99}, {"batch_seqs": 8}, {"seq_tokens": 16}])
def test_lengths_and_sizes_are(other: dict[str, object]) -> None:
    assert shape_of(replace(tiny_run(), **other)) != shape_of(tiny_run())  # type: ignore[arg-type]


@pytest.mark.parametrize("told", ["adam_lr", "muonh_lr", "adamh_lr"])
def test_one_program_serves_all_rates_and_each_moves_its_own_leaves(compiler: Compiler, told: str) -> None:
    rates = dict.fromkeys(("adam_lr", "muonh_lr", "adamh_lr"), 0.0) | {told: 0.1}
    run = replace(tiny_run(), optimizer=replace(tiny_run().optimizer, **rates))
    programs = compiler.programs(run)
    assert programs is compiler.programs(tiny_run())
    before = {name: np.asarray(leaf) for name, leaf in named(init_state(run).model).items()}
    state, _ = programs.step(init_state(run), arrays_of(MadeBatches().batch(0, 4)), Rates.of(run))
    moved = {name for name, leaf in named(state.model).items() if abs(np.asarray(leaf) - before[name]).max() > 1e-4}
    assert moved == {name for name in before if f"{group_of(name)}_lr" == told}


def test_a_program_that_cannot_be_compiled_says_so_where_it_is_asked_for() -> None:
    compiler = Compiler()
    broken = replace(tiny_run(), optimizer=replace(tiny_run().optimizer, warmup_tokens=-1))
    compiler.ahead(broken)
    with pytest.raises(ValueError, match="warm-up"):
        compiler.programs(broken)
    compiler.close()

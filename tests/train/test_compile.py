"""Programs: shared between seeds, compiled ahead, the same numbers either way."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from fanal.model.names import named
from fanal.train.compile import Compiler, Programs, Rates, compile_programs, shape_of, to_device
from fanal.train.loss import StepBatch
from fanal.train.state import init_state
from fanal.train.step import make_step
from tests.worlds.train import MadeBatches, tiny_run


def three_steps(programs: Programs) -> dict[str, bytes]:
    """Every leaf after three steps."""
    state, batches = init_state(tiny_run()), MadeBatches()
    for step in range(3):
        state, _ = programs.step(state, to_device(batches.batch(4 * step, 4)), Rates.of(tiny_run()))
    return {name: np.asarray(leaf).tobytes() for name, leaf in named(state).items()}


def test_programs_compiled_in_the_background_give_the_same_bits(compiler: Compiler) -> None:
    compiler.ahead(tiny_run())
    assert three_steps(compiler.programs(tiny_run())) == three_steps(compile_programs(tiny_run()))


@pytest.mark.parametrize(
    "same", [{"run": "d16-s1"}, {"role": "hero"}, {"seed": 5}, {"pulse_steps": (1,)}, {"checkpoint_steps": ()}]
)
def test_id_seed_and_measuring_times_are_no_part_of_a_shape(same: dict[str, object]) -> None:
    assert shape_of(replace(tiny_run(), **same)) == shape_of(tiny_run())  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [{"tokens": 99}, {"batch_seqs": 8}, {"seq_tokens": 16}])
def test_lengths_and_sizes_are(other: dict[str, object]) -> None:
    assert shape_of(replace(tiny_run(), **other)) != shape_of(tiny_run())  # type: ignore[arg-type]


def test_a_sweep_over_rates_shares_a_program_that_is_told_them(compiler: Compiler) -> None:
    still = replace(tiny_run(), optimizer=replace(tiny_run().optimizer, adam_lr=0.0, muonh_lr=0.0, adamh_lr=0.0))
    programs = compiler.programs(still)
    assert programs is compiler.programs(tiny_run())
    before = named(init_state(still).model)
    state, _ = programs.step(init_state(still), to_device(MadeBatches().batch(0, 4)), Rates.of(still))
    for name, leaf in named(state.model).items():
        assert np.allclose(np.asarray(leaf), np.asarray(before[name]), rtol=1e-5, atol=1e-7), name


def test_a_program_that_is_told_its_rates_computes_the_plan_s_step(compiler: Compiler) -> None:
    batch = to_device(MadeBatches().batch(0, 4))
    told, _ = compiler.programs(tiny_run()).step(init_state(tiny_run()), batch, Rates.of(tiny_run()))
    plain, _ = jax.jit(make_step(tiny_run()))(init_state(tiny_run()), batch)
    for name, leaf in named(plain.model).items():
        assert np.allclose(np.asarray(leaf), np.asarray(named(told.model)[name]), rtol=1e-5, atol=1e-6), name


def test_a_program_that_cannot_be_compiled_says_so_where_it_is_asked_for() -> None:
    compiler = Compiler()
    broken = replace(tiny_run(), optimizer=replace(tiny_run().optimizer, warmup_tokens=-1))
    compiler.ahead(broken)
    with pytest.raises(ValueError, match="warm-up"):
        compiler.programs(broken)
    compiler.close()


def test_a_batch_keeps_its_dtypes_on_the_way_to_the_device() -> None:
    batch = MadeBatches().batch(0, 4)
    there = to_device(batch)
    assert isinstance(there, StepBatch)
    for name in ("inputs_BS", "targets_BS", "segments_BS", "positions_BS", "scored_BS", "valid_BS"):
        assert getattr(there, name).dtype == getattr(batch, name).dtype
        assert np.array_equal(np.asarray(getattr(there, name)), getattr(batch, name))

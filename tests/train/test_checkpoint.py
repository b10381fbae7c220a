"""Checkpoints: whole or named as incomplete, found by number, loaded bit for bit or refused."""

import json
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from fanal.errors import CheckpointError
from fanal.model.names import named
from fanal.train import checkpoint
from fanal.train.checkpoint import CheckpointInfo


def info(step: int, *, keep: bool = True) -> CheckpointInfo:
    return CheckpointInfo(
        "d32", "f" * 64, step, position=8 * step, updates=step - 1, keep=keep, progress={"train_seconds": 1.5}
    )


def tiny_state(seed: int = 0) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    return {
        "model": {
            "w": rng.normal(size=(3, 4)).astype(np.float32),
            "half": rng.normal(size=5).astype(ml_dtypes.bfloat16),
        },
        "moments": [rng.normal(size=(2, 0)).astype(np.float32), np.array([np.nan, -0.0, np.inf], np.float32)],
        "step": np.asarray(7, np.int32),
        "flags": np.array([True, False]),
    }


def arrays_of(state: object) -> dict[str, np.ndarray]:
    return {name: np.asarray(leaf) for name, leaf in named(state).items()}


def device(state: object) -> object:
    return jax.tree.map(jnp.asarray, state)


def test_every_leaf_comes_back_bit_for_bit(tmp_path: Path) -> None:
    state = device(tiny_state())
    ref = checkpoint.save(tmp_path, state, info(7))
    loaded = checkpoint.load(ref, jax.tree.map(jnp.zeros_like, state))
    before, after = arrays_of(state), arrays_of(loaded)
    assert before.keys() == after.keys()
    for name, array in before.items():
        assert (array.dtype, array.shape, array.tobytes()) == (
            after[name].dtype,
            after[name].shape,
            after[name].tobytes(),
        ), name


def test_the_manifest_names_every_leaf_with_shape_dtype_and_checksum(tmp_path: Path) -> None:
    ref = checkpoint.save(tmp_path, tiny_state(), info(7))
    document = json.loads((tmp_path / "step-7" / "manifest.json").read_text())
    assert [leaf["name"] for leaf in document["leaves"]] == [
        "flags", "model/half", "model/w", "moments/0", "moments/1", "step",
    ]  # fmt: skip
    assert {leaf["dtype"] for leaf in document["leaves"]} == {"float32", "bfloat16", "int32", "bool"}
    assert (document["step"], document["position"], document["updates"]) == (7, 56, 6)
    assert ref.info == info(7)
    assert ref.num_bytes == sum(f.stat().st_size for f in (tmp_path / "step-7" / "arrays").rglob("*") if f.is_file())


def test_a_template_of_shapes_alone_is_enough(tmp_path: Path) -> None:
    state = tiny_state()
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), state)
    loaded = checkpoint.load(checkpoint.save(tmp_path, state, info(1)), shapes)
    assert np.array_equal(arrays_of(loaded)["model/w"], state["model"]["w"])  # type: ignore[index]


def test_a_complete_checkpoint_is_never_written_over(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, tiny_state(), info(3))
    with pytest.raises(CheckpointError, match="step-3 is complete already"):
        checkpoint.save(tmp_path, tiny_state(1), info(3))


def test_nothing_there_is_no_checkpoint(tmp_path: Path) -> None:
    assert checkpoint.latest(tmp_path / "absent") is None
    assert checkpoint.list_checkpoints(tmp_path).complete == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: s | {"step": np.asarray(7.0, np.float32)},
            r"step-1: leaf 'step' is float32\[\] in the state and int32\[\] in the checkpoint",
        ),
        (lambda s: s | {"flags": np.zeros(3, bool)}, r"leaf 'flags' is bool\[3\] in the state and bool\[2\]"),
        (lambda s: s | {"more": np.zeros(1)}, r"step-1: .*lacks \['more'\]"),
        (lambda s: {k: v for k, v in s.items() if k != "flags"}, r"step-1: .*\['flags'\] besides"),
    ],
)
def test_a_state_of_another_kind_is_refused_by_leaf(tmp_path: Path, change: object, message: str) -> None:
    ref = checkpoint.save(tmp_path, tiny_state(), info(1))
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(ref, change(tiny_state()))  # type: ignore[operator]


def test_a_changed_byte_of_any_file_is_named(tmp_path: Path) -> None:
    state = tiny_state()
    ref = checkpoint.save(tmp_path, state, info(1))
    for entry in ref.files:
        file = ref.path / entry["path"]
        content = file.read_bytes()
        if not content:
            continue
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(CheckpointError, match=re.escape(str(file)) + ".*remove its folder"):
            checkpoint.load(ref, state)
        file.write_bytes(content)
    assert checkpoint.load(ref, state) is not None


def test_an_unreadable_manifest_is_an_error_and_not_an_older_checkpoint(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, tiny_state(), info(1))
    ref = checkpoint.save(tmp_path, tiny_state(), info(2))
    (ref.path / "manifest.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"step-2/manifest.json is not JSON any more"):
        checkpoint.latest(tmp_path)


def test_a_newer_one_replaces_temporary_ones_and_leftovers_and_no_kept_one(tmp_path: Path) -> None:
    for step, keep in ((1, True), (2, False), (3, False)):
        checkpoint.save(tmp_path, tiny_state(), info(step, keep=keep))
    (tmp_path / "step-2b").mkdir()
    (tmp_path / "step-4").mkdir()
    (tmp_path / "step-9").mkdir()
    newest = checkpoint.save(tmp_path, tiny_state(), info(5, keep=False))
    checkpoint.remove_replaced(tmp_path, newest)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-1", "step-2b", "step-5", "step-9"]
    assert [path.name for path in checkpoint.list_checkpoints(tmp_path).incomplete] == ["step-9"]

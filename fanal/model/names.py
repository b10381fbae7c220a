"""The name of every leaf, in the stack (`layers/attention/q`) and by layer and expert (`layer0/experts/gate/e007`).

A stacked name is the path in the pytree and names an array in checkpoints and optimizer groups; a leaf name is one
matrix or vector, and names a norm in the record. Both orders are those of the pytree. The router's bias has names
beside them: it is no trained leaf, a rule sets it.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fanal.model.norm import wide

LAYERS = "layers/"
EXPERTS = "layers/experts/"

Tree = TypeVar("Tree")


def named(tree: Any) -> dict[str, Any]:
    """Every leaf by its path in the tree, in the tree's order."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}


def with_named(tree: Tree, leaves: Mapping[str, Any]) -> Tree:
    """The same tree with its leaves taken from `leaves`; names must be equal."""
    names = list(named(tree))
    assert set(names) == set(leaves), f"names differ: {set(names) ^ set(leaves)}"
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(tree), [leaves[name] for name in names])


def leaf_names(tree: Any) -> list[str]:
    """Names of a model's matrices and vectors by layer and expert, in the order of `leaf_norm2`."""
    return [leaf for name, stacked in named(tree).items() for leaf in _split(name, stacked.shape)]


def router_bias_names(num_layers: int) -> list[str]:
    """Names of the biases that no gradient trains, one a layer."""
    return [f"layer{i}/router_bias" for i in range(num_layers)]


def leaf_norm2(leaves: Mapping[str, Array]) -> Float[Array, " X"]:
    """Squared norm of every named leaf, in the order of `leaf_names` where `leaves` has the model's order."""
    return jnp.concatenate([_norm2(name, stacked).reshape(-1) for name, stacked in leaves.items()])


def scaled_norm2(leaves: Mapping[str, Array]) -> tuple[Float[Array, ""], Float[Array, " X"]]:
    """The largest absolute value of all leaves (1 where all are zero), and `leaf_norm2` of the leaves over it.

    The squared norms are the second times the square of the first, which float32 may not hold and float64 does.
    """
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in leaves.values()]))
    scale = jnp.where(largest > 0, largest, jnp.ones_like(largest))
    return scale, leaf_norm2({name: leaf / scale for name, leaf in leaves.items()})


def _norm2(name: str, stacked: Array) -> Array:
    kept = _kept_axes(name)
    values = stacked.astype(wide(stacked.dtype))
    return jnp.sum(jnp.square(values), axis=tuple(range(kept, stacked.ndim)))


def _kept_axes(name: str) -> int:
    """Leading axes that count separate leaves: layers, and experts."""
    return 2 if name.startswith(EXPERTS) else int(name.startswith(LAYERS))


def _split(name: str, shape: tuple[int, ...]) -> list[str]:
    kept = _kept_axes(name)
    if kept == 0:
        return [name]
    rest = name.removeprefix(LAYERS)
    layers = [f"layer{i}/{rest}" for i in range(shape[0])]
    if kept == 1:
        return layers
    return [f"{layer}/e{e:03d}" for layer in layers for e in range(shape[1])]

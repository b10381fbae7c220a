"""Reverse differentiation over numpy, small enough to check by eye: values that remember how they were made.

`Traced` stands in for an array and this module for numpy in `model.py`; `gradient` walks the memory backwards. It
knows the operations that the reference uses and no others; `max` counts as a constant, which is right where it is
only taken off inside a softmax.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Back = Callable[[np.ndarray], np.ndarray]


class Traced:
    """A value with its parents, and for each the map from this value's gradient to the parent's."""

    __array_ufunc__ = None  # a numpy scalar on the left leaves the operation to us

    def __init__(self, value: Any, parents: Sequence[tuple["Traced", Back]] = ()) -> None:
        self.value = np.asarray(value, np.float64)
        self.parents = parents

    def __add__(self, other: Any) -> "Traced":
        other = lift(other)
        return Traced(self.value + other.value, [(self, fit(self)), (other, fit(other))])

    def __mul__(self, other: Any) -> "Traced":
        other = lift(other)
        back = [(self, fit(self, other.value)), (other, fit(other, self.value))]
        return Traced(self.value * other.value, back)

    def __pow__(self, power: float) -> "Traced":
        return Traced(self.value**power, [(self, lambda g: g * power * self.value ** (power - 1))])

    def __matmul__(self, other: "Traced") -> "Traced":
        """A vector times a matrix."""
        x, w = self.value, other.value
        return Traced(x @ w, [(self, lambda g: w @ g), (other, lambda g: np.outer(x, g))])

    def __getitem__(self, place: Any) -> "Traced":
        def back(g: np.ndarray) -> np.ndarray:
            out = np.zeros_like(self.value)
            out[place] = g
            return out

        return Traced(self.value[place], [(self, back)])

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self.value)))

    def __neg__(self) -> "Traced":
        return self * -1.0

    def __sub__(self, other: Any) -> "Traced":
        return self + lift(other) * -1.0

    def __truediv__(self, other: Any) -> "Traced":
        return self * lift(other) ** -1.0

    def __radd__(self, other: Any) -> "Traced":
        return self + other

    def __rmul__(self, other: Any) -> "Traced":
        return self * other

    def __rtruediv__(self, other: Any) -> "Traced":
        return lift(other) / self


def lift(x: Any) -> Traced:
    """The value itself, or a constant."""
    return x if isinstance(x, Traced) else Traced(x)


def fit(x: Traced, factor: Any = 1.0) -> Back:
    """Times a factor; summed where a scalar met a vector."""
    return lambda g: g * factor if np.shape(g * factor) == x.value.shape else np.sum(g * factor)


def sqrt(x: Traced) -> Traced:
    return x**0.5


def exp(x: Traced) -> Traced:
    out = np.exp(x.value)
    return Traced(out, [(x, lambda g: g * out)])


def log(x: Traced) -> Traced:
    return Traced(np.log(x.value), [(x, lambda g: g / x.value)])


def sum(x: Traced) -> Traced:
    return Traced(np.sum(x.value), [(x, lambda g: np.full_like(x.value, g))])


def mean(x: Traced) -> Traced:
    return sum(x) * (1 / x.value.size)


def max(x: Traced) -> Traced:
    return Traced(np.max(x.value))


def stack(parts: Sequence[Traced]) -> Traced:
    pick = [(part, lambda g, i=i: g[i]) for i, part in enumerate(parts)]
    return Traced(np.stack([part.value for part in parts]), pick)


def concatenate(parts: Sequence[Traced]) -> Traced:
    ends = np.cumsum([len(part.value) for part in parts])
    starts = [0, *ends[:-1]]
    pick = [(part, lambda g, a=a, b=b: g[a:b]) for part, a, b in zip(parts, starts, ends, strict=True)]
    return Traced(np.concatenate([part.value for part in parts]), pick)


def gradient(total: Traced, leaves: dict[str, Traced]) -> dict[str, np.ndarray]:
    """The derivative of a scalar by every leaf; zero where it does not depend on one."""
    grads: dict[int, np.ndarray] = {id(total): np.ones(())}
    for node in reversed(ordered(total)):
        for parent, back in node.parents:
            grads[id(parent)] = grads.get(id(parent), 0.0) + back(grads[id(node)])
    return {name: grads.get(id(leaf), np.zeros_like(leaf.value)) for name, leaf in leaves.items()}


def ordered(total: Traced) -> list[Traced]:
    """Every value that `total` was made of, parents first."""
    done: list[Traced] = []
    seen: set[int] = set()
    waiting: list[tuple[Traced, bool]] = [(total, False)]
    while waiting:
        node, parents_done = waiting.pop()
        if parents_done:
            done.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            waiting.append((node, True))
            waiting.extend((parent, False) for parent, _ in node.parents)
    return done

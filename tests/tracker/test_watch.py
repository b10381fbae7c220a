"""Watched models log histograms of what passes through them, each so many passes, until they are left alone."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fanal
from fanal.tracker.watch import histogram_of
from tests.tracker.conftest import read


class Tensor:
    """As much of a tensor of PyTorch as a histogram asks for."""

    def __init__(self, values: Any, requires_grad: bool = True) -> None:
        self.array = np.asarray(values, dtype=float)
        self.requires_grad = requires_grad
        self.hooks: list[Callable[[Any], None]] = []

    def detach(self) -> "Tensor":
        return self

    def flatten(self) -> "Tensor":
        return Tensor(self.array.ravel())

    def float(self) -> "Tensor":
        return self

    def isfinite(self) -> Any:
        return np.isfinite(self.array)

    def __getitem__(self, chosen: Any) -> "Tensor":
        return Tensor(self.array[chosen])

    def numel(self) -> int:
        return self.array.size

    def min(self) -> Any:
        return self.array.min()

    def max(self) -> Any:
        return self.array.max()

    def histc(self, bins: int, min: Any, max: Any) -> Any:
        return np.histogram(self.array, bins=bins, range=(min, max))[0]

    def register_hook(self, hook: Callable[[Any], None]) -> "Handle":
        self.hooks.append(hook)
        return Handle(self.hooks, hook)


class Handle:
    """What a hook is taken away by."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook

    def remove(self) -> None:
        self._hooks.remove(self._hook)


class Model:
    """A model with one trained and one frozen parameter."""

    def __init__(self) -> None:
        self.training = True
        self.hooks: list[Any] = []
        self.parameters = {"weight": Tensor([1.0, 2.0]), "frozen": Tensor([3.0], requires_grad=False)}

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.parameters.items()

    def register_forward_hook(self, hook: Any) -> Handle:
        self.hooks.append(hook)
        return Handle(self.hooks, hook)

    def step(self) -> None:
        for hook in self.hooks:
            hook(self, None, None)
        for hook in self.parameters["weight"].hooks:
            hook(Tensor([0.0, 0.5, np.nan]))


def test_gradients_and_parameters_come_each_so_many_passes_at_the_runs_step() -> None:
    run = fanal.init(dir="r", id="a")
    model = Model()
    run.watch(model, log="all", log_freq=2)
    for _ in range(5):
        model.step()
        run.log({"loss": 1.0})
    run.unwatch(model)
    model.step()
    fanal.finish()
    found = [(o.key, o.step) for o in read().others()]
    assert found == [
        ("parameters/weight", 1),
        ("parameters/frozen", 1),
        ("gradients/weight", 1),
        ("parameters/weight", 3),
        ("parameters/frozen", 3),
        ("gradients/weight", 3),
    ]
    assert read().series("loss").steps.tolist() == [0, 1, 2, 3, 4]
    gradients = next(o.value for o in read().others() if o.key == "gradients/weight")
    assert (sum(gradients["counts"]), gradients["nonfinite"], gradients["edges"][-1]) == (2, 1, 0.5)


def test_odd_tensors_have_histograms() -> None:
    assert (histogram_of(Tensor([np.nan])).histogram, histogram_of(Tensor([np.nan])).nonfinite) == ([], 1)
    same = histogram_of(Tensor([2.0, 2.0]))
    assert (sum(same.histogram), same.bins[0], same.bins[-1]) == (2, 1.5, 2.5)


def test_what_cannot_be_watched_is_said() -> None:
    run = fanal.init(dir="r", id="a")
    with pytest.raises(fanal.UsageError, match="no PyTorch module"):
        run.watch(object())
    with pytest.raises(fanal.UsageError, match="log must be"):
        run.watch(Model(), log="everything")
    run.watch([Model(), Model()], "criterion", "gradients", 10, 0, True)
    fanal.finish()
    assert read().events("settings")[0].fields["call"] == "watch"

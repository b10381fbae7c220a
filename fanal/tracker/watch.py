"""`watch`: histograms of a PyTorch model's gradients and parameters, taken in hooks of its own backward passes.

Costs nothing between the passes that are taken, and one reduction a parameter in those. PyTorch is not imported: a
model brings it along. JAX and others: log `Histogram(array)`.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from fanal.tracker.errors import UsageError
from fanal.tracker.histogram import Histogram
from fanal.tracker.rows import listed

if TYPE_CHECKING:
    from fanal.tracker.run import Run

WHAT = {"gradients": (True, False), "parameters": (False, True), "all": (True, True), None: (False, False)}
_NUM_BINS = 64


class Watched:
    """The hooks of one model."""

    def __init__(self, run: "Run", model: Any, prefix: str, freq: int) -> None:
        self.model = model
        self._run = run
        self._prefix = prefix
        self._freq = max(int(freq), 1)
        self._passes: dict[str, int] = {}
        self._hooks: list[Any] = []

    def follow(self, gradients: bool, parameters: bool) -> None:
        """Put the hooks in their places."""
        for name, parameter in self.model.named_parameters():
            if gradients and parameter.requires_grad:
                key = f"gradients/{self._prefix}{name}"
                self._hooks.append(parameter.register_hook(partial(self._taken, key)))
        if parameters:
            self._hooks.append(self.model.register_forward_hook(self._forward))

    def stop(self) -> None:
        """Take the hooks away."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _due(self, key: str) -> bool:
        num = self._passes[key] = self._passes.get(key, 0) + 1
        return num % self._freq == 0

    def _taken(self, key: str, gradient: Any) -> None:
        if self._due(key):
            self._run.log({key: histogram_of(gradient)}, commit=False)

    def _forward(self, model: Any, *_: Any) -> None:
        if model.training and self._due("forward"):
            for name, parameter in model.named_parameters():
                self._run.log({f"parameters/{self._prefix}{name}": histogram_of(parameter)}, commit=False)


def watch(run: "Run", models: Any, log: str | None, log_freq: int) -> None:
    """Follow models until `unwatch` or the run's end.

    Raises:
        UsageError: `log` is none of the kinds, or a model is none of PyTorch's.
    """
    if log not in WHAT:
        raise UsageError(f"watch: log must be gradients, parameters, all or None, got {log!r}")
    for place, model in enumerate(listed(models)):
        if not callable(getattr(model, "named_parameters", None)):
            raise UsageError(f"watch: {type(model).__name__} is no PyTorch module: log Histogram(array) yourself")
        watched = Watched(run, model, f"graph_{place}/" if place else "", log_freq)
        watched.follow(*WHAT[log])
        run.watched.append(watched)


def unwatch(run: "Run", models: Any) -> None:
    """Stop following models; all of them where none is named."""
    named = None if models is None else listed(models)
    for watched in list(run.watched):
        if named is None or any(watched.model is model for model in named):
            watched.stop()
            run.watched.remove(watched)


def histogram_of(tensor: Any) -> Histogram:
    """The histogram of a tensor, made where it lies: only its counts leave the device."""
    flat = tensor.detach().flatten().float()
    finite = flat[flat.isfinite()]
    num_nonfinite = int(flat.numel() - finite.numel())
    if finite.numel() == 0:
        return Histogram(np_histogram=([], []), nonfinite=num_nonfinite)
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    make: Callable[..., Any] = finite.histc
    counts = [int(count) for count in make(bins=_NUM_BINS, min=low, max=high).tolist()]
    edges = [low + (high - low) * i / _NUM_BINS for i in range(_NUM_BINS + 1)]
    return Histogram(np_histogram=(counts, edges), nonfinite=num_nonfinite)

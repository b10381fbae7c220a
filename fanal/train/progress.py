"""How far a run is, for the person at the terminal: a bar, a line every few seconds, or nothing.

Guarantees that it writes to standard error only and neither slows a step nor ends a training: a bar is redrawn at most
ten times a second, lines come every five seconds, and a stream that fails is left alone from then on. It estimates the
end from this attempt's own pace, evals included.
"""

import sys
import time
from typing import Any, TextIO

from tqdm import tqdm

LINE_SECONDS = 5.0


class _Stream:
    """A stream that may fail (a closed pipe, a terminal that went away), after which nothing more is written to it.

    tqdm writes through it too: an error inside its drawing would leave its lock held.
    """

    def __init__(self, to: TextIO | None) -> None:
        self._to = to
        self.encoding = getattr(to, "encoding", None) or "ascii"

    def write(self, text: str) -> int:
        """Write, or do without."""
        if self._to is not None:
            try:
                self._to.write(text)
            except (OSError, ValueError):  # ValueError: the stream is closed
                self._to = None
        return len(text)

    def flush(self) -> None:
        """Pass on what was written, or do without."""
        if self._to is not None:
            try:
                self._to.flush()
            except (OSError, ValueError):
                self._to = None

    def isatty(self) -> bool:
        """Whether a person sees it."""
        return self._to is not None and not self._to.closed and self._to.isatty()

    def fileno(self) -> int:
        """For its width."""
        if self._to is None:
            raise OSError("the stream has failed")
        return self._to.fileno()


class Progress:
    """The progress of one run; `quiet` writes nothing, a terminal gets a bar, anything else lines."""

    def __init__(
        self, run: str, steps: tuple[int, int], batch_tokens: int, *, quiet: bool = False, to: TextIO | None = None
    ) -> None:
        """`steps` are the last one done and the last one of all; `to` is standard error where absent."""
        self._to = _Stream(to or sys.stderr)
        self._run, self._batch_tokens = run, batch_tokens
        self._first, self._last = steps
        self._bar = self._make_bar() if not quiet and self._to.isatty() else None
        self._lines = not quiet and self._bar is None
        self._began = self._told = time.monotonic()

    def step(self, step: int, loss: float) -> None:
        """Step `step` is done, and its loss was `loss`."""
        if self._bar is not None:
            self._bar.set_postfix_str(f"loss {loss:.3f}, {self._rate(step):,.0f} tokens/s", refresh=False)
            self._bar.update(step - self._bar.n)
        elif self._lines and (time.monotonic() - self._told >= LINE_SECONDS or step == self._last):
            self._told = time.monotonic()
            self._write(self._line(step, loss))

    def say(self, text: str) -> None:
        """One line about this run that a person should see."""
        if self._bar is not None:
            self._bar.write(f"{self._run}: {text}", file=self._to)
        elif self._lines:
            self._write(f"{self._run}: {text}")

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()

    def _make_bar(self) -> "tqdm[Any]":
        shape = "{desc} {percentage:3.0f} %|{bar}| {n_fmt}/{total_fmt} steps, {postfix}, {remaining} left"
        return tqdm(
            desc=self._run, total=self._last, initial=self._first, file=self._to, bar_format=shape, dynamic_ncols=True
        )

    def _line(self, step: int, loss: float) -> str:
        seconds_left = (self._last - step) * (time.monotonic() - self._began) / max(1, step - self._first)
        return (
            f"{self._run}: step {step} of {self._last}, loss {loss:.3f}, {self._rate(step):,.0f} tokens/s, "
            f"about {seconds_left:.0f} s left"
        )

    def _rate(self, step: int) -> float:
        return (step - self._first) * self._batch_tokens / max(1e-9, time.monotonic() - self._began)

    def _write(self, line: str) -> None:
        self._to.write(line + "\n")
        self._to.flush()

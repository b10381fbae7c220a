"""`Config` and `Summary`: names and values of a run, read and set as items, as attributes or by `update`.

A change is in the record with the next row or within half a second, whichever comes first: changes made together are
one event. Nothing here raises for a value that changed; what it was before stays in the record.
"""

import threading
import time
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, MutableMapping, ValuesView
from typing import Any

from fanal.record.scalars import as_number
from fanal.record.values import text_of
from fanal.tracker.asked import as_config
from fanal.tracker.errors import NoRunError

TOGETHER_SECONDS = 0.5
_UNWRITTEN = object()
Write = Callable[[dict[Any, Any]], None]
Read = Callable[[], Mapping[Any, Any]]


class Names(MutableMapping[Any, Any]):
    """Names and values that are written into the record when they change."""

    def __init__(self, values: Mapping[Any, Any], write: Write) -> None:
        put = object.__setattr__
        put(self, "_values", dict(values))
        put(self, "_changed", {})
        put(self, "_write", write)
        put(self, "_lock", threading.RLock())
        put(self, "_timer", None)

    _values: dict[Any, Any]
    _changed: dict[Any, Any]
    _write: Write
    _lock: threading.RLock
    _timer: threading.Timer | None

    @property
    def waits(self) -> bool:
        """Whether a change is not in the record yet."""
        return bool(self._changed)

    def save(self) -> None:
        """Write what has changed into the record."""
        with self._lock:
            changed = dict(self._changed)
            self._changed.clear()
            if self._timer is not None:
                self._timer.cancel()
                object.__setattr__(self, "_timer", None)
            if changed:
                self._write(changed)  # inside the lock: nobody ends the run while it is being written

    def forked(self) -> None:
        """In a forked child: no other thread holds the lock or will write."""
        object.__setattr__(self, "_lock", threading.RLock())
        object.__setattr__(self, "_timer", None)

    def update(self, given: Any = None, allow_val_change: bool | None = None, **named: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  its shape is given
        """Set several; nested values replace what was under their name."""
        del allow_val_change  # a changed value is kept beside the old one, so there is nothing to allow
        for name, value in (as_config(given) | named).items():
            self[name] = value

    def setdefaults(self, given: Any) -> None:
        """Set those that are not set yet."""
        for name, value in as_config(given).items():
            if name not in self:
                self[name] = value

    def as_dict(self) -> dict[Any, Any]:
        """A copy of them."""
        return dict(self.items())

    def __setitem__(self, name: Any, value: Any) -> None:
        with self._lock:
            self._values[name] = value
            self._changed[name] = value
            if self._timer is None:
                timer = threading.Timer(TOGETHER_SECONDS, self.save)
                timer.daemon = True
                object.__setattr__(self, "_timer", timer)
                timer.start()

    def __getitem__(self, name: Any) -> Any:
        return self._values[name]

    def __delitem__(self, name: Any) -> None:
        del self._values[name]  # the record keeps what it was

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> KeysView[Any]:
        """The names."""
        return KeysView(self)

    def items(self) -> ItemsView[Any, Any]:
        """Names and values."""
        return ItemsView(self)

    def values(self) -> ValuesView[Any]:
        """The values."""
        return ValuesView(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"{type(self).__name__.lower()} has no {name!r}; it has {', '.join(map(text_of, self)) or 'nothing'}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __repr__(self) -> str:
        return repr(self.as_dict())


class Config(Names):
    """A run's configuration."""


class Summary(Names):
    """The values that stand for a run: what the script set and what it logged, of one name the later.

    In the record what is set stands over what is logged. So a name that was set and is logged afterwards is set
    again to the value logged: at its first row, then after ever longer times, and when the run ends.
    """

    def __init__(self, write: Write, logged: Read, public: Callable[[Any], bool] = lambda _: True) -> None:
        super().__init__({}, write)
        put = object.__setattr__
        put(self, "_logged", logged)
        put(self, "_public", public)
        put(self, "_over", set())
        put(self, "_overtaken", {})
        put(self, "_due", 0.0)
        put(self, "_wait", TOGETHER_SECONDS)

    _logged: Read
    _public: Callable[[Any], bool]
    """Whether what is logged under a name may stand in an event that is published."""
    _over: set[Any]
    """Names whose value was set after their last row."""
    _overtaken: dict[Any, Any]
    """By name that was set and then logged, the value of it that was written last."""
    _due: float
    _wait: float

    @property
    def concerned(self) -> bool:
        """Whether a row may change what was set, or a change is not in the record yet."""
        return bool(self._changed or self._over or self._overtaken)

    def set_before(self, names: Iterable[Any]) -> None:
        """Names that earlier attempts of the run set."""
        self._over.update(filter(self._public, names))

    def logged_over(self, row: Mapping[Any, Any]) -> None:
        """A row was logged: what it holds of names that were set stands for them from now on."""
        with self._lock:
            self.save()  # what was set before the row is in the record before it
            names = [name for name in self._over if name in row]
            logged = self._shown() if names else {}
            for name in names:
                if name in logged:
                    self._over.discard(name)
                    self._values.pop(name, None)
                    self._overtaken[name] = _UNWRITTEN
                    object.__setattr__(self, "_due", 0.0)
                    object.__setattr__(self, "_wait", TOGETHER_SECONDS)
            if self._overtaken and (now := time.monotonic()) >= self._due:
                self.settle()
                object.__setattr__(self, "_due", now + self._wait)
                object.__setattr__(self, "_wait", 2 * self._wait)

    def settle(self) -> None:
        """Write the last values of names that were set and then logged."""
        with self._lock:
            shown = self._shown() if self._overtaken else {}
            told = self._overtaken
            moved = {name: shown[name] for name in told if name in shown and shown[name] is not told[name]}
            if moved:
                self._overtaken.update(moved)
                self._write({name: _plain(value) for name, value in moved.items()})

    def _shown(self) -> dict[Any, Any]:
        """What is logged, but for media, which an event does not hold."""
        return {name: value for name, value in self._logged().items() if not hasattr(value, "to_record")}

    def forked(self) -> None:
        """In a forked child: its parent writes what the parent logged."""
        super().forked()
        self._overtaken.clear()

    def __setitem__(self, name: Any, value: Any) -> None:
        with self._lock:
            super().__setitem__(name, value)
            self._overtaken.pop(name, None)
            if self._public(name):
                self._over.add(name)

    def __getitem__(self, name: Any) -> Any:
        if name in self._values:
            return self._values[name]
        return self._logged()[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(dict.fromkeys([*self._logged(), *self._values]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._logged()

    def get(self, name: Any, default: Any = None) -> Any:
        """The value, or `default`."""
        try:
            return self[name]
        except KeyError:
            return default


def _plain(value: Any) -> Any:
    """A number of any library as the row has it; other values as they are."""
    return value if (number := as_number(value)) is None else number


class Before:
    """What stands for a configuration or summary while there is no run: says so when it is used."""

    def __init__(self, what: str) -> None:
        object.__setattr__(self, "_what", what)

    _what: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._error()

    def __setattr__(self, name: str, value: Any) -> None:
        raise self._error()

    def __getitem__(self, name: Any) -> Any:
        raise self._error()

    def __setitem__(self, name: Any, value: Any) -> None:
        raise self._error()

    def _error(self) -> NoRunError:
        return NoRunError(f"fanal.{self._what}: there is no run; call fanal.init(...) first")

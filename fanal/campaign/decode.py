"""Strict decoding of a parsed TOML table into the dataclasses of `spec.py`, by their annotations alone.

Nothing is dropped, guessed or converted, except that an integer may stand for a float. Every mistake of a file is
found in one pass and reported with its full path, what was expected, what was found, and for a key that is not known
the nearest one, or the section where it belongs. Values are not judged here: `check.py` does that.
"""

import datetime
import math
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from difflib import SequenceMatcher
from typing import Any, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

from fanal.campaign.derived import ModelShape, OptimizerPlan
from fanal.errors import CampaignError

T = TypeVar("T")

_BAD = object()
"""Stands for a value that could not be decoded; never leaves this module."""

_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a table",
    datetime.datetime: "a date",
    datetime.date: "a date",
    datetime.time: "a time",
}


def decode(cls: type[T], table: Mapping[str, Any], file: str) -> T:
    """`table` as a `cls`.

    Raises:
        CampaignError: one line a mistake, all of them.
    """
    decoder = _Decoder(_known_keys(cls), [])
    value = decoder.table(cls, table, "")
    if decoder.problems:
        raise CampaignError("\n".join(f"{file}: {problem}" for problem in decoder.problems))
    assert isinstance(value, cls)
    return value


@dataclass(frozen=True)
class _Known:
    """A key and the section it stands in, `""` for the top."""

    section: str
    key: str

    @property
    def path(self) -> str:
        return f"{self.section}.{self.key}" if self.section else self.key


@dataclass(frozen=True)
class _Decoder:
    known: tuple[_Known, ...]
    problems: list[str]

    def table(self, cls: type[Any], raw: object, path: str) -> Any:
        """A table as the dataclass `cls`."""
        if not _is_table(raw):
            return self._wrong(path, "a table", raw)
        hints, by_key = get_type_hints(cls), {_key(f): f for f in fields(cls)}
        values: dict[str, Any] = {}
        for key, item in raw.items():
            if key in by_key:
                name = by_key[key].name
                values[name] = self._value(hints[name], item, _join(path, key))
            else:
                self._unknown(path, key, item)
        missing = [key for key, f in by_key.items() if f.name not in values and _required(f)]
        for key in missing:
            self.problems.append(f"{_join(path, key)}: missing, must be {_expected(hints[by_key[key].name])}")
        return _BAD if missing else cls(**values)

    def _value(self, hint: Any, raw: object, path: str) -> Any:
        if is_dataclass(hint):
            assert isinstance(hint, type)
            return self.table(hint, raw, path)
        origin, args = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            options = [option for option in args if option is not types.NoneType]
            return self._value(options[0], raw, path) if len(options) == 1 else self._scalar(options, raw, path)
        if origin is tuple:
            return self._array(args[0], raw, path)
        if origin is not None and issubclass(origin, Mapping):
            return self._mapping(args, raw, path)
        return self._scalar([hint], raw, path)

    def _array(self, hint: Any, raw: object, path: str) -> Any:
        if not _is_array(raw):
            return self._wrong(path, "an array", raw)
        return tuple(self._value(hint, item, f"{path}[{i}]") for i, item in enumerate(raw))

    def _mapping(self, hints: tuple[Any, ...], raw: object, path: str) -> Any:
        if not _is_table(raw):
            return self._wrong(path, "a table", raw)
        key_hint, value_hint = hints
        decoded: dict[Any, Any] = {}
        for key, item in raw.items():
            if key_hint is int and not key.isdecimal():
                self.problems.append(f"{path}: its keys must be whole numbers, found {key!r}")
                continue
            decoded[int(key) if key_hint is int else key] = self._value(value_hint, item, _join(path, key))
        return decoded

    def _scalar(self, options: list[Any], raw: object, path: str) -> Any:
        if isinstance(raw, float) and float in options and not math.isfinite(raw):
            self.problems.append(f"{path}: must be a finite number, found {raw}")
            return _BAD
        if type(raw) in options:
            return raw
        if isinstance(raw, int) and not isinstance(raw, bool) and float in options:
            return float(raw)
        return self._wrong(path, " or ".join(_WORDS[option] for option in options), raw)

    def _wrong(self, path: str, expected: str, raw: object) -> object:
        found = next((word for kind, word in _WORDS.items() if isinstance(raw, kind)), "nothing known")
        shown = "" if isinstance(raw, dict | list) else f" ({raw!r})"
        self.problems.append(f"{path}: must be {expected}, found {found}{shown}")
        return _BAD

    def _unknown(self, section: str, key: str, raw: object) -> None:
        path, word = _join(section, key), key.replace("-", "_").lower()
        here = self._section_of(section)
        elsewhere = [k for k in self.known if k.key == word and k.section != here]
        if elsewhere and not any(k.key == word and k.section == here for k in self.known):
            homes = " or ".join(_show_section(k.section) for k in elsewhere)
            self.problems.append(f"{path}: {key!r} is no key of {_show_section(here)}; it belongs in {homes}")
        elif _is_table(raw) and raw and not _close(word, self.known, here):
            for inner, item in raw.items():  # a whole section that is not known: every key in it is lost
                self._unknown(path, inner, item)
        else:
            near = max(self.known, key=lambda k: _likeness(word, k, here))
            inside = [k.key for k in self.known if k.section == here]
            knows = f"{_show_section(here)} knows {', '.join(inside)}" if inside else f"there is no section [{here}]"
            self.problems.append(f"{path}: unknown key; the nearest known one is {near.path}; {knows}")

    def _section_of(self, path: str) -> str:
        """`mixture.phase[1]` → `mixture.phase`; `trainer.set.beta2` → `trainer.set.*`."""
        section = re.sub(r"\[\d+\]", "", path)
        open_section = f"{section.rpartition('.')[0]}.*"
        return open_section if any(k.section == open_section for k in self.known) else section


def _is_table(raw: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(raw, dict)


def _is_array(raw: object) -> TypeGuard[list[Any]]:
    return isinstance(raw, list)


def _known_keys(cls: type[Any]) -> tuple[_Known, ...]:
    """Every key of the format with its section, and the recipe's own names, which stand in `trainer.set`."""
    recipe = {f.name for c in (ModelShape, OptimizerPlan) for f in fields(c)} - {"hidden", "vocab"}
    return (*_walk(cls, ""), *(_Known("trainer.set", name) for name in sorted(recipe)))


def _walk(cls: type[Any], section: str) -> Iterator[_Known]:
    hints = get_type_hints(cls)
    for f in fields(cls):
        yield _Known(section, _key(f))
        open_names = ".*" if get_origin(hints[f.name]) in (dict, Mapping) else ""
        for inner in _dataclasses_in(hints[f.name]):
            yield from _walk(inner, _join(section, _key(f)) + open_names)


def _dataclasses_in(hint: Any) -> Iterator[type[Any]]:
    if is_dataclass(hint):
        assert isinstance(hint, type)
        yield hint
    else:
        for inner in get_args(hint):
            yield from _dataclasses_in(inner)


def _likeness(word: str, known: _Known, section: str) -> float:
    return SequenceMatcher(None, word, known.key).ratio() + (0.2 if known.section == section else 0.0)


def _close(word: str, known: tuple[_Known, ...], section: str) -> bool:
    """Whether `word` looks like a slip for a key of the same section."""
    return any(k.section == section and SequenceMatcher(None, word, k.key).ratio() >= 0.7 for k in known)


def _show_section(section: str) -> str:
    return f"[{section}]" if section else "the top level"


def _key(f: Field[Any]) -> str:
    return str(f.metadata.get("key", f.name))


def _required(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _expected(hint: Any) -> str:
    if is_dataclass(hint):
        return "a table"
    origin = get_origin(hint)
    if origin is tuple:
        return "an array"
    return _WORDS.get(hint, "a table")

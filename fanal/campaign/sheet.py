"""The sheet a recipe fills: every hyperparameter by name, with its law, and what the campaign sets in its place.

A recipe is a function that takes a sheet and puts numbers on it, in order; each `put` answers with the value that
counts, which is the campaign's where it deviates, so that later laws follow from it. Functions that a campaign names
are imported and called here; `read.py` has refused those that are not Fanal's own unless the caller trusts them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, TypeVar, cast

from fanal.campaign.derived import Law
from fanal.campaign.spec import Setting
from fanal.errors import CampaignError

N = TypeVar("N", bound=int | float | str)


@dataclass(frozen=True)
class Dial:
    """What a recipe starts from: the one dial, and the sizes that the campaign states."""

    hidden: int
    vocab: int
    seq_tokens: int
    batch_seqs: int
    tokens_per_active_param: float

    @property
    def batch_tokens(self) -> int:
        return self.batch_seqs * self.seq_tokens


@dataclass(frozen=True)
class Given:
    """What a law answers: a value, the formula that gave it, and where the formula comes from."""

    value: int | float | str
    formula: str
    source: str


class Sheet:
    """The numbers of one run, in the order in which they were put."""

    def __init__(self, dial: Dial, settings: Mapping[str, Setting]) -> None:
        self.dial = dial
        self._settings = settings
        self._laws: dict[str, Law] = {}

    @property
    def laws(self) -> tuple[Law, ...]:
        return tuple(self._laws.values())

    def put(self, name: str, value: N, formula: str, source: str, status: str) -> N:
        """Put the recipe's value, or what the campaign sets instead, and return the one that counts.

        Raises:
            CampaignError: the campaign sets a value of another type.
        """
        law = Law(name, value, formula, source, status)
        if name in self._settings:
            law = self._deviate(law, self._settings[name])
        return cast("N", self._add(law).value)

    def derive(self, name: str, value: N, formula: str) -> N:
        """Put a number that follows from others by arithmetic; a campaign cannot set it."""
        if name in self._settings:
            raise CampaignError(f"trainer.set.{name}: follows from other numbers ({formula}); set one of those")
        return cast("N", self._add(Law(name, value, formula, "arithmetic", "defined")).value)

    def __getitem__(self, name: str) -> Any:
        """The value of `name`.

        Raises:
            CampaignError: the recipe has not put it; names the nearest.
        """
        if name not in self._laws:
            raise CampaignError(f"the recipe has put no {name!r} yet; nearest: {nearest(name, self._laws)}")
        return self._laws[name].value

    def number(self, name: str) -> float:
        """The value of `name` as a float."""
        return float(self[name])

    def check_settings(self) -> None:
        """Hold that every setting of the campaign replaced a number of the recipe.

        Raises:
            CampaignError: names each that did not, and the nearest name the recipe has.
        """
        lost = [name for name in self._settings if name not in self._laws]
        if lost:
            lines = (f"trainer.set.{n}: the recipe has no such number; nearest: {nearest(n, self._laws)}" for n in lost)
            raise CampaignError("\n".join(lines))

    def _add(self, law: Law) -> Law:
        assert law.name not in self._laws, f"{law.name} is put twice"
        self._laws[law.name] = law
        return law

    def _deviate(self, law: Law, setting: Setting) -> Law:
        path = f"trainer.set.{law.name}"
        if setting.law is None:
            value = _like(law.value, setting.value, f"{path}.value")
            formula, source = "constant", "the campaign's file"
        else:
            given = resolve(setting.law, f"{path}.law")(self)
            if not isinstance(given, Given):
                raise CampaignError(f"{path}.law: {setting.law} must return a Given, got {type(given).__name__}")
            value = _like(law.value, given.value, f"{path}.law")
            formula, source = given.formula, given.source
        return Law(law.name, value, formula, source, "set", setting.why, replaces=f"{_short(law.value)}: {law.formula}")


def is_own(reference: str) -> bool:
    """Whether `module:function` lies in Fanal's own campaign package."""
    return reference.startswith("fanal.campaign.")


def resolve(reference: str, path: str) -> Callable[[Sheet], object]:
    """The function that `module:function` names.

    Raises:
        CampaignError: there is no such module or function.
    """
    module_name, _, function_name = reference.partition(":")
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise CampaignError(f"{path}: cannot import {module_name!r}: {error}") from error
    function = getattr(module, function_name, None)
    # What a module merely imports is no recipe of its own: `fanal.campaign.sheet:import_module` stays out of reach.
    if not callable(function) or getattr(function, "__module__", None) != module_name:
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module_name]
        near = nearest(function_name, own)
        raise CampaignError(f"{path}: {module_name} has no function {function_name!r}; nearest: {near}")
    return function


def nearest(word: str, known: Mapping[str, object] | list[str]) -> str:
    """The known word most like `word`, or `none`."""
    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.0)), "none")


def _like(law_value: object, value: object, path: str) -> int | float | str:
    """`value` in the type of the law's own; an integer may stand for a float, nothing else for another type."""
    wanted = type(law_value)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not wanted:
        raise CampaignError(f"{path}: must be {_WORDS[wanted]}, got {value!r}")
    return cast("int | float | str", value)


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_WORDS: dict[type, str] = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}

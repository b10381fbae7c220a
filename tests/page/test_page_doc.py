"""The documented data is the served data: `docs/page.md`, the classes and a real view name the same fields."""

import json
import typing
from dataclasses import fields, is_dataclass
from typing import Any

from fanal.page.state import PageState, state_json
from tests.page.conftest import Grown
from tests.page.page_doc import DOC, MARK, classes, mentioned, sentences, tables


def test_the_page_of_docs_is_what_the_code_says() -> None:
    assert DOC.read_text("utf-8").partition(MARK)[2] == f"\n{tables()}"


def test_every_field_has_its_own_sentence() -> None:
    for one in classes(PageState):
        assert set(sentences(one)) == {f.name for f in fields(one)}, one.__name__


def test_what_is_served_has_exactly_the_documented_fields(grown: Grown) -> None:
    seen: set[type] = set()
    for state in grown.states.values():
        hold(json.loads(state_json(state)), PageState, seen)
    assert seen == set(classes(PageState)) - never_in_this_campaign()


def never_in_this_campaign() -> set[type]:
    """Classes whose values only a faulty run has: marks of what is not finite, and moments of skips and restarts."""
    return {one for one in classes(PageState) if one.__name__ in ("Mark", "Moment")}


def hold(value: Any, hint: Any, seen: set[type]) -> None:
    if value is None:
        return
    if isinstance(hint, type) and is_dataclass(hint):
        seen.add(hint)
        hints = typing.get_type_hints(hint)
        assert set(value) == set(hints), hint.__name__
        for name, inner in hints.items():
            hold(value[name], inner, seen)
        return
    for part in typing.get_args(hint):
        for item in value if isinstance(value, list) else [value]:
            if any(True for _ in mentioned(part)):
                hold(item, part, seen)

"""Writes the generated half of `docs/page.md`: every class and field of the page's data, from the code itself.

`python -m tests.page.page_doc` writes it; `test_page_doc.py` holds that the page is what this would write.
"""

import ast
import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from fanal.page.state import PageState

DOC = Path(__file__).parents[2] / "docs" / "page.md"
MARK = "<!-- what follows is written by `python -m tests.page.page_doc` -->\n"


def classes(first: type) -> list[type]:
    """Every dataclass reachable from `first`, in order of first mention."""
    found: list[type] = []
    queue = [first]
    while queue:
        one = queue.pop(0)
        if one not in found:
            found.append(one)
            queue += [c for hint in typing.get_type_hints(one).values() for c in mentioned(hint)]
    return found


def mentioned(hint: Any) -> Iterator[type]:
    """The dataclasses that a type names."""
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for part in typing.get_args(hint):
        yield from mentioned(part)


def sentences(one: type) -> dict[str, str]:
    """Each field's own sentence: the string below it."""
    body = ast.parse(inspect.getsource(one)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
            assert isinstance(text, ast.Expr)
            assert isinstance(text.value, ast.Constant)
            found[field.target.id] = " ".join(str(text.value.value).split())
    return found


def written(hint: Any) -> str:
    """A type as the JSON holds it."""
    if hint is type(None):
        return "null"
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(written(p) for p in parts)
    if origin is list:
        return f"list of {written(parts[0])}"
    if origin is dict:
        return f"{written(parts[1])} by name"
    names = {int: "integer", float: "number", str: "text", bool: "true or false"}
    return names.get(hint, f"`{hint.__name__}`")


def tables() -> str:
    """The generated half."""
    parts: list[str] = []
    for one in classes(PageState):
        said, hints = sentences(one), typing.get_type_hints(one)
        rows = [f"| `{f.name}` | {written(hints[f.name])} | {said[f.name]} |" for f in fields(one)]
        lead = " ".join((one.__doc__ or "").split())
        head = ["| field | type | meaning |", "|---|---|---|"]
        parts.append("\n".join([f"## {one.__name__}", "", lead, "", *head, *rows]))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Replace everything below the mark."""
    kept, mark, _ = DOC.read_text("utf-8").partition(MARK)
    assert mark, f"{DOC} has lost its mark"
    DOC.write_text(f"{kept}{MARK}\n{tables()}", "utf-8")


if __name__ == "__main__":
    main()

"""The tables and the script of `docs/proof.md`, as the tests hold the program to them."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "proof.md").read_text("utf-8")


def rows(table: int) -> dict[str, tuple[int, list[str]]]:
    """By what happened, the exit code and the words, of which one is said; tables are counted from 0."""
    tables = PAGE.split("| what happened | code | words |\n|---|---|---|\n")[1:]
    lines = [line.strip("| ").split(" | ") for line in tables[table].partition("\n\n")[0].splitlines()]
    return {name: (int(code), words.split(" *or* ")) for name, code, words in lines}


def script() -> str:
    """The lines that check a signature by hand."""
    found = re.search(r"```python\n(.*?)```", PAGE, re.S)
    assert found is not None
    return found[1]

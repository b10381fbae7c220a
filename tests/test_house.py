"""Holds the house's measures: lengths, parameters, imports at the top, no blanket except, docstrings, words.

A waiver is a line in `WAIVED` with its reason. Lengths are in lines of the file; docstrings and comments count.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden.__main__ import unlogged

ROOT = Path(__file__).parent.parent
FILES = sorted(p for folder in ("fanal", "examples") for p in (ROOT / folder).rglob("*.py"))
TESTS = sorted(p for p in (ROOT / "tests").rglob("*.py"))
MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_PARAMETERS, MAX_DEPTH = 400, 60, 6, 2

WAIVED: dict[str, str] = {
    "fanal/tracker/current.py:init": "its arguments are given: they are what people already pass to their tracker",
    "fanal/tracker/run.py:define_metric": "the same",
    "fanal/tracker/image.py:__init__": "the same",
    "fanal/tracker/table.py:__init__": "the same",
    "fanal/tracker/artifact.py:__init__": "the same",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[Function]:
    yield from (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, Function))


def num_parameters(function: Function) -> int:
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([a for a in named if a.arg not in ("self", "cls")])


@pytest.mark.parametrize("path", FILES + TESTS, ids=relative)
def test_a_file_is_short_enough_to_read(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MAX_FILE_LINES


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), f"{relative(path)} has no docstring"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_functions_are_short_and_take_few_parameters(path: Path) -> None:
    long = {f.name: f.end_lineno - f.lineno + 1 for f in functions(path) if f.end_lineno}
    too_long = {name: n for name, n in long.items() if n > MAX_FUNCTION_LINES}
    too_many = {f.name: num_parameters(f) for f in functions(path) if num_parameters(f) > MAX_PARAMETERS}
    waived = {name for key in WAIVED for file, _, name in [key.rpartition(":")] if file == relative(path)}
    assert not too_long, too_long
    assert not set(too_many) - waived, too_many


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_only_the_command_line_imports_inside_functions(path: Path) -> None:
    if relative(path).startswith("fanal/cli/"):
        return
    inner = [n.lineno for f in functions(path) for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert not inner, f"{relative(path)} imports inside a function at lines {inner}"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_blanket_except_outside_the_command_line(path: Path) -> None:
    if relative(path).startswith("fanal/cli/"):
        return
    handlers = (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.ExceptHandler))
    blanket = [h.lineno for h in handlers if h.type is None or ast.unparse(h.type) in ("Exception", "BaseException")]
    assert not blanket, f"{relative(path)} catches everything at lines {blanket}"


def test_folders_are_two_deep() -> None:
    deep = [relative(p) for p in FILES if len(p.relative_to(ROOT).parts) - 2 > MAX_DEPTH]
    assert not deep


def test_public_parameters_and_results_are_annotated() -> None:
    bare = [
        f"{relative(path)}:{f.lineno} {f.name}"
        for path in FILES
        for f in functions(path)
        if f.returns is None
        or any(a.annotation is None for a in f.args.args + f.args.kwonlyargs if a.arg not in ("self", "cls"))
    ]
    assert not bare, bare


def test_waivers_are_still_needed() -> None:
    for key in WAIVED:
        file, _, name = key.rpartition(":")
        found = [f for f in functions(ROOT / file) if f.name == name]
        assert found, f"{key} is not there any more"
        assert num_parameters(found[0]) > MAX_PARAMETERS, f"{key} needs no waiver any more"


def test_no_golden_text_changes_without_a_line_in_the_log() -> None:
    assert unlogged() == [], "say in LOG.md why, with this name and hash"


def test_the_project_speaks_of_itself_alone() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    words = re.compile(r"/work/|/root/|/home/\w+/|\b(claude|chatgpt|copilot|anthropic)\b", re.I)
    allowed = {"tests/test_house.py"}
    texts = (ROOT / name for name in listed.stdout.split() if name not in allowed and "vendor/" not in name)
    named = [
        relative(p)
        for p in texts
        if p.suffix in (".py", ".md", ".toml", ".js", ".html", ".css") and words.search(p.read_text("utf-8"))
    ]
    assert not named, named


def test_importing_fanal_loads_nothing_heavy() -> None:
    heavy = ("jax", "numpy", "pyarrow", "tokenizers", "scipy", "starlette", "uvicorn", "matplotlib", "equinox", "orbax")
    code = f"import sys, fanal, fanal.cli; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""The command line's shape is a promise: a command or an option that goes away breaks somebody's script."""

import argparse
import subprocess
import sys

import pytest

from fanal import cli

SHAPE = {
    "demo": "--dir --headless --json --port --quiet --seed --trust-recipe",
    "run": "campaign --dir --json --quiet --seed --trust-recipe",
    "plan": "campaign --dir --json --quiet --seed --trust-recipe",
    "data build": "campaign --dir --json --quiet --seed --trust-recipe",
    "data show": "campaign --dir --json --quiet --seed --trust-recipe",
    "data trace": "record --json --run --step",
    "ladder tune": "campaign --dir --json --quiet --seed --trust-recipe",
    "verify": "path --json",
    "report": "path --json",
    "serve": "path --json --port",
    "publish": "path dest --json",
}


def commands(parser: argparse.ArgumentParser, before: str = "") -> dict[str, argparse.ArgumentParser]:
    """Every command below `parser`, by its words."""
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not groups:
        return {before: parser}
    return {
        words: p
        for name, sub in groups[0].choices.items()
        for words, p in commands(sub, f"{before} {name}".strip()).items()
    }


def arguments(parser: argparse.ArgumentParser) -> str:
    named = [a for a in parser._actions if a.dest != "help"]
    positional = [a.dest for a in named if not a.option_strings]
    return " ".join(positional + sorted(a.option_strings[-1] for a in named if a.option_strings))


def test_the_commands_and_their_arguments_stay() -> None:
    assert {name: arguments(p) for name, p in commands(cli.parser()).items()} == SHAPE


@pytest.mark.parametrize("words", SHAPE)
def test_every_command_says_what_it_does(words: str) -> None:
    assert commands(cli.parser())[words].description


def test_help_loads_nothing_heavy() -> None:
    tried = "try: cli.main(['--help'])\nexcept SystemExit: pass"
    code = f"import sys; from fanal import cli\n{tried}\nprint('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"

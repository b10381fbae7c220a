"""What every command uses: a line for people, a report as text or JSON, and how arguments of one kind are read."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

WELL = 0
INTERRUPTED = 130
PORT = 8731


def say(text: str) -> None:
    """One line to standard error, where there still is one."""
    with suppress(OSError, ValueError):
        print(f"fanal: {text}", file=sys.stderr, flush=True)


def show(text: str, data: Mapping[str, Any], args: argparse.Namespace) -> None:
    """A report as text, or with `--json` as one JSON document."""
    try:
        print(json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) if args.json else text, flush=True)
    except BrokenPipeError:  # whoever read the report went away, as `head` does; the exit code stays the command's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def wait_for_interrupt() -> None:
    """Return at Ctrl-C."""
    try:
        signal.pause()
    except KeyboardInterrupt:
        print(file=sys.stderr)


def port(text: str) -> int:
    """A port's number, as an argument."""
    number = int(text)
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"must be 0 to 65535, got {number}")
    return number


def group_parser(commands: Any, name: str, text: str) -> Any:
    """A command that is a word before others."""
    return commands.add_parser(name, help=text, description=text).add_subparsers(required=True, metavar="COMMAND")


def report_parser(commands: Any, name: str, command: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    """One command, its first sentence as its help, with `--json`."""
    text = (command.__doc__ or "").strip()
    made: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    made.add_argument("--json", action="store_true", help="the report as JSON")
    made.set_defaults(command=command)
    return made

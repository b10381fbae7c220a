"""The command line: one function a command, each importing its part when it is called, and no other.

Exit codes: 0 well, 1 the answer is bad news, 2 bad input, 3 refused, 130 interrupted. Reports go to
standard output (`--json` for machines), progress to standard error. Errors are one line.
"""

import argparse
import os
from collections.abc import Callable, Sequence

from fanal import __version__
from fanal.cli import campaign, record
from fanal.cli.shared import INTERRUPTED, say
from fanal.errors import FanalError

BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what a person can mend is one line, never a traceback."""
    args = parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = args.command
    try:
        return command(args)
    except KeyboardInterrupt:
        say("stopped; what had ended is kept")
        return INTERRUPTED
    except FanalError as error:
        say(str(error))
        return error.exit_code
    except ModuleNotFoundError as error:
        say(f"this command needs {error.name}, which is not installed: pip install 'fanal[demo]'")
        return BAD_INPUT
    except OSError as error:
        say(f"{error.filename or 'the system'}: {error.strerror or error}")
        return BAD_INPUT
    except Exception as error:
        if os.environ.get("FANAL_DEBUG"):
            raise
        say(f"{type(error).__name__}: {error}")
        say("this is a fault of Fanal's; what was recorded is kept, and FANAL_DEBUG=1 shows where it happened")
        return BAD_INPUT


def parser() -> argparse.ArgumentParser:
    """The whole command line; `tests/test_cli.py` holds its shape."""
    top = argparse.ArgumentParser(prog="fanal", description="Train a language model in full view.")
    top.add_argument("--version", action="version", version=f"fanal {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    campaign.add(commands)
    record.add(commands)
    return top

"""A process that ends without `finish` ends its run well, unless an error or an exit code says otherwise."""

import subprocess
import sys
import textwrap

import pytest

from fanal.tracker.ending import FORGOTTEN
from tests.tracker.conftest import read

ENDS = {
    "pass": ("finished", FORGOTTEN),
    "sys.exit()": ("finished", FORGOTTEN),
    "sys.exit(0)": ("finished", FORGOTTEN),
    "sys.exit(3)": ("failed", "exit code 3"),
    "sys.exit('no data')": ("failed", "exit code 1"),
    "raise FloatingPointError('hf_secret')": ("failed", "FloatingPointError"),
    "sys.excepthook = lambda *_: None; raise OSError": ("failed", "OSError"),
    "threading.Thread(target=sys.exit, args=(3,)).start()": ("finished", FORGOTTEN),
    "threading.Thread(target=lambda: 1 / 0).start()": ("finished", FORGOTTEN),
    "fanal.finish(); sys.exit(3)": ("finished", None),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_the_process_is_the_end_of_the_run(end: str) -> None:
    python("run = fanal.init(dir='r', id='a'); fanal.log({'x': 1.0})", end)
    assert (read().attempts[0].outcome, read().attempts[0].reason) == ENDS[end]
    assert read().exact("x") == [1.0]


def test_what_was_before_the_run_is_not_its_end() -> None:
    python(
        """
        try:
            fanal.init(dir='r', id='first', reinit='create_new')
            sys.exit(3)
        except SystemExit:
            sys.last_value = ValueError()
        """,
        "fanal.init(dir='r', id='a')",
    )
    assert read().attempts[0].outcome == "finished"


def test_an_automatic_resume_does_not_go_on_with_a_run_that_ended_so() -> None:
    begin = "run = fanal.init(dir='r', resume='auto'); print(run.id)"
    failed, well, other = python(begin, "sys.exit(1)"), python(begin), python(begin)
    assert failed == well != other


def python(*code: str) -> str:
    lines = "\n".join(["import sys, threading, fanal", *map(textwrap.dedent, code)])
    return subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False).stdout

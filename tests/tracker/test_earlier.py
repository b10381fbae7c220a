"""What earlier attempts left is found again from closed segments and from open logs, without anything heavy."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import fanal
from fanal.tracker import earlier

RECORD = Path("r")


def attempt(code: str, *, killed: bool) -> None:
    whole = f"import os, fanal\n{textwrap.dedent(code)}\n" + (
        f"os.kill(os.getpid(), {int(signal.SIGKILL)})" if killed else ""
    )
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=False)
    assert done.returncode == (-signal.SIGKILL if killed else 0), done.stderr


@pytest.mark.parametrize("killed", [True, False], ids=["open log", "closed"])
def test_step_configuration_and_events_are_those_of_the_newest_that_has_any(killed: bool) -> None:
    attempt(
        """
        run = fanal.init(dir="r", id="a", config={"lr": 0.1, "big": 2**63 + 1})
        for step in range(20): run.log({"loss": 1.0}, step=step)
        """,
        killed=killed,
    )
    assert (earlier.exists(RECORD, "a"), earlier.exists(RECORD, "b")) == (True, False)
    assert earlier.next_step(RECORD, "a") == 20
    assert earlier.config(RECORD, "a") == {"lr": 0.1, "big": 2**63 + 1}
    attempt(
        """
        run = fanal.init(dir="r", resume_from="a?_step=4")
        run.log({"loss": 1.0, "text": "x"}, step=5)
        run.config["lr"] = 0.2
        run.flush()
        """,
        killed=killed,
    )
    assert earlier.next_step(RECORD, "a") == 6
    assert earlier.config(RECORD, "a") == {"lr": 0.2, "big": 2**63 + 1}
    attempt('fanal.init(dir="r", id="a")', killed=killed)
    assert earlier.next_step(RECORD, "a") == 6, "an attempt without rows leaves it to the one before"
    assert [event.fields["cause"] for event in earlier.events(RECORD, "a", 2) if event.kind == "attempt.start"] == [
        "rewind"
    ]


def test_a_blob_that_is_gone_costs_its_part_only() -> None:
    run = fanal.init(dir="r", id="a", config={"lr": 0.1})
    run.config["depth"] = 4
    fanal.finish()
    first = fanal.open("r").runs["a"].events("config")[0].fields["config"]["$blob"]
    os.unlink(RECORD / "blobs" / first)  # noqa: PTH108
    assert earlier.config(RECORD, "a") == {"depth": 4}
    assert fanal.init(dir="r", id="a", resume="must").config.as_dict() == {"depth": 4}


def test_nothing_is_found_where_nothing_is() -> None:
    assert (earlier.next_step(RECORD, "a"), earlier.config(RECORD, "a")) == (0, {})


@pytest.mark.parametrize("name", ["resume_from", "fork_from"])
def test_a_step_beyond_the_last_is_said_and_gone_on_from(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    fanal.init(dir="r", id="a").log({"x": 1.0}, step=7)
    fanal.finish()
    fanal.init(dir="r", **{name: "a?_step=7"})
    assert "last step" not in capsys.readouterr().err
    fanal.finish()
    run = fanal.init(dir="r", **{name: "a?_step=100000"})
    assert run.step == 100001
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "last step" in line]
    assert line.startswith("fanal: a: init: it goes on after step 100000, and its last step is 7")


def test_resume_without_an_id_says_what_is_missing() -> None:
    with pytest.raises(fanal.UsageError, match="resume='must' needs an id"):
        fanal.init(dir="r", resume="must")


def test_what_a_second_call_asks_for_and_does_not_get_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run = fanal.init(dir="r", id="a", project="one", tags=["x"])
    assert fanal.init(id="a", project="OTHER", tags=["x"], dir="elsewhere") is run
    assert "what this call says of project, dir counts for nothing" in capsys.readouterr().err
    assert fanal.init(id="a", project="one", dir="r") is run
    assert "it goes on (reinit=True" in capsys.readouterr().err

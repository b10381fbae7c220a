"""Several writers at once: on one run, on one record, in one process; and who is refused."""

import time
from pathlib import Path

import pytest

import fanal
from fanal.errors import RecordError
from fanal.record import layout
from fanal.record.attempt import Start, journal, start
from fanal.record.proof.journal_facts import journal_facts
from fanal.record.proof.verify import verify
from tests.worlds.processes import begin


def test_writers_that_share_a_run_are_one_attempt(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a", name="One", shared=True, config={"lr": 0.1}))
        for n in range(100):
            run.log({"x": n, sys.argv[2]: n / 2}, n)
        run.finish()
    """
    others = [begin(code, tmp_path / "r", f"w{n}") for n in range(3)]
    for other in others:
        other.communicate()
    assert [other.returncode for other in others] == [0, 0, 0]
    view = fanal.open(tmp_path / "r").runs["a"]
    assert [attempt.number for attempt in view.attempts] == [1]
    assert {event.fields["name"] for event in view.events("attempt.start")} == {"One"}
    assert len(view.series("x")) == 300
    assert [len(view.series(f"w{n}")) for n in range(3)] == [100] * 3
    assert view.config == {"lr": 0.1}
    report = verify(tmp_path / "r")
    assert report.ok, report.words


def test_an_attempt_whose_first_process_wrote_nothing_is_begun_by_the_next(tmp_path: Path) -> None:
    start(tmp_path / "r", Start(id="other")).finish()
    (tmp_path / "r" / "runs" / "a" / "1").mkdir(parents=True)
    run = start(tmp_path / "r", Start(id="a", shared=True))
    run.log({"x": 1.0})
    run.finish()
    (attempt,) = fanal.open(tmp_path / "r").runs["a"].attempts
    assert (attempt.number, attempt.cause) == (1, "start")


def test_facts_about_the_record_are_written_beside_living_writers(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is no record"), journal(tmp_path / "r"):
        pass
    run = start(tmp_path / "r", Start(id="a"))
    for n in range(2):
        with journal(tmp_path / "r") as one, journal(tmp_path / "r") as two:
            one.event("note", text=f"one {n}")
            two.event("note", text=f"two {n}")
    run.log({"x": 1.0})
    run.finish()
    record = fanal.open(tmp_path / "r")
    assert list(record.runs) == ["a"]
    facts = [fact.fields["text"] for fact in journal_facts(tmp_path / "r", "note")]
    assert sorted(facts) == ["one 0", "one 1", "two 0", "two 1"]
    assert layout.attempts_of(tmp_path / "r", "_record") == [1]
    assert verify(tmp_path / "r").ok


def test_of_processes_that_begin_a_run_at_once_one_goes_on(tmp_path: Path) -> None:
    code = """
        import os, sys, time
        from pathlib import Path
        from fanal.errors import RefusedError
        from fanal.record.attempt import Start, start
        print("ready", flush=True)
        time.sleep(max(float(input()) - time.time(), 0))
        try:
            run = start(Path(sys.argv[1]), Start(id="a"))
        except RefusedError as error:
            print("refused", error, flush=True)
            sys.exit(0)
        run.log({"x": 1.0})
        print("begun", flush=True)
        input()
        os._exit(0)
    """
    others = [begin(code, tmp_path / "r") for _ in range(5)]
    at = time.time() + 1.0
    for other in others:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        other.stdin.write(f"{at}\n")
        other.stdin.flush()
    said = [other.stdout.readline() for other in others if other.stdout]
    for other in others:
        other.communicate("\n")
    assert sorted(line.split()[0] for line in said) == ["begun", *["refused"] * 4]
    assert layout.attempts_of(tmp_path / "r", "a") == [1]


def test_several_runs_of_one_process_do_not_meet(tmp_path: Path) -> None:
    runs = [start(tmp_path / "r", Start(id=f"a{n}")) for n in range(4)]
    for step in range(50):
        for n, run in enumerate(runs):
            run.log({"x": n * 100 + step}, step)
    for run in runs:
        run.finish()
    record = fanal.open(tmp_path / "r")
    assert [record.runs[f"a{n}"].exact("x") for n in range(4)] == [[n * 100 + s for s in range(50)] for n in range(4)]

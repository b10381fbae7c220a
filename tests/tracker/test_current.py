"""`init` takes what people pass to their tracker, begins what they mean, and leaves nothing of an earlier attempt."""

import inspect
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import fanal
from fanal.errors import RefusedError
from fanal.record.copies.publishing import state_file, work_of
from fanal.tracker.current import init
from tests.tracker.conftest import read

GIVEN = [
    *("entity", "project", "dir", "id", "name", "notes", "tags", "config", "config_exclude_keys"),
    *("config_include_keys", "allow_val_change", "group", "job_type", "mode", "force", "reinit", "resume"),
    *(
        "resume_from",
        "fork_from",
        "save_code",
        "tensorboard",
        "sync_tensorboard",
        "monitor_gym",
        "settings",
        "anonymous",
    ),
]


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)


def test_the_arguments_have_the_names_order_and_defaults_that_people_know() -> None:
    parameters = list(inspect.signature(init).parameters.values())
    assert [p.name for p in parameters[: len(GIVEN)]] == GIVEN
    assert all(p.default is None for p in parameters[: len(GIVEN)])
    ours = {p.name for p in parameters[len(GIVEN) :]}
    assert ours == {"publish", "withhold", "role", "cause", "from_step", "others"}


def test_labels_are_on_the_run_and_in_the_record() -> None:
    run = fanal.init(
        "team", "proj", "r", "a", "A name", "what we try", ["x", "y"], {"lr": 0.1}, group="g", job_type="train"
    )
    assert (run.entity, run.project, run.id, run.name, run.notes) == ("team", "proj", "a", "A name", "what we try")
    assert (run.tags, run.group, run.job_type, run.path) == (("x", "y"), "g", "train", "team/proj/a")
    assert (run.step, run.resumed, run.disabled, run.url) == (0, False, False, None)
    assert fanal.run is run
    fanal.finish()
    (start,) = read().events("attempt.start")
    wanted = {"name": "A name", "project": "proj", "tags": ["x", "y"], "group": "g", "job_type": "train"}
    assert {key: start.fields[key] for key in wanted} == wanted
    assert start.fields["notes"]["$blob"]
    assert read().config == {"lr": 0.1}
    assert read().events("settings")[0].fields["given"] == {"entity": "team"}


def test_what_fanal_does_not_act_on_is_recorded_and_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    fanal.init(
        dir="r", id="a", sync_tensorboard=True, monitor_gym=False, made_up_next_year=3, settings={"console": "off"}
    )
    fanal.finish()
    (event,) = read().events("settings")
    assert event.fields["call"] == "init"
    assert event.fields["given"] == {"sync_tensorboard": True, "made_up_next_year": 3, "settings": {"console": "off"}}
    said = capsys.readouterr().err
    assert said.count("sync_tensorboard") == 1
    assert "monitor_gym" not in said


def test_without_a_run_there_is_none_and_a_call_says_what_to_do() -> None:
    assert fanal.run is None
    assert fanal.get_run() is None
    for call in (lambda: fanal.log({"x": 1}), lambda: fanal.define_metric("x"), lambda: fanal.config.update({"a": 1})):
        with pytest.raises(RuntimeError, match=r"there is no run; call fanal\.init"):
            call()
    with pytest.raises(fanal.Error):
        fanal.config["lr"]
    fanal.finish()  # nothing to end: nothing said


def test_resume_goes_on_after_the_last_step_with_the_configuration_it_had() -> None:
    fanal.init(dir="r", id="a", config={"lr": 0.1, "depth": 4})
    for _ in range(3):
        fanal.log({"loss": 1.0})
    fanal.finish()
    run = fanal.init(dir="r", id="a", resume="allow", config={"lr": 0.05})
    assert (run.resumed, run.step, run.attempt) == (True, 3, 2)
    assert run.config.as_dict() == {"lr": 0.05, "depth": 4}
    fanal.log({"loss": 0.5})
    fanal.finish()
    view = read()
    assert view.series("loss").steps.tolist() == [0, 1, 2, 3]
    assert [attempt.config for attempt in view.attempts] == [{"lr": 0.1, "depth": 4}, {"lr": 0.05, "depth": 4}]
    assert [attempt.cause for attempt in view.attempts] == ["start", "resume"]


def test_resume_after_a_kill_finds_the_step_in_the_open_log() -> None:
    code = """
        import os, signal, fanal
        fanal.init(dir="r", id="a", config={"lr": 0.1})
        for _ in range(5): fanal.log({"loss": 1.0})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert python(code).returncode < 0
    run = fanal.init(dir="r", id="a", resume="must")
    assert run.step == 5
    assert run.config["lr"] == 0.1


def test_must_and_never_are_held() -> None:
    with pytest.raises(fanal.UsageError, match="has no run 'a'"):
        fanal.init(dir="r", id="a", resume="must")
    fanal.init(dir="r", id="a")
    fanal.finish()
    with pytest.raises(RefusedError, match="has a run 'a'"):
        fanal.init(dir="r", id="a", resume="never")
    with pytest.raises(fanal.UsageError, match="resume must be one of"):
        fanal.init(dir="r", id="a", resume="sometimes")


def test_auto_resumes_what_did_not_end_well_and_nothing_else() -> None:
    code = """
        import os, signal, fanal
        run = fanal.init(dir="r", resume=True)
        print(run.id, run.step, flush=True)
        fanal.log({"loss": 1.0})
        os.kill(os.getpid(), signal.SIGKILL)
    """
    first, second = python(code).stdout.split(), python(code).stdout.split()
    assert first[0] == second[0]
    assert [first[1], second[1]] == ["0", "1"]
    fanal.init(dir="r", resume="auto")
    fanal.finish()
    assert fanal.init(dir="r", resume="auto").id != first[0]


def test_resume_from_is_a_rewind_and_what_it_supersedes_stays() -> None:
    fanal.init(dir="r", id="a")
    for step in range(6):
        fanal.log({"loss": float(step)})
    fanal.finish()
    run = fanal.init(dir="r", resume_from="a?_step=2")
    assert (run.id, run.step, run.attempt) == ("a", 3, 2)
    fanal.log({"loss": 30.0})
    fanal.finish()
    view = read()
    assert view.series("loss").values.tolist() == [0.0, 1.0, 2.0, 30.0]
    assert view.series("loss", attempt=1).values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert view.attempts[1].cause == "rewind"


def test_fork_from_is_a_run_of_its_own_that_stands_on_the_other() -> None:
    fanal.init(dir="r", id="a", config={"lr": 0.1})
    for step in range(6):
        fanal.log({"loss": float(step)})
    fanal.finish()
    run = fanal.init(dir="r", id="b", fork_from="a?_step=2", config={"lr": 0.2})
    assert (run.id, run.step) == ("b", 3)
    fanal.log({"loss": 30.0})
    fanal.finish()
    assert read("b").series("loss").values.tolist() == [0.0, 1.0, 2.0, 30.0]
    assert read("a").series("loss").values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert read("b").config == {"lr": 0.2}
    for wrong, message in (("a@3", "_step=<step>"), ("none?_step=3", "has no run 'none'")):
        with pytest.raises(fanal.UsageError, match=message):
            fanal.init(dir="r", fork_from=wrong)


def test_a_second_init_goes_on_unless_it_means_another_run(capsys: pytest.CaptureFixture[str]) -> None:
    first = fanal.init(dir="r", id="a")
    assert fanal.init(config={"lr": 0.1}) is first
    assert "goes on" in capsys.readouterr().err
    assert first.config["lr"] == 0.1
    assert fanal.init(reinit="return_previous", name="other") is not first  # a name is a run
    second = fanal.run
    assert second is not None
    assert first.ended
    third = fanal.init(dir="r", id="c", reinit="create_new")
    assert not second.ended
    assert fanal.run is second, "a run beside the current one leaves it current"
    second.log({"x": 1.0})
    third.finish()
    second.finish()
    fourth = fanal.init(dir="r", id="d")
    assert fanal.init(dir="r", id="e", reinit=True) is not fourth
    assert fourth.ended


def test_a_disabled_run_takes_everything_and_writes_nothing(tmp_path: Path) -> None:
    run = fanal.init(project="p", mode="disabled", config={"lr": 0.1})
    run.log({"x": 1.0, "n": {"a": 2}})
    run.summary["best"] = 3
    run.define_metric("x", summary="max")
    run.alert("title", "text")
    run.log({"image": fanal.Histogram([1, 2, 3])})
    assert (run.disabled, run.config.lr, run.summary["x"], fanal.run is run) == (True, 0.1, 1.0, True)
    fanal.finish()
    assert list(tmp_path.iterdir()) == []


def test_two_processes_share_a_run() -> None:
    fanal.init(dir="r", id="a", mode="shared")
    code = """
        import fanal
        fanal.init(dir="r", id="a", mode="shared")
        for step in range(10): fanal.log({"other": step}, step=step)
        fanal.finish()
    """
    done = python(code)
    assert done.returncode == 0, done.stderr
    fanal.log({"own": 1.0}, step=3)
    fanal.finish()
    assert read().exact("other") == list(range(10))
    assert read().exact("own") == [1.0]
    assert len(read().attempts) == 1


def test_a_forked_child_logs_to_the_parents_run_and_may_begin_its_own() -> None:
    code = """
        import os, fanal
        run = fanal.init(dir="r", id="a")
        if os.fork() == 0:
            fanal.log({"child": 1.0}, step=7)
            other = fanal.init(dir="r", id="b")
            assert other is not run
            other.log({"x": 1.0})
            other.finish()
            os._exit(0)
        os.wait()
        fanal.log({"parent": 2.0})
        fanal.finish()
    """
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert read("a").exact("parent") == [2.0]
    assert read("a").exact("child") == [1.0]
    assert read("b").exact("x") == [1.0]


def test_an_error_in_the_script_is_the_attempts_end() -> None:
    assert (
        python('import fanal; fanal.init(dir="r", id="a"); fanal.log({"x": 1}); raise KeyError("hf_secret")').returncode
        == 1
    )
    assert (read().attempts[0].outcome, read().attempts[0].reason) == ("failed", "KeyError")


def test_a_folder_that_holds_other_things_gets_the_record_inside(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoint.bin").write_bytes(b"x")
    run = fanal.init(dir="out", project="p", id="a")
    assert run.record.path == tmp_path / "out" / "fanal" / "p"


def test_variables_count_where_no_argument_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {
        "WANDB_PROJECT": "theirs",
        "FANAL_PROJECT": "ours",
        "WANDB_NAME": "named",
        "WANDB_TAGS": "a, b",
        "WANDB_RUN_GROUP": "g",
        "WANDB_JOB_TYPE": "eval",
        "WANDB_NOTES": "",
        "WANDB_DIR": str(tmp_path / "logs"),
        "WANDB_RUN_ID": "fixed",
    }.items():
        monkeypatch.setenv(name, value)
    run = fanal.init(job_type="train", settings=fanal.Settings(run_group="by settings"))
    assert (run.project, run.name, run.tags, run.notes, run.id) == ("ours", "named", ("a", "b"), None, "fixed")
    assert (run.group, run.job_type) == ("by settings", "train")
    assert run.record.path == tmp_path / "logs" / "fanal" / "ours"
    fanal.finish()
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert fanal.init().disabled


def test_online_is_said_to_be_local_once(capsys: pytest.CaptureFixture[str]) -> None:
    fanal.init(dir="r", mode="online")
    assert capsys.readouterr().err.count("nothing is uploaded") == 1
    with pytest.raises(fanal.UsageError, match="mode must be one of"):
        fanal.init(mode="offlin", reinit=True)


def test_publish_starts_the_publisher_and_says_the_address_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    words = state_file(work_of(tmp_path / "r", "s3://bucket/run")).with_suffix(".log")
    words.parent.mkdir(parents=True)
    words.write_text("https://of.an.earlier.run/\n")
    started: list[tuple[Path, str]] = []

    def start(record: Path, dest: str) -> Path:
        started.append((record, dest))
        with words.open("a") as file:
            file.write("fanal: trying again\nhttps://bucket.example/run/\n")
        return words

    monkeypatch.setattr("fanal.record.copies.publishing.start", start)
    run = fanal.init(dir="r", publish="s3://bucket/run")
    assert (run.url, run.offline) == ("s3://bucket/run", False)
    assert started == [(run.record.path, "s3://bucket/run")]
    fanal.finish()
    said = capsys.readouterr().err
    assert (said.count("s3://bucket/run"), said.count("is published: https://bucket.example/run/")) == (1, 1)
    assert run.url == "https://bucket.example/run/"


def test_a_publisher_that_cannot_start_stops_no_training(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(*_: object) -> Path:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr("fanal.record.copies.publishing.start", start)
    fanal.init(dir="r", publish="s3://bucket/run")
    assert "the publisher cannot start: Permission denied" in capsys.readouterr().err


def test_what_is_withheld_by_pattern_is_in_a_writer_of_its_own() -> None:
    fanal.init(
        dir="r", id="a", withhold=["customer/*", ("config:path", "names a machine")], config={"path": "/x", "lr": 1}
    )
    fanal.log({"customer/loss": 1.0, "loss": 2.0})
    fanal.finish()
    assert set(read().withheld.values()) == {"withheld by the script", "names a machine"}
    assert read().config == {"lr": 1, "path": "/x"}
    assert read().exact("customer/loss") == [1.0]


def test_importing_and_beginning_load_nothing_heavy() -> None:
    code = """
        import sys, fanal
        fanal.init(dir="r", id="a", config={"lr": 0.1}, settings={"x_disable_meta": False})
        fanal.log({"x": 1.0, "t": fanal.Table(columns=["a"], data=[[1]]), "h": fanal.Histogram([1.0, 2.0])})
        fanal.finish()
        heavy = {"numpy", "pyarrow", "cryptography", "PIL", "torch", "jax", "yaml", "asyncio", "http"}
        print(sorted(heavy & set(sys.modules)))
    """
    done = python(code)
    assert done.stdout.strip() == "[]", done.stderr


def test_facts_that_cannot_be_found_stop_nothing(tmp_path: Path) -> None:
    code = """
        import os, fanal
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
        fanal.init(dir=os.environ["RECORD"], id="a", settings={"x_disable_meta": False})
        fanal.log({"x": 1.0})
        fanal.finish()
    """
    os.environ["RECORD"] = str(tmp_path / "r")
    done = python(code)
    del os.environ["RECORD"]
    assert (done.returncode, done.stderr.count("are not recorded")) == (0, 1), done.stderr
    assert read().exact("x") == [1.0]


def test_many_runs_leave_no_thread_and_no_file_open() -> None:
    folder = Path(f"/proc/{os.getpid()}/fd")
    fanal.init(dir="r", id="warm")
    fanal.finish()
    before = len(list(folder.iterdir()))
    for number in range(5):
        fanal.init(dir="r", id=f"run-{number}", reinit=True)
        fanal.log({"x": 1.0})
    fanal.finish()
    assert len(list(folder.iterdir())) == before

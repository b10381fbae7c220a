"""The command line's shape is a promise: a command or an option that goes away breaks somebody's script."""

import argparse
import subprocess
import sys
from pathlib import Path

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
    "verify": "path --deep --json --key --since",
    "report": "path --json",
    "serve": "path --json --port",
    "sql": "path --json",
    "publish": "path dest --address --allow --dry-run --estimate --every --json --watch",
    "follow": "url copy --interval --json --once",
    "import": "kind source --into --json --live --until-idle",
    "stitch": "path runs --as --json",
    "redact": "path blob --json --reason --replace",
    "anchor": "path --git --json --push",
    "key new": "path --json",
    "key show": "path --json",
    "key rotate": "path --json --reason",
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


def run(*words: str, after: str = "") -> subprocess.CompletedProcess[str]:
    quoted = " ".join([sys.executable, "-m", "fanal", *words])
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {quoted} {after}"], capture_output=True, text=True, timeout=60
    )


def test_a_reader_that_goes_away_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text("{}")
    damaged = run("verify", str(tmp_path))
    assert damaged.returncode == 1
    assert run("verify", str(tmp_path), after="| true").returncode == 1


def test_a_file_in_the_way_is_named_and_is_no_fault_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("run", "firefly", "--dir", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "file" in done.stderr
    assert "fault" not in done.stderr


def test_an_unknown_campaign_names_the_nearest() -> None:
    done = run("plan", "lantren")
    assert done.returncode == 2
    assert "lantern" in done.stderr


@pytest.mark.parametrize("port", ["-1", "70000", "x"])
def test_a_port_that_is_none_is_refused(port: str, tmp_path: Path) -> None:
    done = run("serve", str(tmp_path), f"--port={port}")
    assert done.returncode == 2
    assert "--port" in done.stderr


def test_an_external_trainer_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    text = (Path(cli.__file__).parents[1] / "campaigns" / "firefly.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text.replace('kind = "fanal"', 'kind = "external"\ncommand = "true {hidden}"'))
    done = run("run", str(tmp_path / "mine.toml"), "--dir", str(tmp_path / "runs"))
    assert done.returncode == 3, done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_campaign_with_nowhere_to_publish_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    text = (Path(cli.__file__).parents[1] / "campaigns" / "firefly.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(f'{text}\n[publish]\nto = "foo://x"\n')
    done = run("run", str(tmp_path / "mine.toml"), "--dir", str(tmp_path / "runs"))
    assert done.returncode == 2, done.stderr
    assert "publish.to" in done.stderr
    assert "foo" in done.stderr
    assert not (tmp_path / "runs" / "firefly" / "record").exists()

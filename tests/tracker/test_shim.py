"""After `fanal.shim()` `import wandb` is Fanal, for imports, look-ups of the module and questions for its version."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest


def python(code: str, *, rc: int = 0) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == rc, done.stderr
    return done.stdout + done.stderr


def test_a_script_that_says_import_wandb_writes_a_record() -> None:
    said = python(
        """
        import fanal
        fanal.shim()
        import wandb
        assert wandb.run is None
        run = wandb.init(project="p", id="a", config={"lr": 0.1})
        assert isinstance(run, wandb.Run) and wandb.run is run and wandb.config.lr == 0.1
        wandb.log({"loss": 1.0}, step=2)
        wandb.summary["best"] = 1
        wandb.finish()
        print(wandb.run, fanal.open("fanal/p").runs["a"].exact("loss"), fanal.shim() is wandb)
        """
    )
    assert said.strip() == "None [1.0] True"


def test_the_modules_that_libraries_import_are_there() -> None:
    python(
        """
        import fanal
        fanal.shim()
        import wandb.util, wandb.errors, wandb.plot, wandb.env, wandb.apis.public, wandb.integration, wandb.data_types
        from wandb import Artifact, AlertLevel, Settings
        from wandb.sdk.lib import RunDisabled
        from wandb.sdk.lib.config_util import ConfigError
        from wandb.sdk.lib.runid import generate_id
        from wandb.sdk.wandb_run import Run
        from wandb.wandb_run import Run as Again
        from wandb.data_types import Table, Image
        from wandb.errors import CommError, UsageError, Error
        from wandb.sdk.artifacts.artifact import Artifact as Third
        assert Run is Again is fanal.Run and Table is fanal.Table and Artifact is Third
        assert len(generate_id()) == len(wandb.util.generate_id()) == 8 and issubclass(ConfigError, Error)
        assert wandb.plot.line and hasattr(wandb, "define_metric") and not hasattr(wandb, "no_such_thing")
        try:
            import wandb.integration.keras
        except ModuleNotFoundError as error:
            print(error)
        """
    )


def test_look_ups_and_version_checks_of_other_libraries_pass() -> None:
    said = python(
        """
        import importlib.metadata, importlib.util
        import fanal
        fanal.shim()
        import wandb
        assert importlib.util.find_spec("wandb") is wandb.__spec__
        assert importlib.util.find_spec("wandb.sdk") is not None
        assert importlib.metadata.version("wandb") == wandb.__version__
        assert importlib.metadata.metadata("wandb")["Name"] == "wandb"
        assert importlib.metadata.version("pytest")
        print(wandb.__version__, wandb.__file__)
        """
    )
    version, file = said.split()
    major, minor, *_ = version.split("+")[0].split(".")
    assert (int(major), int(minor)) >= (0, 28)
    assert "+fanal." in version, "it says what it is"
    assert Path(file).name == "shim.py"


def test_beside_the_real_one_it_is_refused() -> None:
    said = python(
        """
        import sys, types
        sys.modules["wandb"] = types.ModuleType("wandb")
        import fanal
        try:
            fanal.shim()
        except fanal.Error as error:
            print(error)
        """
    )
    assert "imported already: call it before" in said


def test_the_module_itself_works_under_the_other_name() -> None:
    python(
        """
        import fanal as wandb
        with wandb.init(project="p", id="a") as run:
            wandb.log({"loss": 1.0})
            run.log({"hist": wandb.Histogram([1, 2]), "html": wandb.Html("<p>x</p>")})
        """
    )


@pytest.mark.parametrize("name", ["__wrapped__", "no_such_name", "_private"])
def test_names_that_are_not_there_are_attribute_errors(name: str) -> None:
    import fanal  # noqa: PLC0415  beside the calls above, which are other processes

    assert not hasattr(fanal, name)

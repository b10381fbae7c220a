"""Runs a script twice, each time in a process and a folder of its own: with the real wandb, offline, and with the shim.

The shim's process has no wandb: its packages are links to all others. Both see the same variables and a home of their
own; neither reaches a network.
"""

import os
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
SCRIPTS = {path.stem: path for path in sorted((HERE / "scripts").glob("*.py"))}
OWN = {path.stem: path for path in sorted((HERE / "own").glob("*.py"))}
"""The trainings of the scripts of the same names, written by callbacks of Fanal's own."""
SECONDS = 200
VARIABLES = {
    "WANDB_MODE": "offline",
    "WANDB_CONSOLE": "off",
    "WANDB_SILENT": "true",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_X_DISABLE_STATS": "true",
    "FANAL_SYSTEM": "0",
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "PYTHONWARNINGS": "ignore",
}


@dataclass(frozen=True)
class Ran:
    """What a script's process left."""

    folder: Path
    """Where it ran."""
    exit_code: int
    printed: str
    """Its standard output."""
    errors: str
    """Its standard error."""


def packages_without_wandb(folder: Path) -> Path:
    """A folder of links to every installed package but wandb."""
    folder.mkdir(parents=True)
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(place).iterdir():
            if not path.name.startswith("wandb") and path.suffix != ".pth":
                (folder / path.name).symlink_to(path)
    return folder


def run_script(side: str, script: Path, folder: Path, packages: Path) -> Ran:
    """Run `script` in `folder`: with `wandb`, with the `shim`, or on its `own`; `packages` is for the last two."""
    (folder / "home").mkdir(parents=True)
    (folder / "work").mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB", "FANAL", "PYTHON", "XLA", "JAX", "COV"))}
    environment = kept | VARIABLES | {"HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    alone: tuple[str, ...] = ()
    if side != "wandb":
        alone = ("-S",)
        environment["PYTHONPATH"] = f"{ROOT}{os.pathsep}{packages}"
    done = subprocess.run(
        (sys.executable, *alone, str(HERE / "preamble.py"), side, str(script)),
        cwd=folder / "work",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Ran(folder / "work", done.returncode, done.stdout, done.stderr)


def run_both(real: Path, ours: tuple[str, Path], folder: Path, packages: Path) -> tuple[Ran, Ran]:
    """A script with the real wandb and, at the same time, one with a side of ours."""
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(run_script, side, s, folder / side, packages) for side, s in (("wandb", real), ours)]
        theirs, kept = (job.result() for job in jobs)
    return theirs, kept

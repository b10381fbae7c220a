"""Runs a user's script as it is, as `__main__`; where the first argument is `shim`, `fanal.shim()` comes before it.

usage: python preamble.py wandb|shim SCRIPT
"""

import runpy
import sys
from pathlib import Path

import fanal

side, script = sys.argv[1:]
sys.argv[:] = [script]
sys.path[0] = str(Path(script).parent)
if side == "shim":
    fanal.shim()
runpy.run_path(script, run_name="__main__")

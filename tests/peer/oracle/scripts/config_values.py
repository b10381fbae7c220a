"""Config values of all kinds: nested, lists, tuples, None, booleans, NumPy's, paths."""

from pathlib import PurePosixPath

import numpy as np
import wandb

config = {
    "model": {"depth": 12, "heads": [4, 8], "shape": (3, 224, 224), "bias": False},
    "none": None,
    "big": 2**40,
    "tiny": 1e-300,
    "np_float": np.float32(0.1),
    "np_int": np.int64(7),
    "np_array": np.arange(3),
    "path": PurePosixPath("/data/train"),
    "text": "naïve → 漢字",
    "empty": {},
    "dotted.key": 1,
}
run = wandb.init(project="values", config=config)
run.log({"loss": 1})
run.finish()

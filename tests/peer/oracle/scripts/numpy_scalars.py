"""NumPy's numbers and small arrays."""

import numpy as np
import wandb

run = wandb.init(project="numpy")
run.log(
    {"f64": np.float64(0.1), "f32": np.float32(0.1), "f16": np.float16(0.1), "i8": np.int8(-3), "u64": np.uint64(9)}
)
run.log({"u64": np.uint64(9), "bool": np.bool_(True), "zero_d": np.array(1.25), "one": np.array([2.5])})
run.log({"few": np.arange(5), "nan": np.float32("nan")})
run.finish()

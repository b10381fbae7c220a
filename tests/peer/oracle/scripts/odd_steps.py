"""Steps of other kinds: NumPy's, a float, a text, a negative one, a huge one; a held row, then a step."""

import numpy as np
import wandb

run = wandb.init(project="steps")
run.log({"held": 1}, commit=False)
run.log({"numpy": 1}, step=np.int64(3))
run.log({"zero_d": 2}, step=np.array(5))
for step in (6.0, "seven", -1):
    try:
        run.log({f"as {type(step).__name__}": 3}, step=step)
    except TypeError:
        print("refused:", step)
run.log({"huge": 4}, step=2**40)
run.log({"after": 5})
print(run.step)
run.finish()

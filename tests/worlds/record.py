"""Records that several tests read: `tiny_record` (two attempts, a rewind, NaN, a spike) and `wide_record`.

Both are written through the tracker by this process. What they hold is given by functions, so that a test knows every
value without reading it back.
"""

import math
from pathlib import Path

from fanal.record.attempt import Start, start

RUN = "tiny"
FIRST_STEPS = range(100)
REWIND_TO = 80
SECOND_STEPS = range(REWIND_TO, 120)
NAN_STEP, INF_STEP, SPIKE_STEP, SPIKE = 50, 55, 60, 99.0
BIG = 2**60 + 1
EVAL_EVERY = 10


def loss(attempt: int, step: int) -> float:
    """`train/loss` as logged."""
    odd = {NAN_STEP: math.nan, INF_STEP: -math.inf, SPIKE_STEP: SPIKE}
    return odd.get(step, 3.0 - step / 100 - attempt / 1000)


def shown_losses() -> dict[int, float]:
    """What the default view shows, by step."""
    return {s: loss(1, s) for s in FIRST_STEPS if s < REWIND_TO} | {s: loss(2, s) for s in SECOND_STEPS}


def tiny_record(folder: Path) -> Path:
    """A record with one run of two attempts, the second a rewind, both ended."""
    for attempt, steps in ((1, FIRST_STEPS), (2, SECOND_STEPS)):
        how = Start(project="worlds", id=RUN, name="Tiny", config={"lr": 0.1 / attempt}, role="hero")
        if attempt == 2:
            how = Start(project="worlds", id=RUN, config={"lr": 0.05}, role="hero", cause="rewind", from_step=REWIND_TO)
        run = start(folder, how)
        for step in steps:
            run.log({"train/loss": loss(attempt, step), "train/tokens": 128 * (step + 1), "flag": step % 2 == 0}, step)
            if step % EVAL_EVERY == 0:
                run.log({"eval/macro": 2.0 + step, "big": BIG + step}, step)
        run.event("sample", step=steps[-1], prompt="Once", text=f"Once upon attempt {attempt}", temperature=0.0)
        run.finish("interrupted" if attempt == 1 else "finished", None if attempt == 2 else "loss too high")
    return folder


def wide_key(number: int) -> str:
    """The name of a key of `wide_record`."""
    return f"layer{number // 20}/norm/{number % 20:02d}"


def wide_value(key: int, row: int) -> float:
    """A value of `wide_record`; exact in float32."""
    return (key + 1) / 4 + row / 1024


def wide_record(folder: Path, keys: int, rows: int) -> Path:
    """A record with one ended run, `wide`, that logs `keys` keys each 10 steps."""
    names = [wide_key(number) for number in range(keys)]
    run = start(folder, Start(id="wide"))
    for row in range(rows):
        run.log({name: wide_value(key, row) for key, name in enumerate(names)}, row * 10)
    run.finish()
    return folder

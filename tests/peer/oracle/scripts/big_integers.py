"""Integers around the ends of 53 and 64 bits, and floats around the ends of theirs."""

import wandb

run = wandb.init(project="integers")
for value in (2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)):
    run.log({"count": value})
for value in (5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e16, 1e22, 123456789.123456789):
    run.log({"value": value})
run.log({"beyond": 2**63 + 1})
run.log({"far_beyond": 10**30})
run.finish()

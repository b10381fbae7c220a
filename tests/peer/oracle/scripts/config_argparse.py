"""A config straight from argparse."""

import argparse

import wandb

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=3e-4)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--name", default=None)
parser.add_argument("--amp", action="store_true")
parser.add_argument("--layers", type=int, nargs="*", default=[64, 64])
args = parser.parse_args([])

run = wandb.init(project="argparse", config=args)
for epoch in range(3):
    run.log({"loss": args.lr * epoch})
print(run.config.lr, run.config["batch_size"], run.config.layers)
run.finish()

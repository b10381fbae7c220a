"""Scripts that import wandb, run with the real one and with ours: what each kept, side by side.

`python -m tests.peer.oracle` prints the differences that no line of `differences.toml` gives a reason for, and writes
`docs/oracle.md`.
"""

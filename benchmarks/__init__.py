"""Measurements of speed and memory, each a module with `measure() -> dict`, written to `benchmarks/results/`."""

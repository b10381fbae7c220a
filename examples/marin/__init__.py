"""Public figures of the Marin 535B run as a record: `python -m examples.marin FIGURES RECORD` makes it."""

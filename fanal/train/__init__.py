"""One training: its state, the order of a step, what is written, saved and gone on from."""

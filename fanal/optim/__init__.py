"""Gradients to updates: Adam, MuonH and AdamH by group, and the guard that applies an update or skips it."""

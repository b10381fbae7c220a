"""(model, batches) → scores: token-weighted sums, independent of how the text was cut into batches."""

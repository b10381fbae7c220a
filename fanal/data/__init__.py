"""Documents to tokens to batches: sources, cleaning, held-out sets, tokenizer, shards, mixture, order, trace."""

"""Token ids to logits: a mixture-of-experts decoder, its names, its initial values and its sampling."""

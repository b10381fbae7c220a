"""Golden texts: what must stay the same, at full precision, as lines of text. `make golden` writes them anew."""

"""What happened: an append-only, verifiable record that any trainer writes to and anyone can read."""

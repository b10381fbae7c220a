"""Intent: one TOML file becomes a typed campaign, and the campaign becomes exact plans of its runs."""

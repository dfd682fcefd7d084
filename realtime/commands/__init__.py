"""The commands other than `serve` and `doctor`, one module per kind."""

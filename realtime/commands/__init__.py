"""The commands of `realtime` but `serve` and `doctor`, a module for each kind."""

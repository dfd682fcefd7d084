"""The commands, one module per kind. `realtime.cli` finds them."""

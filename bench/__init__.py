"""What the server costs, measured beside a bare relay: `python -m bench` (see `docs/performance.md`)."""

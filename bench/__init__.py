"""Measures the cost of the server beside a bare relay: `python -m bench` (see `docs/performance.md`)."""

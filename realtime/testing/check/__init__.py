"""Assertions about a call, and the reading of a call behind them."""

"""Whose turn it is: pure, with time as an argument."""

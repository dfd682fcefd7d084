"""Whose turn it is, and which responses are due. Pure; time is an argument."""

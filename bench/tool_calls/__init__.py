"""Sentences to agents with ordinary tools, and the calls that are meant."""

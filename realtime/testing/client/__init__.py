"""Simulated users: their steps, their page, its microphone, speaker and socket."""

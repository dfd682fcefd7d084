"""Simulated users: the steps they do, the page they call with, its microphone, speaker and socket."""

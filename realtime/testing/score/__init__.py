"""The scoreboard: how well an agent listens, computed from a call's log and the labels of what it heard.

Definitions, and what is not comparable with published figures: docs/listening.md.
"""

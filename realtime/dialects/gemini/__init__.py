"""Gemini Live, as clients speak it."""

"""Gemini Live as a model."""

"""Realtime models and the seam they stand behind."""

"""Test cases as folders: reading, writing, export from stored calls, stand-ins for models and tools."""

"""Test cases as folders: read, written, made of calls that happened, and what stands in for models and tools."""

"""What a thinking agent remembers: messages, marks and a summary."""

from realtime.memory.base import MemoryBase
from realtime.memory.memory import InMemoryMemory

__all__ = ["InMemoryMemory", "MemoryBase"]

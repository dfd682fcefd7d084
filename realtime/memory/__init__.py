"""What a thinking agent remembers: messages, marks and a summary."""

from realtime.memory.base import MemoryBase

__all__ = ["MemoryBase"]

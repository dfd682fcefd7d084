"""What a thinking agent remembers: messages, marks and a summary; over many conversations, a long-term memory."""

from realtime.memory.base import MemoryBase
from realtime.memory.long_term import LongTermMemoryBase, Memory
from realtime.memory.memory import InMemoryMemory
from realtime.memory.redis import RedisMemory
from realtime.memory.sqlite_long_term import SqliteLongTermMemory

__all__ = ["InMemoryMemory", "LongTermMemoryBase", "Memory", "MemoryBase", "RedisMemory", "SqliteLongTermMemory"]

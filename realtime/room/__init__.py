"""Rooms: `ChatRoom`, and the `Observer` that listens in one."""

from realtime.room.chat_room import ChatRoom
from realtime.room.thinking import Observer

__all__ = ["ChatRoom", "Observer"]

"""Rooms: `ChatRoom`."""

from realtime.room.chat_room import ChatRoom

__all__ = ["ChatRoom"]

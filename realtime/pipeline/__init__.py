"""Rooms: `ChatRoom`."""

from realtime.pipeline.room import ChatRoom

__all__ = ["ChatRoom"]

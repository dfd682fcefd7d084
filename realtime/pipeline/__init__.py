"""`realtime.pipeline`, where AgentScope has `ChatRoom`: see `realtime.room`."""

from realtime.room import ChatRoom as ChatRoom

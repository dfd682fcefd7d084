"""The embedded model: recognition, a small mind and a voice in this process. No key, no GPU, no network."""

from realtime.model.local.connection import LocalRealtimeModel

__all__ = ["LocalRealtimeModel"]

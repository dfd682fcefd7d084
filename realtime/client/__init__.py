"""The Python client of a realtime server: `async with connect(url) as call`."""

from realtime.client.call import Call, connect
from realtime.client.captions import Caption
from realtime.client.outbox import INPUT_HZ
from realtime.client.speaker import OUTPUT_HZ
from realtime.errors import CallError

__all__ = ["INPUT_HZ", "OUTPUT_HZ", "Call", "CallError", "Caption", "connect"]

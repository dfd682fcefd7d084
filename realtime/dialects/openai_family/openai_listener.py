"""The listener of an OpenAI client: unpaced; the wall clock says what was played."""

from __future__ import annotations

from typing import Protocol

from realtime.audio.playback import WallClockPlayback
from realtime.call.listener import Dialect, Listener, Sink
from realtime.dialects.openai_family.openai_client import RATE_HZ
from realtime.event import server as s
from realtime.runtime import Runtime


class Follower(Dialect, Protocol):
    """A dialect that follows the call before its client does."""

    def follow(self, event: s.ServerEvent) -> None:
        """Note the event."""
        ...


class FollowingListener(Listener):
    """Lets the dialect follow the call at once; a client's request counts earlier speech as played."""

    def __init__(self, dialect: Follower, sink: Sink, runtime: Runtime) -> None:
        super().__init__(
            sink=sink,
            dialect=dialect,
            runtime=runtime,
            clock=WallClockPlayback(RATE_HZ),
            output_rate_hz=RATE_HZ,
            takes_unasked=False,
        )
        self._openai = dialect

    def deliver(self, event: s.ServerEvent) -> None:
        """See `Listener`."""
        self._openai.follow(event)
        super().deliver(event)

    def settle(self, item_ids: list[str]) -> None:
        """Count all that was sent of these items as played."""
        now = self._now()
        for item_id in item_ids:
            self.clock.truncate(item_id, self.clock.sent_ms(item_id), now)

"""The listener of a DashScope client: unpaced; the wall clock says what was played, since the client reports
nothing."""

from __future__ import annotations

from realtime.audio.playback import WallClockPlayback
from realtime.call.listener import Sink
from realtime.dialects.openai_family.dashscope_client import OUTPUT_RATE_HZ
from realtime.dialects.openai_family.openai_listener import Follower, FollowingListener
from realtime.runtime import Runtime


class DashScopeListener(FollowingListener):
    """Plays at the client's chosen rate; falls silent when the user begins to speak."""

    def __init__(self, dialect: Follower, sink: Sink, runtime: Runtime) -> None:
        super().__init__(dialect, sink, runtime)
        self.play_at(OUTPUT_RATE_HZ)

    def play_at(self, rate_hz: int) -> None:
        """Speech goes out at this rate from now on. Call it before the first speech: the count of what was played
        starts anew."""
        self.clock = WallClockPlayback(rate_hz)
        self.rate_hz = self._model_rate_hz = rate_hz
        self._resampler = None

    def fall_silent(self) -> None:
        """The client drops what it has not played yet."""
        self.clock.flush(self._now())

"""Whether something still happens in a call: its idle time, and clients that stop sending audio."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from realtime.call.audience import Audience
from realtime.call.participant import CurrentParticipant
from realtime.call.timers import Timers
from realtime.event import server as s

AUDIO_LOOK_S = 0.5
"""How often the call checks for a speaking user's audio."""
AUDIO_LOOKS = 4
"""After so many checks without any, 2 s, its turn is over: a network that stalls is mostly back before."""
IDLE_SLACK_S = 1e-3
"""Times are sums of fractions: no timer is set for less than this."""


@dataclass(slots=True, eq=False)
class Activity:
    """Watches one call, with its `timers`. A call is idle after `idle_s` seconds without speech or text."""

    current: CurrentParticipant
    audience: Audience
    timers: Timers
    now: Callable[[], float]
    idle_s: float
    _active_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._active_at = self.now()

    def begin(self, on_idle: Callable[[], None]) -> None:
        """Watch the idle time from now on; `on_idle` is called when the call is idle."""
        self.timers.after("idle", self.idle_s, partial(self._check_idle, on_idle))

    def note(self) -> None:
        """A client has done something."""
        self._active_at = self.now()

    def follow(self, event: s.ServerEvent) -> None:
        """The next event of the call, except speech."""
        if isinstance(event, s.AgentInputStartedEvent | s.AgentInputDoneEvent | s.AgentResponseCreatedEvent):
            self._active_at = self.now()
            if isinstance(event, s.AgentInputStartedEvent):
                self._watch_audio(self.current.participant.received_samples, AUDIO_LOOKS)
            elif isinstance(event, s.AgentInputDoneEvent):
                self.timers.cancel("audio")
        elif isinstance(event, s.AgentResponseDoneEvent):
            # It is heard for a while yet, as far as is known now: a client that never acknowledges keeps no call alive.
            self._active_at = self.now() + self.audience.unplayed_ms() / 1000

    def _watch_audio(self, received_samples: int, looks: int) -> None:
        """Watch, while the user speaks, for a client that stops sending: it sends no silence either.

        A client whose socket is lost sends the rest later.
        """
        if not self.current.participant.wants_audio_stopped:
            return
        received_now = self.current.participant.received_samples
        if received_now != received_samples or self.audience.is_away:
            looks = AUDIO_LOOKS
        elif looks == 0:
            self.current.participant.audio_stopped()
            return
        self.timers.after("audio", AUDIO_LOOK_S, lambda: self._watch_audio(received_now, looks - 1))

    def _check_idle(self, on_idle: Callable[[], None]) -> None:
        left_s = self._active_at + self.idle_s - self.now()
        if left_s > IDLE_SLACK_S:
            self.timers.after("idle", left_s, partial(self._check_idle, on_idle))
        else:
            on_idle()

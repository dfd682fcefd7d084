"""The listeners of one call, and what they have heard."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from realtime.audio.far_end import FarEnd
from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.voice import Voice
from realtime.call.intake import rate_of
from realtime.call.listener import Listener
from realtime.call.participant import CurrentParticipant
from realtime.call.played import Played
from realtime.event import client as c
from realtime.event import server as s
from realtime.state.log import Log

RECEIVED_EVERY_MS = 1_000
"""How often a client that counts its audio gets a count back."""


class Audience:
    """All clients of one call. It is the `Ears` that the participant is given.

    `current` is who takes part, and knows how much audio of the clients has come. Where it `tells`, playback is logged.
    """

    def __init__(self, log: Log, now: Callable[[], float], current: CurrentParticipant, *, tells: bool) -> None:
        self._log = log
        self._now = now
        self._current = current
        self.listeners: list[Listener] = []
        self.ear: Listener | None = None
        """The client that sent something last: on an interruption, what it has played counts."""
        self._keeps_played_audio = False
        self._played_to_gone: dict[str, int] = {}
        """What the last client had played of each item, in ms: what was heard stays heard."""
        self._unplayed_by_gone: set[str] = set()
        """The items that it had not played whole."""
        self._silent_at = 0.0
        """When it would have played all."""
        listeners = self.listeners  # Without `self`, which would refer to itself.
        self.played = Played(log, now, lambda: listeners, current, tells=tells)

    def __iter__(self) -> Iterator[Listener]:
        return iter([*self.listeners])

    @property
    def is_away(self) -> bool:
        """Whether all listeners have lost their sockets and may come back."""
        return bool(self.listeners) and all(one.away for one in self.listeners)

    def remove(self, listener: Listener) -> None:
        """A client is gone for good."""
        if self.listeners == [listener]:
            clock, now = listener.clock, self._now()
            self._silent_at = now + listener.unplayed_ms(now) / 1000
            self._unplayed_by_gone = {*clock.unplayed_items(now), *listener.unsent}
            self._played_to_gone = {item_id: clock.played_ms(item_id, now) for item_id in clock.begun()}
        listener.release()
        self.listeners.remove(listener)
        if self.ear is listener:
            self.ear = None

    def replace(self, before: Listener | None, listener: Listener) -> None:
        """Put a listener in the place of the one `before`; None: add it."""
        if self._keeps_played_audio:
            listener.keep_played_audio()
        if before is None:
            self.listeners.append(listener)
            return
        self.listeners[self.listeners.index(before)] = listener
        if self.ear is before:
            self.ear = listener

    # -- what is heard (`realtime.call.participant.Ears`) ----------------------------------------------------------

    def played_ms(self, item_id: str) -> int:
        """See `Ears`."""
        now = self._now()
        if self.ear is not None:
            return self.ear.clock.played_ms(item_id, now)
        if not self.listeners:
            return self._played_to_gone.get(item_id, 0)
        return max(one.clock.played_ms(item_id, now) for one in self.listeners)

    def unplayed_ms(self) -> int:
        """See `Ears`."""
        now, longest_ms = self._now(), 0
        if not self.listeners:
            return max(0, int((self._silent_at - now) * 1000))
        for one in self.listeners:  # in each frame of audio: a generator costs as much as the rest
            unplayed_ms = one.unplayed_ms(now)
            if unplayed_ms > longest_ms:
                longest_ms = unplayed_ms
        return longest_ms

    def can_be_lowered(self) -> bool:
        """See `Ears`."""
        return any(one.takes_gain for one in self.listeners)

    def after_flush(self, settle: Callable[[], None]) -> None:
        """See `Ears`."""
        self.played.after_flush(settle)

    def keep_played_audio(self) -> None:
        """See `Ears`."""
        self._keeps_played_audio = True
        for listener in self.listeners:
            listener.keep_played_audio()

    def far_end(self) -> FarEnd | None:
        """See `Ears`."""
        ear = self.ear or next(iter(self.listeners), None)
        return ear.far_end if ear is not None else None

    def let_hear(self, voice: Voice) -> None:
        """See `realtime.call.participant.Host.voice`."""
        for listener in self.listeners:
            listener.deliver_voice(voice.chunk(listener.rate_hz, self._log.now_ms()))

    def unplayed_items(self) -> set[str]:
        """The ids of the items that were not heard to their end."""
        now = self._now()
        if not self.listeners:
            return {*self._unplayed_by_gone}
        return {item_id for one in self.listeners for item_id in (*one.clock.unplayed_items(now), *one.unsent)}

    # -- what is received ------------------------------------------------------------------------------------------

    def tell_received(self, listener: Listener, event: c.ClientAudioAppendEvent) -> None:
        """Report the arrived audio, if due, to a client that counts it."""
        listener.bytes_until_told -= len(event.audio)
        if listener.bytes_until_told > 0:
            return  # Not due: nearly every frame ends here.
        received = self._current.participant.received_samples
        every = RECEIVED_EVERY_MS * rate_of(event) // 1000
        if received - listener.told_received >= every:
            listener.told_received = received
            # Sent to this listener alone, so it takes no place of its own in the log.
            listener.deliver(s.ServerAudioReceivedEvent(offset=received, ts_ms=self._log.now_ms()))
        # Less was taken than came where audio was sent twice or refused.
        listener.bytes_until_told = (listener.told_received + every - received) * SAMPLE_BYTES

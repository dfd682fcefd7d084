"""Paces speech for a client that is fed in real time; mixes in humans' voices."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from realtime.audio.mix import FRAME_MS, MEETS_MS, Mixer
from realtime.audio.playback import PlayoutBuffer
from realtime.event import server as s

MAX_PACED_BYTES = 30_000_000
"""Speech that may wait for its time: 10 min at 24 kHz. A model may say a long answer in one burst."""
MIXED_AHEAD_MS = 120
"""How far ahead agents speak after a human is mixed in.

The next human is heard after what was already sent.
"""
STRETCH_ENDS_MS = 500
"""Silence that ends a human's speech: one response in the client's view."""
LATE_TICK_S = 0.1
"""A clock later than this drops frames; less lateness is made up for."""
_SLACK_S = 1e-6
"""Timers may be early by the clock's resolution; times are sums of fractions."""

Send = Callable[[s.ServerEvent], None]
T = TypeVar("T", s.AgentResponseCreatedEvent, s.AgentResponseAudioDoneEvent, s.AgentResponseDoneEvent)


class Pacer:
    """Sends speech in real time, a little ahead; holds back the events that follow it.

    Where humans are heard (`hear`), they and the agents become one stream of frames of 20 ms. A frame with speech of an
    agent goes on as a part of that; one with nothing but voices is no speech of the call and goes to `send_voice`. So
    that every client has words for it, what humans say without an agent appears as a response of the human.
    """

    def __init__(self, rate_hz: int, ahead_ms: int, send: Send, send_voice: Send, overflow: Callable[[], None]) -> None:
        self._rate_hz = rate_hz
        self._ahead_ms = ahead_ms
        self._send = send
        self._send_voice = send_voice
        self._overflow = overflow
        self._buffer = PlayoutBuffer(rate_hz, MAX_PACED_BYTES)
        self._models: dict[str, s.AgentResponseAudioDeltaEvent] = {}
        self._held: deque[tuple[int, s.ServerEvent]] = deque()
        self._pushed_bytes = 0
        self._popped_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._mixer: Mixer | None = None
        self._latest: s.AgentResponseAudioDeltaEvent | None = None
        """What a human said last."""
        self._stretch: s.AgentResponseAudioDeltaEvent | None = None
        """Template of each frame of humans while their response is open."""
        self._stretches = 0
        self._ends_stretch: asyncio.TimerHandle | None = None
        self._heard_at = 0.0

    @property
    def waiting_bytes(self) -> int:
        """Speech that was not sent yet."""
        return self._buffer.size_bytes

    @property
    def mixes(self) -> bool:
        """Whether a human sounds."""
        return self._mixer is not None and self._mixer.active

    def push(self, event: s.AgentResponseAudioDeltaEvent, now: float) -> None:
        """More speech."""
        if event.item_id not in self._models:
            self._models[event.item_id] = msgspec.structs.replace(event, delta=b"")
        if not self._buffer.push(event.item_id, event.delta):
            self._overflow()
            return
        self._pushed_bytes += len(event.delta)
        if self._timer is None:
            self._release(now)

    def hear(self, event: s.AgentResponseAudioDeltaEvent, now: float) -> None:
        """A human speaks."""
        if self._mixer is None:
            self._mixer = Mixer(self._rate_hz)
            self._ahead_ms = min(self._ahead_ms, MIXED_AHEAD_MS)
        self._latest = event
        began = not self._mixer.active
        self._mixer.push(event.item_id, event.delta, now)
        if began:
            self._buffer.ahead_until = max(self._buffer.ahead_until, now + MEETS_MS / 1000)
        if began or self._timer is None:
            self._stop_timer()
            self._release(now)

    def holds(self, event: s.ServerEvent) -> bool:
        """Whether the event has to wait for the speech before it; it is then sent in its place."""
        if not self._buffer and not self._held:
            return False
        if not event.type.startswith(("agent_response_", "agent_item_")):
            return False
        self._held.append((self._pushed_bytes, event))
        return True

    def flush(self, now: float) -> list[s.ServerEvent]:
        """Drop the speech that was not sent; humans sound on. Returns what waited behind the speech, but for words that
        were not heard."""
        next_due = self._buffer.ahead_until
        if self._mixer is not None and self._mixer.active:
            rest = b"".join(pcm for _, pcm in self._buffer.take(self._mixer.frame_bytes))
            self._pushed_bytes -= len(rest)
            self._mixer.fade_out(rest)
        else:
            self._stop_timer()
        self._pushed_bytes -= self._buffer.clear()
        if self.mixes:
            # What the client was given ahead it drops; the next speaker does not wait until it would have been heard.
            self._buffer.ahead_until = min(next_due, now + FRAME_MS / 1000)
            self._stop_timer()
            self._timer = asyncio.get_running_loop().call_at(self._buffer.ahead_until, self._tick)
        self._models.clear()
        held, self._held = self._held, deque()
        return [event for _, event in held if type(event) is not s.AgentResponseAudioTranscriptDeltaEvent]

    def stop(self) -> None:
        """Send nothing more by the clock."""
        self._stop_timer()
        if self._ends_stretch is not None:
            self._ends_stretch.cancel()
            self._ends_stretch = None

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        self._release(asyncio.get_running_loop().time())

    def _release(self, now: float) -> None:
        if self._mixer is not None and self._mixer.active and self._mix(self._mixer, now):
            return
        for item_id, pcm in self._buffer.pop_due(now, self._ahead_ms):
            self._speak(item_id, pcm)
        due = self._buffer.next_due(self._ahead_ms)
        if due is not None:
            self._timer = asyncio.get_running_loop().call_at(max(due, now), self._tick)
        elif len(self._models) > 1:
            self._models.clear()

    def _speak(self, item_id: str, pcm: bytes) -> None:
        """Send speech of an agent, and what has waited for it."""
        self._popped_bytes += len(pcm)
        self._send(msgspec.structs.replace(self._models[item_id], delta=pcm))
        while self._held and self._held[0][0] <= self._popped_bytes:
            self._send(self._held.popleft()[1])

    # -- humans among the agents -----------------------------------------------------------------------------------

    def _mix(self, mixer: Mixer, now: float) -> bool:
        """Send the frames that are due. False where no human sounds any more."""
        due = self._buffer.ahead_until
        if due < now - LATE_TICK_S:
            due = now
        while mixer.active and due <= now + _SLACK_S:
            if not self._buffer:
                shift_ms = mixer.shift_ms()
                if shift_ms:
                    due += shift_ms / 1000
                    continue
            pieces = self._buffer.take(mixer.frame_bytes)
            mixed = mixer.pull(due, [b"".join(pcm for _, pcm in pieces)])
            at = 0
            for item_id, pcm in pieces:
                self._speak(item_id, mixed.pcm[at : at + len(pcm)])
                at += len(pcm)
            if mixed.has_voices and at < len(mixed.pcm):
                self._let_hear(mixed.pcm[at:], now)
            due += FRAME_MS / 1000
        self._buffer.ahead_until = due
        if mixer.active:
            self._timer = asyncio.get_running_loop().call_at(due, self._tick)
        return mixer.active

    def _let_hear(self, pcm: bytes, now: float) -> None:
        """Send a frame of humans. Where one goes on before another has ended, it stays one response."""
        assert self._latest is not None
        if self._stretch is None:
            self._stretches += 1
            where = {"response_id": f"{self._latest.item_id}.{self._stretches}"}
            self._stretch = msgspec.structs.replace(self._latest, item_id=where["response_id"], **where)
            self._send_voice(_telling(s.AgentResponseCreatedEvent, self._stretch, output_modalities=("audio",)))
            self._ends_stretch = asyncio.get_running_loop().call_later(STRETCH_ENDS_MS / 1000, self._end_stretch)
        self._heard_at = now
        self._send_voice(msgspec.structs.replace(self._stretch, delta=pcm))

    def _end_stretch(self) -> None:
        """End the response of the humans, unless one of them sounds."""
        assert self._stretch is not None
        ends_at = self._heard_at + STRETCH_ENDS_MS / 1000
        loop = asyncio.get_running_loop()
        if ends_at > loop.time() + _SLACK_S:
            self._ends_stretch = loop.call_at(ends_at, self._end_stretch)
            return
        stretch, self._stretch, self._ends_stretch = self._stretch, None, None
        self._send_voice(_telling(s.AgentResponseAudioDoneEvent, stretch, item_id=stretch.item_id))
        self._send_voice(_telling(s.AgentResponseDoneEvent, stretch, output_modalities=("audio",)))


def _telling(kind: type[T], voice: s.AgentResponseAudioDeltaEvent, **fields: Any) -> T:
    """An event about the response of a voice."""
    return kind(
        response_id=voice.response_id,
        agent_id=voice.agent_id,
        agent_name=voice.agent_name,
        seq=voice.seq,
        ts_ms=voice.ts_ms,
        **fields,
    )

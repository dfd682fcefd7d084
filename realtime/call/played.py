"""How far the clients of a call have played: answers to a flush; playback and latency in the log.

A client that acknowledges is believed, and asked at a flush; for the others the clock's estimate is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.call.intake import rate_of
from realtime.call.listener import Listener
from realtime.call.participant import CurrentParticipant
from realtime.call.timers import Timers
from realtime.event import client as c
from realtime.event import server as s
from realtime.state.latency import latency_of
from realtime.state.log import Log

FLUSH_ANSWER_S = 0.5
"""How long a truncation waits for clients to report what they played."""
TOLD_EVERY_MS = 1_000
LOOK_S = 0.25
"""Seconds between checks whether an estimated client has begun to play."""
ANSWER, LOOK = "answer", "look"
"""Timers: until a flush is settled without its answers, until the next look at estimates."""
UserTurnEvent = s.AgentInputStartedEvent | s.AgentInputDoneEvent | s.AgentInputCommittedEvent | s.AgentItemAddedEvent

KEPT_ITEMS = 32
"""Items whose speech is known to be complete; a clock knows no more either."""


@dataclass(slots=True, eq=False)
class Played:
    """Follows the playback of one call.

    `listeners` gives its clients; `current` is who takes part, and knows how much of their audio has come. Where it
    `tells`, playback is logged, and what the user waited for it.
    """

    log: Log
    now: Callable[[], float]
    listeners: Callable[[], Sequence[Listener]]
    current: CurrentParticipant
    tells: bool
    _settle: Callable[[], None] | None = None
    """Settles the last flush; kept for an answer that comes late."""
    _timers: Timers = field(default_factory=Timers)
    _open_items: set[str] = field(default_factory=set)
    """Items that may still get speech."""
    _complete: dict[str, None] = field(default_factory=dict)
    _item_id: str | None = None
    """The item whose playback was logged last, and how far."""
    _told_ms: int = 0
    _waiting: tuple[str, int] | None = None
    """The user's turn whose answer was not played yet: its item, and the first event of it."""

    def close(self) -> None:
        """The call is over."""
        self._timers.close()
        self._settle = None

    # -- what clients say ------------------------------------------------------------------------------------------

    def ack(
        self,
        listener: Listener,
        item_id: str,
        played_ms: int,
        *,
        flushed: bool = False,
        inside: c.ClientAudioAppendEvent | None = None,
    ) -> None:
        """A client has played `played_ms` of an item.

        `flushed`: this is its answer to a flush. `inside` is the audio that carries the report, and comes next.
        """
        clock, now = listener.clock, self.now()
        clock.ack(item_id, played_ms, now, flushed=flushed)
        if clock.estimates:
            return
        played_ms = clock.played_ms(item_id, now)
        is_end = flushed or (played_ms >= clock.sent_ms(item_id) and item_id in self._complete)
        self._tell(listener, item_id, played_ms, is_end=is_end, inside=inside)
        if self._settle is not None and (flushed or ANSWER in self._timers):
            self._answered()

    def after_flush(self, settle: Callable[[], None]) -> None:
        """See `realtime.call.participant.Ears`."""
        if ANSWER not in self._timers:
            settle()
        else:
            self._settle = settle

    def _answered(self) -> None:
        if ANSWER in self._timers and self._is_awaited():
            return
        self._timers.cancel(ANSWER)
        if self._settle is not None:
            self._settle()

    def _time_over(self) -> None:
        for listener in self.listeners():
            if listener.clock.awaits_answer and self._item_id is not None:
                played_ms = listener.clock.played_ms(self._item_id, self.now())
                self._tell(listener, self._item_id, played_ms, is_end=True, estimated=True)
        if self._settle is not None:
            self._settle()

    def _is_awaited(self) -> bool:
        return any(one.clock.awaits_answer and not one.away for one in self.listeners())

    # -- what the call tells ---------------------------------------------------------------------------------------

    def follow(self, event: s.ServerEvent) -> None:
        """Take the next event of the call except speech; the clients have read it."""
        if type(event) is s.ServerAudioFlushEvent:
            self._flushed()
        elif not self.tells:
            return
        elif isinstance(event, s.AgentInputStartedEvent | s.AgentInputDoneEvent | s.AgentInputCommittedEvent):
            self._await_answer(event.item_id, event)
        elif isinstance(event, s.AgentItemAddedEvent):
            if event.item.role == "user" and any(part.text for part in event.item.content):
                self._await_answer(event.item.id, event)
            if event.item.role == "assistant" and event.item.status == "in_progress":
                self._open_items.add(event.item.id)
                if LOOK not in self._timers and any(one.clock.estimates for one in self.listeners()):
                    self._timers.after(LOOK, LOOK_S, self._look)
        elif isinstance(event, s.AgentResponseAudioDoneEvent):
            self._note_complete(event.item_id)
        elif isinstance(event, s.AgentItemDoneEvent):
            self._open_items.discard(event.item.id)
        elif isinstance(event, s.AgentItemDeletedEvent):
            self._open_items.discard(event.item_id)

    def _flushed(self) -> None:
        self._timers.cancel(ANSWER)
        self._settle = None
        if self._is_awaited():
            self._timers.after(ANSWER, FLUSH_ANSWER_S, self._time_over)
        self._open_items.clear()
        if LOOK in self._timers:
            self._look()

    def _note_complete(self, item_id: str) -> None:
        self._complete[item_id] = None
        if len(self._complete) > KEPT_ITEMS:
            del self._complete[next(iter(self._complete))]
        for listener in self.listeners():
            clock = listener.clock
            if item_id == self._item_id and not clock.estimates and self._told_ms < clock.sent_ms(item_id):
                played_ms = clock.played_ms(item_id, self.now())
                if played_ms >= clock.sent_ms(item_id):
                    self._tell(listener, item_id, played_ms, is_end=True)
        if LOOK in self._timers:
            self._look_again()

    def _await_answer(self, item_id: str, event: UserTurnEvent) -> None:
        """A turn of the user is heard.

        One of another human in the room ends the wait: the answer may be theirs.
        """
        if event.agent_id != self.current.participant.agent_id:
            self._waiting = None
        elif self._waiting is None or self._waiting[0] != item_id:
            self._waiting = item_id, event.seq

    def _tell(
        self,
        listener: Listener,
        item_id: str,
        played_ms: int,
        *,
        is_end: bool,
        estimated: bool = False,
        inside: c.ClientAudioAppendEvent | None = None,
    ) -> None:
        """Log playback: at the first sound, every second and at the end."""
        is_first = item_id != self._item_id
        if not self.tells or played_ms <= (0 if is_first else self._told_ms):
            return
        if not (is_first or is_end) and played_ms - self._told_ms < TOLD_EVERY_MS:
            return
        self._item_id, self._told_ms = item_id, played_ms
        samples, ms = self._input_position(inside)
        self.log.append(
            s.ServerPlaybackEvent(
                item_id=item_id, played_ms=played_ms, input_offset=samples, input_ms=ms, estimated=estimated
            )
        )
        if is_first and self._waiting is not None:
            self._tell_latency(listener, item_id, *self._waiting)

    def _input_position(self, inside: c.ClientAudioAppendEvent | None) -> tuple[int, int]:
        """Return how much audio the client had recorded at its report.

        In samples and in ms. A report `inside` audio is made when that is sent: at its end.
        """
        participant = self.current.participant
        samples, ms = participant.received_samples, participant.received_ms
        if inside is None:
            return samples, ms
        begin = samples if inside.offset is None else inside.offset
        coming = max(0, begin + len(inside.audio) // SAMPLE_BYTES - samples)
        return samples + coming, ms + coming * 1000 // rate_of(inside)

    def _tell_latency(self, listener: Listener, item_id: str, turn_id: str, since_seq: int) -> None:
        sent_at = listener.clock.sent_at(item_id)
        sent_ms = None if sent_at is None else self.log.now_ms() - round((self.now() - sent_at) * 1000)
        told = latency_of(self.log.read(since_seq - 1), turn_id, sent_ms)
        if told is not None:
            self._waiting = None
            self.log.append(told)

    # -- estimates -------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Log estimates for clients without acknowledgements; look again while something plays."""
        now = self.now()
        for listener in self.listeners():
            clock = listener.clock
            if not clock.estimates:
                continue
            queue = clock.unplayed_items(now)
            if self._item_id is not None and self._item_id not in queue:
                played_ms = clock.played_ms(self._item_id, now)
                self._tell(listener, self._item_id, played_ms, is_end=True, estimated=True)
            if queue:
                self._tell(listener, queue[0], clock.played_ms(queue[0], now), is_end=False, estimated=True)
        self._look_again()

    def _look_again(self) -> None:
        self._timers.cancel(LOOK)
        now, next_s = self.now(), LOOK_S if self._open_items else None
        for clock in [one.clock for one in self.listeners() if one.clock.estimates]:
            queue = clock.unplayed_items(now)
            if not queue:
                continue
            next_s = TOLD_EVERY_MS / 1000 if self._item_id == queue[0] else LOOK_S
            ends_at = clock.finished_at(now)
            # Speech that still comes as fast as it is played seems about to end all the time.
            if ends_at is not None and queue[-1] in self._complete:
                next_s = min(next_s, max(0.0, ends_at - now) + 0.001)
        if next_s is not None:
            self._timers.after(LOOK, next_s, self._look)

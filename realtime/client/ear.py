"""The hearing side of a client: items of the agents, their playback, and reports of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.client.speaker import OUTPUT_HZ, Speaker
from realtime.state.truncation import Spoken as Words

ACK_EVERY_S = 0.1


@dataclass(slots=True)
class Speech:
    """An agent's item at the client. Positions are samples; `acked_ms` is the last reported position."""

    item_id: str
    response_id: str = ""
    agent: str = ""
    received: int = 0
    words: Words = field(default_factory=Words)
    """Its words so far, aligned with its audio as on the server."""
    complete: bool = False
    flushed: bool = False
    acked_ms: int = 0


@dataclass(slots=True, kw_only=True)
class Ear:
    """Plays the agents' items in real time, on the running loop.

    With `reports`, `acknowledge(item_id, heard_ms, flushed)` is called when an item was heard to its end, while
    `can_report`, and after a flush. `aligned` says that the model gives each piece of words right before its audio.
    """

    aligned: bool
    reports: bool
    can_report: Callable[[], bool]
    acknowledge: Callable[[str, int, bool], None]
    speaker: Speaker = field(default_factory=Speaker)
    speech: dict[str, Speech] = field(default_factory=dict)
    """The agents' speech, by item."""
    late_samples: int = 0
    """Samples of items that came after their flush."""
    missing_samples: int = 0
    """Samples that never came, although later ones did."""
    next_report_s: float = 0.0
    """The loop's time of the next report."""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _ending: list[Speech] = field(default_factory=list)
    """Items that are complete but not heard to the end."""
    _end_timer: asyncio.TimerHandle | None = None

    def item(self, event: Mapping[str, Any]) -> Speech:
        """Return the item that an event names, which may be new."""
        item_id = event["item_id"]
        speech = self.speech.get(item_id)
        if speech is None:
            speech = self.speech[item_id] = Speech(item_id, words=Words(aligned=self.aligned))
        if event.get("response_id") and not speech.response_id:
            speech.response_id, speech.agent = event["response_id"], event.get("agent_name") or ""
        return speech

    def hear(self, speech: Speech, offset: int, pcm: bytes) -> tuple[int, int] | None:
        """Play more audio, unless of a flushed item; return the offset and number of new samples, None without any."""
        known = speech.received - offset
        if known > 0:
            pcm, offset = pcm[known * SAMPLE_BYTES :], speech.received
            if not pcm:
                return None
        elif known < 0:
            self.missing_samples -= known
        n_samples = len(pcm) // SAMPLE_BYTES
        speech.received = offset + n_samples
        speech.words.audio_ms = speech.received * 1000 / OUTPUT_HZ
        if speech.flushed:
            self.late_samples += n_samples
        else:
            self.speaker.play(speech.item_id, offset, pcm, self._loop.time())
        return offset, n_samples

    def flush(self, item_id: str | None) -> bool:
        """Silence one item, or all of them; return whether any was still to be heard."""
        now = self._loop.time()
        named = [self.item({"item_id": item_id})] if item_id is not None else [*self.speech.values()]
        hit = [one for one in named if not one.flushed and not (one.complete and self.is_rendered(one))]
        for one in hit:
            one.flushed = True
        self.speaker.flush([one.item_id for one in hit], now)
        for one in hit:
            if one.received and self.reports:
                # Audio on its way to the ear will still be heard: the acknowledgement of a flush includes it.
                heard_ms = self.position_ms(one.item_id, now + self.speaker.latency_s)
                self._loop.call_soon(self._report, one, heard_ms, True)
        self._set_end_timer()
        return bool(hit)

    def is_rendered(self, speech: Speech) -> bool:
        """Whether all its audio has left the page; the ear may not have it yet."""
        ends_at = self.speaker.ends_at([speech.item_id])
        return ends_at is not None and ends_at - self.speaker.latency_s <= self._loop.time()

    def complete(self, speech: Speech) -> None:
        """Note that no more audio of the item will come."""
        if not speech.complete:
            speech.complete = speech.words.audio_complete = True
            if speech.received and self.reports:
                self._ending.append(speech)
                self._set_end_timer()

    def pause(self) -> None:
        """Stop playing; all audio waits for `resume`."""
        self.speaker.pause(self._loop.time())

    def resume(self) -> None:
        """Continue where `pause` stopped."""
        self.speaker.resume(self._loop.time())
        self._set_end_timer()

    def close(self) -> None:
        """Cancel the timer. Idempotent."""
        if self._end_timer is not None:
            self._end_timer.cancel()
            self._end_timer = None

    # -- what was heard --------------------------------------------------------------------------------------------

    def heard_ms(self, *items: str) -> float:
        """Return the ms of these items together that have been heard."""
        now = self._loop.time()
        return sum(self.speaker.heard(item_id, now) for item_id in items) * 1000 / OUTPUT_HZ

    def heard_at(self, items: Iterable[str], ms: float) -> float | None:
        """Return the loop's time when this much of these items is heard; None if not queued."""
        return self.speaker.heard_at(items, round(ms * OUTPUT_HZ / 1000))

    @property
    def silent_at(self) -> float | None:
        """The loop's time when all received audio has been heard; None while the speaker waits."""
        return self.speaker.ends_at()

    def position_ms(self, item_id: str, now: float) -> int:
        """Return the ms of the item heard by `now`: a whole number."""
        return self.speaker.heard(item_id, now) * 1000 // OUTPUT_HZ

    def report(self) -> tuple[str | None, int]:
        """Return the audible item and its heard ms; None before the next report is due."""
        now = self._loop.time()
        # Times are sums of fractions: in two runs of one call the same report is due at the same frame.
        if now < self.next_report_s - 1e-6 or not self.reports:
            return None, 0
        item_id = self.speaker.sounding(now)
        if item_id is None:
            return None, 0
        speech, heard_ms = self.speech[item_id], self.position_ms(item_id, now)
        if speech.flushed or heard_ms <= speech.acked_ms:
            return None, 0
        self.next_report_s = max(self.next_report_s + ACK_EVERY_S, now)
        speech.acked_ms = heard_ms
        return item_id, heard_ms

    def _report(self, speech: Speech, heard_ms: int, flushed: bool = False) -> None:
        speech.acked_ms = heard_ms
        self.acknowledge(speech.item_id, heard_ms, flushed)

    def _set_end_timer(self) -> None:
        """Set the timer for the next end of a complete item."""
        self.close()
        self._ending = [one for one in self._ending if not one.flushed]
        ends = [at for at in (self.speaker.ends_at([one.item_id]) for one in self._ending) if at is not None]
        if ends:
            self._end_timer = self._loop.call_at(max(min(ends), self._loop.time()), self._end_items)

    def _end_items(self) -> None:
        """Acknowledge the end of fully heard items, each by its own event."""
        now = self._loop.time()
        still: list[Speech] = []
        for one in self._ending:
            at = self.speaker.ends_at([one.item_id])
            if at is None or at > now + 1e-9:
                still.append(one)
            elif self.can_report():
                self._report(one, self.position_ms(one.item_id, now))
        self._ending = still
        self._set_end_timer()

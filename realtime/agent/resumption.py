"""Resume a reply that was cut by mistake: what is kept of it, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec
import numpy as np

from realtime.agent.overlap import Overlap
from realtime.audio.pcm import bytes_of
from realtime.call.timers import Timers
from realtime.event import model as m
from realtime.event.base import ResponseOverrides
from realtime.turn.machine import Action, Signal
from realtime.turn.responses import UNCLEAR_S

KEPT_BYTES = 2_880_000
"""The most unplayed speech that is kept of a reply.

One minute at 24 kHz; a reply with more cannot go on."""
BACK_MS = 500
"""How far a reply goes back to a silence: the cut word begins there."""
CERTAIN = frozenset({"answer", "stop_words", "commit"})
"""Reasons of interruptions that are never taken back."""
_SETTLING = frozenset(
    {
        Signal.COMMIT,
        Signal.TEXT,
        Signal.REQUEST,
        Signal.CANCEL,
        Signal.CLEAR,
        Signal.RESPONSE_AUDIO,
        Signal.MISTAKEN,
    }
)
_QUIET_SHARE = 10**-2.0
"""Share of the loudest frame's power below which a frame is silent: 20 dB."""
_FRAME_MS = 20
_LOOK_EVERY = 16
"""Parts between two checks of what was played: fewer cost time, more cost memory."""

SpokenPart = m.ModelResponseAudioDeltaEvent | m.ModelResponseAudioTranscriptDeltaEvent


@dataclass(frozen=True, slots=True)
class Played:
    """How much of an item was played: characters of its text, ms of its audio."""

    chars: int
    ms: int


class KeptSpeech:
    """One reply's words and unplayed audio, in the order of their arrival."""

    __slots__ = ("_dropped_bytes", "_is_too_long", "_n_words", "_size_bytes", "look_at", "parts")

    def __init__(self) -> None:
        self.parts: list[SpokenPart] = []
        """Grows at its end as the reply comes."""
        self.look_at = _LOOK_EVERY
        """The number of parts at which to call `trim`."""
        self._dropped_bytes: dict[str, int] = {}
        self._is_too_long = False
        self._n_words = 0
        """So many parts at the beginning are words: the audio between them was played."""
        self._size_bytes = 0
        """Of the audio among the parts of the last `trim`."""

    def trim(self, played_ms: Callable[[str], int], default_rate_hz: int) -> None:
        """Drop what was played of each item, but for the last `BACK_MS`; drop all if too much is unplayed.

        It looks at what is new and at what it drops, so the length of the reply does not matter.
        """
        parts = self.parts
        new = parts[self.look_at - _LOOK_EVERY :]
        self._size_bytes += sum([len(part.delta) for part in new if isinstance(part, m.ModelResponseAudioDeltaEvent)])
        words: list[SpokenPart] = []
        item_id, until, at = None, 0, self._n_words
        while at < len(parts):
            part = parts[at]
            if not isinstance(part, m.ModelResponseAudioDeltaEvent):
                words.append(part)
            else:
                if part.item_id != item_id:
                    item_id = part.item_id
                    until = bytes_of(max(0, played_ms(item_id) - BACK_MS), part.format.rate or default_rate_hz)
                end = self._dropped_bytes.get(item_id, 0) + len(part.delta)
                if end > until:
                    break  # Items are played one after the other.
                self._dropped_bytes[item_id] = end
                self._size_bytes -= len(part.delta)
            at += 1
        parts[self._n_words : at] = words
        self._n_words += len(words)
        if self._is_too_long or self._size_bytes > KEPT_BYTES:
            self._is_too_long = True
            parts.clear()
            self._n_words, self._size_bytes = 0, 0
        self.look_at = len(parts) + _LOOK_EVERY

    def rest(self, played: Callable[[str], Played | None], default_rate_hz: int) -> list[SpokenPart]:
        """Return the unplayed parts; `played` returns None for an item that was played whole."""
        if self._is_too_long:
            return []
        items = dict.fromkeys(part.item_id for part in self.parts)
        left = {item_id: place for item_id in items if (place := played(item_id)) is not None}
        starts = {item_id: self._start(item_id, place.ms, default_rate_hz) for item_id, place in left.items()}
        ends = dict(self._dropped_bytes)
        chars = dict.fromkeys(left, 0)
        rest: list[SpokenPart] = []
        for part in self.parts:
            item_id = part.item_id
            if item_id not in left:
                continue
            if isinstance(part, m.ModelResponseAudioDeltaEvent):
                begin = ends.get(item_id, 0)
                ends[item_id] = begin + len(part.delta)
                behind = part.delta[max(0, starts[item_id] - begin) :]
                if behind:
                    rest.append(msgspec.structs.replace(part, delta=behind))
                continue
            words = part.delta[max(0, left[item_id].chars - chars[item_id]) :]
            chars[item_id] += len(part.delta)
            if words:
                rest.append(msgspec.structs.replace(part, delta=words))
        return rest

    def _start(self, item_id: str, cut_ms: int, default_rate_hz: int) -> int:
        """Return the byte of the item from which it goes on."""
        pcm, begin, rate_hz = bytearray(), self._dropped_bytes.get(item_id, 0), default_rate_hz
        for part in self.parts:
            if isinstance(part, m.ModelResponseAudioDeltaEvent) and part.item_id == item_id:
                rate_hz = part.format.rate or default_rate_hz
                pcm += part.delta
        cut = bytes_of(cut_ms, rate_hz)
        before = bytes(pcm[max(0, cut - begin - bytes_of(BACK_MS, rate_hz)) : max(0, cut - begin)])
        return cut - _since_silence(before, rate_hz)


def _since_silence(pcm: bytes, rate_hz: int) -> int:
    """Return how many bytes before its end the last silence begins; 0 without one."""
    length = rate_hz * _FRAME_MS // 1000
    samples = np.frombuffer(pcm, "<i2").astype(np.float32)
    samples = samples[len(samples) % length :]
    frames = samples.reshape(-1, length)
    power = np.einsum("ij,ij->i", frames, frames)
    quiet = np.flatnonzero(power <= power.max(initial=0.0) * _QUIET_SHARE)
    return int(len(frames) - quiet[-1]) * length * 2 if len(quiet) else 0


@dataclass(frozen=True, slots=True)
class CutReply:
    """A cut reply whose interruption may be a mistake."""

    overlap: Overlap
    speech: KeptSpeech = field(repr=False)
    is_whole: bool
    """Whether all of it had been generated."""
    overrides: ResponseOverrides | None


class Resumption:
    """Keeps the last cut reply until the interruption is understood."""

    def __init__(self) -> None:
        self._timers = Timers()
        self.cut: CutReply | None = None
        self.overlap: Overlap | None = None
        """The voice whose words are awaited."""
        self.may_ask = True
        """Whether the agent may ask to repeat: not twice in a row."""

    @property
    def is_late(self) -> bool:
        """Whether the reply went on before the words were known: they may still ask for something."""
        return self.cut is None and self.overlap is not None

    def doubt(self, cut: CutReply) -> None:
        """A voice cuts a reply; keep it unless that voice is certain to take the floor."""
        self.forget()
        if cut.overlap.confirmed not in CERTAIN:
            self.cut, self.overlap = cut, cut.overlap

    def forget(self) -> None:
        """Drop what is kept."""
        self._timers.close()
        self.cut = self.overlap = None

    def gone_on(self, cut: CutReply, *, asks: bool, late: bool) -> None:
        """The reply goes on, or the agent `asks`; `late`: the words are still unknown."""
        self.may_ask = not asks
        self.overlap = cut.overlap if late else None

    def follow(self, signal: Signal, actions: tuple[Action, ...], overdue: Callable[[], None]) -> None:
        """Follow what happens to the turn; `overdue` is called if its words are unknown `UNCLEAR_S` after its end."""
        if signal in _SETTLING or (signal is Signal.SPEECH_STARTED and Action.WITHDRAW in actions):
            self.forget()
        elif signal is Signal.SPEECH_STARTED:
            self._timers.close()
            self.overlap = self.cut.overlap if self.cut is not None else None
        elif signal is Signal.SPEECH_STOPPED and self.cut is None:
            self.may_ask = True
        elif signal is Signal.SPEECH_STOPPED:
            self._timers.after("words", UNCLEAR_S, overdue)


def renamed(parts: Iterable[SpokenPart], response_id: str, new_id: Callable[[str], str]) -> Iterator[SpokenPart]:
    """Yield the parts as those of another response; the words of an item begin without a space."""
    item_ids: dict[str, str] = {}
    begun: set[str] = set()
    for part in parts:
        item_id = item_ids.get(part.item_id) or item_ids.setdefault(part.item_id, new_id("item"))
        part = msgspec.structs.replace(part, response_id=response_id, item_id=item_id)
        if isinstance(part, m.ModelResponseAudioTranscriptDeltaEvent) and item_id not in begun:
            part = msgspec.structs.replace(part, delta=part.delta.lstrip())
            if not part.delta:
                continue
            begun.add(item_id)
        yield part

"""Assertions about a room: no overlapping agents, no self-hearing, every word once.

run.floor_went_to("Bob", "Alice").no_two_agents_at_once().every_word_once()
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.resample import Resampler
from realtime.event import server as s
from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ, Item
from realtime.testing.check.run import Run
from realtime.testing.check.words import normalised, shortened
from realtime.testing.record import CallRecord, Played

COMPARED_HZ = 8_000
EXCERPT_S = 0.5
ALIKE = 0.6
"""Correlation from which two sounds count as the same; different sounds stay below 0.2."""
QUIET = 50
"""Level (of 32768) below which sound is silence."""
LATEST_ITEMS = 8
"""Number of latest items in which an echo is searched."""
SAMPLE_MS = 0.1
"""Times of a page are exact to a sample; anything shorter is no sound."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The audio input (pcm16) of an agent's model in one turn.

    It was complete at `at_ms` of the room.
    """

    at_ms: float
    rate_hz: int
    pcm: bytes = field(repr=False)


class RoomRun(Run):
    """A finished room. `heard` and `said` are by agent name.

    `heard` is the audio input of the agents' models, `said` the audio of each item that they spoke (24 kHz).
    """

    def __init__(
        self,
        record: CallRecord,
        heard: Mapping[str, Sequence[Heard]],
        said: Mapping[str, Mapping[str, bytes | bytearray]],
    ) -> None:
        super().__init__(record)
        self.heard = heard
        self.said = said

    @cached_property
    def names(self) -> dict[str, str]:
        """Participants' names by id, agents and humans; a renamed one has the last name."""
        return {one.participant_id: one.name for one in self.record.events(s.ServerRoomJoinedEvent)}

    @cached_property
    def agents(self) -> frozenset[str]:
        """The ids of the agents that were in the room."""
        joined = self.record.events(s.ServerRoomJoinedEvent)
        return frozenset(one.participant_id for one in joined if one.kind == "agent")

    @cached_property
    def floors(self) -> list[s.ServerRoomFloorEvent]:
        """The passing of the floor, in order."""
        return self.record.events(s.ServerRoomFloorEvent)

    def floor_went_to(self, *names: str) -> RoomRun:
        """The floor went to these agents in order, and to no others."""
        given = [one for one in self.floors if one.participant_id in self.agents]
        found = [self.names[one.participant_id or ""] for one in given]
        if found != [*names]:
            place = next((at for at, pair in enumerate(zip(found, names, strict=False)) if pair[0] != pair[1]), None)
            at_ms = [given[place].ts_ms] if place is not None else [one.ts_ms for one in given[-1:]]
            finding = f"The floor went to {_listed(found)}, not to {_listed(names)}."
            self.fail(finding, *at_ms)
        return self

    def agents_in_a_row_at_most(self, limit: int) -> RoomRun:
        """At most `limit` agents had the floor between two human turns."""
        row = 0
        for one in self.floors:
            if one.participant_id in self.agents:
                row += 1
            elif one.participant_id is not None:
                row = 0
            if row > limit:
                self.fail(f"{row} agents spoke in a row; at most {limit} may.", one.ts_ms)
        return self

    def no_two_agents_at_once(self) -> RoomRun:
        """No two agents were audible at once, not even to different humans."""
        self.must_know_ears("who was to be heard")
        latest: dict[str, float] = {}
        for played, who in sorted(self._audible, key=lambda one: one[0].from_ms):
            for other, until_ms in latest.items():
                over_ms = min(until_ms, played.from_ms + played.ms) - played.from_ms
                if other != who and over_ms > SAMPLE_MS:
                    finding = f"{who} and {other} were to be heard at once for {over_ms:.0f} ms"
                    self.fail(f"{finding}, by {played.who}.", played.from_ms)
            latest[who] = max(latest.get(who, 0.0), played.from_ms + played.ms)
        return self

    def every_human_interruption_stops_the_agent(self, *, within_ms: float) -> RoomRun:
        """Each human interruption silenced the agents.

        From `within_ms` after a human began to speak or type until the end of that turn, no agent was audible.
        """
        self.must_know_ears("who was to be heard")
        for turn in self.reading.turns:
            limit_ms, end_ms = turn.from_ms + within_ms, max(turn.to_ms, turn.from_ms + within_ms + SAMPLE_MS)
            for played, who in self._audible:
                speech = self.reading.log.speech(played.item_id)
                if turn.typed and speech is not None and speech.first_seq > turn.first_seq:
                    continue  # This is the response.
                until_ms = min(played.from_ms + played.ms, end_ms)
                if until_ms - max(played.from_ms, limit_ms) > SAMPLE_MS / 2:
                    finding = f"{turn.who} spoke at {turn.from_ms / 1000:.2f} s, and {who} was still to be heard by "
                    finding += f"{played.who} {until_ms - turn.from_ms:.0f} ms later; {within_ms:.0f} ms were allowed."
                    self.fail(finding, turn.from_ms, until_ms)
        return self

    @cached_property
    def human_interruptions(self) -> int:
        """Number of human turns that began while an agent was audible."""
        return sum(
            any(played.from_ms < turn.from_ms < played.from_ms + played.ms for played, _ in self._audible)
            for turn in self.reading.turns
        )

    def every_word_once(self) -> RoomRun:
        """The conversation holds every word once, in order, under the right name.

        That is everything that each human spoke (`Speak.text`) and typed, and no other words of humans; and each item
        that an agent said, with the kept part of its words. `transcript_equals_heard` checks whether those are the
        words that were heard.
        """
        expected: dict[str, list[tuple[float, str]]] = {}
        for one in self.record.spoken:
            if one.text:
                expected.setdefault(one.who, []).append((one.from_ms, one.text))
        for mark in self.record.marks:
            if mark.what == "typed":
                expected.setdefault(mark.who, []).append((mark.ts_ms, mark.text))
        found: dict[str, list[str]] = {}
        for item in self.record.items:
            if item.role == "user" and item.text:
                found.setdefault(self._author(item), []).append(item.text)
        for who in dict.fromkeys([*expected, *found]):
            said = sorted(expected.get(who, []))
            wanted, got = normalised(" ".join(text for _, text in said)), normalised(" ".join(found.get(who, [])))
            if wanted != got:
                place = self._first_difference(said, got)
                self.fail(f'{who} said "{shortened(wanted)}", but the room knows "{shortened(got)}".', *place)
        self._every_answer_once()
        return self

    def _every_answer_once(self) -> None:
        """The conversation holds exactly each agent item once, under the right name."""
        speeches = {one.item_id: one for one in self.reading.speeches if not self.reading.log.is_out_of_band(one)}
        times = Counter(item.id for item in self.record.items)
        for item in self.record.items:
            if item.role != "assistant" or item.status == "in_progress":
                continue
            speech = speeches.pop(item.id, None)
            who, at_ms = item.name or "", [self._began_ms(item.id)]
            if speech is None or times[item.id] > 1:
                often = f"{times[item.id]} times" if times[item.id] > 1 else "though no agent said it"
                self.fail(f'The room knows "{shortened(item.text)}" of {who} {often}.', *at_ms)
            if speech.who != who:
                self.fail(f'{speech.who} said "{shortened(speech.text)}", but the room has it as of {who}.', *at_ms)
            if normalised(item.text) != normalised(speech.text):
                finding = f'{who} said "{shortened(speech.text)}", but the room knows "{shortened(item.text)}"'
                self.fail(f"{finding}.", *at_ms)
        for speech in speeches.values():
            if speech.text and speech.kept is not None:
                finding = f'{speech.who} said "{shortened(speech.text)}", and the room knows nothing of it.'
                self.fail(finding, speech.first_audio_ms or 0.0)

    def _author(self, item: Item) -> str:
        """Return an item's author by their latest name.

        An item under a name that they never had keeps that name.
        """
        who = self._wrote.get(item.id, "")
        return self.names[who] if item.name in self._called.get(who, ()) else item.name or ""

    @cached_property
    def _wrote(self) -> dict[str, str]:
        """Participants' ids by human item, from the log."""
        return {one.item.id: one.agent_id for one in self.record.events(s.AgentItemAddedEvent)}

    @cached_property
    def _called(self) -> dict[str, set[str]]:
        """All names of each participant, by id."""
        called: dict[str, set[str]] = {}
        for one in self.record.events(s.ServerRoomJoinedEvent):
            called.setdefault(one.participant_id, set()).add(one.name)
        return called

    def _first_difference(self, said: Sequence[tuple[float, str]], got: str) -> list[float]:
        """Return the time of the first words that are missing."""
        for at_ms, text in said:
            words = normalised(text)
            if not got.startswith(words):
                return [at_ms]
            got = got[len(words) :].lstrip()
        return []

    def no_agent_hears_itself(self) -> RoomRun:
        """No agent's model received audio of what that agent had just said."""
        for who, pieces in self.heard.items():
            said = [(self._began_ms(item_id), _excerpt(bytes(pcm))) for item_id, pcm in self.said.get(who, {}).items()]
            for piece in pieces:
                sound = _at_compared_rate(piece.pcm, piece.rate_hz)
                for _, excerpt in [one for one in said if one[0] < piece.at_ms][-LATEST_ITEMS:]:
                    alike = _likeness(sound, excerpt)
                    if alike > ALIKE:
                        finding = f"{who} heard itself: what its model was sent is like its own voice ({alike:.2f})."
                        self.fail(finding, piece.at_ms)
        return self

    def _began_ms(self, item_id: str) -> float:
        speech = self.reading.log.speech(item_id)
        return speech.first_audio_ms or 0.0 if speech is not None else 0.0

    @cached_property
    def _audible(self) -> list[tuple[Played, str]]:
        whose = {one.item_id: one.who for one in self.reading.speeches}
        return [(one, whose.get(one.item_id, "")) for one in self.record.played if one.ms > SAMPLE_MS]


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:12], *(["..."] if len(names) > 12 else [])]
    return ", ".join(shown) or "none"


def _at_compared_rate(pcm: bytes, rate_hz: int) -> NDArray[np.float32]:
    if rate_hz != COMPARED_HZ:
        resampler = Resampler(rate_hz, COMPARED_HZ)
        pcm = resampler.push(pcm[: len(pcm) // SAMPLE_BYTES * SAMPLE_BYTES]) + resampler.flush()
    return np.frombuffer(pcm, "<i2").astype(np.float32)


def _excerpt(sound: bytes) -> NDArray[np.float32]:
    """Return the beginning of what was said, which any audible part contains."""
    samples = _at_compared_rate(
        sound[: int((EXCERPT_S + 0.5) * DEFAULT_OUTPUT_RATE_HZ) * SAMPLE_BYTES], DEFAULT_OUTPUT_RATE_HZ
    )
    loud = np.flatnonzero(np.abs(samples) > QUIET)
    begin = int(loud[0]) if len(loud) else 0
    return samples[begin : begin + int(EXCERPT_S * COMPARED_HZ)]


def _likeness(heard: NDArray[np.float32], excerpt: NDArray[np.float32]) -> float:
    """Return the excerpt's greatest correlation with any part of the sound: 0 to 1."""
    if len(heard) < len(excerpt) or not np.any(excerpt):
        return 0.0
    size = 1 << (len(heard) + len(excerpt)).bit_length()
    product = np.fft.rfft(heard, size) * np.conj(np.fft.rfft(excerpt, size))
    lags = len(heard) - len(excerpt) + 1
    correlation = np.abs(np.fft.irfft(product, size)[:lags])
    energy = np.concatenate(([0.0], np.cumsum(np.square(heard, dtype=np.float64))))
    local = energy[len(excerpt) :] - energy[:lags]
    floor = len(excerpt) * QUIET**2
    return float((correlation / np.sqrt(np.maximum(local, floor) * float(np.dot(excerpt, excerpt)))).max())

"""`claims-in-time`: how often a claim is cut from a speech-to-speech reply before it is heard.

Whole calls in virtual time. The model's words come as providers send them: a word with its sound, or the text ahead of
it; the sound at so many times real time. The client plays from the first sound on, and answers a flush at once.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.backed_claims import PAGE, sentences
from bench.report import Check, Section
from realtime.agent import RealtimeAgent
from realtime.audio.pcm import bytes_of
from realtime.audio.playback import WallClockPlayback
from realtime.call.listener import EventDialect, Listener
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.script import Emit, Speak, Step, Wait
from realtime.model.scripted import PROFILE, ScriptedModel
from realtime.runtime import Runtime
from realtime.testing.clock import run
from realtime.tool import Toolkit

SPEEDS = (1.0, 1.5, 2.0, 3.0)
"""How fast a reply arrives, in times real time."""
LEADS_S = (0.0, 0.5)
"""How long before its sound a word is there, at most."""
OPENINGS = (
    "",
    "Of course, with pleasure. ",
    "Of course, with pleasure. Let me have a look at the calendar for Friday. ",
)
"""What stands before the claim."""
BEHIND = " Is there anything else that I can do for you today?"
CHARS_PER_S = 15.0
PIECE_MS = 100
RATE_HZ = 24_000
FORMAT = AudioFormat.pcm16(RATE_HZ)


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one claim."""

    ms: int
    """How much of the claim was heard."""
    whole_ms: int
    """How long it is."""

    @property
    def in_time(self) -> bool:
        """Whether not even its first word was heard."""
        return self.ms <= 100


class _Sink:
    """A client that takes everything at once."""

    def __init__(self) -> None:
        self.events: list[s.ServerEvent] = []

    def write(self, frame: s.ServerEvent) -> bool:
        """Keep the event."""
        self.events.append(frame)
        return True

    async def finish(self) -> None:
        """Nothing waits."""

    def close(self, code: int, reason: str) -> None:
        """Nothing is open."""


async def measure_in_time(count: int = 20) -> Section:
    """Print how often, and how much of a claim is heard where it is too late."""
    claims = [one.text for one in sentences() if one.kit == "restaurant" and one.expected == "book_table"][:count]
    section = Section(
        "claims-in-time",
        "Speech-to-speech: claims that are cut before they are heard",
        f"{len(claims)} claims at each place of a reply, in calls in virtual time.",
        ("arrives at", "text ahead by", "claim begins the reply", "after one sentence", "after two", "heard if late"),
        page=PAGE,
    )
    for speed in SPEEDS:
        for lead_s in LEADS_S:
            found = [
                [await asyncio.to_thread(run, _claim(opening, claim, speed, lead_s)) for claim in claims]
                for opening in OPENINGS
            ]
            late = [one.ms for column in found for one in column if not one.in_time]
            shares = [100 * sum(one.in_time for one in column) / len(column) for column in found]
            median_ms = statistics.median(late) if late else 0
            section.rows.append(
                (f"{speed:g} x", f"{lead_s:g} s", *(f"{share:.0f} %" for share in shares), f"{median_ms:.0f} ms")
            )
            section.data[f"{speed:g}x {lead_s:g}s"] = {"in_time_percent": shares, "late_median_ms": median_ms}
    section.checks.append(Check("claims at each place", len(claims), None))
    return section


async def _claim(opening: str, claim: str, speed: float, lead_s: float) -> Heard:
    """Return what is heard of a claim behind an opening."""
    replies = [*_reply(f"{opening}{claim}{BEHIND}", speed, lead_s)]

    def react(message: ModelInput) -> Sequence[Step]:
        if not isinstance(message, ResponseCreate):
            return ()
        steps, replies[:] = [*replies], []
        return steps or [Speak("I still need your name.", 1.0)]

    toolkit = Toolkit()
    toolkit.register(book_table, claims=["I have booked the table"])
    agent = RealtimeAgent("Robin", "", ScriptedModel(react, profile=PROFILE), toolkit=toolkit, claims="checked")
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    session, sink = Session(participant=agent.run(), runtime=runtime, session_id="bench"), _Sink()
    clock = WallClockPlayback(RATE_HZ)
    listener = Listener(sink=sink, dialect=EventDialect(), runtime=runtime, clock=clock)
    session.attach(listener)
    await session.start(SessionConfig())
    session.receive(c.ClientTextAppendEvent(text="A table for six, please."), listener)
    await asyncio.sleep(40)
    await session.end("over")
    begins_ms, ends_ms = (round(1000 * n / CHARS_PER_S) for n in (len(opening), len(opening) + len(claim)))
    played_ms = max(
        (event.audio_end_ms for event in sink.events if isinstance(event, s.AgentItemTruncatedEvent)),
        default=0 if any(isinstance(event, s.AgentItemDeletedEvent) for event in sink.events) else ends_ms,
    )
    return Heard(min(max(0, played_ms - begins_ms), ends_ms - begins_ms), ends_ms - begins_ms)


def book_table(people: int) -> str:
    """Book a table."""
    return f"booked for {people}"


def _reply(text: str, speed: float, lead_s: float) -> Iterator[Step]:
    """Yield a reply whose words and sound come in step, at this speed."""
    ids = {"response_id": "resp_bench", "item_id": "item_bench"}
    whole_ms = round(1000 * len(text) / CHARS_PER_S)
    moments: list[tuple[float, m.ModelEvent]] = []
    place = 0
    for word in text.split(" "):
        delta = word if place == 0 else f" {word}"
        at_s = max(0.0, place / CHARS_PER_S / speed - lead_s)
        moments.append((at_s, m.ModelResponseAudioTranscriptDeltaEvent(delta=delta, **ids)))
        place += len(delta)
    pcm = bytes(bytes_of(PIECE_MS, RATE_HZ))
    for at_ms in range(0, whole_ms, PIECE_MS):
        moments.append((at_ms / 1000 / speed, m.ModelResponseAudioDeltaEvent(delta=pcm, format=FORMAT, **ids)))
    yield Emit(m.ModelResponseCreatedEvent(response_id=ids["response_id"]))
    now_s = 0.0
    for at_s, event in sorted(moments, key=lambda moment: moment[0]):
        if at_s > now_s:
            yield Wait((at_s - now_s) * 1000)
            now_s = at_s
        yield Emit(event)
    yield Emit(m.ModelResponseAudioDoneEvent(**ids))
    yield Emit(m.ModelResponseAudioTranscriptDoneEvent(transcript=text, **ids))
    yield Emit(m.ModelResponseDoneEvent(response_id=ids["response_id"]))

"""Models that stand in for the real one: what they hear and answer stands in a case."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from realtime.audio.files import read_pcm16
from realtime.event import model as m
from realtime.event.config import TurnDetection
from realtime.message import ToolResultBlock
from realtime.model import base
from realtime.model.script import tone
from realtime.runtime import Runtime
from realtime.testing.cases.expected import ToolUse
from realtime.testing.cases.stand_in import Call, HangUp, Hear, Nothing, Say, StandIn, WriteText
from realtime.testing.errors import CaseError

pytestmark = pytest.mark.virtual_time

RATE_HZ = 16_000


class Session:
    """A connection, and what it reported."""

    def __init__(self) -> None:
        self.events: list[m.ModelEvent] = []
        self.times: list[float] = []
        self.connection: base.Connection

    @classmethod
    async def open(cls, what: StandIn, folder: Path = Path(), **settings: Any) -> Session:
        self = cls()
        loop = asyncio.get_running_loop()

        def note(event: m.ModelEvent) -> None:
            self.events.append(event)
            self.times.append(loop.time())

        self.connection = await what.model(folder).connect(
            settings=base.Settings(**settings), on_event=note, history=tuple, runtime=Runtime.deterministic(loop.time)
        )
        return self

    async def hear(self, pcm: bytes) -> None:
        """Send it in real time."""
        for at in range(0, len(pcm), 1_280):
            self.connection.send(base.AudioAppend(pcm[at : at + 1_280]))
            await asyncio.sleep(0.04)

    async def ask(self, seconds: float = 1.0) -> None:
        """Ask for an answer, and wait so long."""
        self.connection.send(base.ResponseCreate())
        await asyncio.sleep(seconds)

    async def cancel(self, seconds: float = 1.0) -> None:
        self.connection.send(base.ResponseCancel())
        await asyncio.sleep(seconds)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def at(self, kind: type[Any]) -> float:
        """When it reported the first of this kind."""
        return next(at for event, at in zip(self.events, self.times, strict=True) if isinstance(event, kind))

    @property
    def said(self) -> list[str]:
        return [event.transcript for event in self.of(m.ModelResponseAudioTranscriptDoneEvent)]


async def answering(*answers: Any, otherwise: Any = None) -> Session:
    """A session without a detector: each request gets the next of these answers."""
    return await Session.open(StandIn(turns="none", answers=answers, otherwise=otherwise))


async def test_the_detector_finds_the_turns_and_the_case_has_the_words(fixtures_dir: Path) -> None:
    session = await Session.open(StandIn(hears=(Hear("What time is it?"),), answers=(Say(text="Noon."),)))
    await session.hear(read_pcm16(fixtures_dir / "audio" / "what_time.wav", RATE_HZ) + bytes(RATE_HZ * 2))
    (started,), (done,) = session.of(m.ModelInputStartedEvent), session.of(m.ModelInputDoneEvent)
    assert abs(started.audio_start_ms - 400) < 100
    assert abs(done.audio_end_ms - 1_310) < 100
    assert [event.transcript for event in session.of(m.ModelInputTranscriptionDoneEvent)] == ["What time is it?"]
    assert session.said == ["Noon."]


async def test_the_detector_waits_as_long_as_the_call_s_settings_say(fixtures_dir: Path) -> None:
    what = StandIn(hears=(Hear("What time is it?"),), answers=(Say(text="Noon."),))
    detection = TurnDetection(type="server_vad", silence_duration_ms=1_200)
    session = await Session.open(what, turn_detection=detection)
    await session.hear(read_pcm16(fixtures_dir / "audio" / "what_time.wav", RATE_HZ) + bytes(RATE_HZ * 4))
    (done,) = session.of(m.ModelInputDoneEvent)
    assert session.at(m.ModelInputDoneEvent) * 1000 - done.audio_end_ms >= 1_200


async def test_positions_say_when_a_turn_is_noticed_and_when_it_ends() -> None:
    hear = Hear("Hello.", from_ms=500, to_ms=1_500, noticed_ms=620, ended_ms=2_000)
    session = await Session.open(StandIn(turns="positions", hears=(hear,), answers=(Say(text="Yes?", after_ms=250),)))
    await session.hear(bytes(RATE_HZ * 2 * 3))
    assert session.of(m.ModelInputStartedEvent)[0].audio_start_ms == 500
    assert session.of(m.ModelInputDoneEvent)[0].audio_end_ms == 1_500
    # A frame is taken where it begins: 640 ms have come with the one that begins at 600.
    assert session.at(m.ModelInputStartedEvent) == pytest.approx(0.6)
    assert session.at(m.ModelInputDoneEvent) == pytest.approx(1.96)
    assert session.at(m.ModelResponseAudioDeltaEvent) == pytest.approx(1.96 + 0.25)


async def test_without_a_detector_each_commit_has_the_next_words_and_each_request_the_next_answer() -> None:
    what = StandIn(
        turns="none", hears=(Hear("One."), Hear("Two.")), answers=(Say(text="First."), WriteText(text="Second."))
    )
    session = await Session.open(what)
    for _ in range(2):
        session.connection.send(base.AudioAppend(tone(0.5, RATE_HZ)))
        session.connection.send(base.AudioCommit())
        session.connection.send(base.ResponseCreate())
        await asyncio.sleep(1)
    assert [event.transcript for event in session.of(m.ModelInputTranscriptionDoneEvent)] == ["One.", "Two."]
    assert session.said == ["First."]
    assert [event.text for event in session.of(m.ModelResponseTextDoneEvent)] == ["Second."]


async def test_tools_are_called_and_the_next_answer_follows_their_results() -> None:
    session = await answering(
        Call(tools=(ToolUse("lookup_order", {"id": "A-17"}),), after_ms=400), Say(text="Tomorrow.")
    )
    await session.ask(0.399)
    assert not session.of(m.ModelResponseToolUseDoneEvent)
    await asyncio.sleep(0.1)
    (called,) = session.of(m.ModelResponseToolUseDoneEvent)
    assert (called.tool_use.name, called.tool_use.input) == ("lookup_order", '{"id": "A-17"}')
    result = ToolResultBlock(id=called.tool_use.id, name="lookup_order", output="on its way")
    session.connection.send(base.ToolResult(result))
    await session.ask()
    assert session.said == ["Tomorrow."]


@pytest.mark.parametrize("after_ms", [0, 400])
@pytest.mark.parametrize("before", [Say(text="Let me see.", ms=800), WriteText(text="Let me see.", after_ms=0)])
async def test_words_and_the_tools_after_them_are_one_response(before: Any, after_ms: int) -> None:
    session = await answering(Call(tools=(ToolUse("lookup"),), before=before, after_ms=after_ms), Say(text="Tomorrow."))
    await session.ask(0)
    await session.ask(5)
    first, second = [event.response_id for event in session.of(m.ModelResponseCreatedEvent)]
    (called,) = session.of(m.ModelResponseToolUseDoneEvent)
    assert called.response_id == first
    dones = session.of(m.ModelResponseDoneEvent)
    assert [(event.response_id, event.status) for event in dones] == [(first, "completed"), (second, "completed")]
    assert session.events.index(called) < session.events.index(dones[0])
    assert session.said[-1] == "Tomorrow."


LOOKUP = Call(tools=(ToolUse("lookup"),), before=Say("Let me see.", ms=800, pace=2.0, after_ms=0), after_ms=900)


@pytest.mark.parametrize(
    ("answer", "cancelled_at_ms"),
    [
        (LOOKUP, 200),
        (LOOKUP, 700),
        (Say(text="Never.", after_ms=500), 200),
        (Call(tools=(ToolUse("never"),), after_ms=500), 200),
        (WriteText(text="Never."), 200),
    ],
)
async def test_an_answer_that_is_cancelled_says_and_calls_nothing_more(answer: Any, cancelled_at_ms: int) -> None:
    session = await answering(answer, Say(text="Well."))
    await session.ask(cancelled_at_ms / 1000)
    await session.cancel()
    await session.ask(5)
    assert [event.status for event in session.of(m.ModelResponseDoneEvent)] == ["cancelled", "completed"]
    assert not session.of(m.ModelResponseToolUseDoneEvent)
    assert not session.of(m.ModelResponseTextDoneEvent)
    assert session.said[-1] == "Well."


async def test_speech_stops_the_answer_that_is_on_its_way() -> None:
    hears = tuple(Hear("Go on.", at, at + 300, at + 100, at + 600) for at in (0, 1_000))
    what = StandIn(turns="positions", hears=hears, answers=(Say(text="Never.", after_ms=900), Say(text="Now.")))
    session = await Session.open(what)
    await session.hear(bytes(RATE_HZ * 2 * 3))
    assert [event.status for event in session.of(m.ModelResponseDoneEvent)] == ["cancelled", "completed"]
    assert session.said == ["", "Now."]


@pytest.mark.parametrize("told", ["at the start", "later"])
async def test_speech_lets_the_answer_go_on_where_it_shall_not_interrupt(told: str) -> None:
    """As with the services: the answer is said to its end, and the speech beside it gets none of its own."""
    detection = TurnDetection(interrupt_response=False)
    hears = tuple(Hear("Go on.", at, at + 300, at + 100, at + 600) for at in (0, 1_000, 4_000))
    answers = (Say(text="First.", ms=2_000), Say(text="Second."))
    what = StandIn(turns="positions", hears=hears, answers=answers)
    session = await Session.open(what, turn_detection=detection if told == "at the start" else None)
    if told == "later":
        session.connection.send(base.SessionUpdate(base.Settings(turn_detection=detection)))
    await session.hear(bytes(RATE_HZ * 2 * 6))
    assert len(session.of(m.ModelInputDoneEvent)) == 3
    assert [event.status for event in session.of(m.ModelResponseDoneEvent)] == ["completed", "completed"]
    assert session.said == ["First.", "Second."]


async def test_who_decides_elsewhere_hears_no_turns_here(fixtures_dir: Path) -> None:
    session = await Session.open(StandIn(answers=(Say(text="Never."),)), turn_detection="none")
    await session.hear(read_pcm16(fixtures_dir / "audio" / "what_time.wav", RATE_HZ) + bytes(RATE_HZ * 2))
    assert not session.of(m.ModelInputStartedEvent)
    assert not session.of(m.ModelResponseCreatedEvent)


async def test_a_turn_may_be_left_unanswered() -> None:
    what = StandIn(turns="positions", hears=(Hear("Hello.", 0, 300, 100, 600),), answers=(Say(text="Later."),))
    session = await Session.open(what, turn_detection=TurnDetection(create_response=False))
    await session.hear(bytes(RATE_HZ * 2))
    assert not session.of(m.ModelResponseCreatedEvent)
    await session.ask()
    assert session.said == ["Later."]


async def test_what_is_used_up_is_followed_by_what_is_otherwise_said_and_a_provider_may_hang_up() -> None:
    session = await answering(Nothing(), Say(text="Once."), otherwise=Say(text="Pardon?"))
    for _ in range(4):
        await session.ask()
    assert session.said == ["Once.", "Pardon?", "Pardon?"]
    session = await answering(HangUp(reason="quota"))
    await session.ask(0.1)
    assert [event.reason for event in session.of(m.ModelSessionEndedEvent)] == ["quota"]


async def test_an_answer_sounds_as_its_file_does(fixtures_dir: Path) -> None:
    said = Say(text="Hello.", audio="hello_anna.wav", from_ms=400, to_ms=900)
    session = await Session.open(StandIn(turns="none", answers=(said,)), fixtures_dir / "audio")
    await session.ask(3)
    sound = b"".join(event.delta for event in session.of(m.ModelResponseAudioDeltaEvent))
    whole = read_pcm16(fixtures_dir / "audio" / "hello_anna.wav", 24_000)
    assert sound == whole[400 * 48 : 900 * 48]


async def test_what_cannot_be_used_is_said_before_the_call_begins(fixtures_dir: Path) -> None:
    wrong = {
        r"none.wav: there is no such file. Name one that exists": StandIn(answers=(Say("x", audio="none.wav"),)),
        r"there is no sound from 9000 ms on": StandIn(answers=(Say("x", audio="what_time.wav", from_ms=9_000),)),
        r"manifest.json: .*Replace it by a WAV or FLAC": StandIn(answers=(Say("x", audio="manifest.json"),)),
        r"case.json, hears 1: its positions are not complete. Give from_ms, to_ms, noticed_ms and ended_ms": StandIn(
            turns="positions", hears=(Hear("x", 0, 1, 2),)
        ),
    }
    for problem, what in wrong.items():
        with pytest.raises(CaseError, match=problem):
            what.model(fixtures_dir / "audio")

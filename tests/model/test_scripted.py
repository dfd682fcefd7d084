"""The scripted model: follows its script in virtual time, fails on leftovers, and behaves like a provider otherwise."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import pytest

from realtime.event import Item, ModelEvent, ModelEvents
from realtime.event.base import ContentPart, ResponseOverrides
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ModelInput,
    Profile,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.scripted import (
    MANUAL_PROFILE,
    PROFILE,
    CallTools,
    Emit,
    Expect,
    ExpectAudio,
    Hangup,
    React,
    ScriptedConnection,
    ScriptedModel,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
    Transcribe,
    Wait,
    Write,
    echo_bot,
    tone,
)
from realtime.runtime import Runtime
from realtime.testing.clock import VirtualLoop
from tests.model.grammar import check_grammar

pytestmark = pytest.mark.virtual_time

T = TypeVar("T")

SECOND = b"\0\0" * PROFILE.input_rate_hz


class Call:
    """A connection to a scripted model, and what it reported with the time of each event."""

    def __init__(self, script: list[Step] | React, *, profile: Profile = PROFILE, strict: bool = True) -> None:
        self.model = ScriptedModel(script, profile=profile, strict=strict)
        self.events: list[ModelEvent] = []
        self.times_ms: list[int] = []
        self.loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Call:
        connection = await self.model.connect(settings=Settings(), on_event=self._note, history=list, runtime=Runtime())
        assert isinstance(connection, ScriptedConnection)
        self.connection = connection
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.close()

    def _note(self, event: ModelEvent) -> None:
        self.events.append(event)
        self.times_ms.append(round(self.loop.time() * 1000))

    async def send(self, *messages: ModelInput) -> None:
        for message in messages:
            self.connection.send(message)
        await self.settle()

    async def settle(self) -> None:
        assert isinstance(self.loop, VirtualLoop)
        await self.loop.settle()

    @property
    def types(self) -> list[str]:
        return [event.type.removeprefix("model_") for event in self.events]

    def only(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]


async def test_a_spoken_turn_by_the_detector() -> None:
    """RTM-25: a whole spoken turn without a network, in virtual time.
    MEV-01: created after connect. MEV-02: ended after disconnect."""
    script: list[Step] = [
        ExpectAudio(1000),
        SpeechStart(200),
        ExpectAudio(2000),
        SpeechEnd(1500, "good morning"),
        Speak("Good morning to you.", 1.2),
    ]
    async with Call(script) as call:
        assert call.types == ["session_created"]
        await call.send(AudioAppend(SECOND))
        assert call.types[-1] == "input_started"
        await call.send(AudioAppend(SECOND))
    check_grammar(call.events, output_rate_hz=24_000)
    call.model.assert_finished()
    assert call.types[1:] == [
        "input_started",
        "input_done",
        "input_committed",
        "item_added",
        "item_done",
        "input_transcription_delta",
        "input_transcription_delta",
        "input_transcription_done",
        "response_created",
        "item_added",
        "response_audio_transcript_delta",
        "response_audio_transcript_delta",
        "response_audio_delta",
        "response_audio_transcript_delta",
        "response_audio_transcript_delta",
        "response_audio_delta",
        "response_audio_delta",
        "response_audio_done",
        "response_audio_transcript_done",
        "item_done",
        "response_done",
        "session_ended",
    ]
    assert [event.audio_start_ms for event in call.only(ModelEvents.ModelInputStartedEvent)] == [200]
    assert [event.audio_end_ms for event in call.only(ModelEvents.ModelInputDoneEvent)] == [1500]


async def test_paced_speech_takes_its_time() -> None:
    async with Call([Expect(ResponseCreate), Speak("one two three", 1.2, pace=2.0)]) as call:
        await call.send(ResponseCreate())
        await asyncio.sleep(1)
        starts = [
            at
            for at, event in zip(call.times_ms, call.events, strict=True)
            if event.type == "model_response_audio_delta"
        ]
        assert starts == [0, 200, 400]
        call.model.assert_finished()


async def test_a_cancel_closes_the_response_that_runs() -> None:
    """MEV-04: a cancelled response is done exactly once, after all its deltas."""
    async with Call([Expect(ResponseCreate), Speak("one two three", 1.2, pace=1.0), Expect(ResponseCancel)]) as call:
        await call.send(ResponseCreate())
        await asyncio.sleep(0.5)
        await call.send(ResponseCancel())
        await asyncio.sleep(5)
        check_grammar(call.events, output_rate_hz=24_000)
        assert call.types[-4:] == [
            "response_audio_done",
            "response_audio_transcript_done",
            "item_done",
            "response_done",
        ]
        done = call.events[-1]
        assert isinstance(done, ModelEvents.ModelResponseDoneEvent)
        assert (done.status, done.status_details) == ("cancelled", {"type": "cancelled", "reason": "client_cancelled"})
        call.model.assert_finished()


@pytest.mark.parametrize(("profile", "status"), [(PROFILE, "cancelled"), (MANUAL_PROFILE, "completed")])
async def test_speech_interrupts_where_the_profile_says_so(profile: Profile, status: str) -> None:
    script: list[Step] = [Speak("one two three", 1.2, pace=1.0, wait=False), Wait(500), SpeechStart(100), Wait(2000)]
    async with Call(script, profile=profile) as call:
        await asyncio.sleep(3)
        (done,) = call.only(ModelEvents.ModelResponseDoneEvent)
        assert done.status == status
        call.model.assert_finished()


async def test_tools_stream_their_arguments_and_take_results() -> None:
    """MEV-09: the input grows. MEV-10: the complete input parses."""
    calls: tuple[tuple[str, dict[str, str]], ...] = (("get_time", {"city": "Oslo", "zone": "CET"}), ("get_date", {}))
    script: list[Step] = [
        CallTools(calls),
        Expect(ToolResult),
        Expect(ToolResult),
        Expect(ResponseCreate),
        Write("Nine."),
    ]
    async with Call(script) as call:
        await call.settle()
        done = call.only(ModelEvents.ModelResponseToolUseDoneEvent)
        assert [(event.tool_use.id, event.tool_use.name) for event in done] == [
            ("call_1", "get_time"),
            ("call_2", "get_date"),
        ]
        results = [ToolResult(ToolResultBlock(id=event.tool_use.id, name=event.tool_use.name)) for event in done]
        await call.send(*results, ResponseCreate())
        check_grammar(call.events, output_rate_hz=24_000)
        call.model.assert_finished()


@pytest.mark.parametrize(
    ("script", "messages", "sentence"),
    [
        ([Expect(AudioCommit)], [ResponseCreate(), AudioCommit()], "did not expect ResponseCreate"),
        ([Expect(ItemDelete, lambda message: message.item_id == "a")], [ItemDelete("b")], "did not expect ItemDelete"),
        ([], [AudioAppend(SECOND), AudioCommit()], "did not expect AudioCommit"),
        (
            [ExpectAudio(1000), Write("never")],
            [AudioAppend(SECOND[:-2])],
            r"stopped before ExpectAudio\(at_ms=1000\), 2 steps from its end",
        ),
    ],
    ids=["another input", "an input that misses the condition", "behind the script", "too little"],
)
async def test_what_the_script_does_not_expect_and_what_it_still_expects_is_named_at_the_end(
    script: list[Step], messages: list[ModelInput], sentence: str
) -> None:
    async with Call(script) as call:
        await call.send(*messages)
        with pytest.raises(AssertionError, match=sentence):
            call.model.assert_finished()


async def test_a_lenient_script_takes_input_behind_its_end() -> None:
    async with Call([], strict=False) as call:
        await call.send(AudioCommit())
        call.model.assert_finished()


async def test_a_model_without_a_connection_is_not_finished() -> None:
    with pytest.raises(AssertionError, match="no connection was made"):
        ScriptedModel([]).assert_finished()


async def test_it_acknowledges_like_a_provider() -> None:
    item = Item(id="mine", role="user", content=(ContentPart(type="text", text="hello"),))
    async with Call([], strict=False) as call:
        await call.send(
            ItemCreate(item),
            ItemRetrieve("mine"),
            ItemTruncate("item_9", 120, "so far"),
            ItemDelete("mine"),
            ItemRetrieve("mine"),
            AudioClear(),
            SessionUpdate(Settings(instructions="be brief")),
        )
        assert call.types[1:] == [
            "item_added",
            "item_done",
            "item_retrieved",
            "item_truncated",
            "item_deleted",
            "error",
            "input_cleared",
            "session_updated",
        ]
        assert call.connection.settings.instructions == "be brief"


async def test_events_never_come_inside_send() -> None:
    async with Call([], strict=False) as call:
        call.connection.send(AudioCommit())
        assert call.types == ["session_created"]
        await call.settle()
        assert call.types[1:] == ["input_committed", "item_added", "item_done"]


async def test_the_echo_bot_answers_each_request() -> None:
    async with Call(echo_bot("Heard.", seconds=0.5), profile=MANUAL_PROFILE) as call:
        await call.send(AudioAppend(SECOND), AudioCommit(), ResponseCreate())
        await call.send(ResponseCreate())
        check_grammar(call.events, output_rate_hz=24_000)
        audio = b"".join(event.delta for event in call.only(ModelEvents.ModelResponseAudioDeltaEvent))
        assert audio == tone(0.5, 24_000) * 2
        assert not call.connection.audio
        assert not call.model.connections


async def test_a_function_may_look_at_what_it_gets() -> None:
    def react(message: ModelInput) -> list[Step]:
        return [Transcribe("said")] if isinstance(message, AudioCommit) else []

    async with Call(react) as call:
        await call.send(AudioCommit())
        assert call.types[-2:] == ["input_transcription_delta", "input_transcription_done"]


async def test_a_hangup_ends_the_session_once() -> None:
    """MEV-02: ended after the provider closes, and not again after disconnect."""
    async with Call([Speak("one two", 0.8, pace=1.0, wait=False), Wait(100), Hangup("session_expired")]) as call:
        await asyncio.sleep(1)
        call.connection.send(AudioCommit())
    check_grammar(call.events, output_rate_hz=24_000)
    ended = call.only(ModelEvents.ModelSessionEndedEvent)
    assert [event.reason for event in ended] == ["session_expired"]
    assert call.types[-1] == "session_ended"


async def test_closing_cancels_what_was_planned() -> None:
    async with Call([Wait(1000), Emit(ModelEvents.ModelInputClearedEvent())]) as call:
        await call.settle()
        await call.connection.close()
        await call.connection.close()
        await asyncio.sleep(2)
    assert call.types == ["session_created", "session_ended"]


async def test_two_connections_follow_the_script_apart() -> None:
    model = ScriptedModel([Write("hello")])
    logs: list[list[ModelEvent]] = [[], []]
    for log in logs:
        await model.connect(settings=Settings(), on_event=log.append, history=list, runtime=Runtime())
    await asyncio.sleep(0)
    model.assert_finished()
    assert [event.model_dump() for event in logs[0]][1:] == [event.model_dump() for event in logs[1]][1:]
    assert logs[0][0] != logs[1][0]
    for connection in model.connections:
        await connection.close()


async def test_what_answers_a_request_beside_the_conversation_is_no_item_and_has_its_metadata() -> None:
    """As a provider answers `conversation: "none"`."""
    asked = ResponseCreate(ResponseOverrides(conversation="none", metadata={"for": "question"}), "Shall I?")

    def say(message: ModelInput) -> list[Step]:
        return [Speak(message.say, 0.2, to=message)] if isinstance(message, ResponseCreate) else []

    async with Call(say) as call:
        await call.send(asked)
    (created,) = call.only(ModelEvents.ModelResponseCreatedEvent)
    assert (created.conversation, created.metadata) == ("none", {"for": "question"})
    (said,) = call.only(ModelEvents.ModelResponseAudioTranscriptDoneEvent)
    assert said.transcript == "Shall I?"
    assert call.only(ModelEvents.ModelItemAddedEvent) == []

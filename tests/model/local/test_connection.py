"""The embedded model from outside: a provider with server VAD. Its parts are stand-ins and time is virtual."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import Overflow, ProviderError
from realtime.event import model as m
from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.event.config import ToolDeclaration, TurnDetection
from realtime.message import ToolResultBlock
from realtime.model.base import (
    AudioAppend,
    AudioClear,
    AudioCommit,
    ItemDelete,
    ItemRetrieve,
    ItemTruncate,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
)
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine, SpeechParts
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.testing import Send, WaitFor, WaitUntilHeard
from realtime.turn.responses import SORRY
from tests.model.local.stand_ins import (
    SENTENCE_BYTES,
    Call,
    FakeRecognizer,
    FakeVoice,
    LoudnessVad,
    connect,
    silence,
    speech,
    stand_in_parts,
    typed,
)

pytestmark = pytest.mark.virtual_time(
    costs={"FakeRecognizer.transcribe": 0.12, "FakeVoice.synthesize": 0.02}, epoch_s=1_767_225_600.0
)


class Parrot:
    """Says back what was said; remembers what it was asked. Tools, failures and patience on request."""

    name = "parrot"
    takes_images = False

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self.closed = 0

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        self.prompts.append(prompt)
        last = prompt.history[-1] if prompt.history else None
        said = last.text if last is not None else "Welcome."
        try:
            if last is not None and last.tool_result is not None:
                yield ReplyText(f"The tool says {last.tool_result.output_text()}.")
            elif said.startswith("use "):
                yield ReplyText("Let me see.")
                yield ReplyToolCall(said.removeprefix("use "), '{"x": 1}')
            elif said == "fail":
                yield ReplyText("Well, this is a sentence. ")
                raise ProviderError("no answer can be had", code="no_mind", retryable=True)
            elif said == "crash":
                raise ZeroDivisionError
            elif said == "think":
                await asyncio.sleep(10)
            elif said == "tell":
                for _ in range(60):
                    yield ReplyText("This is one sentence of many. ")
            else:
                for word in f"You said: {said}. Right?".split(" "):
                    yield ReplyText(f"{word} ")
        finally:
            self.closed += 1


@pytest.fixture
def parts() -> SpeechParts:
    return stand_in_parts()


@pytest.fixture
def engine(parts: SpeechParts) -> Iterator[SpeechEngine]:
    engine = SpeechEngine(lambda progress: parts)
    yield engine
    engine.close()


@pytest.fixture
async def call(engine: SpeechEngine, parts: SpeechParts) -> Any:
    assert isinstance(parts.recognizer, FakeRecognizer)
    made = Call(parts.recognizer, Parrot())
    await connect(made, engine)
    yield made
    await made.connection.close()


@asynccontextmanager
async def call_with(parts: SpeechParts, history: Sequence[Item] = ()) -> AsyncIterator[Call[Parrot]]:
    """A call of a model with these parts."""
    engine = SpeechEngine(lambda progress: parts)
    made = Call(FakeRecognizer(), Parrot())
    await connect(made, engine, history=history)
    yield made
    await made.connection.close()
    engine.close()


async def speak(call: Call[Parrot], voice_ms: int = 600, pause_ms: int = 1_000) -> None:
    """Begin to speak, and end."""
    await call.say(silence(400), speech(voice_ms), silence(pause_ms))


def asked(call: Call[Parrot]) -> list[str]:
    """The conversation about which the language model was asked last."""
    return [item.text for item in call.language_model.prompts[-1].history]


def statuses(call: Call[Parrot]) -> list[str]:
    return [done.status for done in call.all(m.ModelResponseDoneEvent)]


def said(call: Call[Parrot]) -> list[str]:
    return [done.transcript for done in call.all(m.ModelResponseAudioTranscriptDoneEvent)]


def heard(call: Call[Parrot]) -> list[str]:
    return [done.transcript for done in call.all(m.ModelInputTranscriptionDoneEvent)]


def errors(call: Call[Parrot]) -> list[str]:
    return [error.code for error in call.all(m.ModelErrorEvent)]


class FakeJudge:
    """Finds every voice equally complete, or fails; remembers the lengths."""

    def __init__(self, completeness: float | None) -> None:
        self._completeness = completeness
        self.clips_ms: list[int] = []

    def completeness(self, pcm: bytes) -> float:
        self.clips_ms.append(len(pcm) // 32)
        if self._completeness is None:
            raise RuntimeError("the network broke")
        return self._completeness


@pytest.mark.parametrize(("completeness", "wait_s"), [(0.0, 1.25), (1.0, 0.5), (None, 0.5)])
async def test_how_complete_a_voice_sounds_decides_when_its_turn_is_over_and_else_the_timer_does(
    parts: SpeechParts, completeness: float | None, wait_s: float
) -> None:
    judge = FakeJudge(completeness)
    async with call_with(replace(parts, judge=judge)) as call:
        began_s = asyncio.get_running_loop().time()
        await speak(call, 1_000, 2_500)
        done = await call.until(m.ModelInputDoneEvent)
        assert call.at(done) - began_s == pytest.approx(1.4 + wait_s, abs=0.1)
    assert judge.clips_ms == [pytest.approx(1_600, abs=100)]


async def test_a_spoken_turn_is_answered_aloud_at_once(call: Call[Parrot]) -> None:
    await speak(call, 1_000)
    await call.until(m.ModelResponseDoneEvent)
    assert call.types() == [
        *("session_created", "input_started", "input_done", "input_committed", "input_transcription_done"),
        *("response_created", "response_audio_transcript_delta", "response_audio_delta"),
        *("response_audio_transcript_delta", "response_audio_delta", "response_audio_done"),
        *("response_audio_transcript_done", "response_done"),
    ]
    started, done = call.all(m.ModelInputStartedEvent)[0], call.all(m.ModelInputDoneEvent)[0]
    assert abs(started.audio_start_ms - 400) < 80
    assert abs(done.audio_end_ms - 1400) < 80
    assert heard(call) == ["hello there"]
    words = call.all(m.ModelResponseAudioTranscriptDeltaEvent)
    assert [event.delta for event in words] == ["You said: hello there.", " Right?"]
    assert said(call) == ["You said: hello there. Right?"]
    audio = call.all(m.ModelResponseAudioDeltaEvent)
    assert sum(len(event.delta) for event in audio) == 2 * SENTENCE_BYTES
    assert all(100 <= len(event.delta) / 48 <= 400 for event in audio)
    assert len({event.item_id for event in audio}) == 1
    assert statuses(call) == ["completed"]
    assert call.language_model.prompts[0].instructions == "Be kind."
    first, second = (event.ready_ms for event in words)
    assert first is not None
    assert first["first_token"] >= first["first_sentence"] >= 0, "how long the first words waited for their sound"
    assert second is None
    # Recognition is over when the turn is; the first sentence was synthesised in the pause.
    decided_s = call.at(done)
    assert call.at(call.all(m.ModelInputTranscriptionDoneEvent)[0]) == decided_s
    assert call.at(audio[0]) - decided_s == pytest.approx(0, abs=0.001)
    assert len(call.recognizer.clips_ms) == 1


async def test_the_recogniser_is_told_the_names_that_may_be_said(call: Call[Parrot]) -> None:
    await speak(call, 1_000)
    await call.until(m.ModelResponseDoneEvent)
    call.send(SessionUpdate(Settings(names=("Friday", "Robin") + ("Anna",) * 1_000)))
    await speak(call, 1_000)
    await call.until(m.ModelResponseDoneEvent, 2)
    before, told = dict.fromkeys(call.recognizer.hints)
    assert before == ""
    assert told.startswith("Friday, Robin, Anna")
    assert len(told) == 200, "a hint costs as much as speech"


async def test_a_guess_is_thrown_away_when_the_voice_goes_on(call: Call[Parrot]) -> None:
    call.recognizer.texts = ["I would", "I would like tea"]
    await call.say(silence(400), speech(600), silence(320), speech(600), silence(1000))
    await call.until(m.ModelResponseDoneEvent)
    assert heard(call) == ["I would like tea"]
    assert len(call.recognizer.clips_ms) == 2
    assert call.recognizer.clips_ms[1] > call.recognizer.clips_ms[0] + 800


async def test_a_turn_that_was_not_understood_is_told_so_once_until_one_is_understood(call: Call[Parrot]) -> None:
    call.recognizer.texts = ["", "", "hello", "", ""]
    answer = "You said: hello. Right?"
    for told in ([SORRY], [SORRY], [SORRY, answer], [SORRY, answer, SORRY]):
        await speak(call)
        await call.until(m.ModelResponseDoneEvent)
        assert said(call) == told
    assert {*statuses(call)} == {"completed"}


async def test_a_sound_that_was_hardly_a_voice_is_told_nothing(call: Call[Parrot]) -> None:
    call.recognizer.texts = [""]
    await speak(call, 200)
    await call.until(m.ModelResponseDoneEvent)
    assert (statuses(call), said(call)) == (["completed"], [])
    call.connection.send(ResponseCreate(say=SORRY))
    await call.until(m.ModelResponseAudioTranscriptDoneEvent)
    assert said(call) == [SORRY]
    assert call.language_model.prompts == []


@pytest.mark.parametrize(("ms", "words"), [(1_200, ["maybe five"]), (600, [""])])
async def test_what_was_surely_a_voice_has_the_words_that_the_recogniser_doubts(
    call: Call[Parrot], ms: int, words: list[str]
) -> None:
    call.recognizer.doubted = "maybe five"
    call.recognizer.texts = [""]
    await speak(call, ms)
    await call.until(m.ModelResponseDoneEvent)
    assert heard(call) == words


class UnsureVad(LoudnessVad):
    """Is never sure of a voice, as over a telephone."""

    def probability(self, frame: bytes) -> float:
        return min(0.6, super().probability(frame))


@pytest.mark.parametrize("has_asked", [False, True])
async def test_a_short_answer_that_is_no_sure_voice_is_heard_after_a_question(
    parts: SpeechParts, has_asked: bool
) -> None:
    async with call_with(replace(parts, make_vad=UnsureVad)) as call:
        detection = TurnDetection(create_response=False, interrupt_response=False)
        call.send(SessionUpdate(Settings(turn_detection=detection)))
        if has_asked:
            beside = ResponseOverrides(conversation="none")
            call.send(ResponseCreate(overrides=beside, say="Shall I book it?"))
            await call.until(m.ModelResponseDoneEvent)
        await asyncio.sleep(5)
        await speak(call, 300)
        assert len(call.all(m.ModelInputStartedEvent)) == has_asked


async def test_in_a_written_call_answers_and_given_words_are_written(call: Call[Parrot]) -> None:
    call.send(SessionUpdate(Settings(output_modalities=("text",))), ResponseCreate(say="Your taxi is here."))
    assert (await call.until(m.ModelResponseTextDoneEvent)).text == "Your taxi is here."
    assert call.language_model.prompts == []
    await call.until(m.ModelResponseDoneEvent)
    call.send(typed("hi"), ResponseCreate())
    assert (await call.until(m.ModelResponseTextDoneEvent, 2)).text == "You said: hi. Right? "
    assert call.all(m.ModelResponseAudioDeltaEvent) == []


async def test_a_noise_while_the_answer_is_thought_of_loses_no_question(call: Call[Parrot]) -> None:
    call.recognizer.texts = ["think", ""]
    await call.say(silence(400), speech(600), silence(2_000), speech(300), silence(1_000))
    cancelled = await call.until(m.ModelResponseDoneEvent)
    assert cancelled.status == "cancelled"
    await call.until(m.ModelResponseCreatedEvent, 2)
    await asyncio.sleep(1)
    assert [[item.text for item in prompt.history] for prompt in call.language_model.prompts] == [["think"], ["think"]]


async def test_a_broken_recognition_is_reported_and_the_next_turn_works(call: Call[Parrot]) -> None:
    call.recognizer.texts = ["!", "hello"]
    await speak(call)
    await call.until(m.ModelResponseDoneEvent)
    assert call.all(m.ModelInputTranscriptionFailedEvent)[0].code == "recognition_failed"
    await call.say(speech(600), silence(1000))
    await call.until(m.ModelResponseDoneEvent, 2)
    assert heard(call)[0] == "hello"


async def test_speech_cancels_the_answer(call: Call[Parrot]) -> None:
    call.send(typed("tell"), ResponseCreate())
    await call.until(m.ModelResponseAudioDeltaEvent)
    await call.say(silence(400), speech(600))
    done = await call.until(m.ModelResponseDoneEvent)
    assert (done.status, done.status_details) == ("cancelled", {"reason": "turn_detected"})
    order = [type(event) for event in call.events]
    assert order.index(m.ModelInputStartedEvent) < order.index(m.ModelResponseDoneEvent)
    before = len(call.all(m.ModelResponseAudioDeltaEvent))
    await call.say(speech(30_000))
    assert len(call.all(m.ModelResponseAudioDeltaEvent)) == before
    assert call.language_model.closed == 1


@pytest.mark.parametrize("stops", [False, True], ids=["speech stops no answer", "asked for while they spoke"])
async def test_a_turn_that_ends_over_an_answer_is_answered_behind_it(call: Call[Parrot], stops: bool) -> None:
    call.recognizer.texts = ["and now this"]
    call.send(SessionUpdate(Settings(turn_detection=TurnDetection(type="server_vad", interrupt_response=stops))))
    if stops:
        await call.say(silence(400), speech(300))
        call.send(typed("think"), ResponseCreate())
        await call.say(speech(300), silence(800))
    else:
        call.send(typed("think"), ResponseCreate())
        await speak(call, pause_ms=800)
    assert len(call.all(m.ModelResponseCreatedEvent)) == 1
    await call.until(m.ModelResponseDoneEvent, 2)
    await asyncio.sleep(30)
    assert statuses(call) == ["completed", "completed"]
    assert said(call)[-1] == "You said: and now this. Right?"


async def test_whoever_stops_the_answer_wants_none_behind_it_either(call: Call[Parrot]) -> None:
    call.send(SessionUpdate(Settings(turn_detection=TurnDetection(type="server_vad", interrupt_response=False))))
    call.send(typed("think"), ResponseCreate())
    await speak(call, pause_ms=800)
    call.send(ResponseCancel())
    await asyncio.sleep(30)
    assert statuses(call) == ["cancelled"]


@pytest.mark.parametrize("at_once", [False, True], ids=["behind the turn", "before the turn went on"])
async def test_a_turn_that_ended_in_haste_and_its_rest_are_one_for_the_mind(call: Call[Parrot], at_once: bool) -> None:
    """When its answer was taken back before the turn went on, it never was."""
    call.recognizer.texts = ["I would like", "a cup of tea"]
    await speak(call, pause_ms=800)
    reply = await call.until(m.ModelResponseAudioDeltaEvent)

    def take_back(event: m.ModelEvent) -> None:
        if isinstance(event, m.ModelInputStartedEvent):
            call.send(ItemDelete(reply.item_id))

    if at_once:
        call.on_event = take_back
    await call.say(speech(600), silence(800))
    if not at_once:
        call.send(ItemDelete(reply.item_id))
    await call.until(m.ModelResponseDoneEvent, 2)
    if at_once:
        assert asked(call) == ["I would like a cup of tea"]
    else:
        assert asked(call)[0] == "I would like"
        assert asked(call)[-1].endswith("a cup of tea")


async def test_much_later_speech_is_a_turn_of_its_own(call: Call[Parrot]) -> None:
    call.recognizer.texts = ["one", "two"]
    await call.say(silence(400), speech(600), silence(3000), speech(600), silence(800))
    await call.until(m.ModelResponseDoneEvent, 2)
    assert asked(call) == ["one", "You said: one. Right?", "two"]


async def test_two_turns_in_one_message_are_two_turns_with_two_answers(call: Call[Parrot]) -> None:
    call.recognizer.texts = ["one", "two"]
    call.send(AudioAppend(silence(400) + speech(600) + silence(700) + speech(600) + silence(800)))
    await call.until(m.ModelResponseDoneEvent, 2)
    assert statuses(call) == ["completed", "completed"]
    starts = [event.audio_start_ms for event in call.all(m.ModelInputStartedEvent)]
    assert [round(start_ms, -2) for start_ms in starts] == [400, 1700]
    assert asked(call) == ["one", "You said: one. Right?", "two"]
    # The second turn comes when the first answer, two sentences of a second, was heard.
    assert call.at(call.all(m.ModelInputStartedEvent)[1]) - call.at(call.all(m.ModelResponseAudioDeltaEvent)[0]) > 2


async def test_a_caller_whose_two_questions_come_in_one_message_hears_both_answers(
    voice_call: Any, engine: SpeechEngine, parts: SpeechParts
) -> None:
    assert isinstance(parts.recognizer, FakeRecognizer)
    parts.recognizer.texts = ["one", "two"]
    sound = silence(400) + speech(600) + silence(1500) + speech(600) + silence(800)
    message = {"type": "client_audio_append", "audio": base64.b64encode(sound).decode()}
    message["format"] = {"type": "audio/pcm", "rate": 16_000}
    run = await voice_call(
        [Send(message), WaitFor("agent_response_done"), WaitFor("agent_response_done"), WaitUntilHeard()],
        agent=lambda: RealtimeAgent("Robin", "Be kind.", LocalRealtimeModel(language_model=Parrot(), engine=engine)),
    )
    run.turns(2).barge_ins(0)
    run.agent_said("You said: one. Right?", within_turn=1)
    run.agent_said("You said: two. Right?", within_turn=2)


@pytest.mark.parametrize("behind_ms", [800, 0], ids=["a third turn", "a turn whose beginning came late"])
async def test_a_voice_that_is_heard_live_stops_the_answers_to_what_came_at_once(
    call: Call[Parrot], behind_ms: int
) -> None:
    call.recognizer.texts = ["one", "two", "three"]
    second = speech(600 if behind_ms else 300) + silence(behind_ms)
    call.send(AudioAppend(silence(400) + speech(600) + silence(700) + second))
    if behind_ms:
        await call.until(m.ModelResponseAudioDeltaEvent)
    await call.say(speech(600))
    turns = 3 if behind_ms else 2
    assert len(call.all(m.ModelInputStartedEvent)) == turns
    await call.say(silence(800))
    await call.until(m.ModelResponseDoneEvent, turns)
    assert statuses(call)[-2:] == ["cancelled", "completed"]
    assert heard(call) == ["one", "two", "three"][:turns]


async def test_what_was_not_heard_is_forgotten(call: Call[Parrot]) -> None:
    call.send(typed("good day"), ResponseCreate())
    await call.until(m.ModelResponseDoneEvent)
    item_id = call.all(m.ModelResponseAudioDoneEvent)[0].item_id
    call.send(ItemTruncate(item_id, 500, "You said:"))
    assert call.all(m.ModelItemTruncatedEvent)[0].transcript == "You said:"
    call.send(ItemRetrieve(item_id))
    assert call.all(m.ModelItemRetrievedEvent)[0].item.text == "You said:"
    call.send(typed("more", "next"), ResponseCreate())
    await call.until(m.ModelResponseDoneEvent, 2)
    assert asked(call) == ["good day", "You said:", "more"]


async def test_a_tool_call_ends_the_response_and_its_result_is_told(call: Call[Parrot]) -> None:
    call.send(SessionUpdate(Settings(tools=(ToolDeclaration(name="clock"),))))
    call.send(typed("use clock"), ResponseCreate())
    used = await call.until(m.ModelResponseToolUseDoneEvent)
    assert (used.tool_use.name, used.tool_use.input, used.output_index) == ("clock", '{"x": 1}', 1)
    assert [tool.name for tool in call.language_model.prompts[0].tools] == ["clock"]
    await call.until(m.ModelResponseDoneEvent)
    call.send(ToolResult(ToolResultBlock(id=used.tool_use.id, name="clock", output="noon")), ResponseCreate())
    await call.until(m.ModelResponseDoneEvent, 2)
    assert said(call) == ["Let me see.", "The tool says noon."]


async def test_what_cannot_be_done_is_an_error_that_says_so(call: Call[Parrot]) -> None:
    call.send(ItemDelete("a"), ItemRetrieve("b"), ItemTruncate("c", 0))
    assert errors(call) == ["unknown_item"] * 3
    assert [event.message[-4:-1] for event in call.all(m.ModelErrorEvent)] == [" 'a", " 'b", " 'c"]
    call.send(typed("think"), ResponseCreate(), ResponseCreate())
    assert errors(call)[3:] == ["conversation_already_has_active_response"]
    call.send(ResponseCancel("another"))
    assert statuses(call) == []
    call.send(ResponseCancel())
    assert statuses(call) == ["cancelled"]
    call.send(ResponseCreate())
    assert len(call.all(m.ModelResponseCreatedEvent)) == 2


async def test_an_out_of_band_response_runs_beside_and_leaves_no_trace(call: Call[Parrot]) -> None:
    call.send(typed("think"), ResponseCreate())
    beside = (Item(id="x", role="user", content=(ContentPart(type="text", text="aside"),)),)
    shape: dict[str, Any] = {"conversation": "none", "output_modalities": ("text",), "metadata": {"a": "b"}}
    call.send(ResponseCreate(ResponseOverrides(input=beside, instructions="Write.", **shape)))
    done = await call.until(m.ModelResponseDoneEvent)
    assert (done.conversation, done.metadata, done.output_modalities) == ("none", {"a": "b"}, ("text",))
    assert call.all(m.ModelResponseTextDoneEvent)[0].text.strip() == "You said: aside. Right?"
    assert call.language_model.prompts[-1].instructions == "Write."
    call.send(ResponseCancel(), typed("now", "later"), ResponseCreate())
    await call.until(m.ModelResponseDoneEvent, 3)
    assert asked(call) == ["think", "now"]


async def test_overrides_hold_for_one_response(call: Call[Parrot]) -> None:
    call.send(typed("hi"), ResponseCreate(ResponseOverrides(voice="heart-low", tools=({"name": "t"},))))
    low = await call.until(m.ModelResponseAudioDeltaEvent)
    assert low.delta[:2] == b"\x02\x00"
    assert [tool.name for tool in call.language_model.prompts[0].tools] == ["t"]
    await call.until(m.ModelResponseDoneEvent)
    heard = len(call.all(m.ModelResponseAudioDeltaEvent))
    call.send(ResponseCreate(ResponseOverrides(tool_choice="none")))
    assert (await call.until(m.ModelResponseAudioDeltaEvent, heard + 1)).delta[:2] == b"\x01\x00"
    call.send(ResponseCreate(ResponseOverrides(tools=({"name": 7},), conversation="none")))
    assert errors(call)[-1] == "bad_response_create"


async def test_push_to_talk_answers_only_when_asked_and_then_waits_for_the_words(call: Call[Parrot]) -> None:
    call.send(SessionUpdate(Settings(turn_detection="none")), AudioCommit())
    await call.say(speech(600))
    call.send(AudioClear(), AudioCommit())
    assert errors(call) == ["input_audio_buffer_commit_empty"] * 2
    assert len(call.all(m.ModelInputClearedEvent)) == 1
    await call.say(speech(600), silence(1500))
    assert call.types()[-2:] == ["input_cleared", "error"]
    call.send(AudioCommit())
    await call.until(m.ModelInputTranscriptionDoneEvent)
    assert call.recognizer.clips_ms == [2100]
    assert call.all(m.ModelResponseCreatedEvent) == []
    call.send(ResponseCreate())
    await call.until(m.ModelResponseDoneEvent)
    await call.say(speech(600))
    call.send(AudioCommit(), ResponseCreate())
    await call.until(m.ModelResponseDoneEvent, 2)
    assert asked(call) == ["hello there", "You said: hello there. Right?", "hello there"]


async def test_a_client_that_stops_sending_is_answered_and_speech_that_it_takes_back_is_not(call: Call[Parrot]) -> None:
    call.send(AudioAppend(speech(1_000)), AudioClear(), AudioAppend(speech(500) + silence(1_000)))
    await asyncio.sleep(6)
    assert call.all(m.ModelResponseCreatedEvent) == []
    call.send(AudioAppend(speech(1_000)))
    await asyncio.sleep(6)
    assert len(call.all(m.ModelInputDoneEvent)) == 1
    assert statuses(call) == ["completed"]


async def test_the_silence_timer_and_the_transcription_follow_the_settings(call: Call[Parrot]) -> None:
    call.send(SessionUpdate(Settings(turn_detection=TurnDetection(silence_duration_ms=1500))))
    await speak(call, pause_ms=1200)
    assert call.all(m.ModelInputDoneEvent) == []
    await call.say(silence(500))
    assert len(call.all(m.ModelInputDoneEvent)) == 1
    assert heard(call) == ["hello there"]
    call.send(SessionUpdate(Settings(input_audio_transcription=False)))
    await call.until(m.ModelResponseDoneEvent)
    await speak(call)
    await call.until(m.ModelResponseDoneEvent, 2)
    assert len(heard(call)) == 1, "no transcription is reported where none is wanted"
    assert asked(call)[-1] == "hello there"
    call.send(SessionUpdate(Settings(turn_detection=TurnDetection(threshold=-0.5))))
    assert errors(call)[0] == "invalid_turn_detection", "what another provider takes"


async def test_an_unknown_voice_is_the_default_one_and_is_told(
    call: Call[Parrot], caplog: pytest.LogCaptureFixture
) -> None:
    call.send(SessionUpdate(Settings(voice="alloy", extra={"secret": 1})))
    assert caplog.messages == ["there is no voice 'alloy': heart speaks, of heart, heart-low"]
    settings = call.all(m.ModelSessionUpdatedEvent)[0].settings
    assert (settings["voice"], settings["extra"]) == ("heart", {})
    call.send(SessionUpdate(Settings(voice="heart-low")), typed("hi"), ResponseCreate())
    assert (await call.until(m.ModelResponseAudioDeltaEvent)).delta[:2] == b"\x02\x00"


@pytest.mark.parametrize(("text", "code", "spoken"), [("fail", "no_mind", 5), ("crash", "language_model_failed", 0)])
async def test_a_failing_mind_fails_its_answer_alone(call: Call, text: str, code: str, spoken: int) -> None:
    call.send(typed(text), ResponseCreate())
    done = await call.until(m.ModelResponseDoneEvent)
    assert (done.status, done.status_details) == ("failed", {"reason": code})
    assert errors(call) == [code]
    assert len(call.all(m.ModelResponseAudioDeltaEvent)) == spoken
    call.send(typed("hi", "next"), ResponseCreate())
    assert (await call.until(m.ModelResponseDoneEvent, 2)).status == "completed"


async def test_a_long_answer_is_not_synthesised_far_ahead_of_its_hearing(call: Call[Parrot]) -> None:
    call.send(typed("tell"), ResponseCreate())
    await call.until(m.ModelResponseAudioDeltaEvent)
    await asyncio.sleep(5)
    spoken_s = len(call.all(m.ModelResponseAudioTranscriptDeltaEvent))
    assert 24 <= spoken_s <= 27
    await call.until(m.ModelResponseDoneEvent)
    assert len(call.all(m.ModelResponseAudioTranscriptDeltaEvent)) == 60


async def test_a_call_can_be_restored_from_its_history(parts: SpeechParts) -> None:
    history = [Item(id="old", role="user", content=(ContentPart(type="text", text="I'm Pete."),))]
    async with call_with(parts, history) as call:
        call.send(typed("hi"), ResponseCreate())
        await call.until(m.ModelResponseDoneEvent)
        assert asked(call) == ["I'm Pete.", "hi"]


async def test_closing_ends_what_runs_and_says_so_once(call: Call[Parrot]) -> None:
    await speak(call, pause_ms=480)
    call.send(typed("tell"), ResponseCreate())
    await call.until(m.ModelResponseAudioDeltaEvent)
    await call.connection.close()
    await call.connection.close()
    call.send(typed("hi"), ResponseCreate())
    await asyncio.sleep(30)
    ends = ["response_audio_done", "response_audio_transcript_done", "response_done", "session_ended"]
    assert call.types()[-4:] == ends
    assert statuses(call)[-1] == "cancelled"
    assert len(call.all(m.ModelSessionEndedEvent)) == 1


async def test_without_recognition_typed_text_is_answered_aloud_and_the_lack_is_told() -> None:
    parts = SpeechParts(voices={"heart": FakeVoice(1)}, make_vad=LoudnessVad, missing=("no weights for recognition",))
    async with call_with(parts) as call:
        assert call.connection.profile.input_modalities == {"text"}
        assert not call.connection.profile.emits_speech_events
        await call.say(speech(600), silence(1000))
        call.send(AudioCommit())
        assert errors(call) == ["speech_part_missing", "input_audio_buffer_commit_empty"]
        assert "no weights for recognition" in call.all(m.ModelErrorEvent)[0].message
        call.send(typed("hi"), ResponseCreate())
        await call.until(m.ModelResponseAudioDeltaEvent)


async def test_without_a_voice_answers_are_written() -> None:
    async with call_with(SpeechParts(missing=("no voice",))) as call:
        assert call.connection.profile.output_modalities == {"text"}
        call.send(typed("hi"), ResponseCreate())
        done = await call.until(m.ModelResponseDoneEvent)
        assert done.output_modalities == ("text",)
        assert call.all(m.ModelResponseTextDoneEvent)[0].text.strip() == "You said: hi. Right?"


async def test_the_profile_is_that_of_a_provider_with_a_detector_and_the_voice_that_will_really_speak(
    engine: SpeechEngine,
) -> None:
    model = LocalRealtimeModel(engine=engine)
    assert await model.warm_up([].append) == ()
    profile = model.profile
    assert (profile.input_rate_hz, profile.output_rate_hz) == (16_000, 24_000)
    assert profile.emits_speech_events
    assert profile.aligns_transcript
    assert (profile.voices, profile.languages) == (("heart", "heart-low"), ("en",))
    for wanted, speaks in ((None, "heart"), ("heart-low", "heart-low"), ("alloy", "heart")):
        assert RealtimeAgent("Robin", "", model, voice=wanted).describe()["voice"] == speaks
    assert RealtimeAgent("Robin", "", LocalRealtimeModel("alloy", engine=engine)).describe()["voice"] == "heart"


async def test_the_parts_are_loaded_once_however_many_ask(parts: SpeechParts) -> None:
    loads: list[int] = []

    def load(progress: Callable[[str], None]) -> SpeechParts:
        loads.append(1)
        return parts

    engine = SpeechEngine(load)
    await asyncio.gather(*[engine.ready() for _ in range(5)])
    assert (loads, engine.parts) == ([1], parts)
    engine.close()


async def test_too_much_waiting_recognition_is_refused_by_name(
    call: Call[Parrot], engine: SpeechEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = [engine.transcribe(call.recognizer, silence(100)) for _ in range(64)]
    with pytest.raises(Overflow) as caught:
        engine.transcribe(call.recognizer, silence(100))
    assert caught.value.code == "overloaded"
    await asyncio.gather(*waiting)

    def overloaded(*args: object) -> None:
        raise caught.value

    monkeypatch.setattr(engine, "transcribe", overloaded)
    await speak(call, pause_ms=700)
    assert (await call.until(m.ModelInputTranscriptionFailedEvent)).code == "overloaded"
    assert (await call.until(m.ModelResponseDoneEvent)).status == "completed"


@pytest.mark.parametrize(
    ("asked", "after_s", "wait_ms"),
    [("Do you like tea?", 5, 500), ("Here you are.", 5, 1_000), ("Here you are.", 0, 500)],
    ids=["to a question", "to no question", "over the reply"],
)
async def test_a_short_answer_ends_a_turn_sooner_where_the_agent_has_asked_or_still_speaks(
    call: Call[Parrot], asked: str, after_s: float, wait_ms: int
) -> None:
    call.recognizer.texts = ["Yes."]
    call.connection.send(ResponseCreate(say=asked))
    await call.until(m.ModelResponseDoneEvent)
    await asyncio.sleep(after_s)
    await call.say(silence(400), speech(600), silence(wait_ms - 100))
    assert call.all(m.ModelInputDoneEvent) == []
    await call.say(silence(200))
    assert len(call.all(m.ModelInputDoneEvent)) == 1

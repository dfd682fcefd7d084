"""Drafts of a response in the pauses of a turn: kept or dropped at its end, and seen by nobody before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from realtime.errors import ProviderError, UsageError
from realtime.event import model as m
from realtime.event.base import ContentPart, Item
from realtime.event.config import ToolDeclaration, TurnDetection
from realtime.model.base import (
    AudioClear,
    AudioCommit,
    GuessesWords,
    ItemDelete,
    ItemTruncate,
    ResponseCreate,
    SessionUpdate,
    Settings,
)
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.model.local.prompt import asks_the_same
from realtime.model.local.speculation import MAX_TRIES, DraftCounts, Mode, mode_from_environment
from realtime.runtime import Runtime
from realtime.testing.clock import run
from tests.model.local.stand_ins import Call, FakeRecognizer, silence, speech, stand_in_parts, typed

COSTS = {"FakeRecognizer.transcribe": 0.12, "FakeVoice.synthesize": 0.02}
pytestmark = pytest.mark.virtual_time(costs=COSTS)
THINKS_S = 0.4
PAUSE = silence(420)
"""Long enough for a draft, too short for the end of a turn."""
END = silence(1_000)


class Thinker:
    """Repeats the user's words after `THINKS_S`; remembers when it was asked, and whether it was let finish."""

    name = "thinker"
    takes_images = False

    def __init__(self) -> None:
        self.asked_s: list[float] = []
        self.prompts: list[Prompt] = []
        self.finished = 0
        self.closed = 0
        self.fails = 0

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        self.asked_s.append(asyncio.get_running_loop().time())
        self.prompts.append(prompt)
        try:
            await asyncio.sleep(THINKS_S)
            if self.fails:
                self.fails -= 1
                raise ProviderError("out of order", code="out_of_order")
            said = prompt.history[-1].text
            yield ReplyText(f"You said {said}. ")
            if said.startswith("use "):
                yield ReplyToolCall(said.removeprefix("use "), "{}")
            else:
                yield ReplyText("Right?")
            self.finished += 1
        finally:
            self.closed += 1


class Session(Call[Thinker]):
    """A call of a model with drafts."""

    drafts: DraftCounts

    @property
    def counts(self) -> tuple[int, int, int]:
        """Drafts that were started, kept and dropped."""
        return self.drafts.started, self.drafts.kept, self.drafts.dropped

    def wait_for_silence(self, silence_ms: int) -> None:
        """Let a turn end only after so much silence."""
        self.send(SessionUpdate(Settings(turn_detection=TurnDetection(silence_duration_ms=silence_ms))))

    def sound_after_decision_s(self) -> float:
        decided = self.at(self.all(m.ModelInputDoneEvent)[-1])
        return self.at(self.all(m.ModelResponseAudioDeltaEvent)[0]) - decided


@asynccontextmanager
async def open_session(mode: Mode, *texts: str) -> AsyncIterator[Session]:
    """A call whose user says these texts, one a clip."""
    engine = SpeechEngine(lambda progress: stand_in_parts())
    recognizer = (await engine.ready()).recognizer
    assert isinstance(recognizer, FakeRecognizer)
    recognizer.texts = [*(texts or ["hello there"])]
    session = Session(recognizer, Thinker())
    model = LocalRealtimeModel(language_model=session.language_model, speculation=mode, engine=engine)
    session.drafts = model.drafts
    session.connection = await model.connect(
        settings=Settings(instructions="Be kind."),
        on_event=session.hear,
        history=list,
        runtime=Runtime.deterministic(asyncio.get_running_loop().time),
    )
    yield session
    await session.connection.close()
    engine.close()


SessionMaker = Callable[..., Awaitable[Session]]


@pytest.fixture
async def opened() -> AsyncIterator[SessionMaker]:
    """Opens sessions, and closes them behind the test."""
    async with AsyncExitStack() as sessions:
        yield lambda mode="speech", *texts: sessions.enter_async_context(open_session(mode, *texts))


@pytest.mark.parametrize(("mode", "wait_s"), [("off", 0.42), ("words", 0.26), ("speech", 0.26)])
async def test_the_language_model_works_during_the_silence_that_ends_the_turn(
    opened: SessionMaker, mode: Mode, wait_s: float
) -> None:
    session = await opened(mode)
    await session.say(silence(400), speech(600), END)
    await session.until(m.ModelResponseDoneEvent)
    assert session.sound_after_decision_s() == pytest.approx(wait_s, abs=0.05)
    assert len(session.language_model.prompts) == 1
    kept = 0 if mode == "off" else 1
    assert session.counts == (kept, kept, 0)


@pytest.mark.parametrize(("mode", "wait_ms"), [("off", 420), ("words", 20), ("speech", 0)])
async def test_a_draft_that_is_ready_sounds_at_the_decision_and_counts_what_it_saved(
    opened: SessionMaker, mode: Mode, wait_ms: int
) -> None:
    session = await opened(mode)
    session.wait_for_silence(1_000)
    await session.say(silence(400), speech(600), silence(1_500))
    await session.until(m.ModelResponseDoneEvent)
    assert session.sound_after_decision_s() * 1000 == pytest.approx(wait_ms, abs=1)
    assert session.drafts.saved_ms == pytest.approx(420 - wait_ms, abs=1)


async def test_it_is_dropped_when_the_user_goes_on(opened: SessionMaker) -> None:
    session = await opened("speech", "I would", "I would like tea")
    await session.say(silence(400), speech(600), PAUSE, speech(600), END)
    await session.until(m.ModelResponseDoneEvent)
    assert [prompt.history[-1].text for prompt in session.language_model.prompts] == ["I would", "I would like tea"]
    assert session.all(m.ModelResponseAudioTranscriptDoneEvent)[0].transcript == "You said I would like tea. Right?"
    assert session.counts == (2, 1, 1)
    assert (session.language_model.finished, session.language_model.closed) == (1, 2)


@pytest.mark.parametrize(
    ("later", "kept"), [("Hello there!", 1), ("hello there you", 0)], ids=["other signs", "another word"]
)
async def test_it_is_kept_if_the_words_stay_the_same(opened: SessionMaker, later: str, kept: int) -> None:
    session = await opened("speech", "hello there", later)
    await session.say(silence(400), speech(600), PAUSE)
    session.send(AudioCommit(), ResponseCreate())
    await session.until(m.ModelResponseDoneEvent)
    assert session.counts[1:] == (kept, 1 - kept)
    assert session.all(m.ModelInputTranscriptionDoneEvent)[0].transcript == later


CHANGES: dict[str, Any] = {
    "item added": typed("look at this", "meanwhile"),
    "item deleted": ItemDelete("before"),
    "tools": SessionUpdate(Settings(instructions="Be kind.", tools=(ToolDeclaration(name="clock"),))),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_it_is_dropped_when_its_context_changes(opened: SessionMaker, change: Any) -> None:
    session = await opened()
    session.send(typed("before", "before"))
    await session.say(silence(400), speech(600), PAUSE)
    assert session.drafts.started == 1
    session.send(change)
    await session.say(END)
    await session.until(m.ModelResponseDoneEvent)
    assert session.counts[1:] == (0, 1)
    assert len(session.language_model.prompts) == 2
    assert session.language_model.closed == 2


async def test_new_instructions_begin_the_draft_anew_and_that_one_is_kept(opened: SessionMaker) -> None:
    """What a memory recalls for the words of a pause is in the answer, which is still begun in that pause."""
    session = await opened("words")
    guesses: list[str] = []

    def recall(words: str) -> None:
        guesses.append(words)
        found = SessionUpdate(Settings(instructions="Be kind. Recalled."))
        asyncio.get_running_loop().call_later(0.01, session.send, found)

    assert isinstance(session.connection, GuessesWords)
    session.connection.tell_guesses(recall)
    await session.say(silence(400), speech(600), END)
    await session.until(m.ModelResponseDoneEvent)
    assert guesses == ["hello there"]
    assert session.counts == (2, 1, 1)
    assert ["Recalled" in prompt.instructions for prompt in session.language_model.prompts] == [False, True]
    assert session.sound_after_decision_s() == pytest.approx(0.26, abs=0.05)


async def test_another_voice_keeps_the_words_and_speaks_them_itself(opened: SessionMaker) -> None:
    session = await opened()
    await session.say(silence(400), speech(600), PAUSE)
    session.send(SessionUpdate(Settings(instructions="Be kind.", voice="heart-low")))
    await session.say(END)
    assert (await session.until(m.ModelResponseAudioDeltaEvent)).delta[:2] == b"\x02\x00"
    assert session.drafts.kept == 1


async def test_a_tool_runs_only_after_the_decision(opened: SessionMaker) -> None:
    session = await opened("speech", "use clock", "use clock please")
    session.wait_for_silence(1_500)
    await session.say(silence(400), speech(600), silence(1_400))
    assert session.language_model.finished == 1
    assert session.all(m.ModelResponseToolUseDoneEvent) == []
    await session.say(speech(600), silence(2_000))
    await session.until(m.ModelResponseDoneEvent)
    assert [event.tool_use.name for event in session.all(m.ModelResponseToolUseDoneEvent)] == ["clock please"]


@pytest.mark.parametrize(("silence_ms", "status"), [(1_000, "completed"), (500, "failed")])
async def test_a_draft_that_failed_is_asked_again_and_a_kept_one_that_fails_fails_its_response(
    opened: SessionMaker, silence_ms: int, status: str
) -> None:
    session = await opened()
    session.language_model.fails = 1
    session.wait_for_silence(silence_ms)
    await session.say(silence(400), speech(600), silence(1_500))
    done = await session.until(m.ModelResponseDoneEvent)
    assert (done.status, session.counts) == (status, (1, 0, 1) if status == "completed" else (1, 1, 0))
    assert done.status_details == (None if status == "completed" else {"reason": "out_of_order"})
    assert len(session.all(m.ModelErrorEvent)) == (status == "failed")


async def test_a_turn_has_so_many_drafts_and_the_next_one_as_many(opened: SessionMaker) -> None:
    session = await opened("words")
    for turns in (1, 2):
        for _ in range(MAX_TRIES + 2):
            await session.say(speech(300), PAUSE)
        await session.say(END)
        await session.until(m.ModelResponseDoneEvent, turns)
        assert session.drafts.started == turns * MAX_TRIES
        await asyncio.sleep(10)


async def test_a_long_turn_and_speech_over_a_reply_that_plays_have_no_draft(opened: SessionMaker) -> None:
    session = await opened("words")
    await session.say(silence(400), speech(10_500), END)
    await session.until(m.ModelResponseDoneEvent)
    assert session.drafts.started == 0
    await asyncio.sleep(10)
    detection = TurnDetection(create_response=False, interrupt_response=False)
    session.send(SessionUpdate(Settings(turn_detection=detection)), typed("hi"), ResponseCreate())
    await session.until(m.ModelResponseCreatedEvent, 2)
    await session.until(m.ModelResponseAudioDeltaEvent, len(session.all(m.ModelResponseAudioDeltaEvent)) + 1)
    await session.say(speech(600), END)
    assert len(session.all(m.ModelInputDoneEvent)) == 2
    assert session.drafts.started == 0


async def test_the_turn_that_cut_a_reply_has_a_draft(opened: SessionMaker) -> None:
    session = await opened("words")
    session.send(typed("hi"), ResponseCreate())
    reply = await session.until(m.ModelResponseAudioDoneEvent)
    await session.say(speech(600))
    session.send(ItemTruncate(reply.item_id, 500, "You said"))
    await session.say(END)
    await session.until(m.ModelResponseDoneEvent, 2)
    assert session.counts[1:] == (1, 0)
    assert [item.text for item in session.language_model.prompts[-1].history] == ["hi", "You said", "hello there"]


@pytest.mark.parametrize(
    ("end", "silence_ms", "counts"), [("close", 420, (1, 0, 1)), ("clear", 420, (1, 0, 1)), ("close", 520, (1, 1, 0))]
)
async def test_a_draft_ends_with_its_call_or_its_audio_and_a_response_from_one_with_its_call(
    opened: SessionMaker, end: str, silence_ms: int, counts: tuple[int, int, int]
) -> None:
    session = await opened()
    before = asyncio.all_tasks()
    await session.say(silence(400), speech(600), silence(silence_ms))
    assert len(asyncio.all_tasks()) > len(before)
    if end == "close":
        await session.connection.close()
        assert asyncio.all_tasks() == before
    else:
        session.send(AudioClear())
        await asyncio.sleep(0.01)
    assert (session.language_model.closed, session.language_model.finished) == (1, 0)
    assert session.counts == counts


STEPS = st.one_of(
    st.tuples(st.just("say"), st.lists(st.sampled_from([250, 420]), max_size=4), st.sampled_from(["tea", "use clock"])),
    st.tuples(st.just("add"), st.just([]), st.just("look")),
    st.tuples(st.just("set"), st.just([]), st.sampled_from(["Be brief.", "Be kind."])),
)
Step = tuple[str, list[int], str]


async def _log(mode: Mode, steps: list[Step], meanwhile: bool) -> list[m.ModelEvent]:
    """The events of a call whose user takes each turn after the answer to the one before."""
    turns = 0
    async with open_session(mode) as session:
        for number, (kind, pauses_ms, words) in enumerate(steps):
            if kind == "add":
                session.send(typed(words, f"typed_{number}"))
            elif kind == "set":
                session.send(SessionUpdate(Settings(instructions=words)))
            else:
                turns += 1
                # Each clip, of a pause or a turn, has the words so far: what a pause guesses differs from the whole.
                session.recognizer.texts = [f"{words} {number}"]
                for pause_ms in pauses_ms:
                    await session.say(speech(400), silence(pause_ms))
                    if meanwhile:
                        session.send(typed("and this", f"meanwhile_{number}_{turns}"))
                await session.say(speech(400), END)
                await session.until(m.ModelResponseDoneEvent, turns)
                await asyncio.sleep(10)
    return session.events


@given(st.lists(STEPS, max_size=4), st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_log_with_drafts_is_the_log_without_them(steps: list[Step], meanwhile: bool) -> None:
    plain = run(_log("off", steps, meanwhile), costs=COSTS)
    modes: list[Mode] = ["words", "speech"]
    for mode in modes:
        assert run(_log(mode, steps, meanwhile), costs=COSTS) == plain


def test_prompts_without_a_history_are_compared_whole() -> None:
    item = Item(id="a", role="user", content=(ContentPart(type="text", text="hi"),))
    assert asks_the_same(Prompt(), Prompt())
    assert not asks_the_same(Prompt(), Prompt(instructions="x"))
    assert not asks_the_same(Prompt(), Prompt(history=[item]))


def test_the_environment_chooses_the_mode() -> None:
    assert mode_from_environment({"REALTIME_SPECULATION": " Words "}) == "words"
    assert mode_from_environment({}) == mode_from_environment({"REALTIME_SPECULATION": ""})
    with pytest.raises(UsageError, match="off, words or speech, not 'fast'"):
        mode_from_environment({"REALTIME_SPECULATION": "fast"})

"""What the agent says for each thing its model says; what a model thinks is told, and never spoken."""

import asyncio
from typing import Any, get_args

import msgspec
import pytest

from realtime.audio.playback import AcknowledgedPlayback
from realtime.dialects.agentscope1 import AgentScope1Dialect
from realtime.dialects.base import ClientDialect
from realtime.dialects.gemini.dialect import GeminiDialect
from realtime.dialects.native import NativeDialect
from realtime.dialects.openai_family.dashscope import DashScopeDialect
from realtime.dialects.openai_family.openai import OpenAIDialect
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart, ImageFormat, Item, UsageDetail
from realtime.event.config import SessionConfig
from realtime.event.reply import AgentEvent, ExceedMaxItersEvent
from realtime.formatter import OpenAIChatFormatter
from realtime.message import Msg, ThinkingBlock, ToolCallBlock
from realtime.model import base
from realtime.runtime import Runtime
from realtime.state.replies import ReplyProjection, messages
from tests.agent.fakes import PROFILE, WORDS, Call, call, speech
from tests.message.reply_grammar import check_replies
from tests.state.test_replies import iso, types

pytestmark = pytest.mark.virtual_time

AUDIO = AudioFormat.pcm16(24_000)
PART: dict[str, Any] = {"response_id": "r1", "item_id": "a1", "output_index": 2, "content_index": 1}
USE = ToolCallBlock(id="call_1", name="clock", input='{"zone": "UTC"}')

DIRECT: list[m.ModelEvent] = [
    m.ModelResponseCreatedEvent(response_id="r1", output_modalities=("audio",), metadata={"k": "v"}),
    m.ModelResponseAudioTranscriptDeltaEvent(delta="Hello", **PART),
    m.ModelResponseAudioDeltaEvent(delta=speech(100, 24_000), format=AUDIO, **PART),
    m.ModelResponseAudioDoneEvent(**PART),
    m.ModelResponseAudioTranscriptDoneEvent(transcript="Hello", **PART),
    m.ModelResponseTextDeltaEvent(response_id="r1", item_id="t1", delta="Hi"),
    m.ModelResponseTextDoneEvent(response_id="r1", item_id="t1", text="Hi"),
    m.ModelResponseThinkingDeltaEvent(response_id="r1", item_id="h1", delta="They greet."),
    m.ModelResponseThinkingDoneEvent(response_id="r1", item_id="h1", thinking="They greet."),
    m.ModelResponseReportEvent(response_id="r1", report=ExceedMaxItersEvent(reply_id="reply_1", name="Friday")),
    m.ModelResponseToolUseDeltaEvent(response_id="r1", item_id="c1", tool_use=USE, delta="{"),
    m.ModelResponseToolUseDoneEvent(response_id="r1", item_id="c1", tool_use=USE),
    m.ModelResponseDoneEvent(
        response_id="r1",
        input_tokens=3,
        output_tokens=4,
        metadata={"k": "v"},
        usage_detail=UsageDetail(input_text_tokens=3),
    ),
    m.ModelInputStartedEvent(item_id="u1", audio_start_ms=120),
    m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta="Good"),
    m.ModelInputDoneEvent(item_id="u1", audio_end_ms=900),
    m.ModelInputCommittedEvent(item_id="u1", previous_item_id="a1"),
    m.ModelInputTranscriptionDoneEvent(item_id="u1", transcript="Good morning", input_tokens=7),
    m.ModelInputTranscriptionFailedEvent(item_id="u1", code="unintelligible", message="no words were found"),
    m.ModelInputClearedEvent(),
    m.ModelSessionUpdatedEvent(settings={"voice": "heart"}),
    m.ModelReconnectingEvent(attempt=1, retry_after_ms=500, reason="lost"),
    m.ModelReconnectedEvent(gap_ms=700),
    m.ModelErrorEvent(error_type="provider_error", code="overloaded", message="try later", retryable=True),
]
"""Each model event that becomes the agent's event of the same name at once, in an order that makes sense."""

LOST: list[tuple[list[str], str, str]] = [
    (["I ", "cannot ", "come."], "I cannot come.", "I cannot come."),
    (["I ", "come."], "I cannot come.", "I cannot come."),
    (["Hi \ufffd", "\ufffd there"], "Hi \U0001f600 there", "Hi \U0001f600 there"),
    (["cannot come."], "I cannot come.", "I cannot come."),
    (["I cannot"], "I cannot come.", "I cannot come."),
    ([], "I cannot come.", "I cannot come."),
    (["I come."], "", "I come."),
    ([" I come. "], "I come.", " I come. "),
    (["I come. And I stay."], "I come.", "I come. And I stay."),
]
"""The deltas that arrived, the provider's words at the end, and what was said."""


@pytest.mark.parametrize(("deltas", "whole", "said"), LOST)
async def test_the_words_at_the_end_replace_those_of_which_a_delta_was_lost(
    deltas: list[str], whole: str, said: str
) -> None:
    async with call() as made:
        written = {"response_id": made.link.begin(), "item_id": "t1"}
        made.link.say(*(m.ModelResponseTextDeltaEvent(delta=delta, **written) for delta in deltas))
        made.link.say(m.ModelResponseTextDoneEvent(text=whole, **written))
        made.link.say(m.ModelResponseDoneEvent(response_id=written["response_id"]))
        spoken = {"response_id": made.link.begin(), "item_id": "a1"}
        made.link.say(*(m.ModelResponseAudioTranscriptDeltaEvent(delta=delta, **spoken) for delta in deltas))
        made.link.say(m.ModelResponseAudioDeltaEvent(delta=speech(500, 24_000), format=AUDIO, **spoken))
        made.link.say(m.ModelResponseAudioTranscriptDoneEvent(transcript=whole, **spoken))
        made.link.say(m.ModelResponseAudioDoneEvent(**spoken))
        made.link.say(m.ModelResponseDoneEvent(response_id=spoken["response_id"]))
        await asyncio.sleep(2)
        (done,) = made.of(s.AgentResponseAudioTranscriptDoneEvent)
        assert done.transcript == said
        assert [item.item.text for item in made.of(s.AgentItemDoneEvent)] == [whole or said, said.strip()]


async def test_an_interruption_cuts_the_words_that_the_provider_had_corrected() -> None:
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        spoken = {"response_id": made.link.begin(), "item_id": "a1"}
        made.link.say(
            m.ModelResponseAudioTranscriptDeltaEvent(delta="Well, I come tonight.", **spoken),
            m.ModelResponseAudioDeltaEvent(delta=speech(2_000, 24_000), format=AUDIO, **spoken),
            m.ModelResponseAudioTranscriptDoneEvent(transcript="Well, I cannot come tonight.", **spoken),
            m.ModelResponseAudioDoneEvent(**spoken),
        )
        made.receive(c.ClientPlaybackAckEvent(item_id="a1", played_ms=1_200), c.ClientTextAppendEvent(text="Stop."))
        made.receive(c.ClientPlaybackAckEvent(item_id="a1", played_ms=1_200, flushed=True))
        await asyncio.sleep(2)
        assert made.transcript()[0] == ("assistant", "Well, I cannot")


OTHERWISE = {
    m.ModelSessionCreatedEvent,
    m.ModelSessionEndedEvent,
    m.ModelItemAddedEvent,
    m.ModelItemDoneEvent,
    m.ModelItemDeletedEvent,
    m.ModelItemTruncatedEvent,
    m.ModelItemRetrievedEvent,
}
"""Become ready and ended, or are told from the call's own conversation."""

OF_THE_CALL = {m.ModelInputClearedEvent: ("item_id",), m.ModelInputCommittedEvent: ("audio_end_ms",)}
"""What no model knows: in a room who took words back, in push-to-talk where a turn ends."""


async def test_each_model_event_becomes_the_agents_with_all_it_says_and_who_says_it() -> None:
    """RTA-13, SEV-20: the table ModelX -> AgentX, `model_` -> `agent_`, plus agent_id and agent_name."""
    assert {type(event) for event in DIRECT} | OTHERWISE == {*get_args(m.ModelEvent)}
    async with call(agent_id="agent-7") as made:
        for event in DIRECT:
            start = len(made.seen)
            made.link.say(event)
            name = event.type.replace("model_", "agent_", 1)
            (said,) = [one for one in made.seen[start:] if one.type == name]
            assert type(said).__name__ == type(event).__name__.replace("Model", "Agent", 1)
            fields = said.model_dump()
            assert (fields.pop("agent_id"), fields.pop("agent_name")) == ("agent-7", "Friday")
            assert fields.pop("seq") > 0
            fields.pop("ts_ms")
            assert fields == event.model_dump() | {"type": name} | dict.fromkeys(OF_THE_CALL.get(type(event), ()))


async def test_the_models_session_is_told_as_ready_and_ended() -> None:
    """RTA-15, SEV-04, MEV-17: created becomes AgentReady, ended AgentEnded; the model's id stays inside."""
    async with call() as made:
        ready = made.of(s.AgentReadyEvent)
        assert len(ready) == 1
        assert ready[0].model is not None
        assert ready[0].model["model"] == "fake-1"
        assert made.of(s.AgentEndedEvent) == []
        made.link.gone("provider_closed")
        (ended,) = made.of(s.AgentEndedEvent)
        assert ended.reason == "provider_closed"
        assert not any("sess_1" in str(event.model_dump()) for event in made.log)
        await made.session.ended.wait()
        assert made.log[-1].type == "server_session_ended"


async def test_a_spoken_reply_is_told_in_order_and_closed() -> None:
    """SEV-06, SEV-07: created first, done last and once. AMB-54: the end of the words tells all of them."""
    async with call() as made:
        start = len(made.seen)
        made.link.reply(500, "Hello there.")
        types = made.types(start)
        assert types == [
            "agent_response_created",
            "agent_item_added",
            "agent_response_audio_transcript_delta",
            "agent_response_audio_delta",
            "agent_response_audio_done",
            "agent_response_audio_transcript_done",
            "agent_item_done",
            "agent_response_done",
        ]
        done = made.of(s.AgentResponseDoneEvent)[0]
        assert (done.input_tokens, done.output_tokens, done.status) == (3, 4, "completed")
        assert made.of(s.AgentResponseAudioTranscriptDoneEvent)[0].transcript == "Hello there."
        assert b"".join(event.delta for event in made.of(s.AgentResponseAudioDeltaEvent)) == speech(100, 24_000) * 5
        made.check_heard_truth()


@pytest.mark.parametrize("status", ["completed", "cancelled", "incomplete", "failed"])
async def test_what_a_model_leaves_open_is_closed_with_the_response(status: Any) -> None:
    async with call() as made:
        response_id = made.link.begin_speaking(300, "Hello there.")
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status=status))
        (words,) = made.of(s.AgentResponseAudioTranscriptDoneEvent)
        assert words.transcript == "Hello there."
        assert made.types()[-4:] == [
            "agent_response_audio_done",
            "agent_response_audio_transcript_done",
            "agent_item_done",
            "agent_response_done",
        ]
        made.check_heard_truth()


async def test_the_words_of_an_item_name_it_by_one_object_however_often_the_model_does() -> None:
    async with call() as made:
        response_id = made.link.begin()
        for word in WORDS.split():
            # A codec reads the ids of each frame anew.
            where = {"response_id": "".join(response_id), "item_id": "".join("reply_1")}
            made.link.say(m.ModelResponseAudioTranscriptDeltaEvent(**where, delta=f"{word} "))
        told = made.of(s.AgentResponseAudioTranscriptDeltaEvent)
    assert len(told) == len(WORDS.split()) > 1
    assert len({id(event.item_id) for event in told}) == len({id(event.response_id) for event in told}) == 1


async def test_a_text_answer_is_an_item_with_text() -> None:
    async with call(config=SessionConfig(output_modalities=("text",))) as made:
        assert made.link.settings.output_modalities == ("text",)
        made.link.begin()
        where = {"response_id": "resp_1", "item_id": "t1"}
        made.link.say(
            m.ModelResponseTextDeltaEvent(delta="Hello ", **where),
            m.ModelResponseTextDeltaEvent(delta="there.", **where),
            m.ModelResponseTextDoneEvent(text="Hello there.", **where),
            m.ModelResponseDoneEvent(response_id="resp_1"),
        )
        (item,) = made.session.conversation.items()
        assert item.content == (ContentPart(type="text", text="Hello there."),)
        made.check_heard_truth()


async def test_two_items_of_one_response_are_two_entries_and_two_parts_of_one_are_both_closed() -> None:
    """Words that come only with the end of their item are kept."""
    async with call() as made:
        response_id = made.link.begin()
        for place in (0, 1):
            where: dict[str, Any] = {"response_id": response_id, "item_id": "a1", "content_index": place}
            made.link.say(
                m.ModelResponseAudioTranscriptDeltaEvent(delta=f"Part {place}. ", **where),
                m.ModelResponseAudioDeltaEvent(delta=speech(100, 24_000), format=AUDIO, **where),
            )
        made.link.speak(response_id, 300, item_id="a2")
        made.link.finish(response_id, "Here it is.", item_id="a2")
        assert [who for who, _ in made.transcript()] == ["assistant", "assistant"]
        assert made.transcript()[1][1] == "Here it is."
        closed = [(event.item_id, event.content_index) for event in made.of(s.AgentResponseAudioDoneEvent)]
        worded = [(event.item_id, event.content_index) for event in made.of(s.AgentResponseAudioTranscriptDoneEvent)]
        assert sorted(closed) == sorted(worded) == [("a1", 0), ("a1", 1), ("a2", 0)]
        made.check_heard_truth()


async def test_what_the_user_said_is_one_item_with_its_words() -> None:
    """RTA-21: markers with times, those of the client's stream."""
    async with call() as made:
        made.link.hear_start("u1", 120)
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta="Good mor"))
        made.link.hear_end("u1", 900, "Good morning.")
        assert made.transcript() == [("user", "Good morning.")]
        assert [(event.item_id, event.audio_start_ms) for event in made.of(s.AgentInputStartedEvent)] == [("u1", 120)]
        assert [(event.item_id, event.audio_end_ms) for event in made.of(s.AgentInputDoneEvent)] == [("u1", 900)]
        assert made.types()[1:] == [
            "agent_input_started",
            "agent_input_transcription_delta",
            "agent_input_done",
            "agent_item_added",
            "agent_input_committed",
            "agent_input_transcription_done",
            "agent_item_done",
        ]
        made.check_heard_truth()


ENDED = m.ModelInputDoneEvent(item_id="u1", audio_end_ms=900)
COMMITTED = m.ModelInputCommittedEvent(item_id="u1")
WORDED = m.ModelInputTranscriptionDoneEvent(item_id="u1", transcript="Good morning.")
FAILED = m.ModelInputTranscriptionFailedEvent(item_id="u1", code="x", message="no words")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((ENDED, WORDED, COMMITTED), (), "Good morning."),
        ((ENDED, COMMITTED), (WORDED,), "Good morning."),
        ((ENDED, COMMITTED), (FAILED,), ""),
    ],
    ids=["words-before-the-commit", "words-after-the-reply-began", "no-words"],
)
async def test_a_turn_stands_before_its_reply_whenever_its_words_come(
    before: tuple[m.ModelEvent, ...], after: tuple[m.ModelEvent, ...], words: str
) -> None:
    async with call() as made:
        made.link.hear_start("u1")
        made.link.say(*before)
        made.link.reply(500, "Hello.")
        made.link.say(*after)
        assert made.transcript() == [("user", words), ("assistant", "Hello.")]
        made.check_heard_truth()


async def test_an_item_the_model_adds_itself_is_told_once() -> None:
    async with call() as made:
        item = Item(id="a1", role="assistant", status="in_progress")
        made.link.begin()
        made.link.say(m.ModelItemAddedEvent(item=item))
        made.link.speak("resp_1", 300, "Hello.", item_id="a1")
        made.link.finish("resp_1", "Hello.", item_id="a1")
        made.link.say(m.ModelItemDoneEvent(item=item))
        assert [event.item.id for event in made.of(s.AgentItemAddedEvent)] == ["a1"]
        assert made.transcript() == [("assistant", "Hello.")]
        made.check_heard_truth()


@pytest.mark.parametrize("cancelled", [False, True], ids=["interrupted", "cancelled-before"])
async def test_an_announced_item_of_which_nothing_comes_is_no_item(cancelled: bool) -> None:
    """Providers announce the item before its first word; an interruption may come in between, or have come before."""
    async with call() as made:
        if cancelled:
            made.receive(c.ClientTextAppendEvent(text="Hello."), c.ClientResponseCancelEvent())
        made.link.begin()
        made.link.say(m.ModelItemAddedEvent(item=Item(id="reply_1", role="assistant", status="in_progress")))
        if cancelled:
            made.link.finish("resp_1", "One", status="cancelled")
        else:
            made.link.hear_start("u1")
            made.link.say(m.ModelResponseDoneEvent(response_id="resp_1", status="cancelled"))
            made.link.hear_end("u1", text="Hello.")
        assert made.transcript() == [("user", "Hello.")]
        made.check_heard_truth()


async def test_an_item_that_the_model_deletes_is_gone_and_an_unknown_response_changes_nothing() -> None:
    async with call() as made:
        item_id = made.link.reply(500)
        made.link.say(m.ModelItemDeletedEvent(item_id=item_id), m.ModelItemDeletedEvent(item_id=item_id))
        start = len(made.seen)
        made.link.speak("never_begun", 200, "Boo.")
        assert made.types(start) == []
        assert made.transcript() == []
        assert len(made.of(s.AgentItemDeletedEvent)) == 1
        made.check_heard_truth()


async def test_the_history_for_a_reconnect_is_the_conversation_as_it_was_heard() -> None:
    async with call() as made:
        made.link.reply(4_000)
        await asyncio.sleep(1)
        made.link.hear_start("u1")
        made.link.hear_end("u1", 900, "Stop.")
        history = [(item.role, item.text) for item in made.model.histories[0]()]
        assert history == made.transcript()
        assert len(history[0][1]) < len(WORDS)


async def test_what_the_user_waited_is_told_once_the_first_sound_was_played() -> None:
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        for _ in range(50):
            made.hear(20)
            await asyncio.sleep(0.02)
        made.link.hear_start("u1")
        made.link.hear_end("u1", 900, "Hello.")
        response_id = ""
        for frame in range(40):
            made.hear(20)
            await asyncio.sleep(0.02)
            if frame == 9:
                response_id = made.link.begin()
            if frame == 24:
                item_id = made.link.speak(response_id, 500, "Hi.")
        assert made.of(s.ServerLatencyEvent) == []
        # 40 ms of it had been played when this frame was sent.
        made.hear(20, played_item_id=item_id, played_ms=40)
        (latency,) = made.of(s.ServerLatencyEvent)
        assert (latency.item_id, latency.response_id) == ("u1", response_id)
        assert latency.latency_ms == 1_820 - 40 - 900
        stages = ("turn_end", "transcript", "response", "first_audio", "sent", "played")
        assert [*latency.stages_ms.items()] == [*zip(stages, (120, 0, 200, 300, 0, 260), strict=True)]
        assert (latency.turn_end_to_audio_ms, latency.estimated) == (500, False)


@pytest.mark.parametrize("code", ["invalid_value", "rate_limit_exceeded", "bad_response_create", "overloaded"])
async def test_an_error_is_told_and_leaves_the_way_free_for_the_next_request(code: str) -> None:
    """SEV-19: shown, session continues when possible."""
    async with call() as made:
        made.receive(c.ClientResponseCreateEvent())
        made.link.say(m.ModelErrorEvent(error_type="provider_error", code=code, message="No."))
        made.receive(c.ClientResponseCreateEvent())
        (error,) = made.of(s.AgentErrorEvent)
        assert (error.error_type, error.code, error.message) == ("provider_error", code, "No.")
        assert len(made.link.got(base.ResponseCreate)) == 2
        made.link.reply(500, "Yes.")
        assert made.transcript()[-1] == ("assistant", "Yes.")


async def test_pictures_are_kept_for_the_model_only_and_only_the_newest() -> None:
    async with call(profile=msgspec.structs.replace(PROFILE, input_modalities=frozenset({"image", "text"}))) as made:
        for number in range(20):
            made.receive(c.ClientImageAppendEvent(image=bytes([number]) * 100, format=ImageFormat(type="image/png")))
        shown = [message.item.content[0].image for message in made.link.got(base.ItemCreate)]
        assert shown == [bytes([number]) * 100 for number in range(20)]
        kept = [item.content[0].image for item in made.session.conversation.items()]
        assert kept == [None] * 12 + shown[12:]
        assert {event.item.content[0].image for event in made.of(s.AgentItemAddedEvent)} == {None}


@pytest.mark.parametrize("committed", [True, False])
async def test_words_of_the_user_that_came_only_in_pieces_are_kept_when_the_call_ends(committed: bool) -> None:
    """As when a recording stops before the model says that they are all."""
    async with call() as made:
        made.link.hear_start("u1", 120)
        for delta in (" Good", " morning."):
            made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta=delta))
        if committed:
            made.link.say(m.ModelInputDoneEvent(item_id="u1", audio_end_ms=900))
            made.link.say(m.ModelInputCommittedEvent(item_id="u1"))
        made.link.gone("closed")
        assert made.transcript() == [("user", "Good morning.")]
        assert made.types()[-3:] == ["agent_input_transcription_done", "agent_item_done", "agent_ended"]
        made.check_heard_truth()


async def test_a_guess_at_the_users_words_is_told_and_is_none_of_them() -> None:
    async with call() as made:
        made.link.hear_start("u1", 120)
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta="", interim="Good mourning"))
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta="Good morning."))
        made.link.hear_end("u1", 900, "Good morning.")
        told = made.of(s.AgentInputTranscriptionDeltaEvent)
        assert [(one.delta, one.interim) for one in told] == [("", "Good mourning"), ("Good morning.", None)]
        assert made.transcript() == [("user", "Good morning.")]
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta="", interim="Good warning"))
        assert len(made.of(s.AgentInputTranscriptionDeltaEvent)) == 2  # it comes behind the words


THOUGHT = "They greet. I greet back."


def think(made: Call, response_id: str, *, ends: bool = True) -> None:
    where: dict[str, Any] = {"response_id": response_id, "item_id": "thought_1"}
    for delta in ("They greet. ", "I greet back."):
        made.link.say(m.ModelResponseThinkingDeltaEvent(delta=delta, **where))
    if ends:
        made.link.say(m.ModelResponseThinkingDoneEvent(thinking=THOUGHT, **where))


def reply_events(made: Call) -> list[AgentEvent]:
    projection = ReplyProjection("session1", created_at_of=iso)
    return [event for one in made.log for event in projection.push(one)]


def told(made: Call) -> list[Msg]:
    events = reply_events(made)
    check_replies(events)
    return messages(events)


async def test_thoughts_stand_in_the_message_and_in_no_transcript() -> None:
    """FMT-11: a ThinkingBlock before the words; not in the text, not in the conversation, not in a payload.

    EVT-29, EVT-30, EVT-31: over a whole reply it begins, grows and ends.
    """
    async with call() as made:
        response_id = made.link.begin()
        think(made, response_id)
        made.link.speak(response_id, 500, "Good day.")
        made.link.finish(response_id, "Good day.")
        await asyncio.sleep(5)
        assert made.transcript() == [("assistant", "Good day.")]
    begun = ["REPLY_START", "MODEL_CALL_START"]
    thinking = ["THINKING_BLOCK_START", "THINKING_BLOCK_DELTA", "THINKING_BLOCK_END"]
    assert types(reply_events(made), response_id)[:5] == begun + thinking
    (message,) = told(made)
    assert [block.type for block in message.content] == ["thinking", "text"]
    (thought,) = message.get_content_blocks("thinking")
    assert (thought.thinking, thought.finished_at is not None) == (THOUGHT, True)
    assert message.get_text_content() == "Good day."
    assert Msg.from_json(message.to_json()) == message
    assert THOUGHT not in str(await OpenAIChatFormatter().format([message]))


async def test_thoughts_that_break_off_are_closed_with_what_was_thought() -> None:
    async with call() as made:
        response_id = made.link.begin()
        think(made, response_id, ends=False)
        made.receive(c.ClientResponseCancelEvent())
        made.link.say(m.ModelResponseThinkingDeltaEvent(response_id=response_id, item_id="thought_1", delta="late"))
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status="cancelled"))
        (done,) = made.of(s.AgentResponseThinkingDoneEvent)
        assert done.thinking == THOUGHT
        assert made.types().index("agent_response_thinking_done") < made.types().index("agent_response_done")
        assert made.transcript() == []
    # An answer that was interrupted before its first word leaves no message behind.
    assert told(made) == []


async def test_a_reply_of_thoughts_alone_is_kept() -> None:
    """FMT-11: for whoever looks into why the agent said nothing."""
    async with call() as made:
        response_id = made.link.begin()
        think(made, response_id, ends=False)
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id))
        await asyncio.sleep(5)
    (message,) = told(made)
    (thought,) = message.content
    assert isinstance(thought, ThinkingBlock)
    assert (thought.thinking, thought.finished_at is not None) == (THOUGHT, True)


THINKING: list[s.ServerEvent] = [
    s.AgentResponseThinkingDeltaEvent(response_id="r1", item_id="t1", delta=THOUGHT),
    s.AgentResponseThinkingDoneEvent(response_id="r1", item_id="t1", thinking=THOUGHT),
]


RUNTIME = Runtime.deterministic(lambda: 0.0)


def test_a_native_client_is_told_thoughts_and_one_of_another_vocabulary_none() -> None:
    others: list[ClientDialect] = [
        AgentScope1Dialect(),
        OpenAIDialect("gpt-realtime", RUNTIME),
        DashScopeDialect("qwen-omni", RUNTIME),
        GeminiDialect(RUNTIME, life_s=600.0, drain_s=0.0),
    ]
    assert [frame for dialect in others for event in THINKING for frame in dialect.encode(event)] == []
    frames = [frame for event in THINKING for frame in NativeDialect().encode(event)]
    assert [THOUGHT in str(frame) for frame in frames] == [True, True]

"""The bridge: what happens in a call, as reply events and as messages."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from realtime import message as msg
from realtime.agent import RealtimeAgent
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.event.reply import AgentEvent, CustomEvent, ReplyEndEvent, read_reply_event
from realtime.message.outcome import to_generate_reason
from realtime.model.base import ItemCreate, ResponseCreate, ToolResult
from realtime.model.scripted import CallTools, Expect, ScriptedModel, Speak, Step
from realtime.state.replies import OPEN_USER_REPLIES, ReplyProjection, messages
from realtime.tool import Toolkit
from tests.agent.fakes import PROFILE, WORDS, call
from tests.agent.test_tools import IN_CLIENT, TOOLS, ask_tools
from tests.message.reply_grammar import check_replies

pytestmark = pytest.mark.virtual_time


def iso(ts_ms: int) -> str:
    """A time of the call."""
    return f"2026-01-01T00:00:{ts_ms // 1000:02}.{ts_ms % 1000:03}Z"


def project(log: Sequence[s.ServerEvent], **options: Any) -> list[AgentEvent]:
    """The reply events of a call so far."""
    projection = ReplyProjection("session1", created_at_of=iso, **options)
    events = [event for one in log for event in projection.push(one)]
    check_replies(events, complete=False)
    return events


def types(events: Sequence[AgentEvent], reply_id: str) -> list[str]:
    """The types of one reply's events; of a run of deltas only the first."""
    names = [event.type for event in events if event.reply_id == reply_id]
    return [name for place, name in enumerate(names) if not place or name != names[place - 1]]


def block_types(message: msg.Msg) -> list[str]:
    return [block.type for block in message.content]


def states(events: Sequence[AgentEvent], reply_id: str, call_id: str) -> list[tuple[str, str]]:
    """What each event made of a call and its result: the changes of (state of the call, state of the result)."""
    message: msg.Msg | None = None
    walk: list[tuple[str, str]] = []
    for event in events:
        if event.reply_id != reply_id:
            continue
        message = msg.Msg.from_events([event]) if message is None else message.append_event(event)
        calls = [one for one in message.get_content_blocks("tool_call") if one.id == call_id]
        results = [one for one in message.get_content_blocks("tool_result") if one.id == call_id]
        if calls:
            state = (calls[0].state, results[0].state if results else "")
            if not walk or walk[-1] != state:
                walk.append(state)
    return walk


async def test_a_spoken_exchange_is_a_reply_of_the_user_and_one_of_the_agent() -> None:
    """EVT-05, EVT-17, EVT-20, EVT-24, EVT-25, USE-01, USE-02, USE-05: both sides in order, tokens as reported.
    AMB-44: what the user says is a reply of its own with the role `user`."""
    async with call() as made:
        made.link.hear_start("u1")
        made.link.say(m.ModelInputTranscriptionDeltaEvent(item_id="u1", delta="Hello "))
        made.link.hear_end("u1", text="Hello you.")
        made.link.reply(1_000, "one two three")
        await asyncio.sleep(5)
    events = project(made.log)
    check_replies(events)
    text = ["TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END"]
    assert types(events, "u1") == ["REPLY_START", *text, "REPLY_END"]
    spoken = ["MODEL_CALL_START", *text[:2], "MODEL_CALL_END", text[2]]
    assert types(events, "resp_1") == ["REPLY_START", *spoken, "REPLY_END"]
    assert {event.reply_id for event in events} == {"u1", "resp_1"}
    user, agent = messages(events)
    assert (user.role, user.get_text_content(), user.usage) == ("user", "Hello you.", None)
    assert (agent.role, agent.name, agent.get_text_content()) == ("assistant", "Friday", "one two three")
    assert agent.usage == msg.Usage(input_tokens=3, output_tokens=4)
    assert (user.finished_reason, agent.finished_reason) == ("completed", "completed")
    (asked,) = [event for event in events if event.type == "MODEL_CALL_START"]
    (answered,) = [event for event in events if event.type == "MODEL_CALL_END"]
    assert asked.model_dump()["model_name"] == "fake-1"
    assert (answered.model_dump()["input_tokens"], answered.model_dump()["output_tokens"]) == (3, 4)


async def test_the_messages_are_the_conversation_as_it_was_heard() -> None:
    """Who said what, with the tools, as far as it was played."""
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientTextAppendEvent(text="What time is it?"))
        ask_tools(made, ("call_1", "clock", '{"zone": "UTC"}'))
        await asyncio.sleep(2)
        made.link.reply(4_000, WORDS)
        await asyncio.sleep(2)
        made.link.hear_start("u2")
        made.link.hear_end("u2", text="Stop.")
        await asyncio.sleep(1)
        heard = [(who, words) for who, words in made.transcript() if words]
    said = messages(project(made.log))
    assert [(one.role, one.get_text_content()) for one in said] == heard
    assert 0 < len(heard[1][1]) < len(WORDS)
    assert [block.output for one in said for block in one.get_content_blocks("tool_result")] == ["12:00 in UTC"]


async def test_every_event_is_understood_alone() -> None:
    """EVT-03: each event comes back from its own JSON, naming its reply and its block or call."""
    async with call(toolkit=TOOLS) as made:
        made.link.hear_start("u1")
        made.link.hear_end("u1", text="What time is it?")
        ask_tools(made, ("call_1", "clock", '{"zone": "UTC"}'))
        await asyncio.sleep(2)
        made.link.reply(500, "Twelve.")
    events = project(made.log, keeps_audio=True)
    for event in events:
        assert read_reply_event(json.dumps(event.model_dump())) == event
        if event.type.split("_")[0] in ("TEXT", "DATA", "TOOL"):
            assert event.model_dump().get("block_id") or event.model_dump().get("tool_call_id")
    assert {event.reply_id for event in events} == {"u1", "resp_1"}


async def test_a_reply_spans_all_rounds_of_tools() -> None:
    """MSG-03, USE-04: three rounds of the model are one message, its blocks in order, its tokens summed up."""
    script: list[Step] = [
        Expect(ItemCreate),
        Expect(ResponseCreate),
        CallTools((("clock", {"zone": "UTC"}),)),
        Expect(ToolResult),
        Expect(ResponseCreate),
        CallTools((("weather", {"city": "Oslo"}),)),
        Expect(ToolResult),
        Expect(ResponseCreate),
        Speak("Twelve, and rain.", 1.0),
    ]
    model = ScriptedModel(script)
    log: list[s.ServerEvent] = []
    agent = RealtimeAgent("Friday", "", model, toolkit=TOOLS)
    await agent.start(log.append)
    await agent.handle_input(c.ClientTextAppendEvent(text="What time is it, and the weather in Oslo?"))
    await asyncio.sleep(10)
    await agent.stop()
    model.assert_finished()
    events = project(log)
    check_replies(events)
    _, reply = messages(events)
    assert block_types(reply) == ["tool_call", "tool_result", "tool_call", "tool_result", "text"]
    assert reply.get_text_content() == "Twelve, and rain."
    done = [event for event in log if isinstance(event, s.AgentResponseDoneEvent)]
    assert len(done) == 3
    assert reply.usage == msg.Usage(
        input_tokens=sum(event.input_tokens for event in done), output_tokens=sum(event.output_tokens for event in done)
    )


async def test_parallel_tools_interleave() -> None:
    """EVT-07, EVT-16, MSG-64, MSG-71, MSG-72: two slow tools run side by side; each result finds its call."""
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientTextAppendEvent(text="Time and weather?"))
        ask_tools(made, ("call_1", "weather", '{"city": "Oslo"}'), ("call_2", "clock", '{"zone": "UTC"}'))
        await asyncio.sleep(3)
        made.link.reply(500, "Both.")
    events = project(made.log)
    order = [
        (event.type, event.model_dump()["tool_call_id"]) for event in events if event.type.startswith("TOOL_RESULT")
    ]
    assert order == [
        ("TOOL_RESULT_START", "call_1"),
        ("TOOL_RESULT_START", "call_2"),
        ("TOOL_RESULT_TEXT_DELTA", "call_2"),
        ("TOOL_RESULT_END", "call_2"),
        ("TOOL_RESULT_TEXT_DELTA", "call_1"),
        ("TOOL_RESULT_END", "call_1"),
    ]
    _, reply = messages(events)
    outputs = {block.id: block.output for block in reply.get_content_blocks("tool_result")}
    assert outputs == {"call_1": "Rain in Oslo", "call_2": "12:00 in UTC"}
    assert reply.check_pairs() == []
    assert states(events, "resp_1", "call_1") == [("pending", ""), ("pending", "running"), ("finished", "success")]
    inputs = {block.id: block.arguments for block in reply.get_content_blocks("tool_call")}
    assert inputs == {"call_1": {"city": "Oslo"}, "call_2": {"zone": "UTC"}}


@pytest.mark.parametrize(("tool", "ends"), [("broken", "error"), ("endless", "interrupted")])
async def test_a_tool_that_raises_or_is_cut_by_the_end_of_the_call_is_finished(tool: str, ends: str) -> None:
    """MSG-64, MSG-73: the call is finished, its result an error; what the end finds open is interrupted."""
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientTextAppendEvent(text="Look it up."))
        ask_tools(made, ("call_1", tool, "{}"))
        if tool == "broken":
            await asyncio.sleep(1)
            made.link.reply(500, "It is lost.")
    events = project(made.log)
    check_replies(events)
    assert states(events, "resp_1", "call_1")[-1] == ("finished", ends)
    if tool == "endless":
        reasons = {event.reply_id: event.finished_reason for event in events if isinstance(event, ReplyEndEvent)}
        assert reasons["resp_1"] == "interrupted"


@pytest.mark.parametrize("media_type", ["audio/wav", "image/png"])
async def test_what_a_tool_plays_or_shows_is_part_of_its_result(media_type: str) -> None:
    """EVT-40, MSG-69: a tool that returns text and sound, or a picture, in order."""
    picture = msg.DataBlock(source=msg.Base64Source(data=b"\x89data", media_type=media_type), id="pic")

    def look() -> list[msg.TextBlock | msg.DataBlock]:
        return [msg.TextBlock(text="A tree: "), picture]

    async with call(toolkit=Toolkit([look])) as made:
        made.receive(c.ClientTextAppendEvent(text="Look."))
        ask_tools(made, ("call_1", "look", "{}"))
        await asyncio.sleep(1)
    (result,) = messages(project(made.log))[1].get_content_blocks("tool_result")
    assert isinstance(result.output, list)
    assert [part.type for part in result.output] == ["text", "data"]
    assert isinstance(result.output[1], msg.DataBlock)
    assert result.output[1].source == picture.source


async def test_a_barge_in_stops_the_reply_and_its_tools() -> None:
    """HITL-15, MSG-64, MSG-74, USE-10: the user speaks while a tool runs: its result is `interrupted`, so is the reply;
    what the tool returns all the same is told beside it."""
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientTextAppendEvent(text="Weather?"))
        ask_tools(made, ("call_1", "weather", '{"city": "Oslo"}'))
        await asyncio.sleep(1)
        made.link.hear_start("u2")
        made.link.hear_end("u2", text="Never mind.")
        await asyncio.sleep(5)
    events = project(made.log)
    assert states(events, "resp_1", "call_1")[-1] == ("finished", "interrupted")
    reply = next(one for one in messages(events) if one.id == "resp_1")
    assert reply.finished_reason == "interrupted"
    assert reply.check_pairs() == []
    (late,) = [event for event in events if isinstance(event, CustomEvent)]
    assert late.name == "late_tool_result"
    assert late.value["tool_result"]["output"] == "Rain in Oslo"


async def test_a_reply_that_is_interrupted_ends_with_what_was_heard() -> None:
    """USE-10: the end of the text tells the words that were heard, though all had been told."""
    async with call() as made:
        made.link.hear_start("u1")
        made.link.hear_end("u1", text="Count.")
        made.link.reply(4_000, WORDS)
        await asyncio.sleep(2)
        made.link.hear_start("u2", 3_000)
        made.link.hear_end("u2", text="Stop.")
        made.link.reply(500, "Yes.")
        await asyncio.sleep(2)
    events = project(made.log)
    check_replies(events)
    user, reply, stop, yes = messages(events)
    (item,) = [item for item in made.session.conversation.items() if item.id == "reply_1"]
    assert reply.get_text_content() == item.text
    assert WORDS.startswith(item.text)
    assert 0 < len(item.text) < len(WORDS)
    assert [one.finished_reason for one in (user, reply, stop, yes)] == [
        *("completed", "interrupted", "completed", "completed")
    ]
    told = "".join(event.model_dump()["delta"] for event in events if types([event], "resp_1") == ["TEXT_BLOCK_DELTA"])
    assert told == WORDS


async def test_an_answer_to_a_hasty_turn_end_comes_to_nothing() -> None:
    """The user goes on: the reply that had begun is interrupted and empty, the two parts are one reply of the user."""
    async with call() as made:
        made.link.hear_start("u1")
        made.link.hear_end("u1", text="I would like")
        response_id = made.link.begin()
        made.link.speak(response_id, 1_000, "You would like what")
        await asyncio.sleep(0.3)
        made.link.hear_start("u2", 500)
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status="cancelled"))
        made.link.hear_end("u2", text="a tree.")
        made.link.reply(1_000, "A tree it is.")
        await asyncio.sleep(3)
    events = project(made.log)
    check_replies(events)
    withdrawn = next(one for one in msg.fold_messages(events) if one.id == "resp_1")
    assert (withdrawn.get_text_content(), withdrawn.finished_reason) == ("", "interrupted")
    said = [(one.role, one.get_text_content()) for one in messages(events)]
    assert said == [("user", "I would like a tree."), ("assistant", "A tree it is.")]


@pytest.mark.parametrize("fails", [True, False])
async def test_an_error_in_a_response_that_fails_ends_the_reply_with_it_and_is_else_a_signal(fails: bool) -> None:
    """Outside of any reply it is a signal of its own."""
    broken = m.ModelErrorEvent(error_type="provider_error", code="overloaded", message="too busy")
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        response_id = made.link.begin()
        made.link.say(broken)
        if fails:
            made.link.say(m.ModelResponseDoneEvent(response_id=response_id, status="failed"))
        else:
            made.link.speak(response_id, 500, "Hello.")
            made.link.finish(response_id, "Hello.")
            await asyncio.sleep(1)
        made.link.say(msgspec.structs.replace(broken, message="still busy"))
        made.receive(c.ClientItemDeleteEvent(item_id="nowhere"))
    events = project(made.log)
    reply = next(one for one in messages(events) if one.id == "resp_1")
    assert (reply.finished_reason, reply.error) == (("error", "too busy") if fails else ("completed", None))
    signals = [event for event in events if isinstance(event, CustomEvent)]
    outside = [("error", "", "overloaded"), ("error", "", "unknown_item")]
    assert [(event.name, event.reply_id, event.value["code"]) for event in signals][-2:] == outside
    assert len(signals) == (2 if fails else 3)


@pytest.mark.parametrize("declared", ["at first", "later"])
async def test_a_tool_of_the_client_is_submitted_and_finished(declared: str) -> None:
    """HITL-13, MSG-63, MSG-64: the call is handed over, and its result answers it. Tools that a client declares later
    are known from the log."""
    async with call(**({"config": IN_CLIENT} if declared == "at first" else {})) as made:
        if declared == "later":
            made.receive(c.ClientSessionUpdateEvent(config={"tools": [{"name": "where"}]}))
        made.receive(c.ClientTextAppendEvent(text="Where am I?"))
        ask_tools(made, ("call_1", "where", "{}"))
        await asyncio.sleep(1)
        made.receive(c.ClientToolResultEvent(id="call_1", name="where", output="In Oslo"))
        await asyncio.sleep(0)
        made.link.reply(500, "In Oslo.")
        await asyncio.sleep(1)
    events = project(made.log, **({"client_tools": ["where"]} if declared == "at first" else {}))
    check_replies(events)
    names = ["TOOL_CALL_END", "MODEL_CALL_END", "USER_CONFIRM_RESULT", "REQUIRE_EXTERNAL_EXECUTION"]
    start = types(events, "resp_1").index("TOOL_CALL_END")
    assert types(events, "resp_1")[start : start + 5] == [*names, "EXTERNAL_EXECUTION_RESULT"]
    walk = [("pending", ""), ("allowed", ""), ("submitted", ""), ("finished", "success")]
    assert states(events, "resp_1", "call_1") == walk
    assert messages(events)[1].get_content_blocks("tool_result")[0].output == "In Oslo"


async def test_interleaved_items_are_blocks_of_their_own() -> None:
    """EVT-06: words of two items of one response come in turns, and each goes to its block."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Both at once."))
        response_id = made.link.begin()
        for words in ("first ", "second ", "third "):
            for item_id in ("a1", "a2"):
                made.link.speak(response_id, 100, f"{item_id} {words}", item_id=item_id)
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id))
        await asyncio.sleep(2)
    blocks = messages(project(made.log))[1].get_content_blocks("text")
    assert [(block.id, block.text) for block in blocks] == [
        ("a1", "a1 first a1 second a1 third "),
        ("a2", "a2 first a2 second a2 third "),
    ]


async def test_the_end_of_the_users_reply_waits_for_the_words() -> None:
    """It is open until the transcript is there or has failed, and until the user cannot go on any more."""
    async with call() as made:
        made.link.hear_start("u1")
        made.link.hear_end("u1")
        await asyncio.sleep(3)
        made.link.say(m.ModelInputClearedEvent())
        assert types(project(made.log), "u1") == ["REPLY_START"]
        made.link.say(m.ModelInputTranscriptionFailedEvent(item_id="u1", code="unclear", message="no words"))
        assert types(project(made.log), "u1") == ["REPLY_START", "REPLY_END"]
        made.link.hear_start("u2")
        made.link.hear_end("u2", text="At once.")
        assert types(project(made.log), "u2")[-1] == "TEXT_BLOCK_DELTA"
        await asyncio.sleep(2)
        made.link.say(m.ModelInputClearedEvent())
        assert types(project(made.log), "u2")[-1] == "REPLY_END"


async def test_typed_turns_and_items_with_pictures_are_whole_replies() -> None:
    """Words are a text block, pictures data blocks; what a camera shows without end is none."""
    picture = ContentPart(type="image", image=b"\xff\xd8", media_type="image/jpeg")
    words = ContentPart(type="text", text="What is this?")
    sees = msgspec.structs.replace(PROFILE, input_modalities=frozenset({"text", "audio", "image"}))
    async with call(profile=sees) as made:
        made.receive(c.ClientImageAppendEvent(image=b"\xff\xd8"))
        made.receive(c.ClientItemCreateEvent(item=Item(id="i1", role="user", name="Ada", content=(words, picture))))
        made.receive(c.ClientItemCreateEvent(item=Item(id="i2", role="system", content=(words,))))
        made.receive(c.ClientItemCreateEvent(item=Item(id="i3", role="assistant", content=(words,))))
    events = project(made.log)
    check_replies(events)
    shown, system, history = messages(events)
    assert (shown.name, block_types(shown)) == ("Ada", ["text", "data"])
    assert [(one.role, one.get_text_content()) for one in (system, history)] == [
        ("system", "What is this?"),
        ("assistant", "What is this?"),
    ]


async def test_calls_and_results_of_a_history_are_one_reply_each() -> None:
    """A client may tell what was done in an earlier call, and a result of a call that nobody waits for any more."""

    def told(item_id: str, **block: Any) -> c.ClientItemCreateEvent:
        kind = next(iter(block))
        return c.ClientItemCreateEvent(item=Item(id=item_id, type=kind, **block))  # type: ignore[arg-type]

    async with call() as made:
        made.receive(told("i1", tool_call=msg.ToolCallBlock(id="c1", name="clock", input="{}")))
        made.receive(told("i2", tool_result=msg.ToolResultBlock(id="c1", name="clock", output="12:00")))
        made.receive(told("i3", tool_result=msg.ToolResultBlock(id="c2", name="clock", output="12:01")))
        made.receive(told("i4", tool_call=msg.ToolCallBlock(id="c3", name="clock", input="{}")))
    events = project(made.log)
    check_replies(events)
    said = messages(events)
    assert [(one.id, block_types(one)) for one in said] == [
        ("i1", ["tool_call", "tool_result"]),
        ("i3", ["tool_call", "tool_result"]),
        ("i4", ["tool_call"]),
    ]
    assert [one.check_pairs() for one in said] == [[], [], []]


async def test_a_response_outside_the_conversation_is_no_reply() -> None:
    """Its words are in no message."""
    async with call() as made:
        made.link.say(
            m.ModelResponseCreatedEvent(response_id="aside", conversation="none"),
            m.ModelResponseTextDeltaEvent(response_id="aside", item_id="note", delta="Note."),
            m.ModelResponseDoneEvent(response_id="aside", conversation="none"),
        )
    assert project(made.log) == []


async def test_a_written_answer_ends_at_once_and_a_spoken_one_when_it_cannot_be_cut_any_more() -> None:
    """Who does not want to wait for that settles it."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Write."))
        response_id = made.link.begin()
        made.link.say(m.ModelResponseTextDeltaEvent(response_id=response_id, item_id="t1", delta="Written."))
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id))
        assert types(project(made.log), "resp_1")[-1] == "REPLY_END"
        made.receive(c.ClientTextAppendEvent(text="Speak."))
        made.link.reply(1_000, "Spoken.")
        assert types(project(made.log), "resp_2")[-1] == "MODEL_CALL_END"
        projection = ReplyProjection("session1", created_at_of=iso)
        for event in made.log:
            projection.push(event)
        ends = projection.settle()
        assert types(ends, "resp_2") == ["TEXT_BLOCK_END", "REPLY_END"]
        await asyncio.sleep(3)
        made.receive(c.ClientTextAppendEvent(text="Again."))
        made.link.reply(1_000, "Again spoken.")
        later = [event for event in project(made.log) if event.reply_id == "resp_2"]
        assert [event.created_at for event in later[-2:]] == [event.created_at for event in ends]


async def test_a_cut_that_comes_after_the_end_is_told_as_a_correction() -> None:
    """The message heeds it, so it has the words of the conversation."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Count."))
        made.link.reply(4_000, WORDS)
        await asyncio.sleep(6)
        made.receive(c.ClientTextAppendEvent(text="And now?"))
        made.link.begin()
        made.receive(c.ClientItemTruncateEvent(item_id="reply_1", audio_end_ms=2_000))
    events = project(made.log)
    (correction,) = [event for event in events if isinstance(event, CustomEvent)]
    assert correction.name == "text_corrected"
    (item,) = [item for item in made.session.conversation.items() if item.id == "reply_1"]
    assert len(item.text) < len(WORDS.strip())
    assert messages(events)[1].get_text_content() == correction.value["text"] == item.text


async def test_an_answer_that_a_lost_link_broke_off_goes_on_in_the_same_reply() -> None:
    """One answer is one message, also over two links."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Tell me."))
        response_id = made.link.begin()
        made.link.speak(response_id, 500, "Once upon ")
        lost = {"type": "failed", "reason": "link_lost"}
        made.link.say(
            m.ModelResponseDoneEvent(response_id=response_id, status="failed", status_details=lost),
            m.ModelReconnectingEvent(attempt=1, retry_after_ms=0, reason="lost"),
            m.ModelReconnectedEvent(gap_ms=100),
        )
        made.link.reply(500, "a time.")
        await asyncio.sleep(3)
    reply = messages(project(made.log))[1]
    assert reply.finished_reason == "completed"
    assert [block.text for block in reply.get_content_blocks("text")][1] == "a time."


async def test_speech_can_be_kept_in_the_message() -> None:
    """The data block holds all that was said, as the media type says."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Speak."))
        made.link.reply(1_000, "Spoken.")
        await asyncio.sleep(2)
    events = project(made.log, keeps_audio=True)
    check_replies(events)
    (sound,) = messages(events)[1].get_content_blocks("data")
    assert isinstance(sound.source, msg.Base64Source)
    assert sound.source.media_type == "audio/pcm;rate=24000"
    said = [event.delta for event in made.log if isinstance(event, s.AgentResponseAudioDeltaEvent)]
    assert sound.source.data == b"".join(said)


async def test_a_call_that_goes_on_after_its_server_was_lost_closes_what_was_open_there() -> None:
    """A log that breaks off in a reply and begins again with a new agent; ids that come again get new names."""
    async with call() as made:
        made.receive(c.ClientTextAppendEvent(text="Tell me."))
        response_id = made.link.begin()
        made.link.speak(response_id, 500, "Once upon ")
        killed = [*made.log]
    ready = next(event for event in killed if isinstance(event, s.AgentReadyEvent))
    begun = next(event for event in killed if isinstance(event, s.AgentResponseCreatedEvent))
    again = (
        msgspec.structs.replace(ready, seq=1_000, ts_ms=9_000),
        msgspec.structs.replace(begun, seq=1_001, ts_ms=9_000),
    )
    events = project([*killed, *again])
    first, second = messages(events)[1:]
    assert (first.get_text_content(), first.finished_reason) == ("Once upon ", "interrupted")
    assert (second.id, second.finished_reason) == ("resp_1_1001", None)


async def test_voices_that_come_to_no_turn_take_no_room() -> None:
    """Only so many replies of the user are open at once; the messages leave them out."""
    async with call() as made:
        for count in range(50):
            made.link.hear_start(f"u{count}")
    events: list[AgentEvent] = []
    projection = ReplyProjection("session1", created_at_of=iso)
    most = 0
    for one in made.log:
        events += projection.push(one)
        open_now = sum(1 if event.type == "REPLY_START" else -1 for event in events if "REPLY_" in event.type)
        most = max(most, open_now)
    assert most == OPEN_USER_REPLIES
    assert messages(events) == []


async def test_a_call_id_that_a_model_gives_twice_is_two_calls() -> None:
    """Some models number the calls of each response from one."""
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientTextAppendEvent(text="Twice."))
        for zone in ("UTC", "CET"):
            ask_tools(made, ("call_1", "clock", f'{{"zone": "{zone}"}}'))
            await asyncio.sleep(2)
        made.link.reply(500, "Done.")
        await asyncio.sleep(1)
    events = project(made.log)
    check_replies(events)
    reply = messages(events)[1]
    assert [block.output for block in reply.get_content_blocks("tool_result")] == ["12:00 in UTC", "12:00 in CET"]
    assert reply.check_pairs() == []


async def test_who_enters_and_leaves_a_room_is_a_signal() -> None:
    """The team changes outside of any reply."""
    joined = s.ServerRoomJoinedEvent(participant_id="p1", name="Ada", kind="human", seq=1)
    left = s.ServerRoomLeftEvent(participant_id="p1", name="Ada", seq=2)
    events = project([joined, left])
    assert [(event.name, event.value["joined"]) for event in events if isinstance(event, CustomEvent)] == [
        ("team_updated", True),
        ("team_updated", False),
    ]


async def test_each_model_call_names_its_response_and_the_labels_of_its_request() -> None:
    """AMB-45: the reply has the id of its first response; the one after the tool joins it and is named in metadata."""
    async with call(toolkit=TOOLS) as made:
        made.link.hear_start("u1")
        made.link.hear_end("u1", text="What time is it?")
        ask_tools(made, ("call_1", "clock", '{"zone": "UTC"}'))
        await asyncio.sleep(3)
        made.link.say(m.ModelResponseCreatedEvent(response_id="resp_2", metadata={"topic": "time"}))
        made.link.speak("resp_2", 500, "noon")
        made.link.finish("resp_2", "noon")
        await asyncio.sleep(5)
    events = project(made.log)
    calls = [event for event in events if event.type in ("MODEL_CALL_START", "MODEL_CALL_END")]
    assert len({event.reply_id for event in calls}) == 1
    first, second = {"response_id": "resp_1"}, {"response_id": "resp_2", "response_metadata": {"topic": "time"}}
    assert [event.metadata for event in calls] == [first, first, second, second]
    assert all(event.model_dump()["metadata"] == {} for event in events if event not in calls)


async def test_a_reply_says_why_it_stands_while_the_page_works_and_after_the_user_broke_in() -> None:
    """USE-06, USE-07, USE-10: the end reasons of real runs, in the words of AgentScope Java."""
    async with call(config=IN_CLIENT) as made:
        made.receive(c.ClientTextAppendEvent(text="Where am I?"))
        ask_tools(made, ("call_1", "where", "{}"))
        await asyncio.sleep(1)
        waiting = messages(project(made.log, client_tools=["where"]))[-1]
        made.receive(c.ClientToolResultEvent(id="call_1", name="where", output="In Oslo"))
        await asyncio.sleep(0)
        made.link.reply(500, "In Oslo.")
        await asyncio.sleep(5)
        made.receive(c.ClientTextAppendEvent(text="And tomorrow?"))
        made.link.reply(4_000, WORDS)
        await asyncio.sleep(1)
        made.link.hear_start("u9")
        await asyncio.sleep(5)
    whole, broken = [one for one in messages(project(made.log, client_tools=["where"])) if one.role == "assistant"]
    reasons = [to_generate_reason(one.finished_reason, one.metadata) for one in (waiting, whole, broken)]
    assert reasons == ["TOOL_SUSPENDED", "MODEL_STOP", "INTERRUPTED"]

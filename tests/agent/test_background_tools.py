"""Background tools in a call: the model talks on, their results come as hints and are spoken in the next silence."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest

from realtime.agent.background import PROGRESS_HINT_S
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.message import HintBlock, Msg, ToolCallBlock, UserMsg
from realtime.model import base
from realtime.state.replies import ReplyProjection, messages
from realtime.tool import ToolContext, Toolkit
from tests.agent.fakes import PROFILE, WORDS, Call, call
from tests.agent.test_text_reply import started, use
from tests.agent.test_tools import ask_tools, results
from tests.message.reply_grammar import check_replies

pytestmark = pytest.mark.virtual_time


async def research(topic: str, context: ToolContext[Any]) -> AsyncGenerator[str, None]:
    """Find out everything."""
    context.progress("reading")
    yield f"{topic} "
    await asyncio.sleep(10)
    yield "is green"


ASK = ("call_1", "research", '{"topic": "tea"}')


def library(**options: Any) -> Toolkit:
    toolkit = Toolkit()
    toolkit.register(research, background=True, **options)
    return toolkit


def hints(made: Call) -> list[str]:
    """The hints that the model was sent."""
    items = [message.item for message in made.link.got(base.ItemCreate)]
    return [item.text for item in items if item.role == "system"]


def asked(made: Call) -> int:
    return len(made.link.got(base.ResponseCreate))


@asynccontextmanager
async def looking_up(ms: int = 500, after_s: float = 0.0, *, config: Any = None, **options: Any) -> AsyncIterator[Call]:
    """A call whose model looks something up in the background, and has said so, for so many ms, so long ago."""
    async with call(toolkit=library(**options), config=config) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(0.5)
        made.link.reply(ms, "I am looking it up.")
        await asyncio.sleep(after_s)
        yield made


RESULT = (
    "<system-reminder>\nThe background tool research (task research_1) is done. Tell the user now, in your own words. "
    "Its result:\ntea is green\n</system-reminder>"
)


async def test_the_model_hears_that_it_started_and_talks_on_and_tells_the_result_in_the_next_silence() -> None:
    async with call(toolkit=library()) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(0.5)
        ((_, state, text),) = results(made)
        assert state == "running"
        assert "do not guess the result" in text
        assert asked(made) == 1
        made.link.reply(2_000, "I am looking it up.")
        await asyncio.sleep(8)
        assert [one for one in hints(made) if "is done" in one] == []
        await asyncio.sleep(2)
        assert hints(made)[-1] == RESULT
        kinds = [type(message).__name__ for message in made.link.sent]
        assert kinds[-2:] == ["ItemCreate", "ResponseCreate"]
        assert asked(made) == 2
        made.link.reply(1_000, "Tea is green.")
        await asyncio.sleep(20)
        assert asked(made) == 2
        made.check_heard_truth()


@pytest.mark.parametrize(("answered", "patience_s"), [(True, 1), (False, 20)])
async def test_a_result_waits_while_the_user_speaks_and_is_answered_or_for_a_while(
    answered: bool, patience_s: int
) -> None:
    async with looking_up(500, 5) as made:
        made.link.hear_start("u1")
        await asyncio.sleep(7)
        made.link.hear_end("u1", text="And milk?")
        await asyncio.sleep(patience_s)
        assert RESULT not in hints(made)
        if answered:
            made.link.reply(1_000, "I do not know yet.")
        await asyncio.sleep(2 if answered else 10)
        assert RESULT in hints(made)
        assert asked(made) == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"announce": "silently"}, RESULT.replace(" Tell the user now, in your own words.", "")),
        ({"config": SessionConfig(auto_response=False)}, RESULT),
    ],
    ids=["silent", "may not speak unasked"],
)
async def test_a_result_is_known_and_not_spoken_where_it_is(options: dict[str, Any], told: str) -> None:
    async with looking_up(500, 15, **options) as made:
        assert hints(made)[-1] == told
        assert asked(made) == 1


@pytest.mark.parametrize("typed", [True, False])
async def test_a_result_waits_for_the_end_of_what_is_played_or_the_user_s_next_turn(typed: bool) -> None:
    async with looking_up(15_000, 11) as made:
        assert RESULT not in hints(made)
        if typed:
            made.receive(c.ClientTextAppendEvent(text="Is it green?"))
            kinds = [type(message).__name__ for message in made.link.sent]
            assert kinds[-2:] == ["ItemCreate", "ResponseCreate"]
            assert hints(made)[-1] == RESULT
            made.link.reply(500, "Yes, it is green.")
        else:
            await asyncio.sleep(3)
            assert RESULT not in hints(made)
        await asyncio.sleep(5)
        assert RESULT in hints(made)
        assert asked(made) == 2


async def test_progress_is_told_to_listeners_and_now_and_then_to_the_model() -> None:
    async def count(context: ToolContext[Any]) -> None:
        """Count."""
        for second in range(25):
            context.progress(f"{second} s")
            await asyncio.sleep(1)

    toolkit = Toolkit()
    toolkit.register(count, background=True)
    async with call(toolkit=toolkit) as made:
        ask_tools(made, ("call_1", "count", "{}"))
        await asyncio.sleep(0.5)
        made.link.reply(500, "I am counting.")
        await asyncio.sleep(24)
        told = [(event.tool_call_id, event.delta) for event in made.of(s.AgentToolProgressEvent)]
        assert told[:2] == [("call_1", "0 s"), ("call_1", "1 s")]
        assert len(told) == 25
        reports = [hint.split("reports: ")[1].split("\n")[0] for hint in hints(made)]
        assert reports == ["0 s", f"{PROGRESS_HINT_S:g} s", f"{2 * PROGRESS_HINT_S:g} s"]
        assert made.agent.background_tools()[0]["latest"] == "24 s"


async def test_it_survives_a_lost_link() -> None:
    async with looking_up(500, 9) as made:
        made.link.say(m.ModelReconnectingEvent(attempt=1, retry_after_ms=100, reason="link_lost"))
        await asyncio.sleep(3)
        assert RESULT not in hints(made)
        made.link.say(m.ModelReconnectedEvent(gap_ms=3_000))
        await asyncio.sleep(1)
        assert RESULT in hints(made)
        assert asked(made) == 2


async def test_an_interruption_does_not_stop_it_and_the_end_of_the_call_does() -> None:
    ended: list[float] = []

    async def wait() -> None:
        """Wait."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(asyncio.get_running_loop().time())

    toolkit = Toolkit()
    toolkit.register(wait, background=True)
    async with call(toolkit=toolkit) as made:
        ask_tools(made, ("call_1", "wait", "{}"))
        await asyncio.sleep(0.5)
        made.link.reply(5_000, WORDS)
        await asyncio.sleep(1)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(5)
        assert ended == []
        await made.session.end("test_over")
        assert len(ended) == 1
        assert not [task for task in asyncio.all_tasks() if "background" in task.get_name()]


async def test_a_call_that_ends_keeps_in_its_history_what_was_not_told() -> None:
    async with looking_up(60_000, 10) as made:
        ask_tools(made, ("call_2", "research", '{"topic": "milk"}'))
        await asyncio.sleep(1)
        await made.session.end("test_over")
        stopped, told = [item.text for item in made.session.conversation.items() if item.role == "system"][-2:]
        assert told == RESULT
        assert "research_2) was stopped: no result will come" in stopped


async def test_the_program_and_the_model_can_stop_it() -> None:
    async with looking_up(500, 1) as made:
        assert [one["id"] for one in made.agent.background_tools()] == ["research_1"]
        assert made.agent.cancel_background_tool("research_1")
        assert not made.agent.cancel_background_tool("research_1")
        assert "was stopped: no result" in hints(made)[-1]
        ask_tools(made, ("call_2", "research", '{"topic": "milk"}'))
        await asyncio.sleep(0.5)
        made.link.reply(500, "I am looking it up.")
        await asyncio.sleep(1)
        ask_tools(made, ("call_3", "cancel_background_tool", '{"task_id": "research_2"}'))
        await asyncio.sleep(20)
        assert results(made)[-1][2] == "Task research_2 has been cancelled."
        assert not [hint for hint in hints(made) if "is done" in hint]
        assert made.agent.background_tools() == []


async def test_a_background_tool_may_ask_for_consent_first() -> None:
    toolkit = library(confirm=True)
    async with call(toolkit=toolkit) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(1)
        assert made.agent.background_tools() == []
        made.receive(c.ClientToolResultEvent(id="call_1", name="research", output="", confirmed=True))
        await asyncio.sleep(0.5)
        assert [one["id"] for one in made.agent.background_tools()] == ["research_1"]


async def test_its_result_is_a_hint_block_in_the_reply_that_tells_of_it() -> None:
    """EVT-42, EVT-45, MSG-52, AMB-29: the call ends as `running`; the result comes later as a hint."""
    async with looking_up(500, 10) as made:
        made.link.reply(500, "Tea is green.")
        await asyncio.sleep(5)
        await made.session.end("test_over")
    projection = ReplyProjection("session1", created_at_of=lambda ts_ms: f"2026-01-01T00:00:{ts_ms / 1000:06.3f}Z")
    events = [event for entry in made.log for event in projection.push(entry)] + projection.settle()
    check_replies(events)
    ends = [event.state for event in events if isinstance(event, r.ToolResultEndEvent)]
    assert ends == ["running"]
    progress, hint = [event for event in events if isinstance(event, r.HintBlockEvent)]
    assert "still runs and reports: reading" in str(progress.hint)
    assert (hint.hint, hint.source) == (RESULT, "research")
    first, second = messages(events)
    assert [block.type for block in first.content] == ["tool_call", "tool_result", "hint", "text"]
    assert [block.type for block in second.content] == ["hint", "text"]
    assert isinstance(second.content[0], HintBlock)
    call_block = first.content[0]
    assert isinstance(call_block, ToolCallBlock)
    assert call_block.state == "finished"


async def test_a_reply_ends_though_its_tool_runs_on_in_the_background() -> None:
    async with started(toolkit=library(), answers=False) as (agent, link, _):

        def answer(_: base.ResponseCreate) -> None:
            if len(link.got(base.ResponseCreate)) == 1:
                use(link, "call_1", "research", '{"topic": "tea"}')
            else:
                link.reply(500, "I am looking it up.")

        link.answer = answer
        async with aclosing(agent.reply_stream(UserMsg("user", "What about tea?"))) as stream:
            reply = Msg.from_events([event async for event in stream])
        assert asyncio.get_running_loop().time() < 5
        assert reply.get_text_content() == "I am looking it up."


SPEAKS = msgspec.structs.replace(PROFILE, says_given_words=True)
CANNOT = msgspec.structs.replace(PROFILE, supports_response_overrides=False)


async def slow(context: ToolContext[Any]) -> str:
    """Take long."""
    context.say("One moment.")
    await asyncio.sleep(5)
    return "done"


def words_asked(made: Call) -> list[tuple[str, str]]:
    """(`say`, instructions) of the responses beside the conversation that the model was asked for."""
    asked = [one for one in made.link.got(base.ResponseCreate) if one.overrides is not None]
    return [(one.say, one.overrides.instructions or "") for one in asked if one.overrides.conversation == "none"]


async def test_a_tool_speaks_while_it_runs_beside_the_conversation_where_the_model_can() -> None:
    async with call(toolkit=Toolkit([slow])) as made:
        ask_tools(made, ("call_1", "slow", "{}"))
        await asyncio.sleep(1)
        ((said, instructions),) = words_asked(made)
        assert (said, instructions.endswith("One moment.")) == ("", True)
        await asyncio.sleep(5)
        assert results(made) == [("call_1", "success", "done")]
    for profile, words in ((SPEAKS, [("One moment.", "")]), (CANNOT, [])):
        async with call(profile=profile, toolkit=Toolkit([slow])) as made:
            ask_tools(made, ("call_1", "slow", "{}"))
            await asyncio.sleep(1)
            assert words_asked(made) == words
            assert made.of(s.AgentErrorEvent) == []


async def test_words_wait_for_silence_and_are_dropped_once_their_tool_has_ended() -> None:
    block = ToolCallBlock(id="call_1", name="slow")
    for ms, pauses in ((3_000, [(2.5, 0), (1, 1)]), (8_000, [(12, 0)])):
        async with call(toolkit=Toolkit([slow])) as made:
            response_id = made.link.begin_speaking(ms, WORDS)
            made.link.say(m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use", tool_use=block))
            made.link.finish(response_id, WORDS)
            for seconds, n_words in pauses:
                await asyncio.sleep(seconds)
                assert len(words_asked(made)) == n_words


async def lookup(topic: str) -> str:
    """Look it up."""
    await asyncio.sleep(4)
    if topic == "gin":
        raise ValueError("no such tea")
    return f"{topic} is green"


def with_lookup() -> Toolkit:
    toolkit = Toolkit()
    toolkit.register(lookup)
    return toolkit


def late(how: str, result: str) -> str:
    return (
        f"<system-reminder>\nThe tool lookup (call call_1) {how}. The talk went on meanwhile, so the user does not "
        f"know it. Tell the user now, in your own words. Its result:\n{result}\n</system-reminder>"
    )


@asynccontextmanager
async def outrun(*, typed: bool = False, topic: str = "tea", **options: Any) -> AsyncIterator[Call]:
    """A call whose user says "Take your time." while a tool that they asked for runs."""
    async with call(toolkit=with_lookup(), **options) as made:
        ask_tools(made, ("call_1", "lookup", f'{{"topic": "{topic}"}}'))
        await asyncio.sleep(1)
        if typed:
            made.receive(c.ClientTextAppendEvent(text="Take your time."))
        else:
            made.link.hear_start("u1")
            await asyncio.sleep(0.6)
            made.link.hear_end("u1", text="Take your time.")
            await asyncio.sleep(0.3)
        made.link.reply(500, "I will.")
        yield made


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "spoken"])
@pytest.mark.parametrize(
    ("topic", "told"),
    [("tea", late("is done", "tea is green")), ("gin", late("has failed", "no such tea"))],
    ids=["done", "failed"],
)
async def test_a_result_that_another_turn_has_overtaken_is_told_in_the_next_silence(
    typed: bool, topic: str, told: str
) -> None:
    async with outrun(typed=typed, topic=topic) as made:
        before = asked(made)
        assert hints(made) == []
        await asyncio.sleep(5)
        (hint,) = hints(made)
        assert hint.split("Its result:")[0] == told.split("Its result:")[0]
        assert told.split("Its result:\n")[1].split("\n")[0] in hint
        assert asked(made) == before + 1, "once"
        made.link.reply(1_000, "Tea is green.")
        await asyncio.sleep(20)
        assert asked(made) == before + 1
        made.check_heard_truth()


@pytest.mark.parametrize(("topic", "owed"), [("tea", 0), ("mate", 1)])
async def test_a_result_that_the_answer_to_an_equal_call_tells_is_owed_no_more(topic: str, owed: int) -> None:
    """The user asks again while the tool runs; for another thing the first result is owed."""
    async with call(toolkit=with_lookup()) as made:
        ask_tools(made, ("call_1", "lookup", '{"topic": "tea"}'))
        await asyncio.sleep(1)
        made.receive(c.ClientTextAppendEvent(text="What is tea?"))
        ask_tools(made, ("call_2", "lookup", f'{{"topic": "{topic}"}}'))
        await asyncio.sleep(5)
        made.link.reply(1_000, "Tea is green.")
        await asyncio.sleep(20)
        assert len(hints(made)) == owed


async def test_an_overtaken_result_is_known_and_not_spoken_where_the_agent_may_not_speak_unasked() -> None:
    async with outrun(config=SessionConfig(auto_response=False)) as made:
        before = asked(made)
        await asyncio.sleep(10)
        assert len(hints(made)) == 1
        assert asked(made) == before


async def test_a_tool_that_the_user_cancels_owes_nothing() -> None:
    async with call(toolkit=with_lookup()) as made:
        ask_tools(made, ("call_1", "lookup", '{"topic": "tea"}'))
        await asyncio.sleep(1)
        made.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(10)
        assert hints(made) == []

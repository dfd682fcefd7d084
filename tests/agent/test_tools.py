"""Tools: run for the model, here or in the client, and always answered."""

import asyncio
from typing import Any

import msgspec
import pytest

from realtime.agent.settings import AgentSpec
from realtime.errors import ToolError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import HostedTool, ResponseOverrides
from realtime.event.config import SessionConfig, ToolDeclaration
from realtime.message import TextBlock, ToolCallBlock, ToolResultBlock
from realtime.model import base
from realtime.model.scripted import ScriptedModel
from realtime.tool import Toolkit
from tests.agent.fakes import PROFILE, WORDS, Call, call

pytestmark = pytest.mark.virtual_time

IN_CLIENT = SessionConfig(tools=(ToolDeclaration(name="where", description="Where the user is."),))


async def clock(zone: str) -> str:
    """Tell the time.

    Args:
        zone: The time zone.
    """
    await asyncio.sleep(1)
    return f"12:00 in {zone}"


async def weather(city: str) -> str:
    """Tell the weather."""
    await asyncio.sleep(2)
    return f"Rain in {city}"


def broken() -> str:
    """Fail."""
    raise LookupError("the almanac is lost")


async def endless() -> str:
    """Never end."""
    await asyncio.sleep(3_600)
    return "too late"


TOOLS = Toolkit([clock, weather, broken, endless])
CLOCK = ("call_1", "clock", '{"zone": "UTC"}')


def use(made: Call, response_id: str, *calls: tuple[str, str, str]) -> None:
    """The model asks for tools by (id, name, arguments)."""
    for call_id, name, arguments in calls:
        where: dict[str, Any] = {"response_id": response_id, "item_id": f"use_{call_id}"}
        half = ToolCallBlock(id=call_id, name=name, input=arguments[:3])
        whole = ToolCallBlock(id=call_id, name=name, input=arguments)
        made.link.say(
            m.ModelResponseToolUseDeltaEvent(tool_use=half, delta=arguments[:3], **where),
            m.ModelResponseToolUseDeltaEvent(tool_use=whole, delta=arguments[3:], **where),
            m.ModelResponseToolUseDoneEvent(tool_use=whole, **where),
        )


def ask_tools(made: Call, *calls: tuple[str, str, str]) -> None:
    """A whole response that only asks for tools."""
    response_id = made.link.begin()
    use(made, response_id, *calls)
    made.link.say(m.ModelResponseDoneEvent(response_id=response_id))


def results(made: Call) -> list[tuple[str, str, str]]:
    """(id, state, text) of the results the model was sent."""
    return [
        (message.result.id, message.result.state, message.result.output_text())
        for message in made.link.got(base.ToolResult)
    ]


async def test_the_model_is_told_of_the_tools_unless_it_takes_none() -> None:
    """RTM-05: tools never reach the session of a model without tools; the agent says so clearly."""
    async with call(toolkit=TOOLS, config=IN_CLIENT) as made:
        declared = {tool.name: tool for tool in made.link.settings.tools}
        assert set(declared) == {"clock", "weather", "broken", "endless", "where"}
        assert declared["clock"].parameters["required"] == ["zone"]
    async with call(profile=msgspec.structs.replace(PROFILE, supports_tools=False), toolkit=TOOLS) as made:
        assert made.link.settings.tools == ()
        (left_out,) = made.of(s.AgentErrorEvent)
        assert left_out.code == "unsupported_tools"
        assert "goes on without them" in left_out.message
    empty = Toolkit()
    assert AgentSpec("Friday", "", ScriptedModel([]), toolkit=empty).toolkit is empty


SEARCH = {"kind": "web_search", "name": "googleSearch"}
WIKI = {"kind": "mcp", "name": "deepwiki"}
CODE = {"kind": "codeExecution", "name": "codeExecution"}
HAS_SEARCH = msgspec.structs.replace(PROFILE, hosted_tools=frozenset({"web_search"}))
SEARCH_ALONE = msgspec.structs.replace(HAS_SEARCH, searches_without_tools=True)


@pytest.mark.parametrize(
    ("profile", "toolkit", "config", "had", "left_out"),
    [
        (HAS_SEARCH, TOOLS, {"hosted_tools": [SEARCH]}, {"web_search"}, []),
        (HAS_SEARCH, None, {"hosted_tools": [SEARCH, WIKI, CODE]}, {"web_search"}, ["deepwiki", "codeExecution"]),
        (PROFILE, TOOLS, {"hosted_tools": [SEARCH, WIKI]}, set(), ["googleSearch", "deepwiki"]),
        (PROFILE, None, {"hosted_tools": [{"kind": "x" * 5_000}]}, set(), ["x" * 64]),
        (SEARCH_ALONE, None, {"hosted_tools": [SEARCH]}, {"web_search"}, []),
        (SEARCH_ALONE, TOOLS, {"hosted_tools": [SEARCH]}, set(), ["googleSearch"]),
        (SEARCH_ALONE, None, {"hosted_tools": [SEARCH], "tools": [{"name": "where"}]}, set(), ["googleSearch"]),
    ],
)
async def test_a_hosted_tool_goes_to_a_model_that_has_it_and_else_is_named(
    profile: base.Profile, toolkit: Toolkit | None, config: dict[str, Any], had: set[str], left_out: list[str]
) -> None:
    """What cannot be had takes nothing else with it; the same settings twice name it once."""
    config |= {"instructions": "Be brief."}
    async with call(profile=profile, toolkit=toolkit, config=SessionConfig.from_dict(config)) as made:
        assert made.link.settings.hosted_tools == had
        assert made.link.settings.instructions == "Be brief."
        made.receive(c.ClientSessionUpdateEvent(config=config | {"instructions": "Sing."}))
        update = made.link.got(base.SessionUpdate)[-1].settings
        assert (update.instructions, update.hosted_tools) == ("Sing.", had)
        errors = made.of(s.AgentErrorEvent)
        assert [event.code for event in errors] == ["unsupported_tool"] * len(left_out)
        assert [event.message.split("'")[1] for event in errors] == left_out


async def test_a_hosted_tool_of_one_response_is_named_and_the_response_comes() -> None:
    async with call() as made:
        wanted = ResponseOverrides(hosted_tools=(HostedTool(kind="mcp", name="deepwiki"),))
        made.receive(c.ClientResponseCreateEvent(response=wanted))
        assert len(made.link.got(base.ResponseCreate)) == 1
        (error,) = made.of(s.AgentErrorEvent)
        assert (error.code, "'deepwiki'" in error.message) == ("unsupported_tool", True)


async def test_a_tool_call_is_shown_run_told_and_answered_and_the_model_speaks_on() -> None:
    """RTA-06, RTA-16, SEV-14: the tool runs, the model sees the result, a second response follows.

    SEV-12, SEV-13: the card fills and is final. AMB-31: fragments of the arguments, and beside them the block so far.
    """
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientTextAppendEvent(text="What time is it?"))
        response_id = made.link.begin_speaking(1_000, WORDS)
        use(made, response_id, CLOCK)
        made.link.finish(response_id, WORDS)
        growing = made.of(s.AgentResponseToolUseDeltaEvent)
        (used,) = made.of(s.AgentResponseToolUseDoneEvent)
        assert "".join(event.delta for event in growing) == '{"zone": "UTC"}'
        assert growing[-1].tool_use.input == used.tool_use.input
        await asyncio.sleep(3)
        assert results(made) == [("call_1", "success", "12:00 in UTC")]
        assert len(made.link.got(base.ResponseCreate)) == 2
        (told,) = made.of(s.AgentResponseToolResultEvent)
        assert told.tool_result.id == used.tool_use.id == "call_1"
        assert told.tool_result.output == "12:00 in UTC"
        (sent,) = made.link.got(base.ToolResult)
        assert sent.item_id == told.item_id, "an item can be placed behind it, and it can be deleted"
        made.link.reply(500, "It is twelve.")
        await asyncio.sleep(1)
        assert [who for who, _ in made.transcript()] == ["user", "assistant", "tool_call", "tool_result", "assistant"]
        made.check_heard_truth()


async def test_a_result_that_is_there_before_the_response_is_done_waits_for_it() -> None:
    async with call(toolkit=TOOLS) as made:
        response_id = made.link.begin()
        use(made, response_id, ("call_1", "broken", "{}"))
        await asyncio.sleep(1)
        assert len(results(made)) == 1
        assert made.link.got(base.ResponseCreate) == []
        made.link.say(m.ModelResponseDoneEvent(response_id=response_id))
        assert len(made.link.got(base.ResponseCreate)) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "state", "words"),
    [
        ("blocks", "{}", "success", "a\nb"),
        ("broken", "{}", "error", "almanac"),
        ("endless", "{}", "error", "within 5 s"),
        ("nonsense", "{}", "error", "no tool named"),
        ("clock", "{", "error", "arguments"),
        ("clock", '{"zone": 7}', "error", "arguments"),
    ],
)
async def test_whatever_comes_of_a_tool_is_told_to_the_model_which_goes_on(
    name: str, arguments: str, state: str, words: str
) -> None:
    def blocks() -> list[TextBlock]:
        """Describe."""
        return [TextBlock(text="a"), TextBlock(text="b")]

    async with call(toolkit=Toolkit([clock, broken, endless, blocks]), tool_timeout_s=5) as made:
        ask_tools(made, ("call_1", name, arguments))
        await asyncio.sleep(10)
        ((_, told, text),) = results(made)
        assert (told, words in text) == (state, True)
        assert len(made.link.got(base.ResponseCreate)) == 1


async def test_a_tool_of_the_client_is_answered_by_the_client_once() -> None:
    """CEV-11: the result reaches the model, which goes on; a second one, or one nobody asked for, is refused."""
    async with call(toolkit=TOOLS, config=IN_CLIENT) as made:
        made.receive(c.ClientToolResultEvent(id="call_9", name="where", output="Paris", event_id="e1"))
        assert made.link.sent == []
        ask_tools(made, ("call_1", "where", "{}"))
        await asyncio.sleep(10)
        assert results(made) == []
        made.receive(
            c.ClientToolResultEvent(id="call_1", name="where", output="Paris"),
            c.ClientToolResultEvent(id="call_1", name="where", output="Rome"),
        )
        await asyncio.sleep(0.1)
        assert results(made) == [("call_1", "success", "Paris")]
        assert made.of(s.AgentResponseToolResultEvent)[0].tool_result.output == "Paris"
        assert len(made.link.got(base.ResponseCreate)) == 1
        refused = [(event.code, event.client_event_id) for event in made.of(s.AgentErrorEvent)]
        assert refused == [("unknown_tool_call", "e1"), ("unknown_tool_call", None)]
        made.check_heard_truth()


async def test_a_tool_that_came_with_one_request_is_the_client_s_unless_it_is_ours() -> None:
    async with call(toolkit=TOOLS) as made:
        given = ResponseOverrides(tools=({"name": "pick"}, {"name": "broken"}))
        made.receive(c.ClientResponseCreateEvent(response=given))
        ask_tools(made, ("call_1", "pick", "{}"), ("call_2", "broken", "{}"))
        await asyncio.sleep(1)
        made.receive(c.ClientToolResultEvent(id="call_1", name="pick", output="the red one"))
        await asyncio.sleep(1)
        (broken, picked) = results(made)
        assert (broken[:2], picked) == (("call_2", "error"), ("call_1", "success", "the red one"))
        assert made.of(s.AgentErrorEvent) == []


async def test_a_call_beside_the_conversation_is_told_and_runs_nothing() -> None:
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientResponseCreateEvent(response=ResponseOverrides(conversation="none")))
        made.link.say(m.ModelResponseCreatedEvent(response_id="side", conversation="none"))
        use(made, "side", ("call_1", "clock", "{}"))
        made.link.say(m.ModelResponseDoneEvent(response_id="side", conversation="none"))
        await asyncio.sleep(1)
        assert [event.tool_use.id for event in made.of(s.AgentResponseToolUseDoneEvent)] == ["call_1"]
        assert results(made) == []
        assert len(made.link.got(base.ResponseCreate)) == 1
        assert made.session.conversation.items() == ()


async def test_a_client_that_does_not_answer_is_an_error_for_the_model() -> None:
    async with call(config=IN_CLIENT) as made:
        ask_tools(made, ("call_1", "where", "{}"))
        await asyncio.sleep(61)
        ((_, state, text),) = results(made)
        assert (state, "did not answer" in text) == ("error", True)
        assert len(made.link.got(base.ResponseCreate)) == 1
        made.receive(c.ClientToolResultEvent(id="call_1", name="where", output="Paris"))
        assert [event.code for event in made.of(s.AgentErrorEvent)] == ["unknown_tool_call"]


async def test_a_client_cannot_take_the_calls_of_our_tools_unless_the_agent_lets_it() -> None:
    """What it returned would pass for what our function found out."""
    async with call(toolkit=TOOLS) as made:
        tools = [{"name": "broken"}, {"name": "where"}]
        made.receive(c.ClientSessionUpdateEvent(config={"tools": tools, "instructions": "Be kind."}))
        assert [event.code for event in made.of(s.AgentErrorEvent)] == ["tool_name_taken"]
        known = made.link.got(base.SessionUpdate)[-1].settings
        assert known.instructions == "Be kind."
        assert "where" in [tool.name for tool in known.tools]
        ask_tools(made, ("call_1", "broken", "{}"))
        await asyncio.sleep(1)
        assert results(made)[0][1] == "error"
    own = SessionConfig(tools=(ToolDeclaration(name="broken"),))
    async with call(toolkit=TOOLS, config=own, client_may_replace_tools=True) as made:
        ask_tools(made, ("call_1", "broken", "{}"))
        await asyncio.sleep(0)
        made.receive(c.ClientToolResultEvent(id="call_1", name="broken", output="mended"))
        await asyncio.sleep(0.1)
        assert results(made) == [("call_1", "success", "mended")]


async def test_the_end_of_the_call_ends_its_tools() -> None:
    async with call(toolkit=TOOLS, config=IN_CLIENT) as made:
        ask_tools(made, ("call_1", "endless", "{}"), ("call_2", "where", "{}"))
        await asyncio.sleep(1)
        await made.session.end("shutdown")
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("tool")]
        assert made.log[-1].type == "server_session_ended"


async def test_two_calls_with_one_id_are_one_call(caplog: pytest.LogCaptureFixture) -> None:
    async with call(toolkit=TOOLS) as made:
        ask_tools(made, ("call_1", "clock", '{"zone": "CET"}'), ("call_1", "weather", '{"city": "Oslo"}'))
        await asyncio.sleep(5)
        assert results(made) == [("call_1", "success", "12:00 in CET")]
        assert len(made.of(s.AgentResponseToolUseDoneEvent)) == 1
        assert len(made.of(s.AgentResponseToolResultEvent)) == 1
        assert len(made.link.got(base.ResponseCreate)) == 1
        made.check_heard_truth()
    assert "a second tool call with the same id was ignored" in caplog.text
    assert "Oslo" not in caplog.text


async def test_a_client_may_answer_in_the_moment_in_which_it_is_asked() -> None:
    """A quick client's answer may be read before the task that waits for it has begun."""
    async with call(config=IN_CLIENT) as made:
        answered: list[str] = []

        def answer(event: s.ServerEvent) -> None:
            if isinstance(event, s.AgentResponseToolUseDoneEvent):
                answered.append(event.tool_use.id)
                loop = asyncio.get_running_loop()
                result = c.ClientToolResultEvent(id="call_1", name="where", output="Oslo")
                loop.call_soon(made.receive, result)

        made.session.log.subscribe(answer)
        ask_tools(made, ("call_1", "where", "{}"))
        await asyncio.sleep(1)
        assert answered == ["call_1"]
        assert results(made) == [("call_1", "success", "Oslo")]
        assert made.of(s.AgentErrorEvent) == []


async def test_a_tool_for_which_no_thread_is_left_is_told_to_the_model_and_to_the_client() -> None:
    class Busy(Toolkit):
        async def run(self, call: ToolCallBlock, *, timeout_s: float | None = None) -> ToolResultBlock:
            raise ToolError("clock cannot run now: 16 earlier calls of it have not returned.", code="tools_busy")

    async with call(toolkit=Busy([clock])) as made:
        ask_tools(made, CLOCK)
        await asyncio.sleep(1)
        refused = "clock cannot run now: 16 earlier calls of it have not returned."
        assert results(made) == [("call_1", "error", refused)]
        (told,) = made.of(s.AgentErrorEvent)
        assert (told.error_type, told.code, told.message) == ("tool_error", "tools_busy", refused)


async def test_a_reply_can_be_stopped_while_the_model_thinks_about_the_result_of_a_tool() -> None:
    """Between two responses of a reply none runs, and the reply goes on, under the id of its first."""
    async with call(toolkit=TOOLS) as made:
        made.receive(c.ClientTextAppendEvent(text="What time is it?"))
        ask_tools(made, CLOCK)
        await asyncio.sleep(2)
        assert len(made.link.got(base.ResponseCreate)) == 2
        made.receive(c.ClientResponseCancelEvent(response_id="resp_1"))
        made.link.reply(1_000, "Twelve.")
        await asyncio.sleep(2)
        assert "Twelve." not in str(made.transcript())


async def test_two_results_with_one_item_id_are_both_kept() -> None:
    """The second is refused while the first is on its way, and comes under another id."""
    async with call(config=IN_CLIENT) as made:
        ask_tools(made, ("call_1", "where", "{}"), ("call_2", "where", "{}"))
        await asyncio.sleep(0.1)
        made.receive(
            c.ClientToolResultEvent(id="call_1", name="where", output="Oslo", item_id="mine"),
            c.ClientToolResultEvent(id="call_2", name="where", output="Rome", item_id="mine"),
        )
        await asyncio.sleep(0.1)
        assert [error.code for error in made.of(s.AgentErrorEvent)] == ["invalid_item"]
        made.receive(c.ClientToolResultEvent(id="call_2", name="where", output="Rome"))
        await asyncio.sleep(0.1)
        kept = [item.tool_result for item in made.session.conversation.items() if item.tool_result is not None]
        assert [result.output for result in kept] == ["Oslo", "Rome"]

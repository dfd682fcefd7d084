"""A thinking agent behind a voice: asked, reported, interrupted, shared, and never the end of a call."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from realtime.agent import AgentBase, Delegate, RealtimeAgent
from realtime.errors import UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import reply as r
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import AssistantMsg, Msg, ToolCallBlock, UserMsg
from realtime.model.base import ResponseCreate, ToolResult
from realtime.model.scripted import ScriptedModel
from realtime.state.replies import ReplyProjection, messages
from realtime.testing.clock import run
from realtime.tool import Toolkit
from tests.agent.fakes import NO_DETECTOR, WORDS, Call, FakeDetector, call
from tests.agent.office import ASK, DESCRIPTION, NAME, QUERY, Office, desk, left_over, states
from tests.agent.test_background_tools import asked, hints
from tests.agent.test_selective_interruption import VOICE, FakeEar, hear
from tests.agent.test_tools import ask_tools, results
from tests.agent.thinking import ScriptedChat, Steps, get_weather, react, remembered, say, shape
from tests.agent.thinking import call as tool_call
from tests.message.reply_grammar import check_replies

pytestmark = pytest.mark.virtual_time

ANSWER = "Order 7 is on its way."


def reports(made: Call) -> list[tuple[str, str]]:
    """(kind, text) of what the listeners were told of the delegate's work."""
    return [(event.kind, event.delta) for event in made.of(s.AgentToolProgressEvent)]


def now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def at_work(
    agent: Any, after_s: float = 1.0, *, background: bool = False, in_call: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Call]:
    """A call whose model has asked the delegate of this agent, so many seconds ago."""
    async with call(toolkit=desk(agent, background=background, **options), **(in_call or {})) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(after_s)
        yield made


def told(made: Call) -> str:
    """The last hint that the model was sent."""
    return hints(made)[-1]


def knows_nothing(made: Call) -> bool:
    return not [hint for hint in hints(made) if ANSWER in hint]


async def test_it_is_a_tool_with_one_argument_in_the_background_beside_those_that_list_and_stop_it() -> None:
    async with call(toolkit=desk(Office())) as made:
        tool, *others = made.link.settings.tools
        assert (tool.name, tool.description) == (NAME, DESCRIPTION)
        assert tool.parameters["required"] == list(tool.parameters["properties"]) == ["query"]
        assert tool.parameters["properties"]["query"]["type"] == "string"
        assert [other.name for other in others] == ["list_background_tools", "cancel_background_tool"]
    async with call(toolkit=desk(Office(), background=False)) as made:
        assert [tool.name for tool in made.link.settings.tools] == [NAME]


def test_the_program_may_register_it_otherwise_for_a_thinking_agent_and_with_a_known_end() -> None:
    toolkit = Toolkit()
    toolkit.register(Delegate(Office(), NAME, DESCRIPTION, False), name="office", description="Knows all.")
    toolkit.register_tool_function(Delegate(Office(), NAME, DESCRIPTION, announce="silently"))
    assert [tool["function"]["description"] for tool in toolkit.json_schemas[:2]] == ["Knows all.", DESCRIPTION]
    assert not toolkit.tools["office"].async_execution
    tool = toolkit.tools[NAME]
    assert (tool.async_execution, tool.announce, tool.stops_with_reply) == (True, "silently", False)
    for agent in ("Friday", None, RealtimeAgent("Friday", "", ScriptedModel([]))):
        with pytest.raises(TypeError, match=r"agent is an? "):
            Delegate(agent, NAME, DESCRIPTION)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'on_request', 'with_reply'"):
        Delegate(Office(), NAME, DESCRIPTION, interrupt="never")  # type: ignore[arg-type]


async def test_the_voice_gets_the_words_of_the_agent_which_remembers_them() -> None:
    agent = react([*say("Let me see."), tool_call("get_weather", city="Oslo")], say("Rain. Take a coat with you."))
    agent.toolkit.register(get_weather)
    async with call(toolkit=desk(agent, background=False)) as made:
        ask_tools(made, ("call_1", NAME, '{"query": "What about Oslo?"}'))
        await asyncio.sleep(2)
        answer = "Let me see.\nRain. Take a coat with you."
        assert results(made) == [("call_1", "success", answer)]
        assert asked(made) == 1, "the model goes on once"
        assert reports(made) == [
            ("result", "Let me see."),
            ("note", "uses get_weather"),
            ("result", "\nRain. "),
            ("result", "Take a coat with you."),
        ]
        made.link.reply(500, "It rains.")
        await asyncio.sleep(1)
        made.check_heard_truth()
    question, reply = await remembered(agent)
    assert (question.name, question.role, question.get_text_content()) == ("Friday", "user", "What about Oslo?")
    assert shape(reply.content) == [
        "text: Let me see.",
        'tool_call: get_weather({"city": "Oslo"})',
        "tool_result: success Oslo: rain",
        "text: Rain. Take a coat with you.",
    ]


def by_voice(made: Call) -> None:
    made.link.hear_start("u1")


def by_text(made: Call) -> None:
    made.receive(c.ClientTextAppendEvent(text="Never mind."))


def by_cancel(made: Call) -> None:
    made.receive(c.ClientResponseCancelEvent())


each_interruption = pytest.mark.parametrize("interrupt", [by_voice, by_text, by_cancel])


@each_interruption
async def test_an_interruption_ends_the_reply_at_once_and_answers_the_call(interrupt: Callable[[Call], None]) -> None:
    """The result stands before what answers the interruption, and is stored as the page shows it."""
    office = Office()
    async with at_work(office, 2) as made:
        began = now()
        interrupt(made)
        await asyncio.sleep(0.2)
        assert [at - began < 0.2 for at in office.interrupted_at] == [True]
        assert states(made) == [("call_1", "interrupted")]
        assert left_over() == []
        await asyncio.sleep(20)
        assert states(made) == [("call_1", "interrupted")], "nothing more comes of it"
        assert not office.is_replying
        asked_for = [type(message) for message in made.link.sent if isinstance(message, ToolResult | ResponseCreate)]
        assert asked_for == ([ToolResult, ResponseCreate] if interrupt is by_text else [ToolResult])
        made.check_heard_truth()
        await made.session.end("test_over")
    (shown,) = [event.tool_result for event in made.of(s.AgentResponseToolResultEvent)]
    (stored,) = [block for msg in messages(replies(made)) for block in msg.get_content_blocks("tool_result")]
    assert (stored.state, stored.output_text()) == (shown.state, shown.output_text())
    assert shown.output_text() == "interrupted by the user"


async def test_what_an_interrupted_agent_has_begun_is_in_its_memory_and_it_can_be_asked_again() -> None:
    agent = react([*say("Let me see."), tool_call("get_weather", city="Oslo")], say("Rain."), say("Rain in Bergen."))
    agent.toolkit.register(get_weather)
    async with at_work(agent, 0.1) as made:
        made.link.hear_start("u1")
        await asyncio.sleep(0.2)
        partial = (await remembered(agent))[1]
        assert partial.finished_reason == "interrupted"
        (result,) = partial.get_content_blocks("tool_result")
        assert (result.id, result.state) == ("call_1", "interrupted")
        made.link.hear_end("u1", text="Bergen, I mean.")
        ask_tools(made, ("call_2", NAME, '{"query": "Bergen?"}'))
        await asyncio.sleep(1)
        assert results(made)[1:] == [("call_2", "success", "Rain.")]


def speaks_and_asks(made: Call, ms: int, words: str) -> None:
    """A response that speaks, and asks the delegate."""
    response_id = made.link.begin_speaking(ms, words)
    use = ToolCallBlock(id="call_1", name=NAME, input=QUERY)
    made.link.say(m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use", tool_use=use))
    made.link.finish(response_id, words)


@pytest.mark.parametrize(("words", "decision"), [("Mm-hmm.", "dismissed"), ("Stop.", "confirmed")])
async def test_while_words_are_played_only_a_voice_that_takes_the_floor_interrupts_it(
    words: str, decision: str
) -> None:
    office = Office(60)
    async with call(
        profile=NO_DETECTOR,
        config=SessionConfig(turn_detection=TurnDetection(authority="server", interruption="selective")),
        make_detector=lambda _: FakeDetector(*VOICE),
        recognise=FakeEar(words),
        toolkit=desk(office, background=False),
        tool_timeout_s=60,
    ) as made:
        speaks_and_asks(made, 20_000, WORDS)
        await asyncio.sleep(1)
        hear(made, 3_000)
        decided = now()
        await asyncio.sleep(0.2)
        assert [event.state for event in made.of(s.AgentInterruptionEvent)][-1] == decision
        interrupted = [] if decision == "dismissed" else [("call_1", "interrupted")]
        assert states(made) == interrupted
        assert [at - decided < 0.2 for at in office.interrupted_at] == [True] * len(interrupted)
        assert office.is_replying is (decision == "dismissed")


@pytest.mark.parametrize("background", [False, True])
async def test_the_end_of_the_call_interrupts_it(background: bool) -> None:
    office = Office()
    async with at_work(office, background=background) as made:
        await made.session.end("test_over")
        assert len(office.interrupted_at) == 1
        assert not office.is_replying
        assert left_over() == []
        assert not office.closed, "the agent is the program's"


async def test_the_voice_s_limit_for_tools_interrupts_it_and_speech_does_not_where_it_interrupts_nothing() -> None:
    office = Office(60)
    off = SessionConfig(turn_detection=TurnDetection(interruption="off"))
    async with at_work(office, in_call={"tool_timeout_s": 5, "config": off}) as made:
        made.link.hear_start("u1")
        await asyncio.sleep(3)
        assert office.interrupted_at == []
        await asyncio.sleep(2)
        assert results(made) == [("call_1", "error", f"{NAME} gave no result within 5 s")]
        assert len(office.interrupted_at) == 1
        assert left_over() == []


async def test_the_voice_talks_on_and_tells_the_answer_in_the_next_silence() -> None:
    """MSG-52, EVT-45: a background delegate that has finished enters the context as a hint."""
    async with at_work(Office(), 0.5, background=True) as made:
        ((_, state, text),) = results(made)
        assert (state, "do not guess the result" in text) == ("running", True)
        made.link.reply(12_000, WORDS)
        await asyncio.sleep(11)
        assert knows_nothing(made)
        assert asked(made) == 1
        await asyncio.sleep(2)
        assert told(made).endswith(f"Tell the user now, in your own words. Its result:\n{ANSWER}\n</system-reminder>")
        assert asked(made) == 2
        assert ("result", ANSWER) in reports(made)
        made.link.reply(500, "It is on its way.")
        await asyncio.sleep(5)
        made.check_heard_truth()
        await made.session.end("test_over")
    events = replies(made)
    (hint,) = [event for event in events if isinstance(event, r.HintBlockEvent)]
    assert (hint.source, ANSWER in str(hint.hint)) == (NAME, True)
    first, second = messages(events)
    assert [block.type for block in first.content] == ["tool_call", "tool_result", "text"]
    assert [block.type for block in second.content] == ["hint", "text"]


def replies(made: Call) -> list[r.AgentEvent]:
    """The log of a call as the events of its replies, which keep to the grammar."""
    projection = ReplyProjection("session1", created_at_of=lambda ts_ms: f"2026-01-01T00:00:{ts_ms / 1000:06.3f}Z")
    events = [event for entry in made.log for event in projection.push(entry)] + projection.settle()
    check_replies(events)
    return events


@each_interruption
async def test_an_interruption_leaves_it_at_work(interrupt: Callable[[Call], None]) -> None:
    office = Office()
    async with at_work(office, 0.5, background=True) as made:
        made.link.reply(5_000, WORDS)
        await asyncio.sleep(1)
        interrupt(made)
        await asyncio.sleep(1)
        assert made.of(s.ServerAudioFlushEvent) != []
        assert office.is_replying
        if interrupt is by_voice:
            made.link.hear_end("u1", text="How long?")
        if interrupt is not by_cancel:
            made.link.reply(500, "A moment.")
        await asyncio.sleep(10)
        assert ANSWER in told(made)
        assert office.interrupted_at == []


@each_interruption
async def test_with_reply_it_ends_with_the_reply_that_is_interrupted(interrupt: Callable[[Call], None]) -> None:
    """A voice in the silence between two replies interrupts nothing."""
    office = Office()
    async with at_work(office, 0.5, background=True, interrupt="with_reply") as made:
        made.link.reply(500, "I am looking it up.")
        await asyncio.sleep(3)
        made.link.hear_start("u0")
        made.link.hear_end("u0", text="And milk?")
        await asyncio.sleep(0.2)
        assert office.interrupted_at == []
        made.link.reply(5_000, WORDS)
        await asyncio.sleep(1)
        began = now()
        interrupt(made)
        await asyncio.sleep(0.2)
        assert [0 <= at - began < 0.2 for at in office.interrupted_at] == [True]
        assert "was stopped because the user interrupted: no result will come." in told(made)
        assert made.agent.background_tools() == []
        assert left_over() == []
        await asyncio.sleep(20)
        assert knows_nothing(made)
        assert states(made) == [("call_1", "running")]
        made.check_heard_truth()


async def test_the_page_the_program_and_the_model_stop_it() -> None:
    office = Office()
    async with at_work(office, background=True) as made:
        assert made.agent.cancel_background_tool(f"{NAME}_1")
        await asyncio.sleep(0.2)
        assert len(office.interrupted_at) == 1
        ask_tools(made, ("call_2", NAME, QUERY))
        await asyncio.sleep(1)
        ask_tools(made, ("call_3", "cancel_background_tool", f'{{"task_id": "{NAME}_2"}}'))
        await asyncio.sleep(0.2)
        assert len(office.interrupted_at) == 2
        await asyncio.sleep(20)
        assert knows_nothing(made)
        assert left_over() == []


async def test_a_silent_answer_is_only_known_and_the_agent_may_be_told_the_question_alone() -> None:
    office = Office()
    async with call(toolkit=desk(office, announce="silently", context=False)) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello."))
        ask_tools(made, ASK)
        await asyncio.sleep(0.5)
        made.link.reply(500, "I am looking it up.")
        await asyncio.sleep(12)
        assert ANSWER in told(made)
        assert asked(made) == 2, "for the text, and for the result that it runs"
        assert office.observed == []


async def test_it_observes_what_was_heard_each_once_by_the_speaker_s_name() -> None:
    office = Office(1)
    async with call(toolkit=desk(office), config=SessionConfig(user_name="Kay")) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello."))
        made.link.reply(1_000, "Hello, Kay.")
        await asyncio.sleep(2)
        made.receive(c.ClientTextAppendEvent(text="Where is order 7?"))
        ask_tools(made, ASK)
        await asyncio.sleep(0.5)
        observed = [(msg.name, msg.role, msg.get_text_content()) for msg in office.observed]
        assert observed == [
            ("Kay", "user", "[Kay]: Hello."),
            ("Friday", "user", "[Friday]: Hello, Kay."),
            ("Kay", "user", "[Kay]: Where is order 7?"),
        ]
        assert office.asked == ["Friday: Where is order 7?"]
        made.link.reply(500, "I am looking it up.")
        await asyncio.sleep(3)
        made.link.reply(500, "It is on its way.")
        await asyncio.sleep(1)
        ask_tools(made, ("call_2", NAME, QUERY))
        await asyncio.sleep(0.5)
        assert [msg.get_text_content() for msg in office.observed[3:]] == [
            "[Friday]: I am looking it up.",
            "[Friday]: It is on its way.",
        ]


async def test_it_observes_played_words_only_and_those_that_are_played_later_then() -> None:
    office = Office(1)
    async with call(toolkit=desk(office)) as made:
        made.link.reply(10_000, WORDS)
        await asyncio.sleep(5)
        made.receive(c.ClientTextAppendEvent(text="Order 7, please."))
        speaks_and_asks(made, 4_000, "One moment, please.")
        await asyncio.sleep(0.5)
        cut, order = [msg.get_text_content() or "" for msg in office.observed]
        assert cut.startswith("[Friday]: one two three four")
        assert "nine" not in cut
        assert order == "[user]: Order 7, please."
        await asyncio.sleep(5)
        ask_tools(made, ("call_2", NAME, QUERY))
        await asyncio.sleep(0.5)
        assert [msg.get_text_content() for msg in office.observed[2:]] == ["[Friday]: One moment, please."]


class Deaf(AgentBase):
    """An agent that observes nothing."""

    async def reply(self, msg: Msg) -> Msg:
        return AssistantMsg(self.name, "Yes.")


async def test_an_agent_that_does_not_observe_is_asked_all_the_same() -> None:
    async with call(toolkit=desk(Deaf(), background=False)) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello."))
        ask_tools(made, ASK)
        await asyncio.sleep(0.5)
        assert results(made) == [("call_1", "success", "Yes.")]


async def test_an_agent_behind_two_calls_answers_one_after_the_other() -> None:
    """The interruption of a question that waits leaves the other one alone."""
    office = Office()
    toolkit = desk(office, background=False)
    async with call(toolkit=toolkit) as first, call(toolkit=toolkit) as second, call(toolkit=toolkit) as third:
        for made in (first, second, third):
            ask_tools(made, ASK)
        await asyncio.sleep(1)
        third.link.hear_start("u1")
        await asyncio.sleep(0.2)
        assert states(third) == [("call_1", "interrupted")]
        await asyncio.sleep(10)
        assert results(first) == [("call_1", "success", ANSWER)]
        assert reports(second) == [("note", f"{NAME} answers another question first")]
        await asyncio.sleep(10)
        assert results(second) == [("call_1", "success", ANSWER)]
        assert office.interrupted_at == []


async def test_an_agent_behind_two_delegates_answers_one_after_the_other() -> None:
    """Both in one call, and in two: its memory has each question with its answer."""
    agent = react(say("Rain in Oslo."), say("Sun in Rome."), toolkit=Toolkit(), model=None)
    desks = Toolkit([Delegate(agent, f"ask_{place}", DESCRIPTION, context=False) for place in ("oslo", "rome")])
    async with call(toolkit=desks) as first, call(toolkit=desks) as second:
        for made, place in ((first, "oslo"), (first, "rome"), (second, "oslo")):
            ask_tools(made, (f"call_{place}", f"ask_{place}", f'{{"query": "{place}?"}}'))
        await asyncio.sleep(5)
    memory = await remembered(agent)
    assert [msg.role for msg in memory] == ["user", "assistant"] * 3
    assert [msg.get_text_content() for msg in memory if msg.role == "user"] == ["oslo?", "rome?", "oslo?"]


async def test_a_question_that_waits_too_long_is_told_so() -> None:
    office = Office(20)
    slow = Delegate(office, NAME, DESCRIPTION, False)
    async with call(toolkit=Toolkit([slow])) as first, call(toolkit=Toolkit([slow])) as second:
        ask_tools(first, ASK)
        await asyncio.sleep(1)
        slow.timeout_s = 3
        ask_tools(second, ASK)
        await asyncio.sleep(4)
        assert results(second) == [("call_1", "error", f"{NAME} was busy with other questions for 3 s")]
        assert office.is_replying


async def test_an_agent_that_replies_elsewhere_is_busy() -> None:
    office = Office()
    elsewhere = asyncio.create_task(office(UserMsg("user", "Hello")))
    await asyncio.sleep(1)
    async with at_work(office, 0.5) as made:
        assert results(made) == [("call_1", "error", f"{NAME} is busy now: ask again in a moment")]
        assert asked(made) == 1
    assert (await elsewhere).get_text_content() == ANSWER


async def test_a_function_makes_an_agent_for_each_call_and_it_is_closed_at_its_end() -> None:
    made_agents: list[Office] = []

    async def make() -> Office:
        await asyncio.sleep(1)
        made_agents.append(Office(5))
        return made_agents[-1]

    toolkit = desk(make, background=False)
    async with call(toolkit=toolkit) as first, call(toolkit=toolkit) as second:
        ask_tools(first, ASK, ("call_2", NAME, QUERY))
        ask_tools(second, ASK)
        await asyncio.sleep(7)
        assert results(first) == results(second) == [("call_1", "success", ANSWER)]
        await asyncio.sleep(5)
        assert [len(office.asked) for office in made_agents] == [2, 1]
        await first.session.end("test_over")
        assert [office.closed for office in made_agents] == [True, False]


class Failing(AgentBase):
    """Raises, and observes nothing."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    async def reply(self, msg: Msg) -> Msg:
        raise self.error


class InterruptsItself(Office):
    """Interrupted from outside, not by its call."""

    async def reply(self, msg: Msg) -> Msg:
        asyncio.get_running_loop().call_later(1, lambda: asyncio.ensure_future(self.interrupt()))
        return await super().reply(msg)


def no_key() -> Any:
    raise UsageError("there is no key for OpenAIChatModel: set OPENAI_API_KEY", code="missing_api_key")


async def made_late() -> Office:
    await asyncio.sleep(60)
    return Office()


WRONG: dict[str, tuple[Any, str]] = {
    "raises": (Failing(ValueError("secret words")), "cannot answer: its program failed (ValueError)"),
    "cancels-itself": (Failing(asyncio.CancelledError()), "was interrupted before it had answered"),
    "missing-key": (no_key, "cannot answer: there is no key for OpenAIChatModel: set OPENAI_API_KEY"),
    "missing-key-later": (
        react(UsageError("there is no key: set DASHSCOPE_API_KEY", code="missing_api_key")),
        "cannot answer: there is no key: set DASHSCOPE_API_KEY",
    ),
    "no-agent": (lambda: "Friday", f"cannot answer: the function of delegate {NAME!r} made a str, no agent"),
    "nothing": (Office(0, words=""), "gave no answer"),
    "interrupted": (InterruptsItself(), "was interrupted before it had answered"),
    "late": (Office(60), "did not answer within 20 s"),
    "made-late": (made_late, "did not answer within 20 s"),
}


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize("wrong", WRONG)
async def test_whatever_goes_wrong_is_one_sentence_for_the_model_and_the_call_goes_on(
    wrong: str, background: bool, caplog: pytest.LogCaptureFixture
) -> None:
    agent, sentence = WRONG[wrong]
    async with at_work(agent, 0.5, background=background, timeout_s=20) as made:
        if background:
            made.link.reply(500, "I am looking it up.")
        await asyncio.sleep(25)
        if background:
            assert "has failed. Tell the user now" in told(made)
            assert told(made).endswith(f"Its result:\n{NAME} {sentence}\n</system-reminder>")
        else:
            assert results(made) == [("call_1", "error", f"{NAME} {sentence}")]
        assert asked(made) == 1 + background
        assert left_over() == []
        made.check_heard_truth()
    assert "secret" not in caplog.text


async def test_the_words_before_a_failure_are_in_the_result() -> None:
    class Dies(ScriptedChat):
        async def _pieces(self, whole: Any) -> Any:
            yield type(whole)(say("Order 7 left. And"))
            raise ConnectionError("gone")

    async with at_work(react(model=Dies(say("never")))) as made:
        words = f"Order 7 left. And\n{NAME} cannot answer: its program failed (ConnectionError)"
        assert results(made) == [("call_1", "error", words)]


async def never(*args: Any, **kwargs: Any) -> Any:
    await asyncio.sleep(3_600)
    raise AssertionError


async def refuses(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("name", "does"),
    [("interrupt", never), ("interrupt", refuses), ("handle_interrupt", never)],
    ids=["hangs", "refuses", "takes-long-to-say-that-it-was-interrupted"],
)
async def test_an_agent_that_does_not_take_an_interruption_is_cancelled(name: str, does: Any) -> None:
    office = Office()
    setattr(office, name, does)
    async with at_work(office) as made:
        made.link.hear_start("u1")
        await asyncio.sleep(1)
        assert states(made) == [("call_1", "interrupted")]
        assert left_over() == []
        assert not office.is_replying


async def test_an_agent_that_fails_to_close_holds_nothing_up() -> None:
    def closes_by(does: Any) -> Office:
        office = Office(0)
        office.aclose = does  # type: ignore[method-assign]
        return office

    desks = [Delegate(lambda: closes_by(never), "one", "One."), Delegate(lambda: closes_by(refuses), "two", "Two.")]
    async with call(toolkit=Toolkit(desks)) as made:
        ask_tools(made, ("call_1", "one", QUERY), ("call_2", "two", QUERY))
        await asyncio.sleep(1)
        began = now()
        await made.session.end("test_over")
        assert now() - began < 2


async def test_an_agent_that_swallows_every_cancellation_holds_no_call_up() -> None:
    release = asyncio.Event()

    class Stubborn(Office):
        async def reply(self, msg: Msg) -> Msg:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    pass
            return AssistantMsg(self.name, "late")

    async with at_work(Stubborn()) as made:
        made.link.hear_start("u1")
        await asyncio.sleep(0.2)
        assert states(made) == [("call_1", "interrupted")]
        began = now()
        await made.session.end("test_over")
        assert now() - began < 2
    release.set()
    await asyncio.sleep(3)
    assert left_over() == []


async def test_a_delegate_behind_a_delegate_is_interrupted_with_it() -> None:
    store = Office()
    office = react(
        [tool_call("ask_the_store", query="Is it there?")],
        say("It is there."),
        toolkit=Toolkit([Delegate(store, "ask_the_store", "Knows the store.", False)]),
    )
    async with at_work(office, 2) as made:
        assert store.asked == ["Friday: Is it there?"]
        assert ("note", "uses ask_the_store") in reports(made)
        made.link.hear_start("u1")
        await asyncio.sleep(0.2)
        assert len(store.interrupted_at) == 1
        assert left_over() == []


async def _cancelled_at(step: int) -> int:
    """Run a delegate with tools, cancelled after this many steps; returns how many steps there were."""
    agent = react([*say("Let me see."), tool_call("get_weather", city="Oslo")], say("Rain."), model=None)
    agent.toolkit.register(get_weather)
    toolkit = desk(agent, background=False)
    use = ToolCallBlock(id="call_1", name=NAME, input='{"query": "Oslo?"}')
    running: list[asyncio.Task[Any]] = []
    with Steps(step, lambda: running[0].cancel()) as steps:
        running.append(asyncio.get_running_loop().create_task(toolkit.run(use)))
        await asyncio.wait(running)
    await asyncio.sleep(0.1)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert not agent.is_replying
    if running[0].cancelled():
        for message in await remembered(agent):
            calls = [block.id for block in message.get_content_blocks("tool_call")]
            assert calls == [block.id for block in message.get_content_blocks("tool_result")]
    again = await toolkit.run(msgspec.structs.replace(use, id="call_2"))
    assert again.state == "success", "the agent can be asked again"
    return steps.count


def test_it_may_be_cancelled_at_any_moment() -> None:
    n_steps = run(_cancelled_at(-1))
    assert n_steps > 20
    for step in range(1, n_steps + 1):
        run(_cancelled_at(step))

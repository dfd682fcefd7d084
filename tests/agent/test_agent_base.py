"""AgentBase: answers, streams, printing, interruptions and cancellations of agents that people write themselves."""

import asyncio
import re
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import AgentBase, ReActAgent, ReActAgentBase, StopReply
from realtime.agent.console import MAX_GROWING, Console
from realtime.errors import UsageError
from realtime.event import reply as r
from realtime.message import AssistantMsg, DataBlock, Msg, TextBlock, ThinkingBlock, URLSource, UserMsg
from realtime.model.chat.base import ChatModelBase
from tests.agent.thinking import HELLO, ends_in, react, say, shape, stream, types_of

pytestmark = pytest.mark.virtual_time


class MyAgent(AgentBase):
    """The printed agent, which takes its time."""

    def __init__(self, wait_s: float = 0.0) -> None:
        super().__init__()
        self.wait_s = wait_s
        self.seen: list[Any] = []
        self.set_console_output_enabled(False)

    async def reply(self, msg: Msg | None = None) -> Msg:
        await asyncio.sleep(self.wait_s)
        return Msg(self.name, "Hello!", "assistant")

    async def observe(self, msg: Any) -> None:
        self.seen.append(msg)

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        self.seen.append((args, kwargs))
        return Msg(self.name, "Interrupted.", "assistant")


async def test_an_agent_of_ones_own_answers_in_every_style() -> None:
    """AGT-01, AGT-09, AMB-34"""
    agent = MyAgent()
    assert agent.name == "MyAgent"
    for answer in (await agent(HELLO), await agent.reply(HELLO)):
        assert answer.get_text_content() == "Hello!"
    for events in (agent.reply_stream(HELLO), agent.stream_events(HELLO)):
        folded = Msg.from_events([event async for event in events])
        assert (folded.get_text_content(), folded.finished_reason) == ("Hello!", "completed")


async def test_a_function_that_is_not_implemented_says_so_when_it_is_used() -> None:
    """AGT-02, AGT-03"""

    class Empty(AgentBase):
        pass

    class EmptyReAct(ReActAgentBase):
        pass

    plain, reasoning = Empty(), EmptyReAct()
    for use in (
        lambda: plain(HELLO),
        lambda: plain.observe(HELLO),
        lambda: plain.handle_interrupt(HELLO),
        lambda: reasoning(HELLO),
        lambda: reasoning._reasoning(),
        lambda: reasoning._acting(None),
    ):
        with pytest.raises(NotImplementedError, match=r"Empty\w* does not implement"):
            await use()


async def test_the_base_of_reasoning_agents_can_be_used_alone() -> None:
    """AGT-01, AGT-03: with hooks around both steps."""

    class Sum(ReActAgentBase):
        async def reply(self, msg: Msg) -> Msg:
            numbers = await self._reasoning(msg.get_text_content())
            return Msg(self.name, str(await self._acting(numbers)), "assistant")

        async def _reasoning(self, text: str) -> list[int]:
            return [*map(int, text.split())]

        async def _acting(self, numbers: list[int]) -> int:
            return sum(numbers)

    agent = Sum()
    agent.register_instance_hook("post_reasoning", "one_more", lambda self, kwargs, output: [*output, 1])
    agent.register_instance_hook("post_acting", "negative", lambda self, kwargs, output: -output)
    assert (await agent(UserMsg("user", "2 3"))).get_text_content() == "-6"


def test_agents_are_imported_from_one_place() -> None:
    """AGT-12"""
    from realtime.agent import A2AAgent, AgentBase, ReActAgentBase, RealtimeAgent, UserAgent

    names = ["AgentBase", "ReActAgentBase", "ReActAgent", "UserAgent", "RealtimeAgent"]
    assert [cls.__name__ for cls in (AgentBase, ReActAgentBase, ReActAgent, UserAgent, RealtimeAgent)] == names
    assert A2AAgent.__name__ == "A2AAgent"
    assert issubclass(A2AAgent, AgentBase)
    assert issubclass(ReActAgent, ReActAgentBase)
    assert issubclass(ReActAgentBase, AgentBase)
    assert not issubclass(ChatModelBase, AgentBase)
    with pytest.raises(ImportError, match="cannot import name 'NoAgent'"):
        from realtime.agent import NoAgent  # type: ignore[attr-defined] # noqa: F401


async def read(agent: AgentBase, events: list[r.AgentEvent]) -> None:
    async for event in agent.reply_stream(HELLO):
        events.append(event)


async def begun(agent: AgentBase) -> "asyncio.Task[Msg]":
    """The task of a reply, a second after it was asked for."""
    task = asyncio.create_task(agent(HELLO))
    await asyncio.sleep(1)
    return task


async def test_the_stream_of_a_plain_agent_is_its_message() -> None:
    picture = DataBlock(source=URLSource(url="https://example.com/a.png", media_type="image/png"))

    class Shows(MyAgent):
        async def reply(self, msg: Msg | None = None) -> Msg:
            self.emit_custom("tasks_context", {"done": 1})
            return Msg(self.name, [ThinkingBlock(thinking="hm"), TextBlock(text="Look:"), picture], "assistant")

    agent = Shows()
    events = await stream(agent, HELLO)
    assert types_of(events) == [
        "CUSTOM",
        "REPLY_START",
        *("THINKING_BLOCK_START", "THINKING_BLOCK_DELTA", "THINKING_BLOCK_END"),
        *("TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END"),
        *("DATA_BLOCK_START", "DATA_BLOCK_END"),
        "REPLY_END",
    ]
    folded = Msg.from_events(events)
    assert shape(folded.content) == ["thinking: hm", "text: Look:", "data: image/png"]
    assert folded.get_content_blocks("data")[0].source == picture.source


async def test_an_error_ends_the_stream_and_is_raised_behind_it() -> None:
    class Fails(MyAgent):
        async def reply(self, msg: Msg | None = None) -> Msg:
            raise LookupError("secret words")

    agent = Fails()
    with pytest.raises(LookupError):
        await agent(HELLO)
    events: list[r.AgentEvent] = []
    with pytest.raises(LookupError):
        await read(agent, events)
    assert types_of(events) == ["REPLY_START", "REPLY_END"]
    end = events[-1]
    assert isinstance(end, r.ReplyEndEvent)
    assert (end.finished_reason, end.error) == ("error", "LookupError")
    assert not agent.is_replying


async def test_closing_a_stream_ends_the_reply() -> None:
    class Talks(MyAgent):
        ended = False

        async def reply(self, msg: Msg | None = None) -> Msg:
            self.emit_custom("begun", {})
            try:
                return await super().reply(msg)
            finally:
                await asyncio.sleep(0.1)
                self.ended = True

    agent = Talks(wait_s=60)
    async with aclosing(agent.reply_stream(HELLO)) as events:
        async for _ in events:
            break
    assert agent.ended
    assert not agent.is_replying
    assert agent.seen == [], "nothing was interrupted"


async def test_an_agent_that_is_called_within_a_reply_has_readers_of_its_own() -> None:
    inner = react(say("Inner words."), name="Inner")

    class Outer(MyAgent):
        async def reply(self, msg: Msg | None = None) -> Msg:
            answer = await inner(msg)
            return Msg(self.name, f"It says: {answer.get_text_content()}", "assistant")

    events = await stream(Outer(), HELLO)
    assert Msg.from_events(events).get_text_content() == "It says: Inner words."
    assert len({event.reply_id for event in events}) == 1
    assert [event.name for event in events if isinstance(event, r.ReplyStartEvent)] == ["Outer"]


async def test_an_agent_gives_one_reply_at_a_time() -> None:
    class Loops(MyAgent):
        async def reply(self, msg: Msg | None = None) -> Msg:
            return await self.reply(msg)

    agent = MyAgent(wait_s=2)
    first = await begun(agent)
    for second in (agent(HELLO), agent.reply(HELLO), anext(agent.reply_stream(HELLO))):
        with pytest.raises(UsageError, match="MyAgent gives another reply now") as error:
            await second
        assert error.value.code == "agent_replying"
    assert (await first).get_text_content() == "Hello!"
    assert (await agent(HELLO)).get_text_content() == "Hello!"
    with pytest.raises(UsageError, match="Loops gives another reply now"):
        await Loops()(HELLO)


async def test_an_interruption_ends_with_the_agents_own_answer() -> None:
    """AGT-13: the original task has it as its result; the handler gets the arguments of the reply.

    Without a reply it does nothing; the words that interrupt are observed.
    """
    agent = MyAgent(wait_s=60)
    await agent.interrupt()
    task = await begun(agent)
    await agent.interrupt()
    answer = await ends_in(0.1, task)
    assert (answer.get_text_content(), answer.finished_reason) == ("Interrupted.", "interrupted")
    assert agent.seen == [((HELLO,), {})]
    task = asyncio.create_task(agent(msg=HELLO))
    await asyncio.sleep(1)
    stop = UserMsg("user", "Stop!")
    await agent.interrupt(stop)
    await task
    assert agent.seen[1:] == [stop, ((), {"msg": HELLO})]
    agent.wait_s = 0
    assert (await agent(HELLO)).get_text_content() == "Hello!"
    await agent.interrupt()
    assert len(agent.seen) == 3


async def test_the_stream_of_an_interrupted_reply_ends_so() -> None:
    agent = MyAgent(wait_s=60)
    events: list[r.AgentEvent] = []
    task = asyncio.create_task(read(agent, events))
    await asyncio.sleep(1)
    await agent.interrupt()
    await ends_in(0.1, task)
    assert types_of(events) == ["REPLY_START", "REPLY_END"]
    assert Msg.from_events(events).finished_reason == "interrupted"
    assert agent.seen == [((HELLO,), {})], "the handler has run"


async def test_cancelling_the_caller_is_no_interruption_and_both_at_once_count_as_cancelled() -> None:
    agent = MyAgent(wait_s=60)
    for interrupted in (False, True):
        task = await begun(agent)
        if interrupted:
            await agent.interrupt()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert agent.seen == [] or interrupted
        assert not agent.is_replying


async def test_an_agent_without_a_handler_says_so_when_it_is_interrupted() -> None:
    class NoHandler(AgentBase):
        async def reply(self, msg: Msg) -> Msg:
            await asyncio.sleep(60)
            return AssistantMsg(self.name, "never")

    agent = NoHandler()
    task = await begun(agent)
    await agent.interrupt()
    with pytest.raises(NotImplementedError, match="NoHandler does not implement `handle_interrupt`"):
        await task
    assert not agent.is_replying


async def test_a_reply_that_swallows_its_cancellation_is_left_behind(caplog: pytest.LogCaptureFixture) -> None:
    goes_on = asyncio.Event()

    class Stubborn(MyAgent):
        async def reply(self, msg: Msg | None = None) -> Msg:
            while not goes_on.is_set():
                try:
                    await goes_on.wait()
                except asyncio.CancelledError:
                    continue
            raise ValueError("too late")

    agent = Stubborn()
    task = await begun(agent)
    await agent.interrupt()
    answer = await ends_in(1.1, task)
    assert answer.get_text_content() == "Interrupted."
    assert re.search(r"reply \w+ of Stubborn is left behind", caplog.text)
    goes_on.set()
    await asyncio.sleep(0.1)
    assert "too late" not in caplog.text


async def test_code_that_raises_something_else_when_it_is_cancelled_was_interrupted() -> None:
    class Translates(MyAgent):
        async def reply(self, msg: Msg | None = None) -> Msg:
            try:
                return await super().reply(msg)
            except asyncio.CancelledError:
                raise ConnectionError("closed") from None

    agent = Translates(wait_s=60)
    task = await begun(agent)
    await agent.interrupt()
    assert (await task).get_text_content() == "Interrupted."


@pytest.mark.parametrize(("when", "said"), [("pre", None), ("post", "Hello!")])
async def test_a_hook_may_stop_a_reply(when: str, said: str | None) -> None:
    def stop(self: Any, *_: Any) -> None:
        raise StopReply("enough")

    agent = MyAgent()
    agent.register_instance_hook(f"{when}_reply", "guard", stop)
    answer = await agent(HELLO)
    assert (answer.get_text_content(), answer.metadata["stop_requested"]) == (said, "reply")
    events = await stream(agent, HELLO)
    asked = [event for event in events if isinstance(event, r.RequestStopEvent)]
    assert [(event.source, event.reason) for event in asked] == [("guard", "enough")]
    folded = Msg.from_events(events)
    assert (folded.get_text_content(), folded.finished_reason) == (said, "completed")


async def test_messages_are_printed_on_the_terminal_as_they_grow(capsys: pytest.CaptureFixture[str]) -> None:
    agent = MyAgent()
    agent.set_console_output_enabled(True)
    msg = Msg("Friday", [ThinkingBlock(thinking="Let me")], "assistant")
    await agent.print(msg, False)
    assert capsys.readouterr().out == "Friday (thinking): Let me"
    msg.content = [ThinkingBlock(thinking="Let me see."), TextBlock(text="It")]
    await agent.print(msg, False)
    assert capsys.readouterr().out == " see.\nFriday: It"
    msg.content = [*msg.content[:1], TextBlock(text="It rains.")]
    await agent.print(msg, True)
    assert capsys.readouterr().out == " rains.\n"
    await agent.print(Msg("user", "Hi", "user"))
    assert capsys.readouterr().out == "user: Hi\n"
    picture = DataBlock(source=URLSource(url="https://example.com/a.png", media_type="image/png"))
    await agent.print(Msg("user", [picture], "user"))
    assert capsys.readouterr().out == "user: [image/png]\n"
    agent.set_console_output_enabled(False)
    await agent.print(msg)
    assert capsys.readouterr().out == ""


def test_messages_that_never_end_are_forgotten_at_last(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    first = Msg("Friday", "Hi", "assistant")
    for msg in (first, *(Msg("Friday", "x", "assistant") for _ in range(MAX_GROWING))):
        console.show(msg, last=False)
    capsys.readouterr()
    console.show(first, last=True)
    assert capsys.readouterr().out == "Friday: Hi\n"


async def test_printed_messages_are_read_from_a_queue_which_never_stalls_the_agent() -> None:
    agent = MyAgent()
    agent.set_msg_queue_enabled(True)
    assert agent.msg_queue is not None
    queue = agent.msg_queue
    msg = Msg("Friday", "Hi", "assistant")
    speech = DataBlock(source=URLSource(url="https://example.com/a.wav", media_type="audio/wav"))
    await agent.print(msg, False, speech)
    msg.content = "Hi there"
    await agent.print(msg)
    first, second = queue.get_nowait(), queue.get_nowait()
    assert (first[0].get_text_content(), *first[1:]) == ("Hi", False, speech)
    assert (second[0].get_text_content(), *second[1:]) == ("Hi there", True, None)
    agent.set_msg_queue_enabled(False)
    await agent.print(msg)
    assert queue.empty()
    full: asyncio.Queue[Any] = asyncio.Queue(2)
    agent.set_msg_queue_enabled(True, full)
    for text in "abc":
        await ends_in(0.1, agent.print(Msg("Friday", text, "assistant")))
    assert [full.get_nowait()[0].get_text_content() for _ in range(2)] == ["b", "c"]


def test_importing_the_agents_needs_no_sdk_and_the_package_no_pydantic() -> None:
    import subprocess
    import sys

    code = "import sys, realtime, realtime.agent; sys.exit('pydantic' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


async def test_a_message_of_one_agent_is_taken_by_another_and_kept_in_a_session(tmp_path: Path) -> None:
    """MSG-02"""
    from realtime.session import JSONSession

    asks, answers = react(say("How are you?"), name="Asks"), react(say("Well."), name="Answers")
    question = await asks(HELLO)
    answer = await answers(question)
    await asks.observe(answer)
    session = JSONSession(tmp_path)
    await session.save_session_state("s", asks=asks, answers=answers)
    again, also = react(say("-"), name="Asks"), react(say("-"), name="Answers")
    await session.load_session_state("s", strict=True, asks=again, answers=also)
    assert [msg.to_json() for msg in await again.memory.get_memory()] == [
        msg.to_json() for msg in (HELLO, question, answer)
    ]
    assert [msg.to_json() for msg in await also.memory.get_memory()] == [msg.to_json() for msg in (question, answer)]

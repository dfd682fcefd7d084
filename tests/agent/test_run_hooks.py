"""Hooks of a RealtimeAgent: around what happens in a call, beside its audio."""

import asyncio
from typing import Any

import pytest

from realtime.agent import RealtimeAgent, run_hooks
from realtime.agent.run_hooks import HOOK_S, HOOK_TYPES, MAX_WAITING
from realtime.errors import UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.reply import CustomEvent
from realtime.message import Msg, ToolCallBlock, ToolResultBlock
from realtime.model import base
from realtime.runtime import iso
from realtime.state.replies import ReplyProjection
from realtime.tool import Toolkit
from tests.agent.fakes import Alone, FakeModel, alone, call, speech
from tests.agent.test_confirmation import Till

pytestmark = pytest.mark.virtual_time


def add(left: int, right: int) -> int:
    """Add."""
    return left + right


def errors(made: Alone) -> list[str]:
    """The codes of the errors that were told."""
    return [event.code for event in made.seen if isinstance(event, s.AgentErrorEvent)]


def ask(made: Alone, *calls: tuple[str, str, str]) -> None:
    """The model asks for tools by (id, name, arguments)."""
    response_id = made.link.begin()
    for call_id, name, arguments in calls:
        block = ToolCallBlock(id=call_id, name=name, input=arguments)
        made.link.say(
            m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id=f"use_{call_id}", tool_use=block)
        )
    made.link.say(m.ModelResponseDoneEvent(response_id=response_id))


def results(made: Alone) -> list[str]:
    return [message.result.output_text() for message in made.link.got(base.ToolResult)]


# -- registering -------------------------------------------------------------------------------------------------------


def test_a_hook_is_registered_removed_and_cleared_by_type_and_name() -> None:
    """RTA-26: AgentScope's methods for instance hooks."""
    agent = RealtimeAgent("Friday", "", FakeModel())
    agent.register_instance_hook("pre_client_event", "first", lambda self, kwargs: None)
    agent.register_instance_hook("pre_client_event", "second", lambda self, kwargs: None)
    agent.register_instance_hook("post_end", "third", lambda self, kwargs, output: None)
    assert [name for name, _ in agent.hooks.of("pre_client_event")] == ["first", "second"]
    assert agent.hooks.has == {"client_event", "end"}
    agent.remove_instance_hook("pre_client_event", "first")
    agent.clear_instance_hooks("pre_client_event")
    assert agent.hooks.has == {"end"}
    agent.clear_instance_hooks()
    assert agent.hooks.has == frozenset()


@pytest.mark.parametrize("kind", ["pre_reply", "client_event", "pre_audio", ""])
def test_an_unknown_type_is_refused_with_the_types_that_there_are(kind: str) -> None:
    agent = RealtimeAgent("Friday", "", FakeModel())
    with pytest.raises(UsageError, match="there are pre_client_event, post_client_event"):
        agent.register_instance_hook(kind, "mine", lambda self, kwargs: None)
    with pytest.raises(UsageError, match="no hook type"):
        agent.clear_instance_hooks(kind)


def test_what_is_not_there_cannot_be_removed() -> None:
    agent = RealtimeAgent("Friday", "", FakeModel())
    with pytest.raises(UsageError, match="there is no hook 'mine' of type pre_end"):
        agent.remove_instance_hook("pre_end", "mine")
    with pytest.raises(UsageError, match="not a function"):
        agent.register_instance_hook("pre_end", "mine", "print")  # type: ignore[arg-type]


def test_another_agent_has_the_hooks_and_changes_to_one_leave_the_other() -> None:
    agent = RealtimeAgent("Friday", "", FakeModel())
    agent.register_instance_hook("pre_end", "mine", lambda self, kwargs: None)
    other = agent.another()
    agent.clear_instance_hooks()
    assert other.hooks.has == {"end"}


# -- client events -----------------------------------------------------------------------------------------------------


async def test_a_pre_hook_changes_what_the_client_said_and_a_post_hook_learns_whether_it_was_taken() -> None:
    """RTA-26, AMB-40: signatures and None rule of AgentScope's hooks."""
    taken: list[tuple[str, bool]] = []

    def shout(self: RealtimeAgent, kwargs: dict[str, Any]) -> dict[str, Any] | None:
        event = kwargs["event"]
        return {"event": c.ClientTextAppendEvent(text=event.text.upper())}

    async def nothing(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        assert kwargs["event"].text == "HELLO"

    def note(self: RealtimeAgent, kwargs: dict[str, Any], output: bool) -> None:
        taken.append((kwargs["event"].text, output))

    async with alone() as made:
        made.agent.register_instance_hook("pre_client_event", "shout", shout)
        made.agent.register_instance_hook("pre_client_event", "nothing", nothing)
        made.agent.register_instance_hook("post_client_event", "note", note)
        await made.agent.handle_input(c.ClientTextAppendEvent(text="hello"))
        await asyncio.sleep(0)
        await asyncio.sleep(0.1)
        assert [item.item.text for item in made.link.got(base.ItemCreate)] == ["HELLO"]
        assert taken == [("HELLO", True)]
        assert errors(made) == []


async def test_audio_and_what_belongs_to_it_passes_at_once() -> None:
    seen: list[str] = []

    async def slow(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        seen.append(kwargs["event"].type)
        await asyncio.sleep(0.5)

    async with alone() as made:
        made.agent.register_instance_hook("pre_client_event", "slow", slow)
        audio = c.ClientAudioAppendEvent(audio=speech(200), format=AudioFormat.pcm16(16_000))
        await made.agent.handle_input(audio)
        assert len(made.link.heard_bytes()) == len(speech(200))
        await made.agent.handle_input(c.ClientResponseCancelEvent())
        await made.agent.handle_input(c.ClientTextAppendEvent(text="later"))
        assert made.link.got(base.ItemCreate) == []
        await asyncio.sleep(0.6)
        assert [item.item.text for item in made.link.got(base.ItemCreate)] == ["later"]
        assert sorted(seen) == ["client_response_cancel", "client_text_append"]


async def test_events_keep_their_order_behind_a_slow_hook() -> None:
    async def slow(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        if kwargs["event"].text == "one":
            await asyncio.sleep(0.5)

    async with alone() as made:
        made.agent.register_instance_hook("pre_client_event", "slow", slow)
        for text in ("one", "two"):
            await made.agent.handle_input(c.ClientTextAppendEvent(text=text))
        await asyncio.sleep(1)
        assert [item.item.text for item in made.link.got(base.ItemCreate)] == ["one", "two"]


async def test_an_event_that_the_client_may_not_send_is_refused_behind_a_hook_as_without() -> None:
    outputs: list[bool] = []

    async def note(self: RealtimeAgent, kwargs: dict[str, Any], output: bool) -> None:
        outputs.append(output)

    async with alone() as made:
        made.agent.register_instance_hook("post_client_event", "note", note)
        await made.agent.handle_input(c.ClientItemDeleteEvent(item_id="unknown"))
        await asyncio.sleep(0.1)
        assert errors(made) == ["unknown_item"]
        assert outputs == [False]


# -- model events, transcripts, responses ------------------------------------------------------------------------------


async def test_what_the_model_does_is_told_in_order_without_its_audio() -> None:
    kinds: list[str] = []

    async def note(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        kinds.append(kwargs["event"].type)

    async with alone() as made:
        made.agent.register_instance_hook("pre_model_event", "note", note)
        made.link.reply(500, "Hello. ")
        await asyncio.sleep(0.1)
        assert kinds == [
            "model_response_created",
            "model_response_audio_transcript_delta",
            "model_response_audio_done",
            "model_response_audio_transcript_done",
            "model_response_done",
        ]


async def test_a_turn_and_its_words_are_told() -> None:
    told: list[Any] = []

    async def before(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        told.append(kwargs["item_id"])

    async def after(self: RealtimeAgent, kwargs: dict[str, Any], output: Msg) -> None:
        told.append((kwargs["item_id"], output.role, output.get_text_content()))

    async with alone() as made:
        made.agent.register_instance_hook("pre_transcript", "before", before)
        made.agent.register_instance_hook("post_transcript", "after", after)
        made.link.hear_start("in_1", 0)
        made.link.hear_end("in_1", 900, "Good morning")
        await asyncio.sleep(0.1)
        assert told == ["in_1", ("in_1", "user", "Good morning")]


async def test_a_response_is_told_with_its_words_and_calls() -> None:
    told: list[Any] = []

    async def before(self: RealtimeAgent, kwargs: dict[str, Any]) -> dict[str, Any]:
        told.append(kwargs["response_id"])
        return kwargs | {"seen": True}

    async def after(self: RealtimeAgent, kwargs: dict[str, Any], output: Msg) -> Msg:
        told.append((kwargs["status"], output.name, [block.type for block in output.content]))
        return Msg("Friday", "replaced", "assistant", id=output.id)

    async def last(self: RealtimeAgent, kwargs: dict[str, Any], output: Msg) -> None:
        told.append(output.get_text_content())

    async with alone(toolkit=Toolkit([add])) as made:
        made.agent.register_instance_hook("pre_response", "before", before)
        made.agent.register_instance_hook("post_response", "after", after)
        made.agent.register_instance_hook("post_response", "last", last)
        response_id = made.link.begin()
        made.link.speak(response_id, 200, "I add. ")
        block = ToolCallBlock(id="call_1", name="add", input='{"left": 1, "right": 2}')
        made.link.say(m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=block))
        made.link.finish(response_id, "I add. ")
        await asyncio.sleep(2)
        assert told[0] == "resp_1"
        assert told[1] == ("completed", "Friday", ["tool_call", "text"])
        assert told[2] == "replaced"


async def test_a_hook_that_is_removed_is_not_called_any_more() -> None:
    told: list[str] = []

    async def note(self: RealtimeAgent, kwargs: dict[str, Any], output: Msg) -> None:
        told.append(output.get_text_content() or "")

    async with alone() as made:
        made.agent.register_instance_hook("post_response", "note", note)
        made.link.reply(100, "One. ")
        await asyncio.sleep(1)
        made.agent.remove_instance_hook("post_response", "note")
        made.link.reply(100, "Two. ")
        await asyncio.sleep(1)
        assert [words.strip() for words in told] == ["One."]


# -- tools -------------------------------------------------------------------------------------------------------------


async def test_hooks_change_a_tool_call_and_its_result() -> None:
    """RTA-26, AMB-40: around a tool call, with its result as output."""

    def double(self: RealtimeAgent, kwargs: dict[str, Any]) -> dict[str, Any]:
        block = kwargs["tool_call"]
        return {"tool_call": ToolCallBlock(id=block.id, name=block.name, input='{"left": 20, "right": 22}')}

    async def praise(self: RealtimeAgent, kwargs: dict[str, Any], output: ToolResultBlock) -> ToolResultBlock:
        return ToolResultBlock(id=output.id, name=output.name, output=f"{output.output_text()}, well done")

    async with alone(toolkit=Toolkit([add])) as made:
        made.agent.register_instance_hook("pre_tool_call", "double", double)
        made.agent.register_instance_hook("post_tool_call", "praise", praise)
        ask(made, ("call_1", "add", '{"left": 1, "right": 2}'))
        await asyncio.sleep(0.1)
        assert results(made) == ["42, well done"]
        assert errors(made) == []


async def test_a_call_that_the_user_has_to_consent_to_has_its_hooks_after_the_consent() -> None:
    order: list[str] = []

    async def note(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        order.append("hook")

    till = Till()
    async with alone(toolkit=till.tools) as made:
        made.agent.register_instance_hook("pre_tool_call", "note", note)
        ask(made, ("call_1", "pay", '{"amount": 5}'))
        await asyncio.sleep(1)
        assert order == []
        made.agent._running().run.controller.responses.tool_calls.confirm("call_1", True)
        await asyncio.sleep(1)
        assert order == ["hook"]
        assert till.paid == [5]


# -- the end -----------------------------------------------------------------------------------------------------------


async def test_the_end_is_told_before_and_after_the_model_is_closed() -> None:
    told: list[Any] = []
    async with alone() as made:
        link = made.link

        async def before(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
            told.append((kwargs["reason"], link.closed))
            self.emit_custom_event("bye", {"said": True})

        async def after(self: RealtimeAgent, kwargs: dict[str, Any], output: None) -> None:
            told.append((kwargs["reason"], link.closed))

        made.agent.register_instance_hook("pre_end", "before", before)
        made.agent.register_instance_hook("post_end", "after", after)
        await made.agent.stop()
        assert told == [("stopped", False), ("stopped", True)]
        assert [event.type for event in made.seen][-2:] == ["server_custom", "agent_ended"]


async def test_the_reason_of_a_lost_model_is_told() -> None:
    told: list[str] = []

    async def before(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        told.append(kwargs["reason"])

    async with alone() as made:
        made.agent.register_instance_hook("pre_end", "before", before)
        made.link.gone("provider_closed")
        await asyncio.sleep(1)
        assert told == ["provider_closed"]


async def test_a_hook_of_the_end_that_hangs_does_not_keep_the_call() -> None:
    async def hang(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    loop = asyncio.get_running_loop()
    async with alone() as made:
        made.agent.register_instance_hook("pre_end", "hang", hang)
        before = loop.time()
        await made.agent.stop()
        assert loop.time() - before == pytest.approx(HOOK_S, abs=0.01)
        assert made.link.closed


# -- what goes wrong ---------------------------------------------------------------------------------------------------


async def raising(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
    raise LookupError("a secret")


async def hanging(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
    await asyncio.Event().wait()


async def cancelling(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
    raise asyncio.CancelledError


def another_type(self: RealtimeAgent, kwargs: dict[str, Any]) -> Any:
    return {"event": "hello"}


def no_dict(self: RealtimeAgent, kwargs: dict[str, Any]) -> Any:
    return "hello"


def plain_raising(self: RealtimeAgent, kwargs: dict[str, Any]) -> Any:
    raise StopIteration


@pytest.mark.parametrize(
    ("hook", "code"),
    [
        (raising, "hook_failed"),
        (hanging, "hook_timeout"),
        (cancelling, "hook_failed"),
        (another_type, "bad_hook"),
        (no_dict, "bad_hook"),
        (plain_raising, "hook_failed"),
    ],
)
async def test_a_hook_that_goes_wrong_is_told_within_a_second_and_the_call_goes_on(hook: Any, code: str) -> None:
    async with alone() as made:
        made.agent.register_instance_hook("pre_client_event", "wrong", hook)
        await made.agent.handle_input(c.ClientTextAppendEvent(text="hello"))
        await asyncio.sleep(HOOK_S + 0.1)
        assert errors(made) == [code]
        (error,) = [event for event in made.seen if isinstance(event, s.AgentErrorEvent)]
        assert "hook 'wrong' (pre_client_event)" in error.message
        assert "secret" not in error.message
        assert [item.item.text for item in made.link.got(base.ItemCreate)] == ["hello"]
        made.link.reply(100, "Hello. ")


@pytest.mark.parametrize("kind", ["pre_tool_call", "post_tool_call"])
async def test_a_tool_hook_that_changes_the_type_or_the_call_has_no_effect(kind: str) -> None:
    def wrong(self: RealtimeAgent, kwargs: dict[str, Any], output: Any = None) -> Any:
        other = ToolResultBlock(id="another_call", name="add", output="0")
        return other if kind == "post_tool_call" else {"tool_call": ToolCallBlock(id="another_call", name="add")}

    async with alone(toolkit=Toolkit([add])) as made:
        made.agent.register_instance_hook(kind, "wrong", wrong)
        ask(made, ("call_1", "add", '{"left": 1, "right": 2}'))
        await asyncio.sleep(0.1)
        assert results(made) == ["3"]
        assert errors(made) == ["bad_hook"]


async def test_a_hook_that_calls_the_agent_again_and_again_ends_as_an_error() -> None:
    async def again(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        await self.say("Once more.")

    async with alone() as made:
        made.agent.register_instance_hook("pre_model_event", "again", again)
        made.link.reply(100, "Hello. ")
        await asyncio.sleep(6)
        assert errors(made)
        assert set(errors(made)) == {"hook_timeout"}


async def test_hooks_that_are_too_slow_miss_events_and_that_is_told_once() -> None:
    async def slow(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        await asyncio.sleep(0.9)

    async with alone() as made:
        made.agent.register_instance_hook("pre_model_event", "slow", slow)
        response_id = made.link.begin()
        for _ in range(MAX_WAITING + 10):
            made.link.say(m.ModelResponseAudioTranscriptDeltaEvent(response_id=response_id, item_id="i1", delta="a "))
        assert errors(made) == ["hooks_behind"]


# -- custom events -----------------------------------------------------------------------------------------------------


async def test_a_hook_emits_a_custom_event_that_readers_of_replies_get_too() -> None:
    """EVT-48: `server_custom` in the call, CUSTOM in its reply events; no enum has a new value."""

    def progress(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        self.emit_custom_event("task_progress", {"tool": kwargs["tool_call"].name, "done": 1})

    async with alone(toolkit=Toolkit([add])) as made:
        made.agent.register_instance_hook("pre_tool_call", "progress", progress)
        ask(made, ("call_1", "add", '{"left": 1, "right": 2}'))
        await asyncio.sleep(0.1)
        (told,) = [event for event in made.seen if isinstance(event, s.ServerCustomEvent)]
        assert (told.name, told.value) == ("task_progress", {"tool": "add", "done": 1})
        projection = ReplyProjection("s1", created_at_of=lambda ts_ms: iso(ts_ms / 1000))
        (custom,) = [one for event in made.seen for one in projection.push(event) if isinstance(one, CustomEvent)]
        assert (custom.name, custom.value) == ("task_progress", {"tool": "add", "done": 1})


async def test_a_custom_event_is_json_and_belongs_to_a_running_call() -> None:
    agent = RealtimeAgent("Friday", "", FakeModel())
    with pytest.raises(UsageError, match="in no call"):
        agent.emit_custom_event("early")
    async with alone() as made:
        with pytest.raises(ValueError, match="JSON"):
            made.agent.emit_custom_event("bad", {"value": object()})
        await made.agent.stop()
        with pytest.raises(UsageError, match="no running call"):
            made.agent.emit_custom_event("late")


# -- what unregistered hooks cost --------------------------------------------------------------------------------------


async def test_without_hooks_no_task_is_made_and_nothing_follows_the_call() -> None:
    async with call() as made:
        tasks = len(asyncio.all_tasks())
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        made.link.reply(100, "Hello. ")
        assert len(asyncio.all_tasks()) == tasks
        readers = made.session.log._readers
        assert len(readers) == 2, "the session's own reader and this test's"


def test_the_types_are_those_of_the_documentation() -> None:
    documented = run_hooks.__doc__ or ""
    assert all(f"`{name}`" in documented for name in HOOK_TYPES)

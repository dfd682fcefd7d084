"""Hooks of a RealtimeAgent: around what happens in a call, beside its audio."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
        where = {"response_id": response_id, "item_id": f"use_{call_id}"}
        block = ToolCallBlock(id=call_id, name=name, input=arguments)
        made.link.say(m.ModelResponseToolUseDoneEvent(**where, tool_use=block))
    made.link.say(m.ModelResponseDoneEvent(response_id=response_id))


ADD = ("call_1", "add", '{"left": 1, "right": 2}')


@asynccontextmanager
async def hooked(toolkit: Toolkit | None = None, **hooks: Any) -> AsyncIterator[Alone]:
    """An agent alone with a hook of each of these types."""
    async with alone(toolkit=toolkit) as made:
        for hook_type, hook in hooks.items():
            made.agent.register_instance_hook(hook_type, "mine", hook)
        yield made


def words_given(made: Alone) -> list[str]:
    """The texts that the model was given."""
    return [message.item.text for message in made.link.got(base.ItemCreate)]


def results(made: Alone) -> list[str]:
    return [message.result.output_text() for message in made.link.got(base.ToolResult)]


def test_a_hook_is_registered_removed_and_cleared_by_type_and_name() -> None:
    """RTA-26: AgentScope's methods for instance hooks. Changes to one agent leave another of it alone."""
    agent = RealtimeAgent("Friday", "", FakeModel())
    agent.register_instance_hook("pre_client_event", "first", lambda self, kwargs: None)
    agent.register_instance_hook("pre_client_event", "second", lambda self, kwargs: None)
    agent.register_instance_hook("post_end", "third", lambda self, kwargs, output: None)
    assert [name for name, _ in agent.hooks.of("pre_client_event")] == ["first", "second"]
    assert agent.hooks.has == {"client_event", "end"}
    agent.remove_instance_hook("pre_client_event", "first")
    agent.clear_instance_hooks("pre_client_event")
    assert agent.hooks.has == {"end"}
    other = agent.another()
    agent.clear_instance_hooks()
    assert (agent.hooks.has, other.hooks.has) == (frozenset(), {"end"})


def test_an_unknown_type_is_refused_with_the_types_that_there_are_and_so_is_what_is_no_hook() -> None:
    agent = RealtimeAgent("Friday", "", FakeModel())
    for kind in ("pre_reply", "client_event", "pre_audio", ""):
        with pytest.raises(UsageError, match="there are pre_client_event, post_client_event"):
            agent.register_instance_hook(kind, "mine", lambda self, kwargs: None)
        with pytest.raises(UsageError, match="no hook type"):
            agent.clear_instance_hooks(kind)
    with pytest.raises(UsageError, match="there is no hook 'mine' of type pre_end"):
        agent.remove_instance_hook("pre_end", "mine")
    with pytest.raises(UsageError, match="not a function"):
        agent.register_instance_hook("pre_end", "mine", "print")  # type: ignore[arg-type]
    assert [name for name in HOOK_TYPES if f"`{name}`" not in (run_hooks.__doc__ or "")] == []


async def test_a_pre_hook_changes_what_the_client_said_and_a_post_hook_learns_whether_it_was_taken() -> None:
    """RTA-26, AMB-40: signatures and None rule of AgentScope's hooks."""
    taken: list[tuple[str, bool]] = []

    def shout(self: RealtimeAgent, kwargs: dict[str, Any]) -> dict[str, Any] | None:
        return {"event": c.ClientTextAppendEvent(text=kwargs["event"].text.upper())}

    async def nothing(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        assert kwargs["event"].text == "HELLO"

    def note(self: RealtimeAgent, kwargs: dict[str, Any], output: bool) -> None:
        taken.append((kwargs["event"].text, output))

    async with hooked(pre_client_event=shout, post_client_event=note) as made:
        made.agent.register_instance_hook("pre_client_event", "nothing", nothing)
        await made.agent.handle_input(c.ClientTextAppendEvent(text="hello"))
        await asyncio.sleep(0.1)
        assert words_given(made) == ["HELLO"]
        assert taken == [("HELLO", True)]
        assert errors(made) == []


async def test_audio_and_what_belongs_to_it_passes_a_slow_hook_at_once_and_the_rest_keeps_its_order() -> None:
    seen: list[str] = []

    async def slow(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        seen.append(kwargs["event"].type)
        if len(seen) < 3:
            await asyncio.sleep(0.5)

    async with hooked(pre_client_event=slow) as made:
        audio = c.ClientAudioAppendEvent(audio=speech(200), format=AudioFormat.pcm16(16_000))
        await made.agent.handle_input(audio)
        assert len(made.link.heard_bytes()) == len(speech(200))
        await made.agent.handle_input(c.ClientResponseCancelEvent())
        for text in ("later", "last"):
            await made.agent.handle_input(c.ClientTextAppendEvent(text=text))
        assert words_given(made) == []
        await asyncio.sleep(1.1)
        assert words_given(made) == ["later", "last"]
        assert sorted(seen) == ["client_response_cancel", "client_text_append", "client_text_append"]


async def test_an_event_that_the_client_may_not_send_is_refused_behind_a_hook_as_without() -> None:
    outputs: list[bool] = []
    async with hooked(post_client_event=lambda self, kwargs, output: outputs.append(output)) as made:
        await made.agent.handle_input(c.ClientItemDeleteEvent(item_id="unknown"))
        await asyncio.sleep(0.1)
        assert errors(made) == ["unknown_item"]
        assert outputs == [False]


async def test_what_the_model_does_is_told_in_order_without_its_audio_and_a_turn_with_its_words() -> None:
    kinds: list[str] = []
    told: list[Any] = []

    async def note(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        kinds.append(kwargs["event"].type)

    async def before(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        told.append(kwargs["item_id"])

    async def after(self: RealtimeAgent, kwargs: dict[str, Any], output: Msg) -> None:
        told.append((kwargs["item_id"], output.role, output.get_text_content()))

    async with hooked(pre_model_event=note, pre_transcript=before, post_transcript=after) as made:
        made.link.reply(500, "Hello. ")
        await asyncio.sleep(0.1)
        assert kinds == [
            "model_response_created",
            "model_response_audio_transcript_delta",
            "model_response_audio_done",
            "model_response_audio_transcript_done",
            "model_response_done",
        ]
        made.link.hear_start("in_1", 0)
        made.link.hear_end("in_1", 900, "Good morning")
        await asyncio.sleep(0.1)
        assert told == ["in_1", ("in_1", "user", "Good morning")]


async def test_a_response_is_told_with_its_words_and_calls_until_the_hook_is_removed() -> None:
    told: list[Any] = []

    async def before(self: RealtimeAgent, kwargs: dict[str, Any]) -> dict[str, Any]:
        told.append(kwargs["response_id"])
        return kwargs | {"seen": True}

    async def after(self: RealtimeAgent, kwargs: dict[str, Any], output: Msg) -> Msg:
        told.append((kwargs["status"], output.name, [block.type for block in output.content]))
        return Msg("Friday", "replaced", "assistant", id=output.id)

    async def last(self: RealtimeAgent, kwargs: dict[str, Any], output: Msg) -> None:
        told.append(output.get_text_content())

    async with hooked(Toolkit([add]), pre_response=before, post_response=after) as made:
        made.agent.register_instance_hook("post_response", "last", last)
        response_id = made.link.begin_speaking(200, "I add. ")
        block = ToolCallBlock(id="call_1", name="add", input='{"left": 1, "right": 2}')
        made.link.say(m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=block))
        made.link.finish(response_id, "I add. ")
        await asyncio.sleep(2)
        assert told == ["resp_1", ("completed", "Friday", ["tool_call", "text"]), "replaced"]
        for hook_type, name in (("pre_response", "mine"), ("post_response", "mine"), ("post_response", "last")):
            made.agent.remove_instance_hook(hook_type, name)
        made.link.reply(100, "Two. ")
        await asyncio.sleep(1)
        assert len(told) == 3


async def test_hooks_change_a_tool_call_and_its_result() -> None:
    """RTA-26, AMB-40: around a tool call, with its result as output."""

    def double(self: RealtimeAgent, kwargs: dict[str, Any]) -> dict[str, Any]:
        block = kwargs["tool_call"]
        return {"tool_call": ToolCallBlock(id=block.id, name=block.name, input='{"left": 20, "right": 22}')}

    async def praise(self: RealtimeAgent, kwargs: dict[str, Any], output: ToolResultBlock) -> ToolResultBlock:
        return ToolResultBlock(id=output.id, name=output.name, output=f"{output.output_text()}, well done")

    async with hooked(Toolkit([add]), pre_tool_call=double, post_tool_call=praise) as made:
        ask(made, ADD)
        await asyncio.sleep(0.1)
        assert results(made) == ["42, well done"]
        assert errors(made) == []


async def test_a_call_that_the_user_has_to_consent_to_has_its_hooks_after_the_consent() -> None:
    order: list[str] = []
    till = Till()
    async with hooked(till.tools, pre_tool_call=lambda self, kwargs: order.append("hook")) as made:
        ask(made, ("call_1", "pay", '{"amount": 5}'))
        await asyncio.sleep(1)
        assert order == []
        made.agent._running().run.controller.responses.tool_calls.confirm("call_1", True)
        await asyncio.sleep(1)
        assert order == ["hook"]
        assert till.paid == [5]


async def test_the_end_is_told_before_and_after_the_model_is_closed() -> None:
    told: list[Any] = []

    async def before(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        told.append((kwargs["reason"], made.link.closed))
        self.emit_custom_event("bye", {"said": True})

    async def after(self: RealtimeAgent, kwargs: dict[str, Any], output: None) -> None:
        told.append((kwargs["reason"], made.link.closed))

    async with hooked(pre_end=before, post_end=after) as made:
        await made.agent.stop()
        assert told == [("stopped", False), ("stopped", True)]
        assert [event.type for event in made.seen][-2:] == ["server_custom", "agent_ended"]
    reasons: list[str] = []
    async with hooked(pre_end=lambda self, kwargs: reasons.append(kwargs["reason"])) as made:
        made.link.gone("provider_closed")
        await asyncio.sleep(1)
        assert reasons == ["provider_closed"]


async def test_a_hook_of_the_end_that_hangs_does_not_keep_the_call() -> None:
    loop = asyncio.get_running_loop()
    async with hooked(pre_end=hanging) as made:
        before = loop.time()
        await made.agent.stop()
        assert loop.time() - before == pytest.approx(HOOK_S, abs=0.01)
        assert made.link.closed


async def raising(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
    raise LookupError("a secret")


async def hanging(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
    await asyncio.Event().wait()


async def cancelling(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
    raise asyncio.CancelledError


async def exiting_in_a_task(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
    await asyncio.gather(exiting(self, kwargs))


async def exiting(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
    raise SystemExit("a secret")


def plain_raising(self: RealtimeAgent, kwargs: dict[str, Any]) -> Any:
    raise StopIteration


@pytest.mark.parametrize(
    ("hook", "code"),
    [
        (raising, "hook_failed"),
        (hanging, "hook_timeout"),
        (cancelling, "hook_failed"),
        (exiting, "hook_failed"),
        (exiting_in_a_task, "hook_failed"),
        (lambda self, kwargs: {"event": "hello"}, "bad_hook"),
        (lambda self, kwargs: "hello", "bad_hook"),
        (plain_raising, "hook_failed"),
    ],
    ids=["raises", "hangs", "cancels", "exits", "exits-in-a-task", "another-type", "no-dict", "raises-plainly"],
)
async def test_a_hook_that_goes_wrong_is_told_within_a_second_and_the_call_goes_on(hook: Any, code: str) -> None:
    async with hooked(pre_client_event=hook) as made:
        await made.agent.handle_input(c.ClientTextAppendEvent(text="hello"))
        await asyncio.sleep(HOOK_S + 0.1)
        assert errors(made) == [code]
        (error,) = [event for event in made.seen if isinstance(event, s.AgentErrorEvent)]
        assert "hook 'mine' (pre_client_event)" in error.message
        assert "secret" not in error.message
        assert words_given(made) == ["hello"]
        made.link.reply(100, "Hello. ")


@pytest.mark.parametrize("kind", ["pre_tool_call", "post_tool_call"])
async def test_a_tool_hook_that_changes_the_type_or_the_call_has_no_effect(kind: str) -> None:
    def wrong(self: RealtimeAgent, kwargs: dict[str, Any], output: Any = None) -> Any:
        other = ToolResultBlock(id="another_call", name="add", output="0")
        return other if kind == "post_tool_call" else {"tool_call": ToolCallBlock(id="another_call", name="add")}

    async with hooked(Toolkit([add]), **{kind: wrong}) as made:
        ask(made, ADD)
        await asyncio.sleep(0.1)
        assert results(made) == ["3"]
        assert errors(made) == ["bad_hook"]


async def test_a_hook_that_calls_the_agent_again_and_again_ends_as_an_error() -> None:
    async def again(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        await self.say("Once more.")

    async with hooked(pre_model_event=again) as made:
        made.link.reply(100, "Hello. ")
        await asyncio.sleep(6)
        assert set(errors(made)) == {"hook_timeout"}


async def test_hooks_that_are_too_slow_miss_events_and_that_is_told_once() -> None:
    async def slow(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        await asyncio.sleep(0.9)

    async with hooked(pre_model_event=slow) as made:
        where = {"response_id": made.link.begin(), "item_id": "i1"}
        for _ in range(MAX_WAITING + 10):
            made.link.say(m.ModelResponseAudioTranscriptDeltaEvent(**where, delta="a "))
        assert errors(made) == ["hooks_behind"]


async def test_a_hook_emits_a_custom_event_that_readers_of_replies_get_too() -> None:
    """EVT-48: `server_custom` in the call, CUSTOM in its reply events; no enum has a new value."""

    def progress(self: RealtimeAgent, kwargs: dict[str, Any]) -> None:
        self.emit_custom_event("task_progress", {"tool": kwargs["tool_call"].name, "done": 1})

    async with hooked(Toolkit([add]), pre_tool_call=progress) as made:
        ask(made, ADD)
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


async def test_without_hooks_no_task_is_made_and_nothing_follows_the_call() -> None:
    async with call() as made:
        tasks = len(asyncio.all_tasks())
        made.receive(c.ClientTextAppendEvent(text="Hello"))
        made.link.reply(100, "Hello. ")
        assert len(asyncio.all_tasks()) == tasks
        readers = made.session.log._readers
        assert len(readers) == 2, "the session's own reader and this test's"

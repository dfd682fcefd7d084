"""A call is handed over: another agent goes on with it, between two turns."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.transfer import JOIN_S, MAX_TRANSFERS, STILL_YOURS, TAKES_OVER, config_for, reachable
from realtime.errors import ProviderError, UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.event.config import SessionConfig, ToolDeclaration, TurnDetection
from realtime.message import ToolCallBlock
from realtime.model import base
from realtime.model.scripted import ScriptedModel
from realtime.room import ChatRoom
from realtime.tool import Toolkit
from tests.agent.fakes import (
    NO_DETECTOR,
    PROFILE,
    WORDS,
    Call,
    FakeConnection,
    FakeDetector,
    FakeModel,
    alone,
    call,
    speech,
    unreachable,
)
from tests.agent.test_tools import ask_tools, results

pytestmark = pytest.mark.virtual_time

OTHER = msgspec.structs.replace(PROFILE, provider="other", model="other-1", voices=("ash",))
TO_BEN = ("call_1", "transfer_to_ben", "{}")


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def named(name: str, model: base.RealtimeModel | None = None, **options: Any) -> RealtimeAgent:
    """An agent without a prompt."""
    return RealtimeAgent(name, "", model or FakeModel(), **options)


@dataclass
class Desk:
    """A call that Friday has, and Ben, to whom it may be handed over."""

    call: Call
    ben: RealtimeAgent
    ben_model: FakeModel

    @property
    def ben_link(self) -> FakeConnection:
        return self.ben_model.link

    def hand_over(self, farewell: str = "I hand you over to Ben. ") -> None:
        """The user asks for Ben; Friday calls the tool and says one sentence."""
        self.call.receive(c.ClientTextAppendEvent(text="My invoice is wrong."))
        self.call.link.answer = lambda message: self.call.link.reply(1_000, farewell)
        ask_tools(self.call, TO_BEN)

    def changes(self) -> list[tuple[str, str]]:
        """Return the transfers that listeners saw, as (from, to)."""
        return [
            (event.value["from"], event.value["to"])
            for event in self.call.of(s.ServerCustomEvent)
            if event.name == "agent_changed"
        ]


def asked(link: FakeConnection) -> list[str]:
    """Instructions of each response that the model was asked for."""
    return [
        (message.overrides.instructions if message.overrides else None) or ""
        for message in link.got(base.ResponseCreate)
    ]


@asynccontextmanager
async def desk(profile: base.Profile = OTHER, *, made: dict[str, Any] | None = None, **ben: Any) -> AsyncIterator[Desk]:
    ben_model = FakeModel(profile)
    agent = RealtimeAgent("Ben", "You are Ben. You pay.", ben_model, **ben)
    async with call(transfers=[agent], **(made or {})) as friday:
        yield Desk(friday, agent, ben_model)


async def until(done: Callable[[], bool], within_s: float = 30.0) -> None:
    for _ in range(round(within_s / 0.05)):
        if done():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not happen")


async def test_the_model_hands_over_after_its_last_sentence_was_played() -> None:
    """The tool's result, one sentence of the old agent, then the new one: it knows all that was heard."""
    async with desk(voice="ash", toolkit=Toolkit([pay])) as made:
        one = made.call
        (tool,) = one.link.settings.tools
        assert (tool.name, tool.description) == ("transfer_to_ben", "Hand the call over to Ben. You are Ben.")
        made.hand_over()
        await asyncio.sleep(0.5)
        assert made.ben_model.connections == [], "the sentence is still played"
        assert "Ben has the call as soon as you have finished speaking" in results(one)[0][2]
        await until(lambda: bool(made.ben_model.connections))

        link = made.ben_link
        assert (link.settings.agent_name, link.settings.voice) == ("Ben", "ash")
        assert link.settings.instructions == "You are Ben. You pay."
        assert [tool.name for tool in link.settings.tools] == ["pay"]
        known = [(item.role or item.type, item.text.strip()) for item in made.ben_model.histories[-1]()]
        assert known == [
            ("user", "My invoice is wrong."),
            ("tool_call", ""),
            ("tool_result", ""),
            ("assistant", "I hand you over to Ben."),
        ]
        assert asked(link) == [f"You are Ben. You pay.\n\n{TAKES_OVER.format(before='Friday')}"]
        link.reply(1_000, "Which invoice? ")
        await asyncio.sleep(2)

        assert made.changes() == [("Friday", "Ben")]
        assert one.link.closed
        assert not link.closed
        (last,) = [event for event in one.of(s.AgentResponseDoneEvent) if event.agent_name == "Ben"]
        assert last.status == "completed"
        assert one.session.participant.name == "Ben"
        assert one.of(s.AgentEndedEvent) == []
        ready = one.of(s.AgentReadyEvent)
        assert [(event.agent_name, (event.model or {})["model"]) for event in ready] == [
            ("Friday", "fake-1"),
            ("Ben", "other-1"),
        ]
        assert len({event.agent_id for event in ready}) == 2
        one.check_heard_truth()
    assert made.ben_link.closed
    assert [event.agent_name for event in one.of(s.AgentEndedEvent)] == ["Ben"]


async def test_the_new_agent_greets_no_second_time_unless_the_program_says_so() -> None:
    async with desk(greeting="Greet the caller.", made={"greeting": "Say hello."}) as made:
        made.call.link.reply(500, "Hello! ")
        await asyncio.sleep(1)
        made.hand_over()
        await until(lambda: bool(made.changes()))
        assert not any("Greet the caller." in one for one in asked(made.ben_link))
    async with alone(transfers=[]) as one:
        ben_model = FakeModel()
        await one.agent.transfer_to(named("Ben", ben_model, greeting="Greet the caller."), greets=True)
        assert asked(ben_model.link) == ["Greet the caller."]


async def test_the_user_is_answered_by_the_new_agents_tools_alone() -> None:
    """Tools and permissions change: what the old agent may do, the new one may not."""
    async with desk(toolkit=Toolkit(confirm=[pay]), made={"toolkit": Toolkit([pay])}) as made:
        made.hand_over()
        await until(lambda: bool(made.changes()))
        again = Call(made.call.session, made.call.agent, made.ben_model, made.call.listener, made.call.sink)
        ask_tools(again, ("call_2", "transfer_to_ben", "{}"), ("call_3", "pay", '{"amount": 5}'))
        await asyncio.sleep(1)
        ((_, state, text),) = results(again)
        assert (state, "transfer_to_ben" in text) == ("error", True)
        asking = [event.tool_use for event in made.call.of(s.AgentResponseToolUseDoneEvent)][-1]
        assert (asking.name, asking.state) == ("pay", "asking")


async def test_a_call_goes_from_one_to_the_other_and_back_but_not_to_and_fro() -> None:
    """A to B to A: the first agent comes back under its own id. At most three transfers without a turn of the user."""
    ben_model, friday_model = FakeModel(OTHER), FakeModel()
    friday = named("Friday", friday_model)
    ben = named("Ben", ben_model, transfers=[friday])
    friday.transfers = (ben,)
    seen: list[s.ServerEvent] = []
    await friday.start(seen.append)
    assert (await friday.transfer_to("Ben")).name == "Ben"
    friday_model.connections[0].gone("closed")
    assert (await friday.transfer_to("Friday")).name == "Friday"
    ready = [event for event in seen if isinstance(event, s.AgentReadyEvent)]
    assert [event.agent_name for event in ready] == ["Friday", "Ben", "Friday"]
    assert ready[0].agent_id == ready[2].agent_id != ready[1].agent_id
    assert ben_model.link.closed
    for place in range(2, MAX_TRANSFERS):
        await friday.transfer_to("Friday" if place % 2 else "Ben")
    with pytest.raises(UsageError) as refused:
        await friday.transfer_to("Friday" if MAX_TRANSFERS % 2 else "Ben")
    assert refused.value.code == "too_many_transfers"
    item = Item(id="item_u", role="user", content=(ContentPart(type="text", text="And now?"),))
    await friday.handle_input(c.ClientItemCreateEvent(item=item))
    assert (await friday.transfer_to("Friday")).name == "Friday"
    await friday.stop()
    assert [type(event) for event in seen].count(s.AgentEndedEvent) == 1
    assert friday_model.link.closed


async def test_two_transfers_in_one_reply_are_one() -> None:
    async with call(transfers=[named("Ben"), named("Cara")]) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        ask_tools(made, TO_BEN, ("call_2", "transfer_to_cara", "{}"))
        await asyncio.sleep(1)
        states = {call_id: (state, text) for call_id, state, text in results(made)}
        assert states["call_1"][0] == "success"
        assert states["call_2"] == ("error", "the call is being handed over to Ben already")


async def test_the_program_hands_over_and_speaks_with_the_new_agents_voice() -> None:
    """From `on_turn`: the function goes on after the transfer, with the agent of the call."""
    spoken: list[str] = []
    ben_model = FakeModel(OTHER)

    async def on_turn(agent: RealtimeAgent, msg: Any) -> None:
        here = await agent.transfer_to(named("Ben", ben_model))
        with pytest.raises(UsageError):
            await agent.say("I am gone.")
        spoken.append((await here.say("Ben here.")).text)

    async with call(on_turn=on_turn) as made:
        made.receive(c.ClientTextAppendEvent(text="Ben, please."))
        made.link.reply(1_000, "One moment. ")
        await until(lambda: bool(ben_model.connections))
        await asyncio.sleep(0.1)
        (only,) = asked(ben_model.link)
        assert only.endswith("Ben here."), "the user waits for nothing else"
        response_id = ben_model.link.begin(2)
        ben_model.link.speak(response_id, 1_000, "Ben here. ")
        ben_model.link.finish(response_id, "Ben here. ")
        await asyncio.sleep(3)
        assert spoken == ["Ben here."]
        assert made.of(s.AgentErrorEvent) == []


async def test_a_tool_of_the_program_hands_over_after_its_reply() -> None:
    ben_model = FakeModel(OTHER)
    agents: list[RealtimeAgent] = []

    async def escalate() -> str:
        """Get help."""
        await agents[0].transfer_to(named("Ben", ben_model))
        return "Ben comes."

    async with alone(toolkit=Toolkit([escalate])) as one:
        agents.append(one.agent)
        await one.agent.handle_input(c.ClientTextAppendEvent(text="Help!"))
        one.link.answer = lambda message: one.link.reply(1_000, "Ben comes now. ")
        response_id = one.link.begin()
        use = ToolCallBlock(id="call_1", name="escalate", input="{}")
        one.link.say(
            m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=use),
            m.ModelResponseDoneEvent(response_id=response_id),
        )
        await until(lambda: bool(ben_model.connections))
        assert one.transcript()[-1] == ("assistant", "Ben comes now.")
        assert len(asked(ben_model.link)) == 1


async def test_an_agent_that_takes_over_enters_and_answers_a_user_whom_nobody_has_answered() -> None:
    entered: list[str] = []

    async def on_enter(agent: RealtimeAgent) -> None:
        entered.append(agent.name)

    ben_model = FakeModel(OTHER)
    async with alone(on_enter=on_enter, config=SessionConfig(text_auto_response=False)) as one:
        await one.agent.handle_input(c.ClientTextAppendEvent(text="Hello?"))
        await one.agent.transfer_to(named("Ben", ben_model, on_enter=on_enter))
        assert asked(ben_model.link) == [TAKES_OVER.format(before="Friday")]
        await asyncio.sleep(0.1)
        assert entered == ["Friday", "Ben"]


async def test_the_conversation_and_the_tokens_of_the_first_agent_stay_readable() -> None:
    """Events of the model that was left are ignored."""
    ben_model = FakeModel()
    async with alone() as one:
        one.link.reply(500, "Hello. ")
        await asyncio.sleep(1)
        left = one.link
        here = await one.agent.transfer_to(named("Ben", ben_model))
        left.reply(1_000, WORDS)
        left.say(m.ModelErrorEvent(error_type="provider_error", code="late", message="late"))
        response_id = ben_model.link.begin(2)
        ben_model.link.speak(response_id, 500, "I am Ben. ")
        ben_model.link.finish(response_id, "I am Ben. ", input_tokens=3, output_tokens=4)
        await asyncio.sleep(1)
        assert [item.text for item in one.agent.conversation] == ["Hello.", "I am Ben."]
        assert (one.agent.usage.output_tokens, here.usage.output_tokens) == (4, 4)
        assert [event for event in one.seen if isinstance(event, s.AgentErrorEvent | s.AgentEndedEvent)] == []


async def test_speech_that_comes_while_the_new_model_connects_is_the_new_agents() -> None:
    """Nothing of it is lost: the old model gets none of it, the new one all, and the moment before."""
    async with desk() as made:
        one, made.ben_model.connecting = made.call, asyncio.Event()
        one.hear(1_000)
        made.hand_over()
        await asyncio.sleep(2)
        before = len(one.link.heard_bytes())
        one.hear(600)
        one.receive(c.ClientTextAppendEvent(text="And hurry."))
        await asyncio.sleep(0.2)
        made.ben_model.connecting.set()
        await until(lambda: bool(made.changes()))
        assert len(one.link.heard_bytes()) == before
        assert made.ben_link.heard_bytes()[-len(speech(600)) :] == speech(600)
        assert len(made.ben_link.heard_bytes()) <= len(speech(900))
        assert one.transcript()[-1] == ("user", "And hurry.")
        assert one.session.participant.received_samples == 1_600 * 16
        link = made.ben_link
        link.hear_start("in_1", 100)
        link.hear_end("in_1", 800, "Quick!")
        (started,) = [event for event in one.of(s.AgentInputStartedEvent) if event.agent_name == "Ben"]
        assert 800 <= started.audio_start_ms <= 1_100, "on the timeline of the call"


async def test_a_turn_that_is_open_in_push_to_talk_moves_whole() -> None:
    ben_model = FakeModel()
    async with alone(config=SessionConfig(turn_detection="none")) as one:
        await one.agent.handle_input(c.ClientAudioAppendEvent(audio=speech(2_000)))
        await one.agent.transfer_to(named("Ben", ben_model))
        await one.agent.handle_input(c.ClientAudioAppendEvent(audio=speech(500)))
        await one.agent.handle_input(c.ClientAudioCommitEvent())
        assert ben_model.link.heard_bytes() == speech(2_000) + speech(500)
        assert len(ben_model.link.got(base.AudioCommit)) == 1
        assert one.link.got(base.AudioCommit) == []


async def test_a_speaking_user_is_not_interrupted_by_a_transfer() -> None:
    """It waits for the end of the turn and of the reply to it."""
    ben_model = FakeModel()
    async with alone() as one:
        one.link.hear_start("in_1", 0)
        moving = asyncio.create_task(one.agent.transfer_to(named("Ben", ben_model)))
        await asyncio.sleep(3)
        assert ben_model.connections == []
        one.link.hear_end("in_1", 2_000, "I want Ben.")
        one.link.reply(1_000, "Of course. ")
        assert ben_model.connections == []
        assert (await moving).name == "Ben"
        assert [text.strip() for _, text in one.transcript()] == ["I want Ben.", "Of course."]


async def test_a_model_without_a_detector_takes_over_from_one_with_its_own() -> None:
    async with desk(NO_DETECTOR, make_detector=lambda detection: FakeDetector()) as made:
        made.hand_over()
        await until(lambda: bool(made.changes()))
        ready = made.call.of(s.AgentReadyEvent)
        assert [(event.model or {})["turn_authority"] for event in ready] == ["provider", "server"]
        made.call.hear(1_000)
        assert made.ben_link.heard_bytes() == b"", "no speech was found in it"


def test_the_clients_settings_of_the_agent_do_not_count_for_the_next_one() -> None:
    tools = (ToolDeclaration(name="where", description="Where."),)
    detection = TurnDetection(type="semantic_vad", silence_duration_ms=300)
    persona = SessionConfig(voice="alloy", instructions="Be a pirate.", agent_name="Jack")
    rest: dict[str, Any] = {"user_name": "Ann", "tools": tools, "turn_detection": detection, "extra": {"speed": 2}}
    config = msgspec.structs.replace(persona, **rest)
    same, other = config_for(config, PROFILE, PROFILE), config_for(config, PROFILE, OTHER)
    for one in (same, other):
        assert (one.voice, one.instructions, one.agent_name) == (None, None, None)
        assert (one.user_name, one.tools) == ("Ann", tools)
    assert (same.extra, same.turn_detection) == ({"speed": 2}, detection)
    assert (other.extra, other.turn_detection) == (None, msgspec.structs.replace(detection, type=None))


async def test_a_change_of_the_settings_during_a_transfer_is_kept() -> None:
    async with desk() as made:
        made.ben_model.connecting = asyncio.Event()
        made.hand_over()
        await asyncio.sleep(2)
        made.call.receive(c.ClientSessionUpdateEvent(config={"output_modalities": ["text"]}))
        made.ben_model.connecting.set()
        await until(lambda: bool(made.changes()))
        assert made.ben_link.settings.output_modalities == ("audio",)
        (update,) = made.ben_link.got(base.SessionUpdate)
        assert update.settings.output_modalities == ("text",)
        made.call.receive(c.ClientSessionUpdateEvent(config={"instructions": "Be a pirate."}))
        assert made.ben_link.got(base.SessionUpdate)[-1].settings.instructions == "Be a pirate."


async def test_the_old_agent_goes_on_when_the_new_model_cannot_be_had() -> None:
    async with desk() as made:
        one = made.call
        made.ben_model.refuses = unreachable()
        made.hand_over()
        await until(lambda: bool(one.of(s.AgentErrorEvent)))
        one.receive(c.ClientTextAppendEvent(text="Well?"))
        await asyncio.sleep(3)
        (error,) = one.of(s.AgentErrorEvent)
        assert (error.code, error.message) == (
            "provider_unreachable",
            "Ben cannot take the call: the provider did not answer.",
        )
        assert made.changes() == []
        assert not one.link.closed
        (told,) = [item for item in one.session.conversation.items() if item.role == "system"]
        assert told.text == f"{error.message} {STILL_YOURS}"
        assert ("user", "Well?") in one.transcript()
        assert one.session.participant.name == "Friday"


async def test_the_program_is_told_why_and_what_was_said_meanwhile_is_the_old_agents() -> None:
    model = FakeModel()
    model.connecting = asyncio.Event()
    async with alone() as one:
        moving = asyncio.create_task(one.agent.transfer_to(named("Ben", model)))
        await asyncio.sleep(1)
        await one.agent.handle_input(c.ClientAudioAppendEvent(audio=speech(500)))
        assert one.link.heard_bytes() == b""
        with pytest.raises(ProviderError) as refused:
            await moving
        assert (refused.value.code, refused.value.message) == (
            "transfer_timeout",
            f"Ben cannot take the call: it was not ready within {JOIN_S:g} s.",
        )
        assert one.link.heard_bytes() == speech(500)
        assert one.agent.conversation == ()


async def test_a_call_that_ends_during_a_transfer_leaves_nothing_running() -> None:
    model = FakeModel()
    model.connecting = asyncio.Event()
    tasks = asyncio.all_tasks()
    async with alone() as one:
        moving = asyncio.create_task(one.agent.transfer_to(named("Ben", model)))
        await asyncio.sleep(1)
        await one.agent.stop()
        with pytest.raises(UsageError, match="the call ended before the transfer"):
            await moving
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= tasks
    assert [type(event) for event in one.seen].count(s.AgentEndedEvent) == 1


async def test_what_cannot_be_is_refused_in_one_sentence() -> None:
    busy = named("Ben")
    await busy.start(lambda event: None)
    async with alone(transfers=[named("Cara")]) as one:
        for target, code in ((one.agent, "transfer_to_itself"), (busy, "agent_running"), ("Zoe", "unknown_agent")):
            with pytest.raises(UsageError) as refused:
                await one.agent.transfer_to(target)
            assert refused.value.code == code
    await busy.stop()
    with pytest.raises(UsageError, match="in no call"):
        await named("Cara").transfer_to(busy)
    with pytest.raises(UsageError, match="rename one"):
        named("Friday", transfers=[named("Ben"), named("ben")])
    with pytest.raises(TypeError, match="a list of RealtimeAgents"):
        named("Friday", transfers=["Ben"])
    cara = named("Cara")
    friday = named("Friday", transfers=[named("Ben", transfers=[cara])])
    cara.transfers = (friday,)
    assert [reachable(friday, name) for name in ("Cara", "Friday", "Zoe")] == [cara, friday, None]
    in_a_room = named("Friday", ScriptedModel([]), transfers=[named("Ben", ScriptedModel([]))])
    room = ChatRoom(agents=[in_a_room])
    await room.start(lambda event: None)
    with pytest.raises(UsageError):
        await in_a_room.transfer_to("Ben")
    await room.stop()

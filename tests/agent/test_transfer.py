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
    """Pay.

    Args:
        amount: How much.
    """
    return f"paid {amount}"


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
        self.call.link.answer = lambda message: said(self.call.link.reply(1_000, farewell))
        ask_tools(self.call, TO_BEN)

    def changes(self) -> list[tuple[str, str]]:
        """Return the transfers that listeners saw, as (from, to)."""
        return [
            (event.value["from"], event.value["to"])
            for event in self.call.of(s.ServerCustomEvent)
            if event.name == "agent_changed"
        ]


def said(item_id: str) -> None:
    assert item_id


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


# -- by the model ------------------------------------------------------------------------------------------------------


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


async def test_the_new_agent_greets_no_second_time() -> None:
    async with desk(greeting="Greet the caller.", made={"greeting": "Say hello."}) as made:
        made.call.link.reply(500, "Hello! ")
        await asyncio.sleep(1)
        made.hand_over()
        await until(lambda: bool(made.changes()))
        assert not any("Greet the caller." in one for one in asked(made.ben_link))


async def test_it_greets_where_the_program_says_so() -> None:
    async with alone(transfers=[]) as one:
        ben_model = FakeModel()
        ben = RealtimeAgent("Ben", "You are Ben.", ben_model, greeting="Greet the caller.")
        await one.agent.transfer_to(ben, greets=True)
        assert asked(ben_model.link) == ["You are Ben.\n\nGreet the caller."]


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


async def test_a_call_goes_from_one_to_the_other_and_back() -> None:
    """A to B to A: the first agent comes back under its own id, with its own voice."""
    ben_model, friday_model = FakeModel(OTHER), FakeModel()
    friday = RealtimeAgent("Friday", "You are Friday.", friday_model)
    ben = RealtimeAgent("Ben", "You are Ben.", ben_model, transfers=[friday])
    friday.transfers = (ben,)
    seen: list[s.ServerEvent] = []
    await friday.start(seen.append)
    first = await friday.transfer_to("Ben")
    assert first.name == "Ben"
    friday_model.connections[0].gone("closed")
    again = await friday.transfer_to("Friday")
    assert again.name == "Friday"
    ready = [event for event in seen if isinstance(event, s.AgentReadyEvent)]
    assert [event.agent_name for event in ready] == ["Friday", "Ben", "Friday"]
    assert ready[0].agent_id == ready[2].agent_id != ready[1].agent_id
    assert ben_model.link.closed
    await friday.stop()
    assert [type(event) for event in seen].count(s.AgentEndedEvent) == 1
    assert friday_model.link.closed


async def test_agents_that_hand_a_call_to_and_fro_are_stopped() -> None:
    """At most three transfers without a turn of the user."""
    friday = RealtimeAgent("Friday", "", FakeModel())
    ben = RealtimeAgent("Ben", "", FakeModel(), transfers=[friday])
    friday.transfers = (ben,)
    await friday.start(lambda event: None)
    present = friday
    for place in range(MAX_TRANSFERS):
        present = await friday.transfer_to("Friday" if place % 2 else "Ben")
    with pytest.raises(UsageError) as refused:
        await friday.transfer_to("Friday")
    assert refused.value.code == "too_many_transfers"
    item = Item(id="item_u", role="user", content=(ContentPart(type="text", text="And now?"),))
    await friday.handle_input(c.ClientItemCreateEvent(item=item))
    assert (await friday.transfer_to("Friday")).name == "Friday"
    await friday.stop()
    assert present.name == "Ben"


async def test_two_transfers_in_one_reply_are_one() -> None:
    cara = RealtimeAgent("Cara", "", FakeModel())
    ben = RealtimeAgent("Ben", "", FakeModel())
    async with call(transfers=[ben, cara]) as made:
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        ask_tools(made, TO_BEN, ("call_2", "transfer_to_cara", "{}"))
        await asyncio.sleep(1)
        states = {call_id: (state, text) for call_id, state, text in results(made)}
        assert states["call_1"][0] == "success"
        assert states["call_2"] == ("error", "the call is being handed over to Ben already")


# -- by the program ----------------------------------------------------------------------------------------------------


async def test_the_program_hands_over_and_speaks_with_the_new_agents_voice() -> None:
    """From `on_turn`: the function goes on after the transfer, with the agent of the call."""
    spoken: list[str] = []
    ben_model = FakeModel(OTHER)
    ben = RealtimeAgent("Ben", "You are Ben.", ben_model)

    async def on_turn(agent: RealtimeAgent, msg: Any) -> None:
        here = await agent.transfer_to(ben)
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


async def test_an_unanswered_user_is_answered_by_the_new_agent() -> None:
    ben_model = FakeModel(OTHER)
    async with alone(config=SessionConfig(text_auto_response=False)) as one:
        await one.agent.handle_input(c.ClientTextAppendEvent(text="Hello?"))
        await one.agent.transfer_to(RealtimeAgent("Ben", "", ben_model))
        assert asked(ben_model.link) == [TAKES_OVER.format(before="Friday")]


async def test_a_tool_of_the_program_hands_over_after_its_reply() -> None:
    ben_model = FakeModel(OTHER)
    ben = RealtimeAgent("Ben", "", ben_model)
    agents: list[RealtimeAgent] = []

    async def escalate() -> str:
        """Get help."""
        await agents[0].transfer_to(ben)
        return "Ben comes."

    async with alone(toolkit=Toolkit([escalate])) as one:
        agents.append(one.agent)
        await one.agent.handle_input(c.ClientTextAppendEvent(text="Help!"))
        link = one.link
        link.answer = lambda message: said(link.reply(1_000, "Ben comes now. "))
        call_block = ToolCallBlock(id="call_1", name="escalate", input="{}")
        response_id = link.begin()
        link.say(
            m.ModelResponseToolUseDoneEvent(response_id=response_id, item_id="use_1", tool_use=call_block),
            m.ModelResponseDoneEvent(response_id=response_id),
        )
        await until(lambda: bool(ben_model.connections))
        assert one.transcript()[-1] == ("assistant", "Ben comes now.")
        assert len(asked(ben_model.link)) == 1


async def test_on_enter_runs_when_an_agent_takes_over() -> None:
    entered: list[str] = []

    async def on_enter(agent: RealtimeAgent) -> None:
        entered.append(agent.name)

    async with alone(on_enter=on_enter) as one:
        await one.agent.transfer_to(RealtimeAgent("Ben", "", FakeModel(), on_enter=on_enter))
        await asyncio.sleep(0.1)
        assert entered == ["Friday", "Ben"]


async def test_the_conversation_and_the_tokens_of_the_first_agent_stay_readable() -> None:
    async with alone() as one:
        one.link.reply(500, "Hello. ")
        await asyncio.sleep(1)
        ben_model = FakeModel()
        here = await one.agent.transfer_to(RealtimeAgent("Ben", "", ben_model))
        response_id = ben_model.link.begin(2)
        ben_model.link.speak(response_id, 500, "I am Ben. ")
        ben_model.link.finish(response_id, "I am Ben. ", input_tokens=3, output_tokens=4)
        await asyncio.sleep(1)
        assert [item.text for item in one.agent.conversation] == ["Hello.", "I am Ben."]
        assert (one.agent.usage.output_tokens, here.usage.output_tokens) == (4, 4)


# -- what the user says meanwhile --------------------------------------------------------------------------------------


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
        await one.agent.transfer_to(RealtimeAgent("Ben", "", ben_model))
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
        moving = asyncio.create_task(one.agent.transfer_to(RealtimeAgent("Ben", "", ben_model)))
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


# -- the client's settings ---------------------------------------------------------------------------------------------


def test_the_clients_settings_of_the_agent_do_not_count_for_the_next_one() -> None:
    tools = (ToolDeclaration(name="where", description="Where."),)
    detection = TurnDetection(type="semantic_vad", silence_duration_ms=300)
    config = SessionConfig(
        voice="alloy",
        instructions="Be a pirate.",
        agent_name="Jack",
        user_name="Ann",
        tools=tools,
        turn_detection=detection,
        extra={"speed": 2},
    )
    same = config_for(config, PROFILE, PROFILE)
    other = config_for(config, PROFILE, OTHER)
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


# -- what goes wrong ---------------------------------------------------------------------------------------------------


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
        moving = asyncio.create_task(one.agent.transfer_to(RealtimeAgent("Ben", "", model)))
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
        moving = asyncio.create_task(one.agent.transfer_to(RealtimeAgent("Ben", "", model)))
        await asyncio.sleep(1)
        await one.agent.stop()
        with pytest.raises(UsageError, match="the call ended before the transfer"):
            await moving
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= tasks
    assert [type(event) for event in one.seen].count(s.AgentEndedEvent) == 1


async def test_what_cannot_be_is_refused_in_one_sentence() -> None:
    busy = RealtimeAgent("Ben", "", FakeModel())
    await busy.start(lambda event: None)
    async with alone(transfers=[RealtimeAgent("Cara", "", FakeModel())]) as one:
        for target, code in ((one.agent, "transfer_to_itself"), (busy, "agent_running"), ("Zoe", "unknown_agent")):
            with pytest.raises(UsageError) as refused:
                await one.agent.transfer_to(target)
            assert refused.value.code == code
    await busy.stop()
    with pytest.raises(UsageError, match="in no call"):
        await RealtimeAgent("Cara", "", FakeModel()).transfer_to(busy)


def test_two_agents_of_one_name_cannot_both_be_transferred_to() -> None:
    twins = [RealtimeAgent("Ben", "", FakeModel()), RealtimeAgent("ben", "", FakeModel())]
    with pytest.raises(UsageError, match="rename one"):
        RealtimeAgent("Friday", "", FakeModel(), transfers=twins)
    with pytest.raises(TypeError, match="a list of RealtimeAgents"):
        RealtimeAgent("Friday", "", FakeModel(), transfers=["Ben"])  # type: ignore[list-item]


async def test_in_a_room_there_is_nothing_to_hand_over() -> None:
    ben = RealtimeAgent("Ben", "", ScriptedModel([]))
    friday = RealtimeAgent("Friday", "", ScriptedModel([]), transfers=[ben])
    room = ChatRoom(agents=[friday])
    await room.start(lambda event: None)
    with pytest.raises(UsageError):
        await friday.transfer_to(ben)
    await room.stop()


def test_an_agent_is_found_by_name_along_the_transfers() -> None:
    cara = RealtimeAgent("Cara", "", FakeModel())
    ben = RealtimeAgent("Ben", "", FakeModel(), transfers=[cara])
    friday = RealtimeAgent("Friday", "", FakeModel(), transfers=[ben])
    cara.transfers = (friday,)
    assert reachable(friday, "Cara") is cara
    assert reachable(friday, "Friday") is friday
    assert reachable(friday, "Zoe") is None


async def test_events_of_the_model_that_was_left_are_ignored() -> None:
    async with alone() as one:
        link = one.link
        await one.agent.transfer_to(RealtimeAgent("Ben", "", FakeModel()))
        link.reply(1_000, WORDS)
        link.say(m.ModelErrorEvent(error_type="provider_error", code="late", message="late"))
        await asyncio.sleep(1)
        assert one.agent.conversation == ()
        assert [event for event in one.seen if isinstance(event, s.AgentErrorEvent | s.AgentEndedEvent)] == []

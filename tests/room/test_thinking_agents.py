"""Thinking agents in a room: they speak with the embedded voice, or observe in silence until they are called."""

import asyncio
from itertools import groupby
from typing import Any

import pytest

from realtime.agent.base import AgentBase
from realtime.errors import ClientError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.message import Msg, TextBlock
from realtime.model.local.engine import SpeechParts
from realtime.room import ChatRoom, Observer
from realtime.room.floor import POLICIES, addressed, broadcast
from realtime.room.thinker import MAX_WAITING
from realtime.tool import ToolContext, Toolkit
from tests.agent.thinking import ScriptedChat, call, react, remembered, requests_of, say
from tests.room.rooms import House, TalkModel, agent, anna_and_ben_in, anna_in
from tests.room.thinking import COSTS, Thoughtful, salon, settle
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(costs=COSTS, limit_s=3_600)


async def look_up() -> str:
    """Look it up."""
    await asyncio.sleep(0.3)
    return "It is 12."


def in_words(talk: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """The words of each turn: of one speaker there may be several items."""
    turns = groupby([(name, text.split()) for name, text in talk if text], key=lambda one: one[0])
    return [(name, [word for _, words in texts for word in words]) for name, texts in turns]


async def test_a_thinking_agent_speaks_in_a_room_or_without_a_voice_answers_in_writing() -> None:
    friday = Thoughtful("Friday", "I am Friday. What can I do?")
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        await anna.writes("Hello, who are you?")
        assert home.talk() == [("Anna", "Hello, who are you?"), ("Friday", "I am Friday. What can I do?")]
        assert sum(len(one.delta) for one in anna.of(s.AgentResponseAudioDeltaEvent)) == 2 * 48_000, "two sentences"
        assert friday.observed == [("Anna", "Hello, who are you?")]
        assert anna.errors() == []
    mute, friday = SpeechParts(missing=("there is no voice",)), Thoughtful("Friday", "I am here.")
    async with anna_in(salon(Observer(friday), parts=mute, floor=addressed)) as (home, anna):
        await anna.writes("Friday, are you there?")
        assert home.talk() == [("Anna", "Friday, are you there?"), ("Friday", "I am here.")]
        assert [one.text for one in anna.of(s.AgentResponseTextDoneEvent)] == ["I am here."]


async def test_an_observer_gets_every_turn_once_and_in_order_and_is_silent() -> None:
    friday = Thoughtful("Friday")
    async with anna_and_ben_in(
        salon(agent("Alice", TalkModel("Hello Anna.", "Hello Ben.")), Observer(friday), floor=broadcast)
    ) as (home, anna, ben):
        await anna.says("Hello everyone!")
        await ben.writes("Hello from me.")
        await settle()
        talk = [("Anna", "Hello everyone!"), ("Alice", "Hello Anna.")]
        talk += [("Ben", "Hello from me."), ("Alice", "Hello Ben.")]
        assert home.talk() == friday.observed == talk
        assert friday.asked == []


async def test_an_observer_that_is_called_answers_once() -> None:
    friday = Thoughtful("Friday", "It was red.")
    async with anna_in(salon(agent("Alice", TalkModel("I see.")), Observer(friday), floor=addressed)) as (home, anna):
        await anna.writes("Alice, the car was red.")
        await anna.says("Friday, what colour was it?")
        await anna.writes("Good to know.")
        assert [name for name, _ in home.talk()] == ["Anna", "Alice", "Anna", "Friday", "Anna", "Alice"]
        assert home.speakers() == ["Alice", "Friday", "Alice"]
        assert friday.asked == [None]
        assert ("Friday", "It was red.") not in friday.observed


async def test_a_called_observer_answers_and_talk_about_it_does_not_wake_it() -> None:
    for floor in POLICIES.values():
        friday = Thoughtful("Friday", "Here I am.")
        room = salon(agent("Alice", TalkModel("Hm.")), agent("Bob", TalkModel("Ah.")), Observer(friday), floor=floor)
        async with anna_in(room) as (home, anna):
            for talk in ("Let us meet on Friday.", "Friday works for me."):
                await anna.writes(talk)
            assert "Friday" not in home.speakers()
            n_before = len(home.speakers())
            await anna.writes("What do you think, Friday?")
            assert home.speakers()[n_before] == "Friday"
            await anna.writes("And what does everyone else say?")
            assert home.speakers().count("Friday") == 1


async def test_agents_that_call_each_other_do_not_answer_for_ever() -> None:
    friday, alice = Thoughtful("Friday", "Alice, do you agree?"), agent("Alice", TalkModel("Friday, what do you say?"))
    async with anna_in(salon(alice, Observer(friday), floor=addressed, max_agent_turns=5)) as (home, anna):
        await anna.writes("Hello.")
        assert home.speakers() == ["Alice", "Friday", "Alice", "Friday", "Alice"]
    friday, robin = Thoughtful("Friday", "Robin, what now?"), Thoughtful("Robin", "Friday, what now?")
    async with anna_in(salon(friday, robin, floor=addressed)) as (home, anna):
        await anna.writes("Friday, begin.")
        assert home.speakers() == ["Friday", "Robin", "Friday", "Robin"]
        voices = {one.agent_name: {*one.delta[:2]} for one in anna.of(s.AgentResponseAudioDeltaEvent)}
        assert voices == {"Friday": {1, 0}, "Robin": {2, 0}}, "each has a voice of its own"


async def said_and_remembered(home: House, friday: Any) -> list[tuple[str, str]]:
    """The talk, which the agent remembers as it was."""
    memory = [(one.name, one.get_text_content() or "") for one in await remembered(friday)]
    assert in_words(memory) == in_words(home.talk())
    return memory


async def test_the_memory_of_an_interrupted_agent_holds_what_was_played() -> None:
    friday = react(say("One is first. Two is second. Three is third. Four is last."), say("Yes?"))
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        anna.write("Count.")
        await asyncio.sleep(1.5)
        await anna.writes("Stop.")
        (_, heard) = home.talk()[1]
        assert heard
        assert "Four" not in heard
        expected = [("Anna", "Count."), ("Friday", heard), ("Anna", "Stop."), ("Friday", "Yes?")]
        assert await said_and_remembered(home, friday) == home.talk() == expected
    friday = react(say("One is first. Two is second."), say("Yes?"))
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        anna.write("Count.")
        await anna.writes("No, wait.")
        expected = [("Anna", "Count."), ("Anna", "No, wait."), ("Friday", "One is first. Two is second.")]
        assert await said_and_remembered(home, friday) == home.talk() == expected, "nothing had been heard"


async def test_an_interruption_ends_a_reply_that_is_being_thought() -> None:
    friday = react(model=ScriptedChat(say("I have to think about that. " * 30), say("Yes?"), piece_s=0.1))
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        anna.write("Tell me all.")
        await asyncio.sleep(4)
        assert friday.is_replying
        anna.write("Stop.")
        await asyncio.sleep(0.05)
        assert len(requests_of(friday)) == 2, "the first reply is over: an agent gives one at a time"
        await home.quiet()
        _, cut, stop, answer = await remembered(friday)
        assert cut.finished_reason == "interrupted"
        assert (cut.get_text_content() or "").startswith("I have to think about that.")
        assert cut.get_text_content() == home.talk()[1][1]
        assert [stop.get_text_content(), answer.get_text_content()] == ["Stop.", "Yes?"]


async def test_an_agent_learns_that_it_was_interrupted_also_when_it_has_said_all() -> None:
    friday = Thoughtful("Friday", "One is first. Two is second. Three is third.")
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        anna.write("Count.")
        await asyncio.sleep(1.5)
        anna.begin("Stop, please.")
        await asyncio.sleep(0.01)
        assert friday.interruptions == 1
        anna.end()
        await home.quiet()
        assert friday.interruptions == 1


@pytest.mark.parametrize("after_ms", range(0, 3_000, volume(300, 100)))
async def test_whenever_it_is_interrupted_an_agent_remembers_what_the_room_heard(after_ms: int) -> None:
    slow = ScriptedChat(
        [TextBlock(text="Let me look that up for you."), call("look_up")],
        say("One is first. Two is second. Three is third."),
        say("I am still here."),
        piece_s=0.05,
    )
    friday = react(model=slow, toolkit=Toolkit([look_up]))
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        anna.write("What time is it?")
        await asyncio.sleep(after_ms / 1000)
        await anna.writes("Stop.")
        assert anna.errors() == []
        await said_and_remembered(home, friday)
        for one in await remembered(friday):
            assert one.has_content_blocks("tool_call") == one.has_content_blocks("tool_result")
        called = [one.tool_use.id for one in anna.of(s.AgentResponseToolUseDoneEvent)]
        assert called == [one.tool_result.id for one in anna.of(s.AgentResponseToolResultEvent)]


async def test_an_interruption_that_takes_time_does_not_hit_the_next_reply() -> None:
    class Slow(Thoughtful):
        """It takes its time to be interrupted."""

        async def interrupt(self, msg: Any = None) -> None:
            await asyncio.sleep(0.5)
            await super().interrupt(msg)

    friday = Slow("Friday", "One is first. Two is second.", "Yes?")
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        anna.write("Count.")
        await asyncio.sleep(1)
        await anna.writes("Stop.")
        assert home.talk()[-1] == ("Friday", "Yes?")


async def test_a_turn_without_a_reply_takes_no_word_from_the_reply_before() -> None:
    friday = react(say("I am here."), ValueError("broken"))
    async with anna_in(salon(friday, floor=addressed)) as (_, anna):
        await anna.writes("Are you there?")
        await anna.writes("And now?")
        anna.write("Please.")
        await anna.writes("Stop.")
        own = [one.get_text_content() for one in await remembered(friday) if one.role == "assistant"]
        assert own == ["I am here."]


async def test_an_agent_that_raises_is_one_error_and_the_room_goes_on() -> None:
    friday = Thoughtful("Friday", UsageError("OPENAI_API_KEY is not set: set it, or give an api_key"), "I am back.")
    async with anna_in(salon(agent("Alice", TalkModel("Fine.")), Observer(friday), floor=addressed)) as (home, anna):
        await anna.writes("Friday, are you there?")
        (error,) = anna.of(s.AgentErrorEvent)
        assert error.message == "Friday cannot answer: OPENAI_API_KEY is not set: set it, or give an api_key"
        assert (error.code, error.agent_name) == ("agent_failed", "Friday")
        await anna.writes("Friday, and now?")
        assert home.talk()[-1] == ("Friday", "I am back.")
        assert anna.errors() == ["agent_failed"]


async def test_an_agent_that_thinks_too_long_loses_the_floor() -> None:
    friday = react(model=ScriptedChat(say("At last."), piece_s=1_000))
    async with anna_in(salon(friday, agent("Alice", TalkModel("Fine.")), floor=addressed)) as (home, anna):
        anna.write("Friday, are you there?")
        await asyncio.sleep(25)
        assert anna.errors() == ["no_answer"]
        assert not friday.is_replying
        await home.quiet()
        assert home.speakers() == ["Friday", "Alice"], "who can answer does"


async def wait_a_minute() -> str:
    """Wait."""
    await asyncio.sleep(60)
    return "It is 12."


async def test_a_tool_may_take_longer_than_an_agent_may_be_silent() -> None:
    friday = react(
        [TextBlock(text="Let me see."), call("wait_a_minute")], say("It is 12."), toolkit=Toolkit([wait_a_minute])
    )
    async with anna_in(salon(friday, floor=addressed, tool_timeout_s=90)) as (home, anna):
        anna.write("What time is it?")
        await asyncio.sleep(2)
        assert [one.delta for one in anna.of(s.AgentResponseAudioTranscriptDeltaEvent)] == ["Let me see."]
        await home.quiet(120)
        assert home.talk()[-2:] == [("Friday", "Let me see."), ("Friday", "It is 12.")]
        (result,) = anna.of(s.AgentResponseToolResultEvent)
        assert (result.tool_result.name, result.tool_result.output_text()) == ("wait_a_minute", "It is 12.")
        assert anna.errors() == []


async def test_a_tool_that_hangs_ends_at_the_limit_of_the_room_and_the_agent_says_so() -> None:
    friday = react([call("wait_a_minute")], say("I cannot tell."), toolkit=Toolkit([wait_a_minute]))
    async with anna_in(salon(friday, floor=addressed)) as (home, anna):
        anna.write("What time is it?")
        await asyncio.sleep(32)
        (result,) = anna.of(s.AgentResponseToolResultEvent)
        assert result.tool_result.output_text() == "wait_a_minute gave no result within 30 s"
        await home.quiet()
        assert home.talk()[-1] == ("Friday", "I cannot tell.")


@pytest.mark.parametrize("fault", ["raises", "hangs"])
async def test_an_observer_that_cannot_observe_leaves_and_the_room_goes_on(fault: str) -> None:
    friday = Thoughtful("Friday")

    async def observing() -> None:
        if fault == "raises":
            raise KeyError("what was said")
        await asyncio.Event().wait()

    friday.observe_hook = observing
    async with anna_in(salon(agent("Alice", TalkModel("Fine.")), Observer(friday), floor=addressed)) as (home, anna):
        await anna.writes("Hello.")
        await asyncio.sleep(25)
        why = "observing a turn failed: KeyError" if fault == "raises" else "it took longer than 20 s to observe a turn"
        (error,) = anna.of(s.AgentErrorEvent)
        assert (error.message, error.code) == (f"Friday leaves the room: {why}", "observer_failed")
        assert [(one.name, one.reason) for one in anna.of(s.ServerRoomLeftEvent)] == [("Friday", "failed")]
        await anna.writes("Who is left?")
        assert home.speakers() == ["Alice", "Alice"]
        assert [one.name for one in home.room.agents] == ["Alice"]


async def test_a_slow_observer_holds_up_no_one_and_its_losses_are_counted() -> None:
    friday = Thoughtful("Friday")
    friday.observe_hook = lambda: asyncio.sleep(15)
    async with anna_in(
        salon(agent("Alice", TalkModel("Fine.")), Observer(friday), floor=addressed, max_agent_turns=0)
    ) as (home, anna):
        for number in range(MAX_WAITING + 10):
            anna.write(f"Line {number}.")
            await asyncio.sleep(0.6)
        assert [text for _, text in home.talk()] == [f"Line {number}." for number in range(MAX_WAITING + 10)]
        assert anna.errors() == ["observer_behind"]
        (_, described) = home.room.describe()["agents"]
        assert described["observes"] is True
        assert described["lost_turns"] == 10 - len(friday.observed) - 1 > 0


async def test_an_agent_with_a_chat_model_is_told_that_it_is_in_a_room_and_with_whom() -> None:
    friday = react(say("Hello."), sys_prompt="You know the office.")
    async with anna_in(salon(agent("Alice", TalkModel("Fine.")), Observer(friday), floor=addressed)) as (_, anna):
        await anna.writes("Friday, hello.")
        (request,) = requests_of(friday)
        told, said = request.texts
        assert told.startswith("You know the office.")
        assert "You are Friday, in a room with humans and these other agents: Alice." in told
        assert (request.messages[1]["name"], said) == ("Anna", "Friday, hello.")


async def test_its_tools_are_shown_and_know_the_call() -> None:
    async def look_it_up(context: ToolContext) -> str:
        """Look it up."""
        context.progress("It is in the second folder.")
        return f"{context.agent_name} found it."

    friday = react([call("look_it_up")], say("I have it."), toolkit=Toolkit([look_it_up]))
    async with anna_in(salon(Observer(friday), floor=addressed)) as (home, anna):
        await anna.writes("Friday, where is it?")
        (use,) = anna.of(s.AgentResponseToolUseDoneEvent)
        (progress,) = anna.of(s.AgentToolProgressEvent)
        (result,) = anna.of(s.AgentResponseToolResultEvent)
        assert use.tool_use.id == progress.tool_call_id == result.tool_result.id
        assert (progress.delta, result.tool_result.output_text()) == ("It is in the second folder.", "Friday found it.")
        assert home.talk()[-1] == ("Friday", "I have it.")


async def test_an_observer_is_a_participant_with_a_name_of_its_own() -> None:
    friday = Thoughtful("Friday")
    async with salon(agent("Alice", TalkModel("Fine.")), Observer(friday)) as home:
        anna = await home.come("Friday")
        expected = [("Friday 2", "human"), ("Alice", "agent"), ("Friday", "agent")]
        assert [(one.name, one.kind) for one in anna.of(s.ServerRoomJoinedEvent)] == expected
        with pytest.raises(ClientError, match="taken"):
            await home.room.observe(Thoughtful("friday"))
        assert [one.silent for one in home.room.participants] == [False, True, False]


def test_what_cannot_observe_is_no_observer() -> None:
    with pytest.raises(UsageError, match="cannot observe"):
        Observer(AgentBase())
    with pytest.raises(UsageError, match="takes agents"):
        ChatRoom(["Friday"])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="one name"):
        ChatRoom([Thoughtful("Friday"), Observer(Thoughtful("friday"))])


async def test_an_agent_is_in_one_room_at_a_time() -> None:
    friday = Thoughtful("Friday", "Here.")
    async with salon(friday, floor=addressed) as home:
        await home.come("Anna")
        async with salon(agent("Alice", TalkModel()), floor=addressed) as other:
            await other.come("Ben")
            with pytest.raises(UsageError, match="Friday is in another room or call"):
                await other.room.observe(friday)
            await home.room.remove(home.room.agent_participants[0].id)
            await other.room.observe(friday)
            other.humans[0].write("Friday, are you here?")
            await other.quiet()
            assert other.talk()[-1] == ("Friday", "Here.")


@pytest.mark.parametrize("at_s", [0.0, 0.5, 3.0])
async def test_nothing_runs_on_when_the_room_closes(at_s: float) -> None:
    """The watch for leaks sees that no task is left."""
    friday = react(model=ScriptedChat([TextBlock(text="Let me see. " * 5), call("look_up")], piece_s=0.1))
    robin = Thoughtful("Robin")
    robin.observe_hook = lambda: asyncio.sleep(15)
    friday.toolkit.register_tool_function(look_up)
    async with anna_in(salon(friday, Observer(robin), floor=addressed)) as (home, anna):
        anna.write("What time is it?")
        await asyncio.sleep(at_s)
        await anna.call.end("left")
        await home.room.close("over")
        assert (friday.is_replying, friday.voice_call, robin.voice_call) == (False, None, None)


async def test_a_room_without_a_server_stops_in_the_middle_of_a_reply() -> None:
    friday = react(model=ScriptedChat(say("One is first. Two is second. Three is third."), piece_s=0.5))
    async with salon(friday, floor=addressed) as home:
        await home.room.start(lambda _: None, name="Ann")
        await home.room.handle_input(c.ClientTextAppendEvent(text="Count."))
        await asyncio.sleep(2)
        assert friday.is_replying
        await home.room.stop()
        assert not friday.is_replying


async def test_an_observer_that_comes_later_gets_the_talk_so_far_and_nothing_twice() -> None:
    friday = Thoughtful("Friday", "I know.")
    async with anna_in(salon(agent("Alice", TalkModel("Fine.")), floor=addressed)) as (home, anna):
        await anna.writes("One.")
        await home.room.observe(friday)
        await settle()
        assert friday.observed == [("Anna", "One."), ("Alice", "Fine.")]
        await anna.writes("Friday, what do you know?")
        (found,) = [one for one in home.room.participants if one.name == "Friday"]
        await home.room.remove(found.id)
        await anna.writes("Two.")
        await home.room.observe(friday)
        await anna.writes("Three.")
        await settle()
        heard = [("Anna", "Friday, what do you know?"), ("Anna", "Two."), ("Alice", "Fine."), ("Anna", "Three.")]
        assert friday.observed[2:] == [*heard, ("Alice", "Fine.")]


async def test_an_agent_whose_reply_needs_a_message_gets_the_turn_that_it_answers_once() -> None:
    class Echo(AgentBase):
        """Its `reply` needs a message; it observes nothing."""

        async def reply(self, msg: Msg) -> Msg:
            return Msg(self.name, f"{msg.name} said: {msg.get_text_content()}", "assistant")

        async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
            return Msg(self.name, "", "assistant")

    class Attentive(Thoughtful):
        """It observes, and its `reply` needs a message."""

        async def reply(self, msg: Msg) -> Msg:  # type: ignore[override]
            return await super().reply(msg)

    async with anna_in(salon(Echo("Echo"), floor=addressed)) as (home, anna):
        anna.write("Hello.")
        await anna.writes("Is anyone there?")
        assert home.talk()[-1] == ("Echo", "Anna said: Is anyone there?")
        assert anna.errors() == []
    friday = Attentive("Friday", "Yes.")
    async with anna_in(salon(Observer(friday), agent("Alice", TalkModel("Fine.")), floor=addressed)) as (_, anna):
        for line in ("One.", "Friday, two.", "Three.", "Four."):
            await anna.writes(line)
        assert [msg.get_text_content() for msg in friday.asked] == ["Friday, two."]
        assert [text for _, text in friday.observed] == ["One.", "Fine.", "Three.", "Fine.", "Four."]

"""A thinking agent as the language model of the cascade: what is spoken, logged, interrupted and remembered."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from realtime.agent import AgentBase, ReActAgent
from realtime.agent.voice_reply import VoiceReply
from realtime.errors import ProviderError, UsageError
from realtime.event import ClientEvents, ServerEvents
from realtime.event import model as m
from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.memory import InMemoryMemory
from realtime.message import AssistantMsg, Msg, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, UserMsg
from realtime.message.msg import check_pairs
from realtime.model.base import ItemCreate, ItemTruncate, ResponseCancel, ResponseCreate
from realtime.model.local.chat import FormattedLanguageModel
from realtime.state.replies import ReplyProjection, messages
from realtime.testing.clock import run
from realtime.tool import ToolContext, Toolkit
from tests.agent.thinking import (
    PlainFormatter,
    ScriptedChat,
    SlowMemory,
    Steps,
    call,
    react,
    remembered,
    requests_of,
    say,
    shape,
    weather,
)
from tests.agent.voice import COSTS, SYNTHESIS_S, memory_of, talk, typed_item, voice_call
from tests.model.local.stand_ins import silence, speech, typed

pytestmark = pytest.mark.virtual_time(costs=COSTS)

STORY = "Once there was a lighthouse. It could not sleep. So it shone all night."
TURN = silence(400), speech(600), silence(1_000)


# -- what is spoken ----------------------------------------------------------------------------------------------------


async def test_words_are_spoken_sentence_by_sentence_as_they_come() -> None:
    async with voice_call(react(model=ScriptedChat(say(STORY), piece_s=0.1))) as one:
        await one.ask("Tell me a story")
    spoken = one.all(m.ModelResponseAudioTranscriptDeltaEvent)
    assert [event.delta for event in spoken] == [
        "Once there was a lighthouse.",
        " It could not sleep.",
        " So it shone all night.",
    ]
    # The last word of a sentence comes with the white space behind it: 0.1 s for each word, 0.02 s for the sound.
    assert [one.at(event) for event in spoken] == pytest.approx([0.62, 1.02, 1.42])


async def first_sound_s(language_model: Any) -> float:
    async with voice_call(language_model, mode="off") as one:
        await one.say(*TURN)
        await one.until(m.ModelResponseDoneEvent)
        return one.first_sound_s()


async def test_an_agent_answers_as_fast_as_its_chat_model_alone() -> None:
    """Turn end to first sound: the chat model's first sentence and its synthesis."""
    chat = ScriptedChat(say(STORY), piece_s=0.1)
    alone_s = await first_sound_s(FormattedLanguageModel(chat, PlainFormatter()))
    behind_agent_s = await first_sound_s(react(model=chat))
    assert alone_s == pytest.approx(0.6 + SYNTHESIS_S, abs=0.06)
    assert behind_agent_s - alone_s <= 0.02


async def test_tools_cost_the_time_that_they_take() -> None:
    chat = ScriptedChat([call("get_weather", "a", city="Oslo"), call("get_weather", "b", city="Rome")], say("Rain."))
    agent = react(model=chat, toolkit=weather(), parallel_tool_calls=True)
    async with talk(agent) as one:
        await one.type("How is the weather in Oslo and in Rome?")
        spoken = await one.until(ServerEvents.AgentResponseAudioDeltaEvent)
    assert one.at(spoken) <= 0.2 + SYNTHESIS_S + 0.05


@pytest.mark.parametrize("nothing", ["…", " . ", "***", "?!", "…\n\n---"])
async def test_an_answer_that_no_voice_can_say_is_asked_for_again_and_then_an_error(nothing: str) -> None:
    agent = react(say(nothing), say("Hi."))
    async with voice_call(agent) as one:
        done = await one.ask("Hello")
    assert done.status == "completed"
    assert one.said[-1].endswith("Hi.")
    assert "Answer now, in words." in requests_of(agent)[1].texts[-1]
    async with voice_call(react(say(nothing), max_iters=2)) as one:
        done = await one.ask("Hello")
    assert (done.status, [error.code for error in one.all(m.ModelErrorEvent)]) == ("failed", ["empty_answer"])


async def test_an_agent_of_ones_own_that_says_what_no_voice_can_say_is_an_error() -> None:
    class Silent(AgentBase):
        async def reply(self, *args: Any, **kwargs: Any) -> Msg:
            return AssistantMsg("Silent", "—")

    async with voice_call(Silent()) as one:
        done = await one.ask("Hello")
    assert (done.status, [error.code for error in one.all(m.ModelErrorEvent)]) == ("failed", ["empty_answer"])


async def test_thinking_is_told_and_not_spoken() -> None:
    agent = react([ThinkingBlock(thinking="They greet me."), TextBlock(text="Hello!")])
    async with voice_call(agent) as one:
        await one.ask("Hi")
    assert [event.thinking for event in one.all(m.ModelResponseThinkingDoneEvent)] == ["They greet me."]
    assert one.said == ["Hello!"]


async def test_it_is_called_by_its_name_and_its_models() -> None:
    async with talk(react(say("Hello."))) as one:
        ready = await one.until(ServerEvents.AgentReadyEvent)
    assert ready.model["model"] == "Friday on scripted"


# -- its tools ---------------------------------------------------------------------------------------------------------


def open_door(room: str) -> str:
    """Opens a door.

    Args:
        room: Which.
    """
    return f"{room} is open"


def orders(takes_s: float, ended: list[str]) -> Toolkit:
    """A tool that takes its time, and notes where it is cancelled."""

    async def order(dish: str) -> str:
        """Orders a dish.

        Args:
            dish: Which.
        """
        try:
            await asyncio.sleep(takes_s)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "ordered"

    return Toolkit([order])


async def test_its_tools_run_within_it_and_stand_in_the_log_like_any_with_what_each_response_cost() -> None:
    """The RealtimeAgent has no tool of this name, and shows the call and its result all the same."""
    agent = react(
        [TextBlock(text="Let me see."), call("get_weather", city="Oslo")], say("It rains in Oslo."), toolkit=weather()
    )
    async with talk(agent) as one:
        await one.ask("How is the weather in Oslo?", 2)
        assert one.story == [
            "says Let me see.",
            'calls get_weather({"city": "Oslo"})',
            "completed",
            "success: Oslo: rain",
            "says It rains in Oslo.",
            "completed",
        ]
        costs = [(done.input_tokens, done.output_tokens) for done in one.all(ServerEvents.AgentResponseDoneEvent)]
        assert costs == [(10, 5), (10, 5)]
        projection = ReplyProjection("call", created_at_of=str)
        replies = messages([reply for event in one.events for reply in projection.push(event)] + projection.settle())
        await asyncio.sleep(5)  # it is played
    assert shape(replies[-1].content) == shape((await remembered(agent))[-1].content)


async def test_what_a_tool_gives_and_notes_while_it_runs_is_progress_of_its_card() -> None:
    async def look(context: ToolContext) -> AsyncGenerator[str, None]:
        """Looks."""
        context.progress("the door opens")
        yield "a table"
        await asyncio.sleep(1)
        yield ", a chair"

    agent = react([call("look")], say("A table and a chair."), toolkit=Toolkit([look]))
    async with talk(agent) as one:
        await one.ask("What is there?", 2)
    assert one.story[1:6] == [
        "completed",
        "note: the door opens",
        "result: a table",
        "result: , a chair",
        "success: a table, a chair",
    ]


async def test_a_tool_that_says_something_is_heard_while_it_runs() -> None:
    async def search(context: ToolContext) -> str:
        """Searches."""
        context.say("This takes a moment.")
        await asyncio.sleep(5)
        return "found"

    async with talk(react([call("search")], say("Found."), toolkit=Toolkit([search]))) as one:
        await one.type("Search!")
        await one.until(ServerEvents.AgentResponseToolResultEvent)
    assert [line for line in one.story if line.startswith("says")] == ["says This takes a moment."]


async def test_a_tool_knows_the_call_that_it_runs_in() -> None:
    seen: list[ToolContext] = []

    async def who(context: ToolContext) -> str:
        """Tells who asks."""
        seen.append(context)
        return "you"

    async with talk(react([call("who")], say("You."), toolkit=Toolkit([who]))) as one:
        await one.ask("Who am I?", 2)
    assert seen[0].agent_name == "Robin"
    assert seen[0].call_id


async def test_calls_have_ids_of_their_own_whatever_the_chat_model_gives() -> None:
    agent = react([call("get_weather", city="Oslo")], say("Rain."), [call("get_weather", city="Rome")], say("Sun."))
    agent.toolkit.register(weather().tools["get_weather"].original_func)
    async with talk(agent) as one:
        for n, text in enumerate(("Oslo?", "And Rome?"), 1):
            await one.ask(text, 2 * n)
            await asyncio.sleep(5)
    calls = [event.tool_use.id for event in one.all(ServerEvents.AgentResponseToolUseDoneEvent)]
    assert len({*calls}) == 2
    assert [event.tool_result.id for event in one.all(ServerEvents.AgentResponseToolResultEvent)] == calls


async def test_tools_of_the_call_are_offered_too_and_run_in_the_call() -> None:
    """Such as those that need the user's consent, those of the client, and a hand-over."""
    agent = react(
        [call("get_weather", "a", city="Oslo"), call("open_door", "b", room="attic")], say("Done."), toolkit=weather()
    )
    toolkit = Toolkit()
    toolkit.register(open_door, consent="card")
    async with talk(agent, toolkit=toolkit) as one:
        await one.type("Open the attic")
        asked = await one.until(ServerEvents.AgentResponseToolUseDoneEvent, 2)
        assert (asked.tool_use.name, asked.tool_use.state) == ("open_door", "asking")
        await asyncio.sleep(3)
        assert len(one.all(ServerEvents.AgentResponseDoneEvent)) == 1
        one.agent._running().run.controller.responses.tool_calls.confirm(asked.tool_use.id, True)
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        await asyncio.sleep(2)  # it is played
    assert requests_of(agent)[0].tools == ["get_weather", "open_door"]
    assert sorted(one.story[3:5]) == ["success: Oslo: rain", "success: attic is open"]
    assert one.story[-2:] == ["says Done.", "completed"]
    assert (await memory_of(agent))[-1].endswith(
        'tool_call: open_door({"room": "attic"}) | tool_result: success Oslo: rain | '
        "tool_result: success attic is open | Done."
    )


async def test_pictures_of_a_camera_do_not_interrupt_a_tool() -> None:
    agent = react([call("get_weather", city="Oslo")], say("Rain."), toolkit=weather(), agent_class=Waiter)
    async with talk(agent.as_language_model(takes_images=True)) as one:
        await one.ask("Weather?")
        image = ClientEvents.ClientImageAppendEvent(image=b"\xff\xd8\xff")
        await one.agent.handle_input(image)
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
    assert agent.interruptions == 0
    assert one.story[-2:] == ["says Rain.", "completed"]
    (look,) = [block for msg in await remembered(agent) for block in msg.get_content_blocks("data")]
    assert look.source.media_type == "image/jpeg"


async def test_its_own_tool_comes_first_where_the_call_has_one_of_that_name() -> None:
    def get_weather(city: str) -> str:
        """Another one.

        Args:
            city: Where.
        """
        return "the call's"

    agent = react([call("get_weather", city="Oslo")], say("Rain."), toolkit=weather())
    async with talk(agent, toolkit=Toolkit([get_weather])) as one:
        await one.ask("Weather?", 2)
    assert "success: Oslo: rain" in one.story
    assert requests_of(agent)[0].tools == ["get_weather"]


async def test_the_instructions_of_the_call_follow_its_own() -> None:
    agent = react(say("Hello."))
    async with talk(agent, sys_prompt="Speak English.") as one:
        await one.ask("Hi")
    assert requests_of(agent)[0].texts == ["Be brief.\n\nSpeak English.", "Hi"]
    assert agent.from_call is None
    await agent(UserMsg("user", "And now in writing"))
    assert requests_of(agent)[1].texts[0] == "Be brief."


async def test_a_call_with_its_own_prompt_tells_it_once() -> None:
    agent = react(say("Hello."), sys_prompt="Be kind.")
    async with voice_call(agent) as one:
        await one.ask("Hi")
    assert requests_of(agent)[0].texts[0] == "Be kind."


# -- interruptions -----------------------------------------------------------------------------------------------------


async def test_speech_interrupts_it_and_it_remembers_what_was_heard() -> None:
    agent = react(model=ScriptedChat(say(STORY), say("Fine."), piece_s=0.3))
    async with voice_call(agent, "please stop") as one:
        one.send(typed("Tell me a story"), ResponseCreate())
        audio = await one.until(m.ModelResponseAudioDeltaEvent)
        assert agent.is_replying
        await one.say(silence(400), speech(600))
        assert (await one.until(m.ModelResponseDoneEvent)).status == "cancelled"
        assert not agent.is_replying
        one.send(ItemTruncate(audio.item_id, 400, "Once there"))
        await one.say(silence(1_000))
        await one.until(m.ModelResponseDoneEvent, 2)
    assert requests_of(agent)[1].texts[1:] == ["Tell me a story", "Once there", "please stop"]
    assert await memory_of(agent) == [
        "user: Tell me a story",
        "assistant: Once there",
        "user: please stop",
        "assistant: Fine.",
    ]


REST = Item(
    id="rest",
    role="assistant",
    content=(ContentPart(type="audio", transcript="It could not sleep. So it shone all night."),),
)


@pytest.mark.parametrize(
    ("changes", "remembers"),
    [
        ([(1_400, "Once there was a lighthouse. It could")], "Once there was a lighthouse. It could"),
        ([(1_000, "Once there was a lighthouse."), REST], STORY),
    ],
    ids=["cut", "false-interruption"],
)
async def test_a_reply_that_was_given_long_ago_is_remembered_as_far_as_it_was_played(
    changes: list[tuple[int, str] | Item], remembers: str
) -> None:
    """After a false interruption the rest is played as an item of its own, as `Responses.resume` does it."""
    agent = react(say(STORY), say("Fine."))
    async with voice_call(agent, "please stop") as one:
        await one.ask("Tell me a story")
        audio = one.all(m.ModelResponseAudioDeltaEvent)[0]
        assert (await memory_of(agent))[-1] == f"assistant: {STORY}"
        for change in changes:
            one.send(ItemCreate(change) if isinstance(change, Item) else ItemTruncate(audio.item_id, *change))
        await one.say(*TURN)
        await one.until(m.ModelResponseDoneEvent, 2)
    assert (await memory_of(agent))[1] == f"assistant: {remembers}"


async def test_a_reply_that_goes_on_after_a_lost_rest_is_one_conversation() -> None:
    """The agent was interrupted, the voice meant nothing: the call asks it to go on."""
    agent = react(model=ScriptedChat(say(STORY), say("It could not sleep."), say("Good."), piece_s=0.3))
    async with voice_call(agent, "nice story") as one:
        one.send(typed("Tell me a story"), ResponseCreate())
        audio = await one.until(m.ModelResponseAudioDeltaEvent)
        one.send(ResponseCancel(), ItemTruncate(audio.item_id, 1_000, "Once there was a lighthouse."))
        go_on = Item(id="go on", role="system", content=(ContentPart(type="text", text="Go on where you stopped."),))
        one.send(ItemCreate(go_on), ResponseCreate())
        await one.until(m.ModelResponseDoneEvent, 2)
        assert one.said[-1] == "It could not sleep."
        assert requests_of(agent)[1].texts[2:] == [
            "Once there was a lighthouse.",
            "Go on where you stopped.",
            "(Please go on.)",
        ]


class Waiter(ReActAgent):
    """Notes that it was interrupted, and how its tool ended."""

    interruptions = 0

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        self.interruptions += 1
        return await super().handle_interrupt(*args, **kwargs)


async def test_a_tool_of_the_call_before_one_of_the_agent_holds_up_neither() -> None:
    agent = react(
        [call("open_door", "a", room="attic"), call("get_weather", "b", city="Oslo")], say("Done."), toolkit=weather()
    )
    async with talk(agent, toolkit=Toolkit([open_door])) as one:
        await one.ask("Open the attic, and how is Oslo?", 2)
    assert one.story[-2:] == ["says Done.", "completed"]


async def test_the_state_of_an_agent_is_not_loaded_into_a_running_call() -> None:
    agent = react(say("Hello."))
    async with talk(agent) as one:
        await one.ask("Hello")
        with pytest.raises(UsageError, match="is in a call: load a state before it"):
            agent.load_state_dict(agent.state_dict())


async def test_a_slow_tool_of_the_agent_gets_a_filler() -> None:
    agent = react([call("order", dish="soup")], say("It is ordered."), toolkit=orders(3, []))
    async with talk(agent, fillers=["One moment."]) as one:
        await one.ask("Soup please", 3)
    said = [line for line in one.story if line.startswith(("says", "success"))]
    assert said == ["says One moment.", "success: ordered", "says It is ordered."]


async def test_what_the_user_says_while_a_tool_runs_interrupts_it() -> None:
    ended: list[str] = []

    agent = react([call("order", dish="soup")], say("No soup then."), toolkit=orders(30, ended), agent_class=Waiter)
    async with talk(agent) as one:
        await one.ask("Soup please")
        await asyncio.sleep(1)
        await one.ask("No, no soup", 2)
        await asyncio.sleep(2)  # it is played
    assert ended == ["cancelled"]
    assert agent.interruptions == 1
    assert one.story == [
        'calls order({"dish": "soup"})',
        "completed",
        "interrupted: interrupted by the user",
        "says No soup then.",
        "completed",
    ]
    assert await memory_of(agent) == [
        "user: Soup please",
        'assistant: tool_call: order({"dish": "soup"}) | tool_result: interrupted <system-info>The tool call has been '
        "interrupted by the user.</system-info>",
        "user: No, no soup",
        "assistant: No soup then.",
    ]


async def test_a_client_that_cancels_stops_the_tool() -> None:
    agent = react([call("get_weather", city="Oslo")], say("Rain."), toolkit=weather(), agent_class=Waiter)
    async with talk(agent) as one:
        done = await one.ask("Weather?")
        await one.agent.handle_input(ClientEvents.ClientResponseCancelEvent(response_id=done.response_id))
        await asyncio.sleep(2)
    assert agent.interruptions == 1
    assert len(requests_of(agent)) == 1


async def test_an_agent_that_does_not_let_go_holds_nothing_up_for_long() -> None:
    class Stubborn(ReActAgent):
        async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
            await asyncio.sleep(1_000)
            raise AssertionError

    agent = react(model=ScriptedChat(say(STORY), say("Fine."), piece_s=0.3), agent_class=Stubborn)
    async with voice_call(agent, "please stop") as one:
        one.send(typed("Tell me a story"), ResponseCreate())
        await one.until(m.ModelResponseAudioDeltaEvent)
        await one.say(*TURN)
        await one.until(m.ModelResponseDoneEvent, 2)
        assert one.said[-1] == "Fine."
        assert one.first_sound_s() < 2.5


# -- where a call begins -----------------------------------------------------------------------------------------------


async def test_a_restored_call_primes_an_empty_memory() -> None:
    spoken = Item(id="i2", role="assistant", content=(ContentPart(type="audio", transcript="Hello Ann."),))
    agent = react(say("You are Ann."))
    async with voice_call(agent, history=[typed_item("i1", "I am Ann"), spoken]) as one:
        await one.ask("Who am I?")
    assert requests_of(agent)[0].texts[1:] == ["I am Ann", "Hello Ann.", "Who am I?"]


async def test_a_memory_that_was_saved_with_the_call_is_not_told_twice() -> None:
    first = react(say("Hello Ann."))
    async with voice_call(first) as one:
        one.send(typed("I am Ann", "i1"), ResponseCreate())
        done = await one.until(m.ModelResponseAudioTranscriptDoneEvent)
    second = react(say("You are Ann."))
    second.load_state_dict(first.state_dict())
    spoken = Item(id=done.item_id, role="assistant", content=(ContentPart(type="audio", transcript="Hello Ann."),))
    async with voice_call(second, history=[typed_item("i1", "I am Ann"), spoken]) as one:
        await one.ask("Who am I?")
    assert requests_of(second)[0].texts[1:] == ["I am Ann", "Hello Ann.", "Who am I?"]


async def test_it_greets_where_nobody_has_said_anything() -> None:
    agent = react(say("Good morning."), say("Fine, and you?"))
    async with voice_call(agent) as one:
        one.send(ResponseCreate(ResponseOverrides(instructions="Greet the caller.")))
        await one.until(m.ModelResponseDoneEvent)
        assert requests_of(agent)[0].texts == [
            "Be brief.\n\nGreet the caller.",
            "(The caller is on the line and listens.)",
        ]
        await one.ask("How are you?", 2)
    assert requests_of(agent)[1].texts[2:] == ["Good morning.", "How are you?"]


async def test_a_response_beside_the_conversation_leaves_the_agent_alone() -> None:
    agent = react(say("A summary."))
    beside = ResponseOverrides(conversation="none", instructions="Sum it up.")
    async with voice_call(agent) as one:
        one.send(typed("Hello"), ResponseCreate(beside))
        await one.until(m.ModelResponseDoneEvent)
    assert one.said == ["A summary."]
    assert requests_of(agent)[0].texts == ["Sum it up.", "Hello"]
    assert await memory_of(agent) == []


# -- what goes wrong ---------------------------------------------------------------------------------------------------


async def test_a_chat_model_that_fails_fails_its_response_and_not_the_call() -> None:
    agent = react(ProviderError("out of order", code="out_of_order"), say("Here I am."))
    async with voice_call(agent) as one:
        done = await one.ask("Hello")
        assert (done.status, done.status_details) == ("failed", {"reason": "out_of_order"})
        await one.ask("Hello?", 2, item_id="again")
    assert one.said == ["Here I am."]
    assert requests_of(agent)[1].texts[1:] == ["Hello", "Hello?"]


async def test_an_agent_that_gives_another_reply_says_so() -> None:
    agent = react(model=ScriptedChat(say(STORY), piece_s=1))
    async with voice_call(agent) as one:
        elsewhere = asyncio.create_task(agent(UserMsg("user", "In writing, please")))
        await asyncio.sleep(0.5)
        done = await one.ask("Hello")
        assert (done.status, done.status_details) == ("failed", {"reason": "agent_replying"})
        assert (await elsewhere).get_text_content() == STORY


async def test_one_agent_serves_one_call_at_a_time() -> None:
    agent = react(say("Hello."))
    async with voice_call(agent):
        with pytest.raises(UsageError, match="Friday is in another call: an agent has one memory") as refused:
            async with voice_call(agent):
                pass
        assert refused.value.code == "agent_in_call"
    async with voice_call(agent) as one:
        await one.ask("Hello")
    assert one.said == ["Hello."]


async def test_a_function_makes_an_agent_for_each_call() -> None:
    made: list[ReActAgent] = []

    def make() -> ReActAgent:
        made.append(react(say(f"I am number {len(made)}.")))
        return made[-1]

    async with voice_call(make) as first, voice_call(make) as second:
        for one in (first, second):
            await one.ask("Who are you?")
    assert (first.said, second.said) == (["I am number 0."], ["I am number 1."])
    assert [len(await remembered(agent)) for agent in made] == [2, 2]


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.5, 1.0, 2.0])
async def test_a_call_that_ends_leaves_nothing_of_the_agent_behind(after_s: float) -> None:
    agent = react([TextBlock(text="Let me see."), call("get_weather", city="Oslo")], say(STORY), toolkit=weather())
    before = asyncio.all_tasks()
    async with voice_call(agent) as one:
        one.send(typed("Weather?"), ResponseCreate())
        await asyncio.sleep(after_s)
    assert asyncio.all_tasks() == before
    assert not agent.is_replying
    assert agent.voice_call is None


# -- agents of other kinds ---------------------------------------------------------------------------------------------


class Parrot(AgentBase):
    """Repeats what it hears, and remembers all of it."""

    def __init__(self, *, remembers: bool = True) -> None:
        super().__init__("Polly")
        self.memory = InMemoryMemory() if remembers else None
        self.heard: list[str] = []
        self.set_console_output_enabled(False)

    async def reply(self, msg: Msg | list[Msg] | None = None) -> Msg:
        given = [msg] if isinstance(msg, Msg) else msg or []
        self.heard += [one.get_text_content() or "" for one in given]
        answer = AssistantMsg(self.name, f"{self.heard[-1]}! {self.heard[-1]}!")
        if self.memory is not None:
            await self.memory.add(given)
            await self.memory.add(answer)
        return answer

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        return AssistantMsg(self.name, "Squawk.")


@pytest.mark.parametrize("remembers", [True, False])
async def test_any_agent_can_be_spoken_to(remembers: bool) -> None:
    agent = Parrot(remembers=remembers)
    async with voice_call(agent, "good day") as one:
        for turn in (1, 2):
            await one.say(*TURN)
            await one.until(m.ModelResponseDoneEvent, turn)
            await asyncio.sleep(3)
        assert one.drafts.started == 0
    assert one.said == ["good day! good day!"] * 2
    assert agent.heard == ["good day"] * 2


class Documented(AgentBase):
    """Written as docs/agents.md writes an agent: its reply takes one message."""

    def __init__(self, *, remembers: bool) -> None:
        super().__init__("Clara")
        self.memory = InMemoryMemory() if remembers else None
        self.heard: list[str] = []
        self.set_console_output_enabled(False)

    async def reply(self, msg: Msg) -> Msg:
        text = msg.get_text_content() or ""
        self.heard.append(text)
        answer = AssistantMsg(self.name, "And then it slept.")
        if self.memory is not None:
            await self.memory.add([msg, answer])
        return answer


HINT = Item(id="hint", role="system", content=(ContentPart(type="text", text="Go on where you stopped."),))
AGAIN = Item(id="again", role="user", content=(ContentPart(type="text", text="Anyone there?"),))
CALLED = Item(id="call", type="tool_call", role="assistant", tool_call=ToolCallBlock(id="c1", name="look", input="{}"))
LOOKED = Item(id="result", type="tool_result", tool_result=ToolResultBlock(id="c1", name="look", output="It is dark."))


@pytest.mark.parametrize("remembers", [True, False], ids=["memory", "no-memory"])
@pytest.mark.parametrize(
    ("unanswered", "heard"),
    [
        ([typed("Tell me a story."), ItemCreate(HINT)], ["Tell me a story.", "Go on where you stopped."]),
        ([ItemCreate(HINT)], ["Go on where you stopped.", "(The caller is on the line and listens.)"]),
        ([typed("Hello?"), ItemCreate(AGAIN)], ["Hello?", "Anyone there?"]),
        ([ItemCreate(CALLED), ItemCreate(LOOKED)], ["(The caller is on the line and listens.)"]),
    ],
    ids=["resumed", "resumed-greeting", "two-turns", "after-tools"],
)
async def test_an_agent_gets_one_message_whatever_else_is_unanswered(
    unanswered: list[ItemCreate], heard: list[str], remembers: bool
) -> None:
    agent = Documented(remembers=remembers)
    async with voice_call(agent) as one:
        one.send(*unanswered, ResponseCreate())
        done = await one.until(m.ModelResponseDoneEvent)
    assert (done.status, one.said) == ("completed", ["And then it slept."])
    assert [line for text in agent.heard for line in text.split("\n")] == (heard[-1:] if remembers else heard)
    if remembers:
        remembered = await memory_of(agent)
        assert [one.partition(": ")[2] for one in remembered if not one.startswith("assistant: (")][-2:] == [
            heard[-1],
            "And then it slept.",
        ]
        assert all(any(text in one for one in remembered) for text in heard)


async def test_the_memory_of_any_agent_keeps_what_was_heard() -> None:
    agent = Parrot()
    async with voice_call(agent, "good day") as one:
        await one.ask("hello")
        one.send(ItemTruncate(one.all(m.ModelResponseAudioDeltaEvent)[0].item_id, 500, "hello!"))
        await one.say(*TURN)
        await one.until(m.ModelResponseDoneEvent, 2)
    assert (await memory_of(agent))[1] == "assistant: hello!"


async def test_an_agent_without_a_chat_model_answers_in_the_conversation_only() -> None:
    async with voice_call(Parrot()) as one:
        one.send(typed("hello"), ResponseCreate(ResponseOverrides(conversation="none")))
        done = await one.until(m.ModelResponseDoneEvent)
    assert (done.status, done.status_details) == ("failed", {"reason": "unsupported_response"})


# -- a whole call ------------------------------------------------------------------------------------------------------


async def test_a_user_who_interrupts_by_voice_is_answered_by_an_agent_that_knows_what_was_heard() -> None:
    agent = react(say(STORY), say("Fine."))
    async with talk(agent, "please stop now") as one:
        await one.type("Tell me a story")
        await one.until(ServerEvents.AgentResponseAudioDeltaEvent)
        await one.speak(silence(1_200), speech(900), silence(1_500))
        await asyncio.sleep(2)
        cut = one.all(ServerEvents.AgentItemTruncatedEvent)[-1]
    assert STORY.startswith(cut.transcript)
    assert await memory_of(agent) == [
        "user: Tell me a story",
        f"assistant: {cut.transcript}",
        "user: please stop now",
        "assistant: Fine.",
    ]


@pytest.mark.parametrize("words", ["mhm", ""], ids=["backchannel", "cough"])
async def test_a_voice_that_asks_for_nothing_leaves_the_agents_memory_as_if_it_had_not_been(words: str) -> None:
    """Even where the agent had begun to answer it, and the rest of its reply was played as another item."""
    agent = react(say(STORY), say("Pardon?"), say("Bye."))
    async with talk(agent, words) as one:
        await one.type("Tell me a story")
        await one.until(ServerEvents.AgentResponseAudioDeltaEvent)
        await one.speak(silence(1_200), speech(900), silence(1_500))
        await asyncio.sleep(4)
        await one.type("Bye")
        await asyncio.sleep(3)
    assert (await memory_of(agent))[:3] == ["user: Tell me a story", f"assistant: {STORY}", "user: Bye"]
    assert len(await memory_of(agent)) == 4


async def _interrupted_at(step: int, *, ends: bool) -> int:
    """Cancel the response, or end the call, after so many steps of its tasks; returns how many there were."""
    answers = [TextBlock(text="Let me see."), call("get_weather", city="Oslo")], say("It rains."), say("Fine.")
    agent = react(model=ScriptedChat(*answers, piece_s=0.05), toolkit=weather(), memory=SlowMemory())
    before = asyncio.all_tasks()
    async with voice_call(agent) as one:

        def go_on(event: m.ModelEvent) -> None:
            if isinstance(event, m.ModelItemDoneEvent):
                asyncio.get_running_loop().call_soon(one.send, ResponseCreate())

        one.on_event = None if ends else go_on
        loop = asyncio.get_running_loop()
        closing: list[asyncio.Task[None]] = []

        def act() -> None:
            if ends:
                closing.append(loop.create_task(one.connection.close()))
            else:
                one.send(ResponseCancel())

        with Steps(step, act) as steps:
            one.send(typed("Weather?"), ResponseCreate())
            await asyncio.sleep(5)
        if not ends:
            one.on_event = None
            one.send(ResponseCancel(), typed("And now?", "again"), ResponseCreate())
            await asyncio.sleep(5)
            assert one.all(m.ModelResponseDoneEvent)[-1].status == "completed"
        await asyncio.gather(*closing)
    assert asyncio.all_tasks() == before
    assert not agent.is_replying
    messages = await remembered(agent)
    assert check_pairs(messages) == []
    calls = [block for msg in messages for block in msg.get_content_blocks("tool_call")]
    assert len(calls) == sum(len(msg.get_content_blocks("tool_result")) for msg in messages)
    if not ends:
        said = [text for msg in messages if msg.role == "assistant" for text in [msg.get_text_content()] if text]
        assert "".join("".join(said).split()) == "".join("".join(one.said).split())
    return steps.count


@pytest.mark.parametrize("ends", [False, True], ids=["cancelled", "call ends"])
def test_wherever_it_is_stopped_nothing_is_left_open(ends: bool) -> None:
    """At every step of every task of the call and the agent."""
    n_steps = run(_interrupted_at(0, ends=ends), costs=COSTS)
    assert n_steps > 20
    for step in range(1, n_steps + 1):
        run(_interrupted_at(step, ends=ends), costs=COSTS)


async def test_replies_are_freed_without_the_collector() -> None:
    """They refer to the call, through the scope of their tools."""
    agent = react([call("get_weather", city="Oslo")], say("Rain."), say("Bye."), toolkit=weather())
    gc.collect()
    gc.disable()
    try:
        async with talk(agent) as one:
            await one.ask("Weather?", 2)
        await asyncio.sleep(1)
        assert [one for one in gc.get_objects() if type(one) is VoiceReply] == []
    finally:
        gc.enable()

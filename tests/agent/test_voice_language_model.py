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
from realtime.message import AssistantMsg, Msg, TextBlock, ThinkingBlock, UserMsg
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
from tests.agent.voice import COSTS, SYNTHESIS_S, Talk, VoiceCall, memory_of, talk, typed_item, voice_call
from tests.model.local.stand_ins import silence, speech, typed
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(costs=COSTS)

STORY = "Once there was a lighthouse. It could not sleep. So it shone all night."
TURN = silence(400), speech(600), silence(1_000)
TO_OSLO = call("get_weather", city="Oslo")
LET_ME_SEE = TextBlock(text="Let me see.")


async def ask(one: VoiceCall, text: str = "Hello", n: int = 1) -> m.ModelResponseDoneEvent:
    """A typed question, the `n`-th, and the end of its answer."""
    one.send(typed(text, f"question {n}"), ResponseCreate())
    done: m.ModelResponseDoneEvent = await one.until(m.ModelResponseDoneEvent, n)
    return done


async def asked(one: Talk, text: str, responses: int) -> ServerEvents.AgentResponseDoneEvent:
    """A typed question of a whole call, and the end of so many responses."""
    await one.type(text)
    done: ServerEvents.AgentResponseDoneEvent = await one.until(ServerEvents.AgentResponseDoneEvent, responses)
    return done


def spoken_item(item_id: str, text: str) -> Item:
    return Item(id=item_id, role="assistant", content=(ContentPart(type="audio", transcript=text),))


async def open_door(room: str) -> str:
    """Opens a door."""
    return f"{room} is open"


async def test_words_are_spoken_sentence_by_sentence_as_they_come() -> None:
    async with voice_call(react(model=ScriptedChat(say(STORY), piece_s=0.1))) as one:
        await ask(one, "Tell me a story")
    spoken = one.all(m.ModelResponseAudioTranscriptDeltaEvent)
    sentences = ["Once there was a lighthouse.", " It could not sleep.", " So it shone all night."]
    assert [event.delta for event in spoken] == sentences
    # The last word of a sentence comes with the white space behind it: 0.1 s for each word, 0.02 s for the sound.
    assert [one.at(event) for event in spoken] == pytest.approx([0.62, 1.02, 1.42])


async def first_sound_s(language_model: Any) -> float:
    async with voice_call(language_model, mode="off") as one:
        await one.say(*TURN)
        await one.until(m.ModelResponseDoneEvent)
        return one.first_sound_s()


async def test_an_agent_answers_as_fast_as_its_chat_model_alone_and_its_tools() -> None:
    """Turn end to first sound: the chat model's first sentence and its synthesis."""
    chat = ScriptedChat(say(STORY), piece_s=0.1)
    alone_s = await first_sound_s(FormattedLanguageModel(chat, PlainFormatter()))
    behind_agent_s = await first_sound_s(react(model=chat))
    assert alone_s == pytest.approx(0.6 + SYNTHESIS_S, abs=0.06)
    assert behind_agent_s - alone_s <= 0.02
    calls = [call("get_weather", "a", city="Oslo"), call("get_weather", "b", city="Rome")]
    async with talk(react(calls, say("Rain."), toolkit=weather(), parallel_tool_calls=True)) as one:
        asked_s = asyncio.get_running_loop().time()
        await one.type("How is the weather in Oslo and in Rome?")
        spoken = await one.until(ServerEvents.AgentResponseAudioDeltaEvent)
    assert one.at(spoken) - asked_s <= 0.2 + SYNTHESIS_S + 0.05


async def test_thinking_is_told_and_not_spoken() -> None:
    agent = react([ThinkingBlock(thinking="They greet me."), TextBlock(text="Hello!")])
    async with voice_call(agent) as one:
        await ask(one)
    assert [event.thinking for event in one.all(m.ModelResponseThinkingDoneEvent)] == ["They greet me."]
    assert one.said == ["Hello!"]


async def test_its_tools_run_within_it_and_stand_in_the_log_like_any() -> None:
    """The RealtimeAgent has no tool of this name, and shows the call and its result all the same.

    Each response tells what it cost; the call tells the agent's name and its model's.
    """
    agent = react([LET_ME_SEE, TO_OSLO], say("It rains in Oslo."), toolkit=weather())
    async with talk(agent) as one:
        await asked(one, "How is the weather in Oslo?", 2)
        assert one.story == [
            "says Let me see.",
            'calls get_weather({"city": "Oslo"})',
            "completed",
            "success: Oslo: rain",
            "says It rains in Oslo.",
            "completed",
        ]
        projection = ReplyProjection("call", created_at_of=str)
        replies = messages([reply for event in one.events for reply in projection.push(event)] + projection.settle())
        await asyncio.sleep(5)  # it is played
    assert shape(replies[-1].content) == shape((await remembered(agent))[-1].content)
    costs = [(done.input_tokens, done.output_tokens) for done in one.all(ServerEvents.AgentResponseDoneEvent)]
    assert costs == [(10, 5)] * 2
    assert one.all(ServerEvents.AgentReadyEvent)[0].model["model"] == "Friday on scripted"


async def test_what_a_tool_gives_and_notes_while_it_runs_is_progress_of_its_card() -> None:
    async def look(context: ToolContext) -> AsyncGenerator[str, None]:
        """Looks."""
        context.progress("the door opens")
        yield "a table"
        await asyncio.sleep(1)
        yield ", a chair"

    agent = react([call("look")], say("A table and a chair."), toolkit=Toolkit([look]))
    async with talk(agent) as one:
        await one.type("What is there?")
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
    assert one.story[1:6] == [
        "completed",
        "note: the door opens",
        "result: a table",
        "result: , a chair",
        "success: a table, a chair",
    ]


async def test_a_tool_knows_its_call_and_what_it_says_is_heard_while_it_runs() -> None:
    seen: list[ToolContext] = []

    async def search(context: ToolContext) -> str:
        """Searches."""
        seen.append(context)
        context.say("This takes a moment.")
        await asyncio.sleep(5)
        return "found"

    async with talk(react([call("search")], say("Found."), toolkit=Toolkit([search]))) as one:
        await one.type("Search!")
        await one.until(ServerEvents.AgentResponseToolResultEvent)
    assert [line for line in one.story if line.startswith("says")] == ["says This takes a moment."]
    assert seen[0].agent_name == "Robin"
    assert seen[0].call_id


async def test_calls_have_ids_of_their_own_whatever_the_chat_model_gives() -> None:
    agent = react([TO_OSLO], say("Rain."), [call("get_weather", city="Rome")], say("Sun."), toolkit=weather())
    async with talk(agent) as one:
        for n, text in enumerate(("Oslo?", "And Rome?"), 1):
            await asked(one, text, 2 * n)
            await asyncio.sleep(5)
    calls = [event.tool_use.id for event in one.all(ServerEvents.AgentResponseToolUseDoneEvent)]
    assert len({*calls}) == 2
    assert [event.tool_result.id for event in one.all(ServerEvents.AgentResponseToolResultEvent)] == calls


async def test_tools_of_the_call_are_offered_too_and_run_in_the_call() -> None:
    """Such as those that need the user's consent, those of the client, and a hand-over."""
    calls = [call("get_weather", "a", city="Oslo"), call("open_door", "b", room="attic")]
    agent = react(calls, say("Done."), toolkit=weather())
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


async def test_pictures_of_a_camera_do_not_interrupt_a_tool_but_a_client_that_cancels_stops_it() -> None:
    agent = react([TO_OSLO], say("Rain."), [TO_OSLO], say("never"), toolkit=weather(), agent_class=Waiter)
    async with talk(agent.as_language_model(takes_images=True)) as one:
        await asked(one, "Weather?", 1)
        await one.agent.handle_input(ClientEvents.ClientImageAppendEvent(image=b"\xff\xd8\xff"))
        await one.until(ServerEvents.AgentResponseDoneEvent, 2)
        assert agent.interruptions == 0
        assert one.story[-2:] == ["says Rain.", "completed"]
        await asyncio.sleep(5)
        done = await asked(one, "And now?", 3)
        await one.agent.handle_input(ClientEvents.ClientResponseCancelEvent(response_id=done.response_id))
        await asyncio.sleep(2)
    assert agent.interruptions == 1
    assert len(requests_of(agent)) == 3
    (look,) = [block for msg in await remembered(agent) for block in msg.get_content_blocks("data")]
    assert look.source.media_type == "image/jpeg"


async def test_the_instructions_of_the_call_follow_its_own_and_are_told_once() -> None:
    agent = react(say("Hello."))
    async with talk(agent, sys_prompt="Speak English.") as one:
        await asked(one, "Hi", 1)
    assert requests_of(agent)[0].texts == ["Be brief.\n\nSpeak English.", "Hi"]
    assert agent.from_call is None
    await agent(UserMsg("user", "And now in writing"))
    assert requests_of(agent)[1].texts[0] == "Be brief."
    same = react(say("Hello."), sys_prompt="Be kind.")
    async with voice_call(same) as call_:
        await ask(call_)
    assert requests_of(same)[0].texts[0] == "Be kind."


REST = Item(
    id="rest",
    role="assistant",
    content=(ContentPart(type="audio", transcript="It could not sleep. So it shone all night."),),
)


@pytest.mark.parametrize(
    ("heard", "then", "remembers"),
    [
        ("Once there was a lighthouse. It could", (), "Once there was a lighthouse. It could"),
        # A false interruption: the rest is played as an item of its own, as `Responses.resume` does it.
        ("Once there was a lighthouse.", (ItemCreate(REST),), STORY),
    ],
    ids=["interrupted", "false-interruption"],
)
async def test_a_reply_that_was_given_long_ago_is_remembered_as_far_as_it_is_played(
    heard: str, then: tuple[ItemCreate, ...], remembers: str
) -> None:
    agent = react(say(STORY), say("Fine."))
    async with voice_call(agent, "please stop") as one:
        await ask(one, "Tell me a story")
        audio = one.all(m.ModelResponseAudioDeltaEvent)[0]
        assert (await memory_of(agent))[-1] == f"assistant: {STORY}"
        one.send(ItemTruncate(audio.item_id, 1_400, heard), *then)
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
    """Where both have one of a name, the agent's own comes first."""

    def get_weather(city: str) -> str:
        """Another one."""
        return "the call's"

    calls = [call("open_door", "a", room="attic"), call("get_weather", "b", city="Oslo")]
    agent = react(calls, say("Done."), toolkit=weather())
    async with talk(agent, toolkit=Toolkit([open_door, get_weather])) as one:
        await asked(one, "Open the attic, and how is Oslo?", 2)
    assert one.story[-2:] == ["says Done.", "completed"]
    assert "success: Oslo: rain" in one.story
    assert requests_of(agent)[0].tools == ["get_weather", "open_door"]


async def test_a_slow_tool_of_the_agent_gets_a_filler() -> None:
    async def order(dish: str) -> str:
        """Orders a dish."""
        await asyncio.sleep(3)
        return "ordered"

    agent = react([call("order", dish="soup")], say("It is ordered."), toolkit=Toolkit([order]))
    async with talk(agent, fillers=["One moment."]) as one:
        await asked(one, "Soup please", 3)
    said = [line for line in one.story if line.startswith(("says", "success"))]
    assert said == ["says One moment.", "success: ordered", "says It is ordered."]


async def test_what_the_user_says_while_a_tool_runs_interrupts_it() -> None:
    ended: list[str] = []

    async def order(dish: str) -> str:
        """Orders a dish."""
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "ordered"

    agent = react([call("order", dish="soup")], say("No soup then."), toolkit=Toolkit([order]), agent_class=Waiter)
    async with talk(agent) as one:
        await asked(one, "Soup please", 1)
        await asyncio.sleep(1)
        await asked(one, "No, no soup", 2)
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


async def test_a_memory_that_was_saved_with_the_call_is_not_told_twice() -> None:
    first = react(say("Hello Ann."))
    async with voice_call(first) as one:
        one.send(typed("I am Ann", "i1"), ResponseCreate())
        done = await one.until(m.ModelResponseAudioTranscriptDoneEvent)
    second = react(say("You are Ann."))
    second.load_state_dict(first.state_dict())
    history = [typed_item("i1", "I am Ann"), spoken_item(done.item_id, "Hello Ann.")]
    async with voice_call(second, history=history) as one:
        await ask(one, "Who am I?")
    assert requests_of(second)[0].texts[1:] == ["I am Ann", "Hello Ann.", "Who am I?"]


async def test_it_greets_where_nobody_has_said_anything() -> None:
    agent = react(say("Good morning."), say("Fine, and you?"))
    async with voice_call(agent) as one:
        one.send(ResponseCreate(ResponseOverrides(instructions="Greet the caller.")))
        await one.until(m.ModelResponseDoneEvent)
        greeting = ["Be brief.\n\nGreet the caller.", "(The caller is on the line and listens.)"]
        assert requests_of(agent)[0].texts == greeting
        await ask(one, "How are you?", 2)
    assert requests_of(agent)[1].texts[2:] == ["Good morning.", "How are you?"]


async def test_a_response_beside_the_conversation_leaves_the_agent_alone_and_needs_a_chat_model() -> None:
    agent = react(say("A summary."))
    beside = ResponseCreate(ResponseOverrides(conversation="none", instructions="Sum it up."))
    async with voice_call(agent) as one:
        one.send(typed("Hello"), beside)
        await one.until(m.ModelResponseDoneEvent)
    assert one.said == ["A summary."]
    assert requests_of(agent)[0].texts == ["Sum it up.", "Hello"]
    assert await memory_of(agent) == []
    async with voice_call(Parrot()) as other:
        other.send(typed("hello"), beside)
        done = await other.until(m.ModelResponseDoneEvent)
    assert (done.status, done.status_details) == ("failed", {"reason": "unsupported_response"})


async def test_a_chat_model_that_fails_or_an_agent_that_replies_elsewhere_fails_its_response_and_not_the_call() -> None:
    agent = react(ProviderError("out of order", code="out_of_order"), say("Here I am."))
    async with voice_call(agent) as one:
        done = await ask(one, "Hello")
        assert (done.status, done.status_details) == ("failed", {"reason": "out_of_order"})
        await ask(one, "Hello?", 2)
    assert one.said == ["Here I am."]
    assert requests_of(agent)[1].texts[1:] == ["Hello", "Hello?"]
    busy = react(model=ScriptedChat(say(STORY), piece_s=1))
    async with voice_call(busy) as one:
        elsewhere = asyncio.create_task(busy(UserMsg("user", "In writing, please")))
        await asyncio.sleep(0.5)
        done = await ask(one)
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
        await ask(one)
        with pytest.raises(UsageError, match="is in a call: load a state before it"):
            agent.load_state_dict(agent.state_dict())
        await one.connection.close()  # and once more at the end of the block
    assert one.said == ["Hello."]


async def test_a_function_makes_an_agent_for_each_call() -> None:
    made: list[ReActAgent] = []

    def make() -> ReActAgent:
        made.append(react(say(f"I am number {len(made)}.")))
        return made[-1]

    async with voice_call(make) as first, voice_call(make) as second:
        for one in (first, second):
            await ask(one, "Who are you?")
    assert (first.said, second.said) == (["I am number 0."], ["I am number 1."])
    assert [len(await remembered(agent)) for agent in made] == [2, 2]


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
async def test_any_agent_can_be_spoken_to_and_its_memory_keeps_what_was_heard(remembers: bool) -> None:
    agent = Parrot(remembers=remembers)
    async with voice_call(agent, "good day") as one:
        for turn in (1, 2):
            await one.say(*TURN)
            await one.until(m.ModelResponseDoneEvent, turn)
            await asyncio.sleep(3)
        assert one.drafts.started == 0
        one.send(ItemTruncate(one.all(m.ModelResponseAudioDeltaEvent)[-1].item_id, 500, "good day!"))
        await ask(one, "bye", 3)
    assert one.said == ["good day! good day!"] * 2 + ["bye! bye!"]
    assert agent.heard == ["good day", "good day", "bye"]
    if remembers:
        assert (await memory_of(agent))[3] == "assistant: good day!"


async def test_a_user_who_interrupts_by_voice_is_answered_by_an_agent_that_knows_what_was_heard() -> None:
    agent = react(say(STORY), say("Fine."))
    async with talk(agent, "please stop now") as one:
        await one.type("Tell me a story")
        await one.until(ServerEvents.AgentResponseAudioDeltaEvent)
        await one.speak(silence(1_200), speech(900), silence(1_500))
        await asyncio.sleep(2)
        cut = one.all(ServerEvents.AgentItemTruncatedEvent)[-1]
    assert STORY.startswith(cut.transcript)
    assert requests_of(agent)[1].texts[1:] == ["Tell me a story", cut.transcript, "please stop now"]
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


async def _cancelled_at(step: int) -> int:
    """Cancel the response after so many steps of its tasks, and go on; returns how many there were."""
    answers = [LET_ME_SEE, TO_OSLO], say("It rains."), say("Fine.")
    agent = react(model=ScriptedChat(*answers, piece_s=0.05), toolkit=weather(), memory=SlowMemory())
    before = asyncio.all_tasks()
    async with voice_call(agent) as one:

        def go_on(event: m.ModelEvent) -> None:
            if isinstance(event, m.ModelItemDoneEvent):
                asyncio.get_running_loop().call_soon(one.send, ResponseCreate())

        one.on_event = go_on
        with Steps(step, lambda: one.send(ResponseCancel())) as steps:
            one.send(typed("Weather?"), ResponseCreate())
            await asyncio.sleep(5)
        one.on_event = None
        one.send(ResponseCancel(), typed("And now?", "again"), ResponseCreate())
        await asyncio.sleep(5)
        assert one.all(m.ModelResponseDoneEvent)[-1].status == "completed"
    assert asyncio.all_tasks() == before
    assert not agent.is_replying
    messages = await remembered(agent)
    assert check_pairs(messages) == []
    calls = [block for msg in messages for block in msg.get_content_blocks("tool_call")]
    assert len(calls) == sum(len(msg.get_content_blocks("tool_result")) for msg in messages)
    said = [text for msg in messages if msg.role == "assistant" for text in [msg.get_text_content()] if text]
    assert "".join("".join(said).split()) == "".join("".join(one.said).split())
    return steps.count


def test_wherever_it_is_cancelled_nothing_is_left_open() -> None:
    """At every step of every task of the call and the agent; by day at each third."""
    n_steps = run(_cancelled_at(0), costs=COSTS)
    assert n_steps > 20
    for step in range(1, n_steps + 1, volume(3, 1)):
        run(_cancelled_at(step), costs=COSTS)


async def test_replies_are_freed_without_the_collector() -> None:
    """They refer to the call, through the scope of their tools."""
    agent = react([TO_OSLO], say("Rain."), say("Bye."), toolkit=weather())
    gc.collect()
    gc.disable()
    try:
        async with talk(agent) as one:
            await asked(one, "Weather?", 2)
        await asyncio.sleep(1)
        assert [one for one in gc.get_objects() if type(one) is VoiceReply] == []
    finally:
        gc.enable()

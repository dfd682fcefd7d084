"""An agent that speaks first: greeting, `say`, `generate_reply`, `on_enter`, `on_turn`, events by iteration."""

import asyncio
from typing import Any

import msgspec
import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.saying import CUT_S, NOT_REPORTED_S, SpokenWords
from realtime.audio.playback import AcknowledgedPlayback
from realtime.call.session import Session
from realtime.dialects.gemini.dialect import GeminiDialect
from realtime.dialects.openai_family.openai_listener import FollowingListener
from realtime.errors import ProviderError, UsageError
from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import ContentPart, ImageFormat, Item
from realtime.event.config import SessionConfig
from realtime.message import Msg
from realtime.model import base
from realtime.model.scripted import ScriptedModel
from realtime.room import ChatRoom
from realtime.runtime import Runtime
from realtime.state.conversation import Conversation
from realtime.state.log import Log
from realtime.tool import Toolkit
from tests.agent.fakes import PROFILE, WORDS, FakeConnection, FakeModel, ListSink, alone, call, listener_into
from tests.agent.test_tools import TOOLS, ask_tools

pytestmark = pytest.mark.virtual_time

GREETING = "Greet the caller and ask how you can help."
GIVEN = msgspec.structs.replace(PROFILE, says_given_words=True)
PUSH_TO_TALK = SessionConfig(turn_detection="none")


def asked(link: FakeConnection) -> list[tuple[str, str]]:
    """(instructions, given words) of each response that the model was asked for."""
    return [
        ((message.overrides.instructions if message.overrides else None) or "", message.say)
        for message in link.got(base.ResponseCreate)
    ]


def answers(link: FakeConnection, ms: int = 1_000, text: str = WORDS) -> None:
    """The model answers every request with this many ms of speech: these words, or those that it was given."""

    def answer(message: base.ResponseCreate) -> None:
        link.reply(ms, f"{message.say} " if message.say else text)

    link.answer = answer


def n_asked(link: FakeConnection) -> int:
    return len(link.got(base.ResponseCreate))


BACK = m.ModelReconnectingEvent(attempt=1, retry_after_ms=0, reason="lost"), m.ModelReconnectedEvent(gap_ms=100)


async def test_a_call_begins_with_the_greeting_by_instructions_that_keep_the_agents_own() -> None:
    """With a server or without; a model that is back greets no second time, and without a greeting none does."""
    async with alone(greeting=GREETING) as without_server:
        assert asked(without_server.link) == [(f"Be nice.\n\n{GREETING}", "")]
    async with call(greeting=GREETING, config=SessionConfig(instructions="Be brief.")) as of_the_client:
        assert asked(of_the_client.link) == [(f"Be brief.\n\n{GREETING}", "")]
    async with call() as silent:
        await asyncio.sleep(30)
        assert asked(silent.link) == []
    async with call(greeting=GREETING) as made:
        assert asked(made.link) == [(f"Be nice.\n\n{GREETING}", "")]
        made.link.reply(500, "Good morning! ")
        await asyncio.sleep(1)
        assert made.transcript() == [("assistant", "Good morning!")]
        (created,) = made.of(s.AgentResponseCreatedEvent)
        assert str((created.metadata or {})["initiative"]).startswith("greeting_")
        made.link.say(*BACK)
        await asyncio.sleep(1)
        assert n_asked(made.link) == 1


async def test_who_speaks_at_once_is_not_greeted_over_and_a_greeting_that_was_lost_is_asked_for_again() -> None:
    async with call(greeting=GREETING) as made:
        made.link.say(*BACK)
        assert asked(made.link) == [(f"Be nice.\n\n{GREETING}", "")] * 2
        made.link.hear_start("in_1", 0)
        made.link.reply(1_000, "Good morning! ")
        await asyncio.sleep(1)
        assert made.of(s.AgentResponseAudioDeltaEvent) == []
        assert made.link.got(base.ResponseCancel)


async def test_a_call_that_goes_on_from_the_store_or_a_conversation_is_not_greeted() -> None:
    runtime = Runtime.deterministic(asyncio.get_running_loop().time)
    model = FakeModel()
    entered: list[RealtimeAgent] = []

    async def enter(agent: RealtimeAgent) -> None:
        entered.append(agent)

    agent = RealtimeAgent("Friday", "", model, greeting=GREETING, on_enter=enter)
    log = Log(runtime.now, last_seq=7, start_ms=5_000)
    session = Session(participant=agent.run(), runtime=runtime, session_id="s1", log=log, conversation=Conversation())
    session.attach(listener_into(ListSink(), runtime))
    await session.start(SessionConfig())
    await asyncio.sleep(1)
    assert model.link.got(base.ResponseCreate) == []
    assert entered == []
    await session.end("test_over")
    agent = RealtimeAgent("Friday", "", model, greeting=GREETING)
    agent.conversation = (Item(id="i1", role="user", content=(ContentPart(type="text", text="Hello"),)),)
    await agent.start(lambda event: None)
    assert model.link.got(base.ResponseCreate) == []
    await agent.stop()


class _Follows:
    """A dialect of a foreign protocol."""

    def encode(self, event: s.ServerEvent) -> list[Any]:
        return [event]

    def follow(self, event: s.ServerEvent) -> None:
        return


async def test_clients_of_a_foreign_protocol_are_not_spoken_to_unasked() -> None:
    runtime = Runtime.deterministic(asyncio.get_running_loop().time)
    model = FakeModel()
    agent = RealtimeAgent("Friday", "", model, greeting=GREETING, idle_prompt_s=5)
    session = Session(participant=agent.run(), runtime=runtime, session_id="s1")
    session.attach(FollowingListener(_Follows(), ListSink(), runtime))
    await session.start(SessionConfig())
    await asyncio.sleep(30)
    assert model.link.got(base.ResponseCreate) == []
    await session.end("test_over")


def test_each_dialect_says_whether_its_clients_expect_to_be_spoken_to() -> None:
    runtime = Runtime.deterministic(lambda: 0.0)
    gemini = GeminiDialect(runtime, life_s=600, drain_s=0)
    assert gemini.listener(ListSink(), runtime, SessionConfig()).takes_unasked is False
    assert FollowingListener(_Follows(), ListSink(), runtime).takes_unasked is False
    assert listener_into(ListSink(), runtime).takes_unasked is True


async def test_what_is_said_is_returned_once_it_was_played() -> None:
    """A model that speaks given words gets them; another is asked to say them exactly."""
    loop = asyncio.get_running_loop()
    async with alone() as made:
        answers(made.link, 2_000, "Your taxi is here. ")
        began = loop.time()
        assert await made.agent.say("Your taxi is here.") == SpokenWords("Your taxi is here.", interrupted=False)
        assert loop.time() - began == pytest.approx(2.1, abs=0.3)
        ((instructions, given),) = asked(made.link)
        assert given == ""
        assert instructions.endswith("\nYour taxi is here.")
        assert instructions.startswith("Say exactly the following words")
        answers(made.link, 1_000, "It will rain. ")
        spoken = await made.agent.generate_reply(instructions="Tell the weather.")
        assert spoken == SpokenWords("It will rain.", interrupted=False)
        assert asked(made.link)[1:] == [("Be nice.\n\nTell the weather.", "")], "those of the agent are kept"
    async with alone(profile=GIVEN) as knows_words:
        answers(knows_words.link)
        await knows_words.agent.say("Your taxi is here.")
        assert asked(knows_words.link) == [("", "Your taxi is here.")]


async def test_it_waits_for_the_end_of_what_is_being_said() -> None:
    loop = asyncio.get_running_loop()
    async with alone() as made:
        made.link.reply(3_000)
        answers(made.link)
        saying = asyncio.create_task(made.agent.say("One more thing."))
        await asyncio.sleep(2)
        assert made.link.got(base.ResponseCreate) == []
        await saying
        assert loop.time() > 4.0


async def test_it_waits_for_the_user_and_for_the_response_to_what_they_say() -> None:
    async with call() as made:
        made.link.hear_start("in_1", 0)
        saying = asyncio.create_task(made.agent.saying.say("One more thing."))
        await asyncio.sleep(10)
        assert n_asked(made.link) == 0, "it is never said over the user"
        made.link.hear_end("in_1", 900, "Wait.")
        await asyncio.sleep(5)
        assert n_asked(made.link) == 0, "the response to the turn is awaited"
        made.link.reply(1_000)
        answers(made.link, 500, "One more thing. ")
        await saying
        assert n_asked(made.link) == 1


async def test_a_turn_that_no_response_follows_holds_the_floor_for_20_s_at_most() -> None:
    async with call(config=SessionConfig(turn_detection="none", auto_response=False)) as made:
        answers(made.link)
        made.hear(500)
        made.receive(c.ClientAudioCommitEvent())
        saying = asyncio.create_task(made.agent.saying.say("Are you waiting for me?"))
        await asyncio.sleep(19)
        assert n_asked(made.link) == 0
        await asyncio.sleep(2)
        assert n_asked(made.link) == 1
        await saying


async def test_two_things_are_said_one_after_the_other() -> None:
    async with alone(profile=GIVEN) as made:
        answers(made.link)
        first, second = await asyncio.gather(made.agent.say("One."), made.agent.say("Two."))
        assert asked(made.link) == [("", "One."), ("", "Two.")]
        assert (first.text, second.text) == ("One.", "Two.")


async def test_an_interruption_leaves_the_words_that_were_played_and_none_before_it_began() -> None:
    async with call() as made:
        saying = asyncio.create_task(made.agent.saying.say("One more thing."))
        await asyncio.sleep(0.1)
        made.receive(c.ClientTextAppendEvent(text="Hello?"))
        assert await saying == SpokenWords("", interrupted=True)
    async with call() as made:
        answers(made.link, 10_000, WORDS)
        saying = asyncio.create_task(made.agent.saying.say(WORDS))
        await asyncio.sleep(5)
        made.receive(c.ClientTextAppendEvent(text="Stop."))
        spoken = await saying
        assert spoken.interrupted
        assert WORDS.startswith(spoken.text)
        assert spoken.text.split()[:2] == ["one", "two"]
        assert spoken.text == made.transcript()[0][1]
        assert len(spoken.text.split()) < 10


async def test_what_the_end_of_the_call_cuts_is_returned_as_far_as_it_was_played() -> None:
    async with alone() as made:
        answers(made.link, 10_000, WORDS)
        saying = asyncio.create_task(made.agent.say(WORDS))
        await asyncio.sleep(4)
        await made.agent.stop()
        spoken = await saying
        assert spoken.interrupted
        assert 0 < len(spoken.text) < len(WORDS.strip())
        assert WORDS.startswith(spoken.text)


async def test_a_reply_that_uses_a_tool_is_over_after_the_words_that_follow_the_result() -> None:
    async def rain() -> str:
        """Say whether it rains."""
        await asyncio.sleep(0.5)
        return "yes"

    async with call(toolkit=Toolkit([rain])) as made:

        def answer(message: base.ResponseCreate) -> None:
            if len(made.link.got(base.ResponseCreate)) == 1:
                ask_tools(made, ("call_1", "rain", "{}"))
            else:
                made.link.reply(1_000, "It rains. ")

        made.link.answer = answer
        spoken = await made.agent.saying.generate_reply("Tell the weather.")
        assert spoken == SpokenWords("It rains.", interrupted=False)


async def test_a_refusal_of_the_provider_and_a_response_that_fails_are_raised() -> None:
    refusal = m.ModelErrorEvent(error_type="provider_error", code="rate_limit", message="too fast", retryable=True)
    details = {"type": "failed", "reason": "server_error"}
    async with alone() as made:
        made.link.answer = lambda message: made.link.say(refusal)
        with pytest.raises(ProviderError, match="too fast") as raised:
            await made.agent.say("Hello.")
        assert (raised.value.code, raised.value.retryable) == ("rate_limit", True)

        def fail(message: base.ResponseCreate) -> None:
            done = m.ModelResponseDoneEvent(response_id=made.link.begin(), status="failed", status_details=details)
            made.link.say(done)

        made.link.answer = fail
        with pytest.raises(ProviderError) as raised:
            await made.agent.say("Hello.")
        assert raised.value.code == "server_error"


async def test_a_model_that_never_answers_is_given_up_after_a_minute_and_a_client_that_never_reports_sooner() -> None:
    loop = asyncio.get_running_loop()
    async with alone() as silent:
        with pytest.raises(ProviderError, match="did not begin"):
            await silent.agent.say("Hello.")
        assert loop.time() == pytest.approx(60, abs=0.5)
    async with call(clock=AcknowledgedPlayback(24_000)) as made:
        answers(made.link, 1_000, "Hello. ")
        began = loop.time()
        await made.agent.saying.say("Hello.")
        assert loop.time() - began == pytest.approx(1.0 + NOT_REPORTED_S, abs=1.1)


async def test_what_cannot_be_is_refused() -> None:
    """Words outside a call or none at all; events outside the block; a period of no time; one sentence as fillers."""
    agent = RealtimeAgent("Friday", "", FakeModel())
    with pytest.raises(UsageError, match="in no call"):
        await agent.say("Hello.")
    with pytest.raises(UsageError, match="in no call"):
        await agent.generate_reply(instructions="Greet.")
    await agent.start(lambda event: None)
    with pytest.raises(UsageError, match="no words"):
        await agent.say("  ")
    with pytest.raises(UsageError, match="async with agent"):
        aiter(agent)
    await agent.stop()
    with pytest.raises(UsageError, match="in no running call"):
        await agent.say("Hello.")
    with pytest.raises(UsageError, match="above 0"):
        RealtimeAgent("Friday", "", FakeModel(), idle_prompt_s=0)
    with pytest.raises(TypeError, match="fillers is a list of texts"):
        RealtimeAgent("Friday", "", FakeModel(), fillers="One moment.")
    with pytest.raises(ProviderError, match="no key"):
        async with RealtimeAgent("Friday", "", FakeModel(refuses=ProviderError("no key", code="no_key"))):
            raise AssertionError("the block must not run")


async def test_in_a_room_the_floor_decides_who_speaks() -> None:
    runs: list[Any] = []

    class Noting(RealtimeAgent):
        def run(self) -> Any:
            runs.append(super().run())
            return runs[-1]

    room = ChatRoom([Noting("Ada", "", ScriptedModel([], strict=False), greeting=GREETING)])
    await room.start(lambda event: None)
    with pytest.raises(UsageError, match="the floor decides"):
        _ = runs[-1].saying
    await room.stop()


async def test_on_enter_may_speak_and_the_call_goes_on_meanwhile() -> None:
    """Of an agent that overrides it."""
    said: list[SpokenWords] = []

    class Clerk(RealtimeAgent):
        async def on_enter(self) -> None:
            said.append(await self.say("Welcome."))

        async def on_turn(self, msg: Msg) -> None:
            said.append(SpokenWords(msg.get_text_content() or "", interrupted=False))

    model = FakeModel(GIVEN)
    agent = Clerk("Clerk", "", model)
    await agent.start(lambda event: answers(model.link))
    await asyncio.sleep(2)
    await agent.handle_input(c.ClientTextAppendEvent(text="Hello"))
    await asyncio.sleep(0.1)
    assert [spoken.text for spoken in said] == ["Welcome.", "Hello"]
    assert agent.conversation[0].text == "Welcome."
    await agent.stop()


async def test_each_finished_turn_is_told_with_its_words() -> None:
    turns: list[Msg] = []

    async def turn(agent: RealtimeAgent, msg: Msg) -> None:
        turns.append(msg)

    async with call(on_turn=turn, config=SessionConfig(user_name="Ann")) as made:
        made.link.hear_start("in_1", 0)
        made.link.hear_end("in_1", 900, "Where is my order?")
        made.link.reply(500)
        await asyncio.sleep(1)
        made.receive(c.ClientTextAppendEvent(text="Number 42."))
        await asyncio.sleep(1)
        assert [(msg.role, msg.name, msg.get_text_content()) for msg in turns] == [
            ("user", "Ann", "Where is my order?"),
            ("user", "Ann", "Number 42."),
        ]


async def test_what_a_callback_raises_is_told_and_ends_nothing() -> None:
    async def enter(agent: RealtimeAgent) -> None:
        raise LookupError("the customer of the secret order")

    async with call(on_enter=enter) as made:
        await asyncio.sleep(0.1)
        (error,) = made.of(s.AgentErrorEvent)
        assert (error.code, error.error_type) == ("callback_failed", "server_error")
        assert "on_enter of the agent failed (LookupError)" in error.message
        assert "secret" not in error.message
        made.link.reply(500)
        assert made.of(s.AgentResponseDoneEvent)


@pytest.mark.parametrize("in_a_task", [False, True], ids=["itself", "in a task"])
async def test_a_callback_that_would_end_the_process_ends_nothing(in_a_task: bool) -> None:
    async def stop() -> None:
        raise SystemExit(3)

    async def enter(agent: RealtimeAgent) -> None:
        await (asyncio.gather(stop()) if in_a_task else stop())

    async with call(on_enter=enter) as made:
        await asyncio.sleep(0.1)
        assert [error.code for error in made.of(s.AgentErrorEvent)] == ["callback_failed"]
        made.link.reply(500)
        assert made.of(s.AgentResponseDoneEvent)


async def test_a_callback_that_hangs_delays_nothing_and_ends_with_the_call() -> None:
    ended: list[str] = []

    async def turn(agent: RealtimeAgent, msg: Msg) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(msg.get_text_content() or "")

    loop = asyncio.get_running_loop()
    async with alone(on_turn=turn) as made:
        answers(made.link)
        await made.agent.handle_input(c.ClientTextAppendEvent(text="Hello"))
        await asyncio.sleep(2)
        assert [type(event) for event in made.seen].count(s.AgentResponseDoneEvent) == 1
        before = loop.time()
        await made.agent.stop()
        assert loop.time() - before < 0.1
        assert ended == ["Hello"]


@pytest.mark.parametrize("own", [True, False])
async def test_a_callback_may_end_the_call(own: bool) -> None:
    async def enter(agent: RealtimeAgent) -> None:
        await (agent if own else outer).stop()

    outer = RealtimeAgent("Friday", "", FakeModel(), on_enter=enter)
    seen: list[s.ServerEvent] = []
    await outer.start(seen.append)
    await asyncio.sleep(1)
    assert isinstance(seen[-1], s.AgentEndedEvent)
    assert seen[-1].reason == "stopped"


async def test_an_agent_starts_and_stops_with_its_block_and_gives_its_events_until_the_call_ends() -> None:
    model = FakeModel(GIVEN)
    agent = RealtimeAgent("Friday", "", model)
    kinds: list[str] = []

    async def read_on() -> None:
        async for event in agent:
            kinds.append(event.type)

    async with agent:
        answers(model.link, 500, "Hello. ")
        await agent.say("Hello.")
        async for event in agent:
            kinds.append(event.type)
            if event.type == "agent_response_done":
                break
        reading = asyncio.create_task(read_on())
        await asyncio.sleep(1)
        model.link.gone("provider_closed")
        await reading
    assert kinds[0] == "agent_ready"
    assert kinds.count("agent_response_done") == 1
    assert kinds[-1] == "agent_ended"
    assert model.link.closed


@pytest.mark.parametrize("given", [True, False])
async def test_a_silent_user_is_asked_then_left_with_an_honest_reason(given: bool) -> None:
    """A model without given words is asked to ask. A camera is no sign of a user."""
    sees = frozenset({"text", "audio", "image"})
    profile = msgspec.structs.replace(PROFILE, says_given_words=given, input_modalities=sees)
    async with call(profile=profile, idle_prompt_s=10) as made:
        answers(made.link, 1_000, "Hello? ")
        await asyncio.sleep(5)
        made.receive(c.ClientImageAppendEvent(image=b"\xff\xd8", format=ImageFormat(type="image/jpeg")))
        await asyncio.sleep(4.9)
        assert asked(made.link) == []
        await asyncio.sleep(0.2)
        ((instructions, words),) = asked(made.link)
        if given:
            assert words == "Are you still there?"
        else:
            assert ("whether they are still there" in instructions, words) == (True, "")
        await asyncio.sleep(9)
        assert n_asked(made.link) == 1
        await asyncio.sleep(3)
        if given:
            assert asked(made.link)[1:] == [("", "I cannot hear you any more, so I end the call. Goodbye.")]
        await made.session.ended.wait()
        assert made.session.end_reason == "idle"
        assert [event.reason for event in made.of(s.AgentEndedEvent)] == ["idle"]
        assert [event.reason for event in made.of(s.ServerGoodbyeEvent)] == ["idle"]


async def test_who_answers_the_question_or_interrupts_the_farewell_stays() -> None:
    async with call(idle_prompt_s=10) as made:
        answers(made.link, 3_000)
        await asyncio.sleep(15)
        made.link.hear_start("in_1", 3_000)
        made.link.hear_end("in_1", 3_900, "Yes, one moment.")
        made.link.reply(500)
        await asyncio.sleep(9)
        assert made.session.end_reason is None
        assert n_asked(made.link) == 1
        await asyncio.sleep(4)
        assert n_asked(made.link) == 2, "asked anew after a further silence"
        await asyncio.sleep(11)
        assert n_asked(made.link) == 3, "the farewell"
        made.receive(c.ClientTextAppendEvent(text="Wait!"))
        await asyncio.sleep(2)
        assert made.session.end_reason is None


async def test_a_tool_that_runs_is_no_silence_and_a_client_that_is_away_is_not_asked() -> None:
    async with call(toolkit=TOOLS, idle_prompt_s=5) as made:
        ask_tools(made, ("call_1", "endless", "{}"))
        await asyncio.sleep(20)
        assert made.link.got(base.ResponseCreate) == []
    async with call(idle_prompt_s=5) as made:
        answers(made.link)
        made.agent.set_away(True)
        await asyncio.sleep(20)
        assert n_asked(made.link) == 0
        made.agent.set_away(False)
        await asyncio.sleep(5.1)
        assert n_asked(made.link) == 1, "the call may end while the question is asked"


async def test_a_cut_takes_no_longer_than_clients_have_to_report() -> None:
    """An item that was heard to its end is not cut: nothing is awaited for long."""
    loop = asyncio.get_running_loop()
    async with call() as made:
        answers(made.link, 1_000, "Hello. ")
        saying = asyncio.create_task(made.agent.saying.say("Hello."))
        await asyncio.sleep(0.95)
        made.receive(c.ClientResponseCancelEvent())
        before = loop.time()
        await saying
        assert loop.time() - before <= CUT_S + 0.1

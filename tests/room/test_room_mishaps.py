"""What goes wrong in a room: models that fail, agents that come back, humans who leave in the middle."""

import asyncio
from typing import Any

import pytest

from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, ToolDeclaration
from realtime.event.model import ModelErrorEvent, ModelResponseCreatedEvent, ModelResponseDoneEvent
from realtime.model.base import Connection, ResponseCreate
from realtime.model.script import Emit, Speak
from realtime.room import ChatRoom
from realtime.room.floor import Policy, addressed, broadcast, round_robin
from realtime.runtime import Runtime
from realtime.server.rooms import Rooms
from realtime.turn.responses import FAILED_S, REFUSED_S
from tests.room.rooms import TalkModel, agent, anna_and_ben_in, anna_in, house, two

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

STORY = "Once upon a time there was a king who had three sons and one crown, and nobody to give it to."
FAILED = [
    Emit(ModelResponseCreatedEvent(response_id="r")),
    Emit(ModelResponseDoneEvent(response_id="r", status="failed")),
]
REFUSED = [Emit(ModelErrorEvent(error_type="provider_error", code="rate_limit_exceeded", message="Too much."))]
DOOR = ToolDeclaration(name="open_door", description="Opens it.", parameters={"type": "object"})


@pytest.mark.parametrize("floor", [addressed, round_robin, broadcast])
async def test_a_response_that_fails_at_the_provider_is_no_turn_and_is_asked_for_again(floor: Policy) -> None:
    async with anna_in(two(TalkModel(FAILED, "I am back."), "I am Bob.", floor=floor)) as (home, anna):
        await anna.writes("Alice, are you there?")
        assert home.talk()[:2] == [("Anna", "Alice, are you there?"), ("Alice", "I am back.")]


async def test_where_an_agent_fails_or_refuses_again_and_again_another_one_is_asked() -> None:
    for fails, within_s in (([FAILED] * 3, 3 * FAILED_S), ([REFUSED] * 2, 2 * (REFUSED_S + FAILED_S))):
        async with anna_in(two(TalkModel(*fails))) as (home, anna):
            anna.write("Alice, are you there?")
            await asyncio.sleep(within_s)
            await home.quiet()
            assert home.talk() == [("Anna", "Alice, are you there?"), ("Bob", "I am Bob.")]


async def test_an_answer_that_comes_after_an_error_of_its_model_is_an_answer() -> None:
    late = [*REFUSED, Speak("I am here.", 1.0, chunk_ms=100, pace=1.0, wait=False, after_ms=int(REFUSED_S * 900))]
    async with anna_in(two(TalkModel(late), "I am Bob.", floor=addressed)) as (home, anna):
        anna.write("Alice, are you there?")
        await asyncio.sleep(2 * REFUSED_S)
        await home.quiet()
        assert home.talk() == [("Anna", "Alice, are you there?"), ("Alice", "I am here.")]


async def test_an_agent_that_comes_back_has_the_settings_that_it_had() -> None:
    model = TalkModel("Yes.")
    room = ChatRoom([agent("Alice", model)], floor=addressed)
    await room.start(asyncio.Queue(), config=SessionConfig(tools=(DOOR,), voice="a", temperature=0.1))
    model.die()
    await asyncio.sleep(3)
    before, after = model.settings
    assert (after.tools, after.voice, after.temperature) == (before.tools, before.voice, before.temperature)
    assert [tool.name for tool in after.tools] == ["open_door"]
    await room.stop()


async def test_a_provider_that_ends_each_session_at_once_is_asked_less_and_less_often() -> None:
    class Brief(TalkModel):
        is_brief = False

        async def connect(self, **options: Any) -> Connection:
            link = await super().connect(**options)
            if self.is_brief:
                asyncio.get_running_loop().call_later(0.2, self.die)
            return link

    model = Brief("Yes.")
    async with two(model, "I am Bob.") as home:
        await home.come("Anna")
        model.is_brief = True
        model.die()
        await asyncio.sleep(600)
        assert 10 <= len(model.settings) <= 18, "1, 2, 4, 8, 16, 32 and then 60 s"
        model.is_brief = False
        await asyncio.sleep(200)
        before = len(model.settings)
        model.die()
        await asyncio.sleep(1.5)
        assert len(model.settings) == before + 1, "it was there for a while: the first wait is short again"


async def test_an_agent_that_goes_on_while_it_is_heard_is_talked_over_by_nobody() -> None:
    late = [Speak("A late second answer that is said.", 3.0, chunk_ms=100, pace=1.0, wait=False, after_ms=3_000)]
    room = ChatRoom(
        [agent("Alice", TalkModel("Hello there my friend.", late)), agent("Bob", TalkModel("I am Bob."))],
        floor=broadcast,
        max_agent_turns=2,
    )
    told: asyncio.Queue[s.ServerEvent] = asyncio.Queue()
    await room.start(told, config=SessionConfig(tools=(DOOR,), tool_auto_response=False))
    await room.handle_input(c.ClientTextAppendEvent(text="Hi all."))
    await asyncio.sleep(0.7)
    await room.handle_input(c.ClientResponseCreateEvent())
    await asyncio.sleep(15)
    await room.stop()
    voices = []
    while not told.empty():
        event = told.get_nowait()
        if isinstance(event, s.AgentResponseAudioDeltaEvent) and voices[-1:] != [event.agent_name]:
            voices.append(event.agent_name)
    assert voices == ["Alice", "Bob"]


async def test_the_next_of_several_is_the_next_also_where_the_last_one_was_muted() -> None:
    models = [TalkModel(STORY) for _ in range(4)]
    agents = [agent(name, model) for name, model in zip(("Alice", "Bob", "Cleo", "Dora"), models, strict=True)]
    async with anna_in(house(*agents, floor=broadcast)) as (home, anna):
        anna.write("Say something.")
        async with asyncio.timeout(60):
            while home.room.floor != "bob":  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        await asyncio.sleep(2)
        home.room.mute("bob")
        await home.quiet()
        assert home.speakers() == ["Alice", "Bob", "Cleo", "Dora"]


async def test_words_stay_that_somebody_heard_who_has_left_since() -> None:
    async with anna_in(two(TalkModel(STORY * 2), "I am Bob.")) as (home, anna):
        anna.write("Alice, tell me.")
        await asyncio.sleep(4)
        await anna.go()
        await asyncio.sleep(0.3)
        anna = await home.come("Anna")
        anna.write("Stop, thanks.")
        await asyncio.sleep(0.1)
        _, (who, heard), *_ = home.talk()
        assert who == "Alice"
        assert heard.startswith("Once upon a time there was")


async def test_nobody_answers_an_empty_room_and_who_comes_back_is_answered() -> None:
    models = [TalkModel(STORY) for _ in range(3)]
    agents = [agent(name, model) for name, model in zip(("Alice", "Bob", "Cleo"), models, strict=True)]
    async with anna_in(house(*agents, floor=broadcast, max_agent_turns=20)) as (home, anna):
        anna.write("Discuss.")
        await asyncio.sleep(1)
        await anna.go()
        await asyncio.sleep(60)
        asked = sum(len(model.of(ResponseCreate)) for model in models)
        assert asked <= 2, "the answer that ran, and no talk among themselves"
        await home.come("Anna")
        await asyncio.sleep(10)
        assert sum(len(model.of(ResponseCreate)) for model in models) > asked


async def test_who_goes_on_speaking_has_the_floor_after_a_word_of_somebody_else() -> None:
    async with anna_and_ben_in(house(agent("Alice", TalkModel("Yes.")))) as (home, anna, ben):
        anna.begin("This is a very long sentence of mine.")
        await asyncio.sleep(0.1)
        ben.write("Me too.")
        await asyncio.sleep(0.1)
        anna.begin("And I go on and on and on.")
        await asyncio.sleep(0.2)
        assert home.room.floor == anna.id
        await ben.go()
        assert home.room.floor == anna.id


async def test_who_was_put_out_takes_no_floor_any_more() -> None:
    async with anna_and_ben_in(house(agent("Alice", TalkModel(STORY)))) as (home, anna, ben):
        anna.write("Tell me.")
        await asyncio.sleep(2)
        await home.room.remove(ben.id)
        ben.begin("Hello, I am still here.")
        assert home.room.floor == "alice"
        await home.quiet()
        assert home.room.floor is None
        assert home.talk()[-1] == ("Alice", STORY)


async def test_a_room_that_waits_for_somebody_is_kept_by_no_agent_that_comes_and_goes() -> None:
    loop = asyncio.get_running_loop()
    model = TalkModel("Yes.")
    rooms = Rooms({"office": lambda: ChatRoom([agent("Alice", model)], floor=addressed)}, grace_s=5)
    runtime = Runtime.deterministic(loop.time)
    call = Session(participant=rooms.make_human("office", "Anna", runtime), runtime=runtime, session_id="x")
    await call.start(SessionConfig())
    await call.end("left")
    for _ in range(3):
        await asyncio.sleep(2)
        model.die()
    assert not rooms.hosted
    await rooms.close()

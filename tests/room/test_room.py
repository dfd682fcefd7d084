"""`ChatRoom` as it is documented: `start`, `handle_input`, `stop`, and who is told what."""

import asyncio
from itertools import pairwise

import msgspec
import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import ClientError, ProviderError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.model.base import AudioCommit, ResponseCancel, ResponseCreate
from realtime.model.scripted import MANUAL_PROFILE
from realtime.room import ChatRoom
from realtime.room.floor import addressed, broadcast
from realtime.testing.cases.hearing import LoudnessDetector
from tests.room.rooms import HZ, TalkModel, agent, anna_and_ben_in, anna_in, house, seconds, two, utterance

pytestmark = pytest.mark.virtual_time(limit_s=3_600)


def drained(queue: asyncio.Queue[s.ServerEvent]) -> list[s.ServerEvent]:
    return [queue.get_nowait() for _ in range(queue.qsize())]


def spoken(events: list[s.ServerEvent]) -> list[tuple[str, str]]:
    return [
        (one.agent_name, one.transcript) for one in events if isinstance(one, s.AgentResponseAudioTranscriptDoneEvent)
    ]


def test_a_room_is_imported_from_pipeline() -> None:
    """ROOM-02: importable from `pipeline`."""
    from realtime import room as pipeline

    assert pipeline.ChatRoom is ChatRoom


async def test_two_agents_share_one_conversation_from_start_to_stop() -> None:
    """ROOM-01, ROOM-03, ROOM-04: two agents in one room; one agent_ready each, one agent_ended each, no task left."""
    alice, bob = TalkModel("Hello, I am Alice."), TalkModel("I am Bob.")
    room = ChatRoom(agents=[agent("Alice", alice), agent("Bob", bob)], max_agent_turns=2)
    queue: asyncio.Queue[s.ServerEvent] = asyncio.Queue()
    tasks = asyncio.all_tasks()
    await room.start(queue)
    ready = [one for one in drained(queue) if isinstance(one, s.AgentReadyEvent)]
    assert [one.agent_name for one in ready] == ["Alice", "Bob"]
    await room.handle_input(c.ClientTextAppendEvent(text="Hello everyone!"))
    await asyncio.sleep(10)
    expected = [("user", "Hello everyone!"), ("Alice", "Hello, I am Alice."), ("Bob", "I am Bob.")]
    assert [(item.name, item.text) for item in room.conversation.items()] == expected
    drained(queue)
    await room.stop()
    ended = [one for one in drained(queue) if isinstance(one, s.AgentEndedEvent)]
    assert [(one.agent_name, one.reason) for one in ended] == [("Alice", "stopped"), ("Bob", "stopped")]
    assert asyncio.all_tasks() == tasks
    assert (alice.open, bob.open) == (0, 0)
    await room.stop()
    assert queue.empty(), "a second stop says nothing"


async def test_what_the_human_says_reaches_every_model() -> None:
    """ROOM-05, ROOM-08: handle_input broadcasts a text, with its `session_id`, and speech to every agent's model."""
    alice, bob = TalkModel(), TalkModel()
    room = ChatRoom(
        agents=[agent("Alice", alice), agent("Bob", bob)], make_detector=lambda _: LoudnessDetector(), max_agent_turns=0
    )
    await room.start(lambda _: None)
    await room.handle_input(c.ClientTextAppendEvent(session_id="session_1", text="Hello everyone!"))
    await asyncio.sleep(0.1)
    assert [model.read for model in (alice, bob)] == [["[user]: Hello everyone!"]] * 2
    said = utterance("What time is it?")
    for at in range(0, len(said) + HZ * 2, 640):
        pcm = (said + bytes(HZ * 2))[at : at + 640]
        await room.handle_input(c.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(HZ)))
    await asyncio.sleep(0.1)
    assert [said in model.heard for model in (alice, bob)] == [True, True]
    assert [len(model.of(AudioCommit)) for model in (alice, bob)] == [1, 1]
    await room.stop()


async def test_an_answer_reaches_the_other_models_as_sound_at_their_rate() -> None:
    """ROOM-06, ROOM-09: what the first says at 24 kHz is heard by the second at 16 kHz, before it answers."""
    alice, bob = TalkModel("Hello, I am Alice."), TalkModel("I am Bob.")
    async with anna_in(two(alice, bob, max_agent_turns=2)) as (_, anna):
        await anna.writes("Hello everyone!")
        at_24k = b"".join(one.delta for one in anna.of(s.AgentResponseAudioDeltaEvent) if one.agent_name == "Alice")
        assert len(at_24k) == seconds("Hello, I am Alice.") * 24_000 * 2
        assert len(bob.heard) / HZ / 2 == pytest.approx(len(at_24k) / 24_000 / 2, abs=0.02)
        kinds = [type(one) for one in bob.got if isinstance(one, (AudioCommit, ResponseCreate))]
        assert kinds == [AudioCommit, ResponseCreate]
        assert len(alice.heard) / HZ / 2 == pytest.approx(seconds("I am Bob."), abs=0.02), "only what Bob said"


async def test_an_answer_reaches_the_other_models_as_a_line_where_they_listen_as_text() -> None:
    """ROOM-06: agent1's answer reaches agent2's provider, as `[Name]: text`, and is sent to no other as sound."""
    alice, bob = TalkModel("Bob, what do you think?"), TalkModel("I agree.")
    async with anna_in(two(alice, bob, floor=addressed)) as (home, anna):
        await anna.writes("Alice, hello!")
        assert bob.read == ["[Anna]: Alice, hello!", "[Alice]: Bob, what do you think?"]
        assert alice.read == ["[Anna]: Alice, hello!", "[Bob]: I agree."]
        assert (alice.heard, bob.heard) == (b"", b"")
        assert home.speakers() == ["Alice", "Bob"]


async def test_how_an_agent_listens_is_chosen_for_each() -> None:
    alice, bob, carl = TalkModel("Hello, I am Alice."), TalkModel("I am Bob."), TalkModel("I am Carl.")
    agents = [agent("Alice", alice), agent("Bob", bob), agent("Carl", carl)]
    async with anna_in(house(*agents, listens={"bob": "text"}, max_agent_turns=1)) as (_, anna):
        await anna.writes("Hello everyone!")
        assert bob.read == ["[Anna]: Hello everyone!", "[Alice]: Hello, I am Alice."]
        assert bob.heard == b""
        assert len(carl.heard) / HZ / 2 == pytest.approx(seconds("Hello, I am Alice."), abs=0.02)


async def test_events_go_to_the_frontend_and_to_the_others_and_nothing_comes_back_to_its_sender() -> None:
    """ROOM-07, RTA-11: an agent's events reach the queue and, as what it said, the other agents, not itself; client
    events are not echoed into the queue."""
    alice, bob = TalkModel("Hello, I am Alice."), TalkModel("I am Bob.")
    room = ChatRoom(agents=[agent("Alice", alice), agent("Bob", bob)], floor=addressed)
    queue: asyncio.Queue[s.ServerEvent] = asyncio.Queue()
    await room.start(queue)
    await room.handle_input(c.ClientTextAppendEvent(text="Alice, hello!"))
    await asyncio.sleep(5)
    told = drained(queue)
    await room.stop()
    assert spoken(told) == [("Alice", "Hello, I am Alice.")]
    assert alice.read == ["[user]: Alice, hello!"]
    assert bob.read == ["[user]: Alice, hello!", "[Alice]: Hello, I am Alice."]
    assert not [one for one in told if one.type.startswith("client_")]
    expected = {"Alice, hello!", "Hello, I am Alice."}
    assert {one.item.text for one in told if isinstance(one, s.AgentItemDoneEvent)} == expected


async def test_the_agents_do_not_answer_each_other_for_ever_and_no_two_speak_at_once() -> None:
    """ROOM-11: under broadcast agents answer agents; after `max_agent_turns` a human has to speak. The next begins when
    the one before was heard to its end."""
    texts = {"Alice": "Hello, I am Alice.", "Bob": "I am Bob."}
    async with anna_in(two(*texts.values(), floor=broadcast)) as (home, anna):
        await anna.writes("Hello everyone!")
        assert home.speakers() == ["Alice", "Bob", "Alice", "Bob"]
        assert home.of(s.ServerRoomFloorEvent)[-1].participant_id is None
        await anna.writes("Go on.")
        assert home.speakers() == ["Alice", "Bob"] * 4
        floors = [(one.ts_ms, name) for one, name in zip(home.of(s.ServerRoomFloorEvent), home.floors(), strict=True)]
        for (from_ms, name), (to_ms, _) in pairwise(floors):
            if name in texts:
                assert to_ms - from_ms >= seconds(texts[name]) * 1000


async def test_the_events_of_several_replies_can_be_told_apart() -> None:
    """ROOM-12: two models use the same ids; from the interleaved events each reply is rebuilt whole, by its ids."""
    async with anna_and_ben_in(two(TalkModel("Hello, I am Alice.", "And I go on."), "I am Bob.")) as (_, anna, ben):
        anna.write("Hello everyone!")
        await asyncio.sleep(0.3)
        await ben.writes("Hello to you!")
        for human in (anna, ben):
            texts: dict[tuple[str, str], str] = {}
            names: dict[str, str] = {}
            audio: dict[str, int] = {}
            for one in human.events:
                if isinstance(one, s.AgentResponseAudioTranscriptDeltaEvent):
                    key = (one.response_id, one.item_id)
                    texts[key] = texts.get(key, "") + one.delta
                    assert names.setdefault(one.item_id, one.agent_name) == one.agent_name
                elif isinstance(one, s.AgentResponseAudioDeltaEvent):
                    audio[one.item_id] = audio.get(one.item_id, 0) + len(one.delta)
                    assert names.setdefault(one.item_id, one.agent_name) == one.agent_name
            done = {one.item_id: one.transcript for one in human.of(s.AgentResponseAudioTranscriptDoneEvent)}
            whole = {item: text for (_, item), text in texts.items()}
            assert {*done} == {*whole}
            cut = [item for item, transcript in done.items() if transcript != whole[item]]
            assert cut == ["alice.item_1"], "Ben spoke into it; all others are whole"
            assert len({response for response, _ in texts}) == len(texts)
            assert all(item.startswith(f"{name.lower()}.") for item, name in names.items())


async def test_the_room_goes_on_without_an_agent_that_dies_and_with_it_when_it_is_back() -> None:
    """ROOM-13: one provider is killed: the others are told and answer; its agent is away and comes back by itself."""
    alice, bob = TalkModel("I am Alice."), TalkModel("I am Bob.")
    async with anna_in(two(alice, bob, floor=addressed)) as (home, anna):
        alice.die(refusals=2)
        left = anna.of(s.ServerRoomLeftEvent)[-1]
        assert (left.name, left.reason) == ("Alice", "away")
        anna.write("Alice, are you there?")
        await asyncio.sleep(0.9)
        assert home.speakers() == ["Bob"]
        await asyncio.sleep(10)
        joined = anna.of(s.ServerRoomJoinedEvent)[-1]
        assert (joined.participant_id, joined.name, alice.refused) == (left.participant_id, "Alice", 2)
        assert not anna.of(s.AgentEndedEvent)
        await anna.writes("Alice, again?")
        assert home.speakers() == ["Bob", "Alice"]
        assert alice.read == ["[Anna]: Alice, again?"]


async def test_an_agent_that_dies_while_it_speaks_gives_the_floor_away() -> None:
    """ROOM-13: the speaker is killed: what was heard of it stays, and the next may speak."""
    alice, bob = TalkModel("This is a long story that never ends."), TalkModel("I am Bob.")
    async with anna_in(two(alice, bob)) as (home, anna):
        anna.write("Hello everyone!")
        await asyncio.sleep(0.5)
        assert home.speakers() == ["Alice"]
        alice.die(refusals=99)
        await home.quiet()
        assert home.speakers() == ["Alice", "Bob"]
        floors = zip(home.of(s.ServerRoomFloorEvent), home.floors(), strict=True)
        bobs_ms = next(one.ts_ms for one, name in floors if name == "Bob")
        came = sum(len(one.delta) for one in home.of(s.AgentResponseAudioDeltaEvent) if one.agent_name == "Alice")
        assert bobs_ms >= 1_000 * came / 48_000, "what had come of Alice was heard first"
        assert home.talk()[-1] == ("Bob", "I am Bob.")


async def test_a_room_of_which_a_model_cannot_be_had_does_not_start_and_may_be_tried_again() -> None:
    alice, bob = TalkModel(), TalkModel()
    bob.refusals = 1
    room = ChatRoom(agents=[agent("Alice", alice), agent("Bob", bob)])
    with pytest.raises(ProviderError, match="down"):
        await room.start(lambda _: None)
    assert (alice.open, bob.open, room.agent_participants) == (0, 0, [])
    with pytest.raises(UsageError, match="not running"):
        await room.handle_input(c.ClientTextAppendEvent(text="Hello?"))
    bob.refusals = 1
    async with two(alice, bob) as home:
        with pytest.raises(ProviderError):
            await home.come("Anna")
        ben = await home.come("Ben")
        await ben.writes("Hello everyone!")
        assert home.speakers() == ["Alice", "Bob", "Alice", "Bob"], "whoever comes later finds it whole"


async def test_what_a_room_is_not_for_is_refused() -> None:
    room = ChatRoom(agents=[agent("Alice", TalkModel())])
    with pytest.raises(UsageError, match="not running"):
        await room.handle_input(c.ClientTextAppendEvent(text="Hello?"))
    await room.stop()
    again = ChatRoom(agents=[agent("Alice", TalkModel())])
    await again.start(lambda _: None)
    with pytest.raises(UsageError, match="runs already"):
        await again.start(lambda _: None)
    await again.stop()
    with pytest.raises(UsageError, match="one name"):
        ChatRoom(agents=[agent("Alice", TalkModel()), agent("alice", TalkModel())])


async def test_a_name_that_is_none_is_refused() -> None:
    async with house() as home:
        for name in ("", "   ", "x" * 65):
            with pytest.raises(ClientError, match="1 to 64"):
                await home.come(name)


async def test_what_has_no_meaning_in_a_room_is_answered_by_an_error() -> None:
    async with anna_in(house(agent("Alice", TalkModel()))) as (_, anna):
        anna.call.receive(c.ClientItemDeleteEvent(item_id="item_1", event_id="mine"))
        (error,) = anna.of(s.AgentErrorEvent)
        assert (error.code, error.client_event_id) == ("unsupported_in_room", "mine")


async def test_a_provider_that_cannot_be_kept_from_answering_is_gated() -> None:
    """Its answers out of turn are cancelled, and nobody is told of them."""
    always = msgspec.structs.replace(MANUAL_PROFILE, supports_manual_turns=True)

    def answers_by_itself(message: object) -> list[object] | None:
        from realtime.model.script import Speak, Transcribe

        if isinstance(message, AudioCommit):
            return [Transcribe("hm"), Speak("I answer what nobody asked me.", 3.0, pace=2.0, wait=False)]
        return None

    alice = TalkModel("I am Alice.")
    bob = TalkModel("I am Bob.", profile=always, react=answers_by_itself)  # type: ignore[arg-type]
    async with anna_in(two(alice, bob, max_agent_turns=1)) as (home, anna):
        await anna.says("Hello to all of you.")
        assert home.speakers() == ["Alice"]
        assert [name for name, _ in home.talk()] == ["Anna", "Alice"]
        assert not [one for one in anna.events if getattr(one, "agent_name", "") == "Bob" and "response" in one.type]
        assert len(bob.of(ResponseCancel)) >= 1


async def test_an_agent_may_be_in_a_room_and_in_another_call_at_a_time() -> None:
    model = TalkModel()
    agent = RealtimeAgent("Alice", "", model)
    alone: list[s.ServerEvent] = []
    await agent.start(alone.append)
    room = ChatRoom([agent])
    await room.start(lambda _: None)
    await room.stop()
    assert [event.type for event in alone] == ["agent_ready"], "its own call goes on"
    await agent.stop()
    assert alone[-1].type == "agent_ended"

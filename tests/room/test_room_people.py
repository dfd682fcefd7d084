"""Who is in a room: how they come, what they are called, what others are told of them, and how they go."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.playback import AcknowledgedPlayback
from realtime.call.limits import Limits
from realtime.call.listener import Listener
from realtime.call.session import Session
from realtime.dialects.native import NativeDialect
from realtime.errors import ClientError, ProviderError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat, ContentPart
from realtime.event.config import SessionConfig
from realtime.memory import LongTermMemoryBase
from realtime.model.base import AudioCommit, Connection, SessionUpdate
from realtime.room import ChatRoom, record
from realtime.room.floor import addressed
from realtime.room.names import settled_name
from realtime.room.people import ABSENT_S
from realtime.testing.cases.hearing import LoudnessDetector
from tests.room.rooms import (
    HZ,
    House,
    Human,
    TalkModel,
    agent,
    anna_and_ben_in,
    anna_in,
    house,
    seconds,
    two,
    utterance,
)
from tests.tables import rows

pytestmark = pytest.mark.virtual_time(limit_s=3_600)


class Slow(TalkModel):
    """A model that is connected after three seconds."""

    async def connect(self, **how: Any) -> Connection:
        await asyncio.sleep(3)
        return await super().connect(**how)


def told(model: TalkModel) -> str:
    """What the model was told about itself last."""
    updates = model.of(SessionUpdate)
    return (updates[-1].settings if updates else model.settings[-1]).instructions or ""


async def test_an_agent_with_a_users_memory_comes_into_no_room() -> None:
    """A long-term memory is one of a user, and in a room many speak: it is not ignored in silence."""
    own = RealtimeAgent("Friday", "", TalkModel(), long_term_memory=LongTermMemoryBase())
    with pytest.raises(UsageError, match="'Friday' has a long_term_memory"):
        ChatRoom([own])
    room = ChatRoom([agent("Emma", TalkModel())])
    with pytest.raises(UsageError, match="Leave it out"):
        await room.add(own)


def test_a_name_is_what_everybody_sees() -> None:
    settled = [*rows("names.tsv", "settled"), ["x" * 64, "x" * 64]]
    assert [ascii(given) for given, name in settled if settled_name(given) != name or settled_name(name) != name] == []


async def test_a_name_that_cannot_be_seen_or_is_a_line_of_talk_is_nobodys() -> None:
    long = ("x" * 65, "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 30)
    async with anna_in(two()) as (home, anna):
        for name in ("", " ", *long, *(name for (name,) in rows("names.tsv", "refused"))):
            with pytest.raises(ClientError) as refused:
                home.room.make_human(name, home.runtime)
            assert refused.value.code == "invalid_name"
            with pytest.raises(ClientError) as refused:
                home.room.rename(anna.id, name)
            assert refused.value.code == "invalid_name"
            newcomer = agent("Dora", TalkModel())
            newcomer.name = name
            with pytest.raises(ClientError):
                await home.room.add(newcomer)
        assert [one.name for one in home.room.participants] == ["Alice", "Bob", "Anna"]


async def test_names_that_only_look_different_are_one() -> None:
    async with two() as home:
        for name, other in (("Straße", "STRASSE"), ("Ana", "A\N{ZERO WIDTH JOINER}na")):
            first, second = await home.come(name), await home.come(other)
            assert (first.name, second.name) == (name, f"{other} 2")
    with pytest.raises(UsageError):
        ChatRoom([agent("Zoë", TalkModel()), agent("ZOE\N{COMBINING DIAERESIS}", TalkModel())])


async def test_a_name_is_taken_while_its_agent_is_still_connected() -> None:
    async with two() as home:
        await home.come("Anna")
        first, second = agent("Dora", Slow()), agent("dora", Slow())
        second.agent_id = "another"
        coming = asyncio.create_task(home.room.add(first))
        await asyncio.sleep(1)
        with pytest.raises(ClientError) as refused:
            await home.room.add(second)
        assert refused.value.code == "name_taken"
        human = await home.come("Dora")
        await coming
        assert human.name == "Dora 2"
        assert [one.name for one in home.room.participants] == ["Alice", "Bob", "Anna", "Dora 2", "Dora"]


async def test_everybody_may_be_called_the_same_in_another_way() -> None:
    async with two() as home:
        anna = await home.come("anna")
        home.room.rename(anna.id, "Anna")
        n_told = len(anna.events)
        home.room.rename(anna.id, "Anna")
        assert (anna.name, len(anna.events)) == ("Anna", n_told), "the second time nothing has changed"


async def test_an_agent_that_is_renamed_knows_it_and_so_do_the_others() -> None:
    alice, bob = TalkModel("I am here."), TalkModel()
    async with anna_in(two(alice, bob, floor=addressed)) as (home, anna):
        home.room.rename("alice", "Eva")
        await asyncio.sleep(0.1)
        assert "You are Eva, in a room" in told(alice)
        assert "these other agents: Eva." in told(bob)
        assert bob.of(SessionUpdate)[-1].settings.names == ("Eva", "Bob"), "what the recogniser hears better"
        assert [one["name"] for one in home.room.describe()["agents"]] == ["Eva", "Bob"]
        await home.room.add(agent("Carl", TalkModel()))
        alice.die()
        await asyncio.sleep(3)
        assert (
            "You are Eva, in a room with humans and these other agents: Bob, Carl." in alice.settings[-1].instructions
        )
        home.room.rename("bob", "Alice")
        await anna.writes("Eva, hello.")
        assert home.talk()[-1] == ("Eva", "I am here.")


async def test_agents_are_told_which_others_there_are_when_one_comes_or_goes_or_is_renamed_meanwhile() -> None:
    alice, bob, carl, dora = TalkModel(), TalkModel(), TalkModel(), Slow()
    async with two(alice, bob) as home:
        await home.come("Anna")
        await home.room.add(agent("Carl", carl))
        await asyncio.sleep(0.1)
        assert "these other agents: Bob, Carl." in told(alice)
        assert "these other agents: Alice, Bob." in told(carl)
        assert not carl.of(SessionUpdate), "it was told when it came"
        await home.room.remove("bob")
        await asyncio.sleep(0.1)
        assert "these other agents: Carl." in told(alice)
        assert "these other agents: Alice." in told(carl)
        coming = asyncio.create_task(home.room.add(agent("Dora", dora)))
        await asyncio.sleep(1)
        home.room.rename("alice", "Eva")
        await coming
        assert "these other agents: Eva, Carl." in told(dora)


def changes(events: list[s.ServerEvent]) -> list[tuple[str, bool, bool]]:
    return [(one.name, one.muted, one.away) for one in events if isinstance(one, s.ServerRoomChangedEvent)]


async def test_everybody_is_told_who_is_muted_and_whose_model_is_lost() -> None:
    alice = TalkModel()
    async with anna_and_ben_in(two(alice)) as (home, anna, ben):
        home.room.mute(anna.id)
        home.room.mute(anna.id)
        home.room.mute("alice")
        home.room.mute(anna.id, muted=False)
        expected = [("Anna", True, False), ("Alice", True, False), ("Anna", False, False)]
        assert changes(anna.events) == changes(ben.events) == expected
        carla = await home.come("Carla")
        there = [(one.name, one.muted, one.away) for one in carla.of(s.ServerRoomJoinedEvent)]
        assert [name for name, muted, _ in there if muted] == ["Alice"]
        assert not any(away for _, _, away in there)
        home.room.mute("alice", muted=False)
        alice.die()
        assert changes(anna.events)[3:] == [("Alice", False, False), ("Alice", False, True)]
        await asyncio.sleep(3)
        assert changes(anna.events)[5:] == [("Alice", False, False)]


class Nowhere:
    """A socket that takes everything."""

    def write(self, frame: Any) -> bool:
        return True

    async def finish(self) -> None:
        return

    def close(self, code: int, reason: str) -> None:
        return


async def ben_who_may_return(home: House, grace_s: float) -> tuple[Session, Callable[[], Listener], str]:
    """Ben's call, what makes each of his sockets, and the token with which he resumes; he is away at once."""

    def socket() -> Listener:
        dialect = NativeDialect()
        clock = AcknowledgedPlayback(24_000)
        return Listener(sink=Nowhere(), dialect=dialect, runtime=home.runtime, clock=clock, resumes_with=dialect)

    human = home.room.make_human("Ben", home.runtime)
    call = Session(participant=human, runtime=home.runtime, session_id="ben", limits=Limits(grace_s=grace_s))
    first = socket()
    call.attach(first)
    await call.start(SessionConfig())
    token = call.resume_token.renew()
    call.detach(first)
    return call, socket, token


async def test_a_human_is_away_while_their_socket_is_lost() -> None:
    async with anna_in(two()) as (home, anna):
        call, socket, token = await ben_who_may_return(home, grace_s=30)
        assert changes(anna.events) == [("Ben", False, True)]
        carla = await home.come("Carla")
        assert [(one.name, one.away) for one in carla.of(s.ServerRoomJoinedEvent)][-1] == ("Ben", True)
        assert not carla.of(s.ServerRoomLeftEvent)
        second = socket()
        call.resume(second, token, call.log.last_seq)
        assert changes(anna.events) == [("Ben", False, True), ("Ben", False, False)]
        call.detach(second)
        await asyncio.sleep(31)
        assert [one.name for one in anna.of(s.ServerRoomLeftEvent)] == ["Ben"]


async def test_a_human_who_stays_away_for_a_minute_is_removed_however_long_their_call_waits() -> None:
    async with anna_in(two()) as (home, anna):
        call, socket, token = await ben_who_may_return(home, grace_s=600)
        await asyncio.sleep(ABSENT_S - 1)
        second = socket()
        call.resume(second, token, call.log.last_seq)
        await asyncio.sleep(ABSENT_S)
        assert not anna.of(s.ServerRoomLeftEvent), "who came back in time is there"
        call.detach(second)
        await asyncio.sleep(ABSENT_S - 1)
        assert not anna.of(s.ServerRoomLeftEvent)
        await asyncio.sleep(2)
        assert [(one.name, one.reason) for one in anna.of(s.ServerRoomLeftEvent)] == [("Ben", "absent")]
        assert [one.name for one in home.room.participants] == ["Alice", "Bob", "Anna"]
        assert call.ended.is_set(), "their client is told that it is over when it comes back"


async def test_a_human_who_leaves_while_away_is_not_removed_again() -> None:
    async with anna_in(two()) as (home, anna):
        await ben_who_may_return(home, grace_s=30)
        await asyncio.sleep(2 * ABSENT_S)
        assert [(one.name, one.reason) for one in anna.of(s.ServerRoomLeftEvent)] == [("Ben", "listener_gone")]


async def test_whoever_comes_late_is_told_who_said_what_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "TOLD_ITEMS", 6)
    async with anna_in(two(floor=addressed)) as (home, anna):
        for number in range(4):
            await anna.writes(f"Bob, this is line {number}.")
        ben = await home.come("Ben")
        added = ben.of(s.AgentItemAddedEvent)
        assert [one.agent_id for one in added] == [anna.id, "bob"] * 3
        assert [(one.item.name, one.item.text) for one in added] == home.talk()[-6:]
        assert [item.id for item in ben.call.conversation.items()] == [one.item.id for one in added]


async def test_an_answer_that_goes_on_is_not_told_as_done_to_whoever_comes() -> None:
    async with anna_in(two("This is a long story, and it is not over for a while.", floor=addressed)) as (home, anna):
        anna.write("Alice, a story please.")
        await asyncio.sleep(0.5)
        ben = await home.come("Ben")
        (story,) = [one.item for one in ben.of(s.AgentItemAddedEvent) if one.item.role == "assistant"]
        assert story.id not in [one.item.id for one in ben.of(s.AgentItemDoneEvent)]
        await home.quiet()
        done = [one.item for one in ben.of(s.AgentItemDoneEvent) if one.item.id == story.id]
        kept = home.room.conversation.get(story.id)
        assert kept is not None
        assert [(one.status, one.text) for one in done] == [(kept.status, kept.text)]


async def test_an_agent_that_comes_later_knows_what_was_said() -> None:
    dora = Slow("I know.")
    async with anna_in(two(bob="A banana.", floor=addressed)) as (home, anna):
        await anna.writes("Bob, what is yellow?")
        coming = asyncio.create_task(home.room.add(agent("Dora", dora)))
        await asyncio.sleep(1)
        await anna.writes("So be it.")
        await coming
        known = [part for item in dora.histories[0] for part in item.content]
        words = ["[Anna]: Bob, what is yellow?", "[Bob]: A banana."]
        assert known == [ContentPart(type="text", text=text) for text in words]
        assert dora.read == ["[Anna]: So be it.", "[Bob]: A banana."], "said while its model was being connected"


async def test_an_agent_that_comes_back_knows_what_was_said_meanwhile_and_what_was_heard_of_its_last_words() -> None:
    long = "This is a long answer, of which there is more to hear when the model is lost already."
    alice = TalkModel("I am Alice.", long)
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        await anna.writes("Alice, hello.")
        alice.die(refusals=2)
        anna.write("Bob, the secret word is banana.")
        await asyncio.sleep(10)
        known = ["[Anna]: Alice, hello.", "I am Alice.", "[Anna]: Bob, the secret word is banana.", "[Bob]: I am Bob."]
        assert [item.text for item in alice.histories[-1]] == known
        anna.write("Alice, tell me all.")
        await asyncio.sleep(seconds(long) * 0.7)
        assert home.room.turns.speaker.unplayed_ms() > 1_000
        alice.die()
        await asyncio.sleep(10)
        assert [item.text for item in alice.histories[-1]] == [*known, "[Anna]: Alice, tell me all.", long]


async def test_who_hangs_up_or_leaves_a_closed_room_in_mid_sentence_is_told_of_no_trouble() -> None:
    told: list[s.ServerEvent] = []
    alice = TalkModel()
    room = ChatRoom([agent("Alice", alice)], make_detector=lambda _: LoudnessDetector())
    await room.start(told.append)
    pcm = utterance("I was about to say")
    await room.handle_input(c.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(HZ)))
    await room.stop()
    assert any(isinstance(one, s.AgentInputStartedEvent) for one in told)
    assert not any(isinstance(one, s.AgentErrorEvent) for one in told)
    assert alice.of(AudioCommit) == [], "nobody would be there to read it"
    async with anna_in(two()) as (home, anna):
        anna.begin("I was about to say")
        await home.room.close("empty")
        await anna.go()
        assert anna.errors() == []


async def test_an_agent_that_comes_while_the_room_opens_waits_for_that() -> None:
    alice, dora = Slow(), TalkModel()
    async with house(agent("Alice", alice)) as home:
        alice.refusals = 1
        coming = asyncio.create_task(home.come("Anna"))
        await asyncio.sleep(1)
        adding = asyncio.create_task(home.room.add(agent("Dora", dora)))
        with pytest.raises(ProviderError):
            await coming
        await adding
        assert dora.open == 0, "the room is not open"
        await home.come("Anna")
        assert [one.name for one in home.room.participants] == ["Alice", "Dora", "Anna"]
        assert (alice.open, dora.open) == (1, 1)


async def test_a_room_that_closes_while_agents_are_connected_leaves_none_of_them_open() -> None:
    alice, bob, dora = Slow(), Slow(), Slow()
    home = House([agent("Alice", alice), agent("Bob", bob)])
    coming = asyncio.create_task(home.come("Anna"))
    await asyncio.sleep(1)
    await home.room.close("empty")
    with pytest.raises(ClientError) as refused:
        await coming
    assert refused.value.code == "room_closed"
    assert (alice.open, bob.open) == (0, 0)

    home = House([agent("Bob", TalkModel())])
    anna = await home.come("Anna")
    adding = asyncio.create_task(home.room.add(agent("Dora", dora)))
    await asyncio.sleep(1)
    await home.room.close("empty")
    with pytest.raises(ClientError):
        await adding
    assert dora.open == 0
    assert [one.name for one in home.room.agents] == ["Bob"]
    await anna.go()


async def test_whoever_gives_up_while_the_room_opens_is_not_in_it() -> None:
    async with house(agent("Alice", Slow())) as home:
        anna = Human(home.room, "Anna", home.runtime)
        coming = asyncio.create_task(anna.come())
        await asyncio.sleep(1)
        await anna.go()
        with pytest.raises((ClientError, UsageError)):
            await coming
        assert [one.name for one in home.room.participants] == ["Alice"]
        assert home.room.humans == []
        last = [*anna.call.log.read(0)][-1]
        assert isinstance(last, s.ServerSessionEndedEvent), "nothing follows the end of a call"


async def test_what_was_said_before_somebody_left_in_mid_sentence_counts() -> None:
    async with anna_and_ben_in(two(floor=addressed)) as (home, anna, ben):
        anna.begin("Bob, there is something that you have to know.")
        await anna.go()
        await home.quiet()
        assert home.talk() == [("Anna", "Bob, there is something that you have to know."), ("Bob", "I am Bob.")]
        seen = [one.type for one in ben.events if "input" in one.type or "left" in one.type]
        input_events = ("agent_input_started", "agent_input_done", "agent_input_transcription_done")
        assert seen == [*input_events[:2], "server_room_left", input_events[2]]


async def test_an_agent_that_is_thrown_out_is_gone_before_its_model_is() -> None:
    alice = TalkModel()
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        await anna.writes("Alice, hello.")
        participant = home.room.agent_participants[0]
        leave = participant.leave

        async def slowly(reason: str) -> None:
            await asyncio.sleep(1)
            await leave(reason)

        participant.leave = slowly
        removing = asyncio.create_task(home.room.remove("alice"))
        await asyncio.sleep(0.1)
        await anna.writes("And what now?")
        await removing
        assert home.speakers() == ["Alice", "Bob"]


async def test_a_human_may_want_longer_silences_in_the_middle_of_a_call() -> None:
    async with anna_in(house(agent("Alice", TalkModel()))) as (_, anna):
        anna.call.receive(c.ClientSessionUpdateEvent(config={"turn_detection": {"silence_duration_ms": 2_000}}))
        anna.begin("I was about to say")
        anna.end(1_500)
        assert anna.participant.microphone.is_speaking
        anna.end(600)
        assert not anna.participant.microphone.is_speaking

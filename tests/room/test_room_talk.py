"""A talk of humans and agents: who has the floor, who hears what, and nothing that one does stops the others."""

import asyncio
from typing import Any

import pytest

from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, ToolDeclaration, TurnDetection
from realtime.model.base import AudioCommit, ModelInput
from realtime.model.script import CallTools, Step
from realtime.room import ChatRoom
from realtime.room.agent_participant import MAX_TOOL_ROUNDS
from realtime.room.floor import addressed, broadcast, round_robin
from realtime.room.transcription import TRANSCRIPT_S
from realtime.tool import Toolkit
from tests.room.rooms import DEAF, HZ, TalkModel, agent, anna_and_ben_in, anna_in, house, seconds, two, utterance
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

STORY = "Once upon a time there was a king who had three sons and one crown."
BUTTON = SessionConfig(turn_detection=TurnDetection(authority="client"))


async def test_a_voice_stops_the_agent_at_the_word_that_was_heard() -> None:
    alice = TalkModel(STORY, "Yes, Anna?")
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(1.5)
        anna.begin("Stop, please.")
        assert home.floors()[-2:] == [None, "Anna"]
        anna.end()
        await home.quiet()
        (_, _), (who, cut), stop, answer = home.talk()
        assert who == "Alice"
        assert cut
        assert STORY.startswith(cut)
        assert seconds(cut) <= 1.6
        assert (stop, answer) == (("Anna", "Stop, please."), ("Alice", "Yes, Anna?"))
        flush = anna.of(s.ServerAudioFlushEvent)
        assert flush, "what waits at the page is dropped"


async def test_who_types_into_an_answer_is_heard_before_anybody_else_speaks_and_a_stop_silences_the_room() -> None:
    async with anna_in(two(STORY, "Here I am.", floor=broadcast, max_agent_turns=2)) as (home, anna):
        anna.write("Hello everyone!")
        await asyncio.sleep(1.0)
        await anna.writes("Stop.")
        assert home.floors()[:5] == ["Anna", "Alice", None, "Anna", "Alice"]
        assert [name for name, _ in home.talk()] == ["Anna", "Alice", "Anna", "Alice", "Bob"]
        anna.write("And now?")
        await asyncio.sleep(1.0)
        anna.call.receive(c.ClientResponseCancelEvent())
        assert home.room.floor is None
        await home.quiet()
        assert home.speakers()[3:] == ["Alice"], "until somebody speaks"
        anna.call.receive(c.ClientResponseCreateEvent())
        await asyncio.sleep(0.1)
        assert home.speakers()[3:] == ["Alice", "Bob"], "asked for, the next one speaks"
        await home.quiet()


async def test_two_humans_who_speak_at_once_stay_two_turns() -> None:
    async with anna_and_ben_in(two(floor=addressed)) as (home, anna, ben):
        anna.begin("Bob, what time is it?")
        ben.begin("And I would like to know")
        ben.end()
        await asyncio.sleep(1)
        assert home.speakers() == [], "Anna still speaks"
        anna.end()
        await home.quiet()
        assert sorted(home.talk()[:2]) == [("Anna", "Bob, what time is it?"), ("Ben", "And I would like to know")]
        assert home.speakers() == ["Bob"]


async def test_each_agent_hears_each_word_once_and_only_who_is_spoken_to_gets_the_sound() -> None:
    alice, bob = TalkModel("Bob, do you agree?", "Yes."), TalkModel("I do.", "Yes.")
    sound = utterance("How are you today?")
    async with anna_and_ben_in(two(alice, bob, floor=addressed)) as (home, anna, _):
        await anna.says("Alice, what do you think?")
        for model, others in ((alice, ["[Bob]: I do."]), (bob, ["[Alice]: Bob, do you agree?"])):
            heard_it = utterance("Alice, what do you think?") in model.heard
            assert heard_it is not ("[Anna]: Alice, what do you think?" in model.read)
            assert [text for text in model.read if "Anna" not in text] == others
        assert [name for name, _ in home.talk()] == ["Anna", "Alice", "Bob"]
        await anna.writes("Bob, hello.")
        await anna.says("How are you today?")
        assert (sound in alice.heard, sound in bob.heard) == (False, True)
        assert alice.read[-2:] == ["[Anna]: How are you today?", "[Bob]: Yes."]
        assert len(bob.of(AudioCommit)) == 1


async def test_two_humans_of_one_name_are_told_apart() -> None:
    alice = TalkModel()
    async with two(alice, floor=round_robin) as home:
        first, second, third, fourth = [await home.come(name) for name in ("Anna", "anna", "Alice", "ANNA")]
        assert [one.name for one in (first, second, third, fourth)] == ["Anna", "anna 2", "Alice 2", "ANNA 3"]
        assert second.of(s.ServerRoomJoinedEvent)[0].name == "anna 2", "first of all everybody is told who they are"
        second.write("Hello.")
        await third.says("Hello to you.")
        assert [name for name, _ in home.talk() if name not in ("Alice", "Bob")] == ["anna 2", "Alice 2"]
        assert "[anna 2]: Hello." in alice.read


async def test_a_new_name_counts_from_now_on() -> None:
    bob = TalkModel()
    async with anna_in(two(bob=bob, floor=addressed)) as (home, anna):
        home.room.rename(anna.id, "Annabel")
        await anna.writes("Bob, hello.")
        home.room.rename("bob", "Robert")
        await anna.writes("Robert, again.")
        assert [name for name, _ in home.talk()] == ["Annabel", "Bob", "Annabel", "Robert"]
        assert bob.read[0] == "[Annabel]: Bob, hello."
        renamed = [one for one in anna.of(s.ServerRoomLeftEvent) if one.reason == "renamed"]
        assert [one.name for one in renamed] == ["Anna", "Bob"]
        with pytest.raises(ClientError, match="taken"):
            home.room.rename(anna.id, "robert")
        with pytest.raises(KeyError):
            home.room.rename("nobody", "Somebody")


async def test_a_muted_human_is_not_heard_and_holds_up_nobody() -> None:
    async with anna_and_ben_in(two(floor=round_robin)) as (home, anna, ben):
        anna.begin("What I said before counts.")
        home.room.mute(anna.id)
        await anna.says("Nobody hears this.")
        assert home.talk()[0] == ("Anna", "What I said before counts.")
        assert home.speakers() == ["Alice"], "the floor is not hers for ever"
        await ben.says("Hello from Ben.")
        assert home.speakers() == ["Alice", "Bob"]
        home.room.mute(anna.id, False)
        anna.end()
        await anna.says("I am back again.")
        expected = ["What I said before counts.", "I am back again."]
        assert [text for name, text in home.talk() if name == "Anna"] == expected


async def test_a_muted_agent_stops_and_gets_no_floor() -> None:
    async with anna_in(two(TalkModel(STORY), floor=broadcast, max_agent_turns=2)) as (home, anna):
        anna.write("Hello everyone!")
        await asyncio.sleep(1.0)
        home.room.mute("alice")
        await home.quiet()
        assert home.speakers() == ["Alice", "Bob"]
        assert home.talk()[1][1] != STORY
        await anna.writes("And now?")
        assert home.speakers() == ["Alice", "Bob", "Bob"]
        home.room.mute("alice", False)
        assert home.speakers()[3:] == ["Alice"], "it may answer as well"


async def test_whoever_is_thrown_out_is_told_and_the_others_go_on() -> None:
    alice = TalkModel(STORY)
    async with anna_and_ben_in(two(alice, floor=broadcast, max_agent_turns=2)) as (home, anna, ben):
        anna.write("Hello everyone!")
        await asyncio.sleep(1.0)
        await home.room.remove("alice")
        await home.room.remove(ben.id, "rude")
        assert alice.open == 0
        expected = [("Alice", "kicked"), ("Ben", "rude")]
        assert [(one.name, one.reason) for one in anna.of(s.ServerRoomLeftEvent)] == expected
        await asyncio.wait_for(ben.call.ended.wait(), 5)
        assert ben.of(s.AgentEndedEvent)[-1].reason == "rude"
        await home.quiet()
        assert home.speakers() == ["Alice", "Bob"]
        assert [one.name for one in home.room.participants] == ["Bob", "Anna"]
        with pytest.raises(KeyError):
            await home.room.remove("alice")


async def test_an_agent_that_is_away_or_came_back_can_be_thrown_out() -> None:
    alice, bob = TalkModel(), TalkModel()
    async with two(alice, bob) as home:
        await home.come("Anna")
        alice.die()
        bob.die()
        await home.room.remove("alice")
        await asyncio.sleep(100)
        assert (alice.open, bob.open) == (0, 1)
        assert [one.name for one in home.room.participants] == ["Bob", "Anna"]
        assert [one.name for one in home.of(s.ServerRoomJoinedEvent)] == ["Alice", "Bob", "Anna", "Bob"]
        await home.room.remove("bob")
        assert (bob.open, [*home.room.agents]) == (0, [])


async def test_an_agent_may_come_later() -> None:
    carl, twice = TalkModel("I am Carl."), TalkModel()
    async with anna_in(two(floor=addressed)) as (home, anna):
        await home.room.add(agent("Carl", carl))
        await anna.writes("Carl, hello.")
        assert home.speakers() == ["Carl"]
        with pytest.raises(ClientError, match="taken"):
            await home.room.add(agent("carl", twice))
        twice.refusals = 1
        with pytest.raises(Exception, match="down"):
            await home.room.add(agent("Dora", twice))
        assert [one.name for one in home.room.participants] == ["Alice", "Bob", "Anna", "Carl"]
        assert [one.name for one in home.room.agents] == ["Alice", "Bob", "Carl"]


async def test_whoever_comes_late_is_told_all_there_is() -> None:
    alice = TalkModel("I am Alice.")
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        await anna.writes("Alice, hello.")
        alice.die(refusals=99)
        anna.begin("I was about to say")
        ben = await home.come("Ben")
        assert [one.name for one in ben.of(s.ServerRoomJoinedEvent)] == ["Ben", "Alice", "Bob", "Anna"]
        assert [(one.name, one.reason) for one in ben.of(s.ServerRoomLeftEvent)] == [("Alice", "away")]
        assert ben.of(s.ServerRoomFloorEvent)[-1].participant_id == anna.id
        assert [(one.item.name, one.item.text) for one in ben.of(s.AgentItemDoneEvent)] == home.talk()
        assert [one.agent_name for one in ben.of(s.AgentReadyEvent)] == ["Alice", "Bob"]


async def test_a_turn_of_push_to_talk_lasts_until_the_button_is_released() -> None:
    async with two(floor=addressed) as home:
        anna, ben = await home.come("Anna", BUTTON), await home.come("Ben")
        anna.begin("Bob, are you there?")
        anna.end(3_000)
        await asyncio.sleep(1)
        assert home.speakers() == []
        assert home.room.floor == anna.id
        anna.call.receive(c.ClientAudioCommitEvent())
        await home.quiet()
        assert home.talk() == [("Anna", "Bob, are you there?"), ("Bob", "I am Bob.")]
        await ben.says("Thank you, Bob.")
        assert home.speakers() == ["Bob", "Bob"]


@pytest.mark.parametrize("how", ["cleared", "too short", "left"])
async def test_a_button_that_was_pressed_by_mistake_holds_up_nobody(how: str) -> None:
    async with two(floor=round_robin) as home:
        anna, ben = await home.come("Anna", BUTTON), await home.come("Ben")
        anna.hear(utterance("This is a mistake.")[: 640 * 4])
        assert home.room.floor == anna.id
        if how == "cleared":
            anna.call.receive(c.ClientAudioClearEvent())
        elif how == "too short":
            anna.call.receive(c.ClientAudioCommitEvent())
        else:
            await anna.go()
        assert home.room.floor is None
        await ben.says("And what about me?")
        assert home.talk() == [("Ben", "And what about me?"), ("Alice", "I am Alice.")]


@pytest.mark.parametrize("event", [c.ClientAudioCommitEvent, c.ClientAudioClearEvent])
async def test_a_turn_that_its_client_ends_while_the_voice_goes_on_takes_none_of_the_next_one(event: Any) -> None:
    """Also where the voice ends with it: then the detector finds an end that belongs to no turn."""
    async with anna_in(two(floor=round_robin)) as (home, anna):
        anna.begin("This is what I say.")
        anna.call.receive(event())
        for _ in range(20):
            anna.end(100)
            await asyncio.sleep(0.1)
        await home.quiet()
        await anna.says("And now what?")
        assert "And now what?" in [text for _, text in home.talk()]


async def test_a_button_that_is_held_for_ever_makes_turns_all_the_same() -> None:
    """A participant that floods: what is kept of a turn is bounded."""
    async with two(floor=round_robin) as home:
        anna = await home.come("Anna", BUTTON)
        for _ in range(130):
            anna.hear(bytes(HZ * 2))
        assert len(anna.of(s.AgentInputDoneEvent)) == 2


async def test_whoever_stalls_or_leaves_in_the_middle_of_a_sentence_holds_up_nobody_and_loses_nothing() -> None:
    async with anna_and_ben_in(two(floor=round_robin)) as (home, anna, ben):
        anna.begin("What I wanted to say")
        await asyncio.sleep(10)
        await ben.says("Is Anna still there?")
        assert home.speakers() == ["Alice"]
        anna.begin("is this.")
        assert home.room.floor == anna.id
        anna.end()
        await home.quiet()
        assert home.talk()[2:] == [("Anna", "What I wanted to say is this."), ("Bob", "I am Bob.")]
        anna.begin("And there is")
        ben.say("Let me say something, too.")
        await asyncio.sleep(1)
        assert home.speakers() == ["Alice", "Bob"]
        await anna.go()
        await home.quiet()
        said = [("Ben", "Let me say something, too."), ("Anna", "And there is"), ("Alice", "I am Alice.")]
        assert home.talk()[4:] == said


async def test_an_agent_that_calls_a_tool_for_ever_loses_the_floor() -> None:
    calls = 0

    def look() -> str:
        """Looks."""
        nonlocal calls
        calls += 1
        return "nothing yet"

    alice = TalkModel([CallTools((("look", {}),))])
    bob = TalkModel("I am Bob.")
    async with anna_in(
        house(agent("Alice", alice, toolkit=Toolkit([look])), agent("Bob", bob), floor=broadcast, max_agent_turns=2)
    ) as (home, anna):
        await anna.writes("Hello everyone!")
        assert home.speakers() == ["Alice", "Bob"]
        assert calls <= MAX_TOOL_ROUNDS
        assert home.talk()[-1] == ("Bob", "I am Bob.")


async def test_the_tool_of_a_client_answers_the_agent_that_called_it() -> None:
    """Two models use the same ids of calls: in the room each has its own."""
    call = [CallTools((("open_door", {"which": "left"}),))]
    alice, bob = TalkModel(call, "It is open."), TalkModel("I am Bob.")
    door = ToolDeclaration(name="open_door", description="Opens a door.", parameters={"type": "object"})
    room = ChatRoom([agent("Alice", alice), agent("Bob", bob)], floor=addressed)
    told: list[s.ServerEvent] = []
    await room.start(told.append, config=SessionConfig(tools=(door,)))
    await room.handle_input(c.ClientTextAppendEvent(text="Alice, open it."))
    await asyncio.sleep(1)
    (asked,) = [one.tool_use for one in told if isinstance(one, s.AgentResponseToolUseDoneEvent)]
    assert asked.id.startswith("alice.")
    for call_id in (asked.id.removeprefix("alice."), "bob." + asked.id.removeprefix("alice."), asked.id):
        await room.handle_input(c.ClientToolResultEvent(id=call_id, name="open_door", output="done"))
    await asyncio.sleep(2)
    await room.stop()
    errors = [one.code for one in told if isinstance(one, s.AgentErrorEvent)]
    assert errors == ["unknown_tool_call"] * 2
    assert [item.text for item in room.conversation.items() if item.type == "message"][-1] == "It is open."


async def test_words_that_never_come_are_not_waited_for_for_ever() -> None:
    def deaf(message: ModelInput) -> list[Step] | None:
        return [] if isinstance(message, AudioCommit) else None

    async with anna_and_ben_in(
        two(TalkModel("I am Alice.", react=deaf), TalkModel("I am Bob.", react=deaf), floor=round_robin)
    ) as (home, anna, ben):
        anna.say("Nobody writes this down.")
        ben.write("Hello?")
        await asyncio.sleep(TRANSCRIPT_S - 1)
        assert home.speakers() == []
        await home.quiet()
        assert home.speakers() == ["Alice"]


async def test_a_room_without_agents_is_a_place_to_talk() -> None:
    async with anna_and_ben_in(house()) as (home, anna, ben):
        anna.write("Is anybody here?")
        await ben.says("Only I am here.")
        assert home.talk()[0] == ("Anna", "Is anybody here?")
        assert next(one.item.text for one in ben.of(s.AgentItemDoneEvent)) == "Is anybody here?"
        assert ben.errors() == ["nobody_hears"]
        anna.call.receive(c.ClientResponseCreateEvent())
        assert home.speakers() == []


async def test_agents_that_take_no_sound_read_what_others_write_down_and_alone_they_say_so() -> None:
    deaf = TalkModel("I am Alice.", profile=DEAF)
    async with anna_in(two(deaf, floor=broadcast, max_agent_turns=2)) as (home, anna):
        await anna.says("Hello to all of you.")
        assert home.speakers() == ["Alice", "Bob"]
        assert deaf.read == ["[Anna]: Hello to all of you.", "[Bob]: I am Bob."]
        assert (deaf.heard, anna.errors()) == (b"", [])
    async with anna_in(house(agent("Alice", TalkModel("I am Alice.", profile=DEAF)))) as (home, anna):
        anna.say("Hello to all of you.")
        assert anna.errors() == ["nobody_hears"]
        await anna.writes("Then I write.")
        assert home.talk() == [("Anna", ""), ("Anna", "Then I write."), ("Alice", "I am Alice.")]


async def test_a_full_room_lets_nobody_in_until_somebody_leaves_and_a_closed_one_nobody_at_all() -> None:
    async with two(max_humans=3) as home:
        results = await asyncio.gather(*(home.come(f"h{number}") for number in range(8)), return_exceptions=True)
        assert len(home.room.humans) == 3
        assert [one.code for one in results if isinstance(one, ClientError)] == ["room_full"] * 5
        with pytest.raises(ClientError, match="3 in the room"):
            await home.come("Carla")
        await home.humans[0].go()
        carla = await home.come("Carla")
        assert carla.name == "Carla"
        await home.room.close("over")
        with pytest.raises(ClientError, match="closed"):
            await home.come("Ben")
        carla.write("Hello?")
        await asyncio.sleep(1)
        assert home.speakers() == []


async def test_people_who_come_and_go_without_end_leave_nothing_behind() -> None:
    async with anna_in(two(floor=addressed)) as (home, anna):
        for number in range(volume(120, 300)):
            guest = await home.come(f"Guest {number % 3}")
            if number % 3 == 0:
                guest.begin("I only wanted")
            elif number % 3 == 1:
                guest.write("Hello and goodbye.")
            await guest.go()
            home.humans.remove(guest)
        await home.quiet()
        room = home.room
        assert [one.name for one in room.participants] == ["Alice", "Bob", "Anna"]
        context, pending = room._context, room.turns.transcription.pending
        assert (len(room.humans), len(pending), len(context.timers), len(context.tasks)) == (1, 0, 0, 0)
        assert len(room.log.read(0)) <= 1_100
        await anna.says("Am I alone again?")
        assert home.talk()[-2][0] == "Anna"


async def depot() -> str:
    """Ask the depot."""
    await asyncio.sleep(8)
    return "the parcel is in Gera"


async def clock() -> str:
    """Tell the time."""
    return "noon"


@pytest.mark.parametrize("is_spoken", [False, True], ids=["typed", "spoken"])
@pytest.mark.parametrize("calls", [("depot",), ("clock", "depot")], ids=["one tool", "one of two"])
async def test_a_tool_goes_on_when_a_human_talks_on_and_its_result_is_told(
    calls: tuple[str, ...], is_spoken: bool
) -> None:
    model = TalkModel([CallTools(tuple((name, {}) for name in calls))], "It is sunny.", "It is in Gera.")
    alice = agent("Alice", model, toolkit=Toolkit([depot, clock]))
    async with anna_in(house(alice, agent("Bob", TalkModel()), floor=addressed)) as (home, anna):
        anna.write("Alice, where is the parcel?")
        await asyncio.sleep(2)
        (anna.say if is_spoken else anna.write)("Alice, what is the weather?")
        await asyncio.sleep(30)
        assert home.talk()[-2:] == [("Alice", "It is sunny."), ("Alice", "It is in Gera.")]
        assert any("the parcel is in Gera" in text and "Tell the user now" in text for text in model.read)


async def test_a_tool_of_a_room_that_is_cancelled_owes_nothing() -> None:
    model = TalkModel([CallTools((("depot", {}),))], "It is in Gera.")
    alice = agent("Alice", model, toolkit=Toolkit([depot]))
    async with anna_in(house(alice, agent("Bob", TalkModel()), floor=addressed)) as (home, anna):
        anna.write("Alice, where is the parcel?")
        await asyncio.sleep(2)
        anna.call.receive(c.ClientResponseCancelEvent())
        await asyncio.sleep(30)
        assert home.speakers() == ["Alice"]
        assert home.talk() == [("Anna", "Alice, where is the parcel?")]

"""Who writes down what humans say: words are lost only where nobody here has understood them."""

import asyncio
from collections.abc import Callable

import pytest

from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.model import ModelInputTranscriptionFailedEvent
from realtime.model.base import AudioCommit, ModelInput
from realtime.model.script import Emit, Step, Transcribe, Wait
from realtime.room.floor import FloorState, addressed, broadcast
from realtime.room.transcription import LATE_WORDS_S, SLOW_WORDS_S, TRANSCRIPT_S
from realtime.testing.cases.hearing import voice
from tests.room.rooms import HZ, House, TalkModel, agent, anna_and_ben_in, anna_in, house, two, utterance

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

QUESTION = "Bob, what time is it?"
React = Callable[[ModelInput], list[Step] | None]


def on_commit(*steps: Step) -> React:
    """A model that does only this with a turn that it has heard."""
    return lambda message: [*steps] if isinstance(message, AudioCommit) else None


def late(after_ms: int) -> React:
    """A model that takes its time to write down the one question."""
    return on_commit(Wait(after_ms), Transcribe(QUESTION))


def dying(refusals: int = 99) -> TalkModel:
    """Its model is lost as soon as it has heard a turn."""
    model = TalkModel("I am Alice.")

    def react(message: ModelInput) -> list[Step] | None:
        if isinstance(message, AudioCommit):
            asyncio.get_running_loop().call_soon(lambda: model.die(refusals=refusals))
            return []
        return None

    model._react = react
    return model


def assert_asked_and_answered(home: House) -> None:
    assert home.talk() == [("Anna", QUESTION), ("Bob", "It is seven.")]
    (words,) = home.of(s.AgentInputTranscriptionDoneEvent)
    assert words.transcript == QUESTION


async def test_another_writes_down_what_an_agent_heard_whose_model_is_lost_or_did_not_understand() -> None:
    failed = ModelInputTranscriptionFailedEvent(item_id="any", code="failed", message="it was not understood")
    failing: list[Step] = [Transcribe(""), Transcribe("  "), Emit(failed)]
    for alice in (dying(), *(TalkModel(react=on_commit(step)) for step in failing)):
        async with anna_in(two(alice, "It is seven.", floor=addressed)) as (home, anna):
            await anna.says(QUESTION)
            assert_asked_and_answered(home)


async def test_the_first_who_understands_counts_and_all_may_be_lost_but_one() -> None:
    not_understood, slow = TalkModel(react=on_commit(Transcribe(""))), TalkModel(react=late(300))
    for alice, is_lost in ((not_understood, False), (slow, True)):
        bob = TalkModel(react=late(300))
        async with anna_in(two(alice, bob, floor=broadcast, max_agent_turns=0)) as (home, anna):
            anna.say(QUESTION)
            await asyncio.sleep(0.1)
            if is_lost:
                alice.die(refusals=99)
            await home.quiet()
            assert home.talk() == [("Anna", QUESTION)]
            assert len(bob.of(AudioCommit)) == 1, "who has heard it is not given it again"


@pytest.mark.parametrize("how", ["is thrown out", "is too slow"])
async def test_another_writes_down_what_an_agent_heard_that_is_thrown_out_or_too_slow(how: str) -> None:
    async with anna_in(two(TalkModel(react=on_commit()), "It is seven.", floor=addressed)) as (home, anna):
        anna.say(QUESTION)
        await asyncio.sleep(0.1)
        if how == "is thrown out":
            await home.room.remove("alice")
            await asyncio.sleep(0.1)
        else:
            await asyncio.sleep(SLOW_WORDS_S)
        assert home.room.floor == "bob"
        await home.quiet()
        assert_asked_and_answered(home)


async def test_a_policy_is_asked_once_where_turns_are_settled_whose_writers_are_gone() -> None:
    asked: list[str] = []

    async def policy(state: FloorState) -> str | None:
        asked.append(state.last.text if state.last is not None else "")
        await asyncio.sleep(0.5)
        asked.append("answered")
        return None

    async with anna_in(house(agent("Alice", TalkModel(react=on_commit())), floor=policy)) as (home, anna):
        anna.write("Hello.")
        await asyncio.sleep(1)
        anna.say(QUESTION)
        anna.say(QUESTION)
        await asyncio.sleep(0.1)
        asked.clear()
        alice = home.room.agent_participants[0]
        home.room.agent_participants.remove(alice)
        home.room.mute(anna.id)
        await asyncio.sleep(1)
        assert asked == ["Hello.", "answered"]
        home.room.agent_participants.append(alice)


@pytest.mark.parametrize("how", ["the room is closed", "the one human of a room used alone goes"])
async def test_nobody_is_given_what_another_has_heard_when_all_go(how: str) -> None:
    alice, bob = TalkModel(react=on_commit()), TalkModel(react=on_commit())
    async with two(alice, bob, floor=addressed) as home:
        room = home.room
        if how == "the room is closed":
            anna = await home.come("Anna")
            anna.say(QUESTION)
        else:
            await room.start(lambda _: None)
            for at in range(0, len(pcm := utterance(QUESTION) + bytes(HZ * 2 * 600 // 1000)), 640):
                piece = c.ClientAudioAppendEvent(audio=pcm[at : at + 640], format=AudioFormat.pcm16(HZ))
                await room.handle_input(piece)
        await asyncio.sleep(0.1)
        assert len(alice.of(AudioCommit)) == 1
        await (room.close("over") if how == "the room is closed" else room.stop())
        assert bob.of(AudioCommit) == []
        assert [one.transcript for one in home.of(s.AgentInputTranscriptionDoneEvent)] == [""]
        assert not room.turns.transcription.pending
        assert not room._context.timers


async def test_what_two_do_not_understand_has_no_words() -> None:
    deaf = [TalkModel(react=on_commit(Transcribe(""))) for _ in range(3)]
    names = ("Alice", "Bob", "Carl")
    async with anna_in(house(*(agent(*one) for one in zip(names, deaf, strict=True)), floor=addressed)) as (home, anna):
        await anna.says("Hm.")
        assert home.talk() == [("Anna", "")]
        assert [len(model.of(AudioCommit)) for model in deaf] == [1, 1, 0]
        assert home.room.floor is None


async def test_an_agent_that_heard_a_turn_with_another_does_not_read_it_as_well() -> None:
    alice, bob = TalkModel("Yes.", react=on_commit(Transcribe(""))), TalkModel("It is seven.")
    async with anna_in(two(alice, bob, floor=addressed)) as (_, anna):
        await anna.says(QUESTION)
        assert alice.heard == bob.heard == utterance(QUESTION) + alice.heard[len(utterance(QUESTION)) :]
        assert alice.read == ["[Bob]: It is seven."]


async def test_words_that_come_late_are_answered_all_the_same() -> None:
    async with anna_in(house(agent("Bob", TalkModel("It is seven.", react=late(12_000))), floor=addressed)) as (
        home,
        anna,
    ):
        anna.say(QUESTION)
        await asyncio.sleep(TRANSCRIPT_S + 0.1)
        assert home.room.floor is None, "nobody waits for them"
        await asyncio.sleep(3)
        await home.quiet()
        assert_asked_and_answered(home)


@pytest.mark.parametrize("ends", ["heard", "stopped by a cough"])
async def test_words_that_come_late_while_an_agent_speaks_are_answered_after_it(ends: str) -> None:
    """Anna's words take 12 s; Ben's question is being answered when they come."""
    story = "Once upon a time there was a king who had three sons and one crown, and so on."

    def first(*steps: Step) -> React:
        """What is done with the first turn; the next has no words."""
        turns = [[*steps]]
        return lambda message: (
            (turns.pop() if turns else [Transcribe("")]) if isinstance(message, AudioCommit) else None
        )

    bob = TalkModel(react=first(Wait(12_000), Transcribe("What time is it?")))
    alice = TalkModel(story, "It is seven.", react=first())
    async with anna_and_ben_in(house(agent("Bob", bob), agent("Alice", alice), floor=addressed)) as (home, anna, ben):
        anna.say("What time is it?")
        await asyncio.sleep(TRANSCRIPT_S + 0.5)
        ben.write("Alice, a story please.")
        await asyncio.sleep(2)
        assert home.room.floor == "alice", "she tells her story"
        (words,) = home.of(s.AgentInputTranscriptionDoneEvent)
        assert words.transcript == "What time is it?"
        if ends != "heard":
            ben.hear(voice("a cough", HZ * 400 // 1000, HZ))
            ben.end()
        await home.quiet()
        assert home.talk()[-1] == ("Alice", "It is seven.")
        said = [one.text for one in home.room.turns.floor.state.said]
        assert said[0] == "Alice, a story please."
        assert story.startswith(said[1])
        assert said[2:] == ["What time is it?", "It is seven."]
        lines = [line for line in alice.read if line.startswith("[Anna]") and "(speaks)" not in line]
        assert lines == [], "she has heard it"


async def test_words_that_never_come_are_none_in_the_end() -> None:
    bob = TalkModel(react=on_commit())
    async with anna_in(house(agent("Bob", bob), floor=addressed)) as (home, anna):
        for number in range(20):
            anna.say(f"This is sentence number {number} of mine.")
            await asyncio.sleep(12)
        await asyncio.sleep(LATE_WORDS_S)
        assert home.talk() == [("Anna", "")] * 20
        assert home.speakers() == []
        assert not home.room.turns.transcription.pending
        assert not home.room._context.timers


async def test_nobody_is_asked_to_speak_because_words_never_came() -> None:
    asked = 0

    def policy(_: FloorState) -> str | None:
        nonlocal asked
        asked += 1
        return None

    async with anna_in(house(agent("Bob", TalkModel(react=on_commit())), floor=policy)) as (home, anna):
        anna.write("Hello.")
        anna.say(QUESTION)
        await asyncio.sleep(TRANSCRIPT_S + 1)
        before = asked
        await asyncio.sleep(LATE_WORDS_S)
        assert home.talk() == [("Anna", "Hello."), ("Anna", "")]
        assert asked == before


async def test_nothing_is_kept_for_an_agent_that_never_writes_down_what_others_do() -> None:
    alice = TalkModel(react=on_commit())
    async with anna_in(two(alice, "It is seven.", floor=broadcast, max_agent_turns=0)) as (home, anna):
        for number in range(20):
            anna.say(f"This is sentence number {number} of mine.")
            await asyncio.sleep(12)
        assert [text for _, text in home.talk()] == [f"This is sentence number {n} of mine." for n in range(20)]
        await asyncio.sleep(LATE_WORDS_S)
        assert not home.room._context.timers
        assert not home.room.turns.transcription._sheets

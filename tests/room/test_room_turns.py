"""What a human says becomes turns: whole, bounded, and none of nothing."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.event.model import ModelEvent, ModelInputTranscriptionDoneEvent
from realtime.model.base import AudioAppend, AudioCommit, Connection, OnEvent
from realtime.room import human_participant
from realtime.room.floor import addressed, round_robin
from realtime.room.human_participant import (
    GOES_ON_MS,
    LINES_AT_ONCE,
    LINES_PER_S,
    MAX_LINE_CHARS,
    MAX_TURN_BYTES,
    TURNS_AT_ONCE,
    TURNS_PER_S,
)
from realtime.room.rate import Rate
from tests.room.rooms import DEAF, HZ, House, Human, TalkModel, agent, anna_and_ben_in, anna_in, house, two, utterance

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

BUTTON = SessionConfig(turn_detection=TurnDetection(authority="client"))
LONG = "Bob this is a long sentence that I say at once, without an end or a pause at all, and then on and on."
BYTES_PER_MS = HZ * 2 // 1000


def heard_ms(*models: TalkModel) -> float:
    """How much sound the models were sent."""
    return sum(
        len(one.pcm) / 2 * 1000 / model.profile.input_rate_hz for model in models for one in model.of(AudioAppend)
    )


def turns(home: House) -> int:
    return len(home.of(s.AgentInputDoneEvent))


async def test_who_speaks_for_minutes_keeps_the_floor_and_every_word() -> None:
    alice, bob = TalkModel("I am Alice."), TalkModel("I am Bob.")
    async with anna_in(two(alice, bob, floor=round_robin)) as (home, anna):
        story = (utterance("And so on, and so on. ") * 200)[: 130_000 * BYTES_PER_MS]
        for at in range(0, len(story), 1_000 * BYTES_PER_MS):
            anna.hear(story[at : at + 1_000 * BYTES_PER_MS])
            await asyncio.sleep(1)
            assert home.room.floor == anna.id
            assert home.speakers() == []
        anna.end()
        await home.quiet()
        assert turns(home) == 3
        assert heard_ms(alice, bob) >= 130_000
        assert max(len(one.pcm) for one in alice.of(AudioAppend)) <= MAX_TURN_BYTES + 640


async def test_silence_after_the_longest_turn_is_no_turn() -> None:
    async with anna_in(two(floor=round_robin)) as (home, anna):
        story = utterance("And so on, and so on. ") * 200
        for at in range(0, len(story), 640):
            if turns(home):
                break
            anna.hear(story[at : at + 640])
        anna.end()
        await home.quiet()
        first, second = home.of(s.AgentInputStartedEvent)
        assert [one.item_id for one in home.of(s.AgentInputDoneEvent)] == [first.item_id]
        assert [one.item_id for one in home.of(s.AgentInputClearedEvent)] == [second.item_id]
        assert home.speakers() == ["Alice"]


async def test_only_what_follows_the_end_of_a_mute_is_heard() -> None:
    speech, at = utterance(LONG), 1_000 * BYTES_PER_MS
    whisper, nothing = b"\x05\x00" * (HZ // 4), b""
    said: list[tuple[bytes, bytes, int]] = [
        (whisper, utterance("Now you may hear me."), 1),
        (speech[:at], speech[at:], 1),
        (utterance("Nobody is to hear this."), nothing, 0),
    ]
    for muted, heard, n_turns in said:
        alice = TalkModel("I am Alice.")
        async with anna_in(house(agent("Alice", alice), floor=addressed)) as (home, anna):
            home.room.mute(anna.id)
            anna.hear(muted)
            home.room.mute(anna.id, muted=False)
            anna.hear(heard)
            anna.end(5_000)
            await home.quiet()
            assert turns(home) == len(home.of(s.AgentInputStartedEvent)) == len(home.speakers()) == n_turns
            assert heard[:3_200] in alice.heard
            assert muted[-320:] not in alice.heard
            assert heard_ms(alice) >= len(heard) / BYTES_PER_MS


@pytest.mark.parametrize(
    ("then_ms", "ends", "n_turns"),
    [
        (2_000, "is silent", 2),
        (GOES_ON_MS // 2, "is silent", 2),
        (700, "leaves", 2),
        (700, "is muted", 2),
        (60, "is muted", 1),
    ],
)
async def test_what_is_said_after_a_commit_is_another_turn(then_ms: int, ends: str, n_turns: int) -> None:
    """Unless it is next to nothing."""
    alice = TalkModel("I am Alice.")
    async with anna_and_ben_in(house(agent("Alice", alice), floor=addressed)) as (home, anna, _):
        pcm = utterance(LONG)
        anna.hear(pcm[: 1_000 * BYTES_PER_MS])
        anna.call.receive(c.ClientAudioCommitEvent())
        anna.hear(pcm[1_000 * BYTES_PER_MS : (1_000 + then_ms) * BYTES_PER_MS])
        assert turns(home) == 1
        if ends == "leaves":
            await anna.go()
        elif ends == "is muted":
            home.room.mute(anna.id)
        else:
            anna.end()
        await home.quiet()
        assert turns(home) == n_turns
        assert heard_ms(alice) >= 1_000 + (then_ms if n_turns == 2 else 0)


async def test_a_commit_at_the_end_of_speech_is_answered_at_once() -> None:
    async with anna_in(two(floor=addressed)) as (home, anna):
        anna.begin("Bob, are you there?")
        anna.call.receive(c.ClientAudioCommitEvent())
        anna.end(5_000)
        await asyncio.sleep(0.1)
        assert home.room.floor == "bob"
        await home.quiet()
        assert turns(home) == 1
        assert home.talk() == [("Anna", "Bob, are you there?"), ("Bob", "I am Bob.")]


async def test_a_tap_of_which_too_little_arrives_is_no_turn_nor_one_that_is_muted() -> None:
    """Of 100 ms at another rate the resampler keeps some back."""
    for rate_hz in (8_000, 24_000, 44_100, 48_000):
        async with two(floor=addressed) as home:
            anna = await home.come("Anna", BUTTON)
            for _ in range(10):
                piece = b"\x10\x00" * (rate_hz // 100)
                anna.call.receive(c.ClientAudioAppendEvent(audio=piece, format=AudioFormat.pcm16(rate_hz)))
            anna.call.receive(c.ClientAudioCommitEvent())
            assert (turns(home), home.room.floor) == (0, None)
            anna.hear(utterance(LONG)[: 60 * BYTES_PER_MS])
            home.room.mute(anna.id)
            assert (turns(home), home.room.floor) == (0, None)
            assert [one.agent_id for one in anna.of(s.AgentInputClearedEvent)][-1] == anna.id


def tap(human: Human, number: int) -> None:
    """Hold the button for as long as makes a turn."""
    human.hear(utterance(LONG)[: 120 * BYTES_PER_MS])
    human.call.receive(c.ClientAudioCommitEvent(event_id=f"tap {number}"))


async def test_who_makes_turns_without_end_is_slowed_down_and_takes_no_words_from_others() -> None:
    """A participant that floods."""
    alice = TalkModel("It is seven.")
    async with two(alice, floor=addressed) as home:
        anna, ben = await home.come("Anna", BUTTON), await home.come("Ben")
        for number in range(1_000):
            tap(anna, number)
        assert turns(home) == TURNS_AT_ONCE
        errors = anna.of(s.AgentErrorEvent)
        assert {(one.code, one.retryable) for one in errors} == {("too_fast", True)}
        assert [one.client_event_id for one in errors] == [f"tap {number}" for number in range(TURNS_AT_ONCE, 1_000)]
        assert ben.errors() == [], "nobody else is told"
        started, cleared = home.of(s.AgentInputStartedEvent), home.of(s.AgentInputClearedEvent)
        assert [one.item_id for one in cleared] == [one.item_id for one in started[TURNS_AT_ONCE:]]
        await asyncio.sleep(2)
        assert len(alice.of(AudioCommit)) == TURNS_AT_ONCE
        for number in range(10):
            tap(anna, number)
        assert turns(home) == TURNS_AT_ONCE + int(2 * TURNS_PER_S)
        await ben.says("Alice, what time is it?")
        assert ("Ben", "Alice, what time is it?") in home.talk()
        assert home.talk()[-1] == ("Alice", "It is seven.")


class SlowToWrite(TalkModel):
    """Tells the words of each turn a second after it has heard it."""

    async def connect(self, *, on_event: OnEvent, **how: Any) -> Connection:
        def emit(event: ModelEvent) -> None:
            if isinstance(event, ModelInputTranscriptionDoneEvent):
                asyncio.get_running_loop().call_later(1, on_event, event)
            else:
                on_event(event)

        return await super().connect(on_event=emit, **how)


async def test_words_that_are_being_written_down_outlast_a_flood_of_another_s_turns() -> None:
    async with house(agent("Alice", SlowToWrite("It is seven.")), floor=addressed) as home:
        anna, ben = await home.come("Anna", BUTTON), await home.come("Ben")
        ben.say("Alice, what time is it?")
        for number in range(100):
            tap(anna, number)
        await home.quiet()
        words = [one.transcript for one in home.of(s.AgentInputTranscriptionDoneEvent) if one.agent_id == ben.id]
        assert words == ["Alice, what time is it?"]
        assert home.talk()[-1] == ("Alice", "It is seven.")


async def test_a_turn_that_is_too_much_holds_up_no_leave_and_no_mute() -> None:
    async with two(floor=addressed) as home:
        anna, ben = await home.come("Anna", BUTTON), await home.come("Ben", BUTTON)
        for human in (anna, ben):
            for number in range(TURNS_AT_ONCE):
                tap(human, number)
            human.hear(utterance(LONG)[: 500 * BYTES_PER_MS])
        await anna.go()
        home.room.mute(ben.id)
        assert [one.name for one in home.room.participants if one.kind == "human"] == ["Ben"]
        assert [one.muted for one in home.room.participants if one.id == ben.id] == [True]
        assert ben.errors() == ["too_fast"]
        assert turns(home) == 2 * TURNS_AT_ONCE
        await home.quiet()


async def test_a_line_with_nothing_in_it_stops_nobody() -> None:
    story = "This is a story that is not over for a while."
    async with anna_in(two(story, floor=addressed)) as (home, anna):
        anna.write("Alice, a story please.")
        await asyncio.sleep(0.5)
        for text in ("", " ", "\n\t "):
            anna.call.receive(c.ClientTextAppendEvent(text=text, event_id="e1"))
        assert [(one.code, one.client_event_id) for one in anna.of(s.AgentErrorEvent)] == [("empty_text", "e1")] * 3
        assert home.room.floor == "alice"
        await home.quiet()
        assert home.talk()[-1] == ("Alice", story)


async def test_a_line_that_is_longer_than_anybody_types_is_refused() -> None:
    async with anna_in(two("Yes.", floor=addressed)) as (home, anna):
        anna.write("x" * (MAX_LINE_CHARS + 1))
        assert anna.errors() == ["text_too_long"]
        await anna.writes("x" * MAX_LINE_CHARS)
        assert [who for who, _ in home.talk()] == ["Anna", "Alice"]


async def test_who_types_without_end_is_slowed_down_and_deafens_nobody() -> None:
    """A participant that floods."""
    bob = TalkModel()
    async with anna_and_ben_in(two(bob=bob, floor=lambda _: None)) as (home, anna, ben):
        for number in range(10_000):
            anna.write(f"{number}")
        assert len(home.talk()) == LINES_AT_ONCE
        assert set(anna.errors()) == {"too_fast"}
        assert all(one.retryable for one in anna.of(s.AgentErrorEvent))
        assert ben.errors() == [], "nobody else is told"
        ben.write("Is anybody there?")
        await asyncio.sleep(1)
        assert bob.read[-1] == "[Ben]: Is anybody there?"
        await asyncio.sleep(1)
        for number in range(10):
            anna.write(f"again {number}")
        assert len(home.talk()) == LINES_AT_ONCE + 1 + int(2 * LINES_PER_S)


def test_a_rate_never_allows_more_at_once_than_it_names() -> None:
    rate = Rate("lines", 3, 0.5)

    def allows(now: float) -> bool:
        with suppress(ClientError):
            rate.check(now)
            return True
        return False

    assert [allows(1_000.0) for _ in range(4)] == [True, True, True, False]
    assert not allows(1_001.0)
    assert allows(1_002.0)
    assert [allows(9_000.0) for _ in range(4)] == [True, True, True, False]
    with pytest.raises(ClientError, match="more than 3 lines at once") as refused:
        rate.check(9_000.0)
    assert (refused.value.code, refused.value.retryable) == ("too_fast", True)


async def test_the_call_of_a_human_keeps_the_end_of_a_long_talk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(human_participant, "KEPT_ITEMS", 10)
    async with house(agent("Deaf", TalkModel(profile=DEAF)), floor=lambda _: None) as home:
        anna: Human = await home.come("Anna")
        for number in range(30):
            anna.write(f"line {number}")
            await asyncio.sleep(1)
        kept = [item.text for item in anna.call.conversation.items()]
        assert kept == [f"line {number}" for number in range(20, 30)]

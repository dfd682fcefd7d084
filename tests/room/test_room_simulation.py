"""Rooms as they are used: five humans who talk as they like, four agents, the real server and sockets, virtual time.

REALTIME_ROOM_MINUTES is how long they talk; without it two minutes, in `make nightly` five, and there half an hour
under `addressed`, which takes some thirty seconds of a core. By day they talk for one minute, under `addressed` alone.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from realtime.event import server as s
from realtime.room import ChatRoom
from realtime.room.floor import POLICIES, moderator
from realtime.testing.cases.stand_in import HangUp, Say, StandIn
from realtime.testing.check.floor import RoomRun
from realtime.testing.client.steps import (
    Drop,
    Leave,
    Network,
    Send,
    Silence,
    Speak,
    Step,
    Type,
    WaitFor,
    WaitUntilHeard,
)
from tests.room.simulation import AGENTS, HUMANS, Mortal, agents, chooses, hearing, pressed, talk
from tests.volumes import volume

VoiceRoom = Callable[..., Awaitable[RoomRun]]
Staged = Callable[..., Awaitable[RoomRun]]

MINUTES = float(os.environ.get("REALTIME_ROOM_MINUTES", volume(2, 5)))
LONG_MINUTES = float(os.environ.get("REALTIME_ROOM_MINUTES", volume(1, 30)))
STOPPED_MS = 760
"""A voice whose words are unknown takes the floor once it lasts 500 ms, which is known up to 60 ms later, and a device
plays on for 80 ms: there is room for six frames more."""
AT_THE_ONSET_MS = 250
"""A voice that stops a reply at its onset is noticed after 60 to 100 ms."""
LIMIT = 4


def check(run: RoomRun, *, within_ms: float = STOPPED_MS) -> None:
    """What holds in every room, whatever is said."""
    run.no_two_agents_at_once()
    run.every_human_interruption_stops_the_agent(within_ms=within_ms)
    run.every_word_once()
    run.no_agent_hears_itself()
    run.agents_in_a_row_at_most(LIMIT)
    run.nothing_after_flush()


async def simulated(voice_room: VoiceRoom, folder: Path, seed: int, **options: Any) -> RoomRun:
    """Five humans and four agents for a while."""
    users = options.pop("users", None) or talk(folder, minutes=MINUTES, seed=seed)
    options = {"agents": agents(seed), "floor": POLICIES["addressed"], "max_agent_turns": LIMIT} | options
    return await voice_room(users, folder=folder, seed=seed, by_loudness=True, **options)


@pytest.fixture
def staged(voice_room: VoiceRoom, fixtures_dir: Path) -> Staged:
    """Plays what humans do, in a room with Alice and Bob."""

    async def play(users: dict[str, list[Step]], *, alice: StandIn, bob: StandIn, **options: Any) -> RoomRun:
        folder, both = fixtures_dir / "audio", {"Alice": alice, "Bob": bob}
        return await voice_room(users, by_loudness=True, agents=both, folder=folder, **options)

    return play


def says(text: str) -> StandIn:
    """An agent that always says this."""
    return StandIn(otherwise=Say(text))


@pytest.mark.parametrize(
    ("policy", "minutes"),
    [
        ("addressed", LONG_MINUTES),
        *(pytest.param(name, MINUTES, marks=pytest.mark.night) for name in POLICIES if name != "addressed"),
    ],
)
async def test_nobody_talks_over_anybody_and_no_word_is_lost(
    voice_room: VoiceRoom, fixtures_dir: Path, policy: str, minutes: float
) -> None:
    folder = fixtures_dir / "audio"
    users = talk(folder, minutes=minutes, seed=3)
    run = await simulated(voice_room, folder, 3, users=users, floor=POLICIES[policy])
    check(run)
    assert run.record.duration_ms > minutes * 60_000 * 0.9
    assert {turn.who for turn in run.reading.turns} == {*HUMANS}
    assert {one.who for one in run.responses} == {*AGENTS}
    assert run.human_interruptions >= minutes, "they did speak into the agents"
    overlaps = sum(
        one.who != other.who and one.from_ms < other.from_ms < one.to_ms
        for one in run.reading.turns
        for other in run.reading.turns
    )
    assert overlaps >= minutes, "and into each other"


@pytest.mark.night
async def test_the_same_holds_for_real_recordings(voice_room: VoiceRoom, recordings_dir: Path) -> None:
    folder = recordings_dir / "audio"
    run = await simulated(voice_room, folder, 5, config={"turn_detection": {"interruption": "immediate"}})
    # Not all of them begin as loud as they go on.
    check(run, within_ms=2 * AT_THE_ONSET_MS)
    assert run.human_interruptions >= MINUTES


async def test_speech_goes_from_a_browser_through_the_room_to_a_model_and_back(staged: Staged) -> None:
    """CARD-04: over two browsers' WebSockets and through a ChatRoom, a spoken turn reaches a model as sound, and the
    answer of the agent that was spoken to reaches both humans' ears."""
    question, answer = "Bob, what time is it?", "It is seven in the morning."
    run = await staged(
        {"Anna": [Speak("what_time.wav", text=question), WaitUntilHeard()], "Ben": [Silence(12_000)]},
        alice=says("Yes."),
        bob=says(answer),
    )
    check(run.floor_went_to("Bob"))
    assert [(one.name, one.text) for one in run.record.items] == [("Anna", question), ("Bob", answer)]
    assert {one.who for one in run.record.played if run.reading.log.speech(one.item_id)} == {"Anna", "Ben"}
    assert [len(pieces) for pieces in (run.heard["Alice"], run.heard["Bob"])] == [1, 0], "Alice has written it down"


async def test_a_bad_line_and_a_lost_socket_trouble_nobody_else(staged: Staged) -> None:
    """One human's frames come late and not all, another's socket is lost while an agent speaks, a third leaves."""
    hello, time = Speak("hello_anna.wav", text="Hello there."), Speak("what_time.wav", text="What time is it?")
    answer = "It is seven in the morning, and the sun shines on all of us, as far as I can see from here."
    run = await staged(
        {
            "Anna": [Network(loss=0.02, jitter_ms=80, delay_ms=60), hello, WaitUntilHeard(), Silence(12_000), time],
            "Ben": [Silence(4_500), Drop(away_ms=20_000, noticed=False), Silence(10_000)],
            "Carla": [Silence(13_000), Type("Bob, are you there?"), Silence(3_000), Leave()],
        },
        alice=says(answer),
        bob=says("I am here."),
    )
    run.floor_went_to("Alice", "Bob", "Bob").no_two_agents_at_once().no_agent_hears_itself()
    names = [item.name for item in run.record.items]
    assert names[:4] == ["Anna", "Alice", "Carla", "Bob"]
    left = [(one.name, one.reason) for one in run.record.entries if isinstance(one, s.ServerRoomLeftEvent)]
    assert left[0] == ("Carla", "client_end")
    bobs = next(one for one in run.responses if one.who == "Bob")
    assert bobs.created_ms < 20_000, "Bob waits for no socket"


async def test_a_model_that_dies_takes_nobody_with_it(staged: Staged) -> None:
    alice_is_away = WaitFor("server_room_left", {"name": "Alice", "reason": "away"})
    anna: list[Step] = [Type("Alice, hello."), alice_is_away, Type("Bob, hello."), Silence(5_000)]
    anna += [Type("Alice, again."), Silence(5_000), Send({"type": "client_response_cancel"})]
    run = await staged(
        {"Anna": anna, "Ben": [Silence(11_000)]},
        alice=StandIn(answers=(HangUp(),), otherwise=Say("Here I am again.")),
        bob=says("Hello to you."),
    )
    run.no_two_agents_at_once().every_word_once()
    expected = [("Bob", "Hello to you."), ("Alice", "Here I am again.")]
    assert [(item.name, item.text) for item in run.record.items if item.role == "assistant"] == expected


@pytest.mark.night
async def test_a_moderator_by_chance_disturbs_nobody(voice_room: VoiceRoom, fixtures_dir: Path) -> None:
    run = await simulated(voice_room, fixtures_dir / "audio", 7, floor=moderator(chooses(7)))
    check(run)
    assert {one.who for one in run.responses} == {*AGENTS}
    assert run.human_interruptions >= MINUTES


@pytest.mark.night
async def test_whoever_talks_by_button_is_understood_like_the_others(voice_room: VoiceRoom, fixtures_dir: Path) -> None:
    folder = fixtures_dir / "audio"
    users = talk(folder, minutes=MINUTES, seed=11)
    users |= {name: pressed(users[name]) for name in ("Ben", "Emma")}
    run = await simulated(voice_room, folder, 11, users=users)
    check(run)
    assert {turn.who for turn in run.reading.turns if not turn.typed} == {*HUMANS}


def whoever_is(room: ChatRoom, name: str) -> str:
    """Their id."""
    return next(one.id for one in room.participants if one.name == name)


async def test_who_is_muted_is_not_there_until_the_mute_ends(staged: Staged) -> None:
    """Ben is muted from 12 to 20 s and says something meanwhile, and Bob from 30 s on."""
    began_s = asyncio.get_running_loop().time()

    async def mute(room: ChatRoom) -> None:
        for at_s, name, muted in ((12, "Ben", True), (20, "Ben", False), (30, "Bob", True)):
            await asyncio.sleep(at_s - asyncio.get_running_loop().time() + began_s)
            room.mute(whoever_is(room, name), muted)
        await asyncio.sleep(3_600)

    hello, unheard = Speak("hello_robert.wav", text="Good morning."), Speak("set_timer.wav")
    time = Speak("what_time.wav", text="Bob, what time is it?")
    ben: list[Step] = [hello, Silence(12_000), unheard, Silence(7_000), time, Silence(10_000)]
    ben.append(Type("Bob, are you there?"))
    users: dict[str, list[Step]] = {"Anna": [Silence(40_000)], "Ben": ben}
    run = await staged(users, alice=says("Yes."), bob=says("It is seven."), meanwhile=mute)
    check(run)
    expected = [("Ben", "Good morning."), ("Alice", "Yes."), ("Ben", "Bob, what time is it?"), ("Bob", "It is seven.")]
    expected += [("Ben", "Bob, are you there?"), ("Alice", "Yes.")]
    assert [(item.name, item.text) for item in run.record.items] == expected


@pytest.mark.night
async def test_names_that_change_stand_with_what_was_said_under_them(voice_room: VoiceRoom, fixtures_dir: Path) -> None:
    """All the time somebody is renamed, humans and agents; who is called by an old name is called in vain."""
    chance = Random(13)

    async def rename(room: ChatRoom) -> None:
        for number in range(10_000):
            await asyncio.sleep(7)
            if room.participants:
                room.rename(chance.choice(room.participants).id, f"Somebody {number}")

    run = await simulated(voice_room, fixtures_dir / "audio", 13, meanwhile=rename)
    check(run)
    renamed = [one for one in run.record.entries if isinstance(one, s.ServerRoomLeftEvent) and one.reason == "renamed"]
    assert len(renamed) > MINUTES * 8
    assert len({item.name for item in run.record.items}) > len({*AGENTS, *HUMANS})


async def test_who_comes_late_may_interrupt_like_anybody_and_nobody_loses_what_they_heard(staged: Staged) -> None:
    """Carla comes in the middle of an answer, and speaks into it after she has heard some of it."""
    answer = "This is a long answer, which goes on and on for everybody who came in time, and for who came late."
    run = await staged(
        {
            "Anna": [Type("Alice, tell us all."), Silence(20_000)],
            "Ben": [Silence(20_000)],
            "Carla": [Silence(1_500), Speak("hello_anna.wav", text="Hello there."), Silence(8_000)],
        },
        alice=StandIn(answers=(Say(answer),), otherwise=Say("Yes.")),
        bob=says("No."),
        joins_after_ms={"Carla": 3_000},
    )
    check(run)
    run.transcript_equals_heard()
    cut = next(item for item in run.record.items if item.name == "Alice")
    assert len("This is a long answer") < len(cut.text) < len(answer), "as Anna and Ben heard it"


@pytest.mark.night
async def test_people_come_and_go_all_the_time(voice_room: VoiceRoom, fixtures_dir: Path) -> None:
    folder = fixtures_dir / "audio"
    users = talk(folder, minutes=MINUTES, seed=17)
    late_ms = {name: number * 20_000 for number, name in enumerate(HUMANS)}
    users["Anna"] = [*users["Anna"][: len(users["Anna"]) // 2], Silence(1_000), Leave()]
    run = await simulated(voice_room, folder, 17, users=users, joins_after_ms=late_ms)
    check(run)
    run.transcript_equals_heard()


@pytest.mark.night
async def test_words_are_not_lost_with_the_agent_that_writes_them_down(
    voice_room: VoiceRoom, fixtures_dir: Path
) -> None:
    """Its model dies at every fifth turn that it is given."""
    folder = fixtures_dir / "audio"
    users = talk(folder, minutes=MINUTES, seed=19)
    made = hearing(agents(19), users, folder)
    models = [Mortal(one.model, range(3, 10_000, 5)) for one in made]
    for one, model in zip(made, models, strict=True):
        one.model = model
    run = await simulated(voice_room, folder, 19, users=users, agents=made)
    check(run)
    assert sum(model.deaths for model in models) >= MINUTES

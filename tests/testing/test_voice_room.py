"""The kit's rooms: what `voice_room` runs and records, and that each check fails where it has to."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from realtime.agent import RealtimeAgent
from realtime.event import server as s
from realtime.event.base import Item
from realtime.model.scripted import ScriptedModel
from realtime.room import ChatRoom
from realtime.room.floor import FloorState, broadcast
from realtime.testing import ScriptFailure, clock
from realtime.testing.cases.case import Case, Person, Returned
from realtime.testing.cases.expected import ToolUse
from realtime.testing.cases.hearing import LoudnessDetector, Vocabulary, voice
from realtime.testing.cases.stand_in import Call, Say, StandIn
from realtime.testing.check.floor import Heard, RoomRun
from realtime.testing.check.run import CheckFailed
from realtime.testing.client.steps import BargeIn, Leave, Silence, Speak, Type, WaitUntilHeard
from realtime.testing.errors import CaseError
from realtime.testing.record import Played
from realtime.testing.room import voice_room as run_room
from realtime.tool import Toolkit

VoiceRoom = Callable[..., Awaitable[RoomRun]]

AUDIO = Path(__file__).parents[2] / "fixtures/audio"
ALICE = StandIn(otherwise=Say("Hello my dear friend, how are you doing today?"))
BOB = StandIn(otherwise=Say("It is seven in the morning, and the sun shines."))
AGENTS = {"Alice": ALICE, "Bob": BOB}


def says(file: str, text: str) -> Speak:
    return Speak(audio=file, text=text)


ANNA = says("hello_anna.wav", "Hello there, my name is Anna.")
ROBERT = says("hello_robert.wav", "Good morning, I am Robert.")
TIME = says("what_time.wav", "What time is it?")


async def a_talk(voice_room: VoiceRoom, **options: Any) -> RoomRun:
    """Anna speaks to Alice, Ben to Bob and into Bob's answer."""
    ben = [Silence(7_000), Type("Bob, please."), BargeIn(ROBERT, after_ms=500), WaitUntilHeard()]
    users = {"Anna": [ANNA, Silence(6_000), Silence(9_000)], "Ben": ben}
    return await voice_room(users, agents=AGENTS, folder=AUDIO, **options)


@pytest.fixture(scope="module")
def talk() -> RoomRun:
    return clock.run(a_talk(run_room))


def test_all_humans_are_in_one_room_and_the_record_is_the_rooms(talk: RoomRun) -> None:
    said = ["Anna", "Alice", "Ben", "Bob", "Ben", "Bob"]
    assert [(one.role, one.name) for one in talk.record.items] == [
        ("assistant" if name in AGENTS else "user", name) for name in said
    ]
    lanes = [(lane.speaker, lane.kind) for lane in talk.record.lanes]
    assert lanes == [("Anna", "human"), ("Ben", "human"), ("Alice", "agent"), ("Bob", "agent")]
    assert {one.who for one in talk.record.played} == {"Anna", "Ben"}
    turns = talk.reading.turns
    assert [(turn.who, turn.typed) for turn in turns] == [("Anna", False), ("Ben", True), ("Ben", False)]
    # 400 ms into the recordings the voice begins, as their manifest says.
    for turn, spoken in zip((turns[0], turns[-1]), talk.record.spoken, strict=True):
        assert turn.from_ms == pytest.approx(spoken.from_ms + 400, abs=60)
    places = [entry.seq for entry in talk.record.entries]
    assert places == sorted(places)


def test_every_check_holds_in_a_room_where_all_is_well(talk: RoomRun) -> None:
    assert talk.human_interruptions == 1
    talk.floor_went_to("Alice", "Bob", "Bob").agents_in_a_row_at_most(1).no_two_agents_at_once().every_word_once()
    talk.every_human_interruption_stops_the_agent(within_ms=700).no_agent_hears_itself()
    talk.transcript_equals_heard().nothing_after_flush()


def test_the_same_room_gives_the_same_log_every_time(talk: RoomRun) -> None:
    assert clock.run(a_talk(run_room)).record.log_bytes() == talk.record.log_bytes()


async def test_a_case_with_several_users_is_a_room(voice_room: VoiceRoom) -> None:
    people = (Person((TIME, WaitUntilHeard()), "Anna"), Person((Silence(500),), "Ben", client="json"))
    run = await voice_room(Case(users=people, name="two", models=AGENTS), folder=AUDIO)
    assert run.record.name == "two"
    run.floor_went_to("Alice").every_word_once()


async def test_a_room_of_ones_own_is_run_as_it_is(voice_room: VoiceRoom) -> None:
    def bob_only(state: FloorState) -> str | None:
        return "Bob" if state.last is not None and state.last.kind == "human" else None

    agents = [RealtimeAgent(name, "", stand_in.model(Path())) for name, stand_in in AGENTS.items()]
    run = await voice_room({"Anna": [Type("Hi."), WaitUntilHeard()]}, room=ChatRoom(agents, floor=bob_only))
    run.floor_went_to("Bob").agent_said("It is seven")


async def test_tools_of_a_room_s_agents_are_answered_by_the_case(voice_room: VoiceRoom) -> None:
    runs: list[str] = []

    def refund(order: str) -> str:
        """Pay back.

        Args:
            order: Its number.
        """
        runs.append(order)
        return "paid"

    answers = (Call(tools=(ToolUse("refund", {"order": "A"}),)), Say("It is done."))
    agent = RealtimeAgent("Bob", "", StandIn(answers=answers).model(Path()), toolkit=Toolkit([refund]))
    people = (Person((Type("Bob, pay A back."), WaitUntilHeard()), "Anna"),)
    case = Case(users=people, tools={"refund": (Returned("from the case"),)})
    run = await voice_room(case, room=ChatRoom([agent]))
    run.agent_said("It is done")
    assert (runs, [call.output for call in run.tool_called("refund").calls]) == ([], ["from the case"])
    other = RealtimeAgent("Bob", "", StandIn(answers=answers).model(Path()), toolkit=Toolkit([refund]))
    misspelt = msgspec.structs.replace(case, tools={"refnd": (Returned("never"),)})
    with pytest.raises(CaseError, match=r"tools\.refnd: no agent has a tool 'refnd'\. They have: refund"):
        await voice_room(misspelt, room=ChatRoom([other]))


async def test_a_user_who_waits_in_vain_ends_the_room(voice_room: VoiceRoom) -> None:
    with pytest.raises(ScriptFailure, match="step 1 of Ben"):
        await voice_room({"Anna": [Silence(60_000)], "Ben": [WaitUntilHeard(timeout_ms=1_000)]}, agents=AGENTS)


async def test_a_room_that_has_begun_is_refused(voice_room: VoiceRoom) -> None:
    room = ChatRoom([RealtimeAgent("Bob", "", BOB.model(Path()))])
    await voice_room({"Anna": [Silence(100)]}, room=room)
    with pytest.raises(CaseError, match="begun already"):
        await voice_room({"Anna": [Silence(100)]}, room=room)


def changed(run: RoomRun, **changes: Any) -> RoomRun:
    return RoomRun(replace(run.record, **changes), run.heard, run.said)


def by(run: RoomRun, name: str) -> list[Played]:
    """What of this agent was played, by everybody who heard it."""
    return [one for one in run.record.played if run.reading.log.speech(one.item_id).who == name]  # type: ignore[union-attr]


def test_two_agents_at_once_are_found(talk: RoomRun) -> None:
    bobs, alices = by(talk, "Bob")[0], by(talk, "Alice")[0]
    over = replace(bobs, from_ms=alices.from_ms + alices.ms - 100, ms=1_000.0)
    with pytest.raises(CheckFailed, match="Bob and Alice were to be heard at once for 100 ms"):
        changed(talk, played=(alices, over)).no_two_agents_at_once()


def test_an_agent_that_goes_on_over_a_human_is_found(talk: RoomRun) -> None:
    played = by(talk, "Bob")[0]
    on = replace(played, ms=played.ms + 1_100)
    with pytest.raises(CheckFailed, match=r"Ben spoke at .* and Bob was still to be heard by"):
        changed(talk, played=(on,)).every_human_interruption_stops_the_agent(within_ms=700)
    with pytest.raises(CheckFailed, match="20 ms were allowed"):
        talk.every_human_interruption_stops_the_agent(within_ms=20)


def test_words_of_a_human_or_an_agent_that_are_missing_doubled_other_or_somebody_elses_are_found(
    talk: RoomRun,
) -> None:
    said, answer, *rest = talk.record.items
    shortened = (msgspec.structs.replace(answer.content[0], transcript="Hello."),)
    wrong: list[tuple[list[Item], str]] = [
        ([answer, *rest], 'said "'),
        ([said, said, answer, *rest], 'said "'),
        ([msgspec.structs.replace(said, name="Ben"), answer, *rest], 'said "'),
        ([said, *rest], "knows nothing of it"),
        ([said, answer, *rest, answer], "2 times"),
        ([said, msgspec.structs.replace(answer, name="Bob"), *rest], "has it as of Bob"),
        ([said, msgspec.structs.replace(answer, content=shortened), *rest], 'the room knows "Hello."'),
        ([said, answer, *rest, msgspec.structs.replace(answer, id="nobodys")], "no agent said it"),
    ]
    for items, finding in wrong:
        with pytest.raises(CheckFailed, match=re.escape(finding)):
            changed(talk, items=tuple(items)).every_word_once()


async def test_a_participant_who_has_left_hears_no_more(voice_room: VoiceRoom) -> None:
    """Their device may have some of the answer left to play; no check holds that against the room."""
    run = await voice_room(
        {"Anna": [Type("Alice?"), Silence(1_500), Leave()], "Ben": [Silence(1_550), Type("Bob?"), Silence(5_000)]},
        agents=AGENTS,
    )
    left_ms = next(mark.ts_ms for mark in run.record.marks if mark.what == "left")
    assert max(one.from_ms + one.ms for one in run.record.played if one.who == "Anna") == pytest.approx(left_ms)
    run.no_two_agents_at_once().every_word_once().nothing_after_flush()


async def test_a_renamed_participant_said_all_of_it_and_a_late_one_is_there_later(voice_room: VoiceRoom) -> None:
    async def rename(room: ChatRoom) -> None:
        await asyncio.sleep(8)
        room.rename(next(one.id for one in room.participants if one.name == "Anna"), "Annabel")
        await asyncio.sleep(3_600)

    run = await voice_room(
        {
            "Anna": [ANNA, WaitUntilHeard(), Silence(5_000), TIME, WaitUntilHeard()],
            "Ben": [Type("Bob, hello."), WaitUntilHeard()],
        },
        agents=AGENTS,
        folder=AUDIO,
        joins_after_ms={"Ben": 7_000},
        meanwhile=rename,
    )
    run.every_word_once()
    assert [item.name for item in run.record.items if item.role == "user"] == ["Anna", "Ben", "Annabel"]
    came = [one for one in run.record.entries if isinstance(one, s.ServerRoomJoinedEvent) and one.name == "Ben"]
    assert 7_000 <= came[0].ts_ms < 7_500


async def test_an_agent_that_hears_itself_is_found(voice_room: VoiceRoom) -> None:
    run = await a_talk(voice_room)
    said = next(iter(run.said["Alice"].values()))
    # Softer, with noise and in the middle of something else, as an echo is.
    samples = np.frombuffer(bytes(said), "<i2")[:24_000].astype(float) * 0.2
    noise = np.random.default_rng(4).normal(0, 200, 72_000)
    noise[20_000:44_000] += samples
    echo = Heard(run.record.duration_ms, 24_000, noise.astype("<i2").tobytes())
    with pytest.raises(CheckFailed, match="Alice heard itself"):
        RoomRun(run.record, {"Alice": [echo]}, run.said).no_agent_hears_itself()
    RoomRun(run.record, {"Bob": [echo]}, run.said).no_agent_hears_itself()


async def test_a_floor_that_went_elsewhere_is_found(voice_room: VoiceRoom) -> None:
    run = await a_talk(voice_room)
    with pytest.raises(CheckFailed, match=r"The floor went to Alice, Bob, Bob, not to Alice\."):
        run.floor_went_to("Alice")
    with pytest.raises(CheckFailed, match="not to Bob, Bob, Bob"):
        run.floor_went_to("Bob", "Bob", "Bob")


async def test_too_many_agents_in_a_row_are_found(voice_room: VoiceRoom) -> None:
    run = await voice_room(
        {"Anna": [Type("Hi all."), Silence(20_000)]}, agents=AGENTS, floor=broadcast, max_agent_turns=3
    )
    run.floor_went_to("Alice", "Bob", "Alice").agents_in_a_row_at_most(3)
    with pytest.raises(CheckFailed, match="3 agents spoke in a row; at most 2 may"):
        run.agents_in_a_row_at_most(2)


def test_recordings_are_known_again_in_any_order_and_with_frames_lost() -> None:
    words = Vocabulary()
    sounds = [voice(f"{number}", 16_000, 16_000) for number in range(3)]
    for number, sound in enumerate(sounds):
        words.add(sound, f"word {number}")
    silence = bytes(3_200)
    assert words.understand(silence) == ""
    assert words.understand(sounds[2] + silence + sounds[0]) == "word 2 word 0"
    assert words.understand(sounds[1] + sounds[1]) == "word 1 word 1"
    assert words.understand(sounds[0][6_400:]) in ("word 0", "")


@pytest.mark.parametrize("chunk_ms", [20, 40, 100])
def test_the_detector_by_loudness_finds_a_voice_and_its_end(chunk_ms: int) -> None:
    detector, found = LoudnessDetector(), list[Any]()
    sound = bytes(16_000 * 2) + voice("Anna", 16_000, 16_000) + bytes(16_000 * 4)
    n_bytes = chunk_ms * 32
    for at in range(0, len(sound), n_bytes):
        found += detector.push(sound[at : at + n_bytes])
    started, ended = found
    assert started.start_ms == pytest.approx(1_000, abs=chunk_ms)
    assert ended.end_ms == pytest.approx(2_000, abs=chunk_ms)


def test_each_name_has_a_voice_of_its_own() -> None:
    def samples(name: str) -> Any:
        return np.frombuffer(voice(name, 16_000, 16_000), "<i2").astype(float)

    assert voice("Anna", 1_000, 16_000) == voice("Anna", 1_000, 16_000)
    assert abs(np.corrcoef(samples("Anna"), samples("Ben"))[0, 1]) < 0.2
    assert voice("Anna", 0, 16_000) == b""


def test_the_public_names_are_these() -> None:
    import realtime.testing

    assert realtime.testing.voice_room is run_room
    assert realtime.testing.RoomRun is RoomRun


async def test_an_agent_where_a_stand_in_is_meant_is_told_with_what_to_do(voice_room: VoiceRoom) -> None:
    agents: Any = {"Ada": RealtimeAgent("Ada", "", ScriptedModel([]))}
    with pytest.raises(CaseError, match=r"stands for a StandIn here, not for a RealtimeAgent"):
        await voice_room({"Anna": [Type("Hello.")]}, agents=agents)

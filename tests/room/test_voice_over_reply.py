"""A human's voice over an agent's reply in a room: it takes the floor, or the agent goes on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from realtime.audio.resample import resampled
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.room.floor import addressed
from realtime.testing.cases.hearing import voice
from tests.room.rooms import HZ, House, Human, TalkModel, agent, house, two

pytestmark = pytest.mark.virtual_time(limit_s=600)

STORY = "Once upon a time there was a king who had three sons and one crown, and a daughter who wanted it, too."
STEP_MS = 20


def said(words: str, ms: int) -> bytes:
    """A voice of this length that every recogniser of the test understands."""
    pcm = voice(f"{words} {ms}", ms * HZ // 1000, HZ)
    TalkModel.vocabulary.add(pcm, words)
    return pcm


def recognise(pcm: bytes, rate_hz: int, then: Callable[[str | None], None]) -> None:
    then(TalkModel.vocabulary.understand(pcm))


def deaf(pcm: bytes, rate_hz: int, then: Callable[[str | None], None]) -> None:
    then(None)


async def speak(human: Human, pcm: bytes, *, quiet_ms: int = 700) -> None:
    """Speak as fast as people do, and be silent."""
    step = STEP_MS * HZ // 1000 * 2
    for at in range(0, len(pcm + bytes(quiet_ms * 32)), step):
        frame = (pcm + bytes(quiet_ms * 32))[at : at + step]
        human.call.receive(c.ClientAudioAppendEvent(audio=frame, format=AudioFormat.pcm16(HZ)))
        await asyncio.sleep(STEP_MS / 1000)


@asynccontextmanager
async def story(*names: str, config: SessionConfig | None = None, **options: Any) -> AsyncIterator[House]:
    """A room in which Alice has begun to tell a story of five seconds, two seconds ago; Bob is there as well."""
    options = {"floor": addressed, "interruption": "selective", "recognise": recognise} | options
    async with two(TalkModel(STORY, "Yes?"), "I am Bob.", **options) as home:
        for name in names or ("Anna",):
            await home.come(name, config)
        home.humans[0].write("Alice, tell me a story.")
        await asyncio.sleep(2)
        yield home


def decisions(home: House) -> list[tuple[str, str]]:
    return [(one.state, one.reason) for one in home.of(s.AgentInterruptionEvent)]


def gains(human: Human) -> list[float]:
    return [one.gain_db for one in human.of(s.ServerAudioGainEvent)]


def texts(home: House) -> list[str]:
    return [text for _, text in home.talk()]


async def test_a_backchannel_of_one_of_four_people_ducks_the_reply_for_all_and_stops_nothing() -> None:
    async with story("Anna", "Ben", "Carla", "David") as home:
        await speak(home.humans[1], said("Mm-hmm.", 400))
        await home.quiet()
        assert decisions(home) == [("possible", ""), ("dismissed", "backchannel")]
        assert [gains(human) for human in home.humans] == [[-15.0, 0.0]] * 4
        assert home.of(s.ServerAudioFlushEvent) == []
        assert texts(home) == ["Alice, tell me a story.", STORY]
        assert home.speakers() == ["Alice"]
        first = home.of(s.AgentInterruptionEvent)[0]
        assert (first.agent_id, first.item_id) == ("alice", home.of(s.ServerAudioGainEvent)[0].item_id)


async def test_stop_silences_the_agent_for_all_while_the_voice_lasts() -> None:
    async with story("Anna", "Ben", "Carla") as home:
        began_ms = home.room.log.now_ms() if home.room.log is not None else 0
        await speak(home.humans[2], said("Stop.", 500))
        (flush,) = home.of(s.ServerAudioFlushEvent)
        assert flush.ts_ms - began_ms < 500
        assert decisions(home) == [("possible", ""), ("confirmed", "stop_words")]
        assert all(len(human.of(s.ServerAudioFlushEvent)) == 1 for human in home.humans)
        (cut,) = home.of(s.AgentItemTruncatedEvent)
        assert cut.transcript
        assert STORY.startswith(cut.transcript)
        assert cut.transcript != STORY
        await home.quiet()
        assert texts(home) == ["Alice, tell me a story.", cut.transcript, "Stop.", "Yes?"]


async def test_a_human_who_is_called_by_name_and_answers_does_not_stop_the_agent_and_both_are_written_down() -> None:
    call, reply = "Ben, did you see that?", "I saw it from here."
    async with story("Anna", "Ben") as home:
        anna, ben = home.humans
        await speak(anna, said(call, 900))
        await speak(ben, said(reply, 800))
        await home.quiet()
        assert [one for one in decisions(home) if one[0] != "possible"] == [("dismissed", "side_talk")] * 2
        assert home.speakers() == ["Alice"], "nobody answers what was not for an agent"
        assert sorted(texts(home)) == sorted(["Alice, tell me a story.", STORY, call, reply])
        for model in (one.agent.model for one in home.room.agent_participants):
            assert isinstance(model, TalkModel)
            assert [line for line in model.read if "see that" in line] == [f"[Anna]: {call}"]


async def test_another_agent_that_is_called_gets_the_floor() -> None:
    async with story("Anna", "Ben") as home:
        await speak(home.humans[1], said("Bob, what do you think?", 1_000))
        await home.quiet()
        assert decisions(home)[-1] == ("confirmed", "addressed")
        assert home.speakers() == ["Alice", "Bob"]
        assert texts(home)[-2:] == ["Bob, what do you think?", "I am Bob."]


async def test_the_agents_echo_from_the_loudspeaker_of_one_human_stops_nothing() -> None:
    async with story("Anna", "Ben") as home:
        anna = home.humans[0]
        spoken = [one for one in home.of(s.AgentResponseAudioDeltaEvent) if one.agent_name == "Alice"]
        pcm = resampled(b"".join(one.delta for one in spoken), spoken[0].format.rate or HZ, HZ)
        quiet = (np.frombuffer(pcm, "<i2") // 4).astype("<i2").tobytes()
        played_ms = anna.participant.host.ears.played_ms(spoken[0].item_id)
        await speak(anna, quiet[(played_ms - 60) * HZ // 1000 * 2 :][: 2 * HZ * 2])
        await home.quiet()
        assert ("dismissed", "echo") in decisions(home)
        assert "confirmed" not in dict(decisions(home))
        assert home.of(s.ServerAudioFlushEvent) == []
        assert texts(home) == ["Alice, tell me a story.", STORY]


async def test_the_level_returns_when_no_voice_is_undecided_any_more() -> None:
    async with story("Anna", "Ben") as home:
        anna, ben = home.humans
        await asyncio.gather(speak(anna, said("Mm-hmm.", 300)), speak(ben, said("Uh-huh.", 600)))
        assert gains(anna) == [-15.0, 0.0]
        restored = home.of(s.ServerAudioGainEvent)[-1]
        assert restored.seq > max(one.seq for one in home.of(s.AgentInterruptionEvent))


async def test_the_next_agent_waits_until_a_voice_is_decided() -> None:
    """The story ends while somebody speaks; what they say is heard before another agent begins."""
    waiting: list[Callable[[str | None], None]] = []
    async with story("Anna", recognise=lambda pcm, hz, then: waiting.append(then)) as home:
        await asyncio.sleep(2.8)
        await speak(home.humans[0], said("Bob, who are you?", 400), quiet_ms=1_200)
        assert home.speakers() == ["Alice"]
        assert home.room.floor is None
        waiting[0]("Bob, who are you?")
        await home.quiet()
        assert home.speakers() == ["Alice", "Bob"]


async def test_without_a_recogniser_length_decides() -> None:
    async with story("Anna", recognise=deaf) as home:
        await speak(home.humans[0], said("Hm?", 200))
        assert decisions(home)[-1] == ("dismissed", "short")
        await speak(home.humans[0], said("Tell me another one.", 900))
        assert decisions(home)[-1] == ("confirmed", "speech")


async def test_immediate_stops_at_the_onset_and_members_choose_for_themselves() -> None:
    config = SessionConfig(turn_detection=TurnDetection(interruption="immediate"))
    async with story("Anna", config=config) as home:
        ben = await home.come("Ben")
        await speak(ben, said("Mm-hmm.", 400))
        assert home.of(s.ServerAudioFlushEvent) == []
        home.humans[0].begin("Mm-hmm.")
        assert len(home.of(s.ServerAudioFlushEvent)) == 1
        assert [state for state, _ in decisions(home)] == ["possible", "dismissed"], "none of the second voice"


async def test_off_lets_the_agent_end_and_answers_then() -> None:
    async with story("Anna", interruption="off") as home:
        await speak(home.humans[0], said("Stop, Bob, who are you?", 900))
        assert home.of(s.ServerAudioFlushEvent) == []
        await home.quiet()
        assert decisions(home) == []
        asked, *both = texts(home)[:3]
        assert (asked, sorted(both)) == ("Alice, tell me a story.", sorted([STORY, "Stop, Bob, who are you?"]))
        assert home.speakers() == ["Alice", "Bob"]


async def test_typed_text_a_cancel_and_push_to_talk_act_at_once() -> None:
    button = SessionConfig(turn_detection="none")
    acts: list[tuple[SessionConfig | None, Callable[[Human], None]]] = [
        (None, lambda anna: anna.write("Bob, who are you?")),
        (None, lambda anna: anna.call.receive(c.ClientResponseCancelEvent())),
        (button, lambda anna: anna.hear(said("Hello.", 40))),
    ]
    for config, act in acts:
        async with story("Anna", config=config) as home:
            act(home.humans[0])
            assert len(home.of(s.ServerAudioFlushEvent)) == 1
            assert decisions(home) == []


async def test_a_commit_decides_and_a_clear_discards() -> None:
    async with story("Anna") as home:
        anna = home.humans[0]
        anna.hear(said("Well, I think", 240))
        anna.call.receive(c.ClientAudioClearEvent())
        assert decisions(home) == [("possible", ""), ("dismissed", "cleared")]
        await speak(anna, b"")
        anna.hear(said("And I say", 240))
        anna.call.receive(c.ClientAudioCommitEvent())
        assert decisions(home)[2:] == [("possible", ""), ("confirmed", "commit")]
        await home.quiet()
        assert "And I say" in texts(home)


async def test_a_client_that_falls_silent_in_mid_voice_holds_up_nobody() -> None:
    async with story("Anna", recognise=lambda pcm, hz, then: None) as home:
        anna = home.humans[0]
        anna.hear(said("Then I", 200))
        await asyncio.sleep(3)
        assert decisions(home) == [("possible", ""), ("dismissed", "undecided")]
        assert gains(anna) == [-15.0, 0.0]
        await home.quiet()
        assert texts(home) == ["Alice, tell me a story.", STORY]


async def test_a_human_who_leaves_or_is_muted_in_mid_voice_restores_the_level_and_one_removed_lowers_nothing() -> None:
    async with story("Anna", "Ben", "Carla", "David") as home:
        anna, ben, carla, david = home.humans
        await home.room.remove(david.id)
        await speak(david, said("Stop that now.", 700))
        assert gains(anna) == []
        ben.hear(said("So I", 200))
        carla.hear(said("Or I", 200))
        await ben.go()
        home.room.mute(carla.id)
        assert gains(anna) == [-15.0, 0.0]
        assert home.of(s.ServerAudioFlushEvent) == []


async def test_a_sound_of_a_human_whose_client_cannot_lower_the_reply_lowers_it_for_the_others() -> None:
    async with story("Anna", "Ben") as home:
        anna, ben = home.humans
        for listener in ben.call.audience.listeners:
            listener.takes_gain = False
        chance = np.random.default_rng(0)
        quiet, knock = (chance.normal(0, level, HZ // 2).astype("<i2").tobytes() for level in (3, 160))
        await speak(ben, quiet, quiet_ms=0)
        await speak(ben, knock + quiet, quiet_ms=0)
        assert gains(anna)[:2] == [-15.0, 0.0]
        assert ("confirmed", "speech") not in decisions(home)


async def test_a_long_remark_to_a_human_stays_one_when_its_beginning_is_not_recognised_again() -> None:
    async with house(agent("Alice", TalkModel(STORY * 4)), interruption="selective", recognise=recognise) as home:
        anna, _ = await home.come("Anna"), await home.come("Ben")
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(1)
        await speak(anna, said("Ben, that is how it was,", 3_000) + said("and it went on for long,", 6_500))
        assert "confirmed" not in dict(decisions(home))
        assert home.of(s.ServerAudioFlushEvent) == []

"""A thinking agent that is called aloud, in virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from realtime.agent.detector import silero_detector
from realtime.audio.files import read_pcm16
from realtime.event import server as s
from realtime.room import Observer
from realtime.room.floor import addressed
from tests.agent.thinking import react, remembered, say
from tests.room.rooms import HZ, Human, house
from tests.speech import REAL_COSTS


@pytest.mark.virtual_time(costs=REAL_COSTS)
async def test_an_observer_hears_a_spoken_talk_and_answers_aloud_when_it_is_called(fixtures_dir: Path) -> None:
    called = fixtures_dir / "audio" / "called"
    friday, robin = react(say("The meeting is at nine."), name="Friday"), react(say("I will be there."), name="Robin")
    async with house(robin, Observer(friday), floor=addressed, make_detector=silero_detector) as home:
        anna = await home.come("Anna")
        await speak(anna, called / "robin.flac")
        await home.quiet()
        await speak(anna, called / "friday.flac")
        await home.quiet()
        (_, first), robins, (_, second), fridays = home.talk()
        assert (robins, fridays) == (("Robin", "I will be there."), ("Friday", "The meeting is at nine."))
        assert "meet at" in first
        assert second.startswith("Friday, please tell us when")
        spoken = {one.agent_name for one in anna.of(s.AgentResponseAudioDeltaEvent)}
        assert spoken == {"Robin", "Friday"}
        memory = [(one.name, one.get_text_content()) for one in await remembered(friday)]
        assert memory == home.talk()
        assert anna.errors() == []


async def speak(human: Human, clip: Path) -> None:
    """Say this at the pace of speech."""
    pcm = read_pcm16(clip, HZ)
    for at in range(0, len(pcm), 3_200):
        human.hear(pcm[at : at + 3_200])
        await asyncio.sleep(0.1)

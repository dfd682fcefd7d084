"""A thinking agent that is called aloud: real detector, recognition and voices, in virtual time."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import soxr

from realtime.agent.detector import silero_detector
from realtime.event import server as s
from realtime.model.local.engine import shared_engine
from realtime.room import Observer
from realtime.room.floor import addressed
from tests.agent.thinking import react, remembered, say
from tests.calls.models import REAL_COSTS
from tests.room.rooms import HZ, Human, house


@pytest.mark.virtual_time(costs=REAL_COSTS)
async def test_an_observer_hears_a_spoken_talk_and_answers_aloud_when_it_is_called() -> None:
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")
    friday, robin = react(say("The meeting is at nine."), name="Friday"), react(say("I will be there."), name="Robin")
    async with house(robin, Observer(friday), floor=addressed, make_detector=silero_detector) as home:
        anna = await home.come("Anna")
        await speak(anna, "Robin, we meet at nine in the morning.")
        await home.quiet()
        await speak(anna, "Friday, when do we meet?")
        await home.quiet()
        (_, first), robins, (_, second), fridays = home.talk()
        assert (robins, fridays) == (("Robin", "I will be there."), ("Friday", "The meeting is at nine."))
        assert "meet at" in first
        assert second.startswith("Friday, when")
        spoken = {one.agent_name for one in anna.of(s.AgentResponseAudioDeltaEvent)}
        assert spoken == {"Robin", "Friday"}
        memory = [(one.name, one.get_text_content()) for one in await remembered(friday)]
        assert memory == home.talk()
        assert anna.errors() == []


async def speak(human: Human, words: str) -> None:
    """Say this with the deeper of the embedded voices, at the pace of speech."""
    parts = await shared_engine(None).ready()
    sound = np.frombuffer(parts.voices["heart-low"].synthesize(words), "<i2").astype(np.float32)
    pcm = soxr.resample(sound, 24_000, HZ).astype("<i2").tobytes() + bytes(2 * HZ)
    for at in range(0, len(pcm), 3_200):
        human.hear(pcm[at : at + 3_200])
        await asyncio.sleep(0.1)

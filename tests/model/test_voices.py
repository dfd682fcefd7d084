"""Which voice a model is asked for where a client names one."""

from typing import Any

import msgspec
import pytest

from realtime.event import client as c
from realtime.event.base import ResponseOverrides
from realtime.event.config import SessionConfig
from realtime.model import base, voices
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from tests.agent.fakes import PROFILE, call

GEMINI_LIKE = msgspec.structs.replace(PROFILE, voices=voices.GEMINI)


@pytest.mark.parametrize("model", [OpenAIRealtimeModel, GeminiRealtimeModel, DashScopeRealtimeModel])
def test_a_voice_passes_unless_only_another_service_has_it(model: Any) -> None:
    profile = model(api_key="k").profile
    for voice in (*voices.OPENAI, *voices.GEMINI, *voices.QWEN):
        assert voices.voice_here(voice, profile) == (voice if voice in profile.voices else None)
    for voice in (None, "voice_of_my_own", "a-new-one"):
        assert voices.voice_here(voice, profile) == voice


def test_a_model_that_names_no_voices_gets_what_was_asked_for() -> None:
    assert voices.voice_here("marin", msgspec.structs.replace(PROFILE, voices=())) == "marin"


@pytest.mark.virtual_time
async def test_a_program_of_another_service_leaves_the_model_its_own_voice() -> None:
    async with call(profile=GEMINI_LIKE, config=SessionConfig(voice="ash")) as made:
        assert made.link.settings.voice is None
        made.receive(c.ClientResponseCreateEvent(response=ResponseOverrides(voice="marin", instructions="Greet.")))
        assert made.link.got(base.ResponseCreate) == [base.ResponseCreate(ResponseOverrides(instructions="Greet."))]
        made.receive(c.ClientSessionUpdateEvent(config={"voice": "Kore"}))
        assert made.link.got(base.SessionUpdate)[-1].settings.voice == "Kore"

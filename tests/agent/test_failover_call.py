"""A whole call whose provider is lost for good, and that goes on with another one's model."""

from __future__ import annotations

from contextlib import AsyncExitStack
from http import HTTPStatus

import pybase64

from realtime.agent.realtime import RealtimeAgent
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model.failover import failover
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.wire import WireLimits
from tests.agent.fakes import FakeDetector, speech
from tests.agent.test_dropped_socket import HANG_S, in_call
from tests.model.emulator import Emulator
from tests.model.gemini_emulator import GeminiEmulator

LIMITS = WireLimits(first_delay_s=0.01, max_delay_s=0.02, attempts=2, open_timeout_s=HANG_S, session_timeout_s=HANG_S)
PUSH_TO_TALK = SessionConfig(turn_detection=TurnDetection(authority="client"))
SECOND_OF_SPEECH = b"\1\0" * 24_000


async def test_the_reply_and_the_speech_of_the_user_go_on_with_the_next_provider() -> None:
    async with AsyncExitStack() as stack:
        openai = await stack.enter_async_context(Emulator())
        gemini = await stack.enter_async_context(GeminiEmulator())
        first_model = OpenAIRealtimeModel(api_key="sk-test", base_url=openai.base_url, limits=LIMITS)
        next_model = GeminiRealtimeModel(api_key="g-test", base_url=gemini.base_url, limits=LIMITS)
        model = failover([first_model, next_model])
        agent = RealtimeAgent("Friday", "Be nice.", model, make_detector=lambda detection: FakeDetector())
        session, log = await stack.enter_async_context(in_call(agent, PUSH_TO_TALK))

        session.receive(c.ClientTextAppendEvent(text="Count."))
        first = await openai.session()
        await first.until("response.create")
        where = {"response_id": "resp_1", "item_id": "item_a", "output_index": 0, "content_index": 0}
        await first.begin("resp_1", "item_a")
        await first.send("response.output_audio_transcript.delta", **where, delta="one two three four five")
        await first.send("response.output_audio.delta", **where, delta=pybase64.b64encode_as_string(SECOND_OF_SPEECH))
        await log.until(lambda: log.of(s.AgentResponseAudioDeltaEvent) != [])
        session.receive(c.ClientAudioAppendEvent(audio=speech(600, 48_000), format=AudioFormat.pcm16(48_000)))
        openai.refuse = (HTTPStatus.SERVICE_UNAVAILABLE, {})
        first.drop()
        await log.until(lambda: log.of(s.AgentReconnectedEvent) != [])

        second = await gemini.session()
        seed = await second.until("clientContent")
        heard = session.conversation.items()[1].text
        assert 0 < len(heard) < len("one two three four five")
        assert [part["text"] for turn in seed["turns"] for part in turn["parts"]] == ["Count.", heard]
        asked = await second.until("clientContent", 2)
        assert "Go on exactly where it stops" in str(asked)
        samples_16k = len(second.audio) // 2
        assert abs(samples_16k - 600 * 16) < 20 * 16, "speech that was under way is said again, at this model's rate"
        await second.begin(" three four five", SECOND_OF_SPEECH)
        await second.finish()
        await log.until(lambda: log.of(s.AgentResponseDoneEvent)[-1].status == "completed")

        told = [(item.role, item.text.strip()) for item in session.conversation.items()]
        assert told == [("user", "Count."), ("assistant", heard), ("assistant", "three four five")]
        reasons = [event.reason for event in log.of(s.AgentReconnectingEvent)]
        assert reasons == ["link_lost", "provider_unavailable", "provider_unavailable"]
        assert len(log.of(s.AgentReconnectedEvent)) == 1
        assert log.of(s.AgentErrorEvent) == []
        assert [event.seq for event in log.events] == [*range(1, len(log.events) + 1)]

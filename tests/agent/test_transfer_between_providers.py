"""A call goes from the model of one provider to that of another: each pair, over the providers' own protocols."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from realtime.agent.realtime import RealtimeAgent
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.model.local import LocalRealtimeModel
from realtime.model.scripted import MANUAL_PROFILE, ScriptedModel, Speak
from tests.agent.test_dropped_socket import Log, hear_all, in_call
from tests.agent.test_providers import PUSH_TO_TALK, SECOND, turn_over
from tests.model.providers import DASHSCOPE, FAKES, GEMINI, OPENAI, Fake

PAIRS = [(one, other) for one in FAKES for other in FAKES if one is not other]
SPEECH = b"\1\0" * 9_600


async def answered(log: Log, times: int) -> None:
    await log.until(lambda: len(log.of(s.AgentResponseDoneEvent)) == times)


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[f"{one.name} to {other.name}" for one, other in PAIRS])
async def test_the_words_that_were_heard_and_the_users_speech_reach_the_other_provider(one: Fake, other: Fake) -> None:
    async with AsyncExitStack() as stack:
        services = [await stack.enter_async_context(fake.service()) for fake in (one, other)]
        entered: list[RealtimeAgent] = []

        async def on_enter(agent: RealtimeAgent) -> None:
            entered.append(agent)

        ann = RealtimeAgent("Ann", "You are Ann.", one.model(services[0]), on_enter=on_enter)
        ben = RealtimeAgent("Ben", "You are Ben.", other.model(services[1]))
        session, log = await stack.enter_async_context(in_call(ann, PUSH_TO_TALK))
        session.receive(c.ClientTextAppendEvent(text="Count."))
        provider = await services[0].session()
        await provider.until(one.asks)
        await one.speak(provider, "one two three", SECOND)
        await answered(log, 1)
        hear_all(session)
        session.receive(c.ClientAudioAppendEvent(audio=SPEECH, format=AudioFormat.pcm16(16_000)))
        await entered[0].transfer_to(ben)
        assert [event.agent_name for event in log.of(s.AgentReadyEvent)] == ["Ann", "Ben"]
        next_provider = await services[1].session()
        assert "one two three" in str(next_provider.frames)
        assert "You are Ben." in str(next_provider.frames)
        session.receive(c.ClientAudioCommitEvent())
        await turn_over(other, services[1])
        n_samples = len(other.sent_audio(next_provider)) // 2
        assert abs(n_samples - len(SPEECH) // 2 * other.input_hz // 16_000) < other.input_hz // 50
        await other.speak(next_provider, "four five six", SECOND)
        await answered(log, 2)
        words = [item.text.strip() for item in session.conversation.items() if item.role == "assistant"]
        assert words == ["one two three", "four five six"]
        assert log.of(s.AgentErrorEvent) == []
        assert log.of(s.AgentEndedEvent) == []


async def test_a_call_goes_through_four_kinds_of_models() -> None:
    """Scripted, OpenAI, Gemini, DashScope: each knows all that was heard before."""
    async with AsyncExitStack() as stack:
        fakes = (OPENAI, GEMINI, DASHSCOPE)
        services = [await stack.enter_async_context(fake.service()) for fake in fakes]
        first = RealtimeAgent("Ann", "", ScriptedModel([Speak("zero", 0.1)], profile=MANUAL_PROFILE, strict=False))
        log = Log()
        await first.start(log.note, config=PUSH_TO_TALK)
        await answered(log, 1)
        for place, (fake, service) in enumerate(zip(fakes, services, strict=True), 1):
            await first.transfer_to(RealtimeAgent(f"Ben {place}", "", fake.model(service)))
            provider = await service.session()
            await first.handle_input(c.ClientTextAppendEvent(text=f"Number {place}, please."))
            await provider.until(fake.asks)
            await fake.speak(provider, f"this is {place}", SECOND[:4_800])
            await answered(log, place + 1)
        words = [event.transcript.strip() for event in log.of(s.AgentResponseAudioTranscriptDoneEvent)]
        assert words == ["zero", "this is 1", "this is 2", "this is 3"]
        told = str((await services[-1].session()).frames)
        assert all(one in told for one in ("zero", "this is 1", "this is 2"))
        assert log.of(s.AgentErrorEvent) == []
        await first.stop()


async def test_the_embedded_model_repeats_what_a_provider_said_and_hands_on_what_it_said_itself() -> None:
    async with AsyncExitStack() as stack:
        services = [await stack.enter_async_context(fake.service()) for fake in (OPENAI, GEMINI)]
        first = RealtimeAgent("Ann", "", OPENAI.model(services[0]))
        log = Log()
        await first.start(log.note, config=PUSH_TO_TALK)
        await first.handle_input(c.ClientTextAppendEvent(text="Say the code, please."))
        provider = await services[0].session()
        await provider.until(OPENAI.asks)
        await OPENAI.speak(provider, "the code is kingfisher", SECOND[:4_800])
        await answered(log, 1)
        await first.transfer_to(RealtimeAgent("Ben", "", LocalRealtimeModel()))
        await first.handle_input(c.ClientTextAppendEvent(text="Please repeat that."))
        await answered(log, 2)
        repeated = log.of(s.AgentResponseAudioTranscriptDoneEvent)[-1].transcript
        assert "kingfisher" in repeated
        await first.transfer_to(RealtimeAgent("Cem", "", GEMINI.model(services[1])))
        await first.handle_input(c.ClientTextAppendEvent(text="Which code was it?"))
        provider = await services[1].session()
        await provider.until(GEMINI.asks)
        assert str(provider.frames).count("kingfisher") == 2
        assert log.of(s.AgentErrorEvent) == []
        await first.stop()

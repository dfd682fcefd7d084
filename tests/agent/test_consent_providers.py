"""Consent by voice on speech-to-speech models, each with its service on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from realtime.agent.realtime import RealtimeAgent
from realtime.audio.playback import PlaybackClock, WallClockPlayback
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.runtime import Runtime
from realtime.tool import Toolkit
from tests.agent.consent_call import BOOK, QUESTION, Table, Told
from tests.agent.fakes import ListSink, listener_into
from tests.model.emulator import Session as Provider
from tests.model.providers import DASHSCOPE, GEMINI, OPENAI, Fake

USE = ("book_table", {"people": 4, "day": "Friday"})
SHORT = b"\x01\x02" * 4_800
PUSH_TO_TALK = SessionConfig(turn_detection=TurnDetection(authority="client"))


class ProviderCall(Told):
    """A call and its service."""

    def __init__(self, session: Session, service: Any) -> None:
        super().__init__()
        self.session = session
        self.service = service

    def feed(self, ms: int, level: int = 0) -> None:
        """The client sends audio of this level."""
        pcm = np.full(16 * ms, level, "<i2").tobytes()
        self.session.receive(c.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(16_000)))

    def on_card(self, confirmed: bool) -> None:
        answer = c.ClientToolResultEvent(id="call_1", name="book_table", output="", confirmed=confirmed)
        self.session.receive(answer)


@asynccontextmanager
async def provider_call(
    fake: Fake,
    toolkit: Toolkit,
    config: SessionConfig | None = None,
    clock: PlaybackClock | None = None,
    **agent: Any,
) -> AsyncIterator[ProviderCall]:
    async with fake.service() as service:
        runtime = Runtime()
        voice = RealtimeAgent("Friday", "Be nice.", fake.model(service), toolkit=toolkit, **{"fillers": ()} | agent)
        session = Session(participant=voice.run(), runtime=runtime, session_id="session1")
        view = listener_into(ListSink(), runtime, clock=clock or WallClockPlayback(24_000))
        session.attach(view)
        made = ProviderCall(session, service)
        session.log.subscribe(made.hear)
        await session.start(config or SessionConfig())
        try:
            yield made
        finally:
            await session.end("test_over")
            session.detach(view)


async def orders(made: ProviderCall, fake: Fake = OPENAI, *, level: int = 0) -> Any:
    """The user asks for a table, and the service for the tool. Returns the service's side."""
    provider = await made.service.session()
    made.feed(2_000, level)
    await provider.hear("item_u1", start_ms=500, end_ms=1_500, transcript=BOOK)
    await provider.until("response.create")
    await fake.call_tool(provider, "call_1", use=USE)
    return provider


async def orders_by_button(made: ProviderCall, fake: Fake) -> Any:
    provider = await made.service.session()
    made.feed(1_000)
    made.session.receive(c.ClientAudioCommitEvent())
    await provider.when(lambda: fake.commits(provider))
    await fake.call_tool(provider, "call_1", use=USE)
    return provider


async def asked_aloud(made: ProviderCall, *, level: int = 0) -> Any:
    """The user has heard the question for it, from OpenAI's service. Returns the service's side."""
    provider = await orders(made, level=level)
    await speak_beside(provider, await provider.until("response.create", 2), QUESTION, 1)
    await made.until_state("heard")
    return provider


async def speak_beside(provider: Any, asked: Any, text: str, number: int) -> None:
    """The service says something beside the conversation, as it was asked to."""
    plain = provider._response
    metadata = asked["response"]["metadata"]
    provider._response = lambda *given: plain(*given) | {"conversation_id": None, "metadata": metadata}
    await provider.speak(f"beside_{number}", f"said_{number}", text, SHORT)
    provider._response = plain


async def test_openai_asks_beside_its_open_call_and_the_words_are_checked() -> None:
    table = Table()
    async with provider_call(OPENAI, table.tools) as made:
        provider = await orders(made)
        asked = await provider.until("response.create", 2)
        assert asked["response"]["conversation"] == "none"
        assert asked["response"]["instructions"].endswith(QUESTION)
        await speak_beside(provider, asked, QUESTION, 1)
        await made.until_state("heard")
        made.feed(2_000)
        await provider.hear("item_u2", start_ms=2_600, end_ms=3_000, transcript="Yes.")
        receipt = await made.until_receipt()
        assert (table.booked, receipt["answer"], receipt["heard_whole"]) == ([(4, "Friday")], "yes", True)
        await provider.until("response.create", 3)
        outputs = [one["item"] for one in provider.sent("conversation.item.create")]
        assert [one["output"] for one in outputs] == ["booked for 4 on Friday"]


async def test_a_quiet_voice_after_the_question_is_somebody_elses() -> None:
    table = Table()
    async with provider_call(OPENAI, table.tools) as made:
        provider = await asked_aloud(made, level=6_000)
        made.feed(600)
        made.feed(1_400, 1_500)
        await provider.hear("item_u2", start_ms=2_900, end_ms=3_800, transcript="Yes.")
        await made.until(lambda: made.custom("consent_ignored") != [])
        (ignored,) = made.custom("consent_ignored")
        assert (ignored["reason"], ignored["words"], table.booked) == ("far_voice", "Yes.", [])
        made.feed(2_000, 6_000)
        await provider.hear("item_u3", start_ms=4_900, end_ms=5_800, transcript="Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], table.booked) == ("yes", [(4, "Friday")])


async def test_a_lost_link_within_the_question_asks_again_when_it_is_back() -> None:
    table = Table()
    async with provider_call(OPENAI, table.tools) as made:
        provider = await orders(made)
        asked = await provider.until("response.create", 2)
        provider._response = lambda *given: (
            Provider._response(provider, *given)
            | {
                "conversation_id": None,
                "metadata": asked["response"]["metadata"],
            }
        )
        await provider.begin("beside_1", "said_1")
        await made.until_state("asking")
        provider.drop()
        again = await made.service.session(2)
        asked = await again.until("response.create")
        await speak_beside(again, asked, QUESTION, 2)
        await made.until_state("heard")
        assert made.states == ["asking", "repeated", "heard"]
        made.feed(2_000)
        await again.hear("item_u2", start_ms=600, end_ms=1_000, transcript="Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], table.booked) == ("yes", [(4, "Friday")])


async def test_a_model_that_says_another_number_asks_again_and_then_a_card_asks() -> None:
    table = Table()
    async with provider_call(OPENAI, table.tools) as made:
        provider = await orders(made)
        for number in (1, 2):
            asked = await provider.until("response.create", 1 + number)
            await speak_beside(provider, asked, "Shall I book a table for five people on Friday?", number)
        await made.until(lambda: made.custom("consent_question")[-1]["by"] == "card")
        told = made.custom("consent_question")[-1]
        assert (told["state"], told["why"]) == ("asking", "the model did not ask what it was to ask")
        made.on_card(True)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["heard_whole"], table.booked) == ("card", False, [(4, "Friday")])


async def test_dashscope_gets_a_provisional_result_and_the_real_one_later() -> None:
    table = Table()
    async with provider_call(DASHSCOPE, table.tools) as made:
        provider = await orders(made, DASHSCOPE)
        await provider.until("response.create", 2)
        (provisional,) = [one["item"] for one in provider.sent("conversation.item.create")]
        assert provisional["output"].startswith("Not done yet")
        await DASHSCOPE.speak(provider, QUESTION, SHORT)
        await made.until_state("heard")
        made.feed(2_000)
        await provider.hear("item_u2", start_ms=2_600, end_ms=3_000, transcript="Yes.")
        receipt = await made.until_receipt()
        assert (table.booked, receipt["answer"]) == ([(4, "Friday")], "yes")
        await provider.until("response.create", 3)
        told = [one["item"] for one in provider.sent("conversation.item.create")][-1]
        assert "booked for 4 on Friday" in json.dumps(told)


async def test_gemini_gets_a_provisional_result_and_the_real_one_later() -> None:
    table = Table()
    async with provider_call(GEMINI, table.tools, PUSH_TO_TALK) as made:
        provider = await orders_by_button(made, GEMINI)
        await provider.until("toolResponse")
        assert "Not done yet" in json.dumps(provider.sent("toolResponse")[0])
        await provider.until("clientContent")
        assert QUESTION in json.dumps(provider.sent("clientContent")[-1])
        await GEMINI.speak(provider, QUESTION, SHORT)
        await made.until_state("heard")
        made.feed(1_000)
        await provider.content(inputTranscription={"text": "Yes."})
        made.session.receive(c.ClientAudioCommitEvent())
        receipt = await made.until_receipt()
        assert (table.booked, receipt["answer"], receipt["words"]) == ([(4, "Friday")], "yes", "Yes.")
        await provider.when(lambda: "booked for 4 on Friday" in json.dumps(provider.sent("clientContent")))


@pytest.mark.parametrize("fake", [DASHSCOPE, GEMINI], ids=["dashscope", "gemini"])
async def test_hanging_up_after_a_provisional_result_leaves_a_receipt(fake: Fake) -> None:
    table = Table()
    async with provider_call(fake, table.tools, PUSH_TO_TALK) as made:
        provider = await orders_by_button(made, fake)
        await made.until(lambda: made.custom("consent_question") != [])
        told = "toolResponse" if fake is GEMINI else "conversation.item.create"
        assert "Not done yet" in json.dumps(await provider.until(told))
        await made.session.end("client_end")
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["done"], table.booked) == ("interrupted", "interrupted", [])


@pytest.mark.parametrize(
    ("config", "sound_ms", "why"),
    [
        (SessionConfig(turn_detection=TurnDetection(interruption="off")), 100, "by itself"),
        (SessionConfig(input_audio_transcription=False), 100, "not transcribed"),
        (SessionConfig(output_modalities=("text",)), 100, "does not speak"),
        (SessionConfig(), 0, "no sound"),
    ],
    ids=["the-provider-answers", "no-words", "no-voice", "no-sound"],
)
async def test_a_card_asks_where_no_voice_can(config: SessionConfig, sound_ms: int, why: str) -> None:
    table = Table(consent="voice")
    async with provider_call(OPENAI, table.tools, config) as made:
        provider = await made.service.session()
        made.feed(sound_ms)
        made.session.receive(c.ClientTextAppendEvent(text=BOOK))
        await provider.until("response.create")
        await OPENAI.call_tool(provider, "call_1", use=USE)
        await made.until_state("asking")
        (told,) = made.custom("consent_question")
        assert (told["by"], why in told["why"]) == ("card", True)
        made.on_card(False)
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["done"]) == ("card", "no", "denied")
        assert table.booked == []


async def test_words_that_come_late_are_read_with_what_was_said_since() -> None:
    """A yes whose words are slow is no yes while the user goes on."""
    table = Table()
    async with provider_call(OPENAI, table.tools) as made:
        provider = await asked_aloud(made)

        async def words(item_id: str, text: str) -> None:
            kind, usage = "conversation.item.input_audio_transcription.completed", {"type": "duration", "seconds": 1}
            await provider.send(kind, item_id=item_id, content_index=0, transcript=text, usage=usage)

        async def ends(item_id: str, end_ms: int, previous: str | None) -> None:
            await provider.send("input_audio_buffer.speech_stopped", audio_end_ms=end_ms, item_id=item_id)
            await provider.send("input_audio_buffer.committed", previous_item_id=previous, item_id=item_id)

        made.feed(4_000)
        await provider.send("input_audio_buffer.speech_started", audio_start_ms=2_600, item_id="item_u2")
        await ends("item_u2", 3_000, None)
        await provider.send("input_audio_buffer.speech_started", audio_start_ms=4_600, item_id="item_u3")
        await words("item_u2", "Yes.")
        await ends("item_u3", 5_600, "item_u2")
        await words("item_u3", "But only three.")
        asked = await provider.until("response.create", 3)
        assert "for three people" in asked["response"]["instructions"]
        assert table.booked == []


async def test_a_question_that_is_answered_before_the_model_begins_is_not_spoken() -> None:
    table = Table()
    async with provider_call(OPENAI, table.tools) as made:
        provider = await orders(made)
        asked = await provider.until("response.create", 2)
        made.feed(1_000)
        await provider.hear("item_u2", start_ms=2_200, end_ms=2_800, transcript="No, stop.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["heard_whole"], receipt["done"]) == ("no", False, "denied")
        await speak_beside(provider, asked, QUESTION, 1)
        await provider.until("response.cancel")
        assert made.of(s.AgentResponseAudioDeltaEvent) == []

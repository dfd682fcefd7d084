"""Consent by voice on speech-to-speech models, each with its service on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from realtime.agent import Delegate
from realtime.agent.realtime import RealtimeAgent
from realtime.audio.playback import WallClockPlayback
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig, TurnDetection
from realtime.runtime import Runtime
from realtime.tool import Toolkit
from tests.agent.consent_call import Table
from tests.agent.fakes import ListSink, listener_into
from tests.agent.test_delegate_providers import given
from tests.agent.test_dropped_socket import Log
from tests.agent.thinking import call as tool_call
from tests.agent.thinking import react, say
from tests.model.emulator import Session as Provider
from tests.model.providers import DASHSCOPE, GEMINI, OPENAI, Fake

USE = ("book_table", {"people": 4, "day": "Friday"})
QUESTION = "Shall I book a table for four people on Friday?"
CONSENT: dict[str, Any] = {"name": "book_table", "output": "", "confirmed": True}
SHORT = b"\x01\x02" * 4_800
PUSH_TO_TALK = SessionConfig(turn_detection=TurnDetection(authority="client"))


@dataclass
class ProviderCall:
    """A call, its log and its service."""

    session: Session
    log: Log
    service: Any
    sent_ms: int = 0

    def feed(self, ms: int, level: int = 0) -> None:
        """The client sends audio of this level."""
        self.sent_ms += ms
        pcm = np.full(16 * ms, level, "<i2").tobytes()
        self.session.receive(c.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(16_000)))

    def custom(self, name: str) -> list[dict[str, Any]]:
        return [event.value for event in self.log.of(s.ServerCustomEvent) if event.name == name]

    @property
    def states(self) -> list[str]:
        return [one["state"] for one in self.custom("consent_question") if one["state"] != "waiting"]

    async def until_state(self, state: str, count: int = 1) -> None:
        await self.log.until(lambda: self.states.count(state) >= count)

    async def until_receipt(self) -> dict[str, Any]:
        await self.log.until(lambda: self.custom("consent_receipt") != [])
        return self.custom("consent_receipt")[0]


@asynccontextmanager
async def provider_call(
    fake: Fake, table: Table | Toolkit, config: SessionConfig | None = None
) -> AsyncIterator[ProviderCall]:
    async with fake.service() as service:
        runtime = Runtime()
        toolkit = table.tools if isinstance(table, Table) else table
        agent = RealtimeAgent("Friday", "Be nice.", fake.model(service), toolkit=toolkit, fillers=())
        session = Session(participant=agent.run(), runtime=runtime, session_id="session1")
        view = listener_into(ListSink(), runtime, clock=WallClockPlayback(24_000))
        session.attach(view)
        log = Log()
        session.log.subscribe(log.note)
        await session.start(config or SessionConfig())
        try:
            yield ProviderCall(session, log, service)
        finally:
            await session.end("test_over")
            session.detach(view)


async def speak_beside(provider: Any, asked: Any, text: str, number: int) -> None:
    """The service says something beside the conversation, as it was asked to."""
    plain = provider._response
    metadata = asked["response"]["metadata"]
    provider._response = lambda *given: plain(*given) | {"conversation_id": None, "metadata": metadata}
    await provider.speak(f"beside_{number}", f"said_{number}", text, SHORT)
    provider._response = plain


async def test_openai_asks_beside_its_open_call_and_the_words_are_checked() -> None:
    table = Table()
    async with provider_call(OPENAI, table) as made:
        provider = await made.service.session()
        made.feed(2_000)
        await provider.hear("item_u1", start_ms=500, end_ms=1_500, transcript="Book a table for four on Friday.")
        await provider.until("response.create")
        await OPENAI.call_tool(provider, "call_1", use=USE)
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
    async with provider_call(OPENAI, table) as made:
        provider = await made.service.session()
        made.feed(2_000, 6_000)
        await provider.hear("item_u1", start_ms=500, end_ms=1_500, transcript="Book a table for four on Friday.")
        await provider.until("response.create")
        await OPENAI.call_tool(provider, "call_1", use=USE)
        await speak_beside(provider, await provider.until("response.create", 2), QUESTION, 1)
        await made.until_state("heard")
        made.feed(600)
        made.feed(1_400, 1_500)
        await provider.hear("item_u2", start_ms=2_900, end_ms=3_800, transcript="Yes.")
        await made.log.until(lambda: made.custom("consent_ignored") != [])
        (ignored,) = made.custom("consent_ignored")
        assert (ignored["reason"], ignored["words"], table.booked) == ("far_voice", "Yes.", [])
        made.feed(2_000, 6_000)
        await provider.hear("item_u3", start_ms=4_900, end_ms=5_800, transcript="Yes.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], table.booked) == ("yes", [(4, "Friday")])


async def test_a_lost_link_within_the_question_asks_again_when_it_is_back() -> None:
    table = Table()
    async with provider_call(OPENAI, table) as made:
        provider = await made.service.session()
        made.feed(2_000)
        await provider.hear("item_u1", start_ms=500, end_ms=1_500, transcript="Book a table for four on Friday.")
        await provider.until("response.create")
        await OPENAI.call_tool(provider, "call_1", use=USE)
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
    async with provider_call(OPENAI, table) as made:
        provider = await made.service.session()
        made.feed(2_000)
        await provider.hear("item_u1", start_ms=500, end_ms=1_500, transcript="Book a table for four on Friday.")
        await provider.until("response.create")
        await OPENAI.call_tool(provider, "call_1", use=USE)
        for number in (1, 2):
            asked = await provider.until("response.create", 1 + number)
            await speak_beside(provider, asked, "Shall I book a table for five people on Friday?", number)
        await made.log.until(lambda: made.custom("consent_question")[-1]["by"] == "card")
        told = made.custom("consent_question")[-1]
        assert (told["state"], told["why"]) == ("asking", "the model did not ask what it was to ask")
        made.session.receive(c.ClientToolResultEvent(id="call_1", name="book_table", output="", confirmed=True))
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["heard_whole"], table.booked) == ("card", False, [(4, "Friday")])


async def test_dashscope_gets_a_provisional_result_and_the_real_one_later() -> None:
    table = Table()
    async with provider_call(DASHSCOPE, table) as made:
        provider = await made.service.session()
        made.feed(2_000)
        await provider.hear("item_u1", start_ms=500, end_ms=1_500, transcript="Book a table for four on Friday.")
        await provider.until("response.create")
        await DASHSCOPE.call_tool(provider, "call_1", use=USE)
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
    async with provider_call(GEMINI, table, PUSH_TO_TALK) as made:
        provider = await made.service.session()
        made.feed(1_000)
        made.session.receive(c.ClientAudioCommitEvent())
        await provider.when(lambda: GEMINI.commits(provider))
        await GEMINI.call_tool(provider, "call_1", use=USE)
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


@pytest.mark.parametrize("fake", [OPENAI, DASHSCOPE, GEMINI], ids=["openai", "dashscope", "gemini"])
async def test_an_agent_in_the_background_asks_when_its_reply_is_over_and_its_call_has_one_result(fake: Fake) -> None:
    """The voice's model has the call's result by then: it is given no provisional one."""
    table, may_ask = Table(), asyncio.Event()

    async def look_up(day: str) -> str:
        """Find free tables."""
        await may_ask.wait()
        return "four free"

    table.tools.register(look_up)
    steps = [tool_call("look_up", "call_a", day="Friday")], [tool_call(USE[0], "call_b", **USE[1])], say("Booked.")
    office = react(*steps, toolkit=table.tools)
    desk = Toolkit([Delegate(office, "ask_the_office", "Books tables.")])
    async with provider_call(fake, desk, PUSH_TO_TALK) as made:
        provider = await made.service.session()
        made.feed(1_000)
        made.session.receive(c.ClientAudioCommitEvent())
        await provider.when(lambda: fake.commits(provider))
        await fake.call_tool(provider, "call_1", use=("ask_the_office", {"query": "a table"}))
        await provider.when(lambda: len(given(fake, provider)) == 1)
        await fake.speak(provider, "I am on it.", SHORT)
        await made.log.until(lambda: "I am on it." in [one.text for one in made.session.conversation.items()])
        n_asked = len(provider.sent(fake.asks))
        may_ask.set()
        asked = await provider.until(fake.asks, n_asked + 1)
        await provider.when(lambda: QUESTION in json.dumps(provider.frames))
        if fake is OPENAI:
            await speak_beside(provider, asked, QUESTION, 1)
        else:
            await fake.speak(provider, QUESTION, SHORT)
        await made.until_state("heard")
        (told,) = given(fake, provider)
        assert "runs in the background" in told
        assert "Not done yet" not in json.dumps(provider.frames)  # neither as a result nor in words
        made.session.receive(c.ClientToolResultEvent(id=made.custom("consent_question")[0]["tool_call_id"], **CONSENT))
        receipt = await made.until_receipt()
        assert (table.booked, receipt["heard_whole"], receipt["done"]) == ([(4, "Friday")], True, "success")
        await provider.when(lambda: "Booked." in json.dumps(provider.frames))
        assert {event.code for event in made.log.of(s.AgentErrorEvent)} <= {"unsupported_tools"}


@pytest.mark.parametrize("fake", [DASHSCOPE, GEMINI], ids=["dashscope", "gemini"])
async def test_hanging_up_after_a_provisional_result_leaves_a_receipt(fake: Fake) -> None:
    table = Table()
    async with provider_call(fake, table, PUSH_TO_TALK) as made:
        provider = await made.service.session()
        made.feed(1_000)
        made.session.receive(c.ClientAudioCommitEvent())
        await provider.when(lambda: fake.commits(provider))
        await fake.call_tool(provider, "call_1", use=USE)
        await made.log.until(lambda: made.custom("consent_question") != [])
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
    async with provider_call(OPENAI, table, config) as made:
        provider = await made.service.session()
        made.feed(sound_ms)
        made.session.receive(c.ClientTextAppendEvent(text="Book a table for four on Friday."))
        await provider.until("response.create")
        await OPENAI.call_tool(provider, "call_1", use=USE)
        await made.until_state("asking")
        (told,) = made.custom("consent_question")
        assert (told["by"], why in told["why"]) == ("card", True)
        made.session.receive(c.ClientToolResultEvent(id="call_1", name="book_table", output="", confirmed=False))
        receipt = await made.until_receipt()
        assert (receipt["answered_by"], receipt["answer"], receipt["done"]) == ("card", "no", "denied")
        assert table.booked == []


async def test_words_that_come_late_are_read_with_what_was_said_since() -> None:
    """A yes whose words are slow is no yes while the user goes on."""
    table = Table()
    async with provider_call(OPENAI, table) as made:
        provider = await made.service.session()
        made.feed(2_000)
        await provider.hear("item_u1", start_ms=500, end_ms=1_500, transcript="Book a table for four on Friday.")
        await provider.until("response.create")
        await OPENAI.call_tool(provider, "call_1", use=USE)
        await speak_beside(provider, await provider.until("response.create", 2), QUESTION, 1)
        await made.until_state("heard")
        made.feed(4_000)
        await hear_without_words(provider, "item_u2", 2_600, 3_000)
        await provider.send("input_audio_buffer.speech_started", audio_start_ms=4_600, item_id="item_u3")
        await completed(provider, "item_u2", "Yes.")
        await provider.send("input_audio_buffer.speech_stopped", audio_end_ms=5_600, item_id="item_u3")
        await provider.send("input_audio_buffer.committed", previous_item_id="item_u2", item_id="item_u3")
        await completed(provider, "item_u3", "But only three.")
        asked = await provider.until("response.create", 3)
        assert "for three people" in asked["response"]["instructions"]
        assert table.booked == []


async def hear_without_words(provider: Any, item_id: str, start_ms: int, end_ms: int) -> None:
    await provider.send("input_audio_buffer.speech_started", audio_start_ms=start_ms, item_id=item_id)
    await provider.send("input_audio_buffer.speech_stopped", audio_end_ms=end_ms, item_id=item_id)
    await provider.send("input_audio_buffer.committed", previous_item_id=None, item_id=item_id)


async def completed(provider: Any, item_id: str, words: str) -> None:
    kind = "conversation.item.input_audio_transcription.completed"
    usage = {"type": "duration", "seconds": 1}
    await provider.send(kind, item_id=item_id, content_index=0, transcript=words, usage=usage)


async def test_a_question_that_is_answered_before_the_model_begins_is_not_spoken() -> None:
    table = Table()
    async with provider_call(OPENAI, table) as made:
        provider = await made.service.session()
        made.feed(2_000)
        await provider.hear("item_u1", start_ms=500, end_ms=1_500, transcript="Book a table for four on Friday.")
        await provider.until("response.create")
        await OPENAI.call_tool(provider, "call_1", use=USE)
        asked = await provider.until("response.create", 2)
        made.feed(1_000)
        await provider.hear("item_u2", start_ms=2_200, end_ms=2_800, transcript="No, stop.")
        receipt = await made.until_receipt()
        assert (receipt["answer"], receipt["heard_whole"], receipt["done"]) == ("no", False, "denied")
        await speak_beside(provider, asked, QUESTION, 1)
        await provider.until("response.cancel")
        assert made.log.of(s.AgentResponseAudioDeltaEvent) == []

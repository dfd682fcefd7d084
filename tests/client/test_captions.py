"""Captions in step with the voice, the loudness that a server asks for, and who owes whom an answer: pure parts."""

import asyncio

import numpy as np
import pytest

from realtime.client.address import socket_address
from realtime.client.captions import Captions
from realtime.client.ear import Ear
from realtime.client.exchange import Exchange
from realtime.client.gain import Gain
from realtime.client.speaker import OUTPUT_HZ, Speaker
from realtime.event import Item
from realtime.event import server as s
from realtime.event.base import ContentPart
from realtime.message import ToolCallBlock, ToolResultBlock


def made() -> tuple[Ear, Captions]:
    ear = Ear(aligned=False, reports=False, can_report=lambda: False, acknowledge=lambda *_: None, speaker=Speaker(0.0))
    return ear, Captions(ear)


def says(ear: Ear, captions: Captions, words: str, seconds: float) -> None:
    """An item of the agent with all its words and sound."""
    named = {"item_id": "a1", "response_id": "r1", "agent_name": "Friday"}
    speech = ear.item(named)
    speech.words.add_text(words)
    ear.hear(speech, 0, bytes(int(OUTPUT_HZ * seconds) * 2))
    ear.complete(speech)
    captions.take(s.AgentResponseAudioTranscriptDeltaEvent(**named, delta=words))


@pytest.mark.virtual_time(limit_s=60)
async def test_words_of_the_agent_are_heard_one_after_the_other() -> None:
    ear, captions = made()
    loop = asyncio.get_running_loop()
    says(ear, captions, "one two three four", 4.0)
    steps = []
    for _ in range(5):
        (one,) = captions.all(loop.time())
        steps.append(one.heard)
        assert one.text.startswith(one.heard)
        await asyncio.sleep(1.01)
    assert steps == ["", "one", "one two", "one two three", "one two three four"]
    assert captions.all(loop.time())[0].done


@pytest.mark.virtual_time(limit_s=60)
async def test_a_cut_keeps_what_was_said_and_tells_what_was_heard() -> None:
    ear, captions = made()
    says(ear, captions, "one two three four", 4.0)
    captions.take(s.AgentItemTruncatedEvent(item_id="a1", audio_end_ms=2_000, transcript="one two"))
    (one,) = captions.all(0.0)
    assert (one.heard, one.text, one.cut, one.done) == ("one two", "one two three four", True, True)
    captions.take(s.AgentItemDeletedEvent(item_id="a1"))
    assert captions.all(0.0) == []


@pytest.mark.virtual_time(limit_s=60)
@pytest.mark.parametrize(
    ("whole", "text"),
    [("one two three four five", "one two three four five"), ("one two", "one two three four"), ("1 2", "1 2")],
)
async def test_the_whole_words_at_the_end_are_the_caption_unless_they_are_only_the_heard_ones(
    whole: str, text: str
) -> None:
    ear, captions = made()
    says(ear, captions, "one two three four", 4.0)
    captions.take(s.AgentResponseAudioTranscriptDoneEvent(item_id="a1", response_id="r1", transcript=whole))
    assert captions.all(0.0)[0].text == text


@pytest.mark.virtual_time(limit_s=60)
async def test_the_words_of_the_user_are_a_guess_until_they_are_known() -> None:
    _, captions = made()
    captions.take(s.AgentInputStartedEvent(item_id="u1", audio_start_ms=0, seq=3))
    assert captions.all(0.0) == []
    captions.take(s.AgentInputTranscriptionDeltaEvent(item_id="u1", delta="what tie", interim=True))
    assert [(one.text, one.done) for one in captions.all(0.0)] == [("what tie", False)]
    captions.take(s.AgentInputTranscriptionDoneEvent(item_id="u1", transcript="What time?"))
    assert [(one.role, one.text, one.done) for one in captions.all(0.0)] == [("user", "What time?", True)]
    captions.rewind(2)
    assert captions.all(0.0) == [], "a server that was killed knows nothing of it"


def typed() -> Exchange:
    """An exchange in which the user has typed something."""
    exchange = Exchange()
    assert exchange.is_answered
    type_into(exchange)
    assert not exchange.is_answered
    return exchange


def type_into(exchange: Exchange) -> None:
    exchange.asked()
    item = Item(id="u1", role="user", content=(ContentPart(type="text", text="Hello."),))
    exchange.take(s.AgentItemAddedEvent(item=item))


def test_a_turn_is_answered_when_its_response_is_done() -> None:
    exchange = typed()
    exchange.take(s.AgentResponseCreatedEvent(response_id="r1"))
    exchange.take(s.AgentResponseTextDeltaEvent(response_id="r1", item_id="a1", delta="Yes."))
    assert not exchange.is_answered
    exchange.take(s.AgentResponseDoneEvent(response_id="r1"))
    assert exchange.is_answered
    assert exchange.items == {"a1": "Yes."}


def test_a_response_to_an_earlier_turn_answers_no_later_one() -> None:
    exchange = Exchange()
    exchange.asked()
    exchange.take(s.AgentResponseCreatedEvent(response_id="earlier"))
    exchange.take(s.AgentResponseDoneEvent(response_id="earlier", status="cancelled"))
    assert not exchange.is_answered
    type_into(exchange)
    exchange.take(s.AgentResponseCreatedEvent(response_id="r1"))
    exchange.take(s.AgentResponseDoneEvent(response_id="r1"))
    assert exchange.is_answered


def test_an_answer_that_calls_a_tool_goes_on_in_another_response() -> None:
    exchange = typed()
    exchange.take(s.AgentResponseCreatedEvent(response_id="r1"))
    call = ToolCallBlock(id="t1", name="look", input="{}")
    exchange.take(s.AgentResponseToolUseDoneEvent(response_id="r1", item_id="c1", tool_use=call))
    exchange.take(s.AgentResponseDoneEvent(response_id="r1"))
    assert not exchange.is_answered
    exchange.take(s.AgentResponseToolResultEvent(tool_result=ToolResultBlock(id="t1", name="look", output="a cat")))
    assert not exchange.is_answered
    exchange.take(s.AgentResponseCreatedEvent(response_id="r2"))
    exchange.take(s.AgentResponseDoneEvent(response_id="r2"))
    assert exchange.is_answered


def test_a_gain_is_reached_over_its_ramp_and_left_as_softly() -> None:
    gain, block = Gain(), np.full(480, 10_000, "<i2").tobytes()
    assert gain.apply(block, 20) is block
    gain.set(-20.0, 40)
    first, second, third = (np.frombuffer(gain.apply(block, 20), "<i2") for _ in range(3))
    assert (first[0], third[-1]) == (10_000, 1_000)
    steps = np.diff(np.concatenate([first, second, third]).astype(int))
    assert steps.max() <= 0
    assert steps.min() > -20, "no click"
    gain.set(0.0, 0)
    assert gain.apply(block, 20) == block


ADDRESSES: dict[tuple[str, str | None], str] = {
    ("http://127.0.0.1:8000", None): "ws://127.0.0.1:8000/ws/ann/session1",
    ("127.0.0.1:8000", None): "ws://127.0.0.1:8000/ws/ann/session1",
    ("https://voice.example/?token=a%20b", None): "wss://voice.example/ws/ann/session1?token=a+b",
    ("https://voice.example/?token=old", "new"): "wss://voice.example/ws/ann/session1?token=new",
    ("ws://[::1]:8000/ws/bob/s2", None): "ws://[::1]:8000/ws/bob/s2",
    ("http://host/rooms/tea", None): "ws://host/rooms/tea/ws?name=ann",
    ("http://host/rooms/tea/?name=Bob", None): "ws://host/rooms/tea/ws?name=Bob",
}


def test_the_address_of_a_page_is_that_of_its_calls() -> None:
    assert {(url, token): socket_address(url, "ann", token) for url, token in ADDRESSES} == ADDRESSES

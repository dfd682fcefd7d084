"""A provider that hands over a whole answer at once, and a user who interrupts it: how soon the page is silent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from realtime.audio.files import read_pcm16
from realtime.audio.playback import AHEAD_MS, MAX_CHUNK_MS
from realtime.dialects.agentscope1 import TAIL_MS
from realtime.event import model as m
from realtime.event.base import AudioFormat
from realtime.model import base
from tests.calls.models import NO_DETECTOR, PROFILE, REPLY, QuickModel
from tests.calls.page import Call, Client, call
from tests.calls.recordings import RATE_HZ

pytestmark = pytest.mark.virtual_time

BURST_MS = 12_000
NATIVE: list[Client] = ["binary", "json"]


@pytest.fixture(scope="module")
def speech(fixtures_dir: Path) -> bytes:
    return read_pcm16(fixtures_dir / "audio" / "barge_in.wav", RATE_HZ)


async def listen(made: Call, seconds: float) -> str:
    """Have the model burst its answer and hear that much of it. Returns the answer's item."""
    made.page.do("client_response_create")
    await made.page.until("agent_response_audio_delta")
    await asyncio.sleep(seconds)
    [item_id] = made.page.sound
    return item_id


@pytest.mark.parametrize("client", [*NATIVE, "agentscope1"])
async def test_the_flush_leaves_with_the_providers_report_of_speech(client: Client) -> None:
    """RTA-22: in the same turn of the loop: the page is silent before anything else runs. Pages of the 1.x vocabulary
    know no flush: they are fed at most 350 ms ahead, so no more than that can be said after."""
    loop = asyncio.get_running_loop()
    model = QuickModel(PROFILE, reply_ms=BURST_MS)
    async with call(model, client=client) as made:
        page = made.page
        item_id = await listen(made, 3)
        if client in NATIVE:
            assert page.left_ms() == pytest.approx(BURST_MS - 3000, abs=1)
        else:
            assert page.left_ms() <= AHEAD_MS + MAX_CHUNK_MS
        before, reported_at, sent_bytes = len(page.events), loop.time(), len(page.sound[item_id])
        model.link.say(m.ModelInputStartedEvent(item_id="said_1", audio_start_ms=2_950))
        assert loop.time() == reported_at
        told = [event["type"] for event in page.events[before:]]
        if client in NATIVE:
            assert told == ["server_audio_flush", "agent_input_started"]
            assert page.left_ms() == 0
            cut = await page.until("agent_item_truncated")
            assert cut["item_id"] == item_id
            assert cut["audio_end_ms"] == pytest.approx(3000, abs=1)
        else:
            assert "agent_input_started" in told
        await asyncio.sleep(2)
        assert len(page.sound[item_id]) == sent_bytes
        model.link.say(m.ModelInputDoneEvent(item_id="said_1", audio_end_ms=3_400))
        [item] = made.session.conversation.items()
        assert item.status == "incomplete"
        assert 0 < len(item.text) < len(REPLY)


@pytest.mark.parametrize("client", NATIVE)
async def test_the_flush_leaves_with_the_frame_in_which_our_detector_hears_a_voice(
    speech: bytes, client: Client
) -> None:
    """RTA-22: where this server decides, no time passes between the microphone's frame and the flush either."""
    model = QuickModel(NO_DETECTOR, reply_ms=BURST_MS)
    async with call(model, client=client) as made:
        page = made.page
        await listen(made, 3)
        said = asyncio.create_task(page.speak(speech))
        flush = await page.until("server_audio_flush")
        started = await page.until("agent_input_started")
        assert flush["ts_ms"] == started["ts_ms"] == page.position_ms
        assert page.left_ms() == 0
        await said


async def test_what_still_comes_of_a_burst_after_the_flush_is_not_played() -> None:
    """RTA-22: the provider's report may overtake the rest of its own audio."""
    model = QuickModel(PROFILE, reply_ms=BURST_MS)
    async with call(model) as made:
        page = made.page
        link = model.link
        where: dict[str, Any] = {"response_id": "resp_x", "item_id": "reply_x"}
        chunk = m.ModelResponseAudioDeltaEvent(**where, delta=bytes(48_000), format=AudioFormat.pcm16(24_000))
        link.say(m.ModelResponseCreatedEvent(response_id="resp_x"))
        link.say(m.ModelResponseAudioTranscriptDeltaEvent(**where, delta=REPLY))
        for _ in range(6):
            link.say(chunk)
        await asyncio.sleep(2)
        link.say(m.ModelInputStartedEvent(item_id="said_1", audio_start_ms=1_950))
        for _ in range(6):
            link.say(chunk)
        link.say(m.ModelResponseDoneEvent(response_id="resp_x", status="cancelled"))
        link.say(m.ModelInputDoneEvent(item_id="said_1", audio_end_ms=2_400))
        await asyncio.sleep(1)
        assert len(page.sound["reply_x"]) == 6 * 48_000
        assert page.ear.late_samples == 0
        [item] = made.session.conversation.items()
        assert item.text == page.of("agent_item_truncated")[0]["transcript"]


async def test_each_page_of_a_burst_gets_all_of_it() -> None:
    """Uninterrupted, everything is played: at once for who can hold it, in time for who cannot."""
    for client in (*NATIVE, "agentscope1"):
        model = QuickModel(PROFILE, reply_ms=BURST_MS)
        async with call(model, client=client) as made:
            item_id = await listen(made, BURST_MS / 1000 + 1)
            await made.page.until_silent()
            heard, end = made.page.sound[item_id][: BURST_MS * 48], made.page.sound[item_id][BURST_MS * 48 :]
            assert len(heard) == BURST_MS * 48
            assert end == (bytes(TAIL_MS * 48) if client == "agentscope1" else b"")
            assert made.session.audience.unplayed_ms() == 0
            assert not any(isinstance(sent, base.ItemTruncate) for sent in model.link.sent)

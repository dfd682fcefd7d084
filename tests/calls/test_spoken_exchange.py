"""Conversations with the embedded model, spoken and typed: real detector, recognition and voice, in virtual time."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realtime.audio.files import read_pcm16
from realtime.model.local.keyless.skills import make_skills
from realtime.model.local.model import LocalRealtimeModel
from realtime.testing.clock import VirtualLoop, run
from realtime.tool import Toolkit
from tests.calls.page import ACK_EVERY_MS, Call, Client, call
from tests.calls.recordings import RATE_HZ
from tests.speech import REAL_COSTS

pytestmark = pytest.mark.virtual_time(costs=REAL_COSTS)

STORY = "Tell me a story."


@pytest.fixture(scope="module")
def speech(fixtures_dir: Path) -> dict[str, bytes]:
    """Our own recordings by name."""
    return {path.stem: read_pcm16(path, RATE_HZ) for path in sorted((fixtures_dir / "audio").glob("*.wav"))}


def talk(client: Client = "binary", **config: Any) -> AbstractAsyncContextManager[Call]:
    """A call with the embedded model and its tools."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return call(LocalRealtimeModel(), client=client, config=config, toolkit=Toolkit(make_skills(loop.wall_now)))


async def answered(made: Call, after: int) -> str:
    """The words of the answer that ends the turn since place `after`, once it was heard."""
    while True:
        await made.page.until("agent_response_done", after=after)
        await made.page.until_silent()
        last = made.session.conversation.items()[-1]
        if last.role == "assistant" and last.status == "completed":
            return last.text
        after = len(made.page.events)


async def ask(made: Call, pcm: bytes) -> str:
    """Say it; the answer's words."""
    before = len(made.page.events)
    await made.page.speak(pcm)
    return await answered(made, before)


async def type_in(made: Call, text: str) -> str:
    """Type it; the answer's words."""
    before = len(made.page.events)
    made.page.do("client_text_append", text=text)
    return await answered(made, before)


def loudness(pcm: bytes) -> float:
    """Root mean square, 0..1."""
    return float(np.sqrt(np.mean((np.frombuffer(pcm, "<i2") / 32768) ** 2)))


@pytest.mark.parametrize("client", ["binary", "json", "agentscope1"])
async def test_a_spoken_conversation(speech: dict[str, bytes], client: Client) -> None:
    """RTA-01: end to end with recorded audio: greeting, name, a question that takes a tool, words and sound back."""
    async with talk(client) as made:
        page = made.page
        page.do("client_response_create")
        greeting = await answered(made, 0)
        met = await ask(made, speech["hello_anna"])
        told = await ask(made, speech["twelve_times_seven"])
        assert greeting.startswith("Hello!")
        assert met.startswith("Nice to meet you, Anna.")
        assert told == "12 times 7 is 84."
        assert made.user_turns() == ["Hello there, my name is Anna.", "What is 12 times 7?"]
        captions = [event["transcript"] for event in page.of("agent_input_transcription_done")]
        assert captions == made.user_turns()
        spoken = [event["transcript"] for event in page.of("agent_response_audio_transcript_done")]
        assert spoken == [greeting, met, told]
        [use] = page.of("agent_response_tool_use_done")
        assert use["tool_use"]["name"] == "calculate"
        [result] = page.of("agent_response_tool_result")
        assert result["tool_result"]["id"] == use["tool_use"]["id"]
        assert len(page.sound) == 3
        for pcm in page.sound.values():
            assert len(pcm) > 24_000 * 2 * 0.8
            assert loudness(bytes(pcm)) > 0.02


async def test_a_real_voice_is_answered_by_name(recordings_dir: Path) -> None:
    """RTA-01: end to end with a recording of a real voice."""
    async with talk() as made:
        answer = await ask(made, read_pcm16(recordings_dir / "audio" / "marcelo_name.wav", RATE_HZ))
        assert made.user_turns() == ["Hello, my name is Marcelo."]
        assert answer.startswith("Nice to meet you, Marcelo.")


@pytest.mark.parametrize("authority", ["provider", "server"])
async def test_speech_over_the_answer_silences_it_and_cuts_it_after_the_last_word_heard(
    speech: dict[str, bytes], authority: str
) -> None:
    """RTA-23: nothing of it is played any more; call and page keep only what was heard."""
    async with talk(turn_detection={"authority": authority}) as made:
        page = made.page
        page.do("client_text_append", text=STORY)
        whole = (await page.until("agent_response_audio_transcript_done"))["transcript"]
        await asyncio.sleep(3)
        [story] = [item.id for item in made.session.conversation.items() if item.role == "assistant"]
        before = len(page.events)
        interrupting = asyncio.create_task(page.speak(speech["barge_in"]))
        await page.until("server_audio_flush")
        assert page.left_ms() < 1, "less than a sample of 16 kHz and its rounding"
        cut = await page.until("agent_item_truncated")
        assert cut["item_id"] == story
        # The server knows what the page said last.
        assert 0 <= page.ear.heard_ms(story) - cut["audio_end_ms"] <= ACK_EVERY_MS
        assert cut["transcript"] == whole[: len(cut["transcript"])]
        assert whole[len(cut["transcript"])] in " .,"
        assert 3 < len(cut["transcript"].split()) < len(whole.split()) / 2
        await interrupting
        assert await answered(made, before) == "Okay."
        assert page.ear.late_samples == 0
        assert ("assistant", cut["transcript"]) in made.said()
        assert made.user_turns() == [STORY, "Stop, please. That is enough."]


async def test_a_typed_turn_interrupts_and_the_model_remembers_only_what_was_heard_of_its_answer() -> None:
    """RTA-23: it repeats what was heard of its answer, not what it had meant to say."""
    async with talk("json") as made:
        page = made.page
        page.do("client_text_append", text=STORY)
        await page.until("agent_response_audio_delta")
        await asyncio.sleep(2.5)
        answer = await type_in(made, "What did you say?")
        cut = page.of("agent_item_truncated")[-1]
        assert answer == cut["transcript"]
        assert len(cut["transcript"].split()) > 3
        assert [who for who, _ in made.said()] == ["user", "assistant", "user", "assistant"]
        assert made.said()[1] == ("assistant", cut["transcript"])
        [added, _] = [event for event in page.of("agent_item_added") if event["item"]["role"] == "user"]
        assert added["item"]["content"][0]["text"] == STORY


@pytest.mark.night
async def test_ten_turns_in_a_row_leave_nothing_behind(speech: dict[str, bytes]) -> None:
    names = ["hello_anna", "what_time", "twelve_times_seven", "hello_robert", "what_date"] * 2
    async with talk() as made:
        await made.page.until("server_audio_received")
        running = len(asyncio.all_tasks())
        for number, name in enumerate(names, start=1):
            assert await ask(made, speech[name])
            assert len(made.user_turns()) == number
            assert len(asyncio.all_tasks()) == running
            assert made.session.audience.unplayed_ms() == 0
        assert all(made.user_turns())
        assert [who for who, _ in made.said() if who == "assistant"] == ["assistant"] * len(names)


def conversation(speech: dict[str, bytes]) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """One whole conversation on a loop of its own: the events that the page got, and all sound."""

    async def converse() -> tuple[list[dict[str, Any]], dict[str, bytes]]:
        async with talk() as made:
            await ask(made, speech["hello_anna"])
            await ask(made, speech["twelve_times_seven"])
            made.page.do("client_text_append", text=STORY)
            await made.page.until("agent_response_done", after=len(made.page.events))
            await asyncio.sleep(3)
            await ask(made, speech["barge_in"])
        return made.page.events, {item_id: bytes(pcm) for item_id, pcm in made.page.sound.items()}

    return run(converse(), costs=REAL_COSTS)


@pytest.mark.night
def test_the_same_conversation_is_the_same_events_and_the_same_sound(speech: dict[str, bytes]) -> None:
    events, sound = conversation(speech)
    assert conversation(speech) == (events, sound)
    assert len(sound) == 4
    assert [json.dumps(event, sort_keys=True) for event in events]

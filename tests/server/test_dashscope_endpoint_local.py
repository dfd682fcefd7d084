"""The embedded model behind the endpoint for DashScope clients: real speech in, real speech out, through the SDK."""

import json
from pathlib import Path

import pytest
import soundfile

from realtime.agent import RealtimeAgent
from realtime.audio.resample import Resampler
from realtime.model.local.model import LocalRealtimeModel
from tests.server.dashscope_sdk import STYLES, Ear, sdk
from tests.server.harness import Json, serving

pytest.importorskip("hibari", reason="the speech models are not installed: pip install '.[local]'")

AUDIO_END = [
    "response.audio_transcript.done",
    "response.audio.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.done",
]
TOOL: Json = {
    "type": "function",
    "function": {"name": "get_time", "description": "The time of day.", "parameters": {"type": "object"}},
}


@pytest.fixture
def no_leaks() -> None:
    """The model's threads are made once for all tests and live as long as the process."""


@pytest.fixture(scope="module")
def spoken(fixtures_dir: Path) -> dict[str, bytes]:
    """Our own recordings at 16 kHz, each with a second and a half of silence behind."""
    found = {}
    for path in sorted((fixtures_dir / "audio").glob("*.wav")):
        samples, rate_hz = soundfile.read(path, dtype="int16")
        resampler = Resampler(rate_hz, 16_000)
        found[path.stem] = resampler.push(samples.tobytes()) + resampler.flush() + bytes(48_000)
    return found


async def heart() -> RealtimeAgent:
    model = LocalRealtimeModel()
    await model.warm_up()
    return RealtimeAgent("Heart", "Be Heart.", model)


async def speak(ear: Ear, pcm: bytes) -> None:
    for at in range(0, len(pcm), 3_200):
        await ear.do("append", pcm[at : at + 3_200])


@pytest.mark.parametrize("style", STYLES)
async def test_a_spoken_question_is_answered_aloud(spoken: dict[str, bytes], style: str) -> None:
    async with serving(heart) as place, sdk(place, style) as ear:
        await ear.do("update", voice="Cherry")
        await speak(ear, spoken["twelve_times_seven"])
        done = (await ear.until("response.done"))["response"]
        heard = ear.only("conversation.item.input_audio_transcription.completed")[0]["transcript"]
        assert heard.startswith("What is")
        assert done["status"] == "completed"
        assert ear.types[-5:] == AUDIO_END
        assert "error" not in ear.types


async def test_push_to_talk_and_typed_text_are_answered_aloud(spoken: dict[str, bytes]) -> None:
    async with serving(heart) as place, sdk(place) as ear:
        await ear.do("update", enable_turn_detection=False)
        await speak(ear, spoken["what_time"])
        await ear.do("commit")
        await ear.until("input_audio_buffer.committed")
        assert "response.created" not in ear.types
        await ear.do("respond")
        assert (await ear.until("response.done"))["response"]["status"] == "completed"
        await ear.say("What is twelve times seven?")
        await ear.do("respond")
        done = (await ear.until("response.done"))["response"]
        assert (done["status"], done["output"][0]["content"][0]["type"]) == ("completed", "audio")
        assert done["output"][0]["content"][0]["transcript"]
        assert "error" not in ear.types


async def test_a_text_only_answer_is_written() -> None:
    async with serving(heart) as place, sdk(place) as ear:
        await ear.do("update", modalities=("text",))
        await ear.say("What is twelve times seven?")
        await ear.do("respond")
        done = (await ear.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["type"] == "text"
        assert "response.audio.delta" not in ear.types


@pytest.mark.parametrize("style", STYLES[:2])
async def test_a_question_is_answered_with_the_clients_tool(spoken: dict[str, bytes], style: str) -> None:
    async with serving(heart) as place, sdk(place, style) as ear:
        await ear.do("update", tools=[TOOL])
        await speak(ear, spoken["what_time"])
        await ear.until("response.done")
        (called,) = ear.only("response.function_call_arguments.done")
        assert called["name"] == "get_time"
        output = json.dumps({"time": "09:41"})
        await ear.do("item", {"type": "function_call_output", "call_id": called["call_id"], "output": output})
        await ear.until("conversation.item.created")
        await ear.do("respond")
        done = (await ear.until("response.done"))["response"]
        assert done["output"][0]["content"][0]["transcript"]
        assert "error" not in ear.types


async def test_speech_interrupts_an_answer_and_is_answered(spoken: dict[str, bytes]) -> None:
    async with serving(heart) as place, sdk(place) as ear:
        await ear.do("update")
        await ear.say("Tell me a story.")
        await ear.do("respond")
        item_id = (await ear.until("response.audio.delta"))["item_id"]
        await speak(ear, spoken["barge_in"])
        await ear.until("input_audio_buffer.committed")
        (session,) = place.calls.sessions.values()
        sent_ms = sum(len(one["delta"]) for one in ear.only("response.audio.delta")) * 3 / 4 / 48
        told = session.conversation.get(item_id)
        assert told is None or session.conversation.audio_ms(item_id) < sent_ms
        await ear.until("response.created")
        await ear.until("response.done")
        assert ear.types.index("input_audio_buffer.speech_started") > ear.types.index("response.audio.delta")
        assert "error" not in ear.types

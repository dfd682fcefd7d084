"""The example of each provider runs as it is printed, in its own process, against our endpoint of that protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from realtime.agent import RealtimeAgent
from realtime.model.base import AudioCommit, ResponseCreate, ToolResult
from realtime.model.scripted import (
    PROFILE,
    CallTools,
    Expect,
    ExpectAudio,
    ScriptedModel,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
    Transcribe,
)
from tests.server.harness import serving

ROOT = Path(__file__).resolve().parent.parent
QUESTION = ROOT / "fixtures" / "audio" / "twelve_times_seven.wav"
PROVIDERS = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", ""),
    "dashscope": ("DASHSCOPE_API_KEY", "DASHSCOPE_WEBSOCKET_BASE_URL", "/api-ws/v1/realtime"),
}
"""By name: the variables of the provider's SDK for key and address, and the path that its addresses have."""
WORDS = "where is my order forty two"
HEARS: tuple[Step, ...] = (
    ExpectAudio(300),
    SpeechStart(20),
    ExpectAudio(2_500),
    SpeechEnd(2_000, WORDS),
    Expect(ResponseCreate),
)
"""The provider only finds the turns: the agent requests the responses."""
IS_TOLD: tuple[Step, ...] = (Expect(AudioCommit), Transcribe(WORDS), Expect(ResponseCreate))
"""Gemini reports no speech: turns are heard by whoever dials it."""
ANSWERS: tuple[Step, ...] = (
    CallTools((("find_order", {"number": 42}),)),
    Expect(ToolResult),
    Expect(ResponseCreate),
    Speak("It was shipped this morning.", 0.4),
)


async def run(provider: str, url: str) -> tuple[int | None, str, str]:
    """The example's exit code and what it printed, on its two outputs."""
    key, base_url, path = PROVIDERS[provider]
    environment = os.environ | {key: "sk-anything", base_url: url + path}
    program = [sys.executable, str(ROOT / "examples" / f"{provider}_voice.py"), str(QUESTION)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*program, env=environment, stdout=pipe, stderr=pipe)
    try:
        async with asyncio.timeout(120):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_example_of_a_provider_hears_uses_its_tool_and_answers(provider: str) -> None:
    script = (*(IS_TOLD if provider == "gemini" else HEARS), *ANSWERS)
    model = ScriptedModel(script, profile=PROFILE, strict=False)
    async with serving(lambda: RealtimeAgent("Far", "Be far.", model)) as place:
        code, out, err = await run(provider, place.url)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "It was shipped this morning."
    assert "agent_response_tool_result" in out.splitlines()
    model.assert_finished()
    assert model.connections[-1].settings.instructions == "You sell books."

"""The code of docs/python-client.md runs as it is printed, and so does its example, against an agent on loopback."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.files import read_pcm16, write_wav
from realtime.model.base import ModelInput, ResponseCreate, ToolResult
from realtime.model.script import CallTools, Speak, Step
from realtime.model.scripted import PROFILE, ScriptedModel
from tests.guides import blocks, page
from tests.server.harness import Place, serving
from tests.test_examples import EXAMPLES, load
from tests.testing.served import Hearer, answer, voice

BLOCKS = blocks(page("python-client.md"))
PRINTED_ADDRESS = "http://127.0.0.1:8000"


class House(Hearer):
    """Greets, hears loud sound as a question, and looks at the thermometer where it is asked for the temperature."""

    def __call__(self, message: ModelInput) -> Any:
        if isinstance(message, ResponseCreate):
            return [Speak("Welcome to this house.", 0.3)] if message.overrides is not None else self._reply()
        if not isinstance(message, ToolResult) and "temperature in" in str(message):
            self.wants_tool = True
        return super().__call__(message)

    wants_tool = False

    def _reply(self) -> list[Step]:
        if self.wants_tool:
            self.wants_tool = False
            return [CallTools((("room_temperature", {"room": "kitchen"}),))]
        return [Speak("It is a good day.", 0.2)]


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    def make_agent() -> RealtimeAgent:
        model = ScriptedModel(House((answer(0.5, pace=20.0),)), profile=PROFILE)
        return RealtimeAgent("Friday", "", model, greeting="Welcome the caller.")

    async with serving(make_agent) as place:
        yield place


async def test_every_block_of_the_guide_runs(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_wav("question.wav", voice(300), 16_000)
    printed: list[str] = []
    for number, block in enumerate(BLOCKS):
        assert PRINTED_ADDRESS in block
        code = compile(block.replace(PRINTED_ADDRESS, place.url), f"docs/python-client.md, block {number}", "exec")
        # A program of its own: no name of the others, and a loop of its own.
        await asyncio.to_thread(exec, code, {"__name__": "__main__"})
        printed.append(capsys.readouterr().out)
    typed, spoken, greeted, sound, told, events, tool = printed
    assert typed == tool == "It is a good day.\n"
    assert spoken == "It is seven in the morning, and the sun shines.\n"
    assert greeted == "Welcome to this house.\nIt is a good day.\n"
    assert (sound, any(read_pcm16("answer.wav", 24_000))) == ("", True)
    assert told.count("It is a good day.") == 2
    assert events == "The agent was told: Hello.\n"


def test_from_a_recording_to_the_words_of_the_answer_takes_few_lines() -> None:
    assert len(next(block for block in BLOCKS if "speak" in block).splitlines()) < 15
    assert len((EXAMPLES / "ask_aloud.py").read_text(encoding="utf-8").splitlines()) <= 40


async def test_the_example_asks_aloud(place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_wav(tmp_path / "question.wav", voice(300), 16_000)
    await load("ask_aloud").main(place.url, str(tmp_path / "question.wav"))
    printed = capsys.readouterr().out
    assert "user: what time is it\n" in printed
    assert printed.endswith("answer: It is seven in the morning, and the sun shines.\n")

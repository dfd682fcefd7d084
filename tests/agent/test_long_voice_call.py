"""A long call: its prompts stay short, nothing that matters is lost, and no turn waits for that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from realtime.event import model as m
from realtime.message import TextBlock
from realtime.model.base import ResponseCreate
from realtime.model.chat import CompressionConfig
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.local.chat import FormattedLanguageModel
from tests.agent.thinking import PlainFormatter, WordCounter, react
from tests.agent.voice import COSTS, VoiceCall, voice_call
from tests.model.local.stand_ins import typed
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(costs=COSTS)

TURNS = volume(60, 200)
TRIGGER = 300
LIMIT = 400
"""Words of a prompt: what is said while a summary is written comes on top."""
SECRET = "4711"


class OnlyFromItsPrompt(ChatModelBase):
    """Knows the number if its prompt has it. Takes 0.3 s for an answer, and 12 s for a summary of what it reads."""

    def __init__(self) -> None:
        super().__init__("oracle", True)
        self.sizes: list[int] = []
        self.summaries = 0

    async def __call__(self, messages: Any, **options: Any) -> Any:
        text = " ".join(message["text"] for message in messages)
        if options.get("structured_model") is not None:
            self.summaries += 1
            await asyncio.sleep(12)
            known = f"The number is {SECRET}." if SECRET in text else ""
            fields = ("task_overview", "current_state", "important_discoveries", "next_steps", "context_to_preserve")
            return ChatResponse([], metadata=dict.fromkeys(fields, "-") | {"context_to_preserve": known})
        self.sizes.append(len(text.split()))
        asks = "What was my number" in messages[-1]["text"]
        knows = SECRET if SECRET in text else "not known to me"
        return self._say(f"It is {knows}." if asks else "That is quite interesting, and I would like to hear more.")

    async def _say(self, text: str) -> AsyncGenerator[ChatResponse, None]:
        await asyncio.sleep(0.3)
        yield ChatResponse([TextBlock(text=text)])


async def waits_of_a_long_call(language_model: Any) -> tuple[list[float], VoiceCall]:
    """Seconds that the user waited for each turn's first sound."""
    waits_s = []
    async with voice_call(language_model) as one:
        for n in range(1, TURNS + 1):
            said = f"My number is {SECRET}." if n == 3 else f"This is what I have to say in turn {n} of our call."
            said = "What was my number, please?" if n == TURNS else said
            asked_s, n_sounds = asyncio.get_running_loop().time(), len(one.all(m.ModelResponseAudioDeltaEvent))
            one.send(typed(said, f"turn {n}"), ResponseCreate())
            sound = await one.until(m.ModelResponseAudioDeltaEvent, n_sounds + 1)
            waits_s.append(round(one.at(sound) - asked_s, 6))
            await asyncio.sleep(4)
    return waits_s, one


def config() -> CompressionConfig:
    return CompressionConfig(
        enable=True, agent_token_counter=WordCounter(), trigger_threshold=TRIGGER, keep_recent=6, background=True
    )


def check(chat: OnlyFromItsPrompt, call: VoiceCall) -> None:
    assert max(chat.sizes) <= LIMIT
    assert chat.summaries > TURNS // 40
    assert call.said[-1] == f"It is {SECRET}."
    assert len(call.said) == TURNS


async def test_an_agent_remembers_turn_3_in_the_last_turn_and_no_turn_waits_for_that() -> None:
    chat = OnlyFromItsPrompt()
    agent = react(model=chat, compression_config=config())
    waits_s, call = await waits_of_a_long_call(agent)
    check(chat, call)
    assert await agent.memory.size() == 2 * TURNS
    plain_waits_s, _ = await waits_of_a_long_call(react(model=OnlyFromItsPrompt()))
    assert waits_s == plain_waits_s == [0.32] * TURNS


async def test_so_does_a_chat_model_alone() -> None:
    """What the cascade sends is compressed where no agent is behind it; the call itself keeps every word."""
    chat = OnlyFromItsPrompt()
    waits_s, call = await waits_of_a_long_call(
        FormattedLanguageModel(chat, PlainFormatter(), compression_config=config())
    )
    check(chat, call)
    alone = FormattedLanguageModel(OnlyFromItsPrompt(), PlainFormatter())
    plain_waits_s, plain = await waits_of_a_long_call(alone)
    assert waits_s == plain_waits_s == [0.32] * TURNS
    assert plain.said[-1] == "It is not known to me.", "without a summary the oldest turns are left out"
    assert call.said[:-1] == plain.said[:-1]

"""Agents for the page's tests: a provider with speech events that follows a script."""

from typing import Any

import numpy as np

from realtime.agent import Delegate, ReActAgent, RealtimeAgent
from realtime.message import ToolResultBlock
from realtime.model.base import (
    CONTINUE_ANSWER,
    AudioAppend,
    Connection,
    History,
    ItemCreate,
    ModelInput,
    OnEvent,
    ResponseCreate,
    Settings,
    ToolResult,
)
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.local import LocalRealtimeModel
from realtime.model.scripted import (
    CallTools,
    Expect,
    ExpectAudio,
    ScriptedModel,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
)
from realtime.runtime import Runtime
from realtime.tool import Toolkit
from tests.agent.thinking import PlainFormatter, call, say

STORY = "Once upon a time there was a voice that told a very long story and was not heard to its end"
STORY_S = 12.0

SCRIPT = (
    ExpectAudio(at_ms=1000),
    SpeechStart(at_ms=400),
    ExpectAudio(at_ms=1600),
    SpeechEnd(at_ms=1500, transcript="Tell me a story."),
    # All of it at once, as providers do: most of it waits in the browser when the user interrupts.
    Speak(STORY, STORY_S, wait=False),
    ExpectAudio(at_ms=5000),
    SpeechStart(at_ms=4900),
    ExpectAudio(at_ms=6000),
    SpeechEnd(at_ms=5900, transcript="Stop."),
    Speak("I stopped.", 0.5),
)

GREETED = (
    Expect(ResponseCreate),
    Speak("Hello, I am Heart.", 0.5),
    ExpectAudio(at_ms=4000),
    SpeechStart(at_ms=3400),
    ExpectAudio(at_ms=4600),
    SpeechEnd(at_ms=4500, transcript="Tell me a story."),
    Speak(STORY, STORY_S, wait=False),
)
"""A provider whose agent greets first."""


def make_agent() -> RealtimeAgent:
    return RealtimeAgent("Narrator", "Tell stories.", ScriptedModel(SCRIPT, strict=False))


def make_greeter() -> RealtimeAgent:
    return RealtimeAgent("Narrator", "Tell stories.", ScriptedModel(GREETED, strict=False))


def tool_user(use: tuple[str, dict[str, Any]], says: str, toolkit: Toolkit | None = None) -> RealtimeAgent:
    """An agent that uses a tool and then says the result: each time, or once where the tool is its client's."""
    given: list[str] = []

    def react(message: ModelInput) -> list[Step]:
        match message:
            case ToolResult(result=result):
                given.append(result.output_text())
            case ResponseCreate() if given:
                return [Speak(says.format(given.pop() if toolkit else given[-1]), 0.5)]
            case ResponseCreate():
                return [CallTools((use,))]
            case _:
                pass
        return []

    return RealtimeAgent("Calculator" if toolkit is None else "Cashier", "Help.", ScriptedModel(react), toolkit=toolkit)


def make_calculator() -> RealtimeAgent:
    """An agent that asks its client for the area of 41 by 1009."""
    return tool_user(("area", {"width": 41, "height": 1009}), "It has {}.")


def pay(amount: int, to: str) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


def make_cashier() -> RealtimeAgent:
    """An agent that wants to pay, with the user's consent."""
    return tool_user(("pay", {"amount": 5, "to": "<b>Ann</b>"}), "I was told: {}.", Toolkit(confirm=[pay]))


class PaysFirst(ChatModelBase):
    """A chat model that pays, and then says what it was told."""

    async def __call__(self, messages: list[dict[str, Any]], *args: Any, **kwargs: Any) -> ChatResponse:
        results = [block for message in messages for block in message["content"] if isinstance(block, ToolResultBlock)]
        if results:
            return ChatResponse(say(f"I was told: {results[-1].output_text()}."))
        return ChatResponse([call("pay", amount=5, to="<b>Ann</b>")])


def thinking_cashier() -> ReActAgent:
    agent = ReActAgent("Thinker", "Pay.", PaysFirst("scripted", False), PlainFormatter(), Toolkit(confirm=[pay]))
    agent.set_console_output_enabled(False)
    return agent


def make_thinking_cashier() -> RealtimeAgent:
    """A thinking agent behind the embedded voice, which pays with the user's consent."""
    return RealtimeAgent("Cashier", "Pay.", LocalRealtimeModel(language_model=thinking_cashier()))


def make_delegating_cashier() -> RealtimeAgent:
    """A voice that asks such an agent and repeats its answer."""
    office = Delegate(thinking_cashier(), "ask_the_office", "Pays.", background=False)
    return tool_user(("ask_the_office", {"query": "Pay Ann."}), "{}", Toolkit([office]))


UTTERANCES = (
    "When does the train leave?",
    "And how many seats are there?",
    "Wait, one more thing.",
    "Where is my order?",
    "Who am I talking to?",
    "No, stop.",
    "What is the weather like?",
    "And tomorrow?",
    "Thank you.",
)
"""What the user of `make_listener` says: number n, counted from 1, by samples of the value n."""
ANSWER = "Departures considered information"
"""Three words of about the same length, so that it is clear which were played."""
ANSWER_SAMPLES = 57_600
"""At 24 kHz: 2.4 s."""
_PERIOD = 1499


def answer_pcm(number: int) -> np.ndarray:
    """The speech of a response: each sample encodes the response and its place; none is silence."""
    return (number * (_PERIOD + 1) + 1 + np.arange(ANSWER_SAMPLES) % _PERIOD).astype("<i2")


REST = len(UTTERANCES) + 1
"""The number of what follows a broken-off answer: its samples are no answer's."""


def rest_of_answer(heard: str) -> str:
    """The words of the answer behind those that were heard."""
    return ANSWER.removeprefix(heard).strip()


def rest_pcm(words: str) -> np.ndarray:
    """The speech of these words behind a broken-off answer."""
    return answer_pcm(REST)[: ANSWER_SAMPLES // len(ANSWER.split()) * len(words.split())]


def make_slow_listener() -> RealtimeAgent:
    """Like `make_listener`, with speech no faster than real time."""
    return make_listener(pace=1.0)


class Listener(ScriptedModel):
    """A model that knows what was heard of the latest answer before it was connected."""

    heard = ""

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        answers = [item.text for item in history() if item.role == "assistant"]
        self.heard = answers[-1] if answers else ""
        return await super().connect(settings=settings, on_event=on_event, history=history, runtime=runtime)


def make_listener(pace: float | None = None) -> RealtimeAgent:
    """An agent that recognizes an utterance by its sample value, and answers each with its own speech.

    It goes on with an answer that was broken off, behind the words that were heard.
    """
    position = speaking = typed = 0
    goes_on = False

    def answer(number: int) -> Speak:
        return Speak(ANSWER, answer_pcm(number).tobytes(), pace=pace, wait=False)

    def react(message: ModelInput) -> list[Step]:
        nonlocal position, speaking, typed, goes_on
        match message:
            case ItemCreate(item=item) if item.text == CONTINUE_ANSWER:
                goes_on = True
            case ItemCreate(item=item):
                typed = UTTERANCES.index(item.text) + 1
            case ResponseCreate() if goes_on:
                goes_on = False
                words = rest_of_answer(model.heard)
                return [Speak(words, rest_pcm(words).tobytes(), pace=pace, wait=False, to=message)]
            case ResponseCreate():
                return [answer(typed)]
            case AudioAppend(pcm=pcm):
                value = int.from_bytes(pcm[:2], "little")
                at_ms = position // 16
                position += len(pcm) // 2
                before, speaking = speaking, value
                if value and not before:
                    return [SpeechStart(at_ms)]
                if before and not value:
                    return [SpeechEnd(at_ms, UTTERANCES[before - 1]), answer(before)]
            case _:
                pass
        return []

    model = Listener(react)
    return RealtimeAgent("Clerk", "Answer questions.", model)

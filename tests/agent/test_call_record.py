"""The record of a call: filled in from what was heard, corrected, stored with the call, readable."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from realtime import testing as kit
from realtime.agent import RealtimeAgent
from realtime.agent.call_record import LIMIT_S, SHUTDOWN_S
from realtime.call.session import Session
from realtime.errors import ProviderError, UsageError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.message import TextBlock, ToolCallBlock
from realtime.model.base import Connection, ResponseCreate, Settings
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.chat.sdk_model import SdkChatModel
from realtime.model.failover import failover
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.chat import FormattedLanguageModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.open import open_model
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.script import Speak, Step
from realtime.model.scripted import ScriptedModel
from realtime.runtime import Runtime
from realtime.server.settings import ServerSettings
from realtime.testing.check.failing import CheckFailed
from tests.agent.fakes import ListSink, listener_into
from tests.agent.thinking import PlainFormatter, ScriptedChat
from tests.agent.thinking import react as react_agent
from tests.model.local.stand_ins import stand_in_parts
from tests.server.harness import serving

HELLO = c.ClientTextAppendEvent(text="I'm Ann. A table for six, please.")
GOOD = {"caller": "Ann", "people": 6}
BAD = {"caller": "Ann", "people": "half a dozen"}


class Booking(BaseModel):
    caller: str
    people: int = Field(ge=1)


def filled(value: object) -> list[ToolCallBlock]:
    return [ToolCallBlock(id="c1", name="generate_structured_output", input=json.dumps(value))]


def react(message: object) -> list[Step]:
    return [Speak("A table for six it is.", 1.0)] if isinstance(message, ResponseCreate) else []


def luigi(*answers: Any, chat: ChatModelBase | None = None, **more: Any) -> RealtimeAgent:
    chat = chat or ScriptedChat(*answers)
    return RealtimeAgent("Luigi", "", ScriptedModel(react), call_record=Booking, chat_model=chat, **more)


@asynccontextmanager
async def call(
    agent: RealtimeAgent, *texts: c.ClientEvent, end: str = "client_end", config: SessionConfig | None = None
) -> AsyncIterator[Session]:
    """A call that has ended."""
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    session = Session(participant=agent.run(), runtime=runtime, session_id="s1")
    session.attach(listener_into(ListSink(), runtime))
    await session.start(config or SessionConfig())
    for text in texts:
        session.receive(text)
        await asyncio.sleep(5)
    await session.end(end)
    yield session


def records(session: Session) -> list[dict[str, Any]]:
    return [
        event.value
        for event in session.log.read()
        if isinstance(event, s.ServerCustomEvent) and event.name == "call_record"
    ]


def ends(session: Session) -> tuple[str | None, str]:
    """How the call ended, and its last event."""
    return session.end_reason, [entry for entry in session.log.read() if isinstance(entry, s.ServerEvent)][-1].type


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("answers", "n_requests"),
    [
        ([filled(GOOD)], 1),
        ([filled(BAD), filled(GOOD)], 2),
        ([filled(BAD), [TextBlock(text="I am not sure.")], filled({}), filled(GOOD)], 4),
        ([[TextBlock(text=f"Here it is: {json.dumps(GOOD)}")]], 1),
    ],
    ids=["at once", "after a correction", "after three", "as text"],
)
async def test_the_record_is_filled_in_at_the_end_and_what_is_wrong_is_said_back(
    answers: Sequence[Any], n_requests: int
) -> None:
    chat = ScriptedChat(*answers)
    async with call(luigi(chat=chat), HELLO) as session:
        assert records(session) == [{"model": "Booking", "record": GOOD}]
        kinds = [entry.type for entry in session.log.read() if isinstance(entry, s.ServerEvent)][-3:]
        assert kinds == ["server_custom", "agent_ended", "server_session_ended"]
        assert session.end_reason == "client_end"
    assert len(chat.requests) == n_requests
    asked = [json.dumps(request.messages) for request in chat.requests]
    assert "I'm Ann. A table for six, please." in asked[0]
    assert "A table for six it is." in asked[0]
    if n_requests == 2:
        assert "people: Input should be a valid integer" in asked[1]


class Silent(ChatModelBase):
    async def __call__(self, *args: Any, **options: Any) -> ChatResponse:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("chat", "end", "why"),
    [
        (ScriptedChat(filled(BAD)), "client_end", "people: Input should be a valid integer"),
        (ScriptedChat([TextBlock(text="No.")]), "client_left", "there is no object in the answer"),
        (ScriptedChat(ProviderError("the key is refused", code="invalid_api_key")), "client_end", "the key is refused"),
        (ScriptedChat(ValueError("secret")), "client_end", "the chat model failed: ValueError"),
        (Silent("silent", False), "client_end", f"longer than {LIMIT_S:g} s"),
        (Silent("silent", False), "shutdown", f"longer than {SHUTDOWN_S:g} s"),
    ],
)
async def test_a_record_that_is_never_valid_is_an_event_with_the_reasons_and_the_call_ends_as_ever(
    chat: ChatModelBase, end: str, why: str
) -> None:
    async with call(luigi(chat=chat), HELLO, end=end) as session:
        (value,) = records(session)
        assert (value["model"], value["record"]) == ("Booking", None)
        assert why in "; ".join(value["reasons"])
        assert ends(session) == (end, "server_session_ended")
    if isinstance(chat, ScriptedChat):
        assert len(chat.requests) in (1, 4)


@pytest.mark.virtual_time
async def test_there_is_no_record_of_a_call_in_which_the_user_said_nothing_and_of_a_deleted_one() -> None:
    chat = ScriptedChat(filled(GOOD))
    async with call(luigi(chat=chat)) as session:
        assert records(session) == []
    async with call(luigi(chat=chat), HELLO, end="deleted") as session:
        assert records(session) == []
    assert chat.requests == []


@pytest.mark.virtual_time
async def test_what_was_said_in_earlier_calls_is_not_in_the_record() -> None:
    chat = ScriptedChat(filled(GOOD))
    agent = luigi(chat=chat)
    async with call(agent, c.ClientTextAppendEvent(text="A table for ninety.")) as session:
        agent.conversation = session.conversation.items()
    async with call(agent, HELLO):
        pass
    first, second = (json.dumps(request.messages) for request in chat.requests)
    assert "ninety" in first
    assert "ninety" not in second


@pytest.mark.virtual_time
async def test_after_a_hand_over_the_record_is_that_of_the_latest_agent_which_has_one() -> None:
    chat = ScriptedChat(filled(GOOD))
    mario = RealtimeAgent("Mario", "", ScriptedModel(react))

    async def enter(agent: RealtimeAgent) -> None:
        await agent.transfer_to("Mario")

    async with call(luigi(chat=chat, transfers=[mario], on_enter=enter), HELLO) as session:
        assert session.participant.name == "Mario"
        assert [value["record"] for value in records(session)] == [GOOD]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"call_record": Booking}, "call_record is filled in by a chat model, .* comes with none: give chat_model="),
        ({"call_record": dict, "chat_model": ScriptedChat()}, "call_record"),
        ({"call_record": GOOD, "chat_model": ScriptedChat()}, "call_record"),
    ],
)
def test_a_record_that_cannot_be_is_refused_when_the_agent_is_made(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        RealtimeAgent("Luigi", "", ScriptedModel([]), **options)


async def test_the_record_is_read_over_http_once_the_call_is_over() -> None:
    def make() -> RealtimeAgent:
        return luigi(filled(GOOD))

    async with serving(make, ServerSettings(drain_s=0, store="memory:")) as place:
        async with place.client("/ws/ann/s1") as client:
            call_id = (await client.make_call())["call_id"]
            await client.send({"type": "client_text_append", "text": "A table for six."})
            await client.until("agent_response_done")
            path = f"/api/calls/{call_id}/record?user="
            assert (await place.get(path + "ann")).status == 409
            await client.send({"type": "client_session_end"})
            told = await client.until("server_custom")
            assert (told["name"], told["value"]["record"]) == ("call_record", GOOD)
            await client.until("server_session_ended")
        answer = await place.get(path + "ann")
        assert answer.json() == {"call_id": call_id, "model": "Booking", "record": GOOD}
        assert (await place.get(path + "ben")).status == 404
        async with place.client("/ws/ann/s2") as client:
            call_id = (await client.make_call())["call_id"]
            await client.send({"type": "client_session_end"})
            await client.until("server_session_ended")
        answer = await place.get(f"/api/calls/{call_id}/record?user=ann")
        assert (answer.status, answer.json()["code"]) == (404, "no_record")


def played(agent: RealtimeAgent) -> kit.Run:
    steps = (kit.Type("I'm Ann. A table for six, please."), kit.WaitUntilHeard())
    case = kit.Case(users=(kit.Person(steps),), name="booking", models={})
    with asyncio.Runner(loop_factory=kit.VirtualLoop) as runner:
        return runner.run(kit.voice_call(case, agent=lambda: agent))


def test_the_test_kit_has_the_record() -> None:
    run = played(luigi(filled(GOOD)))
    assert run.call_record(Booking) == Booking(caller="Ann", people=6)

    class Order(BaseModel):
        title: str

    with pytest.raises(CheckFailed, match="a Booking, is no Order: title: Field required"):
        run.call_record(Order)
    with pytest.raises(CheckFailed, match="could not be filled in: people: Input should be"):
        played(luigi(filled(BAD))).call_record(Booking)
    with pytest.raises(CheckFailed, match="has no record"):
        played(RealtimeAgent("Luigi", "", ScriptedModel(react))).call_record(Booking)


# -- who fills it in ---------------------------------------------------------------------------------------------------


@pytest.mark.virtual_time
@pytest.mark.parametrize("behind", ["chat model", "agent", "function"])
async def test_the_embedded_voice_has_its_record_filled_in_by_its_own_language_model(behind: str) -> None:
    chat = ScriptedChat([TextBlock(text="A table for six it is.")], filled(GOOD))
    spoken = {
        "chat model": FormattedLanguageModel(chat, PlainFormatter()),
        "agent": react_agent(model=chat),
        "function": lambda: react_agent(model=chat),
    }[behind]
    engine = SpeechEngine(lambda progress: stand_in_parts())
    model = LocalRealtimeModel(language_model=spoken, engine=engine, speculation="off")
    async with call(RealtimeAgent("Luigi", "", model, call_record=Booking), HELLO) as session:
        assert records(session) == [{"model": "Booking", "record": GOOD}]
    engine.close()
    assert [request.options.get("tool_choice") for request in chat.requests][1:] == ["generate_structured_output"]


VARIABLES = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "dashscope": ("DASHSCOPE_API_KEY", "DASHSCOPE_WEBSOCKET_BASE_URL"),
}


def key_in(writer: Any) -> str:
    """The key that the client of its SDK sends."""
    own = writer if writer.family.name == "dashscope" else writer.client
    return str((own._api_client if writer.family.name == "gemini" else own).api_key)


@pytest.mark.parametrize(
    ("provider", "socket", "asked"),
    [
        ("openai", "", "https://api.openai.com/v1"),
        ("openai", "wss://proxy.example.org/openai/v1", "https://proxy.example.org/openai/v1"),
        ("openai", "http://127.0.0.1:9/v1?api-version=3", "http://127.0.0.1:9/v1"),
        ("gemini", "", "https://generativelanguage.googleapis.com"),
        ("gemini", "https://proxy.example.org/gemini", "https://proxy.example.org/gemini"),
        ("dashscope", "", "https://dashscope.aliyuncs.com/api/v1"),
        ("dashscope", "https://dashscope-intl.aliyuncs.com/api/v1", "https://dashscope-intl.aliyuncs.com/api/v1"),
    ],
)
def test_a_providers_voice_has_its_record_filled_in_at_its_own_host_with_its_own_key(
    provider: str, socket: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, (key, _) in VARIABLES.items():
        monkeypatch.setenv(key, f"key-of-{name}")
    monkeypatch.setenv(VARIABLES[provider][1], socket)
    form = RealtimeAgent("Luigi", "", open_model(provider), call_record=Booking).record_form
    assert form is not None
    writer = form.writer
    assert isinstance(writer, SdkChatModel)
    assert (writer.family.name, writer.endpoint.address) == (provider, asked)
    assert key_in(writer) == f"key-of-{provider}"


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"])
def test_an_address_in_the_environment_gets_no_key_of_a_voice_that_is_elsewhere(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "https://elsewhere.example.org/v1")
    voices = (
        OpenAIRealtimeModel(api_key="secret", base_url="https://api.openai.com/v1"),
        GeminiRealtimeModel(api_key="secret", base_url="https://generativelanguage.googleapis.com"),
    )
    for voice in voices:
        writer = voice.chat_model()
        assert isinstance(writer, SdkChatModel)
        assert "elsewhere" not in writer.endpoint.address


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("local", r"local comes with none \(without a language model it works by rules.*: give chat_model="),
        ("openai", "give chat_model=.* or set OPENAI_API_KEY"),
        ("dashscope", "give chat_model=.* or set DASHSCOPE_API_KEY"),
    ],
)
def test_a_voice_that_comes_with_no_chat_model_is_refused_in_one_sentence(
    name: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, _ in VARIABLES.values():
        monkeypatch.delenv(key, raising=False)
    with pytest.raises(UsageError, match=why) as refused:
        RealtimeAgent("Luigi", "", open_model(name), call_record=Booking)
    assert refused.value.code == "no_chat_model"


def test_of_several_voices_the_first_says_who_reads_the_words() -> None:
    first, second = (OpenAIRealtimeModel(api_key=f"key-{n}") for n in (1, 2))
    writer = failover([first, second]).chat_model()
    assert isinstance(writer, SdkChatModel)
    assert key_in(writer) == "key-1"
    assert failover([ScriptedModel(react), second]).chat_model() is None


# -- what the agent is told of it in the call --------------------------------------------------------------------------


class Reminder(BaseModel):
    caller: str = Field(description="Full name,\n spelled out")
    day: Literal["Friday", "Saturday"] | None = None


class Attentive(ScriptedModel):
    """Asks for what its instructions name as required, as a model would that follows them."""

    def __init__(self) -> None:
        super().__init__(self.answer)
        self.instructions = ""

    async def connect(self, *, settings: Settings, **parts: Any) -> Connection:
        self.instructions = settings.instructions
        return await super().connect(settings=settings, **parts)

    def answer(self, message: object) -> list[Step]:
        wanted = [line.split()[1] for line in self.instructions.splitlines() if "(required)" in line]
        return [Speak(f"May I have your {wanted[0]}?", 1.0)] if isinstance(message, ResponseCreate) else []


@pytest.mark.virtual_time
@pytest.mark.parametrize("own", ["You remind.", None])
async def test_the_agent_is_told_what_to_ask_for_and_to_read_back_and_the_clients_instructions_keep_it(
    own: str | None,
) -> None:
    model, chat = Attentive(), ScriptedChat(filled({"caller": "Ann"}))
    agent = RealtimeAgent("Luigi", "You remind.", model, call_record=Reminder, chat_model=chat)
    config = SessionConfig(instructions=None if own else "Be a pirate.")
    async with call(agent, c.ClientTextAppendEvent(text="Remind me, please."), config=config) as session:
        said = [item.text for item in session.conversation.items() if item.role == "assistant"]
        assert said == ["May I have your caller?"]
    begin, _, hint = model.instructions.partition("\n\n")
    assert begin == (own or "Be a pirate.")
    assert "- caller (required): Full name, spelled out\n- day: one of Friday, Saturday\n" in hint
    assert "read back what the user has told you" in hint


@pytest.mark.virtual_time
async def test_an_agent_without_a_record_is_told_nothing_of_one() -> None:
    model = Attentive()
    async with call(RealtimeAgent("Luigi", "You remind.", model)):
        assert model.instructions == "You remind."

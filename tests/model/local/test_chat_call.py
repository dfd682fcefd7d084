"""Calls whose language model is a chat endpoint: the embedded model around it, over a real HTTP server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.event import ClientEvents
from realtime.event import model as m
from realtime.event.base import ContentPart, Item, ResponseOverrides
from realtime.event.config import SessionConfig, ToolDeclaration
from realtime.message import ToolResultBlock
from realtime.model.base import (
    ItemCreate,
    ItemTruncate,
    ResponseCancel,
    ResponseCreate,
    SessionUpdate,
    Settings,
    ToolResult,
    refusal,
)
from realtime.model.local import LocalRealtimeModel
from realtime.model.local import model as local_model
from realtime.model.local.chat import ChatLanguageModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.passages import CODE_ALOUD
from realtime.model.local.voice import readable_text
from realtime.model.open import open_model
from realtime.server.load import load_make_agent
from realtime.server.make_agent import make_agent_of
from realtime.tool import Toolkit
from tests.model.local.chat_endpoint import (
    DONE,
    KEY,
    PATIENCE_S,
    USAGE,
    Break,
    ChatEndpoint,
    Hold,
    calls,
    chunk,
    piece,
    words,
)
from tests.model.local.stand_ins import Call, FakeRecognizer, FakeVoice, connect, stand_in_parts, typed

ChatCall = Call[ChatLanguageModel]
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "local_with_ollama.py"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolDeclaration(name="get_weather", description="Tells the weather.", parameters=CITY)


@pytest.fixture
async def engine() -> AsyncIterator[SpeechEngine]:
    made = SpeechEngine(lambda progress: stand_in_parts())
    yield made
    made.close()


@pytest.fixture
async def call(endpoint: ChatEndpoint, engine: SpeechEngine) -> AsyncIterator[ChatCall]:
    made = Call(FakeRecognizer(), ChatLanguageModel(endpoint.base_url, "qwen3", KEY))
    await connect(made, engine, Settings(instructions="Be kind.", tools=(WEATHER,), temperature=0.3))
    yield made
    await made.connection.close()


async def answer(call: Call[Any], text: str = "Hello.", number: int = 1, **overrides: Any) -> m.ModelResponseDoneEvent:
    """Type it; the end of the response to it, which has this number."""
    response = ResponseCreate(ResponseOverrides(**overrides)) if overrides else ResponseCreate()
    call.send(typed(text, f"typed{number}"), response)
    return await call.until(m.ModelResponseDoneEvent, number)


def said(call: Call[Any]) -> list[str]:
    return [event.transcript for event in call.all(m.ModelResponseAudioTranscriptDoneEvent)]


async def test_a_question_a_tool_its_result_and_a_spoken_answer(endpoint: ChatEndpoint, call: ChatCall) -> None:
    endpoint.will(*words("Let me see.")[:-1], *calls(piece(0, "call_a", "get_weather", '{"city":"Oslo"}')), USAGE, DONE)
    done = await answer(call, "How is the weather in Oslo?")
    (used,) = call.all(m.ModelResponseToolUseDoneEvent)
    assert (used.tool_use.name, used.tool_use.input) == ("get_weather", '{"city":"Oslo"}')
    assert (done.status, done.input_tokens, done.output_tokens) == ("completed", 19, 10)
    assert done.usage_detail is not None
    assert done.usage_detail.input_cached_tokens == 4

    endpoint.will(*words("It is", " sunny", " in Oslo", "."), DONE)
    call.send(ToolResult(ToolResultBlock(id=used.tool_use.id, name="get_weather", output="sunny")), ResponseCreate())
    await call.until(m.ModelResponseDoneEvent, 2)
    assert said(call) == ["Let me see.", "It is sunny in Oslo."]
    assert call.all(m.ModelResponseAudioDeltaEvent)
    first, second = endpoint.asked
    assert first.said == [("system", "Be kind."), ("user", "How is the weather in Oslo?")]
    assert [tool["function"]["name"] for tool in first.body["tools"]] == ["get_weather"]
    assert first.body["temperature"] == 0.3
    assert second.said == [*first.said, ("assistant", "Let me see."), ("tool", "sunny")]
    asked, told = second.body["messages"][2:]
    assert [made["id"] for made in asked["tool_calls"]] == [told["tool_call_id"]]


async def test_the_first_sentence_is_spoken_while_the_rest_is_to_come(endpoint: ChatEndpoint, call: ChatCall) -> None:
    hold = Hold()
    first, second = words("Once there was a lighthouse.", " It")[1:3]
    endpoint.will(first, second, hold, *words(" could not sleep.")[1:], DONE)
    call.send(typed("Tell me a story."), ResponseCreate())
    await call.until(m.ModelResponseAudioDeltaEvent)
    deltas = call.all(m.ModelResponseAudioTranscriptDeltaEvent)
    assert [event.delta for event in deltas] == ["Once there was a lighthouse."]
    assert not hold.go_on.is_set()
    assert call.all(m.ModelResponseDoneEvent) == []
    hold.go_on.set()
    await call.until(m.ModelResponseDoneEvent)
    assert [event.delta for event in call.all(m.ModelResponseAudioTranscriptDeltaEvent)][1:] == [" It could not sleep."]


async def test_a_cancelled_answer_closes_its_request_and_the_next_one_holds_what_was_heard(
    endpoint: ChatEndpoint, call: ChatCall
) -> None:
    endpoint.will(*words("Once there was a lighthouse.", " It")[1:3], Hold(), *words(" never.")[1:], DONE)
    call.send(typed("Tell me a story."), ResponseCreate())
    audio = await call.until(m.ModelResponseAudioDeltaEvent)
    call.send(ResponseCancel(), ItemTruncate(audio.item_id, 400, "Once there"))
    assert (await call.until(m.ModelResponseDoneEvent)).status == "cancelled"
    await (await endpoint.request()).left.wait()
    endpoint.will(Hold(), DONE)
    call.send(typed("Good night.", "next"), ResponseCreate())
    asked = await endpoint.request(2)
    assert asked.said[1:] == [("user", "Tell me a story."), ("assistant", "Once there"), ("user", "Good night.")]
    await call.connection.close()
    await asked.left.wait()


async def test_thoughts_are_told_but_neither_spoken_nor_sent_back(endpoint: ChatEndpoint, call: ChatCall) -> None:
    """FMT-11: told as thoughts; the payload of the next request has none."""
    endpoint.will(*words("<think>", "A greeting. I greet.", "</think>", "Hello."), DONE)
    await answer(call)
    assert said(call) == ["Hello."]
    assert [one.delta for one in call.all(m.ModelResponseThinkingDeltaEvent)] == ["A greeting. I greet."]
    (thought,) = call.all(m.ModelResponseThinkingDoneEvent)
    assert thought.thinking == "A greeting. I greet."
    assert thought.item_id not in {one.item_id for one in call.all(m.ModelResponseAudioDeltaEvent)}
    endpoint.will(*words("Yes?"), DONE)
    await answer(call, "Are you there?", 2)
    assert endpoint.asked[1].said[2] == ("assistant", "Hello.")


async def test_code_in_an_answer_is_shown_and_remembered_but_not_read_aloud(
    endpoint: ChatEndpoint, call: ChatCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    aloud: list[str] = []
    synthesize = FakeVoice.synthesize
    monkeypatch.setattr(FakeVoice, "synthesize", lambda voice, text: (aloud.append(text), synthesize(voice, text))[1])
    endpoint.will(*words("Like this:\n``", "`python\nprint(1)\n", "```\nTry it."), DONE)
    await answer(call, "How do I print?")
    assert aloud == ["Like this:", CODE_ALOUD, "Try it."]
    shown = "Like this:\n```python\nprint(1)\n```\nTry it."
    assert said(call) == [shown]
    endpoint.will(*words("Yes?"), DONE)
    await answer(call, "Are you there?", 2)
    assert endpoint.asked[1].said[2] == ("assistant", shown)


@pytest.mark.parametrize(
    ("text", "status", "codes"),
    [
        ("👍", "failed", ["unspeakable_answer"]),
        ("你好，很高兴认识你。", "failed", ["unspeakable_answer"]),
        ("Привет!", "failed", ["unspeakable_answer"]),
        ("👍 Good.", "completed", []),
        ("```\nprint(1)\n```", "completed", []),
    ],
)
async def test_an_answer_of_which_the_voice_can_say_nothing_is_an_error(
    text: str, status: str, codes: list[str], endpoint: ChatEndpoint, call: ChatCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthesize = FakeVoice.synthesize
    monkeypatch.setattr(
        FakeVoice, "synthesize", lambda voice, aloud: synthesize(voice, aloud) if readable_text(aloud) else b""
    )
    endpoint.will(*words(text), DONE)
    assert (await answer(call)).status == status
    assert [error.code for error in call.all(m.ModelErrorEvent)] == codes
    assert said(call) == [text], "its words can be read"


async def test_an_answer_that_breaks_off_was_spoken_as_far_as_it_came(endpoint: ChatEndpoint, call: ChatCall) -> None:
    endpoint.will(*words("One sentence. Another", " one")[:3], Break())
    done = await answer(call)
    assert (done.status, done.status_details) == ("failed", {"reason": "link_lost"})
    (error,) = call.all(m.ModelErrorEvent)
    assert (error.error_type, error.code, error.retryable) == ("provider_error", "link_lost", True)
    assert said(call) == ["One sentence."]
    endpoint.will(*words("Yes?"), DONE)
    assert (await answer(call, "Are you there?", 2)).status == "completed"


async def test_no_event_holds_the_key(endpoint: ChatEndpoint, call: ChatCall) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}."}})
    for number, status in enumerate((400, 401, 500), 1):
        endpoint.will(body, status=status, headers=(("content-type", "application/json"),))
        await answer(call, number=number)
    assert len(call.all(m.ModelErrorEvent)) == 3
    assert KEY not in json.dumps([event.model_dump() for event in call.events])


async def test_one_response_may_be_asked_for_otherwise(endpoint: ChatEndpoint, call: ChatCall) -> None:
    choice = {"type": "function", "name": "get_weather"}
    endpoint.will(*words("Yes."), DONE)
    await answer(call, tool_choice=choice, temperature=0.9, max_output_tokens=7)
    body = endpoint.asked[0].body
    assert body["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert (body["temperature"], body["max_tokens"]) == (0.9, 7)
    call.send(SessionUpdate(Settings(max_output_tokens=7)))
    endpoint.will(*words("Yes."), DONE)
    await answer(call, number=2, max_output_tokens="inf")
    assert "max_tokens" not in endpoint.asked[1].body, "it may be as long as it likes"


async def test_images_are_taken_where_the_model_is_said_to_understand_them(
    endpoint: ChatEndpoint, engine: SpeechEngine
) -> None:
    part = ContentPart(type="image", image=b"\x89PN", media_type="image/png")
    look = ItemCreate(Item(id="look", role="user", content=(ContentPart(type="text", text="Look."), part)))
    blind = LocalRealtimeModel(language_model=ChatLanguageModel(endpoint.base_url, "qwen3"), engine=engine).profile
    assert refusal(blind, look) is not None
    call = Call(FakeRecognizer(), ChatLanguageModel(endpoint.base_url, "llava", takes_images=True))
    await connect(call, engine)
    assert refusal(call.connection.profile, look) is None
    endpoint.will(*words("A door."), DONE)
    call.send(look, ResponseCreate())
    await call.until(m.ModelResponseDoneEvent)
    assert endpoint.asked[0].said[1][1][1]["image_url"]["url"] == "data:image/png;base64,iVBO"
    await call.connection.close()


async def test_the_variables_alone_make_it_the_mind_of_the_embedded_model(
    endpoint: ChatEndpoint, engine: SpeechEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"BASE_URL": endpoint.base_url, "MODEL": "qwen3", "API_KEY": KEY}
    for name in variables:
        monkeypatch.delenv(f"REALTIME_LLM_{name}", raising=False)
    assert open_model("local").profile.model == "local"
    for name, value in variables.items():
        monkeypatch.setenv(f"REALTIME_LLM_{name}", value)
    model = open_model("local")
    host = endpoint.base_url.removeprefix("http://").removesuffix("/v1")
    described = RealtimeAgent("Heart", "Be kind.", model).describe()
    assert (described["provider"], described["model"]) == ("local", f"qwen3 at {host}")
    assert described["languages"] == ["en"]
    assert KEY not in json.dumps(described) + repr(model)
    assert LocalRealtimeModel(engine=engine).profile.model == f"qwen3 at {host}"


async def test_the_short_example_gives_each_agent_a_model_of_its_own(
    endpoint: ChatEndpoint, engine: SpeechEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_OPENAI_URL", endpoint.base_url)
    monkeypatch.setattr(local_model, "engine_of_loop", lambda whisper_dir: engine)
    make_agent = load_make_agent(f"{EXAMPLE}:make_agent")
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 30, "it is short"
    for user, name, model in (("ann", "Robin", "qwen3:4b"), ("desk", "Mila", "llama3.2")):
        agent = await make_agent_of(make_agent, user=user, config=SessionConfig(), call_id="call_1")
        endpoint.will(*words("Yes?"), DONE)
        assert agent.name == name
        assert await answer_of(agent, "Hello.") == "Yes?"
        assert endpoint.asked[-1].body["model"] == model
        assert endpoint.asked[-1].said[0][1].startswith(f"You are {name}.")


async def answer_of(agent: RealtimeAgent, text: str) -> str:
    """Type it; what the agent says aloud."""
    out: asyncio.Queue[Any] = asyncio.Queue()
    await agent.start(out)
    await agent.handle_input(ClientEvents.ClientTextAppendEvent(session_id="s", text=text))
    types: set[str] = set()
    async with asyncio.timeout(PATIENCE_S):
        while (event := await out.get()).type != "agent_response_audio_transcript_done":
            types.add(event.type)
    await agent.stop()
    assert "agent_response_audio_delta" in types
    said: str = event.transcript
    return said


async def test_an_agent_runs_its_tools_for_it_and_broken_arguments_are_mended(
    endpoint: ChatEndpoint, engine: SpeechEngine
) -> None:
    """From typed words over two tool calls, of which the first is broken, to the answer that the user hears."""

    def get_weather(city: str) -> str:
        """Tells the weather."""
        return f"sunny in {city}"

    model = LocalRealtimeModel(language_model=ChatLanguageModel(endpoint.base_url, "qwen3"), engine=engine)
    agent = RealtimeAgent("Robin", "Be kind.", model, toolkit=Toolkit([get_weather]))
    endpoint.will(*calls(piece(0, "call_a", "get_weather", '{"city": Oslo')), DONE)
    endpoint.will(chunk({"tool_calls": [piece(0, "call_b", "get_weather", '{"city":"Oslo"}')]}, "tool_calls"), DONE)
    endpoint.will(*words("It is sunny in Oslo."), DONE)
    assert await answer_of(agent, "How is the weather in Oslo?") == "It is sunny in Oslo."
    mended, told = endpoint.asked[1], endpoint.asked[2]
    assert mended.body["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "not valid JSON" in mended.said[3][1]
    assert told.said[-1] == ("tool", "sunny in Oslo")

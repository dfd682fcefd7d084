"""The cascade's language model from each of the four families: conversation in, words, calls and usage out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from realtime.errors import ProviderError, UsageError
from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.message import Msg, ToolCallBlock, ToolResultBlock
from realtime.model.chat.families import FAMILIES
from realtime.model.chat.sdk_model import SdkChatModel
from realtime.model.local import FormattedLanguageModel, LocalRealtimeModel, language_model_from_environment
from realtime.model.local.chat import ChatLanguageModel, choice_in
from realtime.model.local.language_model import (
    LanguageModel,
    Prompt,
    ReplyText,
    ReplyThought,
    ReplyToolCall,
    ReplyUsage,
)
from tests.model.chat.scripts import PROVIDERS, Call, Provider, Script
from tests.model.local.chat_endpoint import KEY, ChatEndpoint, Hold, Json
from tests.model.local.keyless_chat import message

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
"""Google's SDK does that."""

JSON = (("content-type", "application/json"),)
CLOCK = ToolDeclaration(name="clock", description="Tells the time.", parameters={"type": "object", "properties": {}})
OTHERS = [name for name in PROVIDERS if name != "openai"]


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    return PROVIDERS[request.param]


@pytest.fixture
async def language_model(endpoint: ChatEndpoint, provider: Provider) -> AsyncIterator[LanguageModel]:
    made = language_model_from_environment(environment(provider.name, endpoint.base_url))
    assert made is not None
    yield made
    if isinstance(made, FormattedLanguageModel) and isinstance(made._model, SdkChatModel):
        await provider.close(made._model)


def environment(provider: str, base_url: str = "", **more: str) -> dict[str, str]:
    told = {"PROVIDER": provider, "MODEL": "model-x", "API_KEY": KEY, "BASE_URL": base_url} | more
    return {f"REALTIME_LLM_{name}": value for name, value in told.items()}


def prompt(*history: Item, **more: Any) -> Prompt:
    return Prompt(history=history or (message("user", "Hello."),), **more)


async def test_words_thoughts_calls_and_usage_reach_the_cascade(
    endpoint: ChatEndpoint, provider: Provider, language_model: LanguageModel
) -> None:
    script = Script(thoughts=("A greet", "ing."), words=("It is", " noon."), calls=(Call("call_1", "clock"),))
    endpoint.will(*provider.frames(script))
    given = [reply async for reply in language_model.respond(prompt(tools=[CLOCK]))]
    assert [reply.text for reply in given if isinstance(reply, ReplyThought)] == ["A greet", "ing."]
    assert [reply.text for reply in given if isinstance(reply, ReplyText)] == ["It is", " noon."]
    *_, call, usage = given
    assert call == ReplyToolCall("clock", "{}")
    assert isinstance(usage, ReplyUsage)
    assert (usage.input_tokens, usage.output_tokens) == (19, 10)
    assert (usage.detail.input_cached_tokens, usage.detail.output_reasoning_tokens) == (4, 3)
    assert provider.tools(await endpoint.request()) == ["clock"]


async def test_the_request_says_what_the_client_set(
    endpoint: ChatEndpoint, provider: Provider, language_model: LanguageModel
) -> None:
    endpoint.will(*provider.frames(Script(words=("Hi.",))))
    asked = prompt(
        instructions="Be kind.", tools=[CLOCK], tool_choice="required", temperature=0.3, max_output_tokens=99
    )
    async for _ in language_model.respond(asked):
        pass
    body = (await endpoint.request()).body
    settings: Json = body | body.get("parameters", {}) | body.get("generationConfig", {})
    limits = {"openai": "max_tokens", "gemini": "maxOutputTokens"}
    assert settings[limits.get(provider.name, "max_tokens")] == 99
    assert settings.get("temperature") == (None if provider.name == "anthropic" else 0.3)
    assert provider.choice(await endpoint.request()) is not None
    assert "Be kind." in str(body)
    last = (body.get("messages") or body.get("contents") or body["input"]["messages"])[-1]
    assert last["role"] == "user"
    assert "Hello." in str(last)


async def test_the_first_words_are_there_while_the_rest_is_still_to_come_and_leaving_ends_the_request(
    endpoint: ChatEndpoint, provider: Provider, language_model: LanguageModel
) -> None:
    endpoint.will(*provider.frames(Script(words=("One.",), is_cut=True)), Hold())
    async with aclosing(language_model.respond(prompt())) as coming:
        assert await anext(coming) == ReplyText("One.")
    await (await endpoint.request()).left.wait()


async def test_a_failure_is_told_at_once_by_the_names_of_the_settings(
    endpoint: ChatEndpoint, provider: Provider, language_model: LanguageModel
) -> None:
    """Its name says who reads the call."""
    assert language_model.name == f"model-x at {endpoint.base_url.removeprefix('http://').removesuffix('/v1')}"
    assert KEY not in repr(language_model)
    for status, named in ((401, "REALTIME_LLM_API_KEY"), (404, "REALTIME_LLM_MODEL"), (503, "HTTP 503")):
        endpoint.will(provider.error(f"no {KEY}", status), status=status, headers=JSON)
        with pytest.raises(ProviderError, match=named) as caught:
            await anext(language_model.respond(prompt()))
        assert KEY not in caught.value.message
    assert len(endpoint.asked) == 3, "nothing is tried again: a caller waits"


# -- the environment ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_familys_own_key_does_as_well(name: str) -> None:
    family = FAMILIES[name]
    own = environment(name, API_KEY="") | {family.key_variables[-1]: "own-key"}
    chosen = choice_in(own)
    assert chosen is not None
    assert (chosen.key, chosen.key_from) == ("own-key", family.key_variables[-1])
    assert (chosen.address, chosen.read_by) == (family.address, family.company)
    made, seeing = (language_model_from_environment(own | more) for more in ({}, {"REALTIME_LLM_IMAGES": "1"}))
    assert made is not None
    assert (made.name, made.takes_images) == (f"model-x at {family.address.split('/')[2]}", False)
    assert seeing is not None
    assert seeing.takes_images


def test_half_an_environment_names_the_variable() -> None:
    for variables, named in (
        ({"PROVIDER": "mistral"}, "REALTIME_LLM_PROVIDER is one of openai, dashscope, gemini, anthropic"),
        ({"PROVIDER": "gemini", "MODEL": ""}, "REALTIME_LLM_MODEL is not: name a model of Gemini"),
        ({"PROVIDER": "gemini", "API_KEY": ""}, "no key for Gemini: set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ({"PROVIDER": "openai", "API_KEY": ""}, "no key for OpenAI: set OPENAI_API_KEY"),
        ({"PROVIDER": "anthropic", "BASE_URL": "http://ann:pw@x"}, "a key goes into REALTIME_LLM_API_KEY"),
        ({"PROVIDER": ""}, "or name a REALTIME_LLM_PROVIDER"),
    ):
        with pytest.raises(UsageError, match=named):
            language_model_from_environment(environment("", **variables))


def test_openais_key_goes_to_openai_alone() -> None:
    own = {"OPENAI_API_KEY": "own-key"}
    elsewhere = choice_in(environment("openai", "http://localhost:11434/v1", API_KEY="") | own)
    assert elsewhere is not None
    assert elsewhere.key is None
    assert elsewhere.read_by == "the chat endpoint that REALTIME_LLM_BASE_URL names"
    proxied = choice_in(environment("openai", API_KEY="") | own | {"OPENAI_BASE_URL": "http://proxy/v1"})
    assert proxied is not None
    assert (proxied.key, proxied.address) == ("own-key", "http://proxy/v1")
    assert proxied.read_by == "the chat endpoint that OPENAI_BASE_URL names"
    official = language_model_from_environment(environment("openai", API_KEY="") | own)
    assert isinstance(official, ChatLanguageModel)
    assert official.name == "model-x at api.openai.com"


def test_any_chat_model_with_a_formatter_can_speak() -> None:
    model = FAMILIES["gemini"].model()("model-x", KEY, retries=0)
    spoken = FormattedLanguageModel(model, FAMILIES["gemini"].formatter()())
    assert spoken.name == "model-x at generativelanguage.googleapis.com"
    assert LocalRealtimeModel(language_model=spoken).profile.model == spoken.name


@pytest.mark.parametrize("name", OTHERS)
async def test_a_conversation_with_tools_is_written_by_the_formatter(endpoint: ChatEndpoint, name: str) -> None:
    provider = PROVIDERS[name]
    endpoint.will(*provider.frames(Script(words=("It is noon.",))))
    model = provider.model(endpoint.base_url)
    seen: list[Msg] = []

    class Seeing(FAMILIES[name].formatter()):  # type: ignore[misc]
        async def format(self, msgs: list[Msg], **kwargs: Any) -> list[Json]:
            seen.extend(msgs)
            return await super().format(msgs, **kwargs)  # type: ignore[no-any-return]

    called = Item(id="c", type="tool_call", tool_call=ToolCallBlock(id="call_1", name="clock", input="{}"))
    told = Item(id="r", type="tool_result", tool_result=ToolResultBlock(id="call_1", name="clock", output="12:00"))
    asked = prompt(message("user", "What time is it?"), called, told, instructions="Be kind.")
    answer = FormattedLanguageModel(model, Seeing()).respond(asked)
    assert [reply.text async for reply in answer if isinstance(reply, ReplyText)] == ["It is noon."]
    assert [msg.role for msg in seen] == ["system", "user", "assistant"]
    call, result = seen[2].content
    assert isinstance(call, ToolCallBlock)
    assert isinstance(result, ToolResultBlock)
    assert (call.id, result.output) == (result.id, "12:00")
    assert "12:00" in str((await endpoint.request()).body)
    await provider.close(model)
    provider.made.remove(model)

"""Four families of chat models, one table: each on its own SDK, against a loopback endpoint with its own frames."""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
from typing import Any

import pytest
from pydantic import TypeAdapter

from realtime.errors import ProviderError
from realtime.message import TextBlock, ThinkingBlock, ToolCallBlock
from realtime.model.chat import ChatResponse, ChatUsage, sdk_model
from realtime.model.chat.sdk_model import SdkChatModel
from tests.model.chat.scripts import (
    ALL as EVERYTHING,
)
from tests.model.chat.scripts import (
    JSON,
    PERSON,
    PROVIDERS,
    SEEN,
    Call,
    Person,
    Provider,
    Script,
    responses_of,
    whole,
)
from tests.model.local.chat_endpoint import KEY, Break, ChatEndpoint, Frame, Hold, Json
from tests.model.local.stand_ins import HANG_S

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
"""Google's SDK does that."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "Tells the time."}}
ALL = Script(
    thoughts=("The user", " greets."),
    words=("It is", " noon."),
    calls=(Call("call_1", "get_weather", ('{"city":', ' "Oslo"}')), Call("call_2", "clock")),
)


async def ask(model: SdkChatModel, provider: Provider, text: str = "Hello.", **more: Any) -> ChatResponse:
    """The whole response."""
    return await whole(await model(provider.payload(text), **more))


def words_of(response: ChatResponse) -> str:
    return "".join(block.text for block in response.content if isinstance(block, TextBlock))


def calls_of(response: ChatResponse) -> list[tuple[str, str]]:
    return [(block.name, block.input) for block in response.content if isinstance(block, ToolCallBlock)]


# -- answers -----------------------------------------------------------------------------------------------------------


def read_by_sdk(name: str, frames: list[Frame], whole: str) -> None:
    """Raises where the types of the SDK do not know a frame of a stream, or a whole answer. DashScope has none."""
    match name:
        case "openai":
            from openai.types.chat import ChatCompletion, ChatCompletionChunk

            for frame in frames[:-1]:
                ChatCompletionChunk.model_validate(frame)
            ChatCompletion.model_validate_json(whole)
        case "gemini":
            from google.genai.types import GenerateContentResponse

            for frame in frames:
                GenerateContentResponse.model_validate(frame)
            GenerateContentResponse.model_validate_json(whole)
        case "anthropic":
            from anthropic.types import Message, RawMessageStreamEvent

            events: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
            for text in [str(frame) for frame in frames if "event: ping" not in str(frame)]:
                events.validate_json(text.partition("data: ")[2])
            Message.model_validate_json(whole)


def test_the_frames_of_these_tests_are_those_of_the_sdk(provider: Provider) -> None:
    read_by_sdk(provider.name, provider.frames(EVERYTHING), provider.whole(EVERYTHING))


async def test_thoughts_words_calls_and_usage_are_the_same_from_every_family(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    """FMT-18: the three families of the documents, and Anthropic's."""
    provider.will(endpoint, ALL, stream=stream)
    response = await ask(provider.model(endpoint.base_url, stream=stream), provider)
    thoughts, words, *calls = response.content
    assert isinstance(thoughts, ThinkingBlock)
    assert thoughts.thinking == "The user greets."
    assert isinstance(words, TextBlock)
    assert words.text == "It is noon."
    assert [call.id for call in calls] == ["call_1", "call_2"]
    assert calls_of(response) == [("get_weather", '{"city": "Oslo"}'), ("clock", "{}")]
    usage = response.usage
    assert isinstance(usage, ChatUsage)
    assert (usage.input_tokens, usage.output_tokens, usage.cache_input_tokens) == (19, 10, 4)
    assert usage.reasoning_tokens == 3
    assert usage.metadata
    assert 0 < usage.time < 60
    assert response.id == SEEN[provider.name]


async def test_each_response_of_a_stream_holds_all_before_it(endpoint: ChatEndpoint, provider: Provider) -> None:
    provider.will(endpoint, ALL)
    responses = await responses_of(await provider.model(endpoint.base_url)(provider.payload("Hello.")))
    assert len(responses) >= 6
    assert len({response.id for response in responses}) == 1
    for before, after in itertools.pairwise(responses):
        for old, new in zip(before.content, after.content, strict=False):
            assert (old.type, old.id) == (new.type, new.id), "a block keeps its id and its place"
        assert words_of(after).startswith(words_of(before))
        assert len(after.content) >= len(before.content)
    texts = [*dict.fromkeys(words_of(response) for response in responses)]
    assert texts == ["", "It is", "It is noon."]


async def test_the_first_words_are_there_while_the_rest_is_still_to_come(
    endpoint: ChatEndpoint, provider: Provider
) -> None:
    hold = Hold()
    frames = provider.frames(Script(words=("It is", " noon.")))
    first = next(at for at, frame in enumerate(frames) if "It is" in str(frame)) + 1
    endpoint.will(*frames[:first], hold, *frames[first:])
    coming = await provider.model(endpoint.base_url)(provider.payload("Hello."))
    assert words_of(await anext(coming)) == "It is"
    assert not hold.go_on.is_set()
    hold.go_on.set()
    assert words_of((await responses_of(coming))[-1]) == "It is noon."


async def test_an_empty_answer_is_one_response_without_blocks(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    provider.will(endpoint, Script(), stream=stream)
    (response,) = await responses_of(await provider.model(endpoint.base_url, stream=stream)(provider.payload("Hello.")))
    assert [*response.content] == []
    assert response.usage is not None


async def test_thoughts_among_the_words_are_told_apart_from_them(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    """FMT-10: the tags of reasoning models, split across chunks."""
    script = Script(words=("<th", "ink>The user", " greets.</thi", "nk>\n\nHi", "."))
    provider.will(endpoint, script, stream=stream)
    response = await ask(provider.model(endpoint.base_url, stream=stream), provider)
    assert words_of(response) == "Hi."
    assert [block.thinking for block in response.content if isinstance(block, ThinkingBlock)] == ["The user greets."]


# -- tools -------------------------------------------------------------------------------------------------------------

NAMED: dict[str, Any] = {
    "openai": {"type": "function", "function": {"name": "clock"}},
    "dashscope": {"type": "function", "function": {"name": "clock"}},
    "gemini": {"mode": "ANY", "allowedFunctionNames": ["clock"]},
    "anthropic": {"type": "tool", "name": "clock"},
}
CHOICES: dict[str, dict[str, Any]] = {
    "openai": {"auto": "auto", "none": "none", "required": "required"},
    "dashscope": {"auto": "auto", "none": "none", "required": "auto"},
    "gemini": {"auto": {"mode": "AUTO"}, "none": {"mode": "NONE"}, "required": {"mode": "ANY"}},
    "anthropic": {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}},
}


@pytest.mark.parametrize("choice", [None, "auto", "none", "required", "clock"])
async def test_tools_and_the_choice_among_them_are_told_in_each_familys_words(
    endpoint: ChatEndpoint, provider: Provider, choice: str | None
) -> None:
    provider.will(endpoint, Script(words=("Hi.",)))
    await ask(provider.model(endpoint.base_url), provider, tools=[WEATHER, CLOCK], tool_choice=choice)
    asked = await endpoint.request()
    assert provider.tools(asked) == ["get_weather", "clock"]
    written = {**CHOICES[provider.name], "clock": NAMED[provider.name], None: None}
    assert provider.choice(asked) == written[choice]


async def test_without_tools_no_choice_is_sent(endpoint: ChatEndpoint, provider: Provider) -> None:
    provider.will(endpoint, Script(words=("Hi.",)))
    await ask(provider.model(endpoint.base_url), provider, tool_choice="auto")
    asked = await endpoint.request()
    assert (provider.tools(asked), provider.choice(asked)) == ([], None)


async def test_two_calls_with_one_id_get_two(endpoint: ChatEndpoint, provider: Provider, stream: bool) -> None:
    script = Script(calls=(Call("call_1", "get_weather", ('{"city": "Oslo"}',)), Call("call_1", "clock")))
    provider.will(endpoint, script, stream=stream)
    response = await ask(provider.model(endpoint.base_url, stream=stream), provider)
    assert calls_of(response) == [("get_weather", '{"city": "Oslo"}'), ("clock", "{}")]
    first, second = (block.id for block in response.content)
    assert first == "call_1" != second


@pytest.mark.parametrize("name", ["openai", "dashscope", "anthropic"])
async def test_arguments_that_are_no_json_stay_as_they_are(endpoint: ChatEndpoint, name: str) -> None:
    """Running the tool tells the model. Gemini's arguments are an object by themselves."""
    provider = PROVIDERS[name]
    provider.will(endpoint, Script(calls=(Call("call_1", "get_weather", ('{"city": Os', "lo")),)))
    response = await ask(provider.model(endpoint.base_url), provider)
    assert calls_of(response) == [("get_weather", '{"city": Oslo')]
    call = response.content[0]
    assert isinstance(call, ToolCallBlock)
    assert call.arguments is None


# -- structured output -------------------------------------------------------------------------------------------------


def person(provider: Provider, arguments: str) -> Script:
    """An answer with this object: as text where the family has a schema for answers, else as a tool's arguments."""
    if provider.name in ("openai", "gemini"):
        return Script(words=(arguments[:5], arguments[5:]))
    return Script(words=("Here it is.",), calls=(Call("call_1", "generate_structured_output", (arguments,)),))


async def test_structured_output_is_one_response_with_the_object(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    provider.will(endpoint, person(provider, '{"name": "Ann", "age": 30}'), stream=stream)
    asked = await provider.model(endpoint.base_url, stream=stream)(provider.payload("Who?"), structured_model=Person)
    assert isinstance(asked, ChatResponse) is not stream
    (response,) = await responses_of(asked)
    assert response.metadata == {"name": "Ann", "age": 30}
    assert response.usage is not None
    sent = str((await endpoint.request()).body)
    assert "'age'" in sent, "the schema goes with the request"


async def test_an_object_that_does_not_match_is_no_answer(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    for _ in range(2):
        provider.will(endpoint, person(provider, '{"name": "Ann", "age": "secret"}'), stream=stream)
    with pytest.raises(ProviderError) as caught:
        await ask(provider.model(endpoint.base_url, stream=stream), provider, structured_model=Person)
    assert (caught.value.code, caught.value.retryable) == ("invalid_structured_output", True)
    assert "secret" not in caught.value.message
    assert len(endpoint.asked) == (2 if provider.name == "openai" else 1), "OpenAI's servers are asked for a tool, too"


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize(("name", "setting"), [("dashscope", "enable_thinking"), ("anthropic", "thinking")])
async def test_a_model_that_thinks_takes_no_tool_by_name(
    endpoint: ChatEndpoint, name: str, setting: str, thinks: bool
) -> None:
    """And tools are left out of a request for structured output."""
    provider = PROVIDERS[name]
    thinking: dict[str, Any] = {"dashscope": thinks, "anthropic": {"type": "enabled" if thinks else "disabled"}}
    model = provider.model(endpoint.base_url, **{setting: thinking[name]})
    provider.will(endpoint, PERSON)
    assert (await ask(model, provider, tools=[CLOCK], structured_model=Person)).metadata == {"name": "Ann", "age": 30}
    asked = await endpoint.request()
    assert provider.tools(asked) == ["generate_structured_output"]
    chosen = str(provider.choice(asked))
    assert ("generate_structured_output" in chosen, "auto" in chosen) == (not thinks, thinks)


# -- failures ----------------------------------------------------------------------------------------------------------


async def failure(
    endpoint: ChatEndpoint, provider: Provider, *frames: Frame, stream: bool = True, status: int = 200, **settings: Any
) -> ProviderError:
    """The failure of an answer with these frames, which may come after its first words."""
    endpoint.will(*frames, status=status, headers=JSON if status != 200 or not stream else None)
    with pytest.raises(ProviderError) as caught:
        await ask(provider.model(endpoint.base_url, stream=stream, **settings), provider)
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "invalid_request", False),
        (401, "invalid_api_key", False),
        (403, "invalid_api_key", False),
        (404, "model_not_found", False),
        (422, "invalid_request", False),
        (429, "rate_limit_exceeded", True),
        (500, "provider_failed", True),
        (503, "provider_failed", True),
        (504, "provider_timeout", True),
    ],
)
async def test_a_refusal_says_what_to_do_and_whether_to_try_again(
    endpoint: ChatEndpoint, provider: Provider, stream: bool, status: int, code: str, retryable: bool
) -> None:
    body = provider.error(f"the server's words about {KEY}", status)
    error = await failure(endpoint, provider, body, stream=stream, status=status)
    assert (error.code, error.retryable, error.fault) == (code, retryable, "provider")
    assert f"(HTTP {status})" in error.message or "'model-x'" in error.message
    assert KEY not in error.message
    if code in ("invalid_request", "rate_limit_exceeded", "provider_failed"):
        assert "the server's words about [key]" in error.message
    if code == "invalid_api_key":
        assert "refused the key in `api_key`" in error.message
    assert len(endpoint.asked) == 1


async def test_nobody_listening_names_the_address(provider: Provider, stream: bool) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ProviderError) as caught:
            await ask(provider.model(address, stream=stream), provider)
    assert (caught.value.code, caught.value.retryable) == ("provider_unavailable", True)
    assert address in caught.value.message


async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(
    endpoint: ChatEndpoint, provider: Provider
) -> None:
    for end in ([], [Break()]):
        frames = provider.frames(Script(words=("It is",), is_cut=True))
        endpoint.will(*frames, *end)
        coming = await provider.model(endpoint.base_url)(provider.payload("Hello."))
        assert words_of(await anext(coming)) == "It is"
        with pytest.raises(ProviderError) as caught:
            await anext(coming)
        assert (caught.value.code, caught.value.retryable) == ("link_lost", True)


async def test_a_stream_that_dies_inside_a_tool_call_fails(endpoint: ChatEndpoint, provider: Provider) -> None:
    script = Script(calls=(Call("call_1", "get_weather", ('{"city": "Oslo"}',)),), is_cut=True)
    assert (await failure(endpoint, provider, *provider.frames(script), Break())).code == "link_lost"


ERRORS: dict[str, dict[str, str]] = {
    "anthropic": {
        "overloaded_error": "provider_failed",
        "rate_limit_error": "rate_limit_exceeded",
        "authentication_error": "invalid_api_key",
        "invalid_request_error": "invalid_request",
        "timeout_error": "provider_timeout",
    },
    # The SDK gives all of them the status 400.
    "dashscope": {
        "Throttling.RateQuota": "rate_limit_exceeded",
        "InvalidApiKey": "invalid_api_key",
        "ModelNotFound": "model_not_found",
        "DataInspectionFailed": "invalid_request",
        "InternalError.Timeout": "provider_failed",
        "RequestTimeOut": "provider_timeout",
    },
}
PASSING = ("provider_failed", "rate_limit_exceeded", "provider_timeout")


async def test_an_error_in_the_middle_of_the_stream_is_told(endpoint: ChatEndpoint, provider: Provider) -> None:
    frames = provider.frames(Script(words=("It is",), is_cut=True))
    error = await failure(endpoint, provider, *frames, provider.error_frame("the server's words"))
    assert (error.code, error.retryable) == ("provider_failed", True)
    assert "the server's words" in error.message
    assert "HTTP" not in error.message or provider.name != "anthropic"
    told: Any = {"anthropic": lambda kind: {"kind": kind}, "dashscope": lambda code: {"code": code, "status": 400}}
    for said, code in ERRORS.get(provider.name, {}).items():
        frame = provider.error_frame("the server's words", **told[provider.name](said))
        error = await failure(endpoint, provider, frame)
        assert (error.code, error.retryable) == (code, code in PASSING), said


async def test_what_is_no_answer_at_all_is_said_to_be_none(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    assert (await failure(endpoint, provider, "{broken", stream=stream)).code == "malformed_answer"
    if stream:
        assert (await failure(endpoint, provider)).code == "malformed_answer"
        frames = provider.frames(Script(words=("It is",), is_cut=True))
        broken = ("" if provider.name != "anthropic" else "event: message_delta\n") + "data:{broken\n\n"
        assert (await failure(endpoint, provider, *frames, broken)).code in ("malformed_answer", "provider_failed")


async def test_silence_is_not_waited_for_longer_than_said(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    begun = provider.frames(Script(words=("It is",), is_cut=True)) if stream else []
    for frames in ([Hold()], [*begun, Hold()]):
        error = await failure(endpoint, provider, *frames, stream=stream, timeout_s=0.15)
        assert (error.code, error.retryable) == ("provider_timeout", True)
        assert "0.15 s" in error.message


async def test_an_answer_without_end_is_cut(endpoint: ChatEndpoint, provider: Provider, stream: bool) -> None:
    for script in (
        Script(words=("on and on " * 20,) * 10),
        Script(thoughts=("on and on " * 20,) * 10),
        Script(calls=(Call("call_1", "write", ('{"text": "', *["on and on " * 20] * 10, '"}')),)),
    ):
        frames = provider.frames(script) if stream else [provider.whole(script)]
        error = await failure(endpoint, provider, *frames, stream=stream, max_answer_chars=1000)
        assert error.code == "answer_too_long"


@pytest.mark.parametrize("name", ["openai", "gemini", "anthropic"])
async def test_an_answer_that_a_filter_held_back_is_told(endpoint: ChatEndpoint, name: str, stream: bool) -> None:
    """DashScope refuses the request instead."""
    provider, script = PROVIDERS[name], Script(is_held_back=True)
    frames = provider.frames(script) if stream else [provider.whole(script)]
    assert (await failure(endpoint, provider, *frames, stream=stream)).code == "content_refused"


async def test_after_a_failure_the_next_answer_is_as_good_as_ever(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    model = provider.model(endpoint.base_url, stream=stream)
    endpoint.will(provider.error("no", 500), status=500, headers=JSON)
    with pytest.raises(ProviderError):
        await ask(model, provider)
    provider.will(endpoint, Script(words=("Hi.",)), stream=stream)
    assert words_of(await ask(model, provider)) == "Hi."


# -- retries -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_model, "FIRST_WAIT_S", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_a_request_of_which_nothing_came_is_sent_again(
    endpoint: ChatEndpoint, provider: Provider, stream: bool
) -> None:
    endpoint.will(provider.error("busy", 503), status=503, headers=JSON)
    endpoint.will(Break()) if stream else endpoint.will(provider.error("busy", 429), status=429, headers=JSON)
    provider.will(endpoint, Script(words=("Hi.",)), stream=stream)
    assert words_of(await ask(provider.model(endpoint.base_url, stream=stream, retries=2), provider)) == "Hi."
    assert len(endpoint.asked) == 3


@pytest.mark.usefixtures("at_once")
async def test_it_is_sent_again_so_often_only(endpoint: ChatEndpoint, provider: Provider, stream: bool) -> None:
    for _ in range(3):
        endpoint.will(provider.error("busy", 503), status=503, headers=JSON)
    with pytest.raises(ProviderError) as caught:
        await ask(provider.model(endpoint.base_url, stream=stream, retries=2), provider)
    assert caught.value.code == "provider_failed"
    assert len(endpoint.asked) == 3


@pytest.mark.usefixtures("at_once")
async def test_after_the_first_words_nothing_is_sent_again(endpoint: ChatEndpoint, provider: Provider) -> None:
    frames = provider.frames(Script(words=("It is",), is_cut=True))
    assert (await failure(endpoint, provider, *frames, Break(), retries=2)).code == "link_lost"
    assert len(endpoint.asked) == 1


# -- leaving -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", [0, 1])
async def test_closing_the_stream_closes_the_request(endpoint: ChatEndpoint, provider: Provider, taken: int) -> None:
    endpoint.will(*provider.frames(Script(words=("One.",), is_cut=True)), Hold())
    coming = await provider.model(endpoint.base_url)(provider.payload("Hello."))
    for _ in range(taken):
        assert words_of(await anext(coming)) == "One."
    await coming.aclose()
    async with asyncio.timeout(HANG_S):
        await (await endpoint.request()).left.wait()
    assert await responses_of(coming) == []


async def test_cancelling_closes_the_request(endpoint: ChatEndpoint, provider: Provider, stream: bool) -> None:
    endpoint.will(Hold())
    asking = asyncio.create_task(ask(provider.model(endpoint.base_url, stream=stream), provider))
    asked = await endpoint.request()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with asyncio.timeout(HANG_S):
        await asked.left.wait()


async def test_cancelling_in_the_middle_closes_the_request(endpoint: ChatEndpoint, provider: Provider) -> None:
    endpoint.will(*provider.frames(Script(words=("One.",), is_cut=True)), Hold())
    began = asyncio.Event()

    async def take() -> None:
        async for response in await provider.model(endpoint.base_url)(provider.payload("Hello.")):
            assert words_of(response) == "One."
            began.set()

    taking = asyncio.create_task(take())
    await began.wait()
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    async with asyncio.timeout(HANG_S):
        await (await endpoint.request()).left.wait()


# -- secrets -----------------------------------------------------------------------------------------------------------


async def test_neither_key_nor_words_are_in_reprs_or_logs(
    endpoint: ChatEndpoint, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    """At the levels that a server writes; with DEBUG for everything, an SDK may write its requests."""
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, "realtime")
    model = provider.model(endpoint.base_url)
    provider.will(endpoint, Script(words=("Confidential words.",)))
    await ask(model, provider, "Confidential question.")
    seen = [repr(model), repr(model.endpoint)]
    for status in (400, 401, 404, 429, 500):
        endpoint.will(provider.error(f"wrong key {KEY}", status), status=status, headers=JSON)
        with pytest.raises(ProviderError) as caught:
            await ask(model, provider, "Confidential question.")
        seen += [caught.value.message, repr(caught.value), repr(caught.value.__cause__)]
    seen += [record.getMessage() + str(record.exc_info) for record in caplog.records]
    for secret in (KEY, "Confidential"):
        assert not [text for text in seen if secret in text]


async def test_the_arguments_are_checked_before_anything_is_sent(endpoint: ChatEndpoint, provider: Provider) -> None:
    model, payload = provider.model(endpoint.base_url), provider.payload("Hello.")
    wrong: list[tuple[type[Exception], str, Any, Json]] = [
        (TypeError, "a list of messages", "Hello.", {}),
        (TypeError, "each one a dict", ["Hello."], {}),
        (ValueError, "at least one", [], {}),
        (TypeError, "JSON schemas", payload, {"tools": 7}),
        (ValueError, "each tool is", payload, {"tools": [{"name": "clock"}]}),
        (TypeError, "`tool_choice` is text", payload, {"tools": [CLOCK], "tool_choice": {"name": "clock"}}),
        (ValueError, "none of auto, none, required, clock", payload, {"tools": [CLOCK], "tool_choice": "dance"}),
        (ValueError, "needs tools", payload, {"tool_choice": "required"}),
        (TypeError, "BaseModel", payload, {"structured_model": dict}),
    ]
    for kind, sentence, messages, more in wrong:
        with pytest.raises(kind, match=sentence):
            await model(messages, **more)
    assert endpoint.asked == []

"""Four families of chat models, one table: each on its own SDK, against a loopback endpoint with its own frames."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from realtime.errors import ProviderError
from realtime.message import TextBlock, ThinkingBlock, ToolCallBlock
from realtime.model.chat import ChatResponse, ChatUsage, sdk_model
from tests.model.chat.scripts import JSON, PERSON, PROVIDERS, SEEN, Call, Person, Provider, Script, responses_of, whole
from tests.model.local.chat_endpoint import KEY, Asked, Break, ChatEndpoint, Frame, Hold, Json
from tests.volumes import HANG_S

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
"""Google's SDK does that."""

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "Tells it.", "parameters": CITY}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "Tells the time."}}
ALL = Script(
    thoughts=("The user", " greets."),
    words=("It is", " noon."),
    calls=(Call("call_1", "get_weather", ('{"city":', ' "Oslo"}')), Call("call_2", "clock")),
)
HI = Script(words=("Hi.",))
BEGUN = Script(words=("It is",), is_cut=True)
OSLO = Call("call_1", "get_weather", ('{"city": "Oslo"}',))
WORDS: Json = json.loads(Path(__file__).with_name("families.json").read_text(encoding="utf-8"))
"""How each family writes the choice of a tool, and what the errors inside its streams mean. To DashScope's SDK all of
them have the status 400."""
PASSING = ("provider_failed", "rate_limit_exceeded", "provider_timeout", "provider_unavailable", "link_lost")
"""Codes after which it may be tried again."""


@dataclass(frozen=True)
class Family:
    """A family and its endpoint."""

    provider: Provider
    endpoint: ChatEndpoint
    stream: bool

    def model(self, address: str = "", **settings: Any) -> Any:
        return self.provider.model(address or self.endpoint.base_url, stream=self.stream, **settings)

    def will(self, script: Script) -> None:
        """Answer one more request so."""
        self.provider.will(self.endpoint, script, stream=self.stream)

    def refuse(self, status: int, message: str = "busy") -> None:
        """Refuse one more request."""
        self.endpoint.will(self.provider.error(message, status), status=status, headers=JSON)

    async def begin(self) -> AsyncGenerator[ChatResponse, None]:
        """The responses of a stream."""
        coming: AsyncGenerator[ChatResponse, None] = await self.model()(self.provider.payload("Hello."))
        return coming

    async def ask(self, model: Any = None, text: str = "Hello.", **more: Any) -> ChatResponse:
        """The whole response."""
        return await whole(await (model or self.model())(self.provider.payload(text), **more))

    async def asked(self, **more: Any) -> Asked:
        """The request for an answer."""
        self.will(HI)
        await self.ask(**more)
        return await self.endpoint.request()

    async def failure(self, *frames: Frame, **settings: Any) -> ProviderError:
        """The failure of an answer with these frames, which may come after its first words."""
        self.endpoint.will(*frames, headers=None if self.stream else JSON)
        return await self.fails(self.model(**settings))

    async def fails(self, model: Any, text: str = "Hello.", **more: Any) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.ask(model, text, **more)
        assert caught.value.retryable is (caught.value.code in (*PASSING, "invalid_structured_output"))
        return caught.value


@pytest.fixture
def family(provider: Provider, endpoint: ChatEndpoint, stream: bool) -> Family:
    return Family(provider, endpoint, stream)


@pytest.fixture
def streaming(provider: Provider, endpoint: ChatEndpoint) -> Family:
    return Family(provider, endpoint, stream=True)


def only(*names: str) -> pytest.MarkDecorator:
    """These families instead of all four."""
    return pytest.mark.parametrize("provider", [PROVIDERS[name] for name in names], ids=names)


def words_of(response: ChatResponse) -> str:
    return "".join(block.text for block in response.content if isinstance(block, TextBlock))


def calls_of(response: ChatResponse) -> list[tuple[str, str]]:
    return [(block.name, block.input) for block in response.content if isinstance(block, ToolCallBlock)]


# -- answers -----------------------------------------------------------------------------------------------------------


@only("openai", "gemini", "anthropic")
def test_the_frames_of_these_tests_are_those_of_the_sdk(provider: Provider) -> None:
    """DashScope's has no types of them."""
    frames, answer = provider.frames(ALL), provider.whole(ALL)
    match provider.name:
        case "openai":
            from openai.types.chat import ChatCompletion, ChatCompletionChunk

            for frame in frames[:-1]:
                ChatCompletionChunk.model_validate(frame)
            ChatCompletion.model_validate_json(answer)
        case "gemini":
            from google.genai.types import GenerateContentResponse

            for frame in frames:
                GenerateContentResponse.model_validate(frame)
            GenerateContentResponse.model_validate_json(answer)
        case "anthropic":
            from anthropic.types import Message, RawMessageStreamEvent

            events: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
            for text in [str(frame) for frame in frames if "event: ping" not in str(frame)]:
                events.validate_json(text.partition("data: ")[2])
            Message.model_validate_json(answer)


async def test_thoughts_words_calls_and_usage_are_the_same_from_every_family(family: Family) -> None:
    """FMT-18: the three families of the documents, and Anthropic's."""
    family.will(ALL)
    response = await family.ask()
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
    assert usage.time > 0
    assert response.id == SEEN[family.provider.name]


async def test_each_response_of_a_stream_holds_all_before_it(streaming: Family) -> None:
    streaming.will(ALL)
    responses = await responses_of(await streaming.begin())
    assert len(responses) >= 6
    assert len({response.id for response in responses}) == 1
    for before, after in itertools.pairwise(responses):
        for old, new in zip(before.content, after.content, strict=False):
            assert (old.type, old.id) == (new.type, new.id), "a block keeps its id and its place"
        assert words_of(after).startswith(words_of(before))
        assert len(after.content) >= len(before.content)
    assert [*dict.fromkeys(words_of(response) for response in responses)] == ["", "It is", "It is noon."]


async def test_the_first_words_are_there_while_the_rest_is_still_to_come(streaming: Family) -> None:
    hold, frames = Hold(), streaming.provider.frames(Script(words=("It is", " noon.")))
    first = next(at for at, frame in enumerate(frames) if "It is" in str(frame)) + 1
    streaming.endpoint.will(*frames[:first], hold, *frames[first:])
    coming = await streaming.begin()
    assert words_of(await anext(coming)) == "It is"
    assert not hold.go_on.is_set()
    hold.go_on.set()
    assert words_of((await responses_of(coming))[-1]) == "It is noon."


async def test_an_empty_answer_is_one_response_without_blocks(family: Family) -> None:
    family.will(Script())
    (response,) = await responses_of(await family.model()(family.provider.payload("Hello.")))
    assert ([*response.content], response.usage is None) == ([], False)


async def test_thoughts_among_the_words_are_told_apart_from_them(family: Family) -> None:
    """FMT-10: the tags of reasoning models, split across chunks."""
    family.will(Script(words=("<th", "ink>The user", " greets.</thi", "nk>\n\nHi", ".")))
    response = await family.ask()
    assert words_of(response) == "Hi."
    assert [block.thinking for block in response.content if isinstance(block, ThinkingBlock)] == ["The user greets."]


# -- tools -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [None, "auto", "none", "required", "clock"])
async def test_tools_and_the_choice_among_them_are_told_in_each_familys_words(
    streaming: Family, choice: str | None
) -> None:
    asked = await streaming.asked(tools=[WEATHER, CLOCK], tool_choice=choice)
    assert streaming.provider.tools(asked) == ["get_weather", "clock"]
    assert streaming.provider.choice(asked) == (choice and WORDS[streaming.provider.name]["choices"][choice])


async def test_without_tools_no_choice_is_sent(streaming: Family) -> None:
    asked = await streaming.asked(tool_choice="auto")
    assert (streaming.provider.tools(asked), streaming.provider.choice(asked)) == ([], None)


async def test_two_calls_with_one_id_get_two(family: Family) -> None:
    family.will(Script(calls=(OSLO, Call("call_1", "clock"))))
    response = await family.ask()
    assert calls_of(response) == [("get_weather", '{"city": "Oslo"}'), ("clock", "{}")]
    first, second = (block.id for block in response.content)
    assert first == "call_1" != second


@only("openai", "dashscope", "anthropic")
async def test_arguments_that_are_no_json_stay_as_they_are(streaming: Family) -> None:
    """Running the tool tells the model. Gemini's arguments are an object by themselves."""
    streaming.will(Script(calls=(Call("call_1", "get_weather", ('{"city": Os', "lo")),)))
    response = await streaming.ask()
    assert calls_of(response) == [("get_weather", '{"city": Oslo')]
    (call,) = response.content
    assert isinstance(call, ToolCallBlock)
    assert call.arguments is None


# -- structured output -------------------------------------------------------------------------------------------------


def person(provider: Provider, arguments: str) -> Script:
    """An answer with this object: as text where the family has a schema for answers, else as a tool's arguments."""
    if provider.name in ("openai", "gemini"):
        return Script(words=(arguments[:5], arguments[5:]))
    return Script(words=("Here it is.",), calls=(Call("call_1", "generate_structured_output", (arguments,)),))


async def test_structured_output_is_one_response_with_the_object(family: Family) -> None:
    """Tools are left out of the request."""
    family.will(person(family.provider, '{"name": "Ann", "age": 30}'))
    given = await family.model()(family.provider.payload("Who?"), structured_model=Person, tools=[CLOCK])
    assert isinstance(given, ChatResponse) is not family.stream
    (response,) = await responses_of(given)
    assert response.metadata == {"name": "Ann", "age": 30}
    assert response.usage is not None
    asked = await family.endpoint.request()
    assert "'age'" in str(asked.body), "the schema goes with the request"
    assert "clock" not in family.provider.tools(asked)


async def test_an_object_that_does_not_match_is_no_answer(family: Family) -> None:
    for _ in range(2):
        family.will(person(family.provider, '{"name": "Ann", "age": "secret"}'))
    error = await family.fails(family.model(), structured_model=Person)
    assert error.code == "invalid_structured_output"
    assert "secret" not in error.message
    times = 2 if family.provider.name == "openai" else 1
    assert len(family.endpoint.asked) == times, "OpenAI's servers are asked for a tool, too"


@pytest.mark.parametrize("thinks", [False, True])
@only("dashscope", "anthropic")
async def test_a_model_that_thinks_takes_no_tool_by_name(streaming: Family, thinks: bool) -> None:
    on: Json = {"type": "enabled", "budget_tokens": 1024} if thinks else {"type": "disabled"}
    thinking: Json = {"dashscope": {"enable_thinking": thinks}, "anthropic": {"thinking": on}}
    choices = WORDS[streaming.provider.name]["choices"]
    named = json.loads(json.dumps(choices["clock"]).replace("clock", "generate_structured_output"))
    streaming.will(PERSON)
    model = streaming.model(**thinking[streaming.provider.name])
    assert (await streaming.ask(model, structured_model=Person)).metadata == {"name": "Ann", "age": 30}
    chosen = streaming.provider.choice(await streaming.endpoint.request())
    assert chosen == (choices["auto"] if thinks else named)


# -- failures ----------------------------------------------------------------------------------------------------------

STATUSES = {
    400: "invalid_request",
    401: "invalid_api_key",
    403: "invalid_api_key",
    404: "model_not_found",
    422: "invalid_request",
    429: "rate_limit_exceeded",
    500: "provider_failed",
    503: "provider_failed",
    504: "provider_timeout",
}


async def test_a_refusal_says_what_to_do_and_whether_to_try_again(family: Family) -> None:
    model = family.model()
    for status, code in STATUSES.items():
        family.refuse(status, f"the server's words about {KEY}")
        error = await family.fails(model)
        assert (error.code, error.fault) == (code, "provider"), status
        assert f"(HTTP {status})" in error.message or "'model-x'" in error.message
        assert KEY not in error.message
        if code in ("invalid_request", "rate_limit_exceeded", "provider_failed"):
            assert "the server's words about [key]" in error.message
        if code == "invalid_api_key":
            assert "refused the key in `api_key`" in error.message
    assert len(family.endpoint.asked) == len(STATUSES), "nothing is sent twice"
    family.will(HI)
    assert words_of(await family.ask(model)) == "Hi.", "the next answer is as good as ever"


async def test_nobody_listening_names_the_address(family: Family) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        error = await family.fails(family.model(address))
    assert error.code == "provider_unavailable"
    assert address in error.message


async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(streaming: Family) -> None:
    for end in ([], [Break()]):
        streaming.endpoint.will(*streaming.provider.frames(BEGUN), *end)
        coming = await streaming.begin()
        assert words_of(await anext(coming)) == "It is"
        with pytest.raises(ProviderError) as caught:
            await anext(coming)
        assert (caught.value.code, caught.value.retryable) == ("link_lost", True)
    call = streaming.provider.frames(Script(calls=(OSLO,), is_cut=True))
    assert (await streaming.failure(*call, Break())).code == "link_lost"


async def test_an_error_in_the_middle_of_the_stream_is_told(streaming: Family) -> None:
    provider: Any = streaming.provider
    error = await streaming.failure(*provider.frames(BEGUN), provider.error_frame("the server's words"))
    assert error.code == "provider_failed"
    assert "the server's words" in error.message
    for kind, code in WORDS[provider.name].get("errors", {}).items():
        error = await streaming.failure(provider.error_frame("the server's words", kind, status=400))
        assert error.code == code, kind
        assert provider.name != "anthropic" or "HTTP" not in error.message


async def test_what_is_no_answer_at_all_is_said_to_be_none(family: Family) -> None:
    assert (await family.failure("{broken")).code == "malformed_answer"
    if family.stream:
        assert (await family.failure()).code == "malformed_answer"
        broken = ("" if family.provider.name != "anthropic" else "event: message_delta\n") + "data:{broken\n\n"
        error = await family.failure(*family.provider.frames(BEGUN), broken)
        assert error.code in ("malformed_answer", "provider_failed")


async def test_silence_is_not_waited_for_longer_than_said(family: Family) -> None:
    begun = family.provider.frames(BEGUN) if family.stream else []
    for frames in ([Hold()], [*begun, Hold()]):
        error = await family.failure(*frames, timeout_s=0.15)
        assert error.code == "provider_timeout"
        assert "0.15 s" in error.message


async def test_an_answer_without_end_is_cut(family: Family) -> None:
    for script in (
        Script(words=("on and on " * 20,) * 10),
        Script(thoughts=("on and on " * 20,) * 10),
        Script(calls=(Call("call_1", "write", ('{"text": "', *["on and on " * 20] * 10, '"}')),)),
    ):
        family.will(script)
        assert (await family.fails(family.model(max_answer_chars=1000))).code == "answer_too_long"


@only("openai", "gemini", "anthropic")
async def test_an_answer_that_a_filter_held_back_is_told(family: Family) -> None:
    """DashScope refuses the request instead."""
    family.will(Script(is_held_back=True))
    assert (await family.fails(family.model())).code == "content_refused"


# -- retries -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_model, "FIRST_WAIT_S", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_a_request_of_which_nothing_came_is_sent_again_so_often_only(family: Family) -> None:
    model = family.model(retries=2)
    family.refuse(503)
    family.endpoint.will(Break()) if family.stream else family.refuse(429)
    family.will(HI)
    assert words_of(await family.ask(model)) == "Hi."
    assert len(family.endpoint.asked) == 3
    for _ in range(3):
        family.refuse(503)
    assert (await family.fails(model)).code == "provider_failed"
    assert len(family.endpoint.asked) == 6


@pytest.mark.usefixtures("at_once")
async def test_after_the_first_words_nothing_is_sent_again(streaming: Family) -> None:
    assert (await streaming.failure(*streaming.provider.frames(BEGUN), Break(), retries=2)).code == "link_lost"
    assert len(streaming.endpoint.asked) == 1


# -- leaving -----------------------------------------------------------------------------------------------------------


async def left(family: Family) -> None:
    """Wait until the client has closed its request."""
    async with asyncio.timeout(HANG_S):
        await (await family.endpoint.request()).left.wait()


@pytest.mark.parametrize("taken", [0, 1])
async def test_closing_the_stream_closes_the_request(streaming: Family, taken: int) -> None:
    streaming.endpoint.will(*streaming.provider.frames(BEGUN), Hold())
    coming = await streaming.begin()
    for _ in range(taken):
        assert words_of(await anext(coming)) == "It is"
    await coming.aclose()
    await left(streaming)
    assert await responses_of(coming) == []


async def test_cancelling_closes_the_request(family: Family) -> None:
    family.endpoint.will(Hold())
    asking = asyncio.create_task(family.ask())
    await family.endpoint.request()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await left(family)


async def test_cancelling_in_the_middle_closes_the_request(streaming: Family) -> None:
    streaming.endpoint.will(*streaming.provider.frames(BEGUN), Hold())
    seen: asyncio.Queue[str] = asyncio.Queue()

    async def take() -> None:
        async for response in await streaming.begin():
            seen.put_nowait(words_of(response))

    taking = asyncio.create_task(take())
    assert await seen.get() == "It is"
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    assert seen.empty()
    await left(streaming)


# -- secrets -----------------------------------------------------------------------------------------------------------


async def test_neither_key_nor_words_are_in_reprs_or_logs(streaming: Family, caplog: pytest.LogCaptureFixture) -> None:
    """At the levels that a server writes; with DEBUG for everything, an SDK may write its requests."""
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, "realtime")
    model = streaming.model()
    streaming.will(Script(words=("Confidential words.",)))
    await streaming.ask(model, "Confidential question.")
    seen = [repr(model), repr(model.endpoint)]
    for status in (400, 401, 404, 429, 500):
        streaming.refuse(status, f"wrong key {KEY}, not sk-proj-abcdef")
        error = await streaming.fails(model, "Confidential question.")
        seen += [error.message, repr(error), repr(error.__cause__)]
    seen += [record.getMessage() + str(record.exc_info) for record in caplog.records]
    assert not [text for text in seen if KEY in text or "abcdef" in text or "Confidential" in text]


async def test_the_arguments_are_checked_before_anything_is_sent(streaming: Family) -> None:
    model, payload = streaming.model(), streaming.provider.payload("Hello.")
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
    assert streaming.endpoint.asked == []

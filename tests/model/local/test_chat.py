"""A chat endpoint as the language model: OpenAI's client against a real HTTP server with the frames of such servers."""

from __future__ import annotations

import builtins
import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from realtime.errors import ProviderError, UsageError
from realtime.event.base import ContentPart, Item
from realtime.event.config import ToolDeclaration
from realtime.model.local.chat import ChatLanguageModel, language_model_from_environment
from realtime.model.local.chat_messages import LISTENING, HistoryLimits
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyThought, ReplyToolCall, ReplyUsage
from tests.model.local.chat_endpoint import (
    DONE,
    KEY,
    USAGE,
    Break,
    ChatEndpoint,
    Frame,
    Hold,
    calls,
    chat_endpoint,
    chunk,
    piece,
    words,
)


@pytest.fixture
async def endpoint() -> AsyncIterator[ChatEndpoint]:
    async with chat_endpoint() as made:
        yield made


def prompt(text: str = "Hello.", **more: Any) -> Prompt:
    item = Item(id="i", role="user", content=(ContentPart(type="text", text=text),))
    return Prompt(history=[item], **more)


async def replies(language_model: ChatLanguageModel, asked: Prompt | None = None) -> list[Reply]:
    return [reply async for reply in language_model.respond(asked or prompt())]


async def answer(endpoint: ChatEndpoint, *frames: Frame, **options: Any) -> list[Reply]:
    """What the language_model makes of these frames."""
    endpoint.will(*frames)
    return await replies(ChatLanguageModel(endpoint.base_url, "qwen3", **options))


def text_of(given: list[Reply]) -> str:
    return "".join(reply.text for reply in given if isinstance(reply, ReplyText))


async def failure(endpoint: ChatEndpoint, *frames: Frame, status: int = 200, **options: Any) -> ProviderError:
    """What the language_model says of a failure."""
    headers = (("content-type", "application/json"),) if status != 200 else None
    endpoint.will(*frames, status=status, headers=headers)
    with pytest.raises(ProviderError) as caught:
        await replies(ChatLanguageModel(endpoint.base_url, "qwen3", **options))
    return caught.value


async def test_an_answer_comes_in_the_pieces_in_which_it_is_streamed(endpoint: ChatEndpoint) -> None:
    given = await answer(endpoint, *words("It is", " noon", "."), USAGE, DONE)
    assert given[:3] == [ReplyText("It is"), ReplyText(" noon"), ReplyText(".")]
    usage = given[3]
    assert isinstance(usage, ReplyUsage)
    assert (usage.input_tokens, usage.output_tokens) == (19, 10)
    assert (usage.detail.input_cached_tokens, usage.detail.output_reasoning_tokens) == (4, 3)
    assert len(given) == 4


async def test_the_request_says_what_the_client_set(endpoint: ChatEndpoint) -> None:
    """FMT-05: the system prompt first, and tools in their own field."""
    endpoint.will(*words("Hi."), DONE)
    clock = ToolDeclaration(
        name="clock", description="Tells the time.", parameters={"type": "object", "properties": {}}
    )
    asked = prompt(
        instructions="Be kind.", tools=[clock], tool_choice="required", temperature=0.3, max_output_tokens=99
    )
    language_model = ChatLanguageModel(endpoint.base_url, "qwen3", KEY, extra_body={"reasoning_effort": "none"})
    await replies(language_model, asked)
    sent = await endpoint.request()
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "qwen3",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello."}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "clock",
                    "description": "Tells the time.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "tool_choice": "required",
        "temperature": 0.3,
        "max_tokens": 99,
        "reasoning_effort": "none",
    }


async def test_what_nobody_set_is_not_sent(endpoint: ChatEndpoint) -> None:
    endpoint.will(*words("Hi."), DONE)
    await replies(ChatLanguageModel(endpoint.base_url + "/", "qwen3"), Prompt(tool_choice="required"))
    sent = await endpoint.request()
    assert set(sent.body) == {"model", "messages", "stream", "stream_options"}
    assert sent.said == [("user", LISTENING)]


async def test_what_is_meant_for_openai_alone_goes_to_no_other_endpoint(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "only-for-openai")
    await answer(endpoint, *words("Hi."), DONE)
    sent = await endpoint.request()
    assert "only-for-openai" not in json.dumps([sent.headers, sent.body])


async def test_openai_is_told_the_length_of_an_answer_by_its_new_name() -> None:
    language_model = ChatLanguageModel("https://api.openai.com/v1", "gpt-5-mini", KEY)
    assert language_model._options(prompt(max_output_tokens=5)) == {"max_completion_tokens": 5}


async def test_the_first_words_are_there_while_the_rest_is_still_to_come(endpoint: ChatEndpoint) -> None:
    hold = Hold()
    first, second, *rest = words("It is noon.", " Go and eat.")[1:]
    endpoint.will(first, hold, second, *rest, DONE)
    async with aclosing(ChatLanguageModel(endpoint.base_url, "qwen3").respond(prompt())) as coming:
        assert await anext(coming) == ReplyText("It is noon.")
        assert not hold.go_on.is_set()
        hold.go_on.set()
        assert [reply async for reply in coming] == [ReplyText(" Go and eat.")]


async def test_closing_an_answer_closes_the_request(endpoint: ChatEndpoint) -> None:
    hold = Hold()
    endpoint.will(*words("One.", " Two.")[:2], hold, *words(" Never.")[1:], DONE)
    async with aclosing(ChatLanguageModel(endpoint.base_url, "qwen3").respond(prompt())) as coming:
        assert await anext(coming) == ReplyText("One.")
    await (await endpoint.request()).left.wait()


# -- thoughts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thoughts_in_a_field_of_their_own_are_thoughts_and_no_words(endpoint: ChatEndpoint, field: str) -> None:
    """vLLM, llama.cpp and DeepSeek send `reasoning_content`, Ollama and OpenRouter `reasoning`."""
    thoughts = [chunk({"role": "assistant", "content": None, field: text}) for text in ("The user", " greets.")]
    given = await answer(endpoint, *thoughts, *words("Hi."), DONE)
    assert given == [ReplyThought("The user"), ReplyThought(" greets."), ReplyText("Hi.")]


@pytest.mark.parametrize(
    ("pieces", "said", "thought"),
    [
        (["<th", "ink>The user greets", ".</thi", "nk>\n\n", "Hi", "."], "Hi.", "The user greets."),
        (["\n<think>\nOne.\n</think>\n<think>Two.</think> Hello."], "Hello.", "\nOne.\nTwo."),
        (["<think></think>Hello."], "Hello.", ""),
        (["<think>I never stop thin"], "", "I never stop thin"),
        (["<think>a<think>b</think>c</think>d"], "d", "a<think>b</think>c"),
        (["Hm. <think>Or ", "not?</think>Yes."], "Hm. Yes.", "Or not?"),
        (["<thi"], "<thi", ""),
        (["<thinking> is what I do."], "<thinking> is what I do.", ""),
        ([" \n5 < 6"], "5 < 6", ""),
    ],
)
async def test_thoughts_among_the_words_are_told_apart_from_them(
    endpoint: ChatEndpoint, pieces: list[str], said: str, thought: str
) -> None:
    """FMT-10: a tag split across chunks, an unclosed tag, nested tags, thoughts in the middle."""
    given = await answer(endpoint, *words(*pieces), DONE)
    assert text_of(given) == said
    assert "".join(reply.text for reply in given if isinstance(reply, ReplyThought)) == thought


# -- tool calls --------------------------------------------------------------------------------------------------------


async def test_arguments_streamed_by_openai_are_put_together(endpoint: ChatEndpoint) -> None:
    given = await answer(
        endpoint,
        chunk({"role": "assistant", "content": None}),
        *calls(
            piece(0, "call_DdmO9pD3xa9XTPNJ32zg2hcA", "get_weather", ""),
            piece(0, None, None, '{"'),
            piece(0, None, None, "city"),
            piece(0, None, None, '":"Paris"}'),
            piece(1, "call_P9PXNOQPXTUYQ3QBkFVZx2oP", "get_time", ""),
            piece(1, None, None, "{}"),
        ),
        USAGE,
        DONE,
    )
    assert given[:2] == [ReplyToolCall("get_weather", '{"city":"Paris"}'), ReplyToolCall("get_time", "{}")]
    assert isinstance(given[2], ReplyUsage)


async def test_whole_calls_of_ollama_are_told_apart(endpoint: ChatEndpoint) -> None:
    """ollama/ollama#15457: every call is numbered 0; the reason comes as `tool_calls` in a chunk of its own."""
    given = await answer(
        endpoint,
        chunk(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [piece(0, "call_nkuwzrpg", "get_weather", '{"city":"Paris"}')],
            },
            id="chatcmpl-842",
            system_fingerprint="fp_ollama",
        ),
        chunk({"role": "assistant", "content": "", "tool_calls": [piece(0, "call_b7x1m2qa", "get_time", "{}")]}),
        chunk({"role": "assistant", "content": ""}, "tool_calls"),
        USAGE,
        DONE,
    )
    assert given[:2] == [ReplyToolCall("get_weather", '{"city":"Paris"}'), ReplyToolCall("get_time", "{}")]


async def test_calls_without_ids_and_numbers_are_understood(endpoint: ChatEndpoint) -> None:
    """ollama/ollama#7881: `index` was missing altogether."""
    given = await answer(
        endpoint,
        chunk({"tool_calls": [piece(None, None, "get_weather", '{"city":"Paris"}')]}),
        chunk({"tool_calls": [piece(None, None, "get_time", None)]}),
        chunk({}, "stop"),
        DONE,
    )
    assert given == [ReplyToolCall("get_weather", '{"city":"Paris"}'), ReplyToolCall("get_time", "{}")]


async def test_words_come_before_calls(endpoint: ChatEndpoint) -> None:
    frames = words("Let me see.")[:-1]
    given = await answer(endpoint, *frames, *calls(piece(0, "call_a", "get_time", "")), DONE)
    assert given == [ReplyText("Let me see."), ReplyToolCall("get_time", "{}")]


async def test_arguments_that_are_no_json_are_left_to_the_tool(endpoint: ChatEndpoint) -> None:
    given = await answer(endpoint, *calls(piece(0, "call_a", "get_weather", '{"city": Paris')), DONE)
    assert given == [ReplyToolCall("get_weather", '{"city": Paris')]


# -- odd but harmless --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frames",
    [
        pytest.param([*words("Hi."), USAGE, DONE], id="usage last, without choices"),
        pytest.param([*words("Hi.")], id="no [DONE]"),
        pytest.param([": OPENROUTER PROCESSING\n\n", *words("Hi."), DONE], id="comments"),
        pytest.param(["data: {}\n\n", 'data: {"choices": null}\n\n', *words("Hi."), DONE], id="no choices"),
        pytest.param([chunk() | {"choices": [{"index": 0}]}, *words("Hi."), DONE], id="no delta"),
        pytest.param(["data: 7\n\n", 'data: "x"\n\n', "data: [1]\n\n", *words("Hi."), DONE], id="no object"),
        pytest.param([chunk({"content": 7, "tool_calls": 7}), *words("Hi."), DONE], id="fields of other types"),
        pytest.param([chunk({"refusal": "Hi."}), chunk({}, "stop"), DONE], id="a refusal"),
        pytest.param([*words("Hi."), Break()], id="cut behind the end"),
        pytest.param([*words("Hi."), "data: {broken\n\n"], id="broken behind the end"),
        pytest.param([chunk({"content": "Hi."}, "length"), DONE], id="cut by its length"),
        pytest.param(["\r\n".join(["data: " + json.dumps(frame), "", ""]) for frame in words("Hi.")], id="crlf"),
    ],
)
async def test_what_other_servers_do_differently_is_taken(endpoint: ChatEndpoint, frames: list[Frame]) -> None:
    assert text_of(await answer(endpoint, *frames)) == "Hi."


async def test_an_empty_answer_is_silence(endpoint: ChatEndpoint) -> None:
    assert await answer(endpoint, *words(), DONE) == []


async def test_a_server_that_does_not_hang_up_takes_nothing_from_the_answer(endpoint: ChatEndpoint) -> None:
    assert text_of(await answer(endpoint, *words("Hi."), Hold(), timeout_s=0.5)) == "Hi."


# -- failures ----------------------------------------------------------------------------------------------------------


async def test_nobody_listening_names_the_address_and_the_variable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ProviderError) as caught:
            await replies(ChatLanguageModel(address, "qwen3"))
    assert (caught.value.code, caught.value.retryable) == ("provider_unavailable", True)
    assert address in caught.value.message
    assert "REALTIME_LLM_BASE_URL" in caught.value.message


def error_body(message: str) -> str:
    return json.dumps({"error": {"message": message, "type": "some_error", "param": None, "code": None}})


@pytest.mark.parametrize(
    ("status", "code", "retryable", "named"),
    [
        (401, "invalid_api_key", False, "REALTIME_LLM_API_KEY"),
        (403, "invalid_api_key", False, "REALTIME_LLM_API_KEY"),
        (404, "model_not_found", False, "'qwen3' (REALTIME_LLM_MODEL)"),
        (400, "invalid_request", False, "the server's words"),
        (422, "invalid_request", False, "the server's words"),
        (429, "rate_limit_exceeded", True, "the server's words"),
        (500, "provider_failed", True, "the server's words"),
        (503, "provider_failed", True, "HTTP 503"),
        (504, "provider_timeout", True, "HTTP 504"),
    ],
)
async def test_a_refusal_says_what_to_do_and_whether_to_try_again(
    endpoint: ChatEndpoint, status: int, code: str, retryable: bool, named: str
) -> None:
    error = await failure(endpoint, error_body("the server's words"), status=status, api_key=KEY)
    assert (error.code, error.retryable, error.fault) == (code, retryable, "provider")
    assert named in error.message
    assert len(endpoint.asked) == 1


async def test_a_missing_key_is_told_from_a_wrong_one(endpoint: ChatEndpoint) -> None:
    assert "wants a key: set" in (await failure(endpoint, "{}", status=401)).message
    assert "refused the key in" in (await failure(endpoint, "{}", status=401, api_key=KEY)).message


async def test_a_page_instead_of_an_answer_is_no_answer(endpoint: ChatEndpoint) -> None:
    assert (await failure(endpoint, "<html><body>Welcome</body></html>")).code == "malformed_answer"
    assert (await failure(endpoint)).code == "malformed_answer"
    assert (await failure(endpoint, DONE)).code == "malformed_answer"
    whole = chunk() | {"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi."}}]}
    assert (await failure(endpoint, json.dumps(whole))).code == "malformed_answer"


@pytest.mark.parametrize("broken", ['data: {"id": "chat\n\n', "data: {]}\n\n", "data: " + "[" * 100_000 + "\n\n"])
async def test_a_broken_frame_fails_the_answer(endpoint: ChatEndpoint, broken: str) -> None:
    error = await failure(endpoint, *words("It is")[:2], broken, DONE)
    assert (error.code, error.retryable) == ("malformed_answer", False)


@pytest.mark.parametrize("end", [[Break()], [], [DONE]])
async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(endpoint: ChatEndpoint, end: list[Frame]) -> None:
    endpoint.will(*words("It is")[:2], *end)
    coming = ChatLanguageModel(endpoint.base_url, "qwen3").respond(prompt())
    assert await anext(coming) == ReplyText("It is")
    with pytest.raises(ProviderError) as caught:
        await anext(coming)
    assert (caught.value.code, caught.value.retryable) == ("link_lost", True)


async def test_half_a_tool_call_is_never_made(endpoint: ChatEndpoint) -> None:
    frames = calls(piece(0, "call_a", "transfer", '{"amount": 10'))[:-1]
    assert (await failure(endpoint, *frames, Break())).code == "link_lost"


@pytest.mark.parametrize("error", [{"message": "the server's words", "type": "server_error"}, "the server's words"])
async def test_an_error_in_the_middle_of_the_stream_is_told(endpoint: ChatEndpoint, error: Any) -> None:
    failed = await failure(endpoint, *words("It is")[:2], {"error": error})
    assert (failed.code, failed.retryable) == ("provider_failed", True)


async def test_silence_is_not_waited_for_longer_than_said(endpoint: ChatEndpoint) -> None:
    for frames in ([Hold()], [*words("It is")[:2], Hold()]):
        error = await failure(endpoint, *frames, timeout_s=0.05)
        assert (error.code, error.retryable) == ("provider_timeout", True)
        assert "0.05 s" in error.message


async def test_an_answer_without_end_is_cut(endpoint: ChatEndpoint) -> None:
    error = await failure(endpoint, *words(*["on and on " * 1000] * 25), DONE)
    assert error.code == "answer_too_long"


async def test_endless_arguments_are_cut(endpoint: ChatEndpoint) -> None:
    error = await failure(endpoint, *calls(*[piece(0, "call_a", "write", "on and on " * 1000)] * 25), DONE)
    assert error.code == "answer_too_long"


async def test_an_answer_that_a_filter_held_back_is_told(endpoint: ChatEndpoint) -> None:
    assert (await failure(endpoint, chunk({}, "content_filter"), DONE)).code == "content_refused"


async def test_after_a_failure_the_next_answer_is_as_good_as_ever(endpoint: ChatEndpoint) -> None:
    language_model = ChatLanguageModel(endpoint.base_url, "qwen3")
    endpoint.will(*words("It is")[:2], Break())
    with pytest.raises(ProviderError):
        await replies(language_model)
    endpoint.will(*words("Hi."), DONE)
    assert await replies(language_model) == [ReplyText("Hi.")]


# -- secrets, settings -------------------------------------------------------------------------------------------------


async def test_neither_key_nor_words_are_in_errors_reprs_or_logs(
    endpoint: ChatEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    """At the levels that a server writes; with DEBUG for everything, the SDK's second edition writes its requests."""
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.DEBUG, "realtime")
    language_model = ChatLanguageModel(endpoint.base_url, "qwen3", KEY)
    seen = [repr(language_model), language_model.name]
    endpoint.will(*words("Confidential words."), DONE)
    await replies(language_model, prompt("Confidential question."))
    for status in (400, 401, 404, 429, 500):
        endpoint.will(error_body(f"Incorrect key {KEY}, sk-proj-abcdef"), status=status)
        with pytest.raises(ProviderError) as caught:
            await replies(language_model, prompt("Confidential question."))
        seen += [caught.value.message, repr(caught.value), repr(caught.value.__cause__)]
    seen += [record.getMessage() + str(record.exc_info) for record in caplog.records]
    for secret in (KEY, "abcdef", "Confidential"):
        assert not [text for text in seen if secret in text]


@pytest.mark.parametrize("address", ["http://ann:pass-9f2@localhost/v1", "http://localhost/v1?key=pass-9f2"])
def test_an_address_with_a_secret_in_it_is_refused_without_repeating_it(address: str) -> None:
    """The HTTP client writes each address that it asks into its log."""
    with pytest.raises(UsageError, match="a key goes into REALTIME_LLM_API_KEY") as caught:
        ChatLanguageModel(address, "qwen3")
    assert "pass-9f2" not in str(caught.value)


def environment(**more: str) -> dict[str, str]:
    return {f"REALTIME_LLM_{name}": value for name, value in more.items()}


def test_the_environment_names_the_endpoint() -> None:
    assert language_model_from_environment({}) is None
    assert language_model_from_environment(environment(BASE_URL="", MODEL="", API_KEY=KEY)) is None
    language_model = language_model_from_environment(
        environment(BASE_URL=" http://localhost:11434/v1/ ", MODEL="qwen3:8b")
    )
    assert language_model is not None
    assert language_model.name == "qwen3:8b at localhost:11434"
    assert repr(language_model) == "ChatLanguageModel('http://localhost:11434/v1', 'qwen3:8b')"
    assert not language_model.takes_images
    seeing = language_model_from_environment(environment(BASE_URL="https://[::1]:8000/v1", MODEL="llava", IMAGES="1"))
    assert seeing is not None
    assert seeing.takes_images
    assert seeing.name == "llava at [::1]:8000"


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"MODEL": "qwen3"}, "REALTIME_LLM_BASE_URL is not"),
        ({"BASE_URL": "http://localhost:11434/v1"}, "REALTIME_LLM_MODEL"),
        ({"BASE_URL": "localhost:11434", "MODEL": "qwen3"}, "such as http://localhost:11434/v1"),
        ({"BASE_URL": "http://", "MODEL": "qwen3"}, "such as http"),
        ({"BASE_URL": "http://[bad/v1", "MODEL": "qwen3"}, "such as http"),
        ({"BASE_URL": "http://host:99999/v1", "MODEL": "qwen3"}, "such as http"),
    ],
)
def test_half_an_environment_or_a_wrong_one_names_the_variable(variables: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError) as caught:
        language_model_from_environment(environment(**variables))
    assert named in caught.value.message


async def test_the_whole_address_of_the_documentation_does_as_well(endpoint: ChatEndpoint) -> None:
    endpoint.will(*words("Hi."), DONE)
    assert await replies(ChatLanguageModel(endpoint.base_url + "/chat/completions", "qwen3")) == [ReplyText("Hi.")]


def test_without_the_package_the_line_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_openai(name: str, *args: Any, **more: Any) -> Any:
        if name == "openai":
            raise ImportError("cannot import name 'x' from 'openai' (/opt/openai/__init__.py)")
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without_openai)
    with pytest.raises(UsageError) as caught:
        ChatLanguageModel("http://localhost:11434/v1", "qwen3")
    assert caught.value.code == "missing_package"
    assert "pip install '.[local]'" in caught.value.message
    assert "/opt" not in caught.value.message, "a client that asks for this model is told"


async def test_the_history_is_bounded(endpoint: ChatEndpoint) -> None:
    endpoint.will(*words("Hi."), DONE)
    history = [
        Item(id=f"{role}{number}", role=role, content=(ContentPart(type="text", text=f"{role} {number}"),))
        for number in range(50)
        for role in ("user", "assistant")
    ]
    language_model = ChatLanguageModel(endpoint.base_url, "qwen3", limits=HistoryLimits(messages=8))
    await replies(language_model, Prompt(history=[*history, history[0]]))
    said = (await endpoint.request()).said
    assert 6 <= len(said) <= 9
    assert said[-2:] == [("assistant", "assistant 49"), ("user", "user 0")]

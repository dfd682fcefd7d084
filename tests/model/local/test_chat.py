"""A chat endpoint as the language model: OpenAI's client against a real HTTP server with the frames of such servers."""

from __future__ import annotations

import builtins
import json
import socket
from typing import Any

import pytest

from realtime.errors import ProviderError, UsageError
from realtime.event.config import ToolDeclaration
from realtime.model.chat import sdk_model
from realtime.model.local.chat import ChatLanguageModel, language_model_from_environment
from realtime.model.local.chat_messages import LISTENING, HistoryLimits
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from tests.model.local.chat_endpoint import (
    DONE,
    KEY,
    USAGE,
    Break,
    ChatEndpoint,
    Frame,
    Hold,
    calls,
    chunk,
    piece,
    words,
)
from tests.model.local.keyless_chat import message


def prompt(text: str = "Hello.", **more: Any) -> Prompt:
    return Prompt(history=[message("user", text)], **more)


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


async def test_the_request_says_what_the_client_set(endpoint: ChatEndpoint) -> None:
    """FMT-05: the system prompt first, and tools in their own field."""
    endpoint.will(*words("Hi."), DONE)
    told = {"name": "clock", "description": "Tells the time.", "parameters": {"type": "object", "properties": {}}}
    clock = ToolDeclaration(**told)
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
        "tools": [{"type": "function", "function": told}],
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
    endpoint.will(*words("Hi."), DONE)
    whole_address = endpoint.base_url + "/chat/completions"
    assert await replies(ChatLanguageModel(whole_address, "qwen3")) == [ReplyText("Hi.")], "it does as well"


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


async def test_calls_of_ollama_are_told_apart_behind_its_words(endpoint: ChatEndpoint) -> None:
    """ollama/ollama#15457: every call is numbered 0, and the reason comes in a chunk of its own. ollama/ollama#7881:
    neither numbers nor ids. Arguments that are no JSON are left to the tool."""
    numbered = [piece(0, "call_a", "get_weather", '{"city":"Paris"}'), piece(0, "call_b", "get_time", "{}")]
    bare = [piece(None, None, "get_weather", '{"city": Paris'), piece(None, None, "get_time", None)]
    said, clock = ReplyText("Let me see."), ReplyToolCall("get_time", "{}")
    for made, weather in ((numbered, '{"city":"Paris"}'), (bare, '{"city": Paris')):
        given = await answer(endpoint, *words("Let me see.")[:-1], *calls(*made), DONE)
        assert given == [said, ReplyToolCall("get_weather", weather), clock]


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


async def test_a_server_that_does_not_hang_up_takes_nothing_from_the_answer(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk_model, "AFTER_END_S", 0.0)
    assert text_of(await answer(endpoint, *words("Hi."), Hold())) == "Hi."


@pytest.mark.parametrize(
    "nothing", [(), (" ", "\n"), ("\u200b", "\ufeff"), ("\xad\n",), ("\u200e", " "), ("...",), ("…", " ")]
)
async def test_an_answer_without_words_is_asked_for_again_and_then_fails(
    endpoint: ChatEndpoint, nothing: tuple[str, ...]
) -> None:
    endpoint.will(*words(*nothing), DONE)
    assert text_of(await answer(endpoint, *words("Hi."), DONE)) == "Hi."
    assert "Answer now, in words." in endpoint.asked[-1].body["messages"][-1]["content"]
    for _ in range(2):
        endpoint.will(*words(*nothing), DONE)
    error = await failure(endpoint, *words(*nothing), DONE)
    assert (error.code, error.message) == (
        "empty_answer",
        "the language model qwen3 gave no answer, only thoughts or nothing: ask again",
    )


# -- failures ----------------------------------------------------------------------------------------------------------


async def test_nobody_listening_and_a_wrong_key_name_the_variable(endpoint: ChatEndpoint) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ProviderError) as caught:
            await replies(ChatLanguageModel(address, "qwen3"))
    assert (caught.value.code, caught.value.retryable) == ("provider_unavailable", True)
    assert address in caught.value.message
    assert "REALTIME_LLM_BASE_URL" in caught.value.message
    assert "wants a key: set" in (await failure(endpoint, "{}", status=401)).message
    assert "refused the key in" in (await failure(endpoint, "{}", status=401, api_key=KEY)).message


BEGUN = words("It is")[:2]
WHOLE = chunk() | {"object": "chat.completion", "choices": [{"index": 0, "message": {"content": "Hi."}}]}
FAILURES: dict[str, tuple[list[Frame], str]] = {
    "a page": (["<html><body>Welcome</body></html>"], "malformed_answer"),
    "only the end": ([DONE], "malformed_answer"),
    "a whole answer": ([json.dumps(WHOLE)], "malformed_answer"),
    "half a frame": ([*BEGUN, 'data: {"id": "chat\n\n', DONE], "malformed_answer"),
    "no JSON": ([*BEGUN, "data: {]}\n\n", DONE], "malformed_answer"),
    "deep JSON": ([*BEGUN, "data: " + "[" * 100_000 + "\n\n", DONE], "malformed_answer"),
    "no finish reason": ([*BEGUN, DONE], "link_lost"),
    "half a call, which is never made": ([*calls(piece(0, "call_a", "pay", '{"sum": 1'))[:-1], Break()], "link_lost"),
    "an error in the middle": ([*BEGUN, {"error": {"message": "no", "type": "server_error"}}], "provider_failed"),
    "an error of a word": ([*BEGUN, {"error": "the server's words"}], "provider_failed"),
    "words without end": ([*words(*["on and on " * 1000] * 25), DONE], "answer_too_long"),
}


@pytest.mark.parametrize(("frames", "code"), FAILURES.values(), ids=FAILURES)
async def test_what_is_no_answer_is_a_failure(endpoint: ChatEndpoint, frames: list[Frame], code: str) -> None:
    error = await failure(endpoint, *frames)
    assert (error.code, error.retryable) == (code, code in ("link_lost", "provider_failed"))


# -- secrets, settings -------------------------------------------------------------------------------------------------


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


def test_half_an_environment_or_a_wrong_one_names_the_variable() -> None:
    # The HTTP client writes each address that it asks into its log.
    for address in ("http://ann:pass-9f2@localhost/v1", "http://localhost/v1?key=pass-9f2"):
        with pytest.raises(UsageError, match="a key goes into REALTIME_LLM_API_KEY") as caught:
            ChatLanguageModel(address, "qwen3")
        assert "pass-9f2" not in str(caught.value)
    for named, variables in (
        ("REALTIME_LLM_BASE_URL is not", {"MODEL": "qwen3"}),
        ("REALTIME_LLM_MODEL", {"BASE_URL": "http://localhost:11434/v1"}),
        ("such as http://localhost:11434/v1", {"BASE_URL": "ftp://localhost:11434", "MODEL": "qwen3"}),
        ("such as http", {"BASE_URL": "http://", "MODEL": "qwen3"}),
        ("such as http", {"BASE_URL": "http://[bad/v1", "MODEL": "qwen3"}),
        ("such as http", {"BASE_URL": "http://host:99999/v1", "MODEL": "qwen3"}),
    ):
        with pytest.raises(UsageError, match=named):
            language_model_from_environment(environment(**variables))


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
    assert "pip install -e '.[local]'" in caught.value.message
    assert "/opt" not in caught.value.message, "a client that asks for this model is told"


async def test_the_history_is_bounded(endpoint: ChatEndpoint) -> None:
    endpoint.will(*words("Hi."), DONE)
    history = [message(role, f"{role} {number}") for number in range(50) for role in ("user", "assistant")]
    language_model = ChatLanguageModel(endpoint.base_url, "qwen3", limits=HistoryLimits(messages=8))
    await replies(language_model, Prompt(history=[*history, history[0]]))
    said = (await endpoint.request()).said
    assert 6 <= len(said) <= 9
    assert said[-2:] == [("assistant", "assistant 49"), ("user", "user 0")]

"""Keys, addresses and proxies as people paste them: understood, or one sentence that names the variable."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import InvalidProxyMessage, ProxyError

from realtime import (
    AnthropicChatFormatter,
    AnthropicChatModel,
    GeminiChatFormatter,
    GeminiChatModel,
    Msg,
    OpenAIChatFormatter,
    OpenAIChatModel,
)
from realtime.errors import ProviderError, UsageError
from realtime.formatter.base import FormatterBase
from realtime.model import chat
from realtime.model.base import Settings
from realtime.model.chat.base import ChatModelBase
from realtime.model.chat.failures import ChatFailure
from realtime.model.chat.responses import responses_of
from realtime.model.credentials import parts_of_address, pasted, usable_key
from realtime.model.gemini.model import GeminiRealtimeModel
from realtime.model.local.chat import ChatLanguageModel, choice_in, language_model_from_environment
from realtime.model.openai_family.dashscope import DashScopeRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.proxies import Proxy
from realtime.model.services import SERVICES
from realtime.model.socket_model import SocketModel
from realtime.runtime import Runtime
from realtime.server import doctor

NOBODY = "http://127.0.0.1:1"
"""Where nobody listens."""
KEY = "planted-4711-0815"
MODELS: list[type[SocketModel]] = [OpenAIRealtimeModel, GeminiRealtimeModel, DashScopeRealtimeModel]
QWEN = "/api-ws/v1/realtime?model=q"
LIVE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


@pytest.mark.parametrize(
    "given",
    [
        f"{KEY}\n",
        f" {KEY}\r\n",
        f"{KEY}\u200b",
        f"\ufeff{KEY}",
        f'"{KEY}"',
        f"'{KEY}'\n",
        f"\u201c{KEY}\u201d",
        f"\xa0{KEY}\u2060 ",
    ],
)
def test_what_copying_puts_around_a_key_is_taken_off(given: str) -> None:
    assert usable_key(given, "X_API_KEY") == KEY
    for service in SERVICES.values():
        for variable in service.key_variables:
            assert service.key({variable: given}) == KEY


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("planted\n4711", "a line end at place 8 of 12"),
        ("planted 4711", "a blank at place 8"),
        ("planted\u200b4711", "a character other than ASCII at place 8"),
        ("plänted4711", "a character other than ASCII at place 3"),
        ("planted\x004711", "a character other than ASCII at place 8"),
    ],
)
def test_a_key_that_no_header_can_hold_is_one_sentence_without_the_key(key: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        usable_key(key, "X_API_KEY")
    assert f"the key in X_API_KEY has {what}" in caught.value.message
    assert "4711" not in caught.value.message


@given(st.text())
def test_no_text_makes_a_key_with_a_character_that_a_header_refuses(text: str) -> None:
    assert pasted(pasted(text)) == pasted(text)
    with suppress(UsageError):
        key = usable_key(text, "X")
        assert key.isascii()
        assert key.isprintable()
        assert " " not in key


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tail", ["\n", "\u200b", "\n4711", " x"])
async def test_a_key_never_reaches_a_log_or_an_error(
    model: type[SocketModel], tail: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither of a call nor of `doctor --online`, at any level: where the key is bad, nothing is dialled with it."""
    caplog.set_level(logging.DEBUG)
    service = model.service
    monkeypatch.setenv(service.key_variables[0], KEY + tail)
    monkeypatch.setenv(service.base_url_variable, NOBODY)
    with pytest.raises(ProviderError) as caught:
        await model(api_key=KEY + tail).connect(
            settings=Settings(),
            on_event=lambda _: None,
            history=lambda: (),
            runtime=Runtime.of_loop(asyncio.get_running_loop()),
        )
    environment = {service.key_variables[0]: KEY + tail}
    is_bad = bool(tail.strip("\n\u200b"))
    tried = await doctor.try_keys(environment)
    assert (tried == []) is is_bad
    found = tried[0].detail if tried else service.problem(environment)
    assert caught.value.code == ("invalid_api_key" if is_bad else "provider_refused")
    assert (service.key_variables[0] in found) is is_bad
    for told in (caplog.text, repr(caught.value), str(caught.value.__cause__), found, repr(tried)):
        assert KEY not in told


@pytest.mark.parametrize(
    ("open_model", "base_url", "address"),
    [
        (OpenAIRealtimeModel, "HTTPS://proxy.example/v1", "wss://proxy.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "https:/proxy.example/v1", "wss://proxy.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "WSS:proxy.example/v1", "wss://proxy.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "https://x.example/v1/chat/completions", "wss://x.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "https://x.example/v1/responses/", "wss://x.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "https://x.example/v1beta", "wss://x.example/v1beta/realtime?model=q"),
        (GeminiRealtimeModel, "https://x.example/v1beta", f"wss://x.example{LIVE}"),
        (GeminiRealtimeModel, "https://x.example/g/v1beta/models", f"wss://x.example/g{LIVE}"),
        (OpenAIRealtimeModel, "proxy.example/v1/", "wss://proxy.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "localhost:8000/v1", "ws://localhost:8000/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "[::1]:8000/v1", "ws://[::1]:8000/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "wss://x.example/v1/realtime", "wss://x.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "wss://x.example/v1/realtime?model=old", "wss://x.example/v1/realtime?model=q"),
        (
            OpenAIRealtimeModel,
            "https://x.example/v1?api-version=7",
            "wss://x.example/v1/realtime?api-version=7&model=q",
        ),
        (OpenAIRealtimeModel, ' "https://x.example/v1"\n', "wss://x.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "https://x.example/v1#top", "wss://x.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "<https://x.example/v1>", "wss://x.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "export OPENAI_BASE_URL='https://x.example/v1'", "wss://x.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "https://x.example/v1/realtime/calls", "wss://x.example/v1/realtime?model=q"),
        (OpenAIRealtimeModel, "https://x.example/openai", "wss://x.example/openai/realtime?model=q"),
        (GeminiRealtimeModel, "https://x.example/v1beta/openai/", f"wss://x.example{LIVE}"),
        (GeminiRealtimeModel, "https://x.example/v1alpha", f"wss://x.example{LIVE.replace('beta', 'alpha')}"),
        (
            GeminiRealtimeModel,
            f"wss://x.example{LIVE.replace('beta', 'alpha')}",
            f"wss://x.example{LIVE.replace('beta', 'alpha')}",
        ),
        (DashScopeRealtimeModel, "wss://x.example/api-ws", f"wss://x.example{QWEN}"),
        (GeminiRealtimeModel, "https://x.example?via=7", f"wss://x.example{LIVE}?via=7"),
        (GeminiRealtimeModel, f"wss://x.example{LIVE}", f"wss://x.example{LIVE}"),
        (DashScopeRealtimeModel, "Wss://x.example/api-ws/v1/realtime?model=old", f"wss://x.example{QWEN}"),
        (DashScopeRealtimeModel, "x.example", f"wss://x.example{QWEN}"),
    ],
)
def test_an_address_is_joined_by_its_parts(
    open_model: Callable[..., SocketModel], base_url: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_model("q", base_url=base_url).websocket_url == address
    monkeypatch.setenv(open_model("q").service.base_url_variable, base_url)
    assert open_model("q").websocket_url == address


def test_what_surrounds_a_header_is_taken_off_and_what_none_can_hold_names_it_and_not_its_value() -> None:
    given = {"Authorization": f" Bearer {KEY}\r\n", "X-Shop": "\ufeff7"}
    model = OpenAIChatModel("m", KEY, client_kwargs={"default_headers": given})
    assert {name: model.client.default_headers[name] for name in given} == {
        "Authorization": f"Bearer {KEY}",
        "X-Shop": "7",
    }
    with pytest.raises(UsageError, match="the header 'X-Shop' in client_kwargs") as caught:
        OpenAIChatModel("m", KEY, client_kwargs={"default_headers": {"X-Shop": f"{KEY}\n7"}})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "address", ["ftp://x.example", "http://", "https://[broken", "http://x:port", "a b.example", "<x"]
)
def test_what_is_no_address_names_its_variable_and_not_itself(
    model: type[SocketModel], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = model.service.base_url_variable
    monkeypatch.setenv(variable, f"{address}/4711")
    with pytest.raises(
        UsageError, match=rf"^{variable} is to be an address that begins with https://( and holds no blank)?$"
    ):
        model()
    with pytest.raises(UsageError, match=r"^`base_url` is to be an address"):
        model(base_url=f"{address}/4711")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("address", ["http://x:95010", "wss://[::1]:70000/v1", "x.example:99999?a=b"])
def test_a_port_that_does_not_exist_is_told_with_its_variable(
    model: type[SocketModel], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(model.service.base_url_variable, address)
    with pytest.raises(UsageError, match=f"^{model.service.base_url_variable} has a port above 65535: correct it$"):
        model()


@pytest.mark.parametrize("address", ["https//x.example/v1", "HTTPS//x.example/v1", "wss//x.example/v1"])
def test_a_colon_that_is_missing_behind_the_scheme_is_added(address: str) -> None:
    assert OpenAIRealtimeModel("q", base_url=address).websocket_url == "wss://x.example/v1/realtime?model=q"


@pytest.mark.parametrize("model", MODELS)
async def test_a_name_that_cannot_be_resolved_is_told_with_its_variable(
    model: type[SocketModel], no_proxies: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> Any:
        raise ProviderError("the name nowhere.invalid cannot be resolved", code="provider_dns", retryable=True)

    variable = model.service.base_url_variable
    monkeypatch.setenv(variable, "https://nowhere.invalid")
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    with pytest.raises(ProviderError, match=f"cannot be resolved: correct {variable}"):
        await model(api_key="4711", dial=fails).connect(
            settings=Settings(), on_event=lambda _: None, history=lambda: (), runtime=runtime
        )


@pytest.mark.parametrize("fault", [InvalidProxyMessage("<html>"), ProxyError("no tunnel"), InvalidProxyMessage("")])
def test_a_proxy_that_answers_something_else_is_named_with_its_variable(fault: Exception) -> None:
    failure = Proxy("http://user:secret@proxy.example:3128", "HTTPS_PROXY").failure(fault)
    assert failure is not None
    assert failure.message.startswith("the proxy proxy.example:3128 of HTTPS_PROXY did not answer as a proxy does")
    assert "correct HTTPS_PROXY" in failure.message


def test_a_chat_endpoint_takes_what_is_pasted_too() -> None:
    told = {"REALTIME_LLM_BASE_URL": " Localhost:11434/v1/chat/completions\n", "REALTIME_LLM_MODEL": "'m'"}
    chosen = choice_in(told | {"REALTIME_LLM_API_KEY": f"{KEY}\n"})
    assert chosen is not None
    assert (chosen.model, chosen.key) == ("m", KEY)
    model = language_model_from_environment(told)
    assert isinstance(model, ChatLanguageModel)
    assert repr(model) == "ChatLanguageModel('http://Localhost:11434/v1', 'm')"
    with pytest.raises(UsageError, match="the key in REALTIME_LLM_API_KEY has a line end") as caught:
        language_model_from_environment(told | {"REALTIME_LLM_API_KEY": f"{KEY}\nx"})
    assert KEY not in caught.value.message


def test_an_address_without_a_scheme_is_https_but_on_this_computer() -> None:
    assert parts_of_address("api.example:8443/v1", "X").geturl() == "https://api.example:8443/v1"
    assert parts_of_address("127.0.0.1/v1", "X").geturl() == "http://127.0.0.1/v1"


# -- proxies -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ws", "wss", "http", "https", "socks", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_PROXY".upper(), raising=False)


async def refusal(url: str) -> ProviderError:
    """The error of a dial through the proxy of the environment."""
    with pytest.raises(ProviderError) as caught:
        await OpenAIRealtimeModel(api_key=KEY, base_url=url).connect(
            settings=Settings(),
            on_event=lambda _: None,
            history=lambda: (),
            runtime=Runtime.of_loop(asyncio.get_running_loop()),
        )
    return caught.value


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "WSS_PROXY"])
async def test_a_proxy_that_is_not_there_is_named_with_its_variable(
    no_proxies: None, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://ann:secret@127.0.0.1:1")
    error = await refusal("https://api.example/v1")
    assert error.code == "provider_proxy"
    assert error.message == f"the proxy 127.0.0.1:1 of {variable} cannot be reached: correct {variable}"


async def test_no_proxy_leaves_a_host_out(no_proxies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert (await refusal("http://127.0.0.1:1/v1")).code == "provider_refused"


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "wants a user and a password"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "refused the connection (HTTP 403)"),
    ],
)
async def test_what_a_proxy_says_is_told_as_the_proxys(
    no_proxies: None, answer: bytes, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        monkeypatch.setenv("all_proxy", place)
        error = await refusal("https://api.example/v1")
    assert asked[0].startswith(b"CONNECT api.example:443 ")
    assert KEY.encode() not in asked[0]
    assert error.message.startswith(f"the proxy {place} of all_proxy {sentence}")


async def test_a_socks_proxy_names_the_package_that_it_needs(no_proxies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    error = await refusal("https://api.example/v1")
    assert "the proxy 127.0.0.1:1 of ALL_PROXY speaks SOCKS, which needs python-socks: pip install" in error.message


async def test_what_is_no_proxy_is_one_sentence(no_proxies: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "ftp://127.0.0.1:1")
    assert (await refusal("https://api.example/v1")).message.startswith("HTTPS_PROXY names no proxy that can be used")


@pytest.mark.parametrize("name", ["OpenAIChatModel", "AnthropicChatModel", "GeminiChatModel"])
def test_a_chat_model_behind_a_socks_proxy_names_its_package(
    no_proxies: None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://ann:secret@127.0.0.1:1")
    sentence = r"the proxy 127\.0\.0\.1:1 of ALL_PROXY speaks SOCKS, which needs socksio: pip install -e '\.\[socks\]'"
    with pytest.raises(UsageError, match=f"^{sentence}"):
        getattr(chat, name)("m", KEY)


@pytest.mark.parametrize("name", ["OpenAIChatModel", "AnthropicChatModel", "GeminiChatModel"])
@pytest.mark.parametrize("variable", ["https_proxy", "HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize("address", ["ftp://ann:secret@127.0.0.1:1", "socks4://127.0.0.1:1", "httpss://127.0.0.1:1"])
def test_a_chat_model_names_the_variable_of_a_proxy_that_it_cannot_use(
    no_proxies: None, name: str, variable: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv(variable, address)
    if variable == "https_proxy":
        monkeypatch.delenv("HTTPS_PROXY")
    with pytest.raises(UsageError) as caught:
        getattr(chat, name)("m", KEY)
    assert caught.value.message == f"{variable} names no proxy that can be used: http, https or socks5 are known"
    monkeypatch.setenv("NO_PROXY", "*")
    getattr(chat, name)("m", KEY)


async def test_a_proxy_that_is_no_address_is_named_with_its_variable(
    no_proxies: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:notaport")
    sentence = "HTTPS_PROXY names no proxy that can be used: write it as http://HOST:PORT"
    assert (await refusal("https://api.example/v1")).message == sentence
    with pytest.raises(UsageError, match=sentence):
        OpenAIChatModel("m", KEY)


@pytest.mark.parametrize(
    ("made", "formatter"),
    [
        (lambda: OpenAIChatModel("m", KEY, retries=0), OpenAIChatFormatter()),
        (lambda: AnthropicChatModel("m", KEY, retries=0), AnthropicChatFormatter()),
        (lambda: GeminiChatModel("m", KEY, retries=0), GeminiChatFormatter()),
    ],
    ids=["OpenAI", "Anthropic", "Gemini"],
)
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")
async def test_a_dead_proxy_of_a_chat_model_is_named_with_its_variable(
    no_proxies: None,
    variable: str,
    made: Callable[[], ChatModelBase],
    formatter: FormatterBase,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(variable, "http://ann:secret@127.0.0.1:1")
    model = made()
    with pytest.raises(
        ChatFailure, match=f"through the proxy 127.0.0.1:1 of {variable}: is the proxy running"
    ) as caught:
        async for _ in responses_of(await model(await formatter.format([Msg("user", "Hi.", "user")]))):
            pass
    assert caught.value.code == "provider_proxy"


@pytest.mark.parametrize(
    ("pasted", "address"),
    [
        ("127.0.0.1:9/v1/chat/completions", "http://127.0.0.1:9/v1"),
        ("' HTTPS://llm.example/v1/ '", "https://llm.example/v1"),
        ("llm.example/v1", "https://llm.example/v1"),
    ],
)
def test_a_pasted_base_address_of_a_chat_model_is_mended(
    no_proxies: None, pasted: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", pasted)
    endpoint = OpenAIChatModel("m", KEY).endpoint
    assert (endpoint.address, endpoint.address_from) == (address, "OPENAI_BASE_URL")
    assert OpenAIChatModel("m", KEY, client_kwargs={"base_url": pasted}).endpoint.address == address


def test_what_is_no_address_of_a_chat_model_names_its_variable(
    no_proxies: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "ftp://llm.example")
    with pytest.raises(UsageError, match="OPENAI_BASE_URL is to be an address that begins with https://"):
        OpenAIChatModel("m", KEY)

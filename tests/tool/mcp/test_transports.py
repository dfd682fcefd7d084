"""What goes wrong below the messages: sizes, packing, refusals, lines that are none, and processes that do not end."""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from realtime.errors import ToolError, UsageError
from realtime.tool.mcp import HttpStatefulClient, HttpStatelessClient, StdIOStatefulClient, sdk, stdio
from tests.volumes import HANG_S


async def endless() -> AsyncIterator[bytes]:
    """More than a message may have."""
    while True:
        yield b"x" * 65_536


def answering(seen: list[Any] | None = None, **answer: Any) -> Any:
    """Makes an HTTP client whose server gives one answer; the headers of each request are noted."""
    import httpx2

    def respond(request: Any) -> Any:
        if seen is not None:
            seen.append(request.headers)
        if answer.get("content", b"") is None:
            return httpx2.Response(**{**answer, "content": endless()})
        return httpx2.Response(**answer)

    def make(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(respond), headers=headers, timeout=timeout, auth=auth)

    return make


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status_code": 200, "headers": JSON, "content": None}, "more than 4,000,000 bytes"),
        ({"status_code": 200, "headers": JSON, "content": b"{"}, "Failed to parse JSON response"),
        ({"status_code": 200, "headers": {"content-type": "text/html"}, "content": b"<p>"}, "Unexpected content type"),
        ({"status_code": 401}, r"does not let us in \(401\): see `headers`"),
        ({"status_code": 403}, r"does not let us in \(403\)"),
        ({"status_code": 404}, "Not Found"),
        ({"status_code": 500}, "Server returned an error response"),
        ({"status_code": 202}, "202 Accepted"),
        ({"status_code": 302, "headers": {"location": "https://elsewhere.example/"}}, "not followed"),
    ],
)
@pytest.mark.parametrize("of_kind", [HttpStatelessClient, HttpStatefulClient])
async def test_what_an_http_server_answers_wrongly_is_said(of_kind: Any, answer: Any, said: str) -> None:
    factory = answering(**answer)
    client = of_kind("shop", "streamable_http", "http://shop.example/mcp", httpx_client_factory=factory)
    with pytest.raises(ToolError, match=said) as error:
        await (client.connect() if client.stateful else client.list_tools())
    assert error.value.code in ("mcp_unreachable", "mcp_refused")


async def test_a_packed_answer_is_refused_and_headers_are_sent() -> None:
    import httpx2

    seen: list[Any] = []
    packed = {"content-encoding": "gzip", **JSON}
    factory = answering(seen, status_code=200, headers=packed, stream=httpx2.ByteStream(b"x"))
    url, key = "http://shop.example/mcp", {"x-key": "k"}
    client = HttpStatelessClient("shop", "streamable_http", url, key, httpx_client_factory=factory)
    with pytest.raises(ToolError, match="cannot be reached"):
        await client.list_tools()
    assert (seen[0]["x-key"], seen[0]["accept-encoding"]) == ("k", "identity")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "a message of more than 4,000,000 bytes"),
        ("import sys; sys.exit(3)", "cannot be reached: its process has ended with exit code 3"),
        ("import os; os.abort()", "cannot be reached: its process was ended by SIGABRT"),
        ("print('hello')", "cannot be reached"),
    ],
)
async def test_a_process_that_speaks_no_mcp_is_an_error_and_ends(script: str, said: str) -> None:
    client = StdIOStatefulClient("shop", sys.executable, ["-c", script])
    async with asyncio.timeout(HANG_S):
        with pytest.raises(ToolError, match=said):
            await client.connect()


async def test_a_process_that_says_nothing_costs_its_time_and_one_that_does_not_end_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "EXIT_S", 0.2)
    script = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(60)"
    )
    client = StdIOStatefulClient("shop", sys.executable, ["-c", script], timeout=1)
    async with asyncio.timeout(HANG_S):
        with pytest.raises(ToolError, match="cannot be reached: no answer in time"):
            await client.connect()


async def test_a_server_gets_no_variables_of_this_process_but_those_it_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    out = tmp_path / "seen"
    seen = "repr((os.environ.get('OPENAI_API_KEY'), os.environ['MINE'], os.getcwd()))"
    script = f"import os; open({str(out)!r}, 'w').write({seen})"
    client = StdIOStatefulClient("shop", sys.executable, ["-c", script], {"MINE": "1"}, cwd=tmp_path)
    with pytest.raises(ToolError):
        await client.connect()
    assert out.read_text() == repr((None, "1", str(tmp_path)))


def test_wrong_arguments_are_refused_at_once() -> None:
    with pytest.raises(UsageError, match="transport is one of 'streamable_http', 'sse', not 'http'"):
        HttpStatelessClient("shop", "http", "http://shop.example/mcp")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no option 'verify'"):
        HttpStatefulClient("shop", "sse", "http://shop.example/sse", verify=False)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="no option 'auth'; there are: allow_sampling, on_elicit, protocol, roots"):
        StdIOStatefulClient("shop", "x", auth=None)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="a folder or a file:// URI"):
        StdIOStatefulClient("shop", "x", roots=["https://shop.example/"])


def test_without_the_sdk_a_client_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install -e '\.\[mcp\]'") as error:
        HttpStatelessClient("shop", "streamable_http", "http://shop.example/mcp")
    assert error.value.code == "not_installed"

"""Language models on this computer: which servers are found, what they are called, and what is never asked."""

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from realtime.errors import UsageError
from realtime.model.local import choices
from realtime.model.local.choices import MAX_MODELS, SERVERS, choice_of, find_servers
from realtime.model.open import open_model

OLLAMA = b'{"object":"list","data":[{"id":"llama3.2:latest","object":"model"},{"id":"nomic-embed-text:latest"}]}'
"""As Ollama lists its models."""


class Servers:
    """Servers on loopback, in place of the three that may run on this machine."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        """(method, path, host) of each request."""
        self._running: list[ThreadingHTTPServer] = []

    def answer(self, body: bytes, status: int = 200) -> int:
        """The port of a server that answers everything with this."""
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.command, self.path, self.headers["Host"].partition(":")[0]))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self._running.append(server)
        return server.server_address[1]

    def close(self) -> None:
        for server in self._running:
            server.shutdown()
            server.server_close()


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    for name in SERVERS:
        monkeypatch.setitem(SERVERS, name, replace(SERVERS[name], port=9))
    made = Servers()
    yield made
    made.close()


Put = Callable[[str, int], None]


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Put:
    """Let a server be the one of this name."""
    return lambda name, port: monkeypatch.setitem(SERVERS, name, replace(SERVERS[name], port=port))


def test_a_running_server_is_found_with_the_models_that_answer(servers: Servers, put: Put) -> None:
    put("ollama", servers.answer(OLLAMA))
    put("llamacpp", servers.answer(b'{"data":[{"id":"qwen3-4b"}]}'))
    found = find_servers()
    assert [(one.server.title, one.models) for one in found] == [
        ("Ollama", ("llama3.2:latest",)),
        ("llama.cpp", ("qwen3-4b",)),
    ]
    assert found[0].names == ["local:ollama/llama3.2:latest"]
    assert {*servers.asked} == {("GET", "/v1/models", "127.0.0.1")}, "one list each, on loopback"
    assert len(servers.asked) == 2
    many = ",".join(f'{{"id":"model-{number}"}}' for number in range(100))
    put("ollama", servers.answer(f'{{"data":[{many}]}}'.encode()))
    assert len(find_servers()[0].models) == MAX_MODELS, "a long list is cut"


def test_another_program_on_the_port_is_no_server_of_models(servers: Servers, put: Put) -> None:
    put("ollama", servers.answer(OLLAMA, status=404))
    for body in (
        *(b"", b"<html>", b"[]", b"{}", b'{"data":5}', b'{"data":[{"id":7}]}', b'{"data":[{}]}', b"\xff\xfe"),
        b"[" * 50_000,
    ):
        put("llamacpp", servers.answer(body))
        assert find_servers() == [], body[:20]
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        put("lmstudio", silent.getsockname()[1])
        assert find_servers(timeout_s=0.05) == [], "one that hangs is not waited for"


def test_no_proxy_of_the_environment_hears_of_it(servers: Servers, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = servers.answer(OLLAMA)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy}")
    assert find_servers() == []
    assert servers.asked == []


def test_a_model_is_opened_by_its_name_without_looking_for_it(servers: Servers) -> None:
    pytest.importorskip("openai", reason="the chat models are not installed: pip install -e '.[local]'")
    model = open_model("local:ollama/llama3.2:latest")
    assert model.profile.provider == "local"
    assert model.profile.model == "llama3.2:latest at 127.0.0.1:9"
    assert servers.asked == []
    choice = choice_of("lmstudio/qwen/qwen3-4b")
    assert (choice.model, choice.read_by) == ("qwen/qwen3-4b", "LM Studio on this computer")


def test_another_name_is_refused_with_the_known_ones() -> None:
    for name in ("", "ollama", "ollama/", "vllm/llama", "tiny"):
        with pytest.raises(UsageError, match="local:ollama/MODEL") as refused:
            choice_of(name)
        assert refused.value.code == "unknown_model"


def test_the_real_servers_are_the_three_on_their_ports() -> None:
    assert {server.title: server.port for server in choices.SERVERS.values()} == {
        "Ollama": 11434,
        "LM Studio": 1234,
        "llama.cpp": 8080,
    }

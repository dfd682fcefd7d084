"""Language models on this computer for the embedded model, by name: `local:ollama/llama3.2`.

`find_servers` looks for programs that serve them: on loopback only, at their own ports, by one GET of the list of
models. Nothing else here uses the network.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

from realtime.errors import UsageError
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.language_model import LanguageModel

HOST = "127.0.0.1"
LOOK_S = 0.5
"""A server on this computer that takes longer is not offered."""
MAX_LIST_BYTES = 1_000_000
MAX_MODELS = 12
"""Models of one server on offer."""
SMALL = "small"
"""The small model in this process."""
_NO_CHAT = ("embed", "rerank", "whisper", "bge-")
"""Parts of the names of models that write no answers."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A program that serves language models on this computer."""

    name: str
    title: str
    port: int
    start: str
    """How its users start it."""

    @property
    def base_url(self) -> str:
        """The address of its chat completions."""
        return f"http://{HOST}:{self.port}/v1"


SERVERS = {
    server.name: server
    for server in (
        LocalServer("ollama", "Ollama", 11434, "ollama pull llama3.2"),
        LocalServer("lmstudio", "LM Studio", 1234, "LM Studio: load a model, and start its server"),
        LocalServer("llamacpp", "llama.cpp", 8080, "llama-server -m model.gguf"),
    )
}


@dataclass(frozen=True, slots=True)
class Found:
    """A running server and its models, without those that write no answers."""

    server: LocalServer
    models: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names that `open_model` takes."""
        return [f"local:{self.server.name}/{model}" for model in self.models]


def find_servers(timeout_s: float = LOOK_S) -> list[Found]:
    """Ask each of the three ports on loopback for its models; takes at most about a second. Blocks."""
    with ThreadPoolExecutor(max_workers=len(SERVERS)) as threads:
        found = threads.map(lambda server: Found(server, _models_of(server, timeout_s)), SERVERS.values())
        return [one for one in found if one.models]


def _models_of(server: LocalServer, timeout_s: float) -> tuple[str, ...]:
    """Return the models of a server; nothing where no such server answers."""
    connection = HTTPConnection(HOST, server.port, timeout=timeout_s)
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json", "Connection": "close"})
        answer = connection.getresponse()
        body = answer.read(MAX_LIST_BYTES) if answer.status == 200 else b""
        listed = json.loads(body)["data"]
        names = [one["id"] for one in listed if isinstance(one["id"], str) and one["id"].isprintable()]
    except (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError):
        # Another program listens there, or none.
        return ()
    finally:
        connection.close()
    return tuple(name for name in names if not any(part in name.lower() for part in _NO_CHAT))[:MAX_MODELS]


@dataclass(frozen=True, slots=True)
class Choice:
    """A language model by its name behind `local:`."""

    server: LocalServer | None
    """None: the small model in this process."""
    model: str

    @property
    def title(self) -> str:
        """For people who choose; the model's own name follows it."""
        return f"Embedded model with {self.server.title}" if self.server is not None else "Small embedded model"

    @property
    def read_by(self) -> str | None:
        """Who reads the words of calls; None: no other program."""
        return f"{self.server.title} on this computer" if self.server is not None else None

    def open(self, rules: Conversationalist | None = None) -> LanguageModel:
        """Return the language model; `rules` answer before the small one. Raises UsageError where parts are missing."""
        if self.server is None:
            from realtime.model.local.small_model import SmallLanguageModel

            return SmallLanguageModel(rules or Conversationalist())
        from realtime.model.local.chat import ChatLanguageModel

        return ChatLanguageModel(self.server.base_url, self.model, address_from=f"the port of {self.server.title}")


def choice_of(name: str) -> Choice:
    """Return the language model of `small` or `SERVER/MODEL`. Raises UsageError for another name."""
    if name == SMALL:
        return Choice(None, SMALL)
    server, _, model = name.partition("/")
    if server not in SERVERS or not model:
        known = ", ".join(f"local:{one}/MODEL" for one in SERVERS)
        raise UsageError(
            f"there is no embedded model 'local:{name}'; there are local, local:{SMALL}, {known}", code="unknown_model"
        )
    return Choice(SERVERS[server], model)

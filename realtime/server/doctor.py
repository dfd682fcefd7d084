"""Reports what is available on this machine and what is missing. Prints nothing, reveals no key."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from realtime.errors import INSTALL_MCP, ProviderError, RealtimeError, ToolError, UsageError
from realtime.event.base import ContentPart, Item
from realtime.model.base import Settings
from realtime.model.chat.families import FAMILIES
from realtime.model.local.chat import API_KEY as CHAT_KEY
from realtime.model.local.chat import BASE_URL as CHAT_BASE_URL
from realtime.model.local.chat import MODEL as CHAT_MODEL
from realtime.model.local.chat import PROVIDER as CHAT_PROVIDER
from realtime.model.local.chat import choice_in, language_model_from_environment
from realtime.model.local.choices import HOST, SERVERS, Found, find_servers
from realtime.model.local.engine import ears_from_environment
from realtime.model.local.language_model import Prompt
from realtime.model.local.speculation import MODE as SPECULATION
from realtime.model.local.speculation import mode_from_environment
from realtime.model.local.weights import EARS, SMART_TURN_FOLDER, WHISPER_FOLDER, SpeechPart, speech_status
from realtime.model.open import open_model
from realtime.model.services import SERVICES, Service
from realtime.runtime import Runtime
from realtime.server.embedding import page_folder
from realtime.server.remote_tools import Address, addresses_of, client_of
from realtime.tool.mcp.words import plain

DISTRIBUTION = "realtime-voice-agent"
TRY_S = 20.0
TOLD_TOOLS = 20
"""Tools of an MCP server that are named."""
AT_URL = (
    "it is up to the server and its address, not to this program: start the server, or correct the URL (its path is "
    "often /mcp); one that wants a login is registered in code, with `headers`"
)
BY_COMMAND = (
    "it is up to the command, not to this program: run it by itself and read what it says; it has to stay, and to "
    "speak MCP on its standard input and output. Variables that it needs stand before it"
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `gives` says what it enables; `fix` says what to do where it is missing."""

    name: str
    available: bool
    detail: str
    gives: str
    fix: str = ""
    needed: bool = False
    """Whether the server needs it to work at all."""


def examine(environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Run all checks, including checksums of the weights (0.3 s)."""
    found = [_python(), _name_clash(importlib.metadata.packages_distributions().get("realtime", ())), _page()]
    for part in speech_status(environment.get(WHISPER_FOLDER), smart_turn_dir=environment.get(SMART_TURN_FOLDER)):
        found.append(_part(part, environment))
    found += [_service(service, environment) for service in SERVICES.values()]
    found += [_embedded_settings(environment), _chat_endpoint(environment), _local_servers(find_servers()), _mcp()]
    return [*found, _uvloop(), _browser(shutil.which)]


def _part(part: SpeechPart, environment: Mapping[str, str]) -> Finding:
    """Report a part; one in a folder that the environment names is wanted, so it is a mistake if it is not there."""
    variable = {"recognition": WHISPER_FOLDER, "end of a turn": SMART_TURN_FOLDER}.get(part.name, "")
    if part.available or not environment.get(variable):
        return Finding(part.name, part.available, part.missing or "ready", part.gives, part.install)
    named = "" if variable in part.missing else f"{variable} is {environment[variable]}, but "
    return Finding(
        part.name, False, f"{named}{part.missing}", part.gives, f"correct {variable}, or leave it out", needed=True
    )


async def try_keys(environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Test each usable API key by opening a session with its provider."""
    keyed = [one for one in SERVICES.values() if one.has_key(environment) and not one.problem(environment)]
    return [*await asyncio.gather(*(_try_key(service, environment) for service in keyed))]


async def _try_key(service: Service, environment: Mapping[str, str]) -> Finding:
    model = open_model(service.name)
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    problem: str | None = None
    try:
        async with asyncio.timeout(TRY_S):
            connection = await model.connect(
                settings=Settings(), on_event=lambda _: None, history=lambda: (), runtime=runtime
            )
            await connection.close()
    except ProviderError as error:
        refused = error.code == "invalid_api_key"
        problem = service.refused_key(environment).message if refused else error.message
    except TimeoutError:
        problem = f"no answer within {TRY_S:g} s"
    detail = problem or f"{model.profile.model} took the key"
    return Finding(f"{service.title} online", problem is None, detail, f"calls to {service.company}", needed=True)


async def try_chat(environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Ask the language model that the environment names for its first words."""
    try:
        model = language_model_from_environment(environment)
    except UsageError:
        return []  # `examine` says so
    if model is None:
        return []
    greeting = Item(id="doctor", role="user", content=(ContentPart(type="text", text="Hello"),))
    problem = ""
    try:
        async with asyncio.timeout(TRY_S), aclosing(model.respond(Prompt(history=[greeting]))) as replies:
            await anext(aiter(replies), None)
    except RealtimeError as error:
        problem = error.message
    except TimeoutError:
        problem = f"no answer within {TRY_S:g} s"
    gives = "words of the embedded model"
    return [Finding("chat endpoint online", not problem, problem or f"{model.name} answered", gives, needed=True)]


async def try_servers(words: Sequence[str]) -> list[Finding]:
    """Test MCP servers, each named as `realtime serve --mcp` takes it: what was asked for is needed.

    Raises UsageError as `addresses_of` does.
    """
    return [*await asyncio.gather(*(_try_server(address) for address in addresses_of(words)))]


async def _try_server(address: Address) -> Finding:
    client = client_of(address)
    problem, tools = "", ""
    try:
        async with client:
            names = [tool.name for tool in await client.list_tools()]
            more = f" and {len(names) - TOLD_TOOLS} more" if len(names) > TOLD_TOOLS else ""
            tools = plain(", ".join(names[:TOLD_TOOLS])) + more or "it has no tools"
    except ToolError as error:
        problem = error.message
    return Finding(
        f"MCP server {client.name}",
        not problem,
        problem or tools,
        "tools for agents",
        AT_URL if address.url else BY_COMMAND,
        needed=True,
    )


def _python() -> Finding:
    version = f"{platform.python_implementation()} {platform.python_version()}"
    return Finding(
        "Python", sys.version_info >= (3, 11), version, "runs everything", "install Python 3.11", needed=True
    )


def _name_clash(owners: Iterable[str]) -> Finding:
    others = sorted({owner for owner in owners if owner.lower().replace("_", "-") != DISTRIBUTION})
    return Finding(
        "import name",
        not others,
        f"`realtime` is also installed by {', '.join(others)}" if others else "`realtime` is ours alone",
        "`import realtime` means this package",
        "use a virtual environment of its own for this package",
        needed=True,
    )


def _page() -> Finding:
    folder = page_folder()
    fix = "make serve in a clone, or `npm ci && npm run build` in web/"
    return Finding("page", folder is not None, str(folder or "not built"), "talk from a browser at /", fix)


def _service(service: Service, environment: Mapping[str, str]) -> Finding:
    detail = _which_are_set((*service.key_variables, service.base_url_variable), environment)
    fix = f"export {service.key_variables[0]}=..."
    gives = f"agents with the realtime models of {service.company}"
    problem = service.problem(environment)
    if problem:
        return Finding(service.title, False, f"{detail}; {problem}", gives, needed=True)
    return Finding(service.title, service.has_key(environment), detail, gives, fix)


def _embedded_settings(environment: Mapping[str, str]) -> Finding:
    wrong: list[str] = []
    for read in (ears_from_environment, mode_from_environment):
        try:
            read(environment)
        except UsageError as error:
            wrong.append(error.message)
    return Finding(
        "embedded settings",
        not wrong,
        "; ".join(wrong) or _which_are_set((EARS, SPECULATION), environment),
        "how the embedded model listens, and what it begins in a pause",
        "correct the variable, or unset it",
        needed=True,
    )


def _chat_endpoint(environment: Mapping[str, str]) -> Finding:
    try:
        chosen, wrong = choice_in(environment), ""
    except UsageError as error:
        chosen, wrong = None, f"; {error.message}"
    return Finding(
        "chat endpoint",
        chosen is not None and bool(chosen.model),
        _which_are_set((CHAT_BASE_URL, CHAT_MODEL, CHAT_KEY, CHAT_PROVIDER), environment) + wrong,
        "a language model for the embedded model; only words go there",
        f"export {CHAT_BASE_URL}=... {CHAT_MODEL}=..., such as http://127.0.0.1:11434/v1 and a model of Ollama, or "
        f"{CHAT_PROVIDER}={'|'.join(FAMILIES)} {CHAT_MODEL}=... and the provider's key",
        # Half a choice is a mistake; none is fine.
        needed=bool(wrong),
    )


def _local_servers(found: Sequence[Found]) -> Finding:
    listed = "; ".join(f"{one.server.title}: {', '.join(one.models)}" for one in found)
    named = found[0].names[0] if found else ""
    ways = ", ".join(f"{server.title} ({server.start})" for server in SERVERS.values())
    return Finding(
        "local language model",
        bool(found),
        listed or f"nothing answers on {HOST} at {', '.join(str(server.port) for server in SERVERS.values())}",
        "words by a language model on this computer: choose it in the page's menu"
        + (f", or serve --model {named}" if named else ""),
        f"start one: {ways}",
    )


def _mcp() -> Finding:
    here = importlib.util.find_spec("mcp") is not None
    gives = "tools of MCP servers (realtime serve --mcp URL|COMMAND)"
    return Finding("MCP", here, "installed" if here else "the package mcp is not installed", gives, INSTALL_MCP)


def _which_are_set(names: Iterable[str], environment: Mapping[str, str]) -> str:
    """Name the variables that are set, never their values."""
    return ", ".join(f"{name} is {'set' if environment.get(name) else 'not set'}" for name in names)


def _uvloop() -> Finding:
    gives = "more calls per core"
    if sys.platform == "win32":
        return Finding("uvloop", False, "does not exist for Windows", gives)
    here = importlib.util.find_spec("uvloop") is not None
    return Finding("uvloop", here, "installed" if here else "not installed", gives, "pip install uvloop")


def _browser(which: Callable[[str], str | None]) -> Finding:
    path = next((found for name in BROWSERS if (found := which(name))), None)
    return Finding(
        "Chromium", path is not None, path or "not on the PATH", "the tests of the page", "apt install chromium"
    )

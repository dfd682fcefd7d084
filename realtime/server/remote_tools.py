"""Tools of MCP servers for all agents of a server: `realtime serve --mcp URL|COMMAND`."""

from __future__ import annotations

import asyncio
import re
import shlex
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from realtime.agent import RealtimeAgent
from realtime.errors import BadTool, ToolError, UsageError
from realtime.room.human_participant import HumanParticipant
from realtime.server.make_agent import MakeAgent, make_agent_of
from realtime.tool import Toolkit
from realtime.tool.mcp import HttpStatefulClient, StatefulClientBase, StdIOStatefulClient
from realtime.tool.mcp.schema import model_name

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 30.0
"""Between two attempts to reach a server: the wait doubles."""
_RUNNERS = frozenset({"node", "npx", "bun", "bunx", "deno", "python", "python3", "uv", "uvx", "docker", "run", "exec"})
"""Programs that run others, and their verbs: the name of what they run says more."""
_FLAGS = frozenset({"-y", "--yes", "-q", "--quiet", "-i", "-t", "-it", "-ti", "--rm", "--init", "-u", "-m", "-A", "-B"})
"""Options of theirs that have no value, or a name.

The value of any other may be a secret."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an MCP server is: at an URL, or behind a command that starts it."""

    name: str
    """For messages; without secrets."""
    url: str = field(default="", repr=False)
    command: tuple[str, ...] = field(default=(), repr=False)
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    """Variables that the command gets besides PATH, HOME and the like."""


def addresses_of(words: Sequence[str]) -> list[Address]:
    """Return the addresses that `--mcp` options name, under different names.

    Raises UsageError for what is neither an URL nor a command line whose program exists.
    """
    found: list[Address] = []
    for word in words:
        address = _address_of(word)
        taken = {one.name for one in found}
        names = (address.name, *(f"{address.name}-{number}" for number in range(2, len(words) + 1)))
        name = next(name for name in names if name not in taken)
        found.append(Address(name, address.url, address.command, address.environment))
    return found


def _address_of(word: str) -> Address:
    if re.match(r"[a-z][a-z0-9+.-]{0,40}://", word, re.IGNORECASE):
        parts = urlsplit(word)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"--mcp takes the http or https URL of an MCP server, not one of {parts.scheme}", code="mcp_address"
            )
        return Address(parts.netloc.rpartition("@")[2], url=word)
    try:
        parts_of_command = shlex.split(word)
    except ValueError as error:
        raise UsageError(f"--mcp takes a command line as a shell would: {error}", code="mcp_address") from error
    environment: dict[str, str] = {}
    while parts_of_command and re.match(r"^[A-Za-z_]\w*=", parts_of_command[0]):
        name, _, value = parts_of_command.pop(0).partition("=")
        environment[name] = value
    if not parts_of_command:
        raise UsageError("--mcp takes the URL of an MCP server, or the command that starts one", code="mcp_address")
    program = parts_of_command[0]
    if shutil.which(program) is None:
        raise UsageError(
            f"--mcp cannot start {program!r}: there is no such program. Install it, or give its path",
            code="mcp_address",
        )
    return Address(_name_of(parts_of_command), command=tuple(parts_of_command), environment=environment)


def _name_of(command: Sequence[str]) -> str:
    """Return what a command runs, without its folder and ending."""
    program = Path(command[0]).stem
    if program not in _RUNNERS:
        return program
    if {"-c", "-e"} & {*command}:
        return program  # what it runs is in the command itself
    named, before = program, ""
    for word in command[1:]:
        is_value = before.startswith("-") and "=" not in before and before not in _FLAGS
        if not (is_value or word.startswith("-") or "=" in word or word in _RUNNERS):
            named = word
            break
        before = word
    return re.sub(r"(?<!^)@[\w.^~-]+$", "", named).rpartition("/")[2].partition(".")[0] or program


class RemoteTools:
    """The tools of MCP servers, which every agent of this server gets.

    One connection to each MCP server serves all calls. `say` receives a line about each server: how many tools it
    has, or why it has none yet. One that cannot be reached is dialled again, less and less often; agents get its tools
    once it answers, also in calls that run by then.
    """

    def __init__(self, words: Sequence[str], say: Callable[[str], None]) -> None:
        self.toolkit = Toolkit()
        self._clients = [client_of(address) for address in addresses_of(words)]
        self._say = say

    def given_to(self, make_agent: MakeAgent) -> MakeAgent:
        """Return a function that makes the same agents, with these tools. An agent's own of a name precede."""
        if not self._clients:
            return make_agent

        async def make(**known: Any) -> RealtimeAgent | HumanParticipant:
            agent = await make_agent_of(make_agent, **known)
            if isinstance(agent, RealtimeAgent):
                agent.toolkit.include(self.toolkit)
            return agent

        return make

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Keep the servers connected while this server runs."""
        tasks = [asyncio.create_task(self._keep(one), name=f"MCP server {one.name}") for one in self._clients]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    async def _keep(self, client: StatefulClientBase) -> None:
        """Keep one server connected; cancelling disconnects it.

        Once connected, the client itself dials a server that is lost.
        """
        try:
            await self._connect(client)
            await asyncio.Event().wait()
        finally:
            if client.is_connected:
                await client.close()

    async def _connect(self, client: StatefulClientBase) -> None:
        wait_s, told = FIRST_WAIT_S, ""
        while True:
            try:
                if not client.is_connected:
                    await client.connect()
                self._say(await self._register(client))
                return
            except ToolError as error:
                # The same words again and again would hide all others.
                if error.message != told:
                    self._say(f"No tools yet: {error.message}. Start it, or correct --mcp; it is dialled again.")
                    told = error.message
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    async def _register(self, client: StatefulClientBase) -> str:
        """Take the tools of a server; return what to say.

        Where another server has a tool of one of their names, they get their server's name in front.
        """
        prefix = ""
        try:
            await self.toolkit.register_mcp_client(client)
        except BadTool:
            prefix = model_name(client.name) + "_"
            await self.toolkit.register_mcp_client(client, namesake_strategy="skip", prefix=prefix)
        named = f", named {prefix}..., since another server has tools of the same names" if prefix else ""
        # Others register meanwhile: what is more than before need not be of this one.
        count = sum(tool.mcp_name == client.name for tool in self.toolkit.tools.values())
        return f"The MCP server {client.name!r} gives {count} tool{'' if count == 1 else 's'}{named}."


def client_of(address: Address) -> StatefulClientBase:
    """Return a client of the server there. Raises UsageError where the MCP SDK is not installed."""
    if address.url:
        return HttpStatefulClient(address.name, "streamable_http", address.url)
    program, *arguments = address.command
    return StdIOStatefulClient(address.name, program, arguments, address.environment)

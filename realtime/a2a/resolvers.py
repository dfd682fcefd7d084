"""Where agent cards come from: a file, the well-known address of a server, a Nacos registry."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from realtime.a2a.card import MAX_CARD_BYTES, AgentCard, BadCard, place_of_url, read_card, wrong_url
from realtime.a2a.http import Hosts, new_client
from realtime.a2a.sdk import check_installed
from realtime.errors import ProviderError
from realtime.options import checked, usable_headers
from realtime.texts import as_utf8

WELL_KNOWN_PATH = ".well-known/agent-card.json"
OLDER_PATH = ".well-known/agent.json"
"""Where servers of the first versions have the card."""
TIMEOUT_S = 10.0
"""Seconds for a card, unless the resolver says otherwise."""
NACOS_NEEDS = "needs a Nacos server of version 3.1.0 or higher with its Agent Registry"
_NACOS_CARD = "nacos/v3/admin/ai/a2a"
_NACOS_LOGIN = "nacos/v3/auth/user/login"
NACOS_PORT = 8848


class CardNotFound(ProviderError, RuntimeError):
    """A card could not be fetched."""


class AgentCardResolverBase:
    """Finds the card of a remote agent. Subclasses implement `get_agent_card`."""

    async def get_agent_card(self) -> AgentCard:
        """Return the card. Raises BadCard for what is none, ProviderError where it cannot be fetched."""
        raise NotImplementedError(f"{type(self).__name__} does not implement `get_agent_card`")


class FileAgentCardResolver(AgentCardResolverBase):
    """Reads a card from a JSON file, in snake_case or camelCase."""

    @checked()
    def __init__(self, file_path: str | Path) -> None:
        self.file_path = Path(file_path)

    async def get_agent_card(self) -> AgentCard:
        """Return the card. Raises FileNotFoundError, ValueError for what is no file, BadCard for what is no card."""
        text = await asyncio.get_running_loop().run_in_executor(None, self._read)
        return read_card(text, self.file_path.name)

    def _read(self) -> bytes:
        if not self.file_path.exists():
            raise FileNotFoundError(f"there is no agent card at {self.file_path}")
        # Reading a pipe would wait for its writer.
        if not self.file_path.is_file():
            raise ValueError(f"the agent card {self.file_path} is no file")
        if (size := self.file_path.stat().st_size) > MAX_CARD_BYTES:
            raise BadCard(f"{self.file_path.name}: a card has at most {MAX_CARD_BYTES} bytes, and this one has {size}")
        try:
            return as_utf8(self.file_path.read_bytes())
        except ValueError as error:
            raise BadCard(f"{self.file_path.name}: {error}") from None


class WellKnownAgentCardResolver(AgentCardResolverBase):
    """Fetches a card from the well-known path of a server.

    `base_url` is where the agent is served; a path in it is kept. `agent_card_path`: another path than the well-known
    one. `allowed_hosts` as for `A2AAgent`; the host of `base_url` is allowed. Raises BadCard for an address without a
    scheme or a host, UsageError where the SDK is not installed.
    """

    @checked(above_0=("timeout_s",))
    def __init__(
        self,
        base_url: str,
        agent_card_path: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        allowed_hosts: Iterable[str] = (),
        timeout_s: float = TIMEOUT_S,
        verify: Any = True,
    ) -> None:
        check_installed()
        if why := wrong_url(base_url):
            raise BadCard(f"base_url: {why}")
        self.base_url = base_url
        self.agent_card_path = agent_card_path
        self._allowed = [*allowed_hosts, place_of_url(base_url)]
        self._headers = usable_headers(headers or {}, "headers")
        self._timeout_s = timeout_s
        self._verify = verify

    async def get_agent_card(self) -> AgentCard:
        """Return the card. Raises BadCard for what is none, CardNotFound where it cannot be fetched."""
        paths = [WELL_KNOWN_PATH, OLDER_PATH] if self.agent_card_path is None else [self.agent_card_path]
        urls = [f"{self.base_url.rstrip('/')}/{path.lstrip('/')}".rstrip("/") for path in paths]
        async with _Getter(self._allowed, self._headers, self._timeout_s, self._verify) as getter:
            for url in urls:
                status, body = await getter.get(url, f"the card of {place_of_url(url)}")
                if status == 404 and url != urls[-1]:
                    continue
                if status != 200:
                    raise CardNotFound(f"the card of {place_of_url(url)}: the server answers {status}", code="a2a_card")
                return read_card(body, "card", origin=place_of_url(self.base_url))
        raise AssertionError("the last address gives a card or an error")


class NacosAgentCardResolver(AgentCardResolverBase):
    """Fetches a card from a Nacos registry, by its HTTP interface: its own package is not needed.

    `nacos_client_config`: a `ClientConfig` of that package, a mapping with its fields (`server_addresses`,
    `namespace_id`, `username`, `password`), or the addresses. Several are separated by commas; the next one is asked
    where one is away. `version`: of the card, the latest by default. Needs a Nacos server of version 3.1.0 or higher.
    The servers' hosts are allowed, the addresses of a card as for `A2AAgent`.
    """

    @checked(above_0=("timeout_s",))
    def __init__(
        self,
        remote_agent_name: str,
        nacos_client_config: Any,
        version: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        verify: Any = True,
    ) -> None:
        check_installed()
        if not remote_agent_name:
            raise BadCard("remote_agent_name: a registered agent has a name, and this one is empty")
        self.remote_agent_name = remote_agent_name
        self.version = version
        config = nacos_client_config
        if isinstance(config, str):
            config = {"server_addresses": config}
        self.servers = _servers(_field(config, "server_addresses", "serverAddresses", "server_list"))
        if not self.servers:
            raise BadCard("nacos_client_config.server_addresses: it names no server, such as http://localhost:8848")
        self._namespace = _text(_field(config, "namespace_id", "namespaceId")) or "public"
        self._login = {
            name: _text(_field(config, name)) for name in ("username", "password") if _text(_field(config, name))
        }
        self._timeout_s = timeout_s
        self._verify = verify

    async def get_agent_card(self) -> AgentCard:
        """Return the card. Raises BadCard for what is none, CardNotFound where no server gives it."""
        allowed = [place_of_url(server) for server in self.servers]
        async with _Getter(allowed, {}, self._timeout_s, self._verify) as getter:
            for server in self.servers:
                try:
                    return await self._card_of(server, getter)
                except ProviderError as error:
                    if not error.retryable or server == self.servers[-1]:
                        raise
        raise AssertionError("the last server gives a card or an error")

    async def _card_of(self, server: str, getter: _Getter) -> AgentCard:
        what = f"the registry {place_of_url(server)}"
        headers = await self._access(server, getter, what)
        asked = {"namespaceId": self._namespace, "agentName": self.remote_agent_name}
        asked |= {"version": self.version} if self.version else {}
        status, body = await getter.get(f"{server}/{_NACOS_CARD}", what, params=asked, headers=headers)
        try:
            answer = msgspec.json.decode(body)
        except msgspec.DecodeError:
            answer = None
        if not isinstance(answer, dict) or "code" not in answer:
            raise CardNotFound(f"{what} answers {status} without a card: this {NACOS_NEEDS}", code="a2a_registry")
        if answer["code"] != 0 or answer.get("data") is None:
            said = " ".join(str(answer.get("message") or answer.get("data") or "").split())[:200]
            raise CardNotFound(
                f"{what} has no agent {self.remote_agent_name[:64]!r} ({said or status}); it {NACOS_NEEDS}",
                code="a2a_registry",
            )
        return read_card(answer["data"], "data", origin=place_of_url(server))

    async def _access(self, server: str, getter: _Getter, what: str) -> dict[str, str]:
        if not self._login:
            return {}
        status, body = await getter.post(f"{server}/{_NACOS_LOGIN}", what, data=self._login)
        try:
            token = msgspec.json.decode(body)["accessToken"]
        except (msgspec.DecodeError, KeyError, TypeError):
            raise CardNotFound(
                f"{what} does not let {self._login.get('username')!r} in ({status})", code="a2a_refused"
            ) from None
        return {"accessToken": str(token)}


class _Getter:
    """Gets small answers from allowed hosts."""

    def __init__(self, allowed: Iterable[str], headers: Mapping[str, str], timeout_s: float, verify: Any) -> None:
        self._timeout_s = timeout_s
        self._client = new_client(Hosts(allowed), headers=headers, timeout_s=timeout_s, verify=verify)

    async def __aenter__(self) -> _Getter:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def get(self, url: str, what: str, **options: Any) -> tuple[int, bytes]:
        return await self._ask("GET", url, what, **options)

    async def post(self, url: str, what: str, **options: Any) -> tuple[int, bytes]:
        return await self._ask("POST", url, what, **options)

    async def _ask(self, method: str, url: str, what: str, **options: Any) -> tuple[int, bytes]:
        """Return the status and the body. Raises CardNotFound, with `what` was asked for."""
        import httpx

        body = bytearray()
        try:
            async with asyncio.timeout(self._timeout_s), self._client.stream(method, url, **options) as response:
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > MAX_CARD_BYTES:
                        raise BadCard(f"{what}: a card has at most {MAX_CARD_BYTES} bytes, and this one has more")
                return response.status_code, bytes(body)
        except TimeoutError:
            raise CardNotFound(
                f"{what} did not come within {self._timeout_s:g} s", code="a2a_timeout", retryable=True
            ) from None
        except ProviderError as error:
            raise CardNotFound(f"{what}: {error.message}", code=error.code, retryable=error.retryable) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise CardNotFound(f"{what} was lost ({type(error).__name__})", code="a2a_lost", retryable=True) from None


def _field(config: Any, *names: str) -> Any:
    for name in names:
        value = config.get(name) if isinstance(config, Mapping) else getattr(config, name, None)
        if value is not None:
            return value
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _servers(given: Any) -> list[str]:
    """Return the addresses of servers, with a scheme and a port. Raises BadCard for one that is none."""
    named = given.split(",") if isinstance(given, str) else given if isinstance(given, list | tuple) else []
    servers = []
    for one in named:
        url = str(one).strip().rstrip("/")
        if not url:
            continue
        url = url if "://" in url else f"http://{url}"
        if why := wrong_url(url):
            raise BadCard(f"nacos_client_config.server_addresses: {why}")
        parts = urlsplit(url)
        servers.append(f"{parts.scheme}://{place_of_url(url) if parts.port else f'{parts.hostname}:{NACOS_PORT}'}")
    return servers

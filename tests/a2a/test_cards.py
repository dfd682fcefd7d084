"""Agent cards: from anything that has their fields, from everywhere they are kept, and cards that are bad."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from a2a.compat.v0_3 import types as old
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import AgentCard as CardOfSdk
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from google.protobuf.json_format import ParseDict

from realtime.a2a import (
    A2AAgent,
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    BadCard,
    FileAgentCardResolver,
    NacosAgentCardResolver,
    WellKnownAgentCardResolver,
    read_card,
)
from realtime.a2a.card import MAX_CARD_BYTES
from realtime.errors import ProviderError, UsageError
from realtime.message import UserMsg
from realtime.server.tls import self_signed
from tests.server.harness import Place, serving_app

PRINTED = """{
    "name": "RemoteAgent",
    "url": "http://localhost:8000",
    "description": "Remote A2A Agent",
    "version": "1.0.0",
    "capabilities": {},
    "default_input_modes": ["text/plain"],
    "default_output_modes": ["text/plain"],
    "skills": []
}"""
"""The JSON file of AgentScope's document."""
FIELDS: dict[str, Any] = {
    "name": "Friday",
    "description": "A fun chatting companion",
    "url": "http://localhost:8000",
    "version": "1.0.0",
    "capabilities": {"push_notifications": False, "state_transition_history": True, "streaming": True},
    "default_input_modes": ["text/plain"],
    "default_output_modes": ["audio/wav"],
    "skills": [{"id": "chat", "name": "Chat", "description": "Chats.", "tags": ["fun"]}],
}
NEW = ParseDict(
    {
        "name": "Friday",
        "description": "A fun chatting companion",
        "version": "1.0.0",
        "capabilities": {"streaming": True},
        "supportedInterfaces": [
            {"url": "http://localhost:8000", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": "http://localhost:9000/v1", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        ],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["audio/wav"],
        "skills": FIELDS["skills"],
    },
    CardOfSdk(),
)
OLD = old.AgentCard.model_validate(FIELDS)
GIVEN = {
    "ours": AgentCard(**{**FIELDS, "capabilities": AgentCapabilities(streaming=True), "skills": []}),
    "snake_case": FIELDS,
    "JSON": json.dumps(FIELDS),
    "0.3 object": OLD,
    "0.3 JSON": OLD.model_dump(mode="json", by_alias=True),
    "1.0 message": NEW,
    "1.0 JSON": agent_card_to_dict(NEW),
}


@pytest.mark.parametrize("form", GIVEN)
def test_a_card_is_taken_by_its_fields(form: str) -> None:
    """A2A-14, AMB-42, AMB-43: whatever package its class is from, in either case."""
    before = repr(GIVEN[form])
    card = read_card(GIVEN[form])
    assert (card.name, card.url, card.description, card.version) == (
        "Friday",
        "http://localhost:8000",
        "A fun chatting companion",
        "1.0.0",
    )
    assert (card.default_input_modes, card.default_output_modes) == (["text/plain"], ["audio/wav"])
    assert card.capabilities.streaming
    assert card.faults == []
    assert [skill.name for skill in card.skills] == ([] if form == "ours" else ["Chat"])
    assert repr(GIVEN[form]) == before, "the card that was given stays as it is"
    written = read_card(json.dumps(card.model_dump()))
    assert written == card, "what is written in a file is read back"


def test_the_capabilities_have_their_three_flags() -> None:
    """A2A-15"""
    capabilities = read_card(FIELDS).capabilities
    assert capabilities == AgentCapabilities(push_notifications=False, state_transition_history=True, streaming=True)


def test_what_the_sdk_gets_names_addresses_in_its_own_case() -> None:
    """AMB-42: camelCase on the wire."""
    assert read_card(FIELDS).to_sdk()["supportedInterfaces"] == [
        {"url": "http://localhost:8000", "protocolBinding": "JSONRPC", "protocolVersion": "0.3.0", "tenant": ""}
    ]


def test_interfaces_that_are_not_spoken_here_are_passed_over() -> None:
    card = read_card(
        {
            "name": "Friday",
            "supportedInterfaces": [
                {"url": "https://a.example", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
                {"url": "https://b.example", "protocolBinding": "JSONRPC"},
            ],
        }
    )
    assert [one["url"] for one in card.to_sdk()["supportedInterfaces"]] == ["https://b.example"]
    assert card.interfaces[1] == AgentInterface(url="https://b.example", protocol_version="1.0")


DEEP: Any = {}
for _ in range(100_000):
    DEEP = {"x": DEEP}

CYCLE: dict[str, Any] = {"name": "a"}
CYCLE["skills"] = [CYCLE]

BAD: dict[str, Any] = {
    "card: a card is an object with `name` and `url`, not a list": [],
    "card: it is no JSON (": "{",
    "card: it is nested too deeply": DEEP,
    "mine: it is nested too deeply": CYCLE,
    f"card: a card has at most {MAX_CARD_BYTES} bytes, and this one has ": "x" * (MAX_CARD_BYTES + 1),
    "card.name: a card names its agent, and this one does not": {"url": "https://a.example", "name": "  "},
    "card.url: a card has an address, and this one has not": {"name": "a"},
    "card.url: it is no http or https address with a host: 'file:///etc/passwd'": {
        "name": "a",
        "url": "file:///etc/passwd",
    },
    "card.url: it is no http or https address with a host: 'https://'": {"name": "a", "url": "https://"},
    "card.url: it is text, not a number": {"name": "a", "url": 7},
    "card.url: it holds a user name or a password": {"name": "a", "url": "https://me:pw@a.example"},
    "card.supportedInterfaces[0].url: it is no http or https address with a host: 'gopher://x'": {
        "name": "a",
        "supportedInterfaces": [{"url": "gopher://x"}],
    },
    "card: its agent speaks GRPC alone; JSONRPC and HTTP+JSON are spoken here": {
        "name": "a",
        "supportedInterfaces": [{"url": "https://a.example", "protocolBinding": "GRPC"}],
    },
}


@pytest.mark.parametrize("sentence", BAD)
def test_a_card_that_leads_nowhere_is_one_sentence_with_the_path_to_the_field(sentence: str) -> None:
    with pytest.raises(BadCard) as raised:
        read_card(BAD[sentence], sentence.partition(":")[0].partition(".")[0])
    assert raised.value.message.startswith(sentence)
    assert "pw" not in raised.value.message.replace("passwd", "")


def test_what_else_is_wrong_is_left_out_and_told() -> None:
    card = read_card(
        {
            "name": "Friday",
            "url": "https://a.example",
            "version": 7,
            "capabilities": {"streaming": "yes"},
            "defaultInputModes": ["text/plain", 3],
            "skills": [1, {"tags": "fun"}, {"name": "Chat"}],
        }
    )
    assert card.faults == [
        "card.version: it is text, not a number",
        "card.capabilities.streaming: it is true or false, not text",
        "card.defaultInputModes: it is a list of texts",
        "card.skills[0]: it is an object, not a number",
        "card.skills[1].name: a skill has a name, and this one has not",
    ]
    assert [skill.id for skill in card.skills] == ["Chat"]


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
async def test_a_card_is_read_from_a_file(tmp_path: Path, encoding: str) -> None:
    """A2A-10, A2A-16: the printed file, whatever editor wrote it."""
    path = tmp_path / "agent_card.json"
    path.write_text(PRINTED, encoding=encoding)
    card = await FileAgentCardResolver(file_path=str(path)).get_agent_card()
    assert (card.name, card.url, card.origin) == ("RemoteAgent", "http://localhost:8000", None)


async def test_a_file_that_is_missing_no_file_too_large_or_no_card_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no agent card"):
        await FileAgentCardResolver(tmp_path / "none.json").get_agent_card()
    with pytest.raises(ValueError, match="is no file"):
        await FileAgentCardResolver(tmp_path).get_agent_card()
    large, bad = tmp_path / "large.json", tmp_path / "bad.json"
    large.write_bytes(b" " * (MAX_CARD_BYTES + 1))
    bad.write_bytes(b"{")
    with pytest.raises(BadCard, match=r"large\.json: a card has at most"):
        await FileAgentCardResolver(large).get_agent_card()
    with pytest.raises(BadCard, match=r"bad\.json: it is no JSON"):
        await FileAgentCardResolver(bad).get_agent_card()


# -- the well-known path -----------------------------------------------------------------------------------------------

Answer = Callable[[Request], Awaitable[Response]]


@asynccontextmanager
async def web(answer: Answer, **options: Any) -> AsyncIterator[Place]:
    """A server that answers every path with this."""
    app = FastAPI()

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def all_of_it(request: Request) -> Response:
        return await answer(request)

    async with serving_app(app, **options) as place:
        yield place


def card_at(path: str, **more: Any) -> Answer:
    async def answer(request: Request) -> Response:
        found = request.url.path == path
        return JSONResponse({**FIELDS, **more}, 200 if found else 404)

    return answer


PATHS = {
    "": "/.well-known/agent-card.json",
    "/": "/.well-known/agent-card.json",
    "/agents/friday": "/agents/friday/.well-known/agent-card.json",
}


@pytest.mark.parametrize("base", PATHS)
async def test_a_card_is_fetched_from_the_well_known_path(base: str) -> None:
    """A2A-11, A2A-16"""
    async with web(card_at(PATHS[base])) as place:
        card = await WellKnownAgentCardResolver(base_url=place.url + base).get_agent_card()
        assert (card.name, card.origin) == ("Friday", place.url.removeprefix("http://"))


async def test_another_path_and_the_one_of_the_first_servers_are_found() -> None:
    async with web(card_at("/my/card")) as place:
        assert (await WellKnownAgentCardResolver(place.url, "my/card").get_agent_card()).name == "Friday"
    async with web(card_at("/.well-known/agent.json")) as place:
        assert (await WellKnownAgentCardResolver(place.url).get_agent_card()).name == "Friday"


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://h.example", "http://"])
def test_an_address_without_a_scheme_or_a_host_is_refused(url: str) -> None:
    with pytest.raises(BadCard, match="base_url: it is no http or https address"):
        WellKnownAgentCardResolver(url)


async def _redirect(_: Request) -> Response:
    return RedirectResponse("http://169.254.169.254/latest/meta-data")


async def _huge(_: Request) -> Response:
    return Response(b" " * (MAX_CARD_BYTES + 1), media_type="application/json")


async def _packed(_: Request) -> Response:
    return Response(b"x", headers={"content-encoding": "gzip"})


async def _refuses(_: Request) -> Response:
    return Response(status_code=401)


async def _fails(_: Request) -> Response:
    return Response(status_code=500)


async def _no_card(_: Request) -> Response:
    return Response(b"<html>", media_type="text/html")


BAD_SERVERS: dict[str, tuple[Answer, type[Exception]]] = {
    "it redirects, and no redirect is followed": (_redirect, ProviderError),
    "a card has at most": (_huge, BadCard),
    "it has packed its answer": (_packed, ProviderError),
    r"it does not let us in \(401\): see `headers`": (_refuses, ProviderError),
    "the server answers 500": (_fails, ProviderError),
    "card: it is no JSON": (_no_card, BadCard),
}


@pytest.mark.parametrize("sentence", BAD_SERVERS)
async def test_a_bad_server_of_cards_is_one_sentence(sentence: str) -> None:
    answer, kind = BAD_SERVERS[sentence]
    async with web(answer) as place:
        with pytest.raises(kind, match=sentence):
            await WellKnownAgentCardResolver(place.url).get_agent_card()


async def test_a_server_that_is_away_silent_or_signed_by_itself_is_one_sentence(tmp_path: Path) -> None:
    async with web(card_at("/")) as place:
        url = place.url
    with pytest.raises(ProviderError, match="it cannot be reached"):
        await WellKnownAgentCardResolver(url).get_agent_card()
    with pytest.raises(ProviderError, match=r"the host 'none\.invalid' is not known"):
        await WellKnownAgentCardResolver("http://none.invalid").get_agent_card()
    async with web(card_at("/.well-known/agent-card.json"), tls=self_signed(tmp_path)) as place:
        with pytest.raises(ProviderError, match="its certificate is not trusted"):
            await WellKnownAgentCardResolver(place.url).get_agent_card()


PRIVATE = ["http://127.0.0.1:9", "http://localhost:9", "http://10.0.0.1", "http://[::1]:9", "http://169.254.169.254"]


@pytest.mark.parametrize("url", PRIVATE)
async def test_a_fetched_card_that_leads_into_a_private_network_is_refused_unless_allowed(url: str) -> None:
    async with web(card_at("/.well-known/agent-card.json", url=url)) as place:
        card = await WellKnownAgentCardResolver(place.url).get_agent_card()
    agent = A2AAgent(card)
    with pytest.raises(ProviderError, match="a private address: name it in `allowed_hosts` to allow it") as raised:
        await agent(UserMsg("anna", "Hello."))
    assert raised.value.code == "a2a_host"
    await agent.aclose()
    if "127" in url or "localhost" in url:
        agent = A2AAgent(card, allowed_hosts=[url.removeprefix("http://")])
        with pytest.raises(ProviderError, match="it cannot be reached"):
            await agent(UserMsg("anna", "Hello."))
        await agent.aclose()


def test_an_allowed_host_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="is no host"):
        A2AAgent(FIELDS, allowed_hosts=["http://h.example/x"])


# -- the registry ------------------------------------------------------------------------------------------------------


def registry(asked: list[dict[str, Any]], answer: Any, status: int = 200) -> Answer:
    async def answers(request: Request) -> Response:
        asked.append({"path": request.url.path, "token": request.headers.get("accesstoken"), **request.query_params})
        if request.url.path == "/nacos/v3/auth/user/login":
            form = (await request.body()).decode()
            return JSONResponse({"accessToken": "t1"} if form == "username=nacos&password=secret" else {})
        return JSONResponse(answer, status) if answer is not None else Response("<html>", 404)

    return answers


async def test_a_card_is_fetched_from_a_registry() -> None:
    """A2A-12, A2A-16: with a client configuration of the registry's own package, by its fields."""
    asked: list[dict[str, Any]] = []
    async with web(
        registry(asked, {"code": 0, "message": "success", "data": {**FIELDS, "registrationType": "URL"}})
    ) as at:
        config = SimpleNamespace(server_addresses=f"127.0.0.1:1,{at.url}", namespace_id="", username="nacos")
        config.password = "secret"
        resolver = NacosAgentCardResolver(
            remote_agent_name="my-remote-agent", nacos_client_config=config, version="1.0.0"
        )
        card = await resolver.get_agent_card()
        assert (card.name, card.origin) == ("Friday", at.url.removeprefix("http://"))
        login, query = asked
        assert login["path"] == "/nacos/v3/auth/user/login"
        assert query == {
            "path": "/nacos/v3/admin/ai/a2a",
            "token": "t1",
            "namespaceId": "public",
            "agentName": "my-remote-agent",
            "version": "1.0.0",
        }
        config.password = "wrong"
        with pytest.raises(ProviderError, match="does not let 'nacos' in") as raised:
            await NacosAgentCardResolver("my-remote-agent", config).get_agent_card()
        assert "wrong" not in str(raised.value)


NEEDS = r"needs a Nacos server of version 3\.1\.0 or higher with its Agent Registry"


@pytest.mark.parametrize(
    ("answer", "status", "sentence"),
    [
        (None, 404, f"answers 404 without a card: this {NEEDS}"),
        ({"code": 20004, "message": "agent not found", "data": None}, 404, r"has no agent 'robin' \(agent not found\)"),
        ({"code": 0, "data": {"name": "x"}}, 200, r"data\.url: a card has an address"),
    ],
    ids=["too old", "unknown", "no card"],
)
async def test_a_registry_that_cannot_give_the_card_says_what_it_needs(answer: Any, status: int, sentence: str) -> None:
    """A2A-13"""
    async with web(registry([], answer, status)) as place:
        with pytest.raises((ProviderError, BadCard), match=sentence):
            await NacosAgentCardResolver("robin", {"server_addresses": place.url}).get_agent_card()


@pytest.mark.parametrize("config", [None, {}, "", {"server_addresses": "ftp://h.example"}])
def test_a_registry_without_an_address_is_refused(config: Any) -> None:
    with pytest.raises(BadCard, match=r"nacos_client_config\.server_addresses"):
        NacosAgentCardResolver("robin", config)
    with pytest.raises(BadCard, match="remote_agent_name"):
        NacosAgentCardResolver("", "localhost:8848")


def test_the_printed_addresses_of_a_registry_are_read() -> None:
    for given in ("http://localhost:8848", "localhost", ["localhost:8848"]):
        assert NacosAgentCardResolver("robin", {"server_addresses": given}).servers == ["http://localhost:8848"]


def test_a_card_by_hand_makes_an_agent() -> None:
    """A2A-16: the printed card, with our classes or with those of the SDK for 0.3."""
    for card in (AgentCard(name="Friday", url="http://localhost:8000", capabilities=AgentCapabilities()), OLD):
        assert A2AAgent(agent_card=card).name == "Friday"

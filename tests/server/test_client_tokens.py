"""Client tokens: keys of short life to calls, which an application's backend gets for its pages."""

import json
import ssl
from typing import Any

import httpx
import pytest
from starlette.requests import HTTPConnection

from realtime.agent import RealtimeAgent
from realtime.errors import ClientError
from realtime.runtime import Runtime
from realtime.server.client_tokens import ClientTokens
from realtime.server.gate import OLD_CLIENT_TOKEN, ONLY_CALLS, Gate
from realtime.server.settings import ServerSettings
from realtime.server.token_guesses import FREE_TRIES
from tests.server.harness import Place, echo_agent, serving

GUARDED = ServerSettings(token="secret", drain_s=0)


async def ask(
    place: Place, body: Any = None, key: str = "secret", trusting: ssl.SSLContext | bool = True
) -> httpx.Response:
    async with httpx.AsyncClient(verify=trusting) as backend:
        headers = {"authorization": f"Bearer {key}"}
        return await backend.post(f"{place.url}/api/client_tokens", json=body or {}, headers=headers)


async def test_a_page_calls_with_the_token_that_its_backend_got_as_the_user_that_it_names() -> None:
    users: list[str] = []

    def agent_of(user: str) -> RealtimeAgent:
        users.append(user)
        return echo_agent()

    async with serving(agent_of, GUARDED) as place:
        answer = await ask(place, {"user_id": "ann", "expires_in_s": 60})
        assert answer.headers["cache-control"] == "no-store"
        token = answer.json()["token"]
        for _ in range(2):
            async with place.client(f"/ws/mallory/s1?token={token}") as client:
                await client.make_call()
    assert users == ["ann", "ann"]


async def test_a_token_without_a_user_opens_calls_of_any_and_no_token_opens_records_or_makes_another() -> None:
    async with serving(settings=GUARDED) as place:
        token = (await ask(place)).json()["token"]
        async with place.client(f"/ws/ben/s1?token={token}") as client:
            await client.make_call()
        assert (await place.get(f"/api/info?token={token}")).json()["protocols"] == ["realtime.v1"]
        assert (await place.get(f"/api/models?token={token}")).status == 200
        token = (await ask(place, {"user_id": "ann"})).json()["token"]
        for path in ("/api/calls?user=ann&", "/api/rooms?", "/api/check-models?"):
            assert (await place.get(f"{path}token={token}")).status in (401, 404)
        assert [(await ask(place, key=key)).status_code for key in ("wrong", token)] == [401, 401]


async def test_a_token_that_is_not_valid_opens_nothing() -> None:
    for settings in (GUARDED, ServerSettings(drain_s=0)):
        async with serving(settings=settings) as place, place.client("/ws/u/s?token=ct_long_gone") as client:
            assert await client.closed() == (1008, OLD_CLIENT_TOKEN)


async def test_a_request_that_cannot_be_met_is_refused() -> None:
    refusals = {
        b"no json": (400, "malformed_json"),
        b'{"expires_in_s": 9}': (422, "invalid_request"),
        b'{"expires_in_s": 7201}': (422, "invalid_request"),
        b'{"user_id": ""}': (422, "invalid_request"),
        b'{"lifetime": 1}': (422, "invalid_request"),
        json.dumps({"user_id": "x" * 5_000}).encode(): (413, "request_too_large"),
    }
    headers = {"authorization": "Bearer secret"}
    async with serving(settings=GUARDED) as place, httpx.AsyncClient() as backend:
        for body, refusal in refusals.items():
            answer = await backend.post(f"{place.url}/api/client_tokens", content=body, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == refusal


class Clock:
    now = 0.0


def shown(token: str) -> HTTPConnection:
    query = f"token={token}".encode()
    return HTTPConnection({"type": "websocket", "headers": [], "query_string": query, "path": "/", "client": ("h", 1)})


def test_a_token_ends_by_itself_and_its_late_use_slows_nobody() -> None:
    clock = Clock()
    gate = Gate(GUARDED, Runtime.deterministic(lambda: clock.now))
    made = gate.client_tokens.issue(b'{"user_id": "ann", "expires_in_s": 10}')
    token = str(made["token"])
    assert (gate.refusal(shown(token), to_call=True), gate.caller(shown(token))) == (None, "ann")
    clock.now = 10
    for _ in range(FREE_TRIES + 2):
        assert gate.refusal(shown(token), to_call=True) == OLD_CLIENT_TOKEN
    assert gate.caller(shown(token)) is None
    assert gate.refusal(shown("secret")) is None


def test_a_token_where_it_opens_nothing_slows_nobody() -> None:
    gate = Gate(GUARDED, Runtime.deterministic(lambda: 0.0))
    token = str(gate.client_tokens.issue(b"")["token"])
    for _ in range(FREE_TRIES + 2):
        assert gate.refusal(shown(token)) == ONLY_CALLS
        assert gate.page_session(shown(token)) is None
    assert gate.refusal(shown("secret")) is None


def test_a_servers_own_token_may_look_like_a_client_token() -> None:
    gate = Gate(ServerSettings(token="ct_mine"))
    assert gate.refusal(shown("ct_mine"), to_call=True) is None


def test_tokens_are_bounded() -> None:
    tokens = ClientTokens(Runtime.deterministic(lambda: 0.0), max_tokens=2)
    tokens.issue(b"")
    tokens.issue(b"")
    with pytest.raises(ClientError) as refused:
        tokens.issue(b"")
    assert (refused.value.code, refused.value.retryable) == ("too_many_tokens", True)

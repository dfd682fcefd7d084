"""Rules that a user has accepted hold in later calls of the session, where its client asks for that."""

from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.errors import StoreError
from realtime.message import PermissionBehavior, PermissionRule
from realtime.permission.accepted import MAX_ACCEPTED, merged, read_rules
from realtime.server.archive import Archive
from realtime.server.calls import Calls
from realtime.server.retention import Retention, Rules
from realtime.server.settings import ServerSettings
from realtime.state.open import open_store
from tests.server.harness import Client, Json, Place, serving
from tests.server.steps import TEXT, calling, hang_up
from tests.server.test_client_tokens import ask
from tests.server.test_consent import PAID, paying_agent
from tests.server.test_resume_from_store import Place as StoredPlace
from tests.server.test_resume_from_store import Store

KEEP = {"permissions": {"keep": True}}
ISSUE = {"permissions": {"keep": True, "key": ""}}
MINE = "/ws/anna/session1"
SPOKEN = [
    *(
        "session1",
        "Alice-Smith-2026-11-28-Room-B12",
        "call-1732790000123-user-42-tab-A1",
        "2026-11-27T04:53:02Z User 42",
    ),
    *(
        "0b6f1c9e52d84a7f93e1d2c8b7a65f40",
        "page-7d1e90aa43c24f6b8e5f02d9c1b3a684",
        "9b2f9d52-6c1e-4b07-9a55-3e0c8f0d7a11",
    ),
    *("c2hhMjU2OmFubmFAZXhhbXBsZS5jb20", "SGVsbG8sIEFubmEgU21pdGg", "permissions_0123456789abcdef"),
]
"""Session ids that a client says. Some look random; whoever has read an address, a log or a list says them as well."""


def with_key(key: str, **more: Any) -> Json:
    return {"permissions": {"keep": True, "key": key} | more}


def issued_to(client: Client) -> list[str]:
    """The keys that the server issued to this client."""
    return [told["value"]["key"] for told in client.events if told.get("name") == "permissions_key"]


@asynccontextmanager
async def server(store: str | None, make: Callable[..., RealtimeAgent] = paying_agent) -> AsyncIterator[Place]:
    """A server; another one with the same store is that one after a restart."""
    PAID.clear()
    async with serving(make, ServerSettings(drain_s=0, store=store)) as place:
        yield place


@asynccontextmanager
async def asked(
    place: Place, path: str = MINE, *, then: Json | None = None, **config: Any
) -> AsyncIterator[tuple[Client, Json]]:
    """A call in which the agent wants to pay, and the call of its tool as it was told. `then`: a change of settings."""
    async with place.client(f"{path}{'&' if '?' in path else '?'}dialect=native") as client:
        await client.make_call(**config)
        if then is not None:
            await client.send({"type": "client_session_update", "config": then})
        await client.send(TEXT)
        yield client, (await client.until("agent_response_tool_use_done"))["tool_use"]


async def agree(client: Client, told: Json, rule: int | None) -> None:
    """Let the agent pay, and accept the suggested rule in this place."""
    rules = None if rule is None else [told["suggested_rules"][rule]]
    answer = {"type": "client_tool_result", "id": told["id"], "name": "pay", "output": "", "confirmed": True}
    await client.send(answer | {"rules": rules})


async def call_and_pay(place: Place, path: str = MINE, *, accept: int | None = None, **config: Any) -> str:
    """The state of the tool's call as it was told. A question is agreed to."""
    state, _ = await call_for_key(place, path, accept=accept, **config)
    return state


async def call_for_key(
    place: Place, path: str = MINE, *, accept: int | None = None, **config: Any
) -> tuple[str, list[str]]:
    """The same, and the keys that were issued."""
    async with asked(place, path, **config) as (client, told):
        if told["state"] == "asking":
            await agree(client, told, accept)
        await client.until("agent_response_tool_result")
        await hang_up(client)
        return str(told["state"]), issued_to(client)


@pytest.fixture(params=["sqlite", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:{tmp_path / 'calls'}"


async def test_an_accepted_rule_holds_in_later_calls_that_show_the_issued_key_after_a_restart(store: str) -> None:
    """Listeners are told of it. No session id counts, and no other user has it."""
    async with server(store) as place:
        state, (key,) = await call_for_key(place, accept=2, **ISSUE)
        assert state == "asking"
    async with server(store) as place:
        async with asked(place, **with_key(key)) as (client, told):
            assert told["state"] == "pending"
            (custom,) = [event for event in client.events if event["type"] == "server_custom"]
            assert custom["name"] == "permission_updated"
            assert (custom["value"]["by"], custom["value"]["mode"]) == ("session", "default")
            rule = {"tool_name": "pay", "rule_content": None, "behavior": "allow", "source": "user"}
            assert custom["value"]["rules"] == custom["value"]["added"] == [rule]
            await client.until("agent_response_tool_result")
        assert await call_for_key(place, "/ws/anna/another", **with_key(key)) == ("pending", [])
        assert PAID == [5, 5]
        state, (other,) = await call_for_key(place, "/ws/ben/session1", **with_key(key))
        assert (state, other == key) == ("asking", False), "another user has another key"
        assert await call_and_pay(place) == "asking", "this client does not ask for it"


@pytest.mark.parametrize("said", SPOKEN)
async def test_a_session_id_or_a_made_up_key_opens_nothing(store: str, said: str) -> None:
    """Its client is told that rules end with the call; one that makes up a key gets another."""
    path = f"/ws/anna/{said.replace(' ', '%20')}"
    async with server(store) as place:
        async with asked(place, path, **KEEP) as (client, told):
            await agree(client, told, 2)
            await client.until("agent_response_tool_result")
            (error,) = [event for event in client.events if event["type"] == "agent_error"]
            assert (error["code"], "end with this call" in error["message"]) == ("rules_not_kept", True)
            await hang_up(client)
        assert await call_and_pay(place, path, **KEEP) == "asking"
        for _ in range(2):
            state, (issued,) = await call_for_key(place, path, accept=2, **with_key(said))
            assert (state, issued == said) == ("asking", False)


async def test_only_the_client_that_asked_reads_the_key(store: str) -> None:
    """Neither events of the call, nor its settings, nor lists and records of calls, nor the store have it."""
    async with server(store) as place:
        _, (key,) = await call_for_key(place, accept=2, **ISSUE)
        async with asked(place, **with_key(key)) as (client, _):
            call_id = client.events[0]["call_id"]
            await client.send({"type": "client_session_update", "config": with_key(key)})
            assert "only when a call is made" in (await client.until("agent_error"))["message"]
            assert key not in str(client.events)
        for path in ("", f"/{call_id}", f"/{call_id}/messages"):
            answer = await place.get(f"/api/calls{path}?user=anna")
            assert (answer.status, key.encode() in answer.body) == (200, False)
    files = [path for path in Path(store.partition(":")[2]).parent.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if key.encode() in path.read_bytes()] == []


async def test_a_client_keeps_and_forgets_when_it_asks_for_that(store: str) -> None:
    async with server(store) as place:
        await call_and_pay(place, accept=2)
        _, (key,) = await call_for_key(place, **ISSUE)
    async with server(store) as place:
        assert await call_for_key(place, accept=2, **with_key(key)) == ("asking", []), "nothing was left behind"
        assert await call_and_pay(place) == "asking", "not used, and not forgotten"
        assert await call_and_pay(place, **with_key(key)) == "pending"
        await call_and_pay(place, permissions={"keep": False, "key": key})
        state, (other,) = await call_for_key(place, **with_key(key))
        assert (state, other == key) == ("asking", False), "a forgotten key opens nothing again"
        only_key = {"permissions": {"key": other}}
        async with asked(place, then=KEEP, **only_key) as (client, told):
            assert told["state"] == "asking"
            await agree(client, told, 0)
            await client.until("agent_response_tool_result")
    async with server(store) as place:
        assert await call_and_pay(place, **with_key(other)) == "pending"


async def test_a_call_that_comes_back_from_the_store_goes_on_keeping_rules(store: str) -> None:
    async with server(store) as place, asked(place, **ISSUE) as (client, told):
        await agree(client, told, None)
        await client.until("agent_response_tool_result")
        (key,), token = issued_to(client), client.events[0]["resume_token"]
        seq = max(event.get("seq", 0) for event in client.events)
        client.connection.transport.abort()
    async with server(store) as place, place.client(f"{MINE}?dialect=native") as client:
        await client.send({"type": "client_session_resume", "token": token, "last_seq": seq})
        await client.until("server_session_resumed")  # and the agent goes on: it asks again
        await agree(client, (await client.until("agent_response_tool_use_done"))["tool_use"], 2)
        while (await client.until("server_custom"))["name"] != "permission_updated":
            pass
        await hang_up(client)
    async with server(store) as place:
        assert await call_and_pay(place, **with_key(key)) == "pending"


async def test_what_the_program_takes_away_is_gone_for_later_calls(store: str) -> None:
    def forgetful(**about: Any) -> RealtimeAgent:
        agent = paying_agent(**about)

        async def on_enter(entered: RealtimeAgent) -> None:
            for rule in entered.permissions.rules:
                entered.permissions.remove_rule(rule)

        agent._on_enter = on_enter
        return agent

    async with server(store) as place:
        _, (key,) = await call_for_key(place, accept=2, **ISSUE)
    async with server(store, forgetful) as place:
        assert await call_and_pay(place, **with_key(key)) == "asking"
    async with server(store) as place:
        assert await call_for_key(place, **with_key(key)) == ("asking", [])


async def test_calls_at_the_same_time_keep_the_rules_of_both(store: str) -> None:
    async with server(store) as place:
        _, (key,) = await call_for_key(place, **ISSUE)
        async with asked(place, **with_key(key)) as one, asked(place, **with_key(key)) as two:
            for (client, told), rule in ((one, 0), (two, 1)):
                await agree(client, told, rule)
                await client.until("server_custom")
    async with server(store) as place, place.client(f"{MINE}?dialect=native") as client:
        await client.make_call(**with_key(key))
        told = await client.until("server_custom")
        assert [rule["rule_content"] for rule in told["value"]["rules"]] == ["amount=5", "amount<=5"]


async def test_a_server_that_keeps_no_calls_says_so_and_the_call_goes_on() -> None:
    async with server(None) as place, asked(place, **KEEP) as (client, told):
        assert told["state"] == "asking"
        assert [event["code"] for event in client.events if event["type"] == "agent_error"] == ["rules_not_kept"]
        await client.send({"type": "client_session_update", "config": {"permissions": {"mode": "bypass"}}})
        assert (await client.until("agent_error"))["code"] == "invalid_config"


async def test_a_client_that_asks_later_and_shows_no_key_is_told_once_it_accepts(store: str) -> None:
    async with server(store) as place:
        async with asked(place, then=KEEP) as (client, told):
            await agree(client, told, 0)
            assert (await client.until("agent_error"))["code"] == "rules_not_kept"
        assert await call_and_pay(place, **KEEP) == "asking"


async def test_a_token_that_names_the_user_keeps_rules_under_any_session_id(store: str) -> None:
    """Not for a client that merely says that it is this user."""
    PAID.clear()
    settings = ServerSettings(drain_s=0, store=store, token="secret")
    async with serving(paying_agent, settings) as place:
        token = (await ask(place, {"user_id": "anna"})).json()["token"]
        mine = f"/ws/anna/session1?token={token}"
        assert await call_and_pay(place, mine, accept=1, **KEEP) == "asking"
        assert await call_and_pay(place, mine, **KEEP) == "pending"
        assert await call_and_pay(place, "/ws/anna/session1?token=secret", **KEEP) == "asking"


def test_a_damaged_note_allows_nothing() -> None:
    for note in ({"a": 1}, [{"tool_name": 5}, {"tool_name": "pay", "behavior": "deny"}], ["x"]):
        assert read_rules(note) == ()


class Broken(Store):
    """One whose notes cannot be read."""

    def note(self, key: str) -> bytes | None:
        raise StoreError("the disk is on fire")


class Damaged(Store):
    """One whose notes are no JSON."""

    def note(self, key: str) -> bytes | None:
        return b"{"


@pytest.mark.virtual_time
@pytest.mark.parametrize("made", [Broken, Damaged])
async def test_a_store_that_cannot_tell_is_reported_and_the_call_goes_on(made: type[Store]) -> None:
    place = StoredPlace(made())
    agent = RealtimeAgent("Friday", "", place.model)
    async with calling(lambda: agent, config=with_key("permissions_1"), calls=place.calls) as client:
        error = await client.until("agent_error")
        assert "asked again" in error["message"]
        assert "fire" not in error["message"]
    await place.stop()


async def test_a_rule_that_can_no_longer_be_kept_costs_no_result(store: str, caplog: pytest.LogCaptureFixture) -> None:
    """The server is shutting down: its threads take no more work."""
    async with server(store) as place, asked(place, **ISSUE) as (client, told):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ThreadPoolExecutor, "submit", _shut_down)
            await agree(client, told, 0)
            assert (await client.until("agent_response_tool_result"))["tool_result"]["state"] == "success"
    assert PAID == [5]
    (kept,) = [record for record in caplog.records if "could not be kept" in record.getMessage()]
    assert "amount" not in kept.getMessage()


def _shut_down(*_: Any) -> None:
    raise RuntimeError("cannot schedule new futures after shutdown")


async def test_kept_rules_go_with_the_calls_of_their_time(store: str) -> None:
    """`--keep-days`: what is older is deleted."""
    opened = open_store(store)
    archive = Archive(opened, resume_s=60)
    calls = Calls(max_per_address=1, max_total=1, archive=archive)
    opened.put_note("a" * 64, "2026-01-01T00:00:00.000Z", b"[]")
    opened.put_note("b" * 64, "2026-01-09T00:00:00.000Z", b"[]")
    await Retention(calls, archive, Rules(keep_s=86_400.0 * 3)).sweep(1_767_999_600.0)  # 9 January
    assert (opened.note("a" * 64), opened.note("b" * 64)) == (None, b"[]")
    await archive.close()


def test_a_user_has_a_bounded_number_of_rules() -> None:
    rules = [
        PermissionRule(tool_name="pay", rule_content=f"amount={number}", behavior=PermissionBehavior.ALLOW)
        for number in range(MAX_ACCEPTED + 5)
    ]
    kept = merged(rules[:MAX_ACCEPTED], rules[MAX_ACCEPTED:], [rules[10]])
    assert len(kept) == MAX_ACCEPTED
    assert kept[-1] == rules[-1]
    assert rules[10] not in kept

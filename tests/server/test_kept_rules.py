"""Rules that a user has accepted hold in later calls of the session, where its client asks for that."""

import base64
import random
import uuid
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
from realtime.server.kept_rules import is_guessable
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
SECRET, OTHER = "0b6f1c9e52d84a7f93e1d2c8b7a65f40", "page-7d1e90aa43c24f6b8e5f02d9c1b3a684"
"""Session ids of 128 random bits."""
MINE = f"/ws/anna/{SECRET}"


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
    async with asked(place, path, **config) as (client, told):
        if told["state"] == "asking":
            await agree(client, told, accept)
        await client.until("agent_response_tool_result")
        await hang_up(client)
    return str(told["state"])


@pytest.fixture(params=["sqlite", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:{tmp_path / 'calls'}"


async def test_an_accepted_rule_holds_in_the_next_call_of_the_session_after_a_restart(store: str) -> None:
    """Listeners are told of it."""
    async with server(store) as place:
        assert await call_and_pay(place, accept=2, **KEEP) == "asking"
    async with server(store) as place:
        async with asked(place, **KEEP) as (client, told):
            assert told["state"] == "pending"
            (custom,) = [event for event in client.events if event["type"] == "server_custom"]
            assert custom["name"] == "permission_updated"
            assert (custom["value"]["by"], custom["value"]["mode"]) == ("session", "default")
            rule = {"tool_name": "pay", "rule_content": None, "behavior": "allow", "source": "user"}
            assert custom["value"]["rules"] == custom["value"]["added"] == [rule]
            await client.until("agent_response_tool_result")
        assert await call_and_pay(place, **KEEP) == "pending"
        assert PAID == [5, 5]
        for other in (f"/ws/anna/{OTHER}", f"/ws/ben/{SECRET}"):
            assert await call_and_pay(place, other, **KEEP) == "asking"
        assert await call_and_pay(place) == "asking", "this client does not ask for it"


async def test_a_client_keeps_and_forgets_when_it_asks_for_that(store: str) -> None:
    async with server(store) as place:
        await call_and_pay(place, accept=2)
        await call_and_pay(place, accept=2, permissions={"keep": False})
    async with server(store) as place:
        assert await call_and_pay(place, accept=2, **KEEP) == "asking", "nothing was left behind"
        assert await call_and_pay(place) == "asking", "not used, and not forgotten"
        assert await call_and_pay(place, **KEEP) == "pending"
        await call_and_pay(place, permissions={"keep": False})
        async with asked(place, then=KEEP) as (client, told):
            assert told["state"] == "asking"
            await agree(client, told, 0)
            await client.until("agent_response_tool_result")
    async with server(store) as place:
        assert await call_and_pay(place, **KEEP) == "pending"


async def test_what_the_program_takes_away_is_gone_for_later_calls(store: str) -> None:
    def forgetful(**about: Any) -> RealtimeAgent:
        agent = paying_agent(**about)

        async def on_enter(entered: RealtimeAgent) -> None:
            for rule in entered.permissions.rules:
                entered.permissions.remove_rule(rule)

        agent._on_enter = on_enter
        return agent

    async with server(store) as place:
        await call_and_pay(place, accept=2, **KEEP)
    async with server(store, forgetful) as place:
        assert await call_and_pay(place, **KEEP) == "asking"
    async with server(store) as place:
        assert await call_and_pay(place, **KEEP) == "asking"


async def test_calls_at_the_same_time_keep_the_rules_of_both(store: str) -> None:
    async with server(store) as place, asked(place, **KEEP) as one, asked(place, **KEEP) as two:
        for (client, told), rule in ((one, 0), (two, 1)):
            await agree(client, told, rule)
            await client.until("server_custom")
    async with server(store) as place, place.client(f"{MINE}?dialect=native") as client:
        await client.make_call(**KEEP)
        told = await client.until("server_custom")
        assert [rule["rule_content"] for rule in told["value"]["rules"]] == ["amount=5", "amount<=5"]


async def test_a_server_that_keeps_no_calls_says_so_and_the_call_goes_on() -> None:
    async with server(None) as place, asked(place, **KEEP) as (client, told):
        assert told["state"] == "asking"
        assert [event["code"] for event in client.events if event["type"] == "agent_error"] == ["rules_not_kept"]
        await client.send({"type": "client_session_update", "config": {"permissions": {"mode": "bypass"}}})
        assert (await client.until("agent_error"))["code"] == "invalid_config"


@pytest.mark.parametrize("at_once", [True, False])
async def test_rules_of_a_session_that_others_can_guess_hold_for_the_call_and_its_client_is_told(
    store: str, at_once: bool
) -> None:
    guessed = "/ws/anna/session1"
    async with server(store) as place:
        config = KEEP if at_once else {}
        async with asked(place, guessed, then=None if at_once else KEEP, **config) as (client, told):
            if not at_once:
                await agree(client, told, 0)
                await client.until("agent_error")
            (error,) = [event for event in client.events if event["type"] == "agent_error"]
            assert (error["code"], "128 random bits" in error["message"]) == ("rules_not_kept", True)
        assert await call_and_pay(place, guessed, **KEEP) == "asking"


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


def test_short_and_speaking_ids_can_be_guessed_and_those_of_128_random_bits_cannot() -> None:
    guessable = [
        *("", "session1", "s" * 99, "annas-restaurant-in-the-old-town", "call-2026-11-27-room-3", "1764201600123"),
        *("Ann.Smith1984@Example.com-Session2", "2026-11-27T04:53:02Z User 42"),
        *("7bf5804e-ea1e-11f1-87df-02fc00000001", "96f839ea-b06a-50c3-971d-f2203e64dede"),
    ]
    assert [one for one in guessable if not is_guessable(one)] == []
    chance = random.Random(7)
    for _ in range(2_000):
        made = uuid.UUID(int=chance.getrandbits(128), version=4)
        in_base64 = base64.urlsafe_b64encode(chance.randbytes(16)).decode().rstrip("=")
        for session_id in (str(made), made.hex, f"page-{made.hex}", in_base64):
            assert not is_guessable(session_id), session_id


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
    async with calling(lambda: agent, config=KEEP, calls=place.calls, session_id=SECRET) as client:
        error = await client.until("agent_error")
        assert "asked again" in error["message"]
        assert "fire" not in error["message"]
    await place.stop()


async def test_a_rule_that_can_no_longer_be_kept_costs_no_result(store: str, caplog: pytest.LogCaptureFixture) -> None:
    """The server is shutting down: its threads take no more work."""
    async with server(store) as place, asked(place, **KEEP) as (client, told):
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

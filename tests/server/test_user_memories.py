"""Each user whom a client token names has a memory: in calls, over HTTP, and no other user's."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from realtime.agent import RealtimeAgent, memory_of_call
from realtime.errors import BadOption, UsageError
from realtime.memory import LongTermMemoryBase, SqliteLongTermMemory
from realtime.message import Msg, UserMsg
from realtime.model.base import ModelInput, ResponseCreate, SessionUpdate
from realtime.model.scripted import PROFILE, ScriptedModel, Speak
from realtime.server.app import create_app
from realtime.server.plan import Plan, app_of
from realtime.server.settings import ServerSettings
from realtime.server.warming import Warming
from tests.real_loop import settled
from tests.server.harness import Client, Place, serving_app
from tests.server.test_caller_sessions import said
from tests.server.test_client_tokens import ask
from tests.volumes import HANG_S

MakeMemory = Callable[[str], LongTermMemoryBase]


class Reading(ScriptedModel):
    """Says what its instructions have of the memory."""

    def __init__(self) -> None:
        super().__init__(self._answer, profile=PROFILE, strict=False)
        self._known = ""

    def _answer(self, message: ModelInput) -> list[Speak]:
        if isinstance(message, SessionUpdate):
            self._known = message.settings.instructions
        if not isinstance(message, ResponseCreate):
            return []
        quoted = [line for line in self._known.splitlines() if line.startswith("- ")]
        return [Speak("; ".join(quoted) or "Nothing.", 0.1)]


def friday(**options: Any) -> RealtimeAgent:
    return RealtimeAgent("Friday", "You are Friday.", Reading(), long_term_memory_mode="static_control", **options)


@asynccontextmanager
async def server(
    memory: MakeMemory | None, make: Callable[..., RealtimeAgent] = lambda: friday(), **settings: Any
) -> AsyncIterator[Place]:
    given = ServerSettings(**{"token": "secret", "drain_s": 0} | settings)
    app = create_app(make, given, memory=memory, warming=Warming(lambda: None, print))
    async with serving_app(app) as place:
        yield place


def in_file(folder: Path) -> MakeMemory:
    return partial(SqliteLongTermMemory, folder / "memories.db")


async def token_of(place: Place, user: str | None) -> str:
    return str((await ask(place, {} if user is None else {"user_id": user})).json()["token"])


@asynccontextmanager
async def calling(place: Place, user: str | None, address: str = "anyone") -> AsyncIterator[Client]:
    async with place.client(f"/ws/{address}/s1?token={await token_of(place, user)}") as client:
        await client.make_call()
        yield client


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let turns wait for what is recalled: what is known is no matter of the machine's load."""
    monkeypatch.setattr(memory_of_call, "RECALL_S", HANG_S)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


USERS = ("ann", "../x", "..", "auth0|17", "x" * 128, "a\u0000b", "安 娜")


async def test_each_user_has_a_memory_and_none_has_another_ones(tmp_path: Path) -> None:
    """REA-35 in a server. A user id is data: none leads out of the file, or to another user's."""
    async with server(in_file(tmp_path)) as place:
        for user in USERS:
            async with calling(place, user) as client:
                await said(client, f"My dog is called {user[:9]}.")
        for user in USERS:
            async with calling(place, user) as client:
                told = await said(client, "How is my dog called?")
            assert [f"is called {other[:9]}." in told for other in USERS] == [
                other == user for other in USERS
            ] or "\u0000" in user
    assert {name.partition("-")[0] for name in names_in(tmp_path)} == {"memories.db"}


@pytest.mark.parametrize(("user", "address"), [(None, "ann"), (None, "..x")])
async def test_a_call_without_an_authenticated_user_has_no_memory(
    user: str | None, address: str, tmp_path: Path
) -> None:
    """The user id of an address shows nothing."""
    asked: list[str] = []

    def memory(user_id: str) -> LongTermMemoryBase:
        asked.append(user_id)
        return SqliteLongTermMemory(tmp_path / "memories.db", user_id)

    async with server(memory) as place, calling(place, user, address) as client:
        assert await said(client, "My dog is called Bello.") == "Nothing."
    async with server(memory, token=None) as place, place.client("/ws/ann/s1") as client:
        await client.make_call()
        assert await said(client, "How is my dog called?") == "Nothing."
    assert asked == []


async def test_make_agent_learns_whether_its_user_is_known() -> None:
    known: list[str | None] = []

    def make(user: str, known_user: str | None) -> RealtimeAgent:
        known.extend((user, known_user))
        return friday()

    async with server(None, make) as place, calling(place, "ann"), calling(place, None, "ben"):
        pass
    assert known == ["ann", "ann", "ben", None]


async def test_a_memory_of_the_agent_itself_comes_first(tmp_path: Path) -> None:
    own = SqliteLongTermMemory(tmp_path / "own.db", "friday")

    def make() -> RealtimeAgent:
        return friday(long_term_memory=own)

    async with server(in_file(tmp_path), make) as place, calling(place, "ann") as client:
        await said(client, "My dog is called Bello.")
    assert "My dog is called Bello." in {one.text for one in await own.remembered()}
    assert not (tmp_path / "memories.db").exists()
    await own.aclose()


class Hanging(LongTermMemoryBase):
    """Raises when it is asked, and when it is closed."""

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 5, **kwargs: Any) -> str:
        raise ConnectionError("secret words")

    async def record(self, msgs: list[Msg | None], **kwargs: Any) -> None:
        raise ConnectionError("secret words")

    async def aclose(self) -> None:
        raise ConnectionError("secret words")


def broken(user: str) -> LongTermMemoryBase:
    raise LookupError(f"no memory for {user}, secret words")


@pytest.mark.parametrize("memory", [broken, lambda user: None, lambda user: Hanging()], ids=["raises", "none", "fails"])
async def test_a_memory_that_cannot_be_had_costs_no_call(memory: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with server(memory) as place:
            async with calling(place, "ann") as client:
                assert await said(client, "Hello") == "Nothing."
            answer = await api(place, "get", "ann")
    assert answer.status_code in (501, 503)
    assert "memory" in caplog.text
    assert "secret words" not in caplog.text


def test_a_single_memory_for_all_users_is_refused(tmp_path: Path) -> None:
    for wrong in (SqliteLongTermMemory(tmp_path / "m.db", "ann"), "memories.db"):
        with pytest.raises(BadOption, match="memory"):
            create_app(lambda: friday(), memory=wrong)  # type: ignore[arg-type]


async def test_the_command_gives_its_users_memories_and_forgets_old_ones(tmp_path: Path) -> None:
    place = str(tmp_path / "memories.db")
    app = app_of(Plan(model="scripted", memory=place, settings=ServerSettings(token="secret")), print)
    assert app.state.calls.memories.of("ann").memory.path == Path(place)
    with pytest.raises(UsageError, match="--remember FILE, or --memory FILE"):
        serve_with(remember=tmp_path / "a.db", memory=tmp_path / "b.db")


def serve_with(**options: Any) -> None:
    from realtime.commands.serve import serve

    serve(host="127.0.0.1", store="none", **options)


# -- over HTTP ---------------------------------------------------------------------------------------------------------


async def api(
    place: Place, method: str, user: str | None, rest: str = "", key: str | None = None, **sent: Any
) -> httpx.Response:
    """Ask `/api/memories` with the client token of a user, or with `key`."""
    token = key if key is not None else await token_of(place, user)
    async with httpx.AsyncClient(timeout=HANG_S) as client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return await client.request(method, f"{place.url}/api/memories{rest}", headers=headers, **sent)


async def test_a_user_lists_corrects_and_deletes_what_is_remembered(tmp_path: Path) -> None:
    ann, ben = (in_file(tmp_path)(user) for user in ("ann", "ben"))
    assert isinstance(ann, SqliteLongTermMemory)
    await ann.record([UserMsg("Ann", f"Fact {number}.") for number in range(5)])
    await ben.record([UserMsg("Ben", "Ben's secret.")])
    async with server(in_file(tmp_path)) as place:
        first = await api(place, "get", "ann", "?limit=3")
        assert first.headers["cache-control"] == "no-store"
        page = first.json()
        rest = (await api(place, "get", "ann", f"?limit=3&before={page['next']}")).json()
        texts = [one["text"] for one in (*page["memories"], *rest["memories"])]
        assert (texts, rest["next"]) == ([f"Fact {number}." for number in (4, 3, 2, 1, 0)], None)
        newest, oldest = page["memories"][0]["id"], rest["memories"][-1]["id"]
        assert (await api(place, "put", "ann", f"/{newest}", json={"text": "I am Ann."})).status_code == 204
        assert (await api(place, "delete", "ann", f"/{oldest}")).status_code == 204
        listed = (await api(place, "get", "ann")).json()["memories"]
        assert [one["text"] for one in listed] == ["I am Ann.", "Fact 3.", "Fact 2.", "Fact 1."]
        assert (await api(place, "delete", "ann")).json() == {"forgotten": 4}
        assert (await api(place, "get", "ann")).json() == {"memories": [], "next": None}
        theirs = (await api(place, "get", None, "?user=ben", key="secret")).json()["memories"]
        assert [one["text"] for one in theirs] == ["Ben's secret."]
    data = bytes_in(tmp_path)
    assert [word in data for word in (b"Fact", b"I am Ann", b"Ben's secret")] == [False, False, True]
    for one in (ann, ben):
        await one.aclose()


REFUSED = [
    ("get", "ann", "?user=ben", {}, 403, "other_user"),
    ("get", None, "", {}, 403, "unknown_user"),
    ("get", None, "?user=ben", {}, 403, "unknown_user"),
    ("get", "ann", "?before=x", {}, 422, "bad_option"),
    ("get", "ann", "?before=../x", {}, 422, "bad_option"),
    ("delete", "ann", "/999", {}, 404, "unknown_memory"),
    ("delete", "ann", "/1", {}, 404, "unknown_memory"),
    ("delete", "ann", "/all", {}, 404, "unknown_memory"),
    ("delete", "ann", "/-1", {}, 422, "bad_option"),
    ("delete", "ann", "/..%2Fx", {}, 405, None),
    ("put", "ann", "/1", {"json": {"text": "Mine now."}}, 404, "unknown_memory"),
    ("put", "ann", "/2", {"json": {"text": " "}}, 422, "bad_option"),
    ("put", "ann", "/2", {"json": {"text": "x" * 2_001}}, 422, "invalid_request"),
    ("put", "ann", "/2", {"json": {"text": 7}}, 422, "invalid_request"),
    ("put", "ann", "/2", {"json": {"text": "x", "user": "ben"}}, 422, "invalid_request"),
    ("put", "ann", "/2", {"content": b"{"}, 400, "malformed_json"),
    ("put", "ann", "/2", {"content": b"x" * 20_000}, 413, "request_too_large"),
]


async def test_requests_that_are_refused_change_nothing(tmp_path: Path) -> None:
    """The first memory of the file is Ben's."""
    memory = in_file(tmp_path)
    for user in ("ben", "ann"):
        await memory(user).record([UserMsg(user, f"Secret of {user}.")])
    async with server(memory) as place:
        for method, user, rest, sent, status, code in REFUSED:
            answer = await api(place, method, user, rest, **sent)
            told = answer.json()
            assert (answer.status_code, told.get("code")) == (status, code), (method, rest, told)
            assert "Secret" not in answer.text
        assert (await api(place, "get", None, key="")).status_code == 401
        assert (await api(place, "get", None, key="wrong")).status_code == 401
        for user in ("ann", "ben"):
            listed = (await api(place, "get", user)).json()["memories"]
            assert [one["text"] for one in listed] == [f"Secret of {user}."]
    async with server(memory, token=None, lists_calls=False) as place:
        assert (await api(place, "get", None, "?user=ann", key="")).json()["code"] == "not_listed"
    async with server(None) as place:
        assert (await api(place, "get", "ann")).status_code == 404


async def test_what_is_deleted_over_http_leaves_the_calls_of_the_user_too(tmp_path: Path) -> None:
    """Neither does a running call know it any more, nor is what was said before recorded by it."""
    memory = in_file(tmp_path)("ann")
    assert isinstance(memory, SqliteLongTermMemory)
    await memory.record([UserMsg("Ann", "My dog is called Bello.")])
    async with server(in_file(tmp_path)) as place:
        async with calling(place, "ann") as client, calling(place, "ann") as other:
            for one in (client, other):
                assert "Bello" in await said(one, "How is my dog called?")
            assert (await api(place, "delete", "ann")).status_code == 200
            for one in (client, other):
                assert await said(one, "And my cat?") == "Nothing."
        await settled(lambda: not place.calls.sessions)
    kept = {one.text for one in await memory.remembered()}
    assert "And my cat?" in kept
    assert not any("Bello" in text or "dog" in text for text in kept)
    await memory.aclose()

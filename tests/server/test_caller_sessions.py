"""Agents remember the users who call them: over real sockets, with sessions in files, SQLite and Redis."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from realtime.agent import RealtimeAgent
from realtime.commands.serve import session_url
from realtime.errors import BadOption, StoreError, UsageError
from realtime.message import TextBlock
from realtime.model.base import AudioCommit, ModelInput, ResponseCreate
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.scripted import PROFILE, ScriptedModel, Speak, Step, Transcribe
from realtime.plan import PlanNotebook
from realtime.server import caller_sessions
from realtime.server.app import create_app
from realtime.server.plan import Plan, app_of
from realtime.server.settings import ServerSettings
from realtime.server.warming import Warming
from realtime.session import SessionBase
from realtime.state.open import open_session
from realtime.state.sessions import StoredSession
from tests.real_loop import settled
from tests.server.harness import Client, Json, Place, serving_app
from tests.server.steps import END, hang_up
from tests.server.test_client_tokens import ask
from tests.state.redis_server import redis_server

GREETING = "Greet the caller."
Make = Callable[[], RealtimeAgent]


def friday(sys_prompt: str = "You are Friday.", greeting: str = "", plan: PlanNotebook | None = None) -> RealtimeAgent:
    """Says how many turns of its user it knows."""
    return RealtimeAgent("Friday", sys_prompt, Counting(), greeting=greeting, plan_notebook=plan)


class Counting(ScriptedModel):
    """Says how many items of the user its conversation has. Speech is understood as one sentence."""

    def __init__(self) -> None:
        super().__init__(self._answer, profile=PROFILE, strict=False)

    async def connect(self, **parts: Any) -> Any:
        self._history = parts["history"]
        return await super().connect(**parts)

    def _answer(self, message: ModelInput) -> list[Step]:
        if isinstance(message, AudioCommit):
            return [Transcribe("I am Ann.")]
        if not isinstance(message, ResponseCreate):
            return []
        turns = sum(item.role == "user" for item in self._history())
        return [Speak("Hello again." if message.overrides else f"Turn {turns}.", 0.1)]


@asynccontextmanager
async def server(session: StoredSession, make: Make = lambda: friday()) -> AsyncIterator[Place]:
    """A server; another one with the same place of sessions is that one after a restart."""
    settings = ServerSettings(token="secret", drain_s=0)
    app = create_app(make, settings, session=session, warming=Warming(lambda: None, print))
    async with serving_app(app) as place:
        yield place
    await session.aclose()


@asynccontextmanager
async def calling(place: Place, user: str = "ann", session_id: str = "s1") -> AsyncIterator[Client]:
    """A call of the user whom a client token names."""
    token = (await ask(place, {"user_id": user})).json()["token"]
    async with place.client(f"/ws/anyone/{session_id}?token={token}") as client:
        await client.make_call()
        yield client


async def said(client: Client, text: str) -> str:
    """Write to the agent, and hear what it says."""
    await client.send({"type": "client_text_append", "text": text})
    words = await client.until("agent_response_audio_transcript_done")
    await client.until("agent_response_done")
    await client.send({"type": "client_playback_ack", "item_id": words["item_id"], "played_ms": 60_000})
    return str(words["transcript"]).strip()


def told(client: Client) -> list[Any]:
    """The codes of all errors that the client got."""
    return [event["code"] for event in client.events if event["type"] == "agent_error"]


def list_of(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


def of(user: str, folder: Path) -> Json:
    state: Json = json.loads((folder / "users" / user / "Friday.json").read_text("utf-8"))
    return state


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with redis_server(tmp_path_factory.mktemp("redis")) as path:
        yield f"unix://{path}"


@pytest.fixture(params=["json", "sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        return str(request.getfixturevalue("redis_url"))
    return f"{request.param}:{tmp_path / 'sessions'}"


async def test_a_user_who_calls_again_is_remembered_after_a_restart_and_no_other_user_is(url: str) -> None:
    async with server(open_session(url)) as place:
        async with calling(place, "auth0|17") as client:
            assert await said(client, "I am Ann.") == "Turn 1."
            await hang_up(client)
        async with calling(place, "ben") as client:
            assert await said(client, "I am Ben.") == "Turn 1."
    async with server(open_session(url)) as place:
        async with calling(place, "auth0|17") as client:
            assert await said(client, "Who am I?") == "Turn 2."
        async with calling(place, "ben") as client:
            assert await said(client, "Who am I?") == "Turn 2."


async def test_of_two_calls_at_once_the_first_to_save_is_remembered_and_the_other_is_told(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where they are at two servers."""
    user = "two"
    async with server(open_session(url)) as place, server(open_session(url)) as other:
        async with calling(place, user) as one, calling(place, user, "s2") as two, calling(other, user) as three:
            await said(one, "One.")
            await settled(lambda: not saving(place))
            for late in (two, three):
                assert await said(late, "Two.") == "Turn 1."
                error = await late.until("agent_error")
                assert error["code"] == "session_taken"
                assert "another call of the same user" in error["message"]
                assert await said(late, "Go on.") == "Turn 2."
            await said(one, "Still one.")
            for client in (one, two, three):
                await hang_up(client)
        async with calling(place, user) as again:
            assert await said(again, "And now?") == "Turn 3."
    assert told(one) == []
    lines = [record.message for record in caplog.records if record.name == caller_sessions.__name__]
    assert len(lines) == 2
    assert all("user 'two': another call of the same user" in line for line in lines)


def saving(place: Place) -> bool:
    callers = place.calls.callers
    assert callers is not None
    return any(one.saving is not None for one in callers._open)


async def test_a_call_whose_user_is_only_named_is_not_remembered(tmp_path: Path) -> None:
    async with server(open_session(f"json:{tmp_path}")) as place:
        for _ in range(2):
            async with place.client("/ws/ann/s1?token=secret") as client:
                await client.make_call()
                assert await said(client, "I am Ann.") == "Turn 1."
                await hang_up(client)
    assert not list_of(tmp_path)


async def test_a_call_is_saved_at_the_end_of_each_reply(tmp_path: Path) -> None:
    async with server(open_session(f"json:{tmp_path}")) as place, calling(place) as client:
        await said(client, "I am Ann.")
        path = tmp_path / "users" / "ann" / "Friday.json"
        await settled(path.exists)
        assert "I am Ann." in path.read_text("utf-8")


BROKEN: dict[str, tuple[bytes, str]] = {
    "damaged": (b'{"agent": {', "is damaged"),
    "of another program": (b'{"basket": {"books": 2}}', "has no state of agent"),
    "of AgentScope": (b'{"agent": {"memory": {"content": []}, "name": "Friday"}}', "not the state of a RealtimeAgent"),
    "of another version": (b'{"agent": {"conversation": [{"who": "ann"}]}}', "no saved conversation"),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_with_a_state_that_cannot_be_read_a_call_begins_afresh_and_the_file_stays(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, why = BROKEN[kind]
    path = tmp_path / "users" / "ann" / "Friday.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    async with server(open_session(f"json:{tmp_path}")) as place, calling(place) as client:
        assert await said(client, "I am Ann.") == "Turn 1."
        await hang_up(client)
    assert path.read_bytes() == data
    (warning,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "user 'ann' is not remembered by 'Friday', and this call begins afresh and is not saved" in warning.message
    assert why in warning.message


async def test_what_the_program_has_changed_since_counts_and_one_agent_may_serve_all_users(tmp_path: Path) -> None:
    def make(sys_prompt: str) -> Make:
        agent = friday(sys_prompt, GREETING, PlanNotebook())
        return lambda: agent

    url = f"json:{tmp_path}"
    for prompt in ("Be brief.", "Be polite."):
        async with server(open_session(url), make(prompt)) as place:
            async with calling(place) as client:
                greeted = await client.until("agent_response_audio_transcript_done")
                assert greeted["transcript"].strip() == "Hello again."
                await said(client, "Hello.")
                await hang_up(client)
            async with calling(place, "ben") as client:
                await client.until("agent_response_done")
                assert not any(event.get("item", {}).get("role") == "user" for event in client.events)
    assert of("ann", tmp_path)["agent"]["sys_prompt"] == "Be polite."
    assert of("ann", tmp_path)["agent"]["plan_notebook"]["current_plan"] is None
    texts = [item["content"][0].get("text") for item in of("ann", tmp_path)["agent"]["conversation"]]
    assert texts.count("Hello.") == 2


async def test_only_the_newest_items_are_kept_from_a_turn_of_the_user_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caller_sessions, "KEPT_ITEMS", 3)
    async with server(open_session(f"json:{tmp_path}")) as place, calling(place) as client:
        for number in range(3):
            await said(client, f"Turn {number}.")
        await hang_up(client)
    kept = of("ann", tmp_path)["agent"]["conversation"]
    assert [item["role"] for item in kept] == ["user", "assistant"]
    assert kept[0]["content"][0]["text"] == "Turn 2."


class Failing(StoredSession):
    """A place that cannot be written at first."""

    fails = True
    kept: bytes | None = None

    def _where(self, session_id: str, user_id: str) -> str:
        return "nowhere"

    async def _read(self, session_id: str, user_id: str) -> bytes | None:
        return self.kept

    async def _write(self, session_id: str, user_id: str, data: bytes, over: str | None = None) -> bool:
        if self.fails:
            raise StoreError("the disk is full", code="store_full")
        self.kept = data
        return True

    async def _ids(self, user_id: str) -> list[str]:
        return []

    async def _delete(self, user_id: str) -> None:
        self.kept = None

    async def drop_before(self, wall_s: float) -> int:
        return 0


async def test_what_cannot_be_saved_is_told_once_and_saved_later() -> None:
    session = Failing()
    async with server(session) as place, calling(place) as client:
        await said(client, "One.")
        error = await client.until("agent_error")
        assert (error["code"], "the disk is full" in error["message"]) == ("session_not_saved", True)
        await said(client, "Two.")
        session.fails = False
        await said(client, "Three.")
        await hang_up(client)
        assert told(client) == ["session_not_saved"]
    assert session.kept is not None
    assert all(text in session.kept.decode() for text in ("One.", "Two.", "Three."))


async def test_a_call_that_its_user_has_left_gives_way_to_the_next_one(tmp_path: Path) -> None:
    async with server(open_session(f"json:{tmp_path}")) as place:
        async with calling(place) as lost:
            await said(lost, "One.")
            lost.connection.transport.abort()
        await settled(lambda: any(call.is_deserted for call in place.calls.sessions.values()))
        async with calling(place) as client:
            assert await said(client, "Two.") == "Turn 2."
            await hang_up(client)
            assert told(client) == []
    kept = [item["content"][0].get("text") for item in of("ann", tmp_path)["agent"]["conversation"]]
    assert [text for text in kept if text in ("One.", "Two.")] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("calls.db", "these are no sessions: use json:FOLDER"),
        ("redis://:secret@host:port/0", "these are no sessions: use json:FOLDER"),
        ("redis://:secret@localhost:1/0", "--session cannot be used: Redis: "),
        ("sqlite:{here}/other.db", "is a database of something else"),
        ("json:{here}/other.db", "--session cannot be used: Not a directory"),
    ],
)
def test_what_cannot_be_used_for_sessions_is_found_before_the_first_call(url: str, why: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE books (title)")
    with pytest.raises(UsageError) as refused:
        session_url(url.format(here=tmp_path))
    assert why in refused.value.message
    assert "secret" not in refused.value.message


async def test_realtime_serve_opens_its_sessions_and_closes_them(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'callers.db'}"
    settings = ServerSettings(token="secret", drain_s=0)
    app = app_of(Plan(model="scripted", session=url, settings=settings), print)
    async with serving_app(app) as place, calling(place) as client:
        await said(client, "I am Ann.")
        await hang_up(client)
    with closing(sqlite3.connect(tmp_path / "callers.db")) as kept:
        ((user, state),) = kept.execute("SELECT user_id, state FROM sessions")
    assert (user, b"I am Ann." in state) == ("ann", True)


class Slow(ChatModelBase):
    """Fills in no record before the test lets it."""

    def __init__(self) -> None:
        super().__init__("slow", False)
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def __call__(self, *args: Any, **options: Any) -> ChatResponse:
        self.asked.set()
        await self.may_answer.wait()
        return ChatResponse([TextBlock(text="{}")])


class Nothing(BaseModel):
    """The record of a call."""


async def test_who_calls_again_while_the_last_call_still_ends_is_remembered(tmp_path: Path) -> None:
    chat = Slow()

    def make() -> RealtimeAgent:
        return RealtimeAgent("Friday", "", Counting(), call_record=Nothing, chat_model=chat)

    async with server(open_session(f"json:{tmp_path}"), make) as place, calling(place) as before:
        await said(before, "One.")
        await before.send(END)
        await chat.asked.wait()
        async with calling(place) as again:
            assert await said(again, "Two.") == "Turn 2."
            chat.may_answer.set()
            await before.until("server_session_ended")
            assert await said(again, "Three.") == "Turn 3."
            await hang_up(again)
            assert told(again) == []
    texts = [item["content"][0].get("text") for item in of("ann", tmp_path)["agent"]["conversation"]]
    assert [text for text in texts if text] == ["One.", "Two.", "Three."]


def test_sessions_of_another_kind_are_refused() -> None:
    class Own(SessionBase):
        async def save_session_state(self, session_id: str, user_id: str = "", **modules: Any) -> None: ...

        async def load_session_state(self, session_id: str, user_id: str = "", *_: Any, **modules: Any) -> None: ...

    with pytest.raises(BadOption, match="session is a JSONSession"):
        create_app(friday, session=Own())  # type: ignore[arg-type]

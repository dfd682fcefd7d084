"""Calls over HTTP: live and ended, as realtime events, as reply events, as messages; and who may see them."""

import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from realtime.agent import RealtimeAgent
from realtime.errors import ClientError, StoreError
from realtime.event import model as m
from realtime.event.reply import ReplyStartEvent, read_reply_event
from realtime.interop import DIALECTS, load
from realtime.message import Msg, fold_messages
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.script import CallTools, Emit, Speak, Step
from realtime.model.scripted import PROFILE, ScriptedModel
from realtime.server.archive import Archive
from realtime.server.make_agent import MakeAgent
from realtime.server.settings import ServerSettings
from realtime.state.log import Log
from realtime.state.memory import MemoryStore
from realtime.state.open import open_store
from realtime.state.store import CallInfo, Change
from realtime.tool import Toolkit
from tests.real_loop import settled
from tests.server.harness import Json, Place, echo_agent, serving
from tests.server.steps import TEXT, friday, hang_up, in_call


@asynccontextmanager
async def keeping(folder: Path, make_agent: MakeAgent = echo_agent, **settings: Any) -> AsyncIterator[Place]:
    """A server with a store."""
    kept = {"store": f"sqlite:{folder / 'calls.sqlite'}"} | settings
    async with serving(make_agent, ServerSettings(drain_s=0, **kept)) as place:
        yield place


async def told(place: Place, path: str = "", **query: str) -> Any:
    """What the server says of calls of `user1`."""
    words = "&".join(f"{name}={value}" for name, value in ({"user": "user1"} | query).items())
    return (await place.get(f"/api/calls{path}?{words}")).json()


async def one_call(place: Place, *, user: str = "user1") -> str:
    """A call with one turn, ended by its client: its id."""
    async with place.client(f"/ws/{user}/session1") as client:
        created = await client.make_call()
        await client.send(TEXT)
        await client.until("agent_response_done")
        await hang_up(client)
    call_id: str = created["call_id"]
    return call_id


def events_of(body: bytes) -> list[tuple[int | None, str, Json]]:
    """(id, type, data) of each event of a stream."""
    found = []
    for frame in body.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.splitlines() if not line.startswith(":"))
        if lines:
            found.append((int(lines["id"]) if "id" in lines else None, lines["event"], json.loads(lines["data"])))
    return found


async def test_an_ended_call_is_told_as_the_events_that_its_client_saw(tmp_path: Path) -> None:
    """REC-27, AMB-27: a reader that was cut off names the last id, and misses nothing."""
    async with keeping(tmp_path) as place:
        path = f"/api/calls/{await one_call(place)}/events?user=user1"
        answer = await place.get(path)
        assert answer.headers["content-type"].startswith("text/event-stream")
        whole = events_of(answer.body)
        kinds = [kind for _, kind, _ in whole]
        assert (kinds[:2], kinds[-1]) == (["server_session_created", "agent_ready"], "server_session_ended")
        assert [place for place, _, _ in whole] == sorted(data["seq"] for _, _, data in whole)
        assert whole[0][2]["resume_token"] is None, "a token is for its client alone"
        for seen in (1, 5, whole[-2][0] or 0):
            rest = await place.get(path, last_event_id=str(seen))
            assert events_of(rest.body) == [one for one in whole if (one[0] or 0) > seen]
        assert (await place.get(path, last_event_id="x")).status == 400
        for wrong in (f"after={10**20}", "vocabulary=esperanto"):
            assert (await place.get(f"{path}&{wrong}")).status == 422


async def test_what_the_user_waited_is_listed_turn_by_turn(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place, place.client() as client:
        call_id = (await client.make_call())["call_id"]
        for _ in range(2):
            await client.send(TEXT)
            item_id = (await client.until("agent_response_audio_delta"))["item_id"]
            await client.until("agent_response_done")
            await client.send({"type": "client_playback_ack", "item_id": item_id, "played_ms": 10})
            await client.until("server_latency")
        waited = await told(place, f"/{call_id}/latency")
        other = await place.get(f"/api/calls/{call_id}/latency?user=user2")
    assert other.status == 404
    waited_ms = [one["latency_ms"] for one in waited["turns"]]
    assert (len(waited_ms), waited["p50_ms"], waited["p95_ms"]) == (2, min(waited_ms), max(waited_ms))
    for one in waited["turns"]:
        assert sum(one["stages_ms"].values()) == one["latency_ms"]
        assert [*one["stages_ms"]][-1] == "played"
        assert not one["estimated"]


@pytest.mark.parametrize("vocabulary", ["realtime", "reply"])
async def test_a_live_call_is_read_by_somebody_else_while_it_goes_on(tmp_path: Path, vocabulary: str) -> None:
    """EVT-14: reply events over SSE. A second reader of a live call is just another cursor."""
    async with keeping(tmp_path) as place, place.client() as client:
        created = await client.make_call()
        path = f"/api/calls/{created['call_id']}/events?user=user1&vocabulary={vocabulary}"
        reading = asyncio.create_task(place.get(path))
        await client.send(TEXT)
        await client.until("agent_response_done")
        await hang_up(client)
        events = events_of((await reading).body)
        if vocabulary == "realtime":
            shown = [event["seq"] for event in client.events if event["type"] != "agent_response_audio_delta"]
            assert [data["seq"] for _, _, data in events] == shown
        else:
            messages = fold_messages([read_reply_event(data) for _, _, data in events])
            assert [(one.role, one.get_text_content()) for one in messages] == [
                ("user", "Hello"),
                ("assistant", "I heard you."),
            ]


async def test_reply_events_cut_off_anywhere_fold_to_the_same_messages(tmp_path: Path) -> None:
    """REC-02, REC-25, REC-27: the messages come from the stored log alone, and replaying from any checkpoint restores
    them."""
    async with keeping(tmp_path) as place:
        call_id = await one_call(place)
        path = f"/api/calls/{call_id}/events?user=user1&vocabulary=reply"
        whole = events_of((await place.get(path)).body)
        expected = [one.to_json() for one in fold_messages([read_reply_event(data) for _, _, data in whole])]
        for cut in range(len(whole) + 1):
            seen = whole[:cut]
            last_id = next((place for place, _, _ in reversed(seen) if place is not None), 0)
            rest = events_of((await place.get(path, last_event_id=str(last_id))).body)
            events = [read_reply_event(data) for _, _, data in [*seen, *rest]]
            assert [one.to_json() for one in fold_messages(events)] == expected
        transcript = await told(place, f"/{call_id}/messages")
        messages = [Msg.model_validate(one) for one in transcript["messages"]]
        assert [(one.role, one.name, one.get_text_content()) for one in messages] == [
            ("user", "user", "Hello"),
            ("assistant", "Friday", "I heard you."),
        ]
        assert transcript["gaps"] == []


async def test_messages_are_told_in_the_form_of_another_project(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place:
        call_id = await one_call(place)
        ours = [Msg.model_validate(one) for one in (await told(place, f"/{call_id}/messages"))["messages"]]
        for dialect in DIALECTS:
            theirs = await told(place, f"/{call_id}/messages", format=dialect)
            assert load(theirs["messages"], dialect) == ours
        refused = await place.get(f"/api/calls/{call_id}/messages?user=user1&format=odd")
        assert (refused.status, json.loads(refused.body)["code"]) == (422, "unknown_format")


async def test_the_thoughts_of_a_call_are_stored_and_in_no_transcript(tmp_path: Path) -> None:
    """FMT-11: read back from the store, the message has them beside what was said."""
    where: dict[str, Any] = {"response_id": "r1", "item_id": "t1"}

    def react(message: ModelInput) -> list[Step]:
        if not isinstance(message, ResponseCreate):
            return []
        return [
            Emit(m.ModelResponseCreatedEvent(response_id="r1")),
            Emit(m.ModelResponseThinkingDeltaEvent(delta="They greet.", **where)),
            Emit(m.ModelResponseThinkingDoneEvent(thinking="They greet.", **where)),
            Emit(m.ModelResponseTextDeltaEvent(response_id="r1", item_id="i1", delta="Hello.")),
            Emit(m.ModelResponseTextDoneEvent(response_id="r1", item_id="i1", text="Hello.")),
            Emit(m.ModelResponseDoneEvent(response_id="r1")),
        ]

    async with keeping(tmp_path, friday(ScriptedModel(react, profile=PROFILE))) as place:
        transcript = await told(place, f"/{await one_call(place)}/messages")
    message = Msg.model_validate(transcript["messages"][-1])
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.get_content_blocks("thinking")[0].thinking == "They greet."
    assert message.get_text_content() == "Hello."


async def test_a_call_that_runs_in_another_process_is_not_deleted_here(tmp_path: Path) -> None:
    async with keeping(tmp_path) as one, keeping(tmp_path) as two, one.client() as client:
        created = await client.make_call()
        await client.send(TEXT)
        await client.until("agent_response_done")
        path = f"/api/calls/{created['call_id']}?user=user1"
        assert (await one.get(path)).status == 200  # it is written
        answer = await two.answer_to_delete(path)
        assert (answer.status, answer.json()["code"]) == (409, "call_elsewhere")
        await hang_up(client)
        assert (await one.get(path)).json()["ended_at"]
        assert await two.delete(path) == 204
        assert await one.delete(path) == 404


async def test_calls_are_listed_for_their_owner_alone_until_they_are_deleted(tmp_path: Path) -> None:
    """The newest first. A call of somebody else is like none."""
    async with keeping(tmp_path) as place:
        first, second = await one_call(place), await one_call(place)
        await one_call(place, user="user2")
        listed = (await told(place))["calls"]
        assert [(one["call_id"], one["ended_reason"], one["live"]) for one in listed] == [
            (second, "client_end", False),
            (first, "client_end", False),
        ]
        assert not {"token_hash", "token_expires_at", "config"} & listed[0].keys()
        assert await told(place, f"/{first}") == listed[1]
        for path in ("", "/events", "/messages"):
            foreign = await place.get(f"/api/calls/{first}{path}?user=user2")
            unknown = await place.get(f"/api/calls/call_0{path}?user=user2")
            assert (foreign.status, foreign.body) == (unknown.status, unknown.body)
            assert foreign.status == 404
            assert (await place.get(f"/api/calls/{first}{path}")).status == 422
        assert (await place.get("/api/calls/..%2f..%2fetc/events?user=user1")).status == 404
        for call_id in (first, second):
            assert await place.delete(f"/api/calls/{call_id}?user=user2") == 404
            assert await place.delete(f"/api/calls/{call_id}?user=user1") == 204
            assert (await place.get(f"/api/calls/{call_id}/messages?user=user1")).status == 404
        assert await told(place) == {"calls": [], "next": None}


async def test_nobody_reads_without_the_token_and_a_server_open_to_everybody_lists_no_calls(tmp_path: Path) -> None:
    async with keeping(tmp_path, token="letmein") as place:
        for path in ("", "/call_1", "/call_1/events", "/call_1/messages"):
            assert (await place.get(f"/api/calls{path}?user=user1")).status == 401
            assert (await place.get(f"/api/calls{path}?user=user1&token=letmein")).status != 401
    async with keeping(tmp_path, lists_calls=False) as place:
        call_id = await one_call(place)
        refused = await place.get("/api/calls?user=user1")
        assert (refused.status, refused.json()["code"]) == (403, "calls_not_listed")
        assert (await place.get(f"/api/calls/{call_id}/messages?user=user1")).status == 200


async def test_a_list_of_calls_is_told_in_pages(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path / 'calls.sqlite'}")
    names = [f"call_{number:03}" for number in range(120)]
    infos = [CallInfo(call_id=name, owner="user1", created_at="2026-01-01T00:00:00.000Z") for name in names]
    store.write([Change(info.call_id, info) for info in infos])
    store.close()
    async with keeping(tmp_path) as place:
        pages = [await told(place)]
        while pages[-1]["next"] is not None:
            pages.append(await told(place, after=pages[-1]["next"]))
        assert [len(page["calls"]) for page in pages] == [50, 50, 20]
        assert [one["call_id"] for page in pages for one in page["calls"]] == names[::-1]
        most = await told(place, limit="200")
        assert (len(most["calls"]), most["next"]) == (120, None)
        for wrong in ("limit=0", "limit=201", "after=x"):
            assert (await place.get(f"/api/calls?user=user1&{wrong}")).status == 422


async def test_a_call_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    async with keeping(tmp_path, store=f"file:{tmp_path}") as place:
        broken, good = await one_call(place), await one_call(place)
        kept = tmp_path / broken / "events.jsonl"
        await settled(kept.exists)  # the store writes a moment later
        kept.unlink()
        (tmp_path / broken / "events.jsonl").mkdir()
        listed = (await told(place))["calls"]
        assert {one["call_id"]: one["unreadable"] for one in listed} == {broken: True, good: False}
        assert await place.delete(f"/api/calls/{broken}?user=user1") == 204
        assert [one["call_id"] for one in (await told(place))["calls"]] == [good]


@pytest.mark.parametrize(
    ("recorded", "sentence", "remains"),
    [(True, "the recording and the log remain", ["recording", "log"]), (False, "the log remains", ["log"])],
)
async def test_a_call_that_cannot_be_deleted_says_what_remains_and_can_be_deleted_again(
    recorded: bool, sentence: str, remains: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    # The log of a recorded call lies in a file with others; the log of the other is a folder.
    kept = {"recordings": str(tmp_path / "sound")} if recorded else {"store": f"file:{tmp_path}"}
    async with keeping(tmp_path, **kept) as place:
        call_id = await one_call(place)
        folder = tmp_path / "sound" / call_id if recorded else tmp_path / call_id
        if recorded:
            folder.mkdir(parents=True)
            (folder / "input.flac").write_bytes(b"voice")
        with monkeypatch.context() as patched:
            patched.setattr("shutil.rmtree", refuse)
            answer = await place.answer_to_delete(f"/api/calls/{call_id}?user=user1")
        error = f"not everything could be deleted: {sentence}; try again later"
        assert (answer.status, answer.json()) == (503, {"code": "not_deleted", "error": error, "remains": remains})
        assert await place.delete(f"/api/calls/{call_id}?user=user1") == 204
        assert not folder.exists()
        assert (await place.get(f"/api/calls/{call_id}?user=user1")).status == 404


def replace_by_folder(file: Path) -> None:
    for one in file.parent.glob(f"{file.name}*"):
        one.unlink()
    file.mkdir()


async def test_a_server_that_is_ready_says_how_its_store_is(tmp_path: Path) -> None:
    async with keeping(tmp_path) as place, place.client() as client:
        assert (await place.get("/readyz")).json()["store"] == "ok"
        await client.make_call()
        await client.send(TEXT)
        await client.until("agent_response_done")
        replace_by_folder(tmp_path / "calls.sqlite")
        await client.send(TEXT)
        assert (await client.until("agent_error"))["code"] == "store_failed"
        ready = await place.get("/readyz")
        assert (ready.status, ready.json()["store"]) == (200, "store_failed")
        (tmp_path / "calls.sqlite").rmdir()
        await settled(lambda: place.calls.archive is not None and place.calls.archive.trouble is None)
        assert (await place.get("/readyz")).json()["store"] == "ok"


async def test_without_a_store_live_calls_are_known_and_listed_in_pages_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each keeps its place in the list whatever the clocks say."""
    async with in_call(echo_agent, ServerSettings(drain_s=0)) as (place, client), place.client() as other:
        call_id = client.events[0]["call_id"]
        await client.send(TEXT)
        await client.until("agent_response_done")
        assert [one["role"] for one in (await told(place, f"/{call_id}/messages"))["messages"]] == ["user", "assistant"]
        made = {call_id: True, (await other.make_call())["call_id"]: True}
        first = await told(place, limit="1")
        second = await told(place, limit="1", after=first["next"])
        assert {one["call_id"]: one["live"] for page in (first, second) for one in page["calls"]} == made
        assert second["next"] is None
        shown = (await told(place))["calls"]
        with monkeypatch.context() as patched:
            # The log's clock against the wall's, one step apart.
            patched.setattr(Log, "now_ms", lambda _: 1_000)
            later = (await told(place))["calls"]
        assert [one["created_at"] for one in later] == [one["created_at"] for one in shown]
        await hang_up(client)
        assert (await place.get(f"/api/calls/{call_id}?user=user1")).status == 404


async def test_a_reader_that_is_gone_before_its_stream_began_is_not_read_to(tmp_path: Path) -> None:
    """And a live call that is deleted ends."""
    async with keeping(tmp_path) as place, place.client() as client:
        created = await client.make_call()
        session = place.calls.sessions[created["call_id"]]
        readers = len(session.log._readers)
        path = f"/api/calls/{created['call_id']}/events"
        headers = [(b"host", b"127.0.0.1")]
        asgi = {"version": "3.0", "spec_version": "2.4"}
        scope: Json = {"type": "http", "asgi": asgi, "http_version": "1.1", "method": "GET"}
        scope |= {"path": path, "raw_path": path.encode(), "query_string": b"user=user1", "headers": headers}
        scope |= {"scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "root_path": ""}
        answered: list[int] = []

        async def receive() -> Json:
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            answered.append(message["status"])
            raise OSError

        with pytest.raises(ClientDisconnect):
            await place.app(scope, receive, send)
        assert answered == [200]
        assert len(session.log._readers) == readers
        assert await place.delete(f"/api/calls/{created['call_id']}?user=user1") == 204
        ended = await client.until("server_session_ended")
        assert ended["reason"] == "deleted"
        assert (await place.get(f"/api/calls/{created['call_id']}?user=user1")).status == 404


# -- after the server ------------------------------------------------------------------------------------------------


WAYS = {
    "ended by its client": "session_ended",
    "expired": "resume_token_expired",
    "another user": "invalid_resume_token",
}


@pytest.mark.parametrize(("way", "code"), WAYS.items())
async def test_a_call_that_is_over_stays_over(tmp_path: Path, way: str, code: str) -> None:
    kept = {"resume_s": 0.0} if way == "expired" else {}
    async with keeping(tmp_path, **kept) as place, place.client() as client:
        created = await client.make_call()
        if way == "ended by its client":
            await hang_up(client)
        elif way == "expired":
            client.connection.transport.abort()
    user = "mallory" if way == "another user" else "user1"
    async with keeping(tmp_path) as place, place.client(f"/ws/{user}/session1") as client:
        await client.send({"type": "client_session_resume", "token": created["resume_token"], "last_seq": 0})
        assert (await client.until("agent_error"))["code"] == code
        await client.make_call()


class UnreadableStore(MemoryStore):
    """One whose disk fails, and that says where."""

    def calls(self, *about: Any, **more: Any) -> list[CallInfo]:
        raise StoreError("disk I/O error (/home/ann/calls.sqlite)")


async def test_a_reader_is_not_told_where_the_server_keeps_its_calls(caplog: pytest.LogCaptureFixture) -> None:
    archive = Archive(UnreadableStore(), resume_s=1.0)
    with pytest.raises(ClientError, match="the server's log says why") as refused:
        await archive.calls("ann")
    assert "/home/ann" not in refused.value.message
    assert "/home/ann/calls.sqlite" in caplog.text
    await archive.close()


# -- what a run is made of ---------------------------------------------------------------------------------------------


def tool_agent() -> RealtimeAgent:
    """Asks for the weather, which the server knows, and for a place, which the page knows; then it speaks."""

    def weather(city: str) -> str:
        """The weather of a city."""
        return f"Sunny in {city}."

    def react(message: ModelInput) -> list[Step]:
        if isinstance(message, ResponseCreate):
            results = len(made)
            made.append(message)
            if not results:
                return [CallTools((("weather", {"city": "Bonn"}), ("where_am_i", {})))]
            return [Speak("It is sunny in Bonn.", 1.0)]
        return []

    made: list[ModelInput] = []
    return RealtimeAgent("Friday", "", ScriptedModel(react, profile=PROFILE), toolkit=Toolkit([weather]))


async def test_texts_tool_fragments_and_requests_come_over_the_stream(tmp_path: Path) -> None:
    """EVT-01, EVT-18, HITL-02, HITL-05: text tokens, tool call fragments and a request to the page, in one reply of the
    socket's session; nothing has run in the page when it is asked, and its answer lets the reply go on."""
    async with keeping(tmp_path, tool_agent) as place, place.client() as client:
        tool = {"name": "where_am_i", "description": "Where the user is.", "parameters": {"type": "object"}}
        created = await client.make_call(tools=[tool])
        await client.send(TEXT)
        path = f"/api/calls/{created['call_id']}/events?user=user1&vocabulary=reply"
        called = await client.until("agent_response_tool_use_done")
        while called["tool_use"]["name"] != "where_am_i":
            called = await client.until("agent_response_tool_use_done")
        # The page is asked; it has not answered.
        await client.until("agent_response_tool_result")
        reading = asyncio.create_task(place.get(path))
        answer = {"type": "client_tool_result", "id": called["tool_use"]["id"], "name": "where_am_i", "output": "Bonn"}
        await client.send(answer)
        await client.until("agent_response_audio_transcript_done")
        await client.until("agent_response_done")
        await hang_up(client)
        events = [read_reply_event(data) for _, _, data in events_of((await reading).body)]
    kinds = [event.type for event in events]
    assert {"TEXT_BLOCK_DELTA", "TOOL_CALL_DELTA", "TOOL_RESULT_START", "REQUIRE_EXTERNAL_EXECUTION"} <= {*kinds}
    starts = [event for event in events if isinstance(event, ReplyStartEvent)]
    assert [(one.role, one.session_id) for one in starts] == [("user", "session1"), ("assistant", "session1")]
    asked, answered = kinds.index("REQUIRE_EXTERNAL_EXECUTION"), kinds.index("EXTERNAL_EXECUTION_RESULT")
    assert asked < answered < kinds.index("TEXT_BLOCK_DELTA", answered)
    (message,) = [one for one in fold_messages(events) if one.role == "assistant"]
    assert message.get_text_content() == "It is sunny in Bonn."
    results = {block.name: block.state for block in message.get_content_blocks("tool_result")}
    assert results == {"weather": "success", "where_am_i": "success"}


def digging_agent() -> RealtimeAgent:
    """Starts a tool that runs in the background, then speaks."""

    async def dig() -> None:
        """Dig."""
        await asyncio.Event().wait()

    def react(message: ModelInput) -> list[Step]:
        if not isinstance(message, ResponseCreate):
            return []
        made.append(message)
        return [CallTools((("dig", {}),))] if len(made) == 1 else [Speak("I am digging.", 0.2)]

    made: list[ModelInput] = []
    toolkit = Toolkit()
    toolkit.register(dig, background=True)
    return RealtimeAgent("Friday", "", ScriptedModel(react, profile=PROFILE), toolkit=toolkit)


async def test_the_background_tools_of_a_call_are_listed_and_stopped() -> None:
    async with in_call(digging_agent, ServerSettings(drain_s=0)) as (place, client):
        created = client.events[0]
        path = f"/api/calls/{created['call_id']}/tasks"
        assert (await place.get(f"{path}?user=user1")).json() == {"tasks": []}
        await client.send(TEXT)
        result = await client.until("agent_response_tool_result")
        assert result["tool_result"]["state"] == "running"
        listed = (await place.get(f"{path}?user=user1")).json()
        assert listed == {"tasks": [{"id": "dig_1", "tool": "dig", "state": "running", "latest": ""}]}
        assert (await place.get(f"{path}?user=user2")).status == 404
        stopped = [await place.delete(f"{path}/dig_1?user={user}") for user in ("user2", "user1", "user1")]
        assert stopped == [404, 204, 404]
        assert (await place.get(f"{path}?user=user1")).json() == {"tasks": []}
        while "was stopped: no result" not in str(await client.until("agent_item_added")):
            pass

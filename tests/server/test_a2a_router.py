"""Other agents at our server, over real sockets: the client of `a2a-sdk` judges."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageConfiguration,
    SubscribeToTaskRequest,
)
from fastapi import FastAPI

from realtime import a2a_router, voice_router
from realtime.a2a import A2AAgent, WellKnownAgentCardResolver
from realtime.agent import RealtimeAgent
from realtime.errors import UsageError
from realtime.message import UserMsg
from realtime.model.scripted import PROFILE, ScriptedModel, Step, Write
from realtime.server.gate import Gate
from realtime.server.settings import ServerSettings
from tests.real_loop import settled
from tests.server.a2a_peer import WIRES, Told, message, peer
from tests.server.harness import Client, Json, Place, echo_agent, serving, serving_app
from tests.volumes import HANG_S

OPEN = ServerSettings(drain_s=0, a2a=True)
GUARDED = ServerSettings(drain_s=0, a2a=True, token="secret")
CARD = "/.well-known/agent-card.json"
V1 = {"A2A-Version": "1.0"}


@asynccontextmanager
async def in_call(place: Place, path: str = "/ws/user1/session1") -> AsyncIterator[tuple[Client, str]]:
    """A person in a voice call, and its id."""
    async with place.client(path) as person:
        created = await person.make_call()
        yield person, created["call_id"]


async def told(person: Client) -> None:
    """Hear what the agent says next, to its end."""
    await person.until("agent_response_done")
    said = [event["item_id"] for event in person.events if event["type"] == "agent_response_audio_delta"]
    await person.send({"type": "client_playback_ack", "item_id": said[-1], "played_ms": 60_000})


async def rpc(place: Place, body: Json | bytes | list[Json], **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx.AsyncClient(base_url=place.url, timeout=HANG_S) as http:
        return (await http.post("/a2a", content=content, headers={**V1, **headers})).json()


def call_of(method: str, params: Any) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def sending(*parts: Json, **more: Any) -> Json:
    return call_of("SendMessage", {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [*parts], **more}})


# -- the card ----------------------------------------------------------------------------------------------------------


async def test_one_card_serves_clients_of_both_versions() -> None:
    """A2A-14, A2A-15: name, description, url, version, capabilities, modes, skills, in the shape of either version."""
    async with serving(settings=GUARDED) as place:
        answer = await place.get(CARD)
        card = answer.json()
        again = await place.get(CARD, if_none_match=answer.headers["etag"])
    assert again.status == 304
    url = f"{place.url}/a2a"
    assert (card["url"], card["preferredTransport"], card["protocolVersion"]) == (url, "JSONRPC", "0.3")
    assert card["additionalInterfaces"] == [{"transport": "HTTP+JSON", "url": url}]
    found = [(one["protocolVersion"], one["protocolBinding"], one["url"]) for one in card["supportedInterfaces"]]
    assert found == [(*wire, url) for wire in WIRES]
    assert card["capabilities"] == {"streaming": True, "pushNotifications": True}
    assert (card["defaultInputModes"], card["defaultOutputModes"]) == (
        ["text/plain"],
        ["text/plain", "application/json"],
    )
    assert all(card[name] for name in ("name", "description", "version"))
    assert [skill["id"] for skill in card["skills"]] == ["conversation", "ask-a-person"]
    assert card["security"] == [{"token": []}]
    assert card["securityRequirements"] == [{"schemes": {"token": {}}}]
    assert card["securitySchemes"]["token"]["httpAuthSecurityScheme"]["scheme"] == "bearer"


async def test_a_server_without_other_agents_has_no_card() -> None:
    async with serving() as place:
        assert (await place.get(CARD)).status == 404


async def test_the_routers_stand_in_an_application_of_ones_own_under_a_prefix_and_an_address() -> None:
    app, settings = FastAPI(), ServerSettings(drain_s=0)
    gate = Gate(settings)
    voice = voice_router(echo_agent, settings=settings, gate=gate)
    app.include_router(voice)
    others = a2a_router(
        echo_agent, "/agents", url="https://voice.example.org/agents/", settings=settings, gate=gate, calls=voice.calls
    )
    app.router.routes.extend(others.routes)
    async with serving_app(app) as place:
        card = (await place.get(f"/agents{CARD}")).json()
        assert card["url"] == "https://voice.example.org/agents/a2a"
        async with httpx.AsyncClient(base_url=f"{place.url}/agents/a2a", timeout=HANG_S, headers=V1) as http:
            sent = sending({"text": "Hello"})
            answers = [await http.post("", json=sent), await http.post("/message:send", json=sent["params"])]
        assert [answer.status_code for answer in answers] == [200, 200]


# -- a conversation in text --------------------------------------------------------------------------------------------


def two_answers() -> RealtimeAgent:
    """Counts what it is asked."""
    asked: list[str] = []

    def react(sent: Any) -> list[Step]:
        if type(sent).__name__ == "ItemCreate":
            asked.append(sent.item.text)
        return [Write(f"{len(asked)}: {asked[-1]}")] if type(sent).__name__ == "ResponseCreate" else []

    return RealtimeAgent("Friday", "You are Friday.", ScriptedModel(react, profile=PROFILE))


@pytest.mark.parametrize("wire", WIRES, ids="-".join)
@pytest.mark.parametrize("streaming", [True, False])
async def test_messages_of_one_context_are_one_conversation_on_each_wire(
    wire: tuple[str, str], streaming: bool
) -> None:
    async with serving(two_answers, OPEN) as place, peer(place.url, wire, streaming=streaming) as other:
        first = await other.ask("Is the shop open?")
        assert first.end == ("completed", "1: Is the shop open?")
        assert first.states == (["submitted", "working", "completed"] if streaming else ["completed"])
        assert first.context_id in place.calls.sessions
        second = await other.ask("And on Sunday?", context_id=first.context_id)
        assert (second.end, second.context_id) == (("completed", "2: And on Sunday?"), first.context_id)
        assert second.task_id != first.task_id
        again = await other.client.get_task(GetTaskRequest(id=first.task_id))
        assert Told().whole(again).end == first.end
        assert [part.text for one in again.history for part in one.parts] == ["Is the shop open?"]
        other_context = await other.ask("Who are you?")
        assert other_context.end == ("completed", "1: Who are you?")


async def test_a_conversation_belongs_to_the_user_that_the_message_or_the_token_names() -> None:
    users: list[str] = []

    def make_agent(user: str) -> RealtimeAgent:
        users.append(user)
        return echo_agent()

    async with serving(make_agent, GUARDED) as place:
        async with peer(place.url, authorization="Bearer secret") as other:
            await other.ask("Hello", metadata={"user": "anna"})
            await other.ask("Hello")
        token = await client_token(place, "ben")
        async with peer(place.url, authorization=f"Bearer {token}") as other:
            await other.ask("Hello", metadata={"user": "anna"})
    assert users == ["anna", "a2a", "ben"]


async def test_the_conversation_that_waits_longest_makes_room_for_a_new_one() -> None:
    settings = ServerSettings(drain_s=0, a2a=True, max_calls_per_address=2)
    async with serving(settings=settings) as place, peer(place.url) as other:
        first, second = await other.ask("One"), await other.ask("Two")
        await other.ask("One again", context_id=first.context_id)
        third = await other.ask("Three")
        assert {*place.calls.sessions} == {first.context_id, third.context_id}
        assert second.context_id not in place.calls.sessions


async def test_a_full_server_turns_messages_away_and_goes_on() -> None:
    settings = ServerSettings(drain_s=0, a2a=True, max_calls=1)
    async with serving(settings=settings) as place, peer(place.url) as other:
        async with in_call(place):
            assert (await other.ask("Hello")).end == ("rejected", "the server is full: try again later")
        assert (await other.ask("Hello")).end == ("completed", "I heard you.")


async def test_an_agent_that_cannot_be_made_fails_the_task_without_its_secrets() -> None:
    def make_agent() -> RealtimeAgent:
        raise RuntimeError("the password is hunter2")

    async with serving(make_agent, OPEN) as place, peer(place.url) as other:
        state, words = (await other.ask("Hello")).end
    assert state == "failed"
    assert words
    assert "hunter2" not in words
    assert place.calls.running == 0


async def test_a_remote_agent_of_ours_talks_to_a_server_of_ours() -> None:
    async with serving(two_answers, OPEN) as place:
        other = A2AAgent(await WellKnownAgentCardResolver(base_url=place.url).get_agent_card())
        other.set_console_output_enabled(False)
        answers = [(await other(UserMsg("anna", words))).get_text_content() for words in ("Is it open?", "And Sunday?")]
        await other.aclose()
    assert answers == ["1: Is it open?", "2: And Sunday?"]


# -- the person in a call ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES, ids="-".join)
async def test_a_message_to_a_running_call_is_spoken_and_answered_by_the_person_in_it(wire: tuple[str, str]) -> None:
    async with serving(settings=OPEN) as place, peer(place.url, wire) as other, in_call(place) as (person, call_id):
        asking = asyncio.create_task(other.ask("May the parcel wait?", context_id=call_id))
        await told(person)
        hints = [
            event["item"]["content"][0]["text"]
            for event in person.events
            if event["type"] == "agent_item_added" and event["item"]["role"] == "system"
        ]
        assert ["May the parcel wait?" in hint for hint in hints] == [True]
        await person.send({"type": "client_text_append", "text": "Until noon."})
        answered = await asking
        assert (answered.end, answered.context_id) == (("completed", "Until noon."), call_id)
        assert answered.artifacts["transcript"][0]["text"].endswith("Until noon.\n")
        assert call_id in place.calls.sessions, "the call goes on"


async def test_a_client_that_leaves_ends_no_task_and_another_one_sees_its_end() -> None:
    async with serving(settings=OPEN) as place, in_call(place) as (person, call_id):
        async with peer(place.url) as leaving:
            stream = leaving.stream(message("May the parcel wait?", context_id=call_id))
            async for known in stream:
                if known.states[-1] == "working":
                    break
            await stream.aclose()  # type: ignore[attr-defined]
        async with peer(place.url) as other:
            seen, subscribed = Told(), asyncio.Event()

            async def follow() -> None:
                async for event in other.client.subscribe(SubscribeToTaskRequest(id=known.task_id)):
                    seen.take(event)
                    subscribed.set()

            following = asyncio.create_task(follow())
            await subscribed.wait()
            await told(person)
            await person.send({"type": "client_text_append", "text": "Until noon."})
            await following
        assert seen.end == ("completed", "Until noon.")


async def test_a_cancelled_task_is_over_and_the_next_message_gets_its_turn() -> None:
    async with serving(settings=OPEN) as place, peer(place.url) as other, in_call(place) as (person, call_id):
        at_once = SendMessageConfiguration(return_immediately=True)
        first = message("May the parcel wait?", context_id=call_id)
        first.configuration.CopyFrom(at_once)
        known = Told()
        async for event in other.client.send_message(first):
            known.take(event)
            if known.states[-1] == "working":
                break
        await told(person)
        cancelled = await other.client.cancel_task(CancelTaskRequest(id=known.task_id))
        assert Told().whole(cancelled).states == ["canceled"]
        asking = asyncio.create_task(other.ask("Is the bell broken?", context_id=call_id))
        await told(person)
        await person.send({"type": "client_text_append", "text": "It is."})
        assert (await asking).end == ("completed", "It is.")


async def test_a_call_that_is_over_gives_its_transcript_and_takes_no_message(tmp_path: Path) -> None:
    settings = ServerSettings(drain_s=0, a2a=True, token="secret", store=f"sqlite:{tmp_path / 'calls.db'}")
    async with serving(settings=settings) as place:
        async with in_call(place, "/ws/user1/session1?token=secret") as (person, call_id):
            await person.send({"type": "client_text_append", "text": "Good morning."})
            await told(person)
            await person.send({"type": "client_session_end"})
            await person.until("server_session_ended")
        async with peer(place.url, authorization="Bearer secret") as other:
            asked = await other.ask("What was said?", context_id=call_id)
        token = await client_token(place, "user1")
        refused = await rpc(place, sending({"text": "Hi"}, contextId=call_id), authorization=f"Bearer {token}")
    assert asked.end == ("rejected", "this call is over: leave the contextId out to begin a conversation")
    assert "Good morning." in asked.artifacts["transcript"][0]["text"]
    assert refused["error"]["code"] == -32602, "a client token gives no records of calls"


# -- who may -----------------------------------------------------------------------------------------------------------


async def client_token(place: Place, user: str) -> str:
    async with httpx.AsyncClient(base_url=place.url) as http:
        asked = await http.post("/api/client_tokens?token=secret", json={"user_id": user})
    token: str = asked.json()["token"]
    return token


async def test_other_agents_are_let_in_as_sockets_are() -> None:
    async with serving(settings=GUARDED) as place:
        async with httpx.AsyncClient(base_url=place.url, headers=V1) as http:
            for path, body in (("/a2a", sending({"text": "Hi"})), ("/a2a/message:send", {}), ("/a2a/v1/card", None)):
                refused = await http.request("GET" if body is None else "POST", path, json=body)
                assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert (await http.get(CARD)).status_code == 200
        assert place.calls.running == 0


async def test_a_client_token_enters_the_calls_of_its_own_user_only_and_sees_its_own_tasks() -> None:
    async with serving(settings=GUARDED) as place, in_call(place, "/ws/anna/s?token=secret") as (person, call_id):
        anna, ben = await client_token(place, "anna"), await client_token(place, "ben")
        foreign = await rpc(place, sending({"text": "Hi"}, contextId=call_id), authorization=f"Bearer {ben}")
        assert foreign["error"]["code"] == -32602
        async with peer(place.url, authorization=f"Bearer {anna}") as other:
            asking = asyncio.create_task(other.ask("Are you there?", context_id=call_id))
            await told(person)
            await person.send({"type": "client_text_append", "text": "Yes."})
            answered = await asking
            assert answered.end == ("completed", "Yes.")
        async with peer(place.url, authorization=f"Bearer {ben}") as other:
            assert (await other.client.list_tasks(ListTasksRequest())).total_size == 0
        found = await rpc(place, call_of("GetTask", {"id": answered.task_id}), authorization=f"Bearer {ben}")
        assert found["error"]["code"] == -32001


# -- bad input ---------------------------------------------------------------------------------------------------------

PICTURE = {"raw": "iVBORw0KGgo=", "mediaType": "image/png"}
BAD: list[tuple[Any, int]] = [
    (sending({"text": "Hi"}, contextId="call_unknown"), -32602),
    (sending({"text": "Hi"}, taskId="unknown"), -32001),
    (sending({"text": "x" * 4_001}), -32602),
    (sending({"text": " \n "}), -32602),
    (sending(), -32602),
    (sending({"video": "x"}), -32602),
    (sending({"url": "https://example.org/x.pdf"}), -32005),
    (sending({"data": {"a": 1}}), -32005),
    (sending({"raw": "AAAA", "mediaType": "audio/wav"}), -32005),
    (call_of("SendMessage", {"message": 5}), -32602),
    (call_of("SendMessage", [1]), -32602),
    (call_of("GetTask", {"id": "unknown"}), -32001),
    (call_of("CancelTask", {"id": "unknown"}), -32001),
    (call_of("SubscribeToTask", {"id": "unknown"}), -32001),
    (call_of("GetExtendedAgentCard", {}), -32004),
    (call_of("Dance", {}), -32601),
    ([sending({"text": "Hi"})], -32600),
    ({"jsonrpc": "1.0", "id": 1, "method": "SendMessage", "params": {}}, -32600),
    (b"{", -32700),
    (b'\xff\xfe{"a"', -32700),
    (b"[" * 200_000, -32700),
    (b" " * 8_000_001, -32600),
]


async def test_each_bad_request_is_one_error_of_the_protocol_and_costs_nothing_else() -> None:
    async with serving(settings=OPEN) as place, in_call(place) as (person, call_id):
        for body, code in BAD:
            answer = await rpc(place, body)
            assert answer["error"]["code"] == code, answer
            assert answer["error"]["message"]
        for parts, code in (([PICTURE], -32005), ([{"text": "Hi"}, PICTURE], -32005)):
            answer = await rpc(place, sending(*parts, contextId=call_id))
            assert answer["error"]["code"] == code, "a person is told words"
        assert [*place.calls.sessions] == [call_id]
        assert "agent_error" not in person.types
        async with peer(place.url) as other:
            assert (await other.ask("Hello")).end == ("completed", "I heard you.")


async def test_bad_requests_of_the_other_binding_have_its_statuses() -> None:
    statuses = {
        ("POST", "/a2a/message:send", b"{"): 400,
        ("POST", "/a2a/message:send", json.dumps(sending({"text": "x"}, contextId="no")["params"]).encode()): 400,
        ("POST", "/a2a/message:send", b" " * 8_000_001): 413,
        ("GET", "/a2a/tasks/unknown", b""): 404,
        ("POST", "/a2a/tasks/unknown:cancel", b""): 404,
        ("PUT", "/a2a/tasks", b""): 405,
        ("GET", "/a2a", b""): 405,
        ("GET", "/a2a/nothing", b""): 404,
        ("GET", "/a2a/tenant/tasks", b""): 404,
    }
    async with (
        serving(settings=OPEN) as place,
        httpx.AsyncClient(base_url=place.url, headers=V1, timeout=HANG_S) as http,
    ):
        got = {
            (method, path, body): (await http.request(method, path, content=body)).status_code
            for method, path, body in statuses
        }
    assert got == statuses


async def test_a_task_takes_no_second_message() -> None:
    async with serving(settings=OPEN) as place, peer(place.url) as other:
        first = await other.ask("Hello")
        answer = await rpc(place, sending({"text": "And?"}, taskId=first.task_id, contextId=first.context_id))
        assert answer["error"]["code"] == -32004


# -- push notifications ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def receiver() -> AsyncIterator[tuple[str, list[tuple[dict[str, str], Json]]]]:
    """A web hook on loopback: its address, and what it got."""
    got: list[tuple[dict[str, str], Json]] = []

    async def take(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        got.append(({key.decode(): value.decode() for key, value in scope["headers"]}, json.loads(body)))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    app = FastAPI()
    app.router.mount("/hook", take)
    async with serving_app(app) as place:
        yield place.url.removeprefix("http://"), got


async def test_a_named_receiver_is_notified_of_each_event_in_order_with_what_it_knows_us_by() -> None:
    async with receiver() as (host, got):
        settings = ServerSettings(drain_s=0, a2a=True, a2a_push_hosts=(host,))
        async with serving(settings=settings) as place, peer(place.url) as other:
            request = message("Hello")
            config = request.configuration.task_push_notification_config
            config.url, config.token = f"http://{host}/hook/x", "t-1"
            config.authentication.scheme, config.authentication.credentials = "Bearer", "b-1"
            async for event in other.client.send_message(request):
                last = event
            assert last.WhichOneof("payload") == "status_update"
            await settled(lambda: len(got) == 3)
    headers = [headers for headers, _ in got]
    assert {one["x-a2a-notification-token"] for one in headers} == {"t-1"}
    assert {one["authorization"] for one in headers} == {"Bearer b-1"}
    assert {one["content-type"] for one in headers} == {"application/a2a+json"}
    states = [body.get("statusUpdate", body.get("task"))["status"]["state"] for _, body in got]
    assert states == ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]


PRIVATE = [
    "http://127.0.0.1:9/x",
    "https://127.0.0.1/x",
    "https://localhost/x",
    "https://10.0.0.1/x",
    "https://169.254.169.254/latest",
    "https://[::1]/x",
    "https://[::ffff:10.0.0.1]/x",
    "http://93.184.215.14/x",
    "ftp://93.184.215.14/x",
    "https://no-such-host.invalid/x",
    "nonsense",
]


async def test_no_one_is_notified_at_an_address_that_is_not_public_or_not_guarded() -> None:
    async with serving(settings=OPEN) as place:
        first = await rpc(place, sending({"text": "Hello"}))
        task_id = first["result"]["task"]["id"]
        for url in PRIVATE:
            params = {"taskId": task_id, "id": "1", "url": url}
            answer = await rpc(place, call_of("CreateTaskPushNotificationConfig", params))
            assert answer["error"]["code"] == -32602, url
        params = {"taskId": task_id, "id": "1", "url": "https://93.184.215.14/x"}
        answer = await rpc(place, call_of("CreateTaskPushNotificationConfig", params))
        assert answer["result"]["url"] == "https://93.184.215.14/x"


async def test_a_task_has_eight_receivers_at_most() -> None:
    async with serving(settings=OPEN) as place:
        first = await rpc(place, sending({"text": "Hello"}))
        task_id = first["result"]["task"]["id"]
        codes = []
        for number in range(9):
            params = {"taskId": task_id, "id": str(number), "url": "https://93.184.215.14/x"}
            answer = await rpc(place, call_of("CreateTaskPushNotificationConfig", params))
            codes.append(answer.get("error", {}).get("code"))
    assert codes == [None] * 8 + [-32602]


def test_a_push_host_that_is_none_is_refused_at_the_start() -> None:
    with pytest.raises(UsageError, match="is no host"):
        ServerSettings(a2a_push_hosts=("https://x",))

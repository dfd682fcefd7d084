"""Rooms by URL: who comes in, who is told what over HTTP, when a room is forgotten, and each bad request."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from realtime.agent import RealtimeAgent
from realtime.audio.files import read_pcm16
from realtime.errors import ClientError, ProviderError
from realtime.event.config import SessionConfig
from realtime.model.base import Connection, RealtimeModel
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.scripted import ScriptedModel
from realtime.room import ChatRoom, Observer
from realtime.room.floor import broadcast
from realtime.server.calls import Calls
from realtime.server.rooms import MAX_AGENTS, MAX_AWAITED, AgentRequest, Rooms
from realtime.server.rooms_router import NO_SUCH_ROOM
from realtime.server.router import voice_router
from realtime.server.settings import ServerSettings
from tests.agent.thinking import react
from tests.calls.models import wordless_engine
from tests.real_loop import settled
from tests.server.cases import cases
from tests.server.harness import WITHOUT_GRACE, FakeSocket, audio_append, create, serving, serving_app
from tests.server.hosted import (
    agent,
    ask,
    come_in,
    heard_next,
    hosting,
    in_room,
    participants,
    refusal,
    rooms_of,
    say,
    two,
    until_said,
)
from tests.server.steps import hang_up
from tests.square.chain import provider_model

# -- coming in ---------------------------------------------------------------------------------------------------------


async def test_the_first_who_comes_makes_the_room_and_the_next_is_in_the_same() -> None:
    """ROOM-01: two agents in one conversation. Both humans are told the same words with the same names. The settings of
    whoever comes first are not those of the agents."""
    rooms = rooms_of()
    wanted: dict[str, Any] = {"voice": "loud", "instructions": "Be rude.", "output_modalities": ["text"]}
    async with in_room(rooms, **wanted) as (place, ann):
        async with place.client("/rooms/tea/ws?name=Ben") as ben:
            await come_in(ben)
            await ann.send(say("Bob, are you there?"))
            for client in (ann, ben):
                await until_said(client, "Ann", "Bob, are you there?")
                await until_said(client, "Bob", "Bob here.")
                assert "agent_response_audio_done" in client.types
            assert [one["voice"] for one in rooms.hosted[0].describe()["agents"]] == [None, None]
            await ben.send(say("And Ada?"))
            for client in (ann, ben):
                await until_said(client, "Ben", "And Ada?")
                await until_said(client, "Ada", "Ada here.")
            async with place.client("/rooms/tea/ws?name=Ann") as other:
                await other.send(create())
                assert (await other.until("server_room_joined"))["name"] == "Ann 2", "two of one name are told apart"
            await ben.until("server_room_left")
        await ann.until("server_room_left")
        left = await ann.until("server_room_left")
        assert (left["name"], place.calls.running) == ("Ben", 1)


SEEN = "that can be seen"
LENGTH = "a name has 1 to 64 characters"
SOCKETS_FOR_NOTHING = [
    # the path, and the code and a sentence of the error
    ("/rooms/nowhere/ws?name=Ann", "no_such_room", "there is no room 'nowhere': it has to be made"),
    ("/rooms/pair/ws", "invalid_name", LENGTH),
    ("/rooms/pair/ws?name=%20%20", "invalid_name", LENGTH),
    ("/rooms/pair/ws?name=" + "x" * 65, "invalid_name", LENGTH),
    ("/rooms/pair/ws?name=Ann%5D:%20hi%20%5BBob", "invalid_name", "without [ and ]"),
    ("/rooms/pair/ws?name=Ann%E2%80%AE", "invalid_name", SEEN),
    ("/rooms/pair/ws?name=Ann%E3%85%A4", "invalid_name", SEEN),
    ("/rooms/pair/ws?name=Ann&dialect=klingon", "unknown_dialect", "unknown dialect 'klingon'"),
]


async def test_a_socket_for_nothing_is_told_why_and_closed() -> None:
    """A room whose id is that of a template needs no making."""
    rooms = rooms_of(default=None)
    async with hosting(rooms) as place:
        for path, code, sentence in SOCKETS_FOR_NOTHING:
            async with place.client(path) as client:
                error = await client.next()
                assert (error["type"], error["code"]) == ("agent_error", code), path
                assert sentence in error["message"], path
                told, reason = await client.closed()
                assert told == (NO_SUCH_ROOM if code == "no_such_room" else 1008), path
                assert reason, path
                assert error["message"].startswith(reason), path
        assert rooms.hosted == []
        async with place.client("/rooms/pair/ws?name=Ann") as ann:
            await come_in(ann)
            assert [(one.id, one.template) for one in rooms.hosted] == [("pair", "pair")]


async def test_whoever_has_no_token_comes_neither_in_nor_near() -> None:
    settings = ServerSettings(token="open sesame", drain_s=0)
    async with hosting(rooms_of(), settings) as place:
        async with place.client("/rooms/tea/ws?name=Ann") as ann:
            code, reason = await ann.closed()
            assert (code, ann.events) == (1008, [])
            assert "--token" in reason
        for method, path in (
            *(("GET", "/api/rooms"), ("POST", "/api/rooms"), ("GET", "/api/rooms/tea")),
            *((one, "/api/rooms/tea/participants/x") for one in ("POST", "DELETE")),
            ("POST", "/api/rooms/tea/agents"),
        ):
            assert (await ask(place, method, path, {} if method == "POST" else None))[0] == 401
        async with place.client("/rooms/tea/ws?name=Ann&token=open%20sesame") as ann:
            await come_in(ann)


async def test_whoever_loses_the_socket_comes_back_as_the_same_and_misses_nothing() -> None:
    settings = ServerSettings(drain_s=0)
    async with hosting(rooms_of(), settings) as place, place.client("/rooms/tea/ws?name=Ben") as ben:
        await come_in(ben)
        async with place.client("/rooms/tea/ws?name=Ann") as ann:
            await ann.send(create())
            token = (await ann.until("server_session_created"))["resume_token"]
            me = (await ann.until("server_room_joined"))["participant_id"]
            for _ in range(3):
                last = await ann.until("server_room_joined")
            ann.connection.transport.abort()
        await ben.send(say("Where is Ann?"))
        await until_said(ben, "Ada", "Ada here.")
        async with place.client("/rooms/tea/ws?name=Ann") as again:
            await again.send({"type": "client_session_resume", "token": token, "last_seq": last["seq"]})
            await again.until("server_session_resumed")
            await until_said(again, "Ben", "Where is Ann?")
            await until_said(again, "Ada", "Ada here.")
            _, room = await ask(place, "GET", "/api/rooms/tea")
            assert participants(room)["Ann"] == me
            assert [one["name"] for one in room["participants"]] == ["Ada", "Bob", "Ben", "Ann"]
            assert "server_room_left" not in ben.types


async def test_pages_of_agentscope_may_come_in_too() -> None:
    async with hosting(rooms_of()) as place, place.client("/rooms/tea/ws?name=Ann", subprotocols=()) as ann:
        await ann.send(create(agent_name="Friday", model_provider="dashscope"))
        await ann.until("agent_ready")
        await ann.send({"type": "client_text_append", "session_id": "tea", "text": "Hello, Bob."})
        done = await ann.until("agent_response_audio_transcript_done")
        assert (done["agent_name"], done["transcript"]) == ("Bob", "Bob here.")


def comes(rooms: Rooms, room: str, calls: Calls | None = None) -> FakeSocket:
    """Ann, on a socket in virtual time."""
    calls = calls or Calls(max_per_address=8, max_total=8)
    runtime = calls.make_runtime(asyncio.get_running_loop())
    return FakeSocket(lambda: rooms.make_human(room, "Ann", runtime), calls=calls)


# -- making rooms ------------------------------------------------------------------------------------------------------


class Shelf:
    """The models that agents of a request get; `asked` is what they were asked for by."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def choose(self, config: SessionConfig) -> RealtimeModel:
        self.asked.append(config.model_provider)
        if config.model_provider == "magic":
            raise ClientError("there is no model 'magic'", code="unknown_model")
        if config.model_provider == "openai":
            raise ProviderError("the server has no key for OpenAI: set OPENAI_API_KEY", code="missing_api_key")
        return agent("Eve").model


async def test_a_room_is_made_of_agents_that_a_program_describes() -> None:
    shelf = Shelf()
    described = [{"name": "Eve", "instructions": "You are Eve.", "model": "scripted", "voice": "low"}, {"name": "Kim"}]
    async with hosting(rooms_of(choose_model=shelf.choose)) as place:
        status, made = await ask(place, "POST", "/api/rooms", {"agents": described, "floor": "round_robin"})
        assert (status, made["url"]) == (201, f"/rooms/{made['room_id']}/ws")
        assert shelf.asked == ["scripted", None]
        _, told = await ask(place, "GET", f"/api/rooms/{made['room_id']}")
        assert (told["policy"], told["humans"], told["participants"]) == ("round_robin", 0, [])
        assert [(one["name"], one["voice"]) for one in told["agents"]] == [("Eve", "low"), ("Kim", None)]
        async with place.client(f"{made['url']}?name=Ann") as ann:
            await come_in(ann)
            await ann.send(say("Hello."))
            await until_said(ann, "Eve", "Eve here.")


async def test_a_room_is_made_from_a_template_under_an_id_and_that_of_a_template_belongs_to_nobody() -> None:
    """Whoever comes to it finds the agents of the template, and nobody who made it theirs before."""
    async with hosting(rooms_of(default=None)) as place:
        wanted = {"template": "pair", "room_id": "tea"}
        assert (await ask(place, "POST", "/api/rooms", wanted))[0] == 201
        assert await refusal(place, "POST", "/api/rooms", wanted) == (409, "room_exists")
        async with place.client("/rooms/tea/ws?name=Ann") as ann:
            await come_in(ann)
        wanted = {"template": "pair", "room_id": "pair"}
        assert await refusal(place, "POST", "/api/rooms?user=mallory", wanted) == (409, "room_exists")
        assert (await ask(place, "POST", "/api/rooms", wanted))[0] == 201
        assert (await ask(place, "GET", "/api/rooms/pair"))[1]["owned"] is False


async def test_rooms_belong_to_the_calls_of_the_router_around_them() -> None:
    """Made and entered below its prefix, counted among its calls, told as calls of whoever is in them."""
    app = FastAPI()
    settings = ServerSettings(drain_s=0)
    router = voice_router(lambda: agent("Friday"), "/voice", settings=settings, rooms=rooms_of(default=None))
    app.include_router(router)
    app.state.calls, app.state.settings = router.calls, settings
    async with serving_app(app) as place:
        status, made = await ask(place, "POST", "/voice/api/rooms", {"template": "pair", "room_id": "tea"})
        assert (status, made["url"]) == (201, "/voice/rooms/tea/ws")
        async with place.client(f"{made['url']}?name=Ann") as ann, place.client("/voice/ws/ann/s") as alone:
            await come_in(ann)
            await alone.make_call()
            assert router.calls.running == 2
            _, told = await ask(place, "GET", "/voice/api/calls?user=Ann")
            assert [one["session_id"] for one in told["calls"]] == ["tea"]


EVE = {"name": "Eve"}


NO_REQUESTS = [
    (b"{", 400, "malformed_json", "not JSON"),
    (b"[" * 60_000, 422, "invalid_request", "object"),
    (b"x" * 70_000, 413, "request_too_large", "65536"),
]


async def test_a_room_that_cannot_be_is_refused_with_a_code_and_a_sentence() -> None:
    def broken() -> ChatRoom:
        raise RuntimeError("secret")

    def no_room() -> Any:
        return RealtimeAgent("Eve", "", ScriptedModel([]))

    rooms = Rooms({"pair": two, "broken": broken, "no room": no_room}, choose_model=Shelf().choose)
    wrong = []
    async with hosting(rooms) as place:
        for body, status, code, says in [*NO_REQUESTS, *cases("rooms_that_cannot_be")]:
            got, error = await ask(place, "POST", "/api/rooms", body)
            if (got, error["code"]) != (status, code) or says not in error["error"] or "secret" in error["error"]:
                wrong.append((str(body)[:100], got, error))
    assert (wrong, rooms.hosted) == ([], [])


async def test_there_are_so_many_rooms_and_no_more() -> None:
    async with hosting(rooms_of(max_rooms=2)) as place:
        assert await refusal(place, "POST", "/api/rooms", {"agents": [EVE]}) == (422, "templates_only")
        for number in range(2):
            assert (await ask(place, "POST", "/api/rooms", {"template": "pair", "room_id": f"r{number}"}))[0] == 201
        assert await refusal(place, "POST", "/api/rooms", {"template": "pair"}) == (503, "too_many_rooms")
        async with place.client("/rooms/r2/ws?name=Ann") as ann:
            await ann.send(create())
            assert (await ann.until("agent_error"))["code"] == "too_many_rooms"


async def test_a_stranger_makes_so_many_rooms_that_nobody_comes_into_and_no_more() -> None:
    body = {"template": "pair"}
    async with hosting(rooms_of(max_rooms=20), ServerSettings(lists_calls=False, drain_s=0)) as place:
        for number in range(MAX_AWAITED):
            assert (await ask(place, "POST", "/api/rooms", {**body, "room_id": f"r{number}"}))[0] == 201
        assert await refusal(place, "POST", "/api/rooms", body) == (503, "too_many_rooms")
        async with place.client("/rooms/r0/ws?name=Ann") as ann:
            await come_in(ann)
            assert (await ask(place, "POST", "/api/rooms", body))[0] == 201
            assert (await ask(place, "POST", "/api/rooms", body))[0] == 503
            await hang_up(ann)
        assert (await ask(place, "POST", "/api/rooms", body))[0] == 503, "to step in and out frees no place"
    async with hosting(rooms_of(max_rooms=20)) as place:
        for _ in range(MAX_AWAITED + 1):
            assert (await ask(place, "POST", "/api/rooms", body))[0] == 201


# -- who is there ------------------------------------------------------------------------------------------------------


async def test_who_is_there_and_who_has_the_floor_is_told() -> None:
    """The state of each agent as well: away, muted, which model."""
    async with in_room() as (place, ann):
        status, told = await ask(place, "GET", "/api/rooms")
        assert (status, told["templates"], told["agent_templates"]) == (200, ["pair"], [])
        (room,) = told["rooms"]
        assert {**room, "agent_templates": []} == (await ask(place, "GET", "/api/rooms/tea"))[1]
        who = [(one["name"], one["kind"], one["away"], one["muted"]) for one in room["participants"]]
        assert who == [("Ada", "agent", False, False), ("Bob", "agent", False, False), ("Ann", "human", False, False)]
        assert (room["policy"], room["template"], room["owned"], room["humans"]) == ("addressed", "pair", False, 1)
        assert [one["provider"] for one in room["agents"]] == ["scripted", "scripted"]
        await ann.send(say("Hello, Bob."))
        await ann.until("server_room_floor")
        while (await ann.until("server_room_floor"))["participant_id"] != participants(room)["Bob"]:
            pass
        assert await refusal(place, "GET", "/api/rooms/nowhere") == (404, "no_such_room")


async def test_strangers_see_the_rooms_that_the_server_offers_and_not_who_is_in_them() -> None:
    """A room of any other name is known to those who have its link."""
    settings = ServerSettings(lists_calls=False, drain_s=0)
    async with hosting(rooms_of(), settings) as place, place.client("/rooms/pair/ws?name=Ann") as ann:
        await come_in(ann)
        async with place.client("/rooms/tea/ws?name=Ben") as ben:
            await come_in(ben)
            status, told = await ask(place, "GET", "/api/rooms")
        assert (status, told["templates"]) == (200, ["pair"])
        assert told["rooms"] == [
            {"room_id": "pair", "template": "pair", "humans": 1, "agents": [{"name": "Ada"}, {"name": "Bob"}]}
        ]


async def test_somebody_is_muted_renamed_and_put_out_and_a_change_that_cannot_be_is_refused() -> None:
    async with in_room() as (place, ann):
        _, room = await ask(place, "GET", "/api/rooms/tea")
        ids = participants(room)
        for change, who, status, code in (
            ({"muted": True}, "nobody", 404, "unknown_participant"),
            ({"name": "Bob"}, ids["Ada"], 409, "name_taken"),
            ({"name": "[x]"}, ids["Ada"], 422, "invalid_name"),
            ({"muted": "yes"}, ids["Ada"], 422, "invalid_request"),
            ({"kick": True}, ids["Ada"], 422, "invalid_request"),
        ):
            assert await refusal(place, "POST", f"/api/rooms/tea/participants/{who}", change) == (status, code)
        assert (await refusal(place, "DELETE", "/api/rooms/tea/participants/nobody"))[1] == "unknown_participant"
        assert (await ask(place, "GET", "/api/rooms/tea"))[1] == room
        status, room = await ask(place, "POST", f"/api/rooms/tea/participants/{ids['Ada']}", {"muted": True})
        assert (status, room["participants"][0]["muted"]) == (200, True)
        await ann.send(say("Hello, Ada."))
        await until_said(ann, "Bob", "Bob here.")
        await ask(place, "POST", f"/api/rooms/tea/participants/{ids['Ada']}", {"muted": False, "name": "Eva"})
        assert (await ann.until("server_room_left"))["reason"] == "renamed"
        assert (await ann.until("server_room_joined"))["name"] == "Eva"
        assert (await ask(place, "DELETE", f"/api/rooms/tea/participants/{ids['Bob']}"))[0] == 204
        left = await ann.until("server_room_left")
        assert (left["name"], left["reason"]) == ("Bob", "kicked")
        assert (await ask(place, "DELETE", f"/api/rooms/tea/participants/{ids['Ann']}"))[0] == 204
        await ann.until("server_session_ended")
        await settled(lambda: place.calls.running == 0)


async def test_whoever_is_renamed_has_the_new_name_everywhere_and_the_old_one_is_free() -> None:
    rooms = rooms_of(agents={"Ada": lambda: agent("Ada")})
    async with in_room(rooms) as (place, _):
        _, room = await ask(place, "GET", "/api/rooms/tea")
        ada = f"/api/rooms/tea/participants/{participants(room)['Ada']}"
        status, room = await ask(place, "POST", ada, {"name": "Eva"})
        assert (status, [one["name"] for one in room["agents"]]) == (200, ["Eva", "Bob"])
        # The case of one's own name, and the name that one has, are nobody else's.
        for name in ("EVA", "EVA"):
            assert (await ask(place, "POST", ada, {"name": name}))[0] == 200
        for name, status in (("eva", 409), ("Ada", 201), ("Ann", 409)):
            got, told = await ask(place, "POST", "/api/rooms/tea/agents", {"template": "Ada", "name": name})
            assert (got, told.get("code")) == (status, None if status == 201 else "name_taken")
        _, room = await ask(place, "GET", "/api/rooms/tea")
        assert [one["name"] for one in room["agents"]] == ["EVA", "Bob", "Ada"]
        assert list(participants(room)) == ["EVA", "Bob", "Ann", "Ada"]


async def test_only_its_owner_changes_who_is_in_a_room() -> None:
    async with hosting(rooms_of()) as place:
        await ask(place, "POST", "/api/rooms?user=ann", {"template": "pair", "room_id": "tea"})
        async with place.client("/rooms/tea/ws?name=Ben") as ben:
            await come_in(ben)
            _, room = await ask(place, "GET", "/api/rooms/tea")
            ada = f"/api/rooms/tea/participants/{participants(room)['Ada']}"
            for method, path, body in (
                ("POST", ada, {"muted": True}),
                ("DELETE", f"{ada}?user=ben", None),
                ("POST", "/api/rooms/tea/agents", {"template": "eve"}),
            ):
                assert await refusal(place, method, path, body) == (403, "not_the_owner")
            assert (await ask(place, "POST", f"{ada}?user=ann", {"muted": True}))[0] == 200


async def test_another_agent_or_an_observer_comes_in_from_a_template_or_as_described() -> None:
    templates = {"eve": lambda: agent("Eve"), "minutes": lambda: Observer(react(name="Minutes"))}
    rooms = rooms_of(agents=templates, choose_model=Shelf().choose)
    async with in_room(rooms) as (place, ann):
        status, room = await ask(place, "POST", "/api/rooms/tea/agents", {"template": "eve"})
        assert (status, [one["name"] for one in room["agents"]]) == (201, ["Ada", "Bob", "Eve"])
        await ann.send(say("Hello, Eve."))
        await until_said(ann, "Eve", "Eve here.")
        status, room = await ask(place, "POST", "/api/rooms/tea/agents", {"template": "minutes", "name": "Kim"})
        assert (status, room["participants"][-1]["name"], room["agents"][-1]["observes"]) == (201, "Kim", True)
        for body, status, code in (
            ({"template": "eve"}, 409, "name_taken"),
            ({"template": "zoo"}, 422, "unknown_template"),
            ({"name": "Max", "model": "magic"}, 422, "unknown_model"),
        ):
            assert await refusal(place, "POST", "/api/rooms/tea/agents", body) == (status, code)
        for number in range(4):
            assert (await ask(place, "POST", "/api/rooms/tea/agents", {"name": f"A{number}"}))[0] == 201
        assert (await ask(place, "POST", "/api/rooms/tea/agents", {"name": "Nine"}))[1]["code"] == "too_many_agents"


@pytest.mark.virtual_time
async def test_agents_that_are_still_being_connected_count() -> None:
    gate = asyncio.Event()

    class Slow(ScriptedModel):
        async def connect(self, **about: Any) -> Connection:
            await gate.wait()
            return await super().connect(**about)

    first = RealtimeAgent("Ada", "", Slow(lambda _: []))
    rooms = Rooms({"one": lambda: ChatRoom([first])}, agents={"eve": lambda: agent("Eve")}, grace_s=0)
    async with comes(rooms, "one") as ann:
        ann.say(create())
        await ann.until("server_session_created")
        asked = [AgentRequest(template="eve", name=f"A{number % 20}") for number in range(40)]
        coming = [asyncio.create_task(rooms.add_agent("one", request)) for request in asked]
        await asyncio.sleep(1)
        gate.set()
        refused = [one for one in await asyncio.gather(*coming, return_exceptions=True) if one is not None]
        assert len(rooms.find("one").room.agent_participants) == MAX_AGENTS
        assert {one.code for one in refused if isinstance(one, ClientError)} == {"too_many_agents"}
        assert len(refused) == 33
    await rooms.close()


# -- the end of a room -------------------------------------------------------------------------------------------------


@pytest.mark.virtual_time
async def test_an_empty_room_waits_and_is_then_forgotten() -> None:
    made: list[ChatRoom] = []

    def template() -> ChatRoom:
        made.append(two())
        return made[-1]

    rooms = Rooms({"pair": template}, grace_s=20.0)
    calls = Calls(max_per_address=8, max_total=8)
    async with comes(rooms, "pair", calls) as ann:
        ann.say(create())
        await ann.until("server_room_joined", 3)
        await asyncio.sleep(100)
        assert len(rooms.hosted) == 1
    await asyncio.sleep(19)
    async with comes(rooms, "pair", calls) as ann:
        ann.say(create())
        await ann.until("server_room_joined", 3)
    await asyncio.sleep(19)
    assert len(made) == 1
    ids = {f"agent {member.id}" for member in made[0].agent_participants}
    assert ids <= {task.get_name() for task in asyncio.all_tasks()}
    await asyncio.sleep(2)
    assert rooms.hosted == []
    assert not ids & {task.get_name() for task in asyncio.all_tasks()}
    with pytest.raises(ClientError, match="closed"):
        made[0].make_human("Ben", calls.make_runtime(asyncio.get_running_loop()))
    async with comes(rooms, "pair", calls) as ann:
        ann.say(create())
        await ann.until("server_room_joined", 3)
        assert len(made) == 2
    await asyncio.sleep(21)
    rooms.make_human("pair", "Ann", calls.make_runtime(asyncio.get_running_loop()))
    await asyncio.sleep(29)
    assert (len(made), len(rooms.hosted)) == (3, 1)
    await asyncio.sleep(2)
    assert rooms.hosted == [], "nobody came into it"
    await rooms.close()


async def test_a_server_that_stops_ends_the_calls_and_closes_the_rooms() -> None:
    rooms = rooms_of()
    async with in_room(rooms) as (place, ann):
        place.server.should_exit = True
        await ann.closed()
        assert ann.types[-1] == "server_session_ended"
    assert rooms.hosted == []
    with pytest.raises(ClientError) as refused:
        rooms.make_human("tea", "Ben", place.calls.make_runtime(asyncio.get_running_loop()))
    assert (refused.value.code, refused.value.retryable) == ("draining", True)


def test_a_default_that_is_no_template_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="there is no template 'zoo'; there are pair"):
        rooms_of(default="zoo")


# -- four kinds of model -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spoken", [False, True], ids=["typed", "spoken"])
async def test_all_four_kinds_of_model_are_in_one_room(spoken: bool, fixtures_dir: Path) -> None:
    """CARD-04: a room bridges provider sessions, each over its own protocol on a real socket, and the embedded model to
    a client's socket. A human is answered by all four, one after the other, each under its own name."""

    engine = wordless_engine()

    def far_agent() -> RealtimeAgent:
        return agent("far", 0.5)

    def template() -> ChatRoom:
        agents = [RealtimeAgent(kind, "", provider_model(kind, far.url)) for kind in ("openai", "gemini", "dashscope")]
        local = RealtimeAgent("local", "", LocalRealtimeModel(engine=engine))
        return ChatRoom([*agents, local], floor=broadcast)

    async with serving(far_agent, WITHOUT_GRACE) as far:
        rooms = Rooms({"all": template}, grace_s=0)
        async with hosting(rooms) as place, place.client("/rooms/all/ws?name=Ann") as ann:
            await come_in(ann)
            if spoken:
                pcm = read_pcm16(fixtures_dir / "audio" / "hello_anna.wav", 16_000) + bytes(32_000)
                for start in range(0, len(pcm), 3_200):
                    await ann.send(audio_append(pcm[start : start + 3_200]))
                said = await ann.until("agent_input_transcription_done")
                assert (said["agent_name"], said["transcript"][:5]) == ("Ann", "Hello")
            else:
                await ann.send(say("Hello everyone."))
            spoke = [await heard_next(ann) for _ in range(4)]
            assert spoke == ["openai", "gemini", "dashscope", "local"]
            assert "agent_error" not in ann.types
            floors = [one["participant_id"] for one in ann.events if one["type"] == "server_room_floor"]
            assert len(set(floors) - {None}) == 5
        await settled(lambda: far.calls.running == 0)
    engine.close()

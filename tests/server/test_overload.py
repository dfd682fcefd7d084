"""A server without room for one more call: each client is refused in its own protocol, and live calls go on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from realtime.server.admission import Load, Verdict
from realtime.server.runner import uvicorn_config
from realtime.server.settings import ServerSettings
from tests.real_loop import settled
from tests.server import harness
from tests.server.harness import FakeSocket, Json, Place, audio_append, create, serving
from tests.server.steps import TEXT, passed


class Full(Load):
    """Has no room, whatever is measured."""

    def __init__(self) -> None:
        super().__init__(25, 0.8)
        self.overloaded = True

    def sample(self, now_s: float, late_s: float, cpu_s: float, running: int) -> None:
        pass

    def verdict(self, running: int) -> Verdict:
        return Verdict.REFUSE


@asynccontextmanager
async def full() -> AsyncIterator[Place]:
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        place.calls.admission.load = Full()
        yield place


GEMINI = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
FULL = {"error_type": "server_error", "code": "overloaded", "retryable": True}
REFUSALS: dict[str, tuple[str, list[str], Json | None, Json, int, str]] = {
    # the path, the subprotocols, what is sent, what of the error is told, the close code, and words of its reason
    "realtime.v1": ("/ws/u/s", ["realtime.v1"], create(), FULL, 1013, ""),
    "AgentScope 1.x": ("/ws/u/s", [], create(), FULL, 1013, ""),
    "openai": ("/v1/realtime?model=m", ["realtime"], None, {"code": "overloaded"}, 3000, "server_error.overloaded"),
    "dashscope": ("/api-ws/v1/realtime?model=qwen", [], None, {"code": "Throttling"}, 1013, ""),
    "gemini": (GEMINI, [], {"setup": {"model": "models/m"}}, {}, 1011, "The service is currently unavailable."),
}


@pytest.mark.parametrize("client", REFUSALS)
async def test_a_call_is_refused_in_the_clients_protocol_with_the_time_to_return(client: str) -> None:
    path, subprotocols, sent, told, close_code, words = REFUSALS[client]
    async with full() as place, place.client(path, subprotocols=subprotocols) as socket:
        if sent is not None:
            await socket.send(sent)
        code, reason = await socket.closed()
        assert (code, place.calls.running) == (close_code, 0)
        assert reason.startswith(words)
        if client == "gemini":
            assert "try again after 2000 ms" in reason
            return
        (error,) = (event.get("error", event) for event in socket.events)
        assert error | told == error
        assert error.get("error_type", error["type"]) == "server_error"
        assert error["retry_after_ms"] >= 2_000
        assert told != FULL or str(error["retry_after_ms"]) in reason


async def test_readiness_says_overloaded_and_a_live_call_goes_on_also_after_its_socket_was_lost() -> None:
    async with serving(settings=ServerSettings(drain_s=0)) as place:
        async with place.client() as client:
            created = await client.make_call()
            assert (await place.get("/readyz")).json()["status"] == "ok"
            place.calls.admission.load = Full()
            answer = await place.get("/readyz")
            assert (answer.status, answer.json()) == (503, {"status": "overloaded", "calls": 1})
            await client.send(TEXT)
            await client.until("agent_response_done")
            client.connection.transport.abort()
        token = created["resume_token"]
        async with place.client() as again:
            await again.send({"type": "client_session_resume", "token": token, "last_seq": created["seq"]})
            await again.until("server_session_resumed")


@pytest.mark.virtual_time
async def test_a_client_that_leaves_while_its_call_waits_leaves_no_place_behind() -> None:
    class Undecided(Full):
        def verdict(self, running: int) -> Verdict:
            return Verdict.WAIT

    async with FakeSocket() as client:
        client.calls.admission.load = Undecided()
        client.say(create())
        await settled(lambda: client.calls.running == 1)
        client.hang_up()
        await settled(lambda: client.calls.running == 0)


@pytest.mark.parametrize(("talks", "lives"), [(True, True), (False, False)], ids=["talking", "silent"])
async def test_a_talking_client_whose_pong_is_late_keeps_its_call_and_a_silent_one_does_not(
    talks: bool, lives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pong waits behind the speech that came before it, in a socket that a busy server has not read so far yet."""
    monkeypatch.setattr("realtime.server.websocket_protocol.LAST_LOOK_S", 0.05)

    def quick_pings(*args: object, **options: object) -> object:
        config = uvicorn_config(*args, **options)  # type: ignore[arg-type]
        config.ws_ping_interval = config.ws_ping_timeout = 0.1
        return config

    monkeypatch.setattr(harness, "uvicorn_config", quick_pings)
    async with serving(settings=ServerSettings(drain_s=0)) as place, place.client() as client:
        await client.make_call()
        monkeypatch.setattr(client.connection.protocol, "recv_frame", lambda frame: None)
        (session,) = place.calls.sessions.values()
        for _ in range(30 if talks else 0):
            await client.send(audio_append(bytes(640)))
            await passed(0.02)
        await settled(lambda: bool(session.listeners and not session.listeners[0].away) is lives)

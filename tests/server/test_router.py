"""The router inside applications that were there before."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastapi import Depends, FastAPI, HTTPException, WebSocketException
from websockets.exceptions import InvalidStatus

from realtime import voice_router
from realtime.server.app import create_app
from realtime.server.settings import ServerSettings
from tests.real_loop import settled
from tests.server.harness import create, echo_agent, serving_app


@pytest.mark.parametrize(
    ("error", "status"),
    [(WebSocketException(1008, "please log in"), 403), (HTTPException(401, "please log in"), 401)],
    ids=["WebSocketException", "HTTPException"],
)
async def test_a_dependency_refuses_a_socket_before_it_opens(error: Exception, status: int) -> None:
    async def refuse() -> None:
        raise error

    app = FastAPI()
    app.include_router(voice_router(echo_agent, prefix="/voice", dependencies=[Depends(refuse)]))
    async with serving_app(app) as place:
        with pytest.raises(InvalidStatus) as refused:
            async with place.client("/voice/ws/user1/session1"):
                pass
        assert refused.value.response.status_code == status


async def test_the_client_package_is_served_below_the_prefix_also_to_who_is_not_logged_in() -> None:
    """A browser fetches a script without the headers of its page; the calls stay behind the login."""

    async def refuse() -> None:
        raise HTTPException(401, "please log in")

    app = FastAPI()
    app.include_router(voice_router(echo_agent, prefix="/voice", dependencies=[Depends(refuse)]), prefix="/app")
    async with serving_app(app) as place:
        answer = await place.get("/app/voice/client/realtime.js")
        assert (answer.status, answer.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
        assert answer.headers["cache-control"] == "no-cache"
        assert (await place.get("/app/voice/client/worklets/capture.js")).status == 200
        assert (await place.get("/app/voice/client/no_such_file.js")).status == 404
        assert (await place.get("/app/voice/client/../../router.py")).status == 404
        assert (await place.get("/app/voice/api/calls?user=ann")).status == 401


async def test_a_mounted_server_embeds_like_one_at_the_root() -> None:
    app = FastAPI()
    app.mount("/voice", create_app(echo_agent, ServerSettings(embed_origins=("https://shop.example",), drain_s=0)))
    async with serving_app(app) as place:
        for path in ("/voice/client/realtime.js", "/voice/api/info"):
            answer = await place.get(path, Origin="https://shop.example")
            assert answer.headers["access-control-allow-origin"] == "https://shop.example", path


async def test_the_applications_lifespan_runs_around_its_calls() -> None:
    order: list[str] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        order.append("started")
        yield
        order.append(f"stopped with {router.calls.running} calls")

    router = voice_router(echo_agent, settings=ServerSettings(drain_s=0))
    app = FastAPI(lifespan=lifespan)
    app.include_router(router, prefix="/any")
    async with serving_app(app) as place, place.client("/any/ws/user1/session1") as client:
        await client.make_call()
        order.append("called")
        place.server.should_exit = True
        assert (await client.closed())[0] == 1012
    assert order == ["started", "called", "stopped with 0 calls"]


async def test_two_routers_in_one_application_count_apart() -> None:
    one, two = (voice_router(echo_agent, prefix=f"/{name}", settings=ServerSettings(max_calls=1)) for name in "ab")
    app = FastAPI()
    app.include_router(one)
    app.include_router(two)
    async with (
        serving_app(app) as place,
        place.client("/a/ws/u/s") as first,
        place.client("/b/ws/u/s") as second,
        place.client("/a/ws/u/s") as third,
    ):
        await first.make_call()
        await second.make_call()
        await third.send(create())
        assert (await third.until("agent_error"))["code"] == "server_full"
        await settled(lambda: (one.calls.running, two.calls.running) == (1, 1))

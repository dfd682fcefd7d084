"""What the application says over HTTP: the page, its headers, health, readiness, information."""

import asyncio
import urllib.request
from pathlib import Path

import pytest

import realtime
from realtime.server import app as app_module
from realtime.server.app import ModelOffer, ServerInfo, create_app
from realtime.server.embedding import page_folder
from realtime.server.settings import ServerSettings
from tests.server.harness import echo_agent, serving, serving_app

DIST = Path(__file__).resolve().parents[2] / "web" / "dist"


async def test_the_page_and_its_files_are_served_as_they_were_built() -> None:
    assert page_folder() == DIST
    async with serving() as place:
        for path in DIST.rglob("*.*"):
            name = path.relative_to(DIST).as_posix()
            answer = await place.get(f"/{name}")
            assert (answer.status, answer.body) == (200, path.read_bytes()), name
        assert (await place.get("/")).body == (DIST / "index.html").read_bytes()
        assert (await place.get("/nothing.js")).status == 404
        assert (await place.get("/../pyproject.toml")).status == 404


async def test_every_answer_forbids_what_the_page_does_not_need() -> None:
    """A request of the head is answered, and a file that did not change is not sent again."""
    async with serving() as place:
        for path in ("/", "/page.js", "/healthz", "/nothing"):
            headers = (await place.get(path)).headers
            assert "default-src 'self'; connect-src 'self'; object-src 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert "server" not in headers
        for path in ("/", "/healthz"):
            request = urllib.request.Request(place.url + path, method="HEAD")
            with await asyncio.to_thread(urllib.request.urlopen, request) as answer:
                assert (answer.status, answer.read()) == (200, b"")
        first = await place.get("/page.js")
        assert first.headers["cache-control"] == "no-cache"
        assert (await place.get("/page.js", If_None_Match=first.headers["etag"])).status == 304


async def test_without_a_built_page_a_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "page_folder", lambda: None)
    async with serving() as place:
        answer = await place.get("/")
        assert answer.status == 503
        assert "make serve" in answer.body.decode()
        async with place.client() as client:
            await client.make_call()


async def test_readiness_follows_the_loading_and_the_draining() -> None:
    ready = False
    app = create_app(echo_agent, is_ready=lambda: ready)
    async with serving_app(app) as place:
        answer = await place.get("/readyz")
        assert (answer.status, answer.json()) == (503, {"status": "starting", "calls": 0})
        ready = True
        async with place.client() as client:
            await client.make_call()
            answer = await place.get("/readyz")
            assert (answer.status, answer.json()) == (200, {"status": "ok", "calls": 1})
            await place.calls.drain(0)
            answer = await place.get("/readyz")
            assert (answer.status, answer.json()) == (503, {"status": "draining", "calls": 0})
        assert (await place.get("/healthz")).json() == {"status": "ok"}


async def test_the_information_is_what_agent_ready_says() -> None:
    async with serving() as place:
        before = (await place.get("/api/info")).json()
        own = {"notices": [], "version": realtime.__version__, "protocols": ["realtime.v1"]}
        assert before == {"model": None, "agent_name": "", "suggestions": [], **own}
        async with place.client() as client:
            await client.make_call()
            told = next(event for event in client.events if event["type"] == "agent_ready")
            after = (await place.get("/api/info")).json()
            assert (after["model"], after["agent_name"]) == (told["model"], told["agent_name"])


async def test_the_pages_colours_may_be_given(tmp_path: Path) -> None:
    colours = tmp_path / "acme.css"
    colours.write_text(":root { --agent: #d4006a; }")
    async with serving_app(create_app(echo_agent, ServerSettings(brand=str(colours)))) as place:
        answer = await place.get("/brand.css")
        assert (answer.status, answer.body) == (200, b":root { --agent: #d4006a; }")
        assert answer.headers["content-type"].startswith("text/css")


async def test_information_and_models_to_choose_from_may_be_given() -> None:
    async def info() -> ServerInfo:
        return ServerInfo(model={"model": "local"}, notices=("Speech recognition is not installed.",))

    async def offer() -> ModelOffer:
        return ModelOffer(default="local", models=[{"name": "local", "ready": True}])

    async with serving_app(create_app(echo_agent, info=info, offer=offer)) as place:
        told = (await place.get("/api/info")).json()
        assert (told["model"], told["notices"]) == ({"model": "local"}, ["Speech recognition is not installed."])
        models = (await place.get("/api/models")).json()
        assert models == {"default": "local", "models": [{"name": "local", "ready": True}]}
    async with serving() as place:
        assert (await place.get("/api/models")).json() == {"default": None, "models": []}

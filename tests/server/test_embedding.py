"""Pages of other origins: who may read what, who may frame the page, and how the client package is served."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from realtime.server import app as app_module
from realtime.server import embedding
from realtime.server.embedding import with_loopback_names
from realtime.server.settings import ServerSettings
from tests.server.harness import Place, serving

SHOP = "https://shop.example"
OTHER = "https://other.example"
EMBEDDED = ServerSettings(embed_origins=(SHOP, "http://localhost:5173"), drain_s=0)


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    """A server that the shop embeds, with a small page and a small client package."""
    files = {
        "index.html": "<h1>page</h1>",
        "client/realtime.js": "export {}",
        "client/types/realtime.d.ts": "export {}",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for module in (app_module, embedding):
        monkeypatch.setattr(module, "page_folder", lambda: tmp_path)
    async with serving(settings=EMBEDDED) as place:
        yield place


async def test_a_named_origin_may_read_the_package_and_the_api_and_no_other_may(place: Place) -> None:
    """A browser that asks first is answered."""
    for path in ("/client/realtime.js", "/api/info"):
        answer = await place.get(path, Origin=SHOP)
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, SHOP)
        assert answer.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in answer.headers
        assert "access-control-allow-origin" not in (await place.get(path, Origin=OTHER)).headers
    assert "access-control-allow-origin" not in (await place.get("/", Origin=SHOP)).headers, "the page itself"
    asks = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    async with httpx.AsyncClient() as browser:
        for origin, status in ((SHOP, 200), (OTHER, 400)):
            answer_to_it = await browser.options(f"{place.url}/api/info", headers={"Origin": origin, **asks})
            allowed = answer_to_it.headers.get("access-control-allow-origin")
            assert (answer_to_it.status_code, allowed) == (status, SHOP if origin == SHOP else None)


async def test_named_origins_may_frame_the_page_and_open_calls(place: Place) -> None:
    policy = (await place.get("/")).headers["content-security-policy"]
    assert policy.endswith(f"frame-ancestors 'self' {SHOP} http://localhost:5173 http://127.0.0.1:5173")
    async with place.client(origin=SHOP) as client:
        await client.make_call()
    async with place.client(origin=OTHER) as client:
        assert (await client.closed())[0] == 1008


LOOPBACK = ("http://localhost:5173", "http://127.0.0.1:5173", "http://[::1]:5173")
OTHER_LOOPBACK = (
    *("http://localhost:5174", "https://localhost:5173", "http://localhost", "http://localhost.example:5173"),
)


@pytest.mark.parametrize("named", LOOPBACK)
async def test_the_loopback_names_of_a_scheme_and_a_port_are_one_origin(named: str) -> None:
    for settings in (ServerSettings(embed_origins=(named,)), ServerSettings(allowed_origins=(named,))):
        async with serving(settings=settings) as place:
            for origin in LOOPBACK:
                async with place.client(origin=origin) as client:
                    await client.make_call()
                read = (await place.get("/api/info", Origin=origin)).headers.get("access-control-allow-origin")
                assert read == (origin if settings.embed_origins else None)
            for origin in OTHER_LOOPBACK:
                async with place.client(origin=origin) as client:
                    code, reason = await client.closed()
                    assert (code, "--allow-embed or --allow-origin" in reason) == (1008, True)
                assert "access-control-allow-origin" not in (await place.get("/api/info", Origin=origin)).headers


def test_only_loopback_names_stand_for_each_other() -> None:
    assert with_loopback_names(["https://Shop.example/", "*"]) == (SHOP, "*")
    assert with_loopback_names(["https://[::1]"]) == ("https://[::1]", "https://localhost", "https://127.0.0.1")


async def test_without_the_option_no_page_frames_or_reads_and_it_makes_no_name_of_this_server() -> None:
    async with serving() as place:
        answer = await place.get("/api/info", Origin=place.url)
        assert answer.headers["content-security-policy"].endswith("frame-ancestors 'none'")
        assert "access-control-allow-origin" not in answer.headers
    settings = ServerSettings(embed_origins=(SHOP,), hosts=("127.0.0.1",), drain_s=0)
    async with serving(settings=settings) as place:
        assert (await place.get("/api/info", Host="shop.example")).status == 401


async def test_files_of_the_package_have_their_types_and_are_revalidated(place: Place) -> None:
    for name, content_type in (("realtime.js", "text/javascript"), ("types/realtime.d.ts", "application/typescript")):
        answer = await place.get(f"/client/{name}")
        assert answer.headers["content-type"] == f"{content_type}; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        assert (await place.get(f"/client/{name}", If_None_Match=answer.headers["etag"])).status == 304


def test_origins_are_named_one_each() -> None:
    for origin in ("*", "https://*.example", "https://shop.example https://x"):
        with pytest.raises(ValueError, match="embed_origins are origins"):
            ServerSettings(embed_origins=(origin,))

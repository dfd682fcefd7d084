"""What pages of others may read: the client package, which is served here, and the API.

The names of this machine (`localhost`, `127.0.0.1`, `[::1]`) are one origin where scheme and port agree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from fastapi import Request
from fastapi.staticfiles import StaticFiles
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

SHARED = ("/client/", "/api/")
"""The paths whose answers pages of the embedding origins may read."""
PREFLIGHT_S = 600
"""How long a browser may remember that it may ask."""
CONTENT_TYPES = {".js": "text/javascript; charset=utf-8", ".ts": "application/typescript; charset=utf-8"}


LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def with_loopback_names(origins: Iterable[str]) -> tuple[str, ...]:
    """Return the origins as browsers send them; one of a loopback name under all of these names."""
    return tuple(dict.fromkeys(name for origin in origins for name in _names(origin.rstrip("/").lower())))


def _names(origin: str) -> tuple[str, ...]:
    scheme, _, place = origin.partition("://")
    name, colon, port = place.rpartition(":") if not place.endswith("]") and ":" in place else (place, "", "")
    if name not in LOOPBACK_NAMES:
        return (origin,)
    others = (f"{scheme}://{other}{colon}{port}" for other in LOOPBACK_NAMES if other != name)
    return (origin, *others)


class Embedding:
    """Lets pages of some origins read what is shared.

    Only the answers below `SHARED` get CORS headers."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._shared = CORSMiddleware(
            app,
            allow_origins=with_loopback_names(origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "last-event-id"],
            max_age=PREFLIGHT_S,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        is_shared = scope["type"] == "http" and (
            scope["path"].removeprefix(scope.get("root_path", "")).startswith(SHARED)
        )
        await (self._shared if is_shared else self._app)(scope, receive, send)


def page_folder() -> Path | None:
    """Return the folder of the built page; None where there is none.

    An installed package contains it; a clone has it in `web/dist`.
    """
    here = Path(__file__).resolve().parent
    places = (here / "page", here.parent.parent / "web" / "dist")
    return next((place for place in places if (place / "index.html").is_file()), None)


def client_route(prefix: str) -> Route | None:
    """Return the route of the client package below a prefix; None where it is not built.

    A browser fetches a script without headers of the page's: no dependency of a router guards it.
    """
    folder = page_folder()
    if folder is None or not (folder / "client").is_dir():
        return None
    files = ClientFiles(directory=folder / "client")

    async def client(request: Request) -> Response:
        return await files.get_response(request.path_params["path"], request.scope)

    return Route(f"{prefix}/client/{{path:path}}", client, methods=["GET", "HEAD"], include_in_schema=False)


class ClientFiles(StaticFiles):
    """The built client package. Its content types do not depend on the machine: many know `.ts` as a video."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """See the base."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.setdefault("cache-control", "no-cache")  # the names are fixed
        content_type = CONTENT_TYPES.get(os.path.splitext(full_path)[1])
        if content_type is not None and "content-type" in response.headers:
            response.headers["content-type"] = content_type
        return response

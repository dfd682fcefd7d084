"""What pages of other origins may read: the client package and the API; and the files of the package."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fastapi.staticfiles import StaticFiles
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

SHARED = ("/client/", "/api/")
"""The paths whose answers pages of the embedding origins may read."""
PREFLIGHT_S = 600
"""How long a browser may remember that it may ask."""
CONTENT_TYPES = {".js": "text/javascript; charset=utf-8", ".ts": "application/typescript; charset=utf-8"}


class Embedding:
    """Lets pages of some origins read the client package and the API, by CORS headers on their answers alone."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._shared = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "last-event-id"],
            max_age=PREFLIGHT_S,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        is_shared = scope["type"] == "http" and scope["path"].startswith(SHARED)
        await (self._shared if is_shared else self._app)(scope, receive, send)


class ClientFiles(StaticFiles):
    """The built client package. Its content types do not depend on the machine: many know `.ts` as a video."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """See the base."""
        response = super().file_response(full_path, stat_result, scope, status_code)
        content_type = CONTENT_TYPES.get(os.path.splitext(full_path)[1])
        if content_type is not None and "content-type" in response.headers:
            response.headers["content-type"] = content_type
        return response

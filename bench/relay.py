"""The floor: a Starlette relay under uvicorn that forwards every frame unparsed, with the server's own libraries.

Run by `bench.run`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed


def relay_app(provider_url: str) -> Starlette:
    """An application whose every socket is one provider session."""

    async def up(browser: WebSocket, provider: ClientConnection) -> None:
        while True:
            message = await browser.receive()
            if message["type"] == "websocket.disconnect":
                await provider.close()
                return
            await provider.send(message["text"])

    async def down(browser: WebSocket, provider: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed, WebSocketDisconnect):
            while True:
                await browser.send_text(await provider.recv(decode=True))

    async def relay(browser: WebSocket) -> None:
        await browser.accept()
        async with connect(provider_url, compression=None, max_size=None) as provider, asyncio.TaskGroup() as group:
            group.create_task(up(browser, provider))
            group.create_task(down(browser, provider))

    return Starlette(routes=[WebSocketRoute("/ws/{user_id}/{session_id}", relay)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--provider", required=True, help="ws://127.0.0.1:PORT/v1/realtime?model=...")
    options = parser.parse_args()
    uvicorn.run(
        relay_app(options.provider),
        host="127.0.0.1",
        port=options.port,
        loop="uvloop",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        access_log=False,
        log_level="error",
    )


if __name__ == "__main__":
    main()

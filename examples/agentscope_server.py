"""The documented sample server: a FastAPI socket of one's own, a queue, a pump, and an agent that is running already.

OPENAI_API_KEY=... uvicorn agentscope_server:app --app-dir examples

`realtime serve` and `voice_router` do all this and more; this is for applications that were written after the sample.
"""

import asyncio
import os

from fastapi import FastAPI, WebSocket, WebSocketDisconnect

from realtime import ClientEvents, OpenAIRealtimeModel
from realtime.agent import RealtimeAgent

app = FastAPI()


@app.websocket("/ws/{user_id}/{session_id}")
async def websocket_endpoint(websocket: WebSocket, user_id: str, session_id: str) -> None:
    await websocket.accept()

    # The agent puts its events here.
    frontend_queue: asyncio.Queue = asyncio.Queue()

    agent = RealtimeAgent(
        name="Assistant",
        sys_prompt="You are a helpful assistant.",
        model=OpenAIRealtimeModel(
            model_name="gpt-4o-realtime-preview",
            api_key=os.getenv("OPENAI_API_KEY"),
        ),
    )
    await agent.start(frontend_queue)

    # From the agent to the page.
    async def send_to_frontend() -> None:
        while True:
            msg = await frontend_queue.get()
            await websocket.send_json(msg.model_dump())

    pump = asyncio.create_task(send_to_frontend())

    # From the page to the agent.
    try:
        while True:
            data = await websocket.receive_json()
            client_event = ClientEvents.from_json(data)
            await agent.handle_input(client_event)
    except WebSocketDisconnect:
        pass
    finally:
        pump.cancel()
        await agent.stop()

"""A thread of Agentflow goes on with an agent of ours, and is handed back as Agentflow stores and streams it.

Run: python examples/agentflow_thread.py
"""

import asyncio
from typing import Any

from realtime import RealtimeAgent
from realtime.interop import dump, load
from realtime.interop.agentflow_stream import AgentflowStream
from realtime.message import UserMsg
from realtime.model.scripted import ScriptedModel, echo_bot

CALL = {"type": "tool_call", "id": "c1", "name": "get_weather", "args": {"city": "Oslo"}}
RESULT = {"type": "tool_result", "call_id": "c1", "output": {"sky": "clear"}, "is_error": False, "status": "completed"}
THREAD: list[dict[str, Any]] = [
    {"message_id": 1, "role": "user", "content": [{"type": "text", "text": "How is Oslo?"}], "timestamp": 1767323045.5},
    {"message_id": 2, "role": "assistant", "content": [CALL], "timestamp": 1767323046.0},
    {"message_id": 3, "role": "tool", "content": [RESULT], "timestamp": 1767323047.0},
]


async def main() -> list[dict[str, Any]]:
    messages = load(THREAD, dialect="agentflow")
    print([block.type for block in messages[1].content])
    agent = RealtimeAgent("Friday", "Be brief.", ScriptedModel(echo_bot("It is clear in Oslo.", seconds=0.1)))
    await agent.start(asyncio.Queue())
    stream, told = AgentflowStream(shape="source"), list[dict[str, Any]]()
    async for event in agent.stream_events(UserMsg("Ada", "And now?")):
        told += stream.push(event)
    await agent.stop()
    print("".join(block.get("text", "") for one in told if one["delta"] for block in one["content"]))
    return dump([*messages, *load(told, dialect="agentflow")], dialect="agentflow", shape="source")


if __name__ == "__main__":
    asyncio.run(main())

"""An MCP server is asked aloud: a recording asks, the embedded voice answers. It runs without a key:

python examples/mcp_by_voice.py
"""

import asyncio
import sys
from pathlib import Path

from realtime import ClientEvents, RealtimeAgent, Toolkit, open_model
from realtime.audio.files import read_pcm16
from realtime.event.base import AudioFormat
from realtime.mcp import StdIOStatefulClient

HERE = Path(__file__).parent
RATE_HZ = 16_000
PCM16 = AudioFormat.pcm16(RATE_HZ)
SECOND = RATE_HZ * 2
"""Bytes of a second of sound."""


async def main() -> str:
    """Ask, print what happens, and return the answer."""
    server = StdIOStatefulClient("bookshop", sys.executable, [str(HERE / "mcp_server.py")])
    await server.connect()
    toolkit = Toolkit()
    await toolkit.register_mcp_client(server)
    agent = RealtimeAgent("Robin", "You answer the phone of a bookshop.", open_model("local"), toolkit=toolkit)
    question = read_pcm16(HERE / "opening_hours.flac", RATE_HZ) + bytes(2 * SECOND)
    try:
        async with agent:
            await agent.handle_input(ClientEvents.ClientAudioAppendEvent(audio=question, format=PCM16))
            async for event in agent:
                if event.type == "agent_input_transcription_done":
                    print("user:", event.transcript)
                if event.type == "agent_response_tool_result":
                    print("tool:", event.tool_result.output_text())
                if event.type == "agent_response_audio_transcript_done":
                    print("Robin:", event.transcript)
                    return event.transcript
        raise RuntimeError("the call ended without an answer")
    finally:
        await server.close()


if __name__ == "__main__":
    asyncio.run(main())

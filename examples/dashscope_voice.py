"""Ask Qwen-Omni aloud about an order: DASHSCOPE_API_KEY=... python examples/dashscope_voice.py question.wav"""

import asyncio
import sys

import soundfile

from realtime import ClientEvents, DashScopeRealtimeModel, RealtimeAgent, Toolkit
from realtime.event import AudioFormat


def find_order(number: int) -> str:
    """Look up an order of the shop by its number."""
    return f"Order {number} was shipped this morning."


async def main(question: str) -> None:
    model = DashScopeRealtimeModel("qwen3.8-omni-flash-realtime")
    agent = RealtimeAgent("Robin", "You sell books.", model, toolkit=Toolkit([find_order]))
    await agent.start(events := asyncio.Queue())
    samples, rate_hz = soundfile.read(question, dtype="int16")
    pcm = samples.tobytes() + bytes(3 * rate_hz)  # 1.5 s of silence end the turn
    await agent.handle_input(ClientEvents.ClientAudioAppendEvent(audio=pcm, format=AudioFormat.pcm16(rate_hz)))
    while (event := await events.get()).type not in ("agent_response_audio_transcript_done", "agent_error"):
        print(event.type)
    print(event.message if event.type == "agent_error" else event.transcript)
    await agent.stop()


asyncio.run(main(sys.argv[1]))

"""The documented sample of a RealtimeAgent, without a server: start it with a queue, print what it says.

OPENAI_API_KEY=... python examples/agentscope_agent.py
"""

import asyncio
import os

from realtime import ClientEvents, OpenAIRealtimeModel
from realtime.agent import RealtimeAgent


async def main() -> None:
    agent = RealtimeAgent(
        name="Friday",
        sys_prompt="You are a helpful assistant named Friday.",
        model=OpenAIRealtimeModel(
            model_name="gpt-4o-realtime-preview",
            api_key=os.getenv("OPENAI_API_KEY"),
            voice="alloy",
            enable_input_audio_transcription=True,
        ),
    )

    # The agent puts its events here, as objects.
    outgoing_queue: asyncio.Queue = asyncio.Queue()
    await agent.start(outgoing_queue)

    await agent.handle_input(
        ClientEvents.ClientTextAppendEvent(session_id="session1", text="Hello, who are you?"),
    )

    while True:
        event = await outgoing_queue.get()
        print(event.type)
        if event.type in ("agent_response_done", "agent_error"):
            break

    await agent.stop()


if __name__ == "__main__":
    asyncio.run(main())

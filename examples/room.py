"""A room: two agents and one human; the agent that is named answers. It runs without a key:

python examples/room.py

Put any model in place of `LocalRealtimeModel`, and send sound in place of text. With many humans, over sockets:
docs/rooms.md.
"""

import asyncio
from typing import Any

from realtime import ClientEvents, LocalRealtimeModel, RealtimeAgent
from realtime.room import ChatRoom
from realtime.room.floor import addressed


async def main() -> list[str]:
    """Ask one, then the other, and print who says what."""
    emma = RealtimeAgent("Emma", "Your name is Emma.", LocalRealtimeModel("heart"))
    tom = RealtimeAgent("Tom", "Your name is Tom.", LocalRealtimeModel("heart-low"))
    room = ChatRoom([emma, tom], floor=addressed)
    events: asyncio.Queue[Any] = asyncio.Queue()
    await room.start(events, name="Ann")

    said: list[str] = []
    for words in ("Emma, what is your name?", "And what is your name, Tom?"):
        await room.handle_input(ClientEvents.ClientTextAppendEvent(text=words))
        while (event := await events.get()).type != "agent_response_done":
            if event.type == "agent_response_audio_transcript_done":
                said.append(f"{event.agent_name}: {event.transcript}")
                print(said[-1])
    await room.stop()
    return said


if __name__ == "__main__":
    asyncio.run(main())

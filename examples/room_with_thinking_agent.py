"""A thinking agent in a room: Friday listens in silence, and answers when it is called. It runs without a key:

python examples/room_with_thinking_agent.py

Put a ReActAgent, with a chat model and tools, in place of Minutes. More: docs/rooms.md.
"""

import asyncio
from typing import Any

from realtime import ClientEvents, LocalRealtimeModel, Msg, RealtimeAgent
from realtime.agent import AgentBase
from realtime.room import ChatRoom, Observer


class Minutes(AgentBase):
    heard = ""

    async def observe(self, msg: Any) -> None:
        self.heard += f"{msg.name} said: {msg.get_text_content()} "

    async def reply(self) -> Msg:
        return Msg(self.name, self.heard, "assistant")


async def main() -> None:
    emma = RealtimeAgent("Emma", "Your name is Emma.", LocalRealtimeModel("heart"))
    room = ChatRoom([emma, Observer(Minutes("Friday"))])
    events: asyncio.Queue[Any] = asyncio.Queue()
    await room.start(events, name="Ann")
    for words in ("What is your name?", "Friday, what was said so far?"):
        await room.handle_input(ClientEvents.ClientTextAppendEvent(text=words))
        while (event := await events.get()).type != "server_room_floor" or event.reason != "done":
            if event.type == "agent_response_audio_transcript_done":
                print(f"{event.agent_name}: {event.transcript}")
    await room.stop()


if __name__ == "__main__":
    asyncio.run(main())

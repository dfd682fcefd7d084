"""A record of the call, filled in when it is over. Without a key: python examples/call_record.py"""

import asyncio
import json
from typing import Any, Literal

from pydantic import BaseModel

from realtime import RealtimeAgent, ScriptedModel, UserMsg
from realtime.message import ToolCallBlock
from realtime.model.base import ResponseCreate
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.script import Speak

ANSWERS = [{"caller": "Ann", "people": "six", "day": "Friday"}, {"caller": "Ann", "people": 6, "day": "Friday"}]


class Booking(BaseModel):
    caller: str
    people: int
    day: Literal["Friday", "Saturday"] | None = None


class Clerk(ChatModelBase):  # use OpenAIChatModel("gpt-5-mini") instead
    async def __call__(self, *args: Any, **options: Any) -> ChatResponse:
        return ChatResponse([ToolCallBlock(id="c1", name=options["tool_choice"], input=json.dumps(ANSWERS.pop(0)))])


async def main() -> None:
    model = ScriptedModel(
        lambda message: [Speak("You are welcome.", 1.0)] if isinstance(message, ResponseCreate) else []
    )
    agent = RealtimeAgent("Luigi", "You take bookings.", model, call_record=Booking, chat_model=Clerk("clerk", False))
    await agent.start(lambda event: print(event.value) if event.type == "server_custom" else None)
    await agent(UserMsg("Ann", "I'm Ann. A table for six on Friday, please."))
    await agent.stop()


if __name__ == "__main__":
    asyncio.run(main())

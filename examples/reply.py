"""Talk to an agent in text and put its reply together from its events. It runs without a key:

python examples/reply.py
"""

import asyncio
from typing import Any

from realtime import RealtimeAgent, ScriptedModel
from realtime.event import ReplyStartEvent
from realtime.message import AssistantMsg, Msg, UserMsg
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.script import Speak, Step


def answer(message: ModelInput) -> list[Step]:
    """The scripted model's only answer; use `open_model("openai:gpt-realtime-2.1")` instead."""
    return [Speak("Hello! Nice to meet you.", 1.0)] if isinstance(message, ResponseCreate) else []


async def main() -> Msg:
    """Start an agent whose voice nobody plays, ask it, and print how its message grows."""
    agent = RealtimeAgent("Friday", "You are a helpful assistant named Friday.", ScriptedModel(answer))
    voice: asyncio.Queue[Any] = asyncio.Queue()
    await agent.start(voice)

    async for event in agent.reply_stream(UserMsg("user", "Hello!")):
        if isinstance(event, ReplyStartEvent):
            msg = AssistantMsg(name=event.name, content=[], id=event.reply_id)
        else:
            msg.append_event(event)
            print(event.type, repr(msg.get_text_content()))

    whole = await agent(UserMsg("user", "And the same at once?"))
    print(whole.name, "said:", whole.get_text_content())
    await agent.stop()
    return msg


if __name__ == "__main__":
    asyncio.run(main())

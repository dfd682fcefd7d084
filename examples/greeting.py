"""An agent that speaks first, asks who says nothing, and ends the call itself. It runs without a key:

python examples/greeting.py
"""

import asyncio

from realtime import RealtimeAgent, ScriptedModel
from realtime.message import Msg
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.script import Speak, Step


def answer(message: ModelInput) -> list[Step]:
    """The scripted model's only answer; use `open_model("local")` instead."""
    return [Speak("Good morning! How can I help?", 1.0)] if isinstance(message, ResponseCreate) else []


class Clerk(RealtimeAgent):
    async def on_enter(self) -> None:
        """The call has begun, and the greeting is on its way: this follows it."""
        spoken = await self.say("By the way, this call is free of charge.")
        print("interrupted at" if spoken.interrupted else "played:", spoken.text)
        await self.stop()

    async def on_turn(self, msg: Msg) -> None:
        print("the user said:", msg.get_text_content())


async def main() -> None:
    greeting = "Greet the caller and ask how you can help."
    model = ScriptedModel(answer)
    async with Clerk("Friday", "You are Friday.", model, greeting=greeting, idle_prompt_s=20) as agent:
        async for event in agent:
            print(event.type)


if __name__ == "__main__":
    asyncio.run(main())

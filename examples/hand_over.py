"""A call that goes from one agent to another: the model hands it over by a tool. It runs without a key:

python examples/hand_over.py
"""

import asyncio

from realtime import RealtimeAgent, ScriptedModel
from realtime.event import ClientEvents
from realtime.model.base import ModelInput, ResponseCreate
from realtime.model.script import CallTools, Speak, Step

desk_says = iter([CallTools((("transfer_to_ben", {}),)), Speak("I hand you over to Ben.", 1.0)])


def desk(message: ModelInput) -> list[Step]:
    """The scripted model of the desk; use `open_model("openai:gpt-realtime-2.1")` instead."""
    return [next(desk_says)] if isinstance(message, ResponseCreate) else []


def billing(message: ModelInput) -> list[Step]:
    """Another provider's model, with a voice of its own."""
    return [Speak("Which invoice is wrong?", 1.0)] if isinstance(message, ResponseCreate) else []


async def main() -> None:
    ben = RealtimeAgent("Ben", "You are Ben. You correct invoices.", ScriptedModel(billing), voice="ash")
    async with RealtimeAgent("Ann", "You are Ann, at the desk.", ScriptedModel(desk), transfers=[ben]) as ann:
        await ann.handle_input(ClientEvents.ClientTextAppendEvent(text="My invoice is wrong."))
        async for event in ann:
            if event.type == "server_custom":
                print(event.value["from"], "->", event.value["to"])
            elif event.type == "agent_response_audio_transcript_done":
                print(f"{event.agent_name}: {event.transcript}")
                if event.agent_name == "Ben":
                    await ann.stop()


if __name__ == "__main__":
    asyncio.run(main())

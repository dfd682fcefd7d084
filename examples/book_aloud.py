"""A booking that the agent asks for aloud, and whose number changes. It runs without a key:

python examples/book_aloud.py

A script stands for the model and for the user's voice. With `open_model("openai:gpt-realtime-2.1")` in its place, and a
page that listens, the same tool asks a real user.
"""

import asyncio
from collections.abc import Iterator

import msgspec

from realtime import RealtimeAgent, ScriptedModel, Toolkit
from realtime.event import ClientEvents, ServerEvents
from realtime.model.base import ModelInput, ResponseCreate, ToolResult
from realtime.model.script import CallTools, Speak, SpeechEnd, SpeechStart, Step, Wait
from realtime.model.scripted import PROFILE

toolkit = Toolkit()
booked: list[tuple[int, str]] = []


def book_table(people: int, day: str) -> str:
    """Book a table."""
    booked.append((people, day))
    return f"A table for {people} on {day} is booked."


toolkit.register(book_table, consent="voice", question="Shall I book a table for {people} people on {day}?")


class Restaurant:
    """The scripted model's behaviour, and what its user answers to each question."""

    def __init__(self, *answers: str) -> None:
        self.answers = iter(answers)
        self.result = ""

    def __call__(self, message: ModelInput) -> Iterator[Step]:
        if isinstance(message, ToolResult):
            self.result = message.result.output_text()
        elif isinstance(message, ResponseCreate) and message.say:
            yield Speak(message.say, 1.0, pace=1.0, to=message)
            yield Wait(500)
            yield SpeechStart(100)
            yield SpeechEnd(100, next(self.answers))
        elif isinstance(message, ResponseCreate) and self.result:
            yield Speak(self.result, 0.5, to=message)
        elif isinstance(message, ResponseCreate):
            yield CallTools((("book_table", {"people": 6, "day": "Friday"}),))


async def main() -> list[dict[str, object]]:
    """Book a table; return the receipts of the consents."""
    profile = msgspec.structs.replace(
        PROFILE, says_given_words=True, responds_beside_tools=True, leaves_responses=True, interrupts_itself=False
    )
    model = ScriptedModel(Restaurant("Yes, but only four.", "Yes."), profile=profile)
    receipts: list[dict[str, object]] = []
    async with RealtimeAgent("Robin", "You work in a restaurant.", model, toolkit=toolkit) as agent:
        microphone = ClientEvents.ClientAudioAppendEvent(session_id="s", audio=bytes(3_200))  # silence, but it is there
        await agent.handle_input(microphone)
        await agent.handle_input(ClientEvents.ClientTextAppendEvent(session_id="s", text="A table for six on Friday."))
        async for event in agent:
            match event:
                case ServerEvents.ServerCustomEvent(name="consent_question", value=value):
                    print(f"{value['state']}: {value['question']}")
                case ServerEvents.ServerCustomEvent(name="consent_receipt", value=value):
                    receipts.append(value)
                    print(f"receipt: {value['answer']} by {value['answered_by']}, then {value['done']}")
                case ServerEvents.AgentInputTranscriptionDoneEvent(transcript=words):
                    print("user:", words)
                case ServerEvents.AgentResponseAudioTranscriptDoneEvent(transcript=words):
                    print("agent:", words)
                    if receipts:
                        break
    return receipts


if __name__ == "__main__":
    asyncio.run(main())

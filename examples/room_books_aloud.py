"""A room of two agents in which a booking is asked for aloud, and its number changes. It runs without a key:

python examples/room_books_aloud.py

A script stands for the models and for what Ann says. In a room of several humans only the one whose turn led to the
call is asked: docs/rooms.md, "Who may consent".
"""

import asyncio
from collections.abc import Iterator

import msgspec

from realtime import RealtimeAgent, ScriptedModel, Toolkit
from realtime.event import ClientEvents, ServerEvents
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model.base import AudioCommit, ModelInput, ResponseCreate, ToolResult
from realtime.model.script import CallTools, Speak, Step, Transcribe
from realtime.model.scripted import MANUAL_PROFILE
from realtime.room import ChatRoom
from realtime.room.floor import addressed

toolkit = Toolkit()
booked: list[tuple[int, str]] = []
ANN_SAYS = ("Robin, a table for six on Friday.", "Yes, but only four.", "Yes.")


def book_table(people: int, day: str) -> str:
    """Book a table."""
    booked.append((people, day))
    return f"A table for {people} on {day} is booked."


toolkit.register(book_table, consent="voice", question="Shall I book a table for {people} people on {day}?")


class Restaurant:
    """The scripted model's behaviour: it understands what Ann says, and books a table."""

    def __init__(self) -> None:
        self.words = iter(ANN_SAYS)
        self.result = ""

    def __call__(self, message: ModelInput) -> Iterator[Step]:
        if isinstance(message, AudioCommit):
            yield Transcribe(next(self.words))
        elif isinstance(message, ToolResult):
            self.result = message.result.output_text()
        elif isinstance(message, ResponseCreate) and (words := message.say or self.result):
            yield Speak(words, 0.5, to=message)
        elif isinstance(message, ResponseCreate):
            yield CallTools((("book_table", {"people": 6, "day": "Friday"}),))


async def main() -> list[dict[str, object]]:
    """Book a table; return the receipts of the consents."""
    profile = msgspec.structs.replace(
        MANUAL_PROFILE, says_given_words=True, responds_beside_tools=True, leaves_responses=True
    )
    robin = RealtimeAgent("Robin", "You work here.", ScriptedModel(Restaurant(), profile=profile), toolkit=toolkit)
    wren = RealtimeAgent("Wren", "You cook.", ScriptedModel(lambda message: (), profile=profile))
    room = ChatRoom([robin, wren], floor=addressed)
    events: asyncio.Queue[object] = asyncio.Queue()
    await room.start(events, config=SessionConfig(turn_detection=TurnDetection(authority="client")), name="Ann")

    async def speak() -> None:
        await room.handle_input(ClientEvents.ClientAudioAppendEvent(audio=bytes(16_000)))  # the script has the words
        await room.handle_input(ClientEvents.ClientAudioCommitEvent())

    await speak()
    receipts: list[dict[str, object]] = []
    while not receipts:
        match await events.get():
            case ServerEvents.ServerCustomEvent(name="consent_question", value=value):
                print(f"{value['state']}: {value['question']}")
                if value["state"] == "heard":
                    await speak()
            case ServerEvents.ServerCustomEvent(name="consent_receipt", value=value):
                receipts.append(value)
                print(f"receipt: {value['answer']} by {value['participant']}, then {value['done']}")
            case ServerEvents.AgentInputTranscriptionDoneEvent(transcript=words, agent_name=name):
                print(f"{name}: {words}")
            case ServerEvents.AgentResponseAudioTranscriptDoneEvent(transcript=words, agent_name=name):
                print(f"{name}: {words}")
    await room.stop()
    return receipts


if __name__ == "__main__":
    asyncio.run(main())

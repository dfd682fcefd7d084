"""Agents for the page's tests: a voice which books tables and asks before it does."""

from collections.abc import AsyncGenerator

from realtime.agent import RealtimeAgent
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine, SpeechParts
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall
from realtime.tool import Toolkit
from tests.agent import consent_call
from tests.model.local.stand_ins import FakeVoice, LoudnessVad

BOOKING = '{"people": 5, "day": "Friday"}'


class Waiter:
    """A language model that books a table whenever it is told something, and says what came of it."""

    name = "waiter"
    takes_images = False

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        result = prompt.history[-1].tool_result
        if result is None:
            yield ReplyToolCall("book_table", BOOKING)
        else:
            yield ReplyText(f"I was told: {result.output_text()}.")


def book_table(people: int, day: str) -> str:
    """Book a table."""
    return f"booked for {people} on {day}"


def table() -> Toolkit:
    toolkit = Toolkit()
    toolkit.register(book_table, consent="either", question="Shall I book a table for {people} people on {day}?")
    return toolkit


def make_waiter() -> RealtimeAgent:
    """The embedded voice."""
    return RealtimeAgent(
        "Robin", "You work in a restaurant.", LocalRealtimeModel(language_model=Waiter()), toolkit=table()
    )


def make_stand_in_waiter() -> RealtimeAgent:
    """The same, who understands the sounds of `consent_call.SENTENCES`, and waits for an answer as long as it takes."""
    recognizer, voices = consent_call.SoundRecognizer(), {"heart": FakeVoice(9_000)}
    parts = SpeechParts(recognizer=recognizer, voices=voices, make_vad=LoudnessVad)
    model = LocalRealtimeModel(language_model=Waiter(), engine=SpeechEngine(lambda progress: parts), speculation="off")
    options = {"fillers": (), "recognise": consent_call.recognise, "consent_silence_s": 3_600.0}
    return RealtimeAgent("Robin", "You work in a restaurant.", model, toolkit=table(), **options)

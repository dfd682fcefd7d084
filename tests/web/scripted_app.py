"""Agents for the page's tests: a provider with speech events that follows a script, whatever is said to it."""

from realtime.agent import RealtimeAgent
from realtime.model.base import ModelInput, ResponseCreate, ToolResult
from realtime.model.scripted import CallTools, ExpectAudio, ScriptedModel, Speak, SpeechEnd, SpeechStart, Step

STORY = "Once upon a time there was a voice that told a very long story and was not heard to its end"
STORY_S = 12.0

SCRIPT = (
    ExpectAudio(at_ms=1000),
    SpeechStart(at_ms=400),
    ExpectAudio(at_ms=1600),
    SpeechEnd(at_ms=1500, transcript="Tell me a story."),
    # All of it at once, as providers do: most of it waits in the browser when the user interrupts.
    Speak(STORY, STORY_S, wait=False),
    ExpectAudio(at_ms=5000),
    SpeechStart(at_ms=4900),
    ExpectAudio(at_ms=6000),
    SpeechEnd(at_ms=5900, transcript="Stop."),
    Speak("I stopped.", 0.5),
)


def make_agent() -> RealtimeAgent:
    return RealtimeAgent("Narrator", "Tell stories.", ScriptedModel(SCRIPT, strict=False))


def make_calculator() -> RealtimeAgent:
    """Asks for the area of 41 by 1009, whatever is said, and tells what it was given."""
    given: list[str] = []

    def react(message: ModelInput) -> list[Step]:
        match message:
            case ToolResult(result=result):
                given.append(result.output_text())
            case ResponseCreate() if given:
                return [Speak(f"It has {given[-1]}.", 0.5)]
            case ResponseCreate():
                return [CallTools((("area", {"width": 41, "height": 1009}),))]
            case _:
                pass
        return []

    return RealtimeAgent("Calculator", "Work out areas.", ScriptedModel(react))

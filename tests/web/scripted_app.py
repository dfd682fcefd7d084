"""Agents for the page's tests: a provider with speech events that follows a script, whatever is said to it."""

from realtime.agent import RealtimeAgent
from realtime.model.scripted import ExpectAudio, ScriptedModel, Speak, SpeechEnd, SpeechStart

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

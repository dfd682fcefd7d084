"""An agent that answers each turn with 12 s of voice at once, and stops at the onset of the next voice."""

from realtime.agent import RealtimeAgent
from realtime.event.config import TurnDetection
from realtime.model.script import echo_bot
from realtime.model.scripted import ScriptedModel

STORY = "Once upon a time there was a voice that told a very long story and was not heard to its end"
STORY_S = 12.0


def make_agent() -> RealtimeAgent:
    """Make the agent for `realtime serve`."""
    model = ScriptedModel(echo_bot(STORY, seconds=STORY_S))
    detection = TurnDetection(authority="server", interruption="immediate")
    return RealtimeAgent("Narrator", "Tell stories.", model, turn_detection=detection)

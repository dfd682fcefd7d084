"""Words of other agents, gathered from their events: each of their turns becomes a line for this agent."""

from __future__ import annotations

from realtime.event import client as c
from realtime.event import server as s
from realtime.message.speakers import spoken_by

KEPT_RESPONSES = 32
"""Most responses of others followed at once; the words of a response that never ends are forgotten."""


class OthersWords:
    """Follows the events of other agents: their words as they were played, not their audio."""

    def __init__(self) -> None:
        self._words: dict[tuple[str, str], dict[tuple[str, int], str]] = {}

    def take(self, event: s.ServerEvent, *, me: str | None) -> c.ClientTextAppendEvent | None:
        """Return the line `[Name]: words` when a response of another agent than `me` ends.

        None until then, and for a response without words or outside the conversation.
        """
        if getattr(event, "agent_id", me) == me:
            return None
        match event:
            case s.AgentResponseCreatedEvent(conversation="auto"):
                self._words[event.agent_id, event.response_id] = {}
                if len(self._words) > KEPT_RESPONSES:
                    del self._words[next(iter(self._words))]
            case s.AgentResponseAudioTranscriptDoneEvent(transcript=words) | s.AgentResponseTextDoneEvent(text=words):
                said = self._words.get((event.agent_id, event.response_id))
                if said is not None:
                    said[event.item_id, event.content_index] = words
            case s.AgentResponseDoneEvent():
                said = self._words.pop((event.agent_id, event.response_id), None) or {}
                words = " ".join(one for one in said.values() if one).strip()
                if words:
                    return c.ClientTextAppendEvent(text=spoken_by(event.agent_name or event.agent_id, words))
            case _:
                pass
        return None

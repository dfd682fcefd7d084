"""Humans' voices over an agent's reply: each human's is decided as in a call (`realtime.agent.interruptions`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from realtime.agent.echo_watch import EchoWatch
from realtime.agent.interruptions import Clip, Interruptions
from realtime.agent.overlap import LONGEST_LOOK_MS, Overlap, Recognise
from realtime.audio.endpoint import EndpointEvent, SpeechPaused, SpeechResumed, SpeechStarted, TurnEnded
from realtime.call.participant import Ears
from realtime.event import server as s
from realtime.event.config import InterruptionMode, TurnDetection
from realtime.room.agent_participant import AgentParticipant
from realtime.turn.interruption import Verdict


@dataclass(frozen=True, slots=True)
class Listening:
    """How a room listens while an agent speaks."""

    recognise: Recognise
    interruption: InterruptionMode
    """What a voice does, unless the human's own settings say it."""

    def mode(self, detection: TurnDetection) -> InterruptionMode:
        """What a voice over a reply does, with a human's settings."""
        if detection.interruption is None and detection.interrupt_response is not False:
            return self.interruption
        return detection.interruption_mode


class OverHub(Protocol):
    """What the voices of one human need of the room."""

    def speaking(self, human_id: str) -> AgentParticipant | None:
        """The agent that has the floor; None for a human who is not in the room any more."""

    def unplayed_ms(self, human_id: str) -> int:
        """Speech of that agent that the human will still hear; for one who came in the middle, that others will."""

    def can_be_lowered(self) -> bool:
        """Whether anybody's client plays quieter on request."""

    def played_ms(self, human_id: str, item_id: str) -> int:
        """How much of an item they have heard."""

    def tell(self, human_id: str, event: s.ServerEvent) -> None:
        """Tell everyone of a decision, or how loud the reply is."""

    def addressed(self, human_id: str, words: str) -> bool | None:
        """Whether these words are to an agent; False: to another human; None: unknown."""


class VoiceOver:
    """The voice of one human over the reply of an agent; what is decided about it is up to its `Microphone`.

    It is the `realtime.agent.interruptions.Reply` that this human hears.
    """

    def __init__(self, human_id: str, hub: OverHub, ears: Ears, rate_hz: int, listening: Listening) -> None:
        self.mode: InterruptionMode = "immediate"
        self._human_id = human_id
        self._hub = hub
        self._listening = listening
        self._agent: AgentParticipant | None = None
        """The agent that the voice is over."""
        self._is_to_agent: bool | None = None
        """Whom its words are to, as far as they were known."""
        self._interruptions = Interruptions(self, ears, rate_hz, listening.recognise, EchoWatch())

    @property
    def current(self) -> Overlap | None:
        """The voice that is undecided, or dismissed and not over."""
        return self._interruptions.current

    def configure(self, detection: TurnDetection, *, by_button: bool) -> None:
        """Take the settings of the human."""
        self.mode = "immediate" if by_button else self._listening.mode(detection)
        self._interruptions.configure(detection, self.mode, transcribes=False)

    def is_alert(self) -> bool:
        """Whether a voice that begins now would be decided: the human hears an agent."""
        return self._hub.speaking(self._human_id) is not None and self._interruptions.is_alert()

    def follow(self, one: EndpointEvent, new_id: Callable[[str], str]) -> bool:
        """Follow what the detector finds. False: it is not about a voice over a reply."""
        match one:
            case SpeechStarted():
                if self.current is None:
                    if not self.is_alert():
                        return False
                    self._agent, self._is_to_agent = self._hub.speaking(self._human_id), None
                return self._interruptions.begin(new_id("said"), one.start_ms, one.start_ms, lag_ms=0)
            case TurnEnded():
                self._interruptions.ended(one.end_ms)
            case SpeechPaused():
                self._interruptions.paused(one.end_ms)
            case SpeechResumed():
                self._interruptions.resumed()
        return self.current is not None

    def hear(self, position_ms: int, clip: Clip) -> None:
        """See `Interruptions.hear`."""
        if self.mode != "selective":
            return
        if self.current is None:
            self._agent = self._hub.speaking(self._human_id)
        self._interruptions.hear(position_ms, clip)

    def is_due(self, position_ms: int) -> bool:
        """Whether a voice should be judged again."""
        return self.current is not None and self._interruptions.is_due(position_ms)

    def weigh(self, position_ms: int, clip: Clip, weigh_later: Callable[[], None]) -> Verdict:
        """See `Interruptions.weigh`."""
        return self._interruptions.weigh(position_ms, clip, weigh_later)

    def take(self, reason: str = "") -> Overlap:
        """See `Interruptions.take`."""
        return self._interruptions.take(reason)

    def drop(self, reason: str = "") -> Overlap | None:
        """See `Interruptions.drop`."""
        return self._interruptions.drop(reason)

    def is_far(self, length_ms: int, clip: Clip) -> bool:
        """See `Interruptions.is_far`."""
        return self._interruptions.is_far(length_ms, clip)

    def learn(self, length_ms: int, clip: Clip) -> None:
        """See `Interruptions.learn`."""
        self._interruptions.learn(length_ms, clip)

    # -- `realtime.agent.interruptions.Reply` ----------------------------------------------------------------------

    @property
    def who(self) -> dict[str, Any]:
        """See `Reply`."""
        agent = self._agent
        return {} if agent is None else {"agent_id": agent.id, "agent_name": agent.name}

    def emit(self, event: s.ServerEvent) -> None:
        """See `Reply`."""
        self._hub.tell(self._human_id, event)

    def unplayed_ms(self) -> int:
        """See `Reply`."""
        return self._hub.unplayed_ms(self._human_id)

    def can_be_lowered(self) -> bool:
        """See `Reply`."""
        return self._hub.can_be_lowered()

    def playing(self) -> str | None:
        """See `Reply`."""
        return None if self._agent is None else self._agent.playing(self._played_ms)

    def played_ms(self) -> int:
        """See `Reply`."""
        return 0 if self._agent is None else sum(map(self._played_ms, self._agent.item_ids))

    def played_text(self, item_id: str, ahead_ms: int = 0) -> str:
        """See `Reply`."""
        return "" if self._agent is None else self._agent.played_text(item_id, self._played_ms(item_id) + ahead_ms)

    def addressed(self, words: str, position_ms: int) -> bool | None:
        """See `Reply`. The beginning of a long voice, where a name may be, is not recognised again."""
        found = self._hub.addressed(self._human_id, words)
        overlap = self.current
        if found is None and overlap is not None and overlap.voiced_ms(position_ms) > LONGEST_LOOK_MS:
            return self._is_to_agent
        self._is_to_agent = found
        return found

    def forget_piece(self, piece_id: str) -> None:
        """See `Reply`: no model has heard it."""

    def _played_ms(self, item_id: str) -> int:
        return self._hub.played_ms(self._human_id, item_id)

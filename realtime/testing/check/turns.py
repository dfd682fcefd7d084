"""What a call is made of, as people speak of it: turns, answers, tool calls, interruptions, silences. Times in ms.

Where the users' ears are known (`CallRecord.played`) sound means what reached an ear; else what left the server, as
long as it lasts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from realtime.event.base import DEFAULT_OUTPUT_RATE_HZ
from realtime.state.truncation import Spoken as Words
from realtime.testing.record import Played

USER = "user"
"""Somebody whose name nobody told."""
HASTY = "hasty_turn"
"""The reason of a flush that undoes an answer to a turn that goes on."""


@dataclass(slots=True)
class UserTurn:
    """What a human said or typed before it was the agent's turn. A turn taken up again after a hasty end is one."""

    number: int
    """From 1, in order of their beginnings."""
    item_id: str
    who: str
    from_ms: float
    """The voice begins; a typed turn begins and ends when it arrives."""
    to_ms: float
    """The voice ends, without the silence behind it."""
    ended_ms: float | None = None
    """When it was decided that the turn is over; None where it never was."""
    transcript: str = ""
    transcript_ms: float | None = None
    typed: bool = False
    withdrawn: bool = False
    """It left the conversation."""
    first_seq: int = 0
    ended_seq: int = 0


@dataclass(slots=True)
class ToolCall:
    """A tool that an agent asked for, and what came of it."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None where the model sent something that is no JSON object: see `input`."""
    input: str
    who: str
    response_id: str
    turn: int
    asked_ms: float
    asked_seq: int
    answered_ms: float | None = None
    answered_seq: int = 0
    state: str = ""
    """Of the result: `success`, `error`, `interrupted`, `denied`; empty without one."""
    output: str = ""


@dataclass(slots=True)
class Response:
    """One answer of a model, or one part of it where tools come between."""

    id: str
    who: str
    created_ms: float
    created_seq: int
    turn: int
    """The number of the user turn before it; 0 where nobody has said anything yet."""
    out_of_band: bool = False
    first_token_ms: float | None = None
    """The first word, text or piece of a tool call."""
    first_audio_ms: float | None = None
    """The first sound left the server."""
    first_heard_ms: float | None = None
    """The first sound reached an ear."""
    done_ms: float | None = None
    status: str = "in_progress"
    item_ids: list[str] = field(default_factory=list)
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Speech:
    """An item that an agent said or wrote: what was made of it and what was heard."""

    item_id: str
    who: str
    response_id: str
    words: Words = field(default_factory=Words)
    """Text and sound as they came, in ms at `rate_hz`."""
    rate_hz: int = DEFAULT_OUTPUT_RATE_HZ
    first_seq: int = 0
    first_audio_seq: int = 0
    first_audio_ms: float | None = None
    written: bool = False
    """A text that nobody speaks."""
    cut_text: str | None = None
    """The words that were kept when it was cut."""
    cut_ms: int | None = None
    words_when_cut: Words | None = None
    """What was known of text and sound at that moment, and of the pace of the voice."""
    withdrawn: bool = False
    """It left the conversation."""
    gone_seq: int = 0
    """Where in the log it was cut or withdrawn."""
    kept: str | None = None
    """What the conversation holds of it at the end, empty where it is not in it; None where that is not known."""
    played: list[Played] = field(default_factory=list)

    @property
    def heard_ms(self) -> float:
        """How far into the item the ear that heard most of it came."""
        return max((one.offset_ms + one.ms for one in self.played), default=0.0)

    @property
    def text(self) -> str:
        """The words that count as said: nothing of an item that was withdrawn, the kept ones of one that was cut."""
        if self.withdrawn:
            return ""
        return self.words.text if self.cut_text is None else self.cut_text


@dataclass(frozen=True, slots=True)
class CutItem:
    """An item that an interruption met before it was heard to its end."""

    speech: Speech
    before: str
    """The words that had been made of it."""
    after: str
    """The words that the conversation keeps: those of its item, or of the log where no items are known."""
    audio_ms: float
    """The sound that had been made of it."""
    heard_ms: float
    """How much of it was heard."""
    outcome: Literal["cut", "withdrawn", "whole"]


@dataclass(frozen=True, slots=True)
class BargeIn:
    """An answer was stopped: by a voice, a typed text, a request of the page, or since the turn had ended in haste."""

    number: int
    """From 1; 0 where the user's turn had ended in haste and merely goes on."""
    reason: str
    who: str
    began_ms: float
    """When the voice began that caused it; where there is none, when the flush left."""
    flush_ms: float
    silent_ms: float | None
    """When the ear fell silent; None where nothing was to be heard when it began."""
    items: tuple[CutItem, ...]
    seq: int


@dataclass(frozen=True, slots=True)
class Sound:
    """Somebody was to be heard."""

    from_ms: float
    to_ms: float
    who: str
    human: bool


@dataclass(frozen=True, slots=True)
class Silence:
    """Nobody was to be heard. `owed`: a human had spoken or typed last, or an answer was on its way."""

    from_ms: float
    to_ms: float
    owed: bool

    @property
    def ms(self) -> float:
        return self.to_ms - self.from_ms

"""Claims without a deed, by transcript: for models whose sentences cannot be checked before they are spoken.

The words of a speech-to-speech model come with its audio, which arrives faster than it is played. A sentence that
claims what was not done is found when its last word is there. If it is not played by then, the reply is cut where it
begins: once playback is there, so that what stands before it is heard. Then the model is asked for a correction.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from realtime.agent.claims import ClaimCheck, Found
from realtime.agent.context import AgentContext
from realtime.agent.phrases import SAY_EXACTLY
from realtime.agent.reply_items import ReplyItems
from realtime.call.timers import Timers
from realtime.event import model as m
from realtime.event.base import ResponseOverrides
from realtime.event.server import CLAIM_WITHHELD, ServerAudioFlushEvent
from realtime.model.base import ResponseCancel, Withheld
from realtime.model.local.sentences import SentenceSplitter
from realtime.turn.claims import unbacked
from realtime.turn.responses import Ledger, Response

LEAD_MS = 250
"""So much before a withheld sentence the reply is cut.

Silencing a client takes time, and the place is an estimate."""
LOOK_S = 0.05
"""The shortest time between two looks at what was played."""
MAX_WAIT_S = 60.0
"""After so long without progress, a client is silenced where it is."""


_ENDED = re.compile(r"(?<=[^\W\d_]{3})[.!?…][\"'”’)]*$")
"""Surely a sentence's end, also where nothing follows yet: no abbreviation, and no number.

It looks back from the mark: a long text without one is read once."""


@dataclass(slots=True)
class _Transcript:
    """The words of one item, as they come."""

    text: str = ""
    sentences: SentenceSplitter = field(default_factory=SentenceSplitter)
    read: int = 0
    """So many characters are judged."""
    arrivals: list[tuple[int, float]] = field(default_factory=list)
    """Pairs: a character, and how much audio there was when it came."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A sentence that is to be cut off, once playback is there."""

    found: Found
    response_id: str
    item_id: str
    chars: int
    least_ms: float
    """It is spoken no earlier: so much audio was there before its first word."""
    until_s: float


class Replies(Protocol):
    """What cuts a reply and asks for another: `realtime.agent.responses.Responses`."""

    def settle_cut(self) -> None:
        """Cut an interrupted reply to what is known now."""
        ...

    def truncate(self, running: Response | None) -> None:
        """Cut the reply once it is known what was played."""
        ...

    def request(self, overrides: ResponseOverrides | None = None, *, say: str = "") -> None:
        """Ask the model for a response."""
        ...


class Withholding:
    """Follows the transcripts of one call, and cuts its `replies`. `instructions` returns those of the call."""

    def __init__(
        self,
        check: ClaimCheck,
        context: AgentContext,
        ledger: Ledger,
        items: ReplyItems,
        replies: Replies,
        instructions: Callable[[], str],
    ) -> None:
        self._check = check
        self._context = context
        self._conversation = context.conversation
        self._ears = context.ears
        self._runtime = context.runtime
        self._ledger = ledger
        self._items = items
        self._replies = replies
        self._instructions = instructions
        self._transcripts: dict[str, _Transcript] = {}
        self._pending: _Pending | None = None
        self._corrected: set[str] = set()
        """Responses that were cut before a claim, which another one corrects."""
        self._timers = Timers()

    def drop(self) -> None:
        """The reply counts no more, or was cut elsewhere."""
        self._timers.close()
        self._pending = None
        self._transcripts.clear()

    # -- following -------------------------------------------------------------------------------------------------

    def follow(self, event: m.ModelEvent) -> None:
        """Take what the model says; the conversation has it."""
        match event:
            case m.ModelResponseAudioTranscriptDeltaEvent(response_id=response_id, item_id=item_id, delta=delta):
                self._add(response_id, item_id, delta)
            case m.ModelResponseAudioTranscriptDoneEvent(response_id=response_id, item_id=item_id):
                if (transcript := self._transcripts.get(item_id)) is not None:
                    self._judge(response_id, item_id, transcript, transcript.sentences.finish())
            case _:
                pass

    def over(self, response_id: str, item_id: str) -> None:
        """The response is over: have what it announced and did not do corrected."""
        found = None if self._pending is not None else self._check.ended(response_id)
        if found is not None:
            self._correct(self._check.withhold(found, response_id, item_id, heard=True))

    def as_corrected(self, event: m.ModelResponseDoneEvent) -> m.ModelResponseDoneEvent:
        """Return the end of a response; of one that another corrects, with that reason."""
        if event.response_id not in self._corrected:
            return event
        self._corrected.discard(event.response_id)
        details = {"type": "incomplete", "reason": CLAIM_WITHHELD}
        return msgspec.structs.replace(event, status="incomplete", status_details=details)

    def _add(self, response_id: str, item_id: str, delta: str) -> None:
        transcript = self._transcripts.setdefault(item_id, _Transcript())
        transcript.arrivals.append((len(transcript.text), self._conversation.audio_ms(item_id)))
        transcript.text += delta
        self._judge(response_id, item_id, transcript, transcript.sentences.push(delta))
        rest = transcript.text[transcript.read :].strip()
        if _ENDED.search(rest):
            # Providers send a word with the space before it: the next one may be half a second away.
            self._judge(response_id, item_id, transcript, [rest])

    def _judge(self, response_id: str, item_id: str, transcript: _Transcript, sentences: list[str]) -> None:
        for sentence in sentences:
            start = transcript.text.find(sentence, max(0, transcript.read - len(sentence)))
            if start + len(sentence) <= transcript.read or self._pending is not None:
                continue  # judged already
            said, transcript.read = transcript.text[:start], start + len(sentence)
            found = self._check.find(sentence, said, response_id)
            if found is None:
                continue
            least_ms = max((ms for chars, ms in transcript.arrivals if chars <= start), default=0.0)
            until_s = self._runtime.now() + MAX_WAIT_S
            self._pending = _Pending(found, response_id, item_id, start, least_ms, until_s)
            self._look()

    # -- withholding -----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Cut the reply if playback has come to the sentence; else look again when it should be there."""
        pending = self._pending
        if pending is None or pending.item_id not in self._conversation:
            self._pending = None
            return
        if not unbacked(pending.found.claims, self._check.deeds()):
            self._pending = None  # done meanwhile
            return
        begins_ms = self._conversation.begins_ms(pending.item_id, pending.chars)
        if not self._conversation.audio_is_complete(pending.item_id):
            begins_ms = max(begins_ms, pending.least_ms)
        played_ms = self._ears.played_ms(pending.item_id)
        left_s = (begins_ms - LEAD_MS - played_ms) / 1000
        if left_s > 0 and self._runtime.now() < pending.until_s:
            self._timers.after("look", max(LOOK_S, left_s), self._look)
            return
        self._pending = None
        heard = played_ms > begins_ms
        withheld = self._check.withhold(pending.found, pending.response_id, pending.item_id, heard=heard)
        self._cut(withheld)

    def _cut(self, withheld: Withheld) -> None:
        """Silence the reply, and have the model go on as decided."""
        self._replies.settle_cut()
        self._context.emit(ServerAudioFlushEvent(reason=CLAIM_WITHHELD))
        running, goes_on = self._ledger.active, self._ledger.waits_for_tools
        if running is not None:
            self._context.send(ResponseCancel(running.id))
            self._ledger.cancel(running.id)
        self._items.forget_speech()
        self._replies.truncate(running)
        # Results that are awaited bring another response, which tells of them.
        if not goes_on and self._correct(withheld) and running is not None:
            self._corrected.add(running.id)

    def _correct(self, withheld: Withheld) -> bool:
        """Ask for a response that belongs to the same reply; returns whether one is wanted."""
        if not (withheld.hint or withheld.words):
            return False
        self._ledger.continue_reply()
        if withheld.hint:
            instructions = f"{self._instructions()}\n\n{withheld.hint}".strip()
            self._replies.request(ResponseOverrides(instructions=instructions))
        elif self._context.profile.says_given_words:
            self._replies.request(say=withheld.words)
        else:
            self._replies.request(ResponseOverrides(instructions=f"{SAY_EXACTLY}{withheld.words}"))
        return True

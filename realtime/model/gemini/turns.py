"""Resumption, responses, ids and order: what Gemini Live leaves to us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from realtime.event import model as m
from realtime.event.base import AudioFormat, ContentPart, Item, ItemStatus, Modality, ResponseStatus
from realtime.message import ToolCallBlock
from realtime.model.base import whole_samples
from realtime.model.gemini.user import UserTurn

_KEPT_SIGNATURES = 256
_MAX_REFUSED = 2


@dataclass(slots=True)
class Resumption:
    """How to resume a session on the next connection.

    `item_id` is the last item that the resumed session knows; the items behind it are said anew.
    """

    handle: str | None = None
    item_id: str | None = None
    n_refused: int = 0
    tells_update: bool = False
    """Settings were changed by dialling again: to be reported once the next session is up."""
    signatures: dict[str, str] = field(default_factory=dict)
    """The service's signatures of the thoughts behind its items, by item: a new session gets them back."""

    def sign(self, item_id: str, signature: str) -> None:
        """The thoughts behind this item were signed."""
        self.signatures[item_id] = signature
        if len(self.signatures) > _KEPT_SIGNATURES:
            del self.signatures[next(iter(self.signatures))]

    def refused(self, *, retry: bool) -> None:
        """The service did not resume the session; with `retry` the handle gets a second try."""
        self.n_refused += 1
        if not retry or self.n_refused >= _MAX_REFUSED:
            self.forget()

    def forget(self) -> None:
        """Start a new session next time."""
        self.handle = self.item_id = None
        self.n_refused = 0


@dataclass(slots=True, eq=False)
class Response:
    """A response: one spoken (or written) item and the calls behind it."""

    new_id: Callable[[str], str]
    format: AudioFormat
    written: bool
    """Only text is wanted."""
    user: UserTurn | None
    """The turn that it answers."""
    response_id: str = field(init=False)
    cut: str | None = None
    """Why it was interrupted."""
    is_told: bool = False
    """Its end was reported; what still comes of it is dropped."""
    runs_out: bool = False
    """We cut it, and the service goes on with it: its protocol has no cancel that asks for no other response."""
    called: bool = False
    """It has called tools since: it may wait for their results, which it does not get."""
    overtaken: bool = False
    """The user speaks again, as our marks say: the service interrupts it by itself."""
    last_item_id: str | None = None
    language: str | None = None
    signature: str | None = None
    """Of the thoughts behind it."""
    grounding: dict[str, Any] | None = None
    """The web search behind it."""
    n_items: int = 0
    _item_id: str = ""
    _odd: bytes = b""
    _announced: bool = False
    _audio_open: bool = False
    _sound_over: bool = False
    _said: list[str] = field(default_factory=list)
    _wrote: list[str] = field(default_factory=list)
    _thought_id: str = ""
    _thoughts: list[str] = field(default_factory=list)
    """The pieces of the current thought."""

    def __post_init__(self) -> None:
        self.response_id = self.new_id("resp")

    @property
    def runs(self) -> bool:
        """Whether there is something to stop: more is to come."""
        return self.cut is None and not self._sound_over

    @property
    def modalities(self) -> tuple[Modality, ...]:
        return ("text",) if self.written else ("audio",)

    def created(self) -> m.ModelResponseCreatedEvent:
        return m.ModelResponseCreatedEvent(response_id=self.response_id, output_modalities=self.modalities)

    def speak(self, pcm: bytes, events: list[m.ModelEvent]) -> None:
        """A chunk of speech, of any length; dropped after the end of the generation."""
        if self.written or self._sound_over:
            return
        if self._thoughts:
            self._end_thought(events)
        if self._odd or len(pcm) & 1:
            pcm, self._odd = whole_samples(self._odd + pcm)
        if not pcm:
            return
        if not self._announced:
            self._announce(events)
        self._audio_open = True
        events.append(
            m.ModelResponseAudioDeltaEvent(
                response_id=self.response_id, item_id=self._item_id, delta=pcm, format=self.format
            )
        )

    def say(self, words: str, events: list[m.ModelEvent]) -> None:
        """Spoken words; they are the response itself where only text is wanted."""
        if self.written:
            self.write(words, events)
            return
        self._end_thought(events)
        if not self._announced:
            self._announce(events)
        self._said.append(words)
        events.append(
            m.ModelResponseAudioTranscriptDeltaEvent(response_id=self.response_id, item_id=self._item_id, delta=words)
        )

    def write(self, words: str, events: list[m.ModelEvent]) -> None:
        """Words that are not spoken."""
        self._end_thought(events)
        if not self._announced:
            self._announce(events)
        self._wrote.append(words)
        events.append(m.ModelResponseTextDeltaEvent(response_id=self.response_id, item_id=self._item_id, delta=words))

    def think(self, words: str, events: list[m.ModelEvent]) -> None:
        """A thought, which is no part of the response."""
        if not self._thoughts:
            self._thought_id = self.new_id("item")
        self._thoughts.append(words)
        events.append(
            m.ModelResponseThinkingDeltaEvent(response_id=self.response_id, item_id=self._thought_id, delta=words)
        )

    def _end_thought(self, events: list[m.ModelEvent]) -> None:
        """Close the thought: something else comes."""
        thoughts, self._thoughts = self._thoughts, []
        if thoughts:
            events.append(
                m.ModelResponseThinkingDoneEvent(
                    response_id=self.response_id, item_id=self._thought_id, thinking="".join(thoughts)
                )
            )

    def call(self, call_id: str, name: str, arguments: str, events: list[m.ModelEvent]) -> None:
        """A complete call, an item of its own. What was said before it is complete."""
        self._close_item(events, "completed")
        block = ToolCallBlock(id=call_id, name=name, input=arguments)
        item = Item(id=self.new_id("item"), type="tool_call", tool_call=block)
        self.last_item_id = item.id
        events += [
            m.ModelItemAddedEvent(item=item),
            m.ModelResponseToolUseDoneEvent(
                response_id=self.response_id, item_id=item.id, output_index=self.n_items, tool_use=block
            ),
            m.ModelItemDoneEvent(item=item),
        ]
        self.n_items += 1

    def generated(self, events: list[m.ModelEvent]) -> None:
        """All of it has been made; words may still follow."""
        self._sound_over = True
        if self._audio_open:
            self._audio_open = False
            events.append(m.ModelResponseAudioDoneEvent(response_id=self.response_id, item_id=self._item_id))

    def close(self, events: list[m.ModelEvent], *, complete: bool) -> None:
        """Close everything that is open."""
        self._close_item(events, "completed" if complete else "incomplete")

    def _announce(self, events: list[m.ModelEvent]) -> None:
        self._announced = True
        self.n_items += 1
        self._item_id = self.last_item_id = self.new_id("item")
        item = Item(id=self._item_id, role="assistant", status="in_progress")
        events.append(m.ModelItemAddedEvent(item=item))

    def _close_item(self, events: list[m.ModelEvent], status: ItemStatus) -> None:
        self._end_thought(events)
        if not self._announced:
            return
        self._announced = False
        place: dict[str, Any] = {"response_id": self.response_id, "item_id": self._item_id}
        self.generated(events)
        said, wrote = "".join(self._said), "".join(self._wrote)
        content: tuple[ContentPart, ...] = ()
        if wrote:
            content = (ContentPart(type="text", text=wrote),)
            events.append(m.ModelResponseTextDoneEvent(**place, text=wrote))
        if not self.written:
            content = (*content, ContentPart(type="audio", transcript=said))
            events.append(m.ModelResponseAudioTranscriptDoneEvent(**place, transcript=said, language=self.language))
        item = Item(id=self._item_id, role="assistant", status=status, content=content)
        events.append(m.ModelItemDoneEvent(item=item))


def unanswered(new_id: Callable[[str], str], reason: str = "superseded") -> list[m.ModelEvent]:
    """An empty cancelled response for a replaced request: each request has an end."""
    response_id = new_id("resp")
    details = {"type": "cancelled", "reason": reason}
    return [
        m.ModelResponseCreatedEvent(response_id=response_id),
        m.ModelResponseDoneEvent(response_id=response_id, status="cancelled", status_details=details),
    ]


def status_of(reason: str | None) -> tuple[ResponseStatus, dict[str, Any] | None]:
    """How a turn ended, by `turnCompleteReason`. Any other reason is a refusal to say more."""
    match reason:
        case None | "TURN_COMPLETE_REASON_UNSPECIFIED":
            return "completed", None
        case "NEED_MORE_INPUT":
            return "completed", {"type": "completed", "reason": "need_more_input"}
        case "MALFORMED_FUNCTION_CALL" | "RESPONSE_REJECTED" | "MAX_REGENERATION_REACHED":
            return "failed", {"type": "failed", "reason": reason.lower()}
        case _:
            return "incomplete", {"type": "incomplete", "reason": "content_filter", "detail": reason.lower()}

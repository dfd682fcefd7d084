"""What clients may say in a call: an event counts once, all are bounded, audio gets its format here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ, AudioFormat, Item
from realtime.event.halves import mended
from realtime.state.conversation import Conversation

E = TypeVar("E", bound=c.ClientEvent)

RECENT_EVENTS = 256
"""How many `event_id`s are known when a returned client repeats events."""
KEPT_EVENT_IDS = 64
"""How many of the latest of them a store keeps: a client sends as many again (docs/protocol.md, "Coming back")."""
MAX_EVENT_ID_CHARS = 512
"""As in OpenAI's protocol."""
MAX_GIVEN_BYTES = 64_000_000
"""Bytes of texts, items and settings that clients may send per call.

The log keeps them, and they may be sent again.
"""
MAX_COMPLAINT_BYTES = 4_000_000
"""Error events about a client's own mistakes in a call: some thousands of them."""
MAX_SENTENCE_CHARS = 1_000
"""Length of an error message: what it repeats of a client's event has no bound of its own."""
EVENT_BYTES = 500
"""What an event counts besides its content: the events that it causes are kept too."""

UNCOUNTED = c.ClientAudioAppendEvent | c.ClientImageAppendEvent | c.ClientPlaybackAckEvent | c.ClientSessionEndEvent
"""Frequent events, not kept as sent, and the end of a call."""
_ENDS_SPEECH = c.ClientAudioCommitEvent | c.ClientAudioClearEvent
"""After a restart, the client may resend speech, and then these again.

Where no speech came before them, they mean nothing.
"""


class Intake:
    """Checks the events of a call's clients. `recent_ids` are those that an earlier part of the call has taken."""

    def __init__(self, recent_ids: Sequence[str] = ()) -> None:
        self.on_taken: Callable[[Sequence[str]], None] | None = None
        """Called with the latest event ids of a client that may return."""
        self._recent_ids: deque[str] = deque(recent_ids, maxlen=RECENT_EVENTS)
        self._kept_ids: deque[str] = deque(recent_ids, maxlen=KEPT_EVENT_IDS)
        """Of those, the ones that count once even if the server dies."""
        self._repeated: set[str] = set()
        self._given_bytes = 0
        self._complaint_bytes = 0
        self._input_hz = DEFAULT_INPUT_RATE_HZ
        self._given: AudioFormat | None = None
        self._format = AudioFormat()
        """What the latest format of speech, as given, means."""

    def expect_rate(self, input_hz: int) -> None:
        """Take audio that does not say its own rate for this one."""
        self._input_hz, self._given = input_hz, None

    def expect_repeats(self, *, from_start: bool) -> None:
        """A client has come back and may send its latest events again; `from_start`: it counts its events anew."""
        self._repeated = set() if from_start else set(self._recent_ids)

    def is_new(self, event: c.ClientEvent, event_id: str, *, may_return: bool) -> bool:
        """Whether an event did not arrive before; `may_return` says that its client may send it again.

        Raises ClientError for an event id that is too long.
        """
        if len(event_id) > MAX_EVENT_ID_CHARS:
            refusal = f"an event_id has at most {MAX_EVENT_ID_CHARS} characters: {event.type} was ignored"
            raise ClientError(refusal, code="invalid_event_id")
        if event_id in self._repeated:
            self._repeated.remove(event_id)
            return False
        self._recent_ids.append(event_id)
        if not isinstance(event, _ENDS_SPEECH):
            self._kept_ids.append(event_id)
        if self.on_taken is not None and may_return and not isinstance(event, UNCOUNTED):
            self.on_taken([*self._kept_ids])
        return True

    def counted(self, event: E, n_bytes: int | None, conversation: Conversation) -> E:
        """Count an event; `n_bytes` is its length as JSON, where that is known.

        Returns it without half characters, as a socket's decoder does.
        Raises ClientError where the call's log would grow without end, and for what no log can hold.
        """
        told = conversation.get(event.item_id) if isinstance(event, c.ClientItemRetrieveEvent) else None
        try:
            if n_bytes is None:
                event, n_bytes = _written(event)
            given_bytes = EVENT_BYTES + n_bytes
            if told is not None:
                given_bytes += len(msgspec.json.encode(told))
        except (TypeError, ValueError, RecursionError) as error:
            raise ClientError(f"{event.type} cannot be written as JSON: {error}", code="invalid_event") from error
        if self._given_bytes + given_bytes > MAX_GIVEN_BYTES:
            raise ClientError(
                f"a call takes {MAX_GIVEN_BYTES // 1_000_000} MB of texts, items and settings: {event.type} is refused",
                code="too_much_given",
            )
        self._given_bytes += given_bytes
        return event

    def bounded(self, complaint: s.AgentErrorEvent) -> s.AgentErrorEvent | None:
        """The error event about a client's mistake, shortened; None once there were too many."""
        event_id, message = complaint.client_event_id, complaint.message
        if event_id is not None and len(event_id) > MAX_EVENT_ID_CHARS:
            event_id = None
        if len(message) > MAX_SENTENCE_CHARS:
            message = f"{message[:MAX_SENTENCE_CHARS]}..."
        self._complaint_bytes += EVENT_BYTES + len(message)
        if self._complaint_bytes > MAX_COMPLAINT_BYTES:
            return None
        return replace(complaint, message=message, client_event_id=event_id)

    def with_format(self, event: c.ClientAudioAppendEvent) -> c.ClientAudioAppendEvent:
        """The speech with a format that says its rate: its own, else that of the call's settings.

        Raises ClientError for a format that is not served.
        """
        given = event.format
        if given is not self._given and given != self._given:
            self._format, self._given = self._resolved(given), given
            if given.rate is not None or given.sample_rate is not None:
                self._format = given
        return event if given is self._format or given == self._format else replace(event, format=self._format)

    def with_formats(self, item: Item) -> Item:
        """The item whose sound has the rate that holds for it. Raises ClientError as `with_format` does."""
        if not any(part.audio for part in item.content):
            return item
        content = tuple(
            replace(part, format=self._resolved(part.format or AudioFormat())) if part.audio else part
            for part in item.content
        )
        return replace(item, content=content)

    def _resolved(self, given: AudioFormat) -> AudioFormat:
        try:
            return AudioFormat.pcm16(given.rate_hz(self._input_hz))
        except ValueError as error:
            raise ClientError(str(error), code="unsupported_audio_format") from error


def rate_of(event: c.ClientAudioAppendEvent) -> int:
    """The rate in Hz of speech `with_format`."""
    return event.format.rate_hz(DEFAULT_INPUT_RATE_HZ)


def _written(event: E) -> tuple[E, int]:
    """Return a program's event and its length as JSON.

    Texts lose half characters, as in a socket's decoder.
    """
    try:
        return event, len(msgspec.json.encode(event))
    except UnicodeEncodeError:
        event = mended(event)
        return event, len(msgspec.json.encode(event))

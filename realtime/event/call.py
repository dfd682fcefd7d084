"""Server events of the call itself: its session, its sound, its news, its room.

The events of agents, and what is common to all, are in `realtime.event.server`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from realtime.event.base import AudioFormat, Event
from realtime.message.canonical import canonical_json


class ServerSessionCreatedEvent(Event, frozen=True, kw_only=True):
    """The call exists. `session_id` is the client's own label, `call_id` the server's unguessable name of the call.

    A client that may return after losing its socket gets a `resume_token`, valid for one `client_session_resume`; the
    call waits for it for `resume_within_ms`. The log contains neither.
    """

    session_id: str
    call_id: str = ""
    resume_token: str | None = None
    resume_within_ms: int | None = None
    seq: int = 0
    ts_ms: int = 0


class ServerSessionUpdatedEvent(Event, frozen=True, kw_only=True):
    """The new settings are in force."""

    session_id: str
    config: dict[str, Any] | None = None
    seq: int = 0
    ts_ms: int = 0


class ServerSessionEndedEvent(Event, frozen=True, kw_only=True):
    """The call has ended; nothing follows. `reason` is a stable word."""

    session_id: str
    reason: str = "ended"
    seq: int = 0
    ts_ms: int = 0


class ServerSessionResumedEvent(Event, frozen=True, kw_only=True):
    """This client is back in its call. The events after `last_seq` follow, then the speech that it has not played.

    Only this client gets the event. `token` is valid for the next resume; the one used now expires as soon as the
    client sends anything on this socket. `from_store`: the call had ended, or its server had; it continues with the
    words that were heard, in a new session of the model. `gap`: some of the missed events are lost. `rewound_to_seq`:
    the server stopped before it had stored all that it sent; events that the client received beyond this `seq` are not
    part of the call, and their numbers are used again. `last_seq` is then the same number.
    """

    session_id: str
    call_id: str
    last_seq: int
    token: str | None = None
    from_store: bool = False
    gap: bool = False
    rewound_to_seq: int | None = None
    seq: int = 0
    ts_ms: int = 0


CLAIM_WITHHELD = "claim_withheld"
"""The custom event of a sentence that claims what was not done; also the reason of a flush and a response's end."""


class ServerAudioFlushEvent(Event, frozen=True, kw_only=True):
    """Silence the voice at once: drop all unplayed audio of `item_id`, or of every item without one."""

    item_id: str | None = None
    reason: str = "barge_in"
    seq: int = 0
    ts_ms: int = 0


class ServerAudioGainEvent(Event, frozen=True, kw_only=True):
    """Play the voice at `gain_db` from now on, reached over `ramp_ms`: of `item_id`, or of every item without one.

    -15 while it is undecided what a voice over the reply means, 0 when the reply goes on. A flush ends it.
    """

    gain_db: float
    ramp_ms: int = 0
    item_id: str | None = None
    seq: int = 0
    ts_ms: int = 0


class ServerAudioItemEvent(Event, frozen=True, kw_only=True):
    """Binary frames with `item_index` are audio of this part of a response.

    `offset_samples` is where in the part the following audio begins: beyond 0 after a resume, when the event also
    precedes audio as JSON.
    """

    item_index: int
    response_id: str
    item_id: str
    format: AudioFormat
    output_index: int = 0
    content_index: int = 0
    offset_samples: int = 0
    agent_id: str = ""
    agent_name: str = ""
    seq: int = 0
    ts_ms: int = 0


class ServerAudioReceivedEvent(Event, frozen=True, kw_only=True):
    """Client audio up to sample `offset` of its stream has arrived; the client may discard earlier samples."""

    offset: int
    seq: int = 0
    ts_ms: int = 0


class ServerGoodbyeEvent(Event, frozen=True, kw_only=True):
    """This socket is about to close. With a token the call can be resumed elsewhere after `retry_after_ms`."""

    reason: str
    resume_token: str | None = None
    retry_after_ms: int | None = None
    seq: int = 0
    ts_ms: int = 0


class ServerLatencyEvent(Event, frozen=True, kw_only=True):
    """What the user waited after turn `item_id`: from the end of the voice to the first sound that was played.

    `stages_ms` are its parts in order; one of them, `consent`, is no latency. `estimated`: the client reported no
    playback, or had stopped sending audio.
    """

    response_id: str
    turn_end_to_audio_ms: int
    stages_ms: dict[str, int] = msgspec.field(default_factory=dict)
    latency_ms: int | None = None
    item_id: str | None = None
    estimated: bool = False
    seq: int = 0
    ts_ms: int = 0


class ServerPlaybackEvent(Event, frozen=True, kw_only=True):
    """A client's playback position in an item: at its first sound, every second, at a flush and at its end.

    Its own audio was at sample `input_offset` then, at `input_ms`; 0 without any. `estimated`: it did not report this.
    """

    item_id: str
    played_ms: int
    input_offset: int = 0
    input_ms: int | None = None
    estimated: bool = False
    seq: int = 0
    ts_ms: int = 0


class ServerCustomEvent(Event, frozen=True, kw_only=True):
    """Something of the program's own (`RealtimeAgent.emit_custom_event`). Clients skip a `name` that they do not know.

    Raises ValueError where `value` is not JSON.
    """

    name: str
    value: dict[str, Any] = msgspec.field(default_factory=dict)
    seq: int = 0
    ts_ms: int = 0

    def __post_init__(self) -> None:
        try:
            canonical_json(self.value)
        except ValueError as error:
            raise ValueError(f"the value of a custom event has to be JSON: {error}") from error


class ServerRoomJoinedEvent(Event, frozen=True, kw_only=True):
    """A participant entered the room, or was there when a client joined."""

    participant_id: str
    name: str
    kind: str
    muted: bool = False
    away: bool = False
    seq: int = 0
    ts_ms: int = 0


class ServerRoomChangedEvent(Event, frozen=True, kw_only=True):
    """A participant was muted or unmuted, went away or came back.

    Away means that an agent's model or a human's socket is lost. The event carries both current values.
    """

    participant_id: str
    name: str
    kind: str
    muted: bool
    away: bool
    seq: int = 0
    ts_ms: int = 0


class ServerRoomLeftEvent(Event, frozen=True, kw_only=True):
    """A participant left the room."""

    participant_id: str
    name: str
    reason: str = "left"
    seq: int = 0
    ts_ms: int = 0


class ServerRoomFloorEvent(Event, frozen=True, kw_only=True):
    """The participant who may speak now, by which rule. Without one the floor is open."""

    participant_id: str | None = None
    reason: str = ""
    seq: int = 0
    ts_ms: int = 0

"""A scripted user's steps, in Python and in a folder's `case.json` alike.

Files are named relative to the case's folder, or to the working directory where there is none. Each step ends before
the next begins, unless it says otherwise.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

import msgspec

from realtime.client.outbox import INPUT_HZ as INPUT_HZ
from realtime.errors import BadOption
from realtime.event.decode import classes_by_type
from realtime.event.server import ServerEvent
from realtime.options import check_fields

SERVER_EVENTS = classes_by_type(ServerEvent)
Ms = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class _Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"):
    """Base of all steps."""

    def __post_init__(self) -> None:
        check_fields(self)


class Speak(_Step, frozen=True, tag="speak"):
    """Speaks a recording into the microphone, frame by frame in real time."""

    audio: str = ""
    """A file of any rate and number of channels: WAV, FLAC or any other format of libsndfile. `.pcm` and `.raw` are
    pcm16 mono at `rate_hz`."""
    text: str | None = None
    """Its words, for the word error rate; None: unknown."""
    from_ms: Ms = 0
    to_ms: Ms | None = None
    """Where in the file to stop; None: at its end."""
    gain_db: float = 0.0
    noise: str | None = None
    """`white`, `pink` or a file, mixed in at `snr_db`; repeated if short."""
    snr_db: float = 20.0
    wait: bool = True
    """Whether the step lasts until it is spoken; else the next step begins at once."""
    pcm: bytes | None = msgspec.field(default=None, name="pcm16")
    """pcm16 mono at `rate_hz` in place of a file."""
    rate_hz: Annotated[int, msgspec.Meta(ge=1)] = INPUT_HZ
    channel: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Which channel of the file to speak, from 0: the user's side of a two-channel recording of a call."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.to_ms is not None and self.to_ms <= self.from_ms:
            raise BadOption(f"to_ms is {self.to_ms}, which is not after from_ms, {self.from_ms}")


class BargeIn(_Step, frozen=True, tag="barge_in"):
    """Speaks during the agent's response, to interrupt it.

    Exactly one of `after_ms`, `at_word` and `on_tool` says when. Fails the run where that does not happen within
    `timeout_ms`.
    """

    speech: Speak
    after_ms: Ms | None = None
    """Heard ms of the response to the latest words."""
    at_word: str | None = None
    """The word has been heard, as the call aligns words and audio."""
    on_tool: str | None = None
    """The agent calls this tool."""
    timeout_ms: Ms = 30_000

    def __post_init__(self) -> None:
        check_fields(self)
        if [self.after_ms, self.at_word, self.on_tool].count(None) != 2:
            raise BadOption("a BargeIn says when: give it one of after_ms, at_word and on_tool")


class Silence(_Step, frozen=True, tag="silence"):
    """Says nothing for `ms`. The microphone stays on."""

    ms: Ms


class Type(_Step, frozen=True, tag="type"):
    """Types a text."""

    text: str


class WaitFor(_Step, frozen=True, tag="wait_for"):
    """Waits for a new event of this type with these fields; fails the run after `timeout_ms`."""

    event: str
    where: dict[str, Any] = {}
    timeout_ms: Ms = 30_000

    def __post_init__(self) -> None:
        check_fields(self)
        if self.event not in SERVER_EVENTS and (near := get_close_matches(self.event, SERVER_EVENTS, 1)):
            raise BadOption(f"the server has no event {self.event!r}: did you mean {near[0]!r}?")


class WaitUntilHeard(_Step, frozen=True, tag="wait_until_heard"):
    """Waits until the response to the last action was heard or flushed.

    A response may come in several parts, with tools between them. Speech that begins no turn within 2 s of its end gets
    none: the step then waits for the response that was pending, and fails at once without one. A
    `client_response_create` is answered by the pending response, unless the server makes another. Fails the run after
    `timeout_ms`.
    """

    timeout_ms: Ms = 60_000


class Drop(_Step, frozen=True, tag="drop"):
    """Loses the socket for `away_ms`, then resumes as a page does.

    `noticed` is whether the server sees the old socket close, or finds a second one while the first still seems open.
    """

    away_ms: Ms = 1_000
    noticed: bool = True


class Network(_Step, frozen=True, tag="network"):
    """Delays and loses the user's frames from now on.

    `loss` is the share of audio frames that never arrive (0 to 1), `jitter_ms` the maximum delay of a frame. Frames
    keep their order. Zeros end it.
    """

    loss: Share = 0.0
    jitter_ms: Ms = 0
    delay_ms: Ms = 0


class Loudspeaker(_Step, frozen=True, tag="loudspeaker"):
    """Lets the microphone hear what the page plays, from now on.

    The echo is `level_db` louder than what is played (below 0: quieter) and `delay_ms` late; the room's sound falls by
    60 dB in `decay_ms`, and `seed` decides its reflections.
    """

    level_db: float
    delay_ms: Annotated[int, msgspec.Meta(ge=10)] = 120
    decay_ms: Ms = 250
    seed: int = 1


GREETS = "greeting"
"""The `event_id` of the request that stands for an agent's own greeting."""


class Send(_Step, frozen=True, tag="send"):
    """Sends a client event unchanged."""

    event: dict[str, Any]


class Leave(_Step, frozen=True, tag="leave"):
    """Ends the call. Without it a user leaves when all have done their steps."""


Step = Speak | BargeIn | Silence | Type | WaitFor | WaitUntilHeard | Drop | Network | Loudspeaker | Send | Leave

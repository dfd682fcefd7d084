"""What a scripted user does, step by step: the same objects in Python and in the `case.json` of a folder.

Files are named relative to the case's folder, or to the working directory where there is none. Each step ends before
the next begins, unless it says otherwise.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Ms = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]

INPUT_HZ = 16_000
"""The rate at which a scripted user speaks into a call."""


class _Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"):
    """Anything a user does."""


class Speak(_Step, frozen=True, tag="speak"):
    """Speaks a recording into the microphone, frame by frame in real time."""

    audio: str = ""
    """A file of any rate and number of channels: WAV, FLAC or what else libsndfile reads. `.pcm` and `.raw` are pcm16
    mono at `rate_hz`."""
    text: str | None = None
    """What is said in it, for the word error rate; null where nobody wrote it down."""
    from_ms: Ms = 0
    to_ms: Ms | None = None
    """Where in the file to stop; null for its end."""
    gain_db: float = 0.0
    noise: str | None = None
    """`white`, `pink` or a file that is mixed in at `snr_db`, over and over if it is short."""
    snr_db: float = 20.0
    wait: bool = True
    """Whether the step lasts until it is spoken; else the next step begins at once."""
    pcm: bytes | None = msgspec.field(default=None, name="pcm16")
    """pcm16 mono at `rate_hz` in place of a file."""
    rate_hz: int = INPUT_HZ


class BargeIn(_Step, frozen=True, tag="barge_in"):
    """Speaks into the agent's answer. Exactly one of `after_ms`, `at_word` and `on_tool` says when.

    Fails the run where that does not happen within `timeout_ms`.
    """

    speech: Speak
    after_ms: Ms | None = None
    """So much of the answer to what was said last has reached the ear."""
    at_word: str | None = None
    """The word has reached the ear, as the call aligns words and sound."""
    on_tool: str | None = None
    """The agent calls this tool."""
    timeout_ms: Ms = 30_000


class Silence(_Step, frozen=True, tag="silence"):
    """Says nothing for so long. The microphone stays on."""

    ms: Ms


class Type(_Step, frozen=True, tag="type"):
    """Types a text."""

    text: str


class WaitFor(_Step, frozen=True, tag="wait_for"):
    """Waits for an event of this type that comes from now on and has these fields; fails the run after `timeout_ms`."""

    event: str
    where: dict[str, Any] = {}
    timeout_ms: Ms = 30_000


class WaitUntilHeard(_Step, frozen=True, tag="wait_until_heard"):
    """Waits until what the user did last is answered and the answer was heard to its end, or was flushed.

    An answer may come in several parts, with tools between them. Speech that begins no turn within 2 s of its end is
    none: the wait is then for the answer that was on its way, and fails at once where none was. A
    `client_response_create` is answered by the answer that is on its way, unless the server makes another. Fails the
    run after `timeout_ms`.
    """

    timeout_ms: Ms = 60_000


class Drop(_Step, frozen=True, tag="drop"):
    """Loses the socket, is away for so long, and comes back as a page does.

    `noticed` is whether the server sees the old socket close, or finds a second one while it still believes in the
    first.
    """

    away_ms: Ms = 1_000
    noticed: bool = True


class Network(_Step, frozen=True, tag="network"):
    """From now on, what the user sends arrives later and not all of it: `loss` is the share of audio frames that never
    arrive (0 to 1), `jitter_ms` the most by which a frame is late. Frames keep their order. Zeros end it."""

    loss: Share = 0.0
    jitter_ms: Ms = 0
    delay_ms: Ms = 0


class Send(_Step, frozen=True, tag="send"):
    """Sends a client event as it is."""

    event: dict[str, Any]


class Leave(_Step, frozen=True, tag="leave"):
    """Ends the call. Without it a user leaves when all have done their steps."""


Step = Speak | BargeIn | Silence | Type | WaitFor | WaitUntilHeard | Drop | Network | Send | Leave

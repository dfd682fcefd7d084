"""The model seam: what a realtime model is to the rest of the server.

A model is a `Profile` (data: what it can do) and something that opens a `Connection`. Inputs are the closed union
`ModelInput`, outputs the closed union `ModelEvent`. Code above this package never asks which provider it is, only the
profile. What a profile lacks is refused before sending, by name (`refusal`).

A provider over a socket is a pure `Codec` (frames to and from the two unions) driven by `realtime.model.wire`; the
embedded and the scripted model offer the same `Connection` without a socket.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, assert_never, runtime_checkable

import msgspec

from realtime.errors import ClientError
from realtime.event.base import Item, Modality, ResponseOverrides
from realtime.event.config import ToolDeclaration, TurnDetection
from realtime.event.model import ModelEvent
from realtime.message import ToolResultBlock
from realtime.runtime import Runtime

if TYPE_CHECKING:
    from realtime.model.chat.base import ChatModelBase

CONTINUE_ANSWER = (
    "Your last answer was broken off. The user has heard it as far as it stands here. "
    "Go on exactly where it stops: do not repeat any of it, do not greet, do not mention the interruption."
)
"""The system message that precedes a request to continue a broken-off response."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What one model, by name, can do. Rates in Hz, limits in seconds; `supports_` is ability, `emits_` observation."""

    provider: str
    model: str
    input_rate_hz: int
    output_rate_hz: int
    input_modalities: frozenset[Modality] = frozenset({"text", "audio"})
    output_modalities: frozenset[Modality] = frozenset({"text", "audio"})
    supports_tools: bool = True
    hosted_tools: frozenset[str] = frozenset()
    """Tools that run at the provider: kinds of `HostedTool`."""
    searches_without_tools: bool = False
    """Its hosted tools exclude all others."""
    emits_speech_events: bool = True
    """It has its own detector, which reports when speech starts and stops."""
    supports_manual_turns: bool = True
    """Its detector can be switched off; commits and response requests then come from us."""
    interrupts_itself: bool = True
    """With its detector on, it cancels its response when the user speaks."""
    leaves_responses: bool = False
    """Its detector finds turns without cancelling and creating responses."""
    supports_truncation: bool = True
    """It accepts where the listener stopped hearing an item."""
    supports_item_delete: bool = True
    supports_audio_clear: bool = True
    """It can forget audio that was not committed yet."""
    aligns_transcript: bool = False
    """Each transcript delta comes right before exactly the audio that speaks it."""
    supports_response_overrides: bool = True
    """It makes responses outside the conversation. `ResponseOverrides.instructions` reach its codec in any case."""
    responds_beside_tools: bool = False
    """It makes responses outside the conversation also while tools run."""
    takes_provisional_results: bool = False
    """It speaks on after a provisional tool result.

    The real one comes later, as words.
    """
    supports_item_sound: bool = True
    """A user's item may bring its own sound, besides the input audio."""
    says_given_words: bool = False
    """It speaks given words (`ResponseCreate.say`). A turn without recognised words gets no response."""
    redials_for_instructions: bool = False
    """New instructions cost a new connection, in the next silence."""
    session_limit_s: int | None = None
    voices: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    """What it understands, as BCP 47 tags; empty: many or unknown."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The effective settings of a model's session.

    `turn_detection="none"` switches the provider's detector off; `None` keeps its default. `extra` is passed through.
    `agent_name` names the agent of the session; providers do not get it: they read the instructions only. Nor do they
    get `names`, which are likely to be said: no common field of theirs takes such a hint.
    """

    agent_name: str = ""
    instructions: str = ""
    voice: str | None = None
    tools: tuple[ToolDeclaration, ...] = ()
    hosted_tools: frozenset[str] = frozenset()
    output_modalities: tuple[Modality, ...] = ("audio",)
    turn_detection: TurnDetection | str | None = None
    input_audio_transcription: bool = True
    names: tuple[str, ...] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    extra: dict[str, Any] = {}


class AudioAppend(msgspec.Struct, frozen=True, gc=False):
    """Speech of the user: pcm16 mono at the profile's input rate, an even number of bytes.

    `again`: it was sent before, over a link that is lost. It is not new on the session's timeline. `follows`: it is
    part of a longer message; a link that has taken the beginning takes it all.
    """

    pcm: bytes
    again: bool = False
    follows: bool = False


class AudioCommit(msgspec.Struct, frozen=True):
    """The audio so far is a turn of the user."""


class AudioClear(msgspec.Struct, frozen=True):
    """Forget the audio not committed yet."""


class ItemCreate(msgspec.Struct, frozen=True):
    """Put a message, tool call or tool result into the conversation. Makes no response by itself."""

    item: Item
    previous_item_id: str | None = None


class ItemDelete(msgspec.Struct, frozen=True):
    """Remove an item from the model's context."""

    item_id: str


class ItemRetrieve(msgspec.Struct, frozen=True):
    """Ask for an item as the model holds it."""

    item_id: str


class ItemTruncate(msgspec.Struct, frozen=True):
    """The listener heard `audio_end_ms` of the item's audio; `heard_text` is the words of that part."""

    item_id: str
    audio_end_ms: int
    heard_text: str = ""
    content_index: int = 0


class ToolResult(msgspec.Struct, frozen=True):
    """What a tool returned. Makes no response by itself: `ResponseCreate` follows the last result.

    `item_id` is the item it stands in, for a service whose items have the ids that we give them; empty: any.
    """

    result: ToolResultBlock
    item_id: str = ""


class ResponseCreate(msgspec.Struct, frozen=True):
    """Ask for a response; `overrides` hold for this one only.

    `say`: its words, instead of the model's own (`Profile.says_given_words`).
    """

    overrides: ResponseOverrides | None = None
    say: str = ""


class ResponseCancel(msgspec.Struct, frozen=True):
    """Stop the response (`None`: the one that runs)."""

    response_id: str | None = None


class SessionUpdate(msgspec.Struct, frozen=True):
    """The whole of the new effective settings."""

    settings: Settings


ModelInput = (
    AudioAppend
    | AudioCommit
    | AudioClear
    | ItemCreate
    | ItemDelete
    | ItemRetrieve
    | ItemTruncate
    | ToolResult
    | ResponseCreate
    | ResponseCancel
    | SessionUpdate
)

OnEvent = Callable[[ModelEvent], None]
History = Callable[[], Sequence[Item]]


class Connection(Protocol):
    """A live session with a model.

    Events arrive by the `on_event` given at connect, in order, on the event loop's thread. The last one is
    `ModelSessionEndedEvent`, exactly once, at whichever end the session is closed.

    A lost link is reported at once: its responses as done (`failed`, reason `link_lost`), then
    `ModelReconnectingEvent`. Requests on the lost link are gone, except items: the sender repeats what still matters,
    from inside that event: audio that no response or transcript covers, commits, requests for a response. Positions in
    the user's audio count from the first audio of the session, over all links.
    """

    @property
    def profile(self) -> Profile:
        """What this connection's model can do."""
        ...

    def send(self, message: ModelInput) -> None:
        """Hand the message over. Never waits and never raises for a lost link: input audio is then kept or dropped
        oldest first, control messages never drop. After `close` it does nothing."""
        ...

    async def close(self) -> None:
        """End the session and release everything it holds. Idempotent; cancelling it still releases everything."""
        ...


@dataclass(frozen=True, slots=True)
class Withheld:
    """What becomes of a sentence that may not be said.

    The model is asked again with `hint`, which no history keeps; without one, `words` are said, if there are any.
    """

    hint: str = ""
    words: str = ""


class SentenceJudge(Protocol):
    """Decides which sentences of a response may be said."""

    def judge(self, sentence: str, said: str, *, response_id: str, item_id: str) -> Withheld | None:
        """Return None if a sentence may follow what the response has `said`."""
        ...

    def end(self, *, response_id: str, item_id: str) -> Withheld | None:
        """The response is over, without a tool call at its end: return what has to follow it, if anything."""
        ...


@runtime_checkable
class ChecksSentences(Connection, Protocol):
    """A connection whose sentences can be judged before they are spoken."""

    def check_sentences(self, judge: SentenceJudge) -> None:
        """Have all later sentences judged."""
        ...


@runtime_checkable
class GuessesWords(Connection, Protocol):
    """A connection that guesses a turn's words before its end."""

    def tell_guesses(self, take: Callable[[str], None]) -> None:
        """Have all later guesses told. New instructions then hold for this turn as well."""
        ...


class RealtimeModel(ABC):
    """A configured model: which one, with which key and voice. Holds no connection; one object serves many calls."""

    voice: str | None = None
    websocket_url: str | None = None
    """Where a provider over a socket is dialled; may be changed, for a proxy or an emulator. `None`: no socket."""

    @property
    @abstractmethod
    def profile(self) -> Profile:
        """What the model can do."""

    @abstractmethod
    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """Open a session; return once it is usable (`ModelSessionCreatedEvent` has been reported).

        `history` gives the items to restore the context from, now and after each reconnect. Raises ProviderError when
        the session cannot be had; cancelling leaves nothing open.
        """

    def voice_for(self, wanted: str | None) -> str | None:
        """The voice to speak with if this one is asked for; `None`: the model's own. A provider may refuse it later."""
        return wanted or self.voice

    def chat_model(self) -> ChatModelBase | None:
        """Return a chat model of those who hear the call anyway; None where there is none.

        It writes what calls leave behind (`call_record`). No one else gets the words, or a key. Raises
        UsageError where its package is missing.
        """
        return None

    @property
    def websocket_headers(self) -> dict[str, str]:
        """What the handshake carries beside the standard headers: the key, where there is one. A secret."""
        return {}

    @property
    def support_input_modalities(self) -> list[str]:
        """What may be sent, e.g. `["audio", "text"]`."""
        return sorted(self.profile.input_modalities)

    @property
    def support_tools(self) -> bool:
        """Whether tools may be offered to the model."""
        return self.profile.supports_tools

    @property
    def input_sample_rate(self) -> int:
        """Rate of the audio the model takes, in Hz."""
        return self.profile.input_rate_hz

    @property
    def output_sample_rate(self) -> int:
        """Rate of the audio the model gives, in Hz."""
        return self.profile.output_rate_hz


Frame = str | bytes


@dataclass(frozen=True, slots=True)
class Address:
    """Where to dial. `headers` hold the key and never appear in a repr."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    subprotocols: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Address(url={self.url!r})"


@dataclass(frozen=True, slots=True)
class CloseVerdict:
    """What a closed link means: the code and sentence for the client, and whether dialling again can help."""

    code: str
    message: str
    reconnect: bool


class Codec(Protocol):
    """One provider's protocol as pure functions with the state of one connection. Never awaits, never reads a clock."""

    @property
    def profile(self) -> Profile:
        """The abilities of the model behind this connection."""
        ...

    def address(self, settings: Settings) -> Address:
        """Where and with which headers to dial."""
        ...

    def opening(self, settings: Settings, history: Sequence[Item]) -> list[Frame]:
        """What to send first: the settings, then the context."""
        ...

    def encode(self, message: ModelInput) -> list[Frame]:
        """The frames that say the message; empty where the protocol needs none."""
        ...

    def decode(self, frame: Frame) -> list[ModelEvent]:
        """Every event that the frame holds. Broken or unknown frames give none. Never raises."""
        ...

    def overdue(self) -> list[ModelEvent]:
        """Events from encoding, such as refusals, that await the next decoded frame."""
        return []

    def closed(self, code: int | None, reason: str) -> CloseVerdict:
        """The meaning of a closed link."""
        ...


def whole_samples(pcm: bytes) -> tuple[bytes, bytes]:
    """Split pcm16 into whole samples and the odd byte of the next."""
    cut = len(pcm) & ~1
    return pcm[:cut], pcm[cut:]


def refusal(profile: Profile, message: ModelInput) -> ClientError | None:
    """Why the profile does not allow the message; None if it does."""
    match message:
        case AudioAppend():
            missing = "audio" if "audio" not in profile.input_modalities else None
        case ItemCreate(item=item):
            if not profile.supports_item_sound and any(part.audio for part in item.content):
                return ClientError(
                    f"{profile.model} takes no sound in an item: append it to the input audio",
                    code="unsupported_content_type",
                )
            kinds = {part.type for part in item.content}
            missing = next(
                (kind for kind in ("image", "audio", "text") if kind in kinds - profile.input_modalities), None
            )
        case ToolResult():
            if profile.supports_tools:
                return None
            return ClientError(f"{profile.model} cannot use tools", code="unsupported_tools")
        case ItemDelete():
            if profile.supports_item_delete:
                return None
            return ClientError(
                f"{profile.model} cannot delete an item from its context", code="unsupported_item_delete"
            )
        case AudioClear():
            if profile.supports_audio_clear:
                return None
            return ClientError(
                f"{profile.model} cannot forget what it has heard: the turn goes on", code="unsupported_audio_clear"
            )
        case ResponseCreate(overrides=overrides):
            if profile.supports_response_overrides or overrides is None or overrides.conversation != "none":
                return None
            return ClientError(f"{profile.model} has no responses beside the conversation", code="unsupported_response")
        case AudioCommit() | ItemRetrieve() | ItemTruncate() | ResponseCancel() | SessionUpdate():
            return None
        case _:
            assert_never(message)
    if missing is None:
        return None
    takes = ", ".join(sorted(profile.input_modalities))
    return ClientError(f"{profile.model} does not take {missing} input (it takes {takes})", code="unsupported_modality")

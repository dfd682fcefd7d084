"""A stand-in for the real model in a test case: its input and answers come from a file.

    {"turns": "detector", "hears": [{"text": "Where is my order?"}],
     "answers": [{"do": "call", "tools": [{"name": "lookup_order", "arguments": {"id": "A-17"}}], "after_ms": 400},
                 {"do": "say", "text": "It arrives tomorrow."}]}

Each request for a response, and each end of a turn where the model finds the turns itself, takes the next answer. Words
are taken in the order in which turns end; nothing is recognised, synthesised or random.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, assert_never

import msgspec

from realtime.agent.detector import detector_with
from realtime.agent.input import Detector
from realtime.audio.endpoint import SpeechStarted, TurnEnded
from realtime.audio.files import ChannelError, read_pcm16
from realtime.audio.pcm import bytes_of, ms_of
from realtime.event.base import ResponseOverrides, ResponseStatus
from realtime.event.config import TurnDetection
from realtime.model._scripted_output import Output
from realtime.model.base import (
    AudioAppend,
    AudioCommit,
    Connection,
    History,
    ModelInput,
    OnEvent,
    Profile,
    RealtimeModel,
    ResponseCreate,
    Settings,
)
from realtime.model.local.ears import endpoint_config
from realtime.model.script import (
    CallTools,
    Hangup,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
    Transcribe,
    Write,
    tone,
)
from realtime.model.scripted import MANUAL_PROFILE, PROFILE, ScriptedConnection
from realtime.options import check_fields
from realtime.runtime import Runtime
from realtime.testing.cases.expected import ToolUse
from realtime.testing.client.steps import Ms
from realtime.testing.errors import CaseError

MS_PER_LETTER = 60
"""Pace of an answer whose length is not given."""

_PROFILE = msgspec.structs.replace(PROFILE, leaves_responses=True)


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="do"):
    """Base of the parts."""

    def __post_init__(self) -> None:
        check_fields(self)


class Hear(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The words of one user turn.

    The positions are needed where `turns` is `positions`. All are ms of the user's audio: the voice lasts from
    `from_ms` to `to_ms`; its start is noticed at `noticed_ms`, and the turn ends at `ended_ms`.
    """

    text: str
    from_ms: Ms | None = None
    to_ms: Ms | None = None
    noticed_ms: Ms | None = None
    ended_ms: Ms | None = None

    def __post_init__(self) -> None:
        check_fields(self)


class Say(_Part, frozen=True, tag="say"):
    """A spoken answer: `audio` (a file, from `from_ms` to `to_ms`) or a tone, for `ms` or for the length of the
    text."""

    text: str
    ms: Ms | None = None
    audio: str = ""
    from_ms: Ms = 0
    to_ms: Ms | None = None
    channel: Ms | None = None
    """Which channel of the file to say, from 0: the agent's side of a two-channel recording of a call."""
    after_ms: Ms = 300
    """Time from the request to the first sound."""
    pace: Annotated[float, msgspec.Meta(gt=0)] | None = 4.0
    """How many times faster than real time the audio comes; None: all at once."""
    chunk_ms: Annotated[int, msgspec.Meta(gt=0)] = 200
    open_ms: Ms = 0
    """Silence without words that follows. It stands for the unknown rest of a stopped answer."""


class WriteText(_Part, frozen=True, tag="write"):
    """A text-only answer."""

    text: str
    after_ms: Ms = 300


class Call(_Part, frozen=True, tag="call"):
    """An answer that calls tools.

    It does so `after_ms` after what it says or writes `before`, in the same response.

    When all have returned, the next answer is requested.
    """

    tools: tuple[ToolUse, ...]
    after_ms: Ms = 300
    before: Say | WriteText | None = None


class HangUp(_Part, frozen=True, tag="hang_up"):
    """The provider ends its session instead of answering."""

    reason: str = "provider_closed"


class Nothing(_Part, frozen=True, tag="nothing"):
    """No answer at all."""


Answer = Say | Call | WriteText | HangUp | Nothing


class StandIn(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The input and answers of a model in a case.

    `turns`: who finds the turns. `detector`: the model, by the server's own detector with the call's settings (needs
    the `local` extra). `positions`: the model, at the positions in `hears`. `none`: the model has no detector, like
    some providers: the server or the client decides.
    """

    turns: Literal["detector", "positions", "none"] = "detector"
    hears: tuple[Hear, ...] = ()
    answers: tuple[Answer, ...] = ()
    otherwise: Answer | None = None
    """The answer once `answers` is used up; None: no answer."""

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def tools(self) -> set[str]:
        """The tools that it calls."""
        calls = [answer for answer in (*self.answers, self.otherwise) if isinstance(answer, Call)]
        return {use.name for call in calls for use in call.tools}

    def model(self, folder: Path, file: str = "case.json") -> StandInModel:
        """Make the model. `folder` is where its files are. Raises CaseError for an unusable one."""
        return StandInModel(self, folder, file)


class StandInModel(RealtimeModel):
    """See `StandIn`. Each connection continues where the previous one stopped."""

    def __init__(self, stand_in: StandIn, folder: Path, file: str = "case.json") -> None:
        self.stand_in = stand_in
        self._profile = MANUAL_PROFILE if stand_in.turns == "none" else _PROFILE
        self._heard = deque(stand_in.hears)
        self._began_s: float | None = None
        self._sounds = {said: _sound(said, self._profile.output_rate_hz, folder) for said in _sayings(stand_in)}
        self._answers = iter(stand_in.answers)
        self._now: Callable[[], float] = lambda: 0.0
        self.asked_s: list[float] = []
        """Times of its requests, by the clock of its call."""
        if stand_in.turns == "positions":
            for number, hear in enumerate(stand_in.hears, 1):
                if None in (hear.from_ms, hear.to_ms, hear.noticed_ms, hear.ended_ms):
                    raise CaseError(
                        folder / file,
                        "its positions are not complete",
                        'Give from_ms, to_ms, noticed_ms and ended_ms, or set "turns" to "detector".',
                        place=f"hears {number}",
                    )

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`."""
        return self._profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`."""
        self._now = runtime.now
        if self._began_s is None:
            self._began_s = runtime.now()
        began_s = self._began_s
        ear = _Ear(self, settings, lambda: (runtime.now() - began_s) * 1000)
        ear.line = line = _Line(ear.react, self._profile, "scripted_1", settings, on_event, history(), strict=True)
        return line

    def next_words(self) -> str:
        """Return the words of the turn that just ended."""
        return self._heard.popleft().text if self._heard else ""

    def words_until(self, now_ms: float) -> str:
        """Return the words of a turn that another detector ended at `now_ms`.

        `now_ms` is ms of the call. Where positions are known, these are all words that began by then: turns found
        differently still have their words.
        """
        if self.stand_in.turns != "positions":
            return self.next_words()
        words = []
        while self._heard and (self._heard[0].from_ms or 0) <= now_ms:
            words.append(self.next_words())
        return " ".join(filter(None, words))

    def next_position(self) -> Hear | None:
        """Return the next turn by its positions."""
        return self._heard.popleft() if self._heard and self.stand_in.turns == "positions" else None

    def detector(self, turn_detection: TurnDetection | str | None) -> Detector | None:
        """Make a connection's detector with its settings; None where it has none or does not decide."""
        if self.stand_in.turns != "detector" or turn_detection == "none":
            return None
        return detector_with(endpoint_config(turn_detection if isinstance(turn_detection, TurnDetection) else None))

    def next_answer(self) -> Iterator[Step]:
        """Return the steps of the next answer."""
        self.asked_s.append(self._now())
        yield from self._steps(next(self._answers, self.stand_in.otherwise))

    def _steps(self, answer: Answer | None) -> Iterator[Step]:
        match answer:
            case Say():
                yield Speak(
                    answer.text,
                    self._sounds[answer],
                    chunk_ms=answer.chunk_ms,
                    pace=answer.pace,
                    wait=False,
                    after_ms=answer.after_ms,
                    wordless_ms=answer.open_ms,
                )
            case Call(tools=tools, after_ms=after_ms, before=before):
                calls = tuple((use.name, dict(use.arguments)) for use in tools)
                if before is None:
                    yield CallTools(calls, after_ms)
                else:
                    (words,) = self._steps(before)
                    yield _CallAfterWords(calls, after_ms, words)
            case WriteText(text=text, after_ms=after_ms):
                yield Write(text, after_ms)
            case HangUp(reason=reason):
                yield Hangup(reason)
            case Nothing() | None:
                return
            case _:
                assert_never(answer)


@dataclass(frozen=True, slots=True)
class _CallAfterWords(CallTools):
    """Words and then tool calls, in one response."""

    words: Step | None = None


class _JoinedOutput(Output):
    """Words and the tools that are called after them are one response."""

    then: CallTools | None = None
    """Called once the response that runs has said its words."""
    _open_response_id: str | None = None
    """The response that has said its words and continues."""

    def begin(self, overrides: ResponseOverrides | None = None) -> str:
        """See `Output`."""
        response_id, self._open_response_id = self._open_response_id, None
        return super().begin(overrides) if response_id is None else response_id

    def finish(self, response_id: str, status: ResponseStatus, reason: str | None, n_tokens: int) -> None:
        """See `Output`."""
        if self.then is not None and status == "completed":
            self._open_response_id = response_id
            return
        self.then = None
        super().finish(response_id, status, reason, n_tokens)

    def said(self) -> None:
        """See `Output`."""
        super().said()
        self.go_on()

    def go_on(self) -> None:
        """Call the tools if the words were said."""
        if self._open_response_id is not None and self.then is not None:
            then, self.then = self.then, None
            self.call_tools(then.calls, then.after_ms)


class _Line(ScriptedConnection):
    """A connection whose speech stops a response only if settings allow it."""

    _output: _JoinedOutput
    _Output = _JoinedOutput

    @property
    def is_answering(self) -> bool:
        """Whether a response is under way."""
        return self._output.speaking is not None

    def _do(self, step: Step) -> None:
        if isinstance(step, SpeechStart):
            interrupts = _wants(self.settings, "interrupt_response")
            self._profile = msgspec.structs.replace(self._profile, interrupts_itself=interrupts)
        if isinstance(step, _CallAfterWords) and step.words is not None:
            self._output.then = CallTools(step.calls, step.after_ms)
            super()._do(step.words)
            self._output.go_on()
        else:
            super()._do(step)


class _Ear:
    """The input of one connection."""

    line: _Line
    """The connection that answers."""

    def __init__(self, model: StandInModel, settings: Settings, now_ms: Callable[[], float]) -> None:
        self._model = model
        self._now_ms = now_ms
        self._endpoint = model.detector(settings.turn_detection)
        self._place = model.next_position() if settings.turn_detection != "none" else None
        self._noticed = False
        self._position_bytes = 0

    def react(self, message: ModelInput) -> Iterable[Step]:
        """See `realtime.model.script.React`."""
        match message:
            case AudioAppend(pcm=pcm):
                return [*self._hear(pcm)]
            case AudioCommit():
                return [Transcribe(self._model.words_until(self._now_ms()))]
            case ResponseCreate():
                return [*self._model.next_answer()]
            case _:
                return []

    def _hear(self, pcm: bytes) -> Iterator[Step]:
        if self._endpoint is not None:
            for found in self._endpoint.push(pcm):
                if isinstance(found, SpeechStarted):
                    yield SpeechStart(found.start_ms)
                elif isinstance(found, TurnEnded):
                    yield from self._ended(found.end_ms, self._model.next_words())
            return
        self._position_bytes += len(pcm)
        position_ms = ms_of(self._position_bytes, self._model.profile.input_rate_hz)
        while (place := self._place) is not None:
            if not self._noticed and position_ms >= (place.noticed_ms or 0):
                self._noticed = True
                yield SpeechStart(place.from_ms or 0)
            if not self._noticed or position_ms < (place.ended_ms or 0):
                return
            self._place, self._noticed = self._model.next_position(), False
            yield from self._ended(place.to_ms or 0, place.text)

    def _ended(self, end_ms: int, words: str) -> Iterator[Step]:
        yield SpeechEnd(end_ms, words)
        settings = self.line.settings
        # A service has one response at a time: speech during one that continues gets none.
        is_beside = self.line.is_answering and not _wants(settings, "interrupt_response")
        if _wants(settings, "create_response") and not is_beside:
            yield from self._model.next_answer()


def _wants(settings: Settings, switch: str) -> bool:
    """Whether the detector may do this on its own."""
    return getattr(settings.turn_detection, switch, None) is not False


def _sayings(stand_in: StandIn) -> list[Say]:
    answers = [one.before if isinstance(one, Call) else one for one in (*stand_in.answers, stand_in.otherwise)]
    return [one for one in answers if isinstance(one, Say)]


def _sound(said: Say, rate_hz: int, folder: Path) -> bytes:
    """Return the answer and its silence as pcm16."""
    return _voice(said, rate_hz, folder) + bytes(bytes_of(said.open_ms, rate_hz))


def _voice(said: Say, rate_hz: int, folder: Path) -> bytes:
    if not said.audio:
        return tone((said.ms if said.ms is not None else MS_PER_LETTER * len(said.text)) / 1000, rate_hz)
    path = folder / said.audio
    try:
        pcm = read_pcm16(path, rate_hz, channel=said.channel)
    except FileNotFoundError:
        raise CaseError(
            path, "there is no such file", 'Name one that exists, or give "ms" in place of "audio".'
        ) from None
    except ChannelError as error:
        raise CaseError(path, error.problem, "Give `channel`: the agent's side.", place="channel") from None
    except (OSError, ValueError) as error:
        raise CaseError(path, str(error), "Replace it by a WAV or FLAC file.") from None
    end = len(pcm) if said.to_ms is None else bytes_of(said.to_ms, rate_hz)
    part = pcm[bytes_of(said.from_ms, rate_hz) : end]
    if not part:
        raise CaseError(path, f"there is no sound from {said.from_ms} ms on", "Correct from_ms and to_ms.")
    return part if said.ms is None else part[: bytes_of(said.ms, rate_hz)]

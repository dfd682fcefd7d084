"""Replays a cassette to the real model class, without key or network.

    model = recorded_model("fixtures/cassettes/refund")
    ...a call with this model...
    model.check()

Time may be virtual or real. The provider's frames come again, each as long after our preceding frame as in the
recording. Our frames are compared with the recording:

- strict: the same frames in the same order. Our own ids may differ, and so may the way the microphone is cut into
  frames: there the position counts, to within `position_ms`; with `audio="content"` every sample does.
- lenient: a frame matches the next one of its kind, other frames are let through; a frame of the recording that does
  not come delays the rest for `patience_s`. Any audio matches. `notes()` lists the differences.
"""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
import pybase64

from realtime.errors import ProviderError
from realtime.model.base import Address, Connection, Frame, History, OnEvent, Profile, RealtimeModel, Settings
from realtime.model.services import SERVICES
from realtime.model.wire import Link, Receiver, Tap, WireLimits
from realtime.options import checked
from realtime.runtime import Runtime
from realtime.testing.cassettes.format import (
    G711_BYTES_PER_MS,
    AudioRef,
    Cassette,
    FrameLine,
    Line,
    LinkLine,
    Scrubber,
    audio_places,
    audio_refs,
    is_speech,
    kind_of,
    parsed,
    read_cassette,
)
from realtime.testing.cassettes.match import AS_RECORDED, Names, decoded_bytes, difference, lift, pretty, scrub_alike
from realtime.testing.cassettes.record import WireModel, both
from realtime.testing.errors import CaseError, RunFailure

AudioCheck = Literal["position", "content"]

_NO_KEY = "cassette"
_INSTANT_S = 1e-6
"""Times closer than this are equal: loops round theirs."""
_LEFT = "the replay has left the recording"
"""The error without the difference, which quotes speech: this text may reach logs and clients."""
_POLICY_VIOLATION, _LOST, _NORMAL = 1008, 1006, 1000


@dataclass(frozen=True, slots=True)
class Rules:
    """How our frames are compared with the recording; see `recorded_model`."""

    strict: bool = True
    audio: AudioCheck = "position"
    position_ms: int = 500
    patience_s: float = 5.0


class CassetteDrift(RunFailure):
    """Our frames differ from the recorded ones. The text names file and line and shows the difference."""


class Replay:
    """One replayed session: the legs of one cassette in order. `dial` goes to a provider's model."""

    def __init__(self, cassette: Cassette, rules: Rules) -> None:
        self.cassette = cassette
        self.rules = rules
        self.names = Names(cassette)
        self.scrubber = Scrubber()
        self.failure: CassetteDrift | None = None
        self.legs: list[_Leg] = []
        self._plan = cassette.legs()
        self.extra: list[str] = []

    async def dial(self, address: Address, receiver: Receiver, limits: WireLimits) -> Link:
        """Open the next leg of the recording. Raises ProviderError where it was refused, and where there is none."""
        number = len(self.legs) + 1
        if self.failure is None and number > len(self._plan):
            text = f"{self.cassette.file}: link {number} was dialled, the recording has {len(self._plan)}"
            if self.rules.strict:
                self.fail(f"{text}. {AS_RECORDED}")
            self.extra.append(text)
        if self.failure is not None or number > len(self._plan):
            raise ProviderError(_LEFT, code="cassette_drift")
        plan = self._plan[number - 1]
        begun = cast(LinkLine, self.cassette.lines[plan[0]])
        leg = _Leg(self, receiver, plan)
        self.legs.append(leg)
        await asyncio.sleep(begun.took_ms / 1000)
        if begun.link == "refused":
            raise ProviderError(begun.reason, code=str(begun.code), retryable=begun.retryable)
        leg.begin()
        return leg

    def fail(self, text: str) -> None:
        """Record a drift; only the first counts."""
        if self.failure is None:
            self.failure = CassetteDrift(text)

    def place(self, index: int) -> str:
        """Return a line's place as `file:line`."""
        return f"{self.cassette.file}:{index + 2}"  # behind the header

    def leftovers(self) -> list[str]:
        """Return the recorded frames that we did not send."""
        lines = [text for leg in self.legs for text in leg.leftovers()]
        for number, plan in enumerate(self._plan[len(self.legs) :], len(self.legs) + 1):
            lines.append(f"{self.place(plan[0])}: link {number} was never dialled")
        return lines


class _Leg:
    """One link of a replay: the model's `Link`, and the timer that plays the leg's lines."""

    def __init__(self, replay: Replay, receiver: Receiver, plan: list[int]) -> None:
        self._replay = replay
        self._receiver = receiver
        self._loop = asyncio.get_running_loop()
        self._lines = [(index, replay.cassette.lines[index]) for index in plan[1:]]
        self._speaks = [_is_ours(line) and is_speech(_body(line)) for _, line in self._lines]
        self._controls = [
            n
            for n, (_, line) in enumerate(self._lines)
            if isinstance(line, FrameLine) and _is_ours(line) and not self._speaks[n]
        ]
        """The sent lines of this leg without microphone audio."""
        self._spoken_ms = self._positions()
        self._spoken = self._recorded_speech() if replay.rules.audio == "content" else b""
        self._at = 0
        self._anchor_ms = replay.cassette.lines[plan[0]].at_ms
        self._anchor_s = 0.0
        self._matched: dict[int, float] = {}
        """When we sent the frame of each line."""
        self._furthest = -1
        self._sent_ms = 0.0
        self._sent_pcm_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self.is_open = False
        self._is_reading = True

    def begin(self) -> None:
        """Open the link."""
        self.is_open = True
        self._anchor_s = self._loop.time()
        self._wake_at(self._anchor_s)

    # The link.

    @property
    def can_write(self) -> bool:
        return self.is_open

    def write(self, frame: Frame) -> None:
        if not self.is_open:
            return
        body = parsed(frame)
        if is_speech(body):
            self._speech(body)
        elif self._replay.rules.strict:
            self._match_next(body)
        else:
            self._match_kind(body)
        if self._replay.failure is not None:
            self._loop.call_soon(self._end, _POLICY_VIOLATION, _LEFT)
            return
        self._wake_at(self._loop.time())

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self._wake_at(self._loop.time())

    async def close(self) -> None:
        self._end(_NORMAL, "")

    def abort(self) -> None:
        self._stop()
        if self.is_open:
            self._loop.call_soon(self._end, _LOST, "")

    def _end(self, code: int, reason: str) -> None:
        self._stop()
        if self.is_open:
            self.is_open = False
            self._receiver.lost(code, reason)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # What we send.

    def _speech(self, body: Any) -> None:
        replay = self._replay
        for holder, key in audio_places(body):
            n_bytes = decoded_bytes(holder[key])
            if replay.rules.strict and replay.rules.audio == "content":
                self._compare_content(pybase64.b64decode(holder[key]))
            self._sent_pcm_bytes += n_bytes
            self._sent_ms += n_bytes / 2 / replay.cassette.header.rates_hz.sent * 1000

    def _compare_content(self, pcm: bytes) -> None:
        replay, at = self._replay, self._sent_pcm_bytes
        recorded = self._spoken[at : at + len(pcm)]
        if pcm[: len(recorded)] != recorded:
            differs = next(n for n in range(0, len(recorded), 2) if pcm[n : n + 2] != recorded[n : n + 2])
            at_ms = round((at + differs) / 2 / replay.cassette.header.rates_hz.sent * 1000)
            file = replay.cassette.file.with_name("sent.flac")
            replay.fail(f"{file}: the audio sent on this link differs from the recording at {at_ms} ms. {AS_RECORDED}")

    def _match_next(self, body: Any) -> None:
        replay = self._replay
        number = next((n for n in self._controls if n > self._furthest), None)
        if number is None:
            text = pretty(lift(replay.scrubber.clean(body)))
            replay.fail(f"{replay.cassette.file}: sent now, and not in the recording. {AS_RECORDED}\n{text}")
            return
        index, line = self._lines[number]
        expected = lift(_body(line))
        actual = lift(replay.scrubber.clean(body))
        actual = scrub_alike(expected, replay.names.bind(expected, actual))
        if actual != expected:
            replay.fail(difference(replay.place(index), expected, actual))
        elif abs(self._sent_ms - self._spoken_ms[number]) > replay.rules.position_ms:
            replay.fail(
                f"{replay.place(index)}: {kind_of(expected)} comes after {self._sent_ms:.0f} ms of audio, in the "
                f"recording after {self._spoken_ms[number]:.0f} ms (more than {replay.rules.position_ms} ms apart). "
                f"{AS_RECORDED}"
            )
        else:
            self._take(number)

    def _match_kind(self, body: Any) -> None:
        replay = self._replay
        kind = kind_of(body)
        for number in self._controls:
            recorded = _body(self._lines[number][1])
            if number not in self._matched and kind_of(recorded) == kind:
                replay.names.bind(recorded, body)
                self._take(number)
                return
        replay.extra.append(f"{kind} was sent and is not in the recording")

    def _take(self, number: int) -> None:
        self._matched[number] = self._loop.time()
        self._furthest = max(self._furthest, number)

    # What the provider says.

    def _wake_at(self, when_s: float) -> None:
        self._stop()
        self._timer = self._loop.call_at(when_s, self._play)

    def _play(self) -> None:
        """Play every line that is due. Lines may call back into `write`, never into this."""
        self._timer = None
        while self.is_open and self._is_reading and self._at < len(self._lines):
            _, line = self._lines[self._at]
            due_s = self._anchor_s + (line.at_ms - self._anchor_ms) / 1000
            if _is_ours(line):
                if not isinstance(line, FrameLine) or not self._passes(self._at, line.at_ms, due_s):
                    return
                self._at += 1
            elif due_s > self._loop.time() + _INSTANT_S:
                self._wake_at(due_s)
                return
            else:
                self._at += 1  # before it is delivered: that may call back here
                self._give(line)

    def _passes(self, number: int, at_ms: int, due_s: float) -> bool:
        """Whether our frames have reached this line of the recording; later lines then count from now."""
        now_s, rules = self._loop.time(), self._replay.rules
        if self._speaks[number]:
            if rules.strict:
                is_there = self._sent_ms + 1e-6 >= self._spoken_ms[number + 1] or number < self._furthest
            else:
                # Any audio will do, and any amount: from its first frame on the recording follows its own clock.
                is_there = self._sent_ms > 0 or number < self._furthest
                if is_there and self._spoken_ms[number] > 0:
                    return True
        else:
            is_there = number in self._matched or (not rules.strict and number < self._furthest)
        if not is_there and not rules.strict:
            late_s = due_s + rules.patience_s
            if now_s + _INSTANT_S < late_s:
                self._wake_at(late_s)
                return False
            is_there = True
        if is_there:
            self._anchor_s, self._anchor_ms = self._matched.get(number, now_s), at_ms
        return is_there

    def _give(self, line: FrameLine | LinkLine) -> None:
        if isinstance(line, LinkLine):
            self._end(cast(int, line.code), line.reason)
            return
        frame = line.frame if line.frame is msgspec.UNSET else self._replay.names.as_ours(line.frame)
        self._receiver.received(*self._replay.cassette.message(line, frame))

    # What was recorded.

    def _positions(self) -> list[float]:
        """Return the ms of user audio before each line and in all."""
        at = [0.0]
        for (_, line), speaks in zip(self._lines, self._speaks, strict=True):
            at.append(at[-1] + sum(_ref_ms(self._replay.cassette, ref) for ref in audio_refs(line) if speaks))
        return at

    def _recorded_speech(self) -> bytes:
        refs = (ref for n, (_, line) in enumerate(self._lines) if self._speaks[n] for ref in audio_refs(line))
        return b"".join(map(self._replay.cassette.audio, refs))

    # What is left.

    def leftovers(self) -> list[str]:
        replay = self._replay
        left = []
        for number in self._controls:
            if number not in self._matched:
                index, line = self._lines[number]
                left.append(f"{replay.place(index)}: {kind_of(_body(line))} was not sent")
        apart_ms = self._sent_ms - self._spoken_ms[-1]
        if abs(apart_ms) > replay.rules.position_ms:
            left.append(
                f"{replay.cassette.file}: {self._sent_ms:.0f} ms of audio were sent, {self._spoken_ms[-1]:.0f} ms in "
                f"the recording"
            )
        return left


class RecordedModel(RealtimeModel):
    """The model of a cassette, made by `recorded_model`. Each connection plays it from the beginning."""

    def __init__(self, cassette: Cassette, rules: Rules, options: dict[str, Any]) -> None:
        header = cassette.header
        service = SERVICES.get(header.provider)
        if service is None:
            problem = f"no service is called {header.provider!r}"
            raise CaseError(cassette.file, problem, f"There are {', '.join(SERVICES)}", place="line 1")
        try:
            self._below = service.open(header.model, api_key=_NO_KEY, **(header.options | options))
        except TypeError as error:
            problem = f"the options of the model do not fit ({error})"
            raise CaseError(cassette.file, problem, "Leave out what is not an option", place="line 1") from None
        self.cassette = cassette
        self._rules = rules
        self.replays: list[Replay] = []
        self.voice = self._below.voice
        self.tap: Tap | None = None
        """Sees the frames, as that of any model does."""

    def __repr__(self) -> str:
        return f"RecordedModel({str(self.cassette.file.parent)!r})"

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`."""
        return self._below.profile

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`. Where the opening frames drift, the error has the code `cassette_drift`."""
        replay = Replay(self.cassette, self._rules)
        self.replays.append(replay)
        model = copy.copy(self._below)
        assert isinstance(model, WireModel)
        model.dial = replay.dial
        model.tap = model.tap if self.tap is None else both(self.tap, model.tap)
        try:
            return await model.connect(settings=settings, on_event=on_event, history=history, runtime=runtime)
        except ProviderError:
            if replay.failure is None:
                raise
            raise ProviderError(_LEFT, code="cassette_drift") from replay.failure

    def check(self) -> None:
        """Raise CassetteDrift where a strict replay left the recording or ended early."""
        for replay in self.replays:
            if replay.failure is not None:
                raise replay.failure
            left = replay.leftovers() if replay.rules.strict else []
            if left:
                raise CassetteDrift("\n".join(["the recording went on, the replay did not:", *left, AS_RECORDED]))

    def notes(self) -> list[str]:
        """Describe the replays' differences so far: additional frames, and missing ones."""
        return [text for replay in self.replays for text in (*replay.extra, *replay.leftovers())]


@checked()
def recorded_model(
    path: str | Path,
    strict: bool = True,
    *,
    audio: AudioCheck = "position",
    position_ms: int = 500,
    patience_s: float = 5.0,
    **options: Any,
) -> RecordedModel:
    """Return a model that answers as in the cassette at `path`. Needs no key and no SDK.

    `position_ms` is the allowed distance of replay and recording in the user's audio where another frame is sent, and
    at the end. `options` replace those of the recording, with the names of the model's constructor. Raises CaseError
    for a cassette that cannot be played.
    """
    return RecordedModel(read_cassette(path), Rules(strict, audio, position_ms, patience_s), options)


def _is_ours(line: Line) -> bool:
    return line.dir == "sent" if isinstance(line, FrameLine) else line.by == "us"


def _body(line: Line) -> Any:
    """Return the JSON of a frame; None where there is none."""
    return line.frame if isinstance(line, FrameLine) and line.frame is not msgspec.UNSET else None


def _ref_ms(cassette: Cassette, ref: AudioRef) -> float:
    if ref.samples is None:
        return ref.length / G711_BYTES_PER_MS
    return ref.length / cassette.header.rates_hz.sent * 1000

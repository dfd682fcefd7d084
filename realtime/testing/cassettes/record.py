"""Records cassettes of our models, or of any program's frames.

    model = RecordingModel(OpenAIRealtimeModel(), "fixtures/cassettes/refund")

The recorder uses the two hooks of `realtime.model.wire`: its tap sees the frames, its dial sees links open and close.
Lines are written as they happen and speech is packed at the end, so a killed recording can still be read. Files are
written on the event loop's thread: this is a tool for tests, not for production.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, cast, runtime_checkable
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pybase64

from realtime.audio.files import write_flac
from realtime.errors import ProviderError, UsageError
from realtime.model.base import Address, Connection, Frame, History, OnEvent, Profile, RealtimeModel, Settings
from realtime.model.services import SERVICES
from realtime.model.wire import Dial, Link, Receiver, Tap, WireLimits
from realtime.options import checked
from realtime.runtime import Runtime, iso
from realtime.testing.cassettes.format import (
    FILE_NAME,
    VERSION,
    AudioRef,
    Direction,
    FrameLine,
    Header,
    Line,
    LinkLine,
    Rates,
    Scrubber,
    audio_places,
    decode_base64,
    dump,
    parsed,
)

OPTIONS = ("voice", "enable_input_audio_transcription", "transcription_model")
"""Constructor options of a model that shape its frames."""
_SECRET_NAMES = ("auth", "key", "token", "secret", "cookie")
_NO_STATUS, _LOST = 1005, 1006


@runtime_checkable
class TappedModel(Protocol):
    """A model with a tap for its frames."""

    tap: Tap | None


@runtime_checkable
class WireModel(TappedModel, Protocol):
    """A model over a socket with replaceable hooks."""

    dial: Dial


class CassetteRecorder:
    """Writes one cassette into `folder`. Give `tap` and `dial(...)` to a provider's model.

    It replaces an existing cassette when the recording is complete; until then the new one is beside it, in the folder
    `NAME.recording`.

    `now` is monotonic seconds. `secrets` are removed wherever they appear, and so are the keys in the environment and
    those that the dial sees. Raises OSError where the folder cannot be written.
    """

    def __init__(self, folder: str | Path, header: Header, *, now: Callable[[], float], secrets: Iterable[str] = ()):
        self.folder = Path(folder)
        self._now = now
        self._began_s = now()
        self._last_ms = 0
        self._leg = 0
        self._is_open = False
        self._dialled_ms = 0
        self._watch: _Watch | None = None
        self._scrubber = Scrubber((*secrets, *keys_of_environment()))
        self._header = header
        self._formats: dict[Direction, bool] = {"sent": True, "received": True}
        self._sound: dict[str, BinaryIO] = {}
        replaces = (self.folder / FILE_NAME).exists()
        self._unfinished = self.folder.with_name(f"{self.folder.name}.recording") if replaces else self.folder
        self._holds_frames = False
        self.kept_old = False
        """Whether the earlier cassette stays. Known once this is closed."""
        self._unfinished.mkdir(parents=True, exist_ok=True)
        _clear(self._unfinished)
        self._file: BinaryIO | None = open(self._unfinished / FILE_NAME, "wb", buffering=0)  # noqa: SIM115 - closed in close
        self._put(header)

    # The hooks of a model.

    def tap(self, direction: Direction, frame: Frame, ts_ms: int) -> None:
        """Record one frame (a `Tap`). Uses the recorder's clock, as for links, not `ts_ms`."""
        self.frame(direction, frame)

    def dial(self, below: Dial) -> Dial:
        """Wrap the `Dial` `below` to record when links open and close."""

        async def dial(address: Address, receiver: Receiver, limits: WireLimits) -> Link:
            self._scrubber.add(_secrets_of(address))
            self.dialling()
            watch = self._watch = _Watch(self, receiver)
            try:
                link = await below(address, watch, limits)
            except ProviderError as error:
                self.refused(error.code, error.message, retryable=error.retryable)
                raise
            self.opened()
            return _WatchedLink(link, watch)

        return dial

    # What happens, for recorders of another kind.

    def dialling(self) -> None:
        """Record that a link is being dialled."""
        self._is_open = False
        self._dialled_ms = self._at_ms()

    def opened(self) -> None:
        """Record that the link is open. Repeated calls, or a first frame, still mean one link."""
        if not self._is_open:
            self._is_open = True
            self._leg += 1
            self._put_link("open", took_ms=self._at_ms() - self._dialled_ms)

    def refused(self, code: str, reason: str, *, retryable: bool) -> None:
        """Record that the link was refused."""
        if self._is_open:
            self.closed("them", _LOST, "")  # it was open for a moment
            return
        self._leg += 1
        took_ms = self._at_ms() - self._dialled_ms
        self._put_link("refused", took_ms=took_ms, code=code, reason=reason, retryable=retryable)

    def closed(self, by: Literal["us", "them"], code: int, reason: str) -> None:
        """Record that the link is closed; `by` says which side closed it: `us` or `them`."""
        if self._is_open:
            self._is_open = False
            self._put_link("close", by=by, code=code, reason=reason)

    def frame(self, direction: Direction, frame: Frame) -> None:
        """Record one message: str as a text frame, bytes as a binary one."""
        if self._file is None:
            return
        self.opened()
        self._holds_frames = True
        line = FrameLine(at_ms=self._at_ms(), leg=self._leg, dir=direction, binary=isinstance(frame, bytes))
        body = parsed(frame)
        if body is None:
            self._put(self._as_it_came(line, frame))
            return
        self._note_format(body)
        for holder, key in audio_places(body):
            self._keep_audio(direction, holder, key)
        self._put(msgspec.structs.replace(line, frame=self._scrubber.clean(body)))

    def close(self, *, failed: bool = False) -> None:
        """Pack the speech, close the files and move them into place. Idempotent; later frames are ignored.

        Where the session `failed`, or no frame has passed, an earlier cassette stays.
        """
        self.pack()
        if self._unfinished != self.folder and self._unfinished.exists():
            self.kept_old = failed or not self._holds_frames
            _clear(self._unfinished if self.kept_old else self.folder)
            for path in [*self._unfinished.iterdir()]:
                path.replace(self.folder / path.name)
            self._unfinished.rmdir()

    def pack(self) -> None:
        """Pack the speech and close the files. Idempotent; later frames are ignored.

        They stay beside an earlier cassette until `close` is called.
        """
        if self._file is None:
            return
        self._file.close()
        self._file = None
        for name, file in self._sound.items():
            file.close()
            if name.endswith(".flac"):
                unfinished = self._stream_path(name)
                rate_hz = self._header.rates_hz.of("sent" if name == "sent.flac" else "received")
                write_flac(self._unfinished / name, unfinished.read_bytes(), rate_hz)
                unfinished.unlink()

    def _at_ms(self) -> int:
        self._last_ms = max(self._last_ms, int((self._now() - self._began_s) * 1000))
        return self._last_ms

    def _put_link(self, link: Literal["open", "refused", "close"], *, reason: str = "", **more: Any) -> None:
        self._put(LinkLine(at_ms=self._at_ms(), leg=self._leg, link=link, reason=self._scrubber.text(reason), **more))

    def _put(self, line: Line | Header) -> None:
        if self._file is not None:
            self._file.write(dump(msgspec.to_builtins(line)).encode() + b"\n")

    def _as_it_came(self, line: FrameLine, frame: Frame) -> FrameLine:
        try:
            text = frame if isinstance(frame, str) else frame.decode()
        except UnicodeDecodeError:
            return msgspec.structs.replace(line, base64=pybase64.b64encode_as_string(cast(bytes, frame)))
        return msgspec.structs.replace(line, text=self._scrubber.text(text))

    def _keep_audio(self, direction: Direction, holder: dict[str, Any], key: str) -> None:
        data = decode_base64(holder[key])
        if data is None:
            return
        name = f"{direction}.{'flac' if self._is_pcm16(direction, holder, data) else 'raw'}"
        width = 2 if name.endswith("flac") else 1
        if name not in self._sound:
            self._sound[name] = open(self._stream_path(name), "wb", buffering=0)  # noqa: SIM115 - closed in close
        file = self._sound[name]
        ref = AudioRef(audio=name, start=file.tell() // width)
        file.write(data)
        length = len(data) // width
        ref = msgspec.structs.replace(ref, samples=length) if width == 2 else msgspec.structs.replace(ref, size=length)
        holder[key] = msgspec.to_builtins(ref)

    def _is_pcm16(self, direction: Direction, holder: dict[str, Any], data: bytes) -> bool:
        mime = holder.get("mimeType") or holder.get("mime_type")
        if isinstance(mime, str):
            _, _, rate = mime.partition("rate=")
            is_pcm = mime.startswith("audio/pcm") and rate in ("", str(self._header.rates_hz.of(direction)))
        else:
            is_pcm = self._formats[direction]
        return is_pcm and len(data) % 2 == 0

    def _note_format(self, body: Any) -> None:
        """Note the audio formats on which both sides agree in session frames."""
        session = body.get("session") if isinstance(body, dict) else None
        if not isinstance(session, dict):
            return
        nested = session.get("audio")
        for direction, side in (("sent", "input"), ("received", "output")):
            flat = session.get(f"{side}_audio_format")
            half = nested.get(side) if isinstance(nested, dict) else None
            shape = half.get("format") if isinstance(half, dict) else None
            name = flat or (shape.get("type") if isinstance(shape, dict) else None)
            if isinstance(name, str):
                self._formats[cast(Direction, direction)] = not any(law in name for law in ("g711", "pcmu", "pcma"))

    def _stream_path(self, name: str) -> Path:
        path = self._unfinished / name
        return path.with_suffix(".pcm") if name.endswith(".flac") else path


class _Watch:
    """The receiver of a recorded link."""

    def __init__(self, recorder: CassetteRecorder, below: Receiver) -> None:
        self._recorder = recorder
        self._below = below
        self.received = below.received
        self.writable = below.writable
        self.left = False

    def lost(self, code: int, reason: str) -> None:
        if self._recorder._watch is self:
            self._recorder.closed("us" if self.left else "them", code, reason)
        self._below.lost(code, reason)


class _WatchedLink:
    """A link that notes when our side closes it."""

    def __init__(self, below: Link, watch: _Watch) -> None:
        self._below = below
        self._watch = watch
        self.write = below.write
        self.pause_reading = below.pause_reading
        self.resume_reading = below.resume_reading

    @property
    def can_write(self) -> bool:
        return self._below.can_write

    @property
    def is_open(self) -> bool:
        return self._below.is_open

    async def close(self) -> None:
        self._watch.left = True
        await self._below.close()

    def abort(self) -> None:
        self._watch.left = True
        self._below.abort()


class RecordingModel(RealtimeModel):
    """Records the sessions of a provider's model: the first in `folder`, the next in `folder-2`, and so on.

    `numbers` is shared by the models of one call that has several. `tap` sees the frames, as that of any model does.
    Raises UsageError for a model without a socket (the embedded and the scripted one need no cassette), and for a
    provider that is not in `SERVICES`.
    """

    @checked()
    def __init__(
        self,
        below: RealtimeModel,
        folder: str | Path,
        *,
        secrets: Iterable[str] = (),
        numbers: Iterator[int] | None = None,
    ) -> None:
        if not isinstance(below, WireModel):
            raise UsageError(f"{below!r} has no socket: there is nothing to record", code="not_recordable")
        if below.profile.provider not in SERVICES:
            cause = f"no service is called {below.profile.provider!r}: its cassette could not be replayed"
            problem = f"{cause}; add it to SERVICES in realtime/model/services.py"
            raise UsageError(problem, code="not_recordable")
        self._below = below
        self._folder = Path(folder)
        self.secrets = tuple(secrets)
        self.tap: Tap | None = None
        self.voice = below.voice
        self.websocket_url = below.websocket_url
        # A copy of this model that another tap uses shares these.
        self._numbers = itertools.count(1) if numbers is None else numbers
        self._held: list[CassetteRecorder] = []
        self._holds = False

    def __repr__(self) -> str:
        return f"RecordingModel({self._below!r})"

    @property
    def profile(self) -> Profile:
        """See `RealtimeModel.profile`."""
        return self._below.profile

    @property
    def websocket_headers(self) -> dict[str, str]:
        """See `RealtimeModel.websocket_headers`."""
        return self._below.websocket_headers

    def hold(self) -> None:
        """Delay moving sessions into place until `settle`: a call's success is known only at its end."""
        self._holds = True

    def settle(self, *, failed: bool) -> list[str]:
        """Move held sessions into place, or delete them if the call `failed`.

        Returns the folders that a failed call has left, each as a sentence.
        """
        left = []
        for recorder in self._held:
            recorder.close(failed=failed)
            if recorder.kept_old:
                left.append(f"the cassette in {recorder.folder} is kept as it was, this recording is not")
            elif failed:
                left.append(f"there was no cassette in {recorder.folder}: what was recorded until then is there")
        self._held.clear()
        self._holds = False
        return left if failed else []

    async def connect(self, *, settings: Settings, on_event: OnEvent, history: History, runtime: Runtime) -> Connection:
        """See `RealtimeModel.connect`. Closing the connection completes the cassette and, unless held, moves it into
        place."""
        number = next(self._numbers)
        folder = self._folder if number == 1 else self._folder.with_name(f"{self._folder.name}-{number}")
        header = header_of(self.profile, _options_of(self._below), recorded_at=iso(runtime.wall_now()))
        recorder = CassetteRecorder(folder, header, now=runtime.now, secrets=self.secrets)
        if self._holds:
            self._held.append(recorder)
        model = cast(Any, copy.copy(self._below))
        model.dial = recorder.dial(model.dial)
        model.tap = both(both(recorder.tap, self.tap), model.tap)
        model.websocket_url = self.websocket_url
        try:
            connection = await model.connect(settings=settings, on_event=on_event, history=history, runtime=runtime)
        except BaseException:
            recorder.close(failed=True)
            raise
        return _RecordedConnection(connection, recorder.pack if self._holds else recorder.close)


class _RecordedConnection:
    """A connection whose recording ends with it."""

    def __init__(self, below: Connection, end: Callable[[], None]) -> None:
        self._below = below
        self._end = end
        self.send = below.send

    @property
    def profile(self) -> Profile:
        """See `Connection.profile`."""
        return self._below.profile

    async def close(self) -> None:
        """See `Connection.close`."""
        try:
            await self._below.close()
        finally:
            self._end()


def header_of(profile: Profile, options: Mapping[str, Any] | None = None, *, recorded_at: str | None = None) -> Header:
    """Return a cassette header for a model of this profile and options."""
    return Header(
        version=VERSION,
        provider=profile.provider,
        model=profile.model,
        rates_hz=Rates(sent=profile.input_rate_hz, received=profile.output_rate_hz),
        options=dict(options or {}),
        recorded_at=recorded_at,
    )


def _options_of(model: RealtimeModel) -> dict[str, Any]:
    """Return those of `OPTIONS` that the model's constructor takes."""
    taken = inspect.signature(type(model)).parameters
    return {name: getattr(model, name) for name in OPTIONS if name in taken and hasattr(model, name)}


def _clear(folder: Path) -> None:
    """Remove the files of a cassette."""
    for name in (
        FILE_NAME,
        *(f"{side}.{ending}" for side in ("sent", "received") for ending in ("flac", "pcm", "raw")),
    ):
        (folder / name).unlink(missing_ok=True)


def both(first: Tap, second: Tap | None) -> Tap:
    """Return a tap for both, or the first without a second."""
    if second is None:
        return first

    def tap(direction: Direction, frame: Frame, ts_ms: int) -> None:
        first(direction, frame, ts_ms)
        second(direction, frame, ts_ms)

    return tap


def _secrets_of(address: Address) -> list[str]:
    """Return the keys in a handshake's headers and query."""
    pairs = (*address.headers, *parse_qsl(urlsplit(address.url).query))
    values = [value for name, value in pairs if any(part in name.lower() for part in _SECRET_NAMES)]
    return [value.removeprefix("Bearer ").strip() for value in values]


def keys_of_environment() -> list[str]:
    """Return the provider keys set in the environment."""
    return [os.environ[name] for service in SERVICES.values() for name in service.key_variables if name in os.environ]

"""The cassette format: one recorded provider session, both directions, in a diff-friendly folder.

`cassette.jsonl` begins with a header (`Header`), then holds one line per frame and per event of the link:

    {"at_ms": 3, "leg": 1, "link": "open", "took_ms": 3}
    {"at_ms": 4, "leg": 1, "dir": "sent", "frame": {"type": "session.update", ...}}
    {"at_ms": 950, "leg": 1, "dir": "received", "frame": {"type": "response.output_audio.delta", ...
        "delta": {"audio": "received.flac", "from": 0, "samples": 9600}}}
    {"at_ms": 2000, "leg": 1, "link": "close", "by": "us", "code": 1000}

A leg is one connection; a session that was dialled again has several. Speech is in separate files: `sent.flac` and
`received.flac` are one stream of pcm16 each, other audio (g711, another rate) is kept unchanged in `sent.raw` and
`received.raw`. Frames from binary messages say `"binary": true`; what is not JSON is kept as `text` or as
`base64`. Cassettes contain no secrets, see `Scrubber`; headers and addresses are not recorded at all.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
import pybase64
import soundfile

from realtime.testing.errors import CaseError
from realtime.texts import as_utf8

VERSION = 1
FILE_NAME = "cassette.jsonl"
RECORD_AGAIN = "Record the session again (`realtime record`, or `pytest --voice-record` for a test)"
G711_BYTES_PER_MS = 8
MAX_DEPTH = 100
"""Maximum nesting of frames."""
_CLOSE_CODES = (1000, 4999)

T = TypeVar("T")
Direction = Literal["sent", "received"]


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rates of the two streams of speech, in Hz."""

    sent: int
    received: int

    def of(self, direction: Direction) -> int:
        """Return the rate of one direction."""
        return self.sent if direction == "sent" else self.received


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first line. `options` are model constructor options that shape its frames, such as the voice."""

    version: int
    provider: str
    model: str
    rates_hz: Rates
    options: dict[str, Any] = {}
    recorded_at: str | None = None


class FrameLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One message on the wire, `at_ms` after the recording began. Has exactly one of `frame`, `text`, `base64`."""

    at_ms: int
    leg: int
    dir: Direction
    frame: Any = msgspec.UNSET
    text: str | None = None
    base64: str | None = None
    binary: bool = False


class LinkLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A link was opened, refused or closed.

    `took_ms` is the time of dialling, `code` a close code or the code of the refusal; `by` says who closed.
    """

    at_ms: int
    leg: int
    link: Literal["open", "refused", "close"]
    took_ms: int = 0
    by: Literal["us", "them"] | None = None
    code: int | str = ""
    reason: str = ""
    retryable: bool = False


Line = FrameLine | LinkLine


class AudioRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The place of a frame's speech: `samples` of pcm16 in a FLAC file, or `size` bytes of a raw one."""

    audio: str
    start: int = msgspec.field(name="from")
    samples: int | None = None
    size: int | None = msgspec.field(name="bytes", default=None)

    @property
    def width(self) -> int:
        """Bytes of one unit of length."""
        return 1 if self.samples is None else 2

    @property
    def length(self) -> int:
        """Length in samples, or in bytes of a raw file."""
        return self.samples if self.samples is not None else self.size or 0


@dataclass(frozen=True, slots=True)
class Cassette:
    """A cassette in memory. `lines` are those after the header."""

    file: Path
    header: Header
    lines: tuple[Line, ...]
    sound: dict[str, bytes]
    """Speech by file name: pcm16, or raw bytes."""

    def legs(self) -> list[list[int]]:
        """The indices of the lines of each leg, in order."""
        found: list[list[int]] = []
        for index, line in enumerate(self.lines):
            if line.leg > len(found):
                found.append([])
            found[line.leg - 1].append(index)
        return found

    def audio(self, ref: AudioRef) -> bytes:
        """Return the speech that a frame carried."""
        return self.sound[ref.audio][ref.start * ref.width : (ref.start + ref.length) * ref.width]

    def full_frame(self, frame: Any) -> Any:
        """Return a copy of the frame with its speech as base64."""
        whole = copy.deepcopy(frame)
        for holder, key in audio_places(whole):
            ref = ref_of(holder[key])
            if ref is not None:
                holder[key] = pybase64.b64encode_as_string(self.audio(ref))
        return whole

    def message(self, line: FrameLine, frame: Any = msgspec.UNSET) -> tuple[bytes, bool]:
        """Return the message as on the socket, and whether it is text. `frame` replaces that of the line."""
        if line.base64 is not None:
            return pybase64.b64decode(line.base64), False
        if line.text is not None:
            return line.text.encode(), not line.binary
        whole = self.full_frame(line.frame if frame is msgspec.UNSET else frame)
        try:
            return msgspec.json.encode(whole), not line.binary
        except UnicodeEncodeError:
            return dump(whole).encode(), not line.binary  # half a surrogate pair: it was escaped


def read_cassette(path: str | Path) -> Cassette:
    """Read the cassette in a folder (or the `cassette.jsonl` itself).

    Raises CaseError, naming file and line, for one that is missing, empty, of another version, cut short or edited so
    that it is inconsistent.
    """
    file = Path(path)
    file = file / FILE_NAME if file.is_dir() or file.suffix != ".jsonl" else file
    try:
        rows = as_utf8(file.read_bytes()).split(b"\n")
    except OSError as error:
        raise CaseError(file, f"cannot be read ({error.strerror})", RECORD_AGAIN) from None
    except ValueError:
        raise CaseError(file, "it is no text", RECORD_AGAIN) from None
    if rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise CaseError(file, "the cassette is empty", RECORD_AGAIN)
    header = _read_header(file, rows[0])
    lines = tuple(_read_line(file, number, row) for number, row in enumerate(rows[1:], 2))
    if not any(isinstance(line, FrameLine) for line in lines):
        raise CaseError(file, "the cassette holds no frame", RECORD_AGAIN)
    _check_order(file, lines)
    return Cassette(file, header, lines, _read_sound(file, header, lines))


def _read_header(file: Path, row: bytes) -> Header:
    head = _json(file, 1, row)
    version = head.get("version") if isinstance(head, dict) else None
    if version != VERSION:
        said = "has no version" if version is None else f"is of version {version!r}"
        raise CaseError(file, f"the cassette {said}; this release reads {VERSION}", RECORD_AGAIN, place="line 1")
    header = _convert(file, 1, head, Header)
    if min(header.rates_hz.sent, header.rates_hz.received) < 1:
        raise _broken(file, 1, "a rate is 1 Hz or more")
    return header


def _read_line(file: Path, number: int, row: bytes) -> Line:
    raw = _json(file, number, row)
    if isinstance(raw, dict) and "link" in raw:
        link = _convert(file, number, raw, LinkLine)
        _check_link(file, number, link)
        return link
    line = _convert(file, number, raw, FrameLine)
    given = [line.frame is not msgspec.UNSET, line.text is not None, line.base64 is not None]
    if sum(given) != 1:
        raise _broken(file, number, "a line holds one of `frame`, `text` and `base64`")
    if line.base64 is not None and decode_base64(line.base64) is None:
        raise _broken(file, number, "`base64` holds no base64")
    return line


def _check_link(file: Path, number: int, line: LinkLine) -> None:
    if line.took_ms < 0:
        raise _broken(file, number, "took_ms is less than 0")
    if line.link == "close":
        if not (isinstance(line.code, int) and _CLOSE_CODES[0] <= line.code <= _CLOSE_CODES[1]):
            raise _broken(file, number, "the code of a close is a number from {} to {}".format(*_CLOSE_CODES))
        if line.by is None:
            raise _broken(file, number, "`by` says who closed")


def _json(file: Path, number: int, row: bytes) -> Any:
    try:
        raw = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise _broken(file, number, f"this is not JSON ({error})") from None
    if is_deep(raw):
        raise _broken(file, number, f"this is nested deeper than {MAX_DEPTH} levels")
    return raw


def _convert(file: Path, number: int, raw: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _broken(file, number, str(error)) from None


def _broken(file: Path, number: int, problem: str) -> CaseError:
    return CaseError(file, problem, f"Undo the edit of this line, or {RECORD_AGAIN.lower()}", place=f"line {number}")


def _check_order(file: Path, lines: Iterable[Line]) -> None:
    """Check that time rises and each leg begins with its link."""
    at_ms, leg, is_open = 0, 0, False
    for number, line in enumerate(lines, 2):
        if line.at_ms < at_ms:
            raise _broken(file, number, f"at_ms goes back from {at_ms} to {line.at_ms}")
        begins = isinstance(line, LinkLine) and line.link != "close"
        if line.leg != leg + begins:
            raise _broken(file, number, f"leg {line.leg} cannot stand here, where leg {leg} is the last one begun")
        if not begins and not is_open:
            raise _broken(file, number, "the link of this leg is not open")
        at_ms, leg = line.at_ms, line.leg
        if isinstance(line, LinkLine):
            is_open = line.link == "open"


def _read_sound(file: Path, header: Header, lines: Iterable[Line]) -> dict[str, bytes]:
    sound: dict[str, bytes] = {}
    for number, line in enumerate(lines, 2):
        for ref in audio_refs(line):
            if ref.audio not in sound:
                sound[ref.audio] = _read_stream(file, number, ref.audio, header)
            if ref.start < 0 or ref.length < 0 or (ref.start + ref.length) * ref.width > len(sound[ref.audio]):
                raise _broken(file, number, f"{ref.audio} ends before {ref.start} + {ref.length}")
    return sound


def _read_stream(file: Path, number: int, name: str, header: Header) -> bytes:
    if name not in {"sent.flac", "received.flac", "sent.raw", "received.raw"}:
        raise _broken(file, number, f"{name!r} is no file of a cassette")
    path = file.with_name(name)
    unfinished = path.with_suffix(".pcm")
    try:
        if path.suffix == ".raw":
            return path.read_bytes()
        if not path.exists() and unfinished.exists():
            return unfinished.read_bytes()  # the recorder was killed before it could pack it
        samples, rate_hz = soundfile.read(path, dtype="int16", always_2d=True)
    except (OSError, soundfile.LibsndfileError):
        raise CaseError(path, "the speech of the cassette is missing or damaged", RECORD_AGAIN) from None
    wanted_hz = header.rates_hz.of("sent" if path.stem == "sent" else "received")
    if rate_hz != wanted_hz or samples.shape[1] != 1:
        found = f"{samples.shape[1]} x {rate_hz} Hz"
        remedy = f"Put the original back: the header says 1 x {wanted_hz} Hz"
        raise CaseError(path, f"the speech of the cassette is {found}", remedy)
    return bytes(np.ascontiguousarray(samples[:, 0]).astype("<i2").tobytes())


# Frames.


def dump(node: Any) -> str:
    """Return compact JSON with the keys in order. Escapes what UTF-8 cannot hold."""
    text = json.dumps(node, ensure_ascii=False, separators=(",", ":"))
    return text if text.isprintable() else json.dumps(node, separators=(",", ":"))


def kind_of(frame: Any) -> str:
    """Return a frame's kind: its `type`, or for Gemini its key (for `realtimeInput` with its content)."""
    if not isinstance(frame, dict):
        return "no object"
    kind = frame.get("type")
    if isinstance(kind, str):
        return kind
    names = []
    for key, value in frame.items():
        name = _camel(key)
        if name == "realtimeInput" and isinstance(value, dict):
            name += "." + "+".join(_camel(part) for part in value)
        names.append(name)
    return "+".join(names)


_ONLY_AUDIO = {"input_audio_buffer.append", "realtimeInput.audio", "realtimeInput.mediaChunks"}


def is_speech(frame: Any) -> bool:
    """Whether the frame carries microphone audio and nothing else."""
    return kind_of(frame) in _ONLY_AUDIO and bool(audio_places(frame))


def audio_places(frame: Any) -> list[tuple[dict[str, Any], str]]:
    """Return a frame's places of speech, as containing object and key. For all providers."""
    if isinstance(frame, dict):
        kind = frame.get("type")
        if kind == "input_audio_buffer.append" and "audio" in frame:
            return [(frame, "audio")]
        if kind in ("response.output_audio.delta", "response.audio.delta") and "delta" in frame:
            return [(frame, "delta")]
    return [*_audio_inside(frame)]


def _audio_inside(node: Any) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(node, dict):
        mime = node.get("mimeType") or node.get("mime_type")
        if isinstance(mime, str) and mime.startswith("audio/") and "data" in node:
            yield node, "data"
        elif node.get("type") in ("input_audio", "output_audio", "audio") and "audio" in node:
            yield node, "audio"
        else:
            for value in node.values():
                yield from _audio_inside(value)
    elif isinstance(node, list):
        for value in node:
            yield from _audio_inside(value)


def ref_of(node: Any) -> AudioRef | None:
    """Return the reference in place of speech, if it is one."""
    if not isinstance(node, dict) or "audio" not in node or "from" not in node:
        return None
    try:
        return msgspec.convert(node, AudioRef)
    except msgspec.ValidationError:
        return None


def audio_refs(line: Line) -> Iterator[AudioRef]:
    """Yield all speech references of a line."""
    if isinstance(line, FrameLine) and line.frame is not msgspec.UNSET:
        for holder, key in audio_places(line.frame):
            ref = ref_of(holder[key])
            if ref is not None:
                yield ref


def decode_base64(text: Any) -> bytes | None:
    """Return the bytes if they encode to exactly this text, else None."""
    if not isinstance(text, str):
        return None
    try:
        data = pybase64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if pybase64.b64encode_as_string(data) == text else None


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def parsed(text: str | bytes) -> Any:
    """Return the JSON value; None for other text and for deeper nesting than `MAX_DEPTH`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if is_deep(value) else value


def is_deep(node: Any) -> bool:
    """Whether JSON is nested deeper than `MAX_DEPTH`, as no provider's frame is."""
    level, depth = [node], 0
    while level and depth <= MAX_DEPTH:
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level, depth = [value for values in inner for value in values], depth + 1
    return bool(level)


# Secrets.

_SECRET_ENDINGS = (
    *("token", "secret", "secrets", "password", "passwords", "passwd", "authorization", "cookie"),
    *("credential", "credentials", "apikey", "apikeys", "accesskey", "privatekey", "secretkey", "ephemeralkey"),
)
"""Endings of names that mean a secret: letters only, in lower case."""
_SECRET_QUERIES = ("key", "sig", "signature", "auth")
"""URL query names that mean a secret, compared as a whole."""
_HANDLE_KEYS = {"handle", "newhandle"}
_KEY_SHAPES = re.compile(
    r"(?<![A-Za-z0-9+/])(?:(?:sk|ek|rk|pk)[-_][A-Za-z0-9_-]{12,}|AIza[A-Za-z0-9_-]{30,}|auth_tokens/[A-Za-z0-9_-]+"
    r"|eyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})|(?<=Bearer )[^\s\"<]+"
)
_QUERY = re.compile(r"([?&;])([A-Za-z0-9_.-]+)=([^&;#\s\"'<>]+)")
_USER_INFO = re.compile(r"(://[^/\s:@<>\"]*:)[^/\s@<>\"]+@")
_PLACEHOLDER = re.compile(r"<(?:handle \d+|scrubbed)>")
SCRUBBED = "<scrubbed>"
_SHORTEST_SECRET = 6


class Scrubber:
    """Removes secrets from frames.

    It removes the values of names that mean a secret (`crm_token`, `X-Api-Key`), in JSON, in JSON inside of texts and
    in the queries of URLs; the given secrets; and text that looks like a key.

    Resumption handles become `<handle 1>`, `<handle 2>`: a replay can still distinguish them. Everything else becomes
    `<scrubbed>`. Scrubbed text stays unchanged. A secret that comes in pieces, such as the arguments of a tool while
    they are being written, is recognised only if it is one of those given and in one piece.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: list[str] = []
        self._handles: dict[str, str] = {}
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Remove these too. Anything shorter than 6 characters is no secret, and may be a word."""
        known = {secret for secret in (*self._secrets, *secrets) if len(secret) >= _SHORTEST_SECRET}
        self._secrets = sorted(known, key=lambda secret: (-len(secret), secret))

    def clean(self, node: Any) -> Any:
        """Return a copy of a JSON value without secrets."""
        if isinstance(node, dict):
            return {self.text(key): self._value(key, value, node) for key, value in node.items()}
        if isinstance(node, list):
            return [self.clean(value) for value in node]
        return self.text(node) if isinstance(node, str) else node

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, SCRUBBED)
        text = _USER_INFO.sub(rf"\1{SCRUBBED}@", _QUERY.sub(_query_without_secret, text))
        return self._inner_json(_KEY_SHAPES.sub(SCRUBBED, text))

    def _inner_json(self, text: str) -> str:
        if not text.lstrip().startswith(("{", "[")):
            return text
        found = parsed(text)
        if found is None:
            return text
        before, after = dump(found), dump(self.clean(found))
        return text if after == before else after

    def _value(self, key: str, value: Any, holder: dict[str, Any]) -> Any:
        name = _letters(key)
        if name in _HANDLE_KEYS and isinstance(value, str) and value and not _PLACEHOLDER.fullmatch(value):
            return self._handles.setdefault(value, f"<handle {len(self._handles) + 1}>")
        if name.endswith(_SECRET_ENDINGS) and "logprob" not in holder:
            return self._hidden(value)
        return self.clean(value)

    def _hidden(self, value: Any) -> Any:
        """Return the replacement of a secret. An object describes the secret, and may hold it as its `value`."""
        if isinstance(value, str):
            return value if not value or _PLACEHOLDER.fullmatch(value) else SCRUBBED
        if isinstance(value, list):
            return [self._hidden(one) for one in value]
        if isinstance(value, dict) and isinstance(value.get("value"), str):
            return self.clean(value | {"value": SCRUBBED})
        return self.clean(value)


def _query_without_secret(found: re.Match[str]) -> str:
    name = _letters(found[2])
    hidden = name.endswith(_SECRET_ENDINGS) or name in _SECRET_QUERIES
    return f"{found[1]}{found[2]}={SCRUBBED}" if hidden else found[0]


def _letters(name: str) -> str:
    return re.sub("[^a-z]", "", name.lower())

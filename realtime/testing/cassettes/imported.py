"""Imports recordings of other programs as cassettes: JSON lines, or pydantic-ai's YAML.

    import_cassette("session.jsonl", "fixtures/cassettes/session")

A line of JSON is a frame as on the wire, whose direction follows from its kind, or an object with `direction` (`sent`
by the client or `received`), the frame in `data`, `frame`, `event` or `message`, and optionally its time in `at_ms`,
`ts_ms` or `timestamp` (seconds, or an ISO date). In YAML, `interactions` is a list of such objects. Frames without a
time are placed 20 ms apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from realtime.model.services import SERVICES
from realtime.testing.cassettes.format import FILE_NAME, Direction, dump, kind_of
from realtime.testing.cassettes.record import CassetteRecorder, header_of
from realtime.testing.errors import CaseError
from realtime.texts import as_utf8

APART_MS = 20.0
_FORMS = "Give one frame per line, or `direction` and `data` on each, or YAML with `interactions`."
_FRAME_KEYS = ("data", "frame", "event", "message")
_DIRECTION_KEYS = ("direction", "dir")
_DIRECTIONS: dict[Any, Direction] = {
    **dict.fromkeys(("sent", "send", "out", "outgoing", "client", "request"), "sent"),
    **dict.fromkeys(("received", "receive", "recv", "in", "incoming", "server", "response"), "received"),
}
_SENT_BY_OPENAI = (
    *("session.update", "transcription_session.update", "session.finish", "input_audio_buffer.append"),
    *(
        "input_audio_buffer.commit",
        "input_audio_buffer.clear",
        "input_image_buffer.append",
        "output_audio_buffer.clear",
    ),
    *("conversation.item.create", "conversation.item.delete", "conversation.item.truncate"),
    *("conversation.item.retrieve", "response.create", "response.cancel"),
)
_SENT_BY_GEMINI = ("setup", "clientContent", "realtimeInput", "toolResponse")


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported recording: its cassette's folder, its number of frames, and the user's typed texts."""

    folder: Path
    frames: int
    typed: tuple[str, ...]


def import_cassette(
    source: str | Path, folder: str | Path, *, provider: str | None = None, model: str | None = None
) -> Imported:
    """Write the recording `source` as a cassette into the new `folder`.

    `provider` and `model` default to those found in the frames. Raises CaseError, naming file and place, for a
    recording that cannot be read, and for a folder that already holds a cassette.
    """
    source, folder = Path(source), Path(folder)
    if (folder / FILE_NAME).exists():
        raise CaseError(folder, "there is a cassette already", "Name a new folder.")
    frames = [*_read(source)]
    if not frames:
        raise CaseError(source, "there is no frame in it", _FORMS)
    provider = provider or _provider(frames)
    model = model or _model(frames)
    if not model:
        raise CaseError(source, "no frame names the model", "Name it: --model gpt-realtime.")
    at_ms = 0.0
    recorder = CassetteRecorder(folder, header_of(SERVICES[provider].open(model).profile), now=lambda: at_ms / 1000)
    recorder.dialling()
    recorder.opened()
    for frame in frames:
        at_ms = frame.at_ms
        recorder.frame(frame.direction, dump(frame.body))
    recorder.closed("us", 1000, "")
    recorder.close()
    return Imported(folder, len(frames), tuple(_typed(frames)))


@dataclass(frozen=True, slots=True)
class _Frame:
    direction: Direction
    body: Any
    at_ms: float


def _read(source: Path) -> Iterator[_Frame]:
    """Yield the frames in order, their times from 0 and never falling."""
    began_ms: float | None = None
    at_ms = -APART_MS
    for place, entry in _entries(source):
        found = _frame(source, place, entry)
        if found is None:
            continue
        direction, body, told_ms = found
        if told_ms is None:
            at_ms += APART_MS
        else:
            began_ms = told_ms if began_ms is None else began_ms
            at_ms = max(at_ms, 0.0, told_ms - began_ms)
        yield _Frame(direction, body, at_ms)


def _entries(source: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = as_utf8(source.read_bytes()).decode()
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or "it is no text"
        raise CaseError(source, f"cannot be read ({told})", _FORMS) from None
    if source.suffix.lower() in (".yaml", ".yml"):
        yield from _yaml_entries(source, text)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                raise CaseError(source, f"this is not JSON ({error})", _FORMS, place=f"line {number}") from None


def _yaml_entries(source: Path, text: str) -> Iterator[tuple[str, Any]]:
    try:
        import yaml
    except ImportError:
        remedy = "Run `pip install pyyaml`, or give the frames as lines of JSON."
        raise CaseError(source, "reading YAML needs the package pyyaml", remedy) from None
    try:
        whole = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CaseError(source, f"this is not YAML ({' '.join(str(error).split())})", _FORMS) from None
    except RecursionError:
        raise CaseError(source, "this is nested too deeply", _FORMS) from None
    interactions = whole.get("interactions") if isinstance(whole, dict) else None
    if not isinstance(interactions, list):
        raise CaseError(source, "there are no `interactions` in it", _FORMS)
    for number, entry in enumerate(interactions, 1):
        yield f"interaction {number}", entry


def _frame(source: Path, place: str, entry: Any) -> tuple[Direction, Any, float | None] | None:
    """Return direction, frame and time of an entry; None for another entry, such as the session's end."""
    if not isinstance(entry, dict):
        raise CaseError(source, "this is no object", _FORMS, place=place)
    told = next((entry[key] for key in _DIRECTION_KEYS if key in entry), None)
    if told is None:
        direction = _direction_of(entry)
        if direction is None:
            raise CaseError(source, "it does not say who sent it", _FORMS, place=place)
        return direction, entry, None
    if not isinstance(told, str) or told not in _DIRECTIONS:
        raise CaseError(source, f"there is no direction {told!r}", "Use `sent` or `received`.", place=place)
    body = next((entry[key] for key in _FRAME_KEYS if key in entry), None)
    try:
        # YAML has more than JSON: dates, sets, and structures that contain themselves.
        body = json.loads(body if isinstance(body, str) else json.dumps(body))
    except (TypeError, ValueError, RecursionError):
        raise CaseError(source, "its frame is not JSON", _FORMS, place=place) from None
    if body is None and entry.get("kind", "message") != "message":
        return None
    if not isinstance(body, dict):
        raise CaseError(source, "there is no frame in it", _FORMS, place=place)
    return _DIRECTIONS[told], body, _time_ms(source, place, entry)


def _direction_of(frame: dict[str, Any]) -> Direction | None:
    kind = kind_of(frame)
    if isinstance(frame.get("type"), str):
        return "sent" if kind in _SENT_BY_OPENAI else "received"
    if any(kind.partition(".")[0] == name for name in _SENT_BY_GEMINI):
        return "sent"
    return "received" if frame else None


def _time_ms(source: Path, place: str, entry: dict[str, Any]) -> float | None:
    for key, factor in (("at_ms", 1.0), ("ts_ms", 1.0), ("timestamp", 1000.0)):
        value = entry.get(key)
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).timestamp() * 1000
            except ValueError:
                raise CaseError(source, f"{key} is no time", "Use a number or an ISO date.", place=place) from None
        if isinstance(value, datetime):
            return value.timestamp() * 1000
        if isinstance(value, int | float):
            if not math.isfinite(value):
                raise CaseError(source, f"{key} is no time", "Use a number or an ISO date.", place=place)
            return value * factor
    return None


def _provider(frames: list[_Frame]) -> str:
    return "openai" if any(isinstance(frame.body.get("type"), str) for frame in frames) else "gemini"


def _model(frames: list[_Frame]) -> str:
    for frame in frames:
        for key in ("setup", "session"):
            about = frame.body.get(key)
            if isinstance(about, dict) and isinstance(about.get("model"), str):
                return cast(str, about["model"]).removeprefix("models/")
    return ""


def _typed(frames: list[_Frame]) -> Iterator[str]:
    """Yield the user's texts that requested a response: a test types them again."""
    last = ""
    for frame in frames:
        if frame.direction == "received":
            continue
        match frame.body:
            case {"type": "conversation.item.create", "item": {"role": "user", "content": [*parts]}}:
                last = _text(parts) or last
            case {"type": "response.create"} if last:
                yield last
                last = ""
            case {"client_content": {"turns": [*_, {"parts": [*parts]}], "turnComplete": True}} | {
                "clientContent": {"turns": [*_, {"parts": [*parts]}], "turnComplete": True}
            } if text := _text(parts):
                yield text
            case {"realtimeInput": {"text": str(text)}} | {"realtime_input": {"text": str(text)}}:
                yield text


def _text(parts: list[Any]) -> str:
    return " ".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))

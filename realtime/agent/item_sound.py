"""Audio in items: as long as a turn at most, and at the rate of the model."""

from __future__ import annotations

import msgspec

from realtime.audio.pcm import ms_of
from realtime.audio.resample import Resampler
from realtime.errors import ClientError
from realtime.event.base import DEFAULT_INPUT_RATE_HZ, AudioFormat, ContentPart, Item

MAX_MS = 15_000
"""Longer speech goes through the input audio, in pieces. Resampling this much takes some 10 ms, in which no other call
is served."""


def at_rate(item: Item, rate_hz: int) -> Item:
    """Return the item with its audio at this rate. Raises ClientError for audio that cannot be taken."""
    if not any(part.audio for part in item.content):
        return item
    if item.role != "user":
        raise ClientError("only items of the user bring sound", code="invalid_item")
    return msgspec.structs.replace(item, content=tuple(_at_rate(part, rate_hz) for part in item.content))


def _at_rate(part: ContentPart, rate_hz: int) -> ContentPart:
    if not part.audio:
        return part
    try:
        given_hz = (part.format or AudioFormat()).rate_hz(DEFAULT_INPUT_RATE_HZ)
    except ValueError as error:
        raise ClientError(str(error), code="unsupported_audio_format") from error
    if len(part.audio) % 2:
        raise ClientError("pcm16 has two bytes for each sample: one is missing", code="invalid_item")
    if ms_of(len(part.audio), given_hz) > MAX_MS:
        raise ClientError(
            f"an item takes {MAX_MS // 1000} s of sound: append more to the input audio", code="invalid_item"
        )
    resampler = Resampler(given_hz, rate_hz)
    audio = part.audio if given_hz == rate_hz else resampler.push(part.audio) + resampler.flush()
    return msgspec.structs.replace(part, audio=audio, format=AudioFormat.pcm16(rate_hz))

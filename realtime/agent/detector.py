"""The server's voice detector: agents and rooms make one for each call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from realtime.agent.input import Detector
from realtime.audio.endpoint import SILENCE_MS, Endpoint, EndpointConfig
from realtime.errors import UsageError
from realtime.event.config import TurnDetection
from realtime.turn.endpointing import Endpointing

VAD_UNAVAILABLE = "vad_unavailable"
"""Error code where the voice detector is not installed."""
DetectorFactory = Callable[[TurnDetection], Detector]


def silence_ms_of(wanted: TurnDetection) -> int:
    """Return after how much silence the server's detector ends a turn."""
    return SILENCE_MS if wanted.silence_duration_ms is None else wanted.silence_duration_ms


def load_silero() -> None:
    """Load what all detectors of a process share; does nothing where it is not installed."""
    from realtime.audio.vad import VadUnavailable, shared_silero

    with suppress(VadUnavailable):
        shared_silero()


def silero_detector(wanted: TurnDetection) -> Detector:
    """Make the server's detector. Raises UsageError where its parts are not installed."""
    return detector_with(EndpointConfig(keep_audio=False, silence_ms=silence_ms_of(wanted), expect=wanted.expect))


def detector_with(config: EndpointConfig) -> Detector:
    """Make a detector with these settings. Raises UsageError where its parts are not installed."""
    from realtime.audio.vad import VadUnavailable, shared_silero

    try:
        return Endpoint(shared_silero().stream(), config, Endpointing(config.silence_ms, config.expect))
    except VadUnavailable as error:
        raise UsageError(str(error), code=VAD_UNAVAILABLE) from error

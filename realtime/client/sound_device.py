"""The microphone and loudspeaker of this computer, through the package `sounddevice`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from realtime.client.outbox import INPUT_HZ
from realtime.client.speaker import OUTPUT_HZ
from realtime.errors import UsageError

BLOCK_MS = 20
AHEAD_BYTES = OUTPUT_HZ * 60 // 1000 * 2
"""The sound that should wait for the loudspeaker: what a busy computer needs so as not to stutter."""
BLOCK_BYTES = OUTPUT_HZ * BLOCK_MS // 1000 * 2

INSTALL = (
    "talking takes the package sounddevice: pip install -e '.[talk]' in the folder of this project, or give "
    "--file question.wav to speak a recording"
)
NO_PORTAUDIO = (
    "talking takes the library PortAudio: on Debian and Ubuntu `apt-get install libportaudio2`, or give "
    "--file question.wav to speak a recording"
)


class Loudspeaker:
    """What waits for the loudspeaker: written by the call, read by the device's own thread.

    The clocks of the two differ a little. What that adds up to is taken from silence, or added to it.
    """

    def __init__(self) -> None:
        self._waiting = bytearray(AHEAD_BYTES)
        self._lock = threading.Lock()

    def write(self, block: bytes) -> None:
        """Add a block."""
        with self._lock:
            is_silent = not any(block)
            if is_silent and len(self._waiting) > AHEAD_BYTES + BLOCK_BYTES:
                return
            self._waiting += block
            if is_silent and len(self._waiting) < AHEAD_BYTES:
                self._waiting += bytes(AHEAD_BYTES - len(self._waiting))

    def read(self, n_bytes: int) -> bytes:
        """Take the next sound; silence where too little is there."""
        with self._lock:
            taken = bytes(self._waiting[:n_bytes])
            del self._waiting[:n_bytes]
        return taken.ljust(n_bytes, b"\0")


class SoundDevice:
    """The default microphone and loudspeaker, open. `output_latency_s` is the time from `play` to the ear."""

    def __init__(self, loudspeaker: Loudspeaker, output_latency_s: float, lost: asyncio.Event) -> None:
        self.output_latency_s = output_latency_s
        self.lost = lost
        """Set when a device goes away."""
        self.play = loudspeaker.write


def require_sound_device() -> None:
    """Raise UsageError where package, library or device is missing: it says what to do."""
    devices = _sounddevice()
    for kind, name in (("input", "microphone"), ("output", "loudspeaker")):
        try:
            devices.query_devices(kind=kind)
        except (devices.PortAudioError, ValueError) as error:
            raise _no_device(name, error) from None


@contextmanager
def open_sound_device(hear: Callable[[bytes], None]) -> Iterator[SoundDevice]:
    """Open both devices; `hear` gets 20 ms of pcm16 mono at 16 kHz on the running loop.

    Raises UsageError as `require_sound_device` does.
    """
    devices = _sounddevice()
    loop, lost, loudspeaker = asyncio.get_running_loop(), asyncio.Event(), Loudspeaker()

    def record(pcm: Any, _frames: int, _time: Any, _status: Any) -> None:
        loop.call_soon_threadsafe(hear, bytes(pcm))

    def render(pcm: Any, _frames: int, _time: Any, _status: Any) -> None:
        pcm[:] = loudspeaker.read(len(pcm))

    def ended() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lost.set)

    kind = "microphone"
    try:
        options = {"channels": 1, "dtype": "int16", "latency": "low", "finished_callback": ended}
        microphone = devices.RawInputStream(
            samplerate=INPUT_HZ, blocksize=INPUT_HZ * BLOCK_MS // 1000, callback=record, **options
        )
        kind = "loudspeaker"
        output = devices.RawOutputStream(
            samplerate=OUTPUT_HZ, blocksize=OUTPUT_HZ * BLOCK_MS // 1000, callback=render, **options
        )
    except (devices.PortAudioError, ValueError) as error:
        raise _no_device(kind, error) from None
    with microphone, output:
        ahead_s = AHEAD_BYTES / 2 / OUTPUT_HZ
        yield SoundDevice(loudspeaker, float(output.latency) + ahead_s + BLOCK_MS / 1000, lost)


def _sounddevice() -> Any:
    try:
        import sounddevice
    except ImportError:
        raise UsageError(INSTALL, code="no_sounddevice") from None
    except OSError:
        raise UsageError(NO_PORTAUDIO, code="no_portaudio") from None
    return sounddevice


def _no_device(name: str, error: Exception) -> UsageError:
    told = str(error.args[0] if error.args else error).strip().rstrip(".")
    return UsageError(
        f"the {name} cannot be opened ({told}): plug one in and allow this terminal to use it, or give "
        "--file question.wav to speak a recording",
        code="no_device",
    )

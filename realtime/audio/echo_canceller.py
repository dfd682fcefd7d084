"""Echo cancellation of a microphone, by WebRTC (the extra `echo`)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np

from realtime.audio.double_talk import DoubleTalk
from realtime.audio.far_end import FarEnd
from realtime.audio.resample import Resampler
from realtime.errors import UsageError

ECHO_UNAVAILABLE = "echo_unavailable"
"""Error code where the echo canceller is not installed."""
FRAMES_PER_S = 100
DELAY_MS = 14
"""How late the canceller's output is."""


def is_installed() -> bool:
    """Whether this server can remove echoes."""
    return importlib.util.find_spec("pywebrtc_audio") is not None


class EchoCanceller:
    """Removes what `far_end` plays from one microphone.

    It takes 10 ms at a time, so up to 10 ms are held back, and its output is 14 ms late. A user who is louder than the
    echo passes as he is, with the echo. Costs 0.1 ms per 10 ms.
    Raises UsageError where it is not installed.
    """

    def __init__(self, far_end: Callable[[], FarEnd | None]) -> None:
        if not is_installed():
            raise UsageError(
                "this server cannot remove echoes: pip install '.[echo]' in the folder of this project",
                code=ECHO_UNAVAILABLE,
            )
        from pywebrtc_audio import EchoCanceller as Webrtc

        self._new_filter = Webrtc
        self._far_end = far_end
        self._rates_hz = (0, 0)
        self._near = bytearray()
        self._far = bytearray()

    def clean(self, pcm: bytes, rate_hz: int) -> bytes:
        """Take the microphone's next audio; return what is left of it, in whole frames of 10 ms."""
        far_end = self._far_end()
        far_hz = far_end.rate_hz if far_end is not None else rate_hz
        if (rate_hz, far_hz) != self._rates_hz:
            self._begin(rate_hz, far_hz)
        self._near += pcm
        frame_bytes = rate_hz // FRAMES_PER_S * 2
        n_frames = len(self._near) // frame_bytes
        if not n_frames:
            return b""
        near = self._taken(self._near, n_frames * frame_bytes)
        far_samples = n_frames * far_hz // FRAMES_PER_S
        played = far_end.follow(far_samples) if far_end is not None else bytes(far_samples * 2)
        self._far += self._resampler.push(played)
        missing = len(near) - len(self._far)
        if missing > 0:
            # The filter of the resampler holds some ms back: from here on the far end is that much later.
            self._far[:0] = bytes(missing)
        far = self._taken(self._far, len(near))
        heard = np.frombuffer(near, np.int16)
        left, size = self._filter.process(heard, np.frombuffer(far, np.int16)), frame_bytes // 2
        return b"".join(
            self._double_talk.frame(heard[at : at + size], left[at : at + size]).tobytes()
            for at in range(0, len(heard), size)
        )

    def _begin(self, rate_hz: int, far_hz: int) -> None:
        self._rates_hz = (rate_hz, far_hz)
        self._filter = self._new_filter(rate_hz)
        self._double_talk = DoubleTalk(rate_hz * DELAY_MS // 1000)
        self._resampler = Resampler(far_hz, rate_hz)
        self._near.clear()
        self._far.clear()

    @staticmethod
    def _taken(kept: bytearray, n_bytes: int) -> bytes:
        taken = bytes(kept[:n_bytes])
        del kept[:n_bytes]
        return taken

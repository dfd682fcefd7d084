"""A page's loudspeaker, its user and its microphone, joined inside the page: one clock measures all of them."""

import base64
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

from realtime.audio.files import read_pcm16
from tests.volumes import HANG_S
from tests.web.pages import script

VOICE_HZ = 16_000
FRAME_MS = 20
TRIES, AGAIN_AFTER_MS = 5, 10_000


class Levels(NamedTuple):
    """Loudness per frame of 20 ms (RMS, 0..1): the reply before and after the page's gain, and the user."""

    reply: NDArray[np.float64]
    played: NDArray[np.float64]
    user: NDArray[np.float64]


class Acoustics:
    """The sound around a page that is not opened yet.

    `echo_db` is the level of the loudspeaker in the microphone, `delay_ms` its way; None: no echo.
    """

    def __init__(self, page: Page, echo_db: float | None = None, delay_ms: int = 0) -> None:
        self._page = page
        gain = 0.0 if echo_db is None else 10 ** (echo_db / 20)
        page.add_init_script(script("acoustics.js", FRAME_MS=FRAME_MS, GAIN=gain, DELAY_S=delay_ms / 1000))

    def say(self, recording: Path) -> None:
        """The user says this, from now on."""
        self._page.evaluate("([pcm, rate]) => acoustics.say(pcm, rate)", [spoken(recording), VOICE_HZ])

    def levels(self) -> Levels:
        """Return what was measured so far."""
        measured = self._page.evaluate("acoustics.levels")
        length = min(map(len, measured))
        return Levels(*(np.array(one[:length]) for one in measured))


class Microphone:
    """The microphone of a page that is not opened yet, into whose frames a test puts samples: silence otherwise."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.add_init_script(script("microphone.js"))

    def say(self, recording: Path | bytes) -> None:
        """The user says this from the next frame on: a file, or pcm16 at 16 kHz."""
        pcm = spoken(recording) if isinstance(recording, Path) else base64.b64encode(recording).decode()
        self._page.evaluate("(pcm) => microphone.say(pcm)", pcm)


def say_until(microphone: Microphone, recording: Path | bytes, seen: Callable[[float], None]) -> None:
    """Say it, and say it again like a person who was not understood: a busy Chromium drops sound. `seen(ms)` raises."""
    for _ in range(TRIES - 1):
        microphone.say(recording)
        with suppress(AssertionError):
            seen(AGAIN_AFTER_MS)
            return
    microphone.say(recording)
    seen(HANG_S * 1000)


def spoken(recording: Path) -> str:
    """A recording at 16 kHz, in base64."""
    return base64.b64encode(read_pcm16(recording, VOICE_HZ)).decode()

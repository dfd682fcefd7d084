"""A user inside the page who speaks, interrupts and types by what was played, and what of it sounded."""

import base64

import numpy as np
from playwright.sync_api import Page

from tests.web.pages import captions, script, snapshot
from tests.web.scripted_app import ANSWER, ANSWER_SAMPLES, UTTERANCES, answer_pcm

FADE = 120  # 5 ms at 24 kHz
INTO = ANSWER_SAMPLES // 2
"""Where the user interrupts a response: in the middle of its second word."""
TYPED = (4,)
INTERRUPTED = (2, 5)
"""Responses that the next utterance interrupts."""


def put_user(
    page: Page, turns: int, cuts: list[int] | None = None, into: int = INTO, hold: tuple[int, int] | None = None
) -> None:
    """A user who says the first `turns` utterances, each after the response before or as its interruption.

    `hold`: a response, and the sample of it at which the loudspeaker stands still until it is flushed or released.
    """
    plan = [
        {"text": text, "typed": place + 1 in TYPED, "into": into if place in INTERRUPTED else 0}
        for place, text in enumerate(UTTERANCES[:turns])
    ]
    held = {"of": hold[0], "at": hold[1]} if hold else None
    told = {"turns": plan, "size": ANSWER_SAMPLES, "cuts": cuts or [], "hold": held}
    page.add_init_script(script("microphone.js") + script("user.js", PLAN=told))


def heard(page: Page) -> np.ndarray:
    """Every sample that the speaker played, without silence."""
    return np.frombuffer(base64.b64decode(page.evaluate("user.pcm()")), "<i2")


def answer_ranges(page: Page) -> list[list[int]]:
    """The samples that the page reports as played, by response."""
    shown = snapshot(page)
    return [shown["playedRanges"].get(one["id"], [0, 0]) for one in shown["bubbles"] if one["side"] == "agent"]


def assert_each_once(page: Page, interrupted: tuple[int, ...] = ()) -> None:
    """Each response played from its first sample, once, and whole without an interruption."""
    sound, at = heard(page), 0
    for number, (start, end) in enumerate(answer_ranges(page), 1):
        expected = answer_pcm(number)
        assert start == 0
        if number not in interrupted:
            assert end == ANSWER_SAMPLES
            assert np.array_equal(sound[at : at + end], expected)
            at += end
            continue
        assert INTO <= end < ANSWER_SAMPLES
        sure = end - FADE
        assert np.array_equal(sound[at : at + sure], expected[:sure])
        at += sure
        # The rest fades out, or was never begun.
        begun = answer_pcm(number + 1)[:1000]
        at += next(skip for skip in range(FADE + 1) if np.array_equal(sound[at + skip : at + skip + 1000], begun))
    assert at == len(sound)


def assert_cut_words_are_those_played(page: Page, interrupted: tuple[int, ...]) -> None:
    """Each interrupted response shows the words up to where it fell silent."""
    shown = [bubble for bubble in captions(page) if bubble[0] == "agent"]
    cut = [
        (text, end) for (_, text, status), (_, end) in zip(shown, answer_ranges(page), strict=True) if status == "cut"
    ]
    assert len(cut) == len(interrupted)
    for text, end in cut:
        assert ANSWER.startswith(text)
        words_played = end / ANSWER_SAMPLES * len(ANSWER.split())
        assert -0.1 <= words_played - len(text.split()) <= 1.1

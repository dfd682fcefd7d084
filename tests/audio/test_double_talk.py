"""A user over the echo is left as he came."""

import numpy as np

from realtime.audio.double_talk import FIRST_FRAMES, HANG_FRAMES, DoubleTalk, Samples

FRAME = 160
DELAY = 40
CLEAN = np.zeros(FRAME, np.int16)


def sound(db: float, seed: int) -> Samples:
    samples = np.random.default_rng(seed).normal(0, 32_768 * 10 ** (db / 20), FRAME)
    return np.clip(samples, -32_768, 32_767).astype(np.int16)


def passed(talk: DoubleTalk, db: float, far_db: float = -20, count: int = 1) -> list[bool]:
    """Whether each of so many frames of a microphone passes in part or whole."""
    return [
        bool(np.any(talk.frame(sound(db, 2 * number), CLEAN, sound(far_db, 2 * number + 1)))) for number in range(count)
    ]


def after_an_echo() -> DoubleTalk:
    talk = DoubleTalk(DELAY)
    assert not any(passed(talk, -32, count=FIRST_FRAMES + 50)), "an echo is cancelled"
    return talk


def test_a_user_louder_than_the_echo_passes_after_three_frames_and_then_whole_with_the_cancellers_delay() -> None:
    talk = after_an_echo()
    assert passed(talk, -20, count=4) == [False, False, True, True]
    before, now = sound(-20, 50), sound(-20, 51)
    talk.frame(before, CLEAN, sound(-20, 1))
    both = np.concatenate([before, now])
    np.testing.assert_allclose(talk.frame(now, CLEAN, sound(-20, 2)), both[FRAME - DELAY : 2 * FRAME - DELAY], atol=1)


def test_a_user_outlasts_the_last_loud_frame_and_the_echo_is_cancelled_again() -> None:
    talk = after_an_echo()
    passed(talk, -20, count=10)
    after = passed(talk, -32, count=HANG_FRAMES + 20)
    assert after == [True] * HANG_FRAMES + [False] * 20


def test_a_voice_at_the_level_of_the_echo_is_left_to_the_canceller() -> None:
    assert not any(passed(after_an_echo(), -30, count=100))


def test_a_loudspeaker_that_is_turned_up_is_an_echo_again_in_the_end() -> None:
    talk = after_an_echo()
    let = passed(talk, -20, count=1_000)
    assert let[10]
    assert not any(let[-100:])


def test_nothing_that_is_played_leaves_the_canceller_alone() -> None:
    talk = after_an_echo()
    passed(talk, -90, far_db=-90, count=60)
    assert not any(passed(talk, -10, far_db=-90, count=20))

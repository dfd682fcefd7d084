"""When it is certain that the microphone hears the replies."""

from realtime.agent.echo_watch import EVERY_MS, MOST_LOOKS, EchoWatch
from realtime.audio.far_end import FarEnd
from realtime.audio.playback import WallClockPlayback

ECHO, OTHER = 0.9, 0.1


def taken(watch: EchoWatch, *found: float, start: int = 1) -> None:
    for at, likeness in enumerate(found, start=start):
        watch.take(at * EVERY_MS, likeness)


def watching() -> tuple[EchoWatch, list[bool]]:
    told: list[bool] = []
    return EchoWatch(lambda: told.append(True)), told


def test_three_of_five_looks_that_find_the_reply_are_enough_and_told_once() -> None:
    """Those that are further apart, or at the same audio, do not add up."""
    watch, told = watching()
    taken(watch, *[ECHO, OTHER, OTHER, OTHER, OTHER] * 5)
    assert (told, watch.seen) == ([], True)
    watch, told = watching()
    for position_ms in range(EVERY_MS, EVERY_MS + 400, 100):
        watch.take(position_ms, ECHO)
    assert told == []
    watch, told = watching()
    taken(watch, ECHO, OTHER, ECHO, OTHER)
    assert told == []
    taken(watch, ECHO, ECHO, ECHO, start=5)
    assert told == [True]


def test_a_voice_that_was_the_users_begins_the_count_again() -> None:
    watch, told = watching()
    taken(watch, ECHO, ECHO)
    watch.contradict()
    taken(watch, ECHO, ECHO, start=3)
    assert told == []
    taken(watch, ECHO, start=5)
    assert told == [True]


def test_it_looks_a_limited_number_of_times() -> None:
    watch, told = watching()
    far_end = FarEnd(WallClockPlayback(24_000), lambda: 0.0, 24_000)
    looks = 0
    for position_ms in range(0, 60_000, 20):
        if watch.is_due(position_ms):
            watch.look(position_ms, bytes(640), 16_000, far_end)
            looks += 1
    assert (looks, told) == (MOST_LOOKS, [])

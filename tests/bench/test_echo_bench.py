"""The bench of echoes plays what it says it plays. No timing."""

from pathlib import Path

import pytest

from bench.echo import (
    Cell,
    echo_words,
    erle_db,
    first_checks,
    interruptions,
    play_first,
    script_of,
    spoken_s,
)
from bench.listen_calls import REPLY
from realtime.testing.client.steps import BargeIn, Loudspeaker


def test_words_of_the_reply_count_unless_the_user_said_them() -> None:
    part = " ".join(REPLY.split()[2:6])
    assert echo_words([f"Well, {part} stop.", "Stop."], "Well, stop.") == [part.lower()]
    assert echo_words([part], f"I said {part}") == []
    assert echo_words(["the", "Stop, please."], "") == []


def test_every_other_reply_is_left_alone_in_a_room_with_an_echo() -> None:
    stimuli = tuple(interruptions(3))
    script = script_of(Cell(-20, 120, "off", stimuli))
    assert script.steps[0] == Loudspeaker(-20, 120)
    assert sum(isinstance(step, BargeIn) for step in script.steps) == 3
    assert [one for one in script.spoken if one] == [*stimuli]
    assert len(script.asks) == 6
    assert not any(isinstance(step, Loudspeaker) for step in script_of(Cell(None, 120, "off", stimuli)).steps)


def test_interruptions_are_as_many_as_wanted() -> None:
    assert [one.stimulus.kind for one in interruptions(7)] == ["interruption"] * 7


def test_the_canceller_lowers_an_echo() -> None:
    assert erle_db(-12, 120) > 20


@pytest.mark.night
def test_an_agent_that_speaks_first_into_a_quiet_loudspeaker_is_its_own_only_voice(tmp_path: Path) -> None:
    heard = play_first(1, tmp_path / "words.sqlite3", (120,))
    assert min(spoken_s([one]) for one in heard) > 10
    assert [check.value for check in first_checks(heard)] == [0, 0]

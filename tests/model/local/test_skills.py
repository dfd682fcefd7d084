"""The built-in tools, at a wall clock that stands still."""

import inspect
from collections.abc import Callable
from datetime import UTC, timedelta, timezone
from typing import Any

from realtime.model.local.keyless.skills import LONGEST_TIMER_S, make_skills, say_duration

NOON_S = 1_767_268_800.0  # 2026-01-01T12:00:00Z


def skills(**options: Any) -> dict[str, Callable[..., Any]]:
    return {skill.__name__: skill for skill in make_skills(lambda: NOON_S, **{"zone": UTC, **options})}


def test_sums_are_worked_out_and_time_and_date_are_those_of_the_users_zone() -> None:
    assert skills()["get_time"]() == "12:00 PM"
    assert skills()["get_date"]() == "Thursday, January 1, 2026"
    assert skills()["calculate"]("twelve times seven") == "84"
    assert skills()["calculate"]("1 / 0") == "Dividing by zero has no answer."
    far = skills(zone=timezone(timedelta(hours=-13, minutes=-15)))
    assert far["get_time"]() == "10:45 PM"
    assert far["get_date"]() == "Wednesday, December 31, 2025"


def test_there_is_a_timer_only_where_somebody_rings() -> None:
    assert "set_timer" not in skills()
    asked: list[float] = []
    set_timer = skills(on_timer=asked.append)["set_timer"]
    assert set_timer(300) == "Your timer is set for 5 minutes."
    assert asked == [300]


def test_impossible_timers_are_refused() -> None:
    asked: list[float] = []
    for seconds in (0, -1, LONGEST_TIMER_S + 1):
        assert "a day at most" in skills(on_timer=asked.append)["set_timer"](seconds)
    assert asked == []


def test_durations_are_said_in_words() -> None:
    said = {seconds: say_duration(seconds) for seconds in (1, 60, 5400, 3661, 0.2)}
    assert said == {
        1: "1 second",
        60: "1 minute",
        5400: "1 hour and 30 minutes",
        3661: "1 hour, 1 minute and 1 second",
        0.2: "1 second",
    }


def test_every_skill_explains_itself_to_a_model() -> None:
    for skill in skills(on_timer=lambda seconds: None).values():
        assert inspect.getdoc(skill)
        for name, parameter in inspect.signature(skill).parameters.items():
            assert parameter.annotation is not inspect.Parameter.empty
            assert f"{name}:" in (inspect.getdoc(skill) or "")

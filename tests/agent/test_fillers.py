"""When a filler is due while tools run, and which line: a core without an event loop."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.agent.fillers import AGAIN_AFTER_S, FIRST_AFTER_S, MOST_FILLERS, Fillers, overrides_for
from realtime.agent.phrases import FAREWELLS, FILLERS, QUESTIONS, in_language
from realtime.event.base import ContentPart, Item

LINES = ("One moment.", "Just a second.", "Still looking.", "Almost there.")


def fillers(lines: tuple[str, ...] = LINES) -> Fillers:
    return Fillers(lines, Random(7))


def take_all(core: Fillers) -> list[tuple[float, str]]:
    """Return when which filler comes while the tools run and both sides are silent."""
    said = []
    while (due_at := core.due_at) is not None:
        said.append((due_at, core.take(due_at)))
    return said


def test_a_tool_that_is_quick_gets_no_filler() -> None:
    core = fillers()
    core.tool_begins("call_1", 10.0)
    assert core.due_at == 10.0 + FIRST_AFTER_S
    assert core.tool_ends("call_1")
    assert core.due_at is None


def test_a_slow_tool_gets_one_after_800_ms_then_one_every_6_to_8_s_at_most_three_and_never_the_same() -> None:
    core = fillers()
    core.tool_begins("call_1", 10.0)
    said = take_all(core)
    assert len(said) == MOST_FILLERS
    times = [at for at, _ in said]
    assert times[0] == pytest.approx(10.8)
    least_s, most_s = AGAIN_AFTER_S
    assert all(least_s <= after - before <= most_s for before, after in pairwise(times))
    assert len({line for _, line in said}) == MOST_FILLERS


def test_the_next_wait_goes_on_with_other_lines() -> None:
    core = fillers(("One.", "Two."))
    said = []
    for at in (0.0, 100.0, 200.0):
        core.tool_begins("call", at)
        said.append(core.take(at + FIRST_AFTER_S))
        core.tool_ends("call")
    assert said == ["One.", "Two.", "One."]


def test_it_waits_for_800_ms_of_silence() -> None:
    core = fillers()
    core.tool_begins("call_1", 0.0)
    core.postpone(3.2)
    assert core.due_at == pytest.approx(4.0)


def test_of_several_tools_the_last_result_ends_the_wait() -> None:
    core = fillers()
    core.tool_begins("call_1", 0.0)
    core.tool_begins("call_2", 0.5)
    assert not core.tool_ends("call_1")
    assert core.due_at == pytest.approx(0.8)
    assert core.tool_ends("call_2")
    assert not core.tool_ends("call_2")


def test_what_the_user_interrupted_gets_none_and_the_next_tool_begins_anew() -> None:
    core = fillers()
    core.tool_begins("call_1", 0.0)
    core.clear()
    assert core.due_at is None
    core.tool_begins("call_2", 5.0)
    assert core.due_at == pytest.approx(5.8)
    assert not core.tool_ends("call_1"), "the tool of the interrupted reply does not end the wait for the other"


def test_without_lines_nothing_is_due() -> None:
    core = fillers(())
    core.tool_begins("call_1", 0.0)
    core.postpone(1.0)
    assert core.due_at is None
    assert core.tool_ends("call_1")


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=6),
    steps=st.lists(st.sampled_from(["begin", "end", "take", "postpone", "clear"]), max_size=60),
)
def test_whatever_happens_no_wait_has_more_than_three_or_one_twice(lines: list[str], steps: list[str]) -> None:
    core, now = Fillers(lines, Random(1)), 0.0
    running: list[str] = []
    said: list[str] = []
    for number, step in enumerate(steps):
        now += 1.0
        match step:
            case "begin":
                said = said if running else []
                running.append(f"call_{number}")
                core.tool_begins(running[-1], now)
            case "end" if running:
                core.tool_ends(running.pop())
            case "take" if core.due_at is not None:
                said.append(core.take(now))
            case "postpone":
                core.postpone(now)
            case "clear":
                running.clear()
                core.clear()
        assert len(said) <= min(MOST_FILLERS, len(set(lines)))
        assert len(set(said)) == len(said)
        assert running or core.due_at is None


def test_a_model_that_cannot_say_given_words_is_asked_for_them_in_the_language_of_the_user() -> None:
    words = Item(id="i1", role="user", content=(ContentPart(type="text", text="Wo ist mein Paket?"),))
    asked = overrides_for("One moment.", words, "filler_1", says_it=False)
    assert (asked.conversation, asked.tool_choice) == ("none", "none")
    assert asked.input == (words,)
    assert asked.instructions is not None
    assert '"One moment."' in asked.instructions
    assert asked.metadata == {"initiative": "filler_1"}
    assert overrides_for("One moment.", None, "filler_1", says_it=False).input == ()


def test_one_that_can_gets_no_instructions() -> None:
    asked = overrides_for("One moment.", None, "filler_1", says_it=True)
    assert (asked.instructions, asked.input, asked.conversation) == (None, None, "none")


@pytest.mark.parametrize(
    ("languages", "first"),
    [(("de-CH",), "Einen Moment."), (("en",), "One moment."), (("xx",), "One moment."), ((), "One moment.")],
)
def test_phrases_are_in_the_language_of_the_call_where_it_is_known(languages: tuple[str, ...], first: str) -> None:
    assert in_language(FILLERS, languages)[0] == first
    assert in_language(FILLERS, ("de", "fr"))[0] == "One moment.", "two languages say nothing about this call"


def test_each_language_has_every_phrase() -> None:
    assert FILLERS.keys() == QUESTIONS.keys() == FAREWELLS.keys()
    assert all(len(set(lines)) >= MOST_FILLERS for lines in FILLERS.values())

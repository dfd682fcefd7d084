"""What of a plan is told to the user."""

import pytest

from realtime.errors import RealtimeError
from realtime.plan import Announce, PlanNotebook
from tests.plan.plans import make_plan, notebook_with, subtask

ACTS = [
    ("update_subtask_state", (1, "in_progress"), "", "The subtask 'b' is in progress."),
    ("update_subtask_state", (1, "abandoned"), "", "The subtask 'b' is given up."),
    ("revise_current_plan", (0, "revise", "Rest"), "", "The plan 'Trip' was changed."),
    ("revise_current_plan", (2, "add", subtask("c", "done")), "", "The plan 'Trip' was changed."),
    ("finish_subtask", (1, "x"), "The subtask 'b' is done. Its outcome: x", "The subtask 'b' is done. Its outcome: x"),
    (
        "finish_plan",
        ("done", "x"),
        "The plan 'Trip' is done. Its outcome: x",
        "The plan 'Trip' is done. Its outcome: x",
    ),
    ("finish_plan", ("abandoned", "x"), "", "The plan 'Trip' is given up. Its outcome: x"),
    ("finish_subtask", (0, "x"), "", ""),
]


@pytest.mark.parametrize(("act", "given", "milestone", "change"), ACTS)
async def test_a_change_is_told_as_it_is_wanted(
    act: str, given: tuple[object, ...], milestone: str, change: str
) -> None:
    """The last one is refused: nothing has changed."""
    wanted: dict[Announce, str] = {"never": "", "milestones": milestone, "all": change}
    for announce, words in wanted.items():
        news: list[str] = []
        notebook = await notebook_with("done", "todo", announce=announce)
        notebook.on_news = news.append
        await getattr(notebook, act)(*given)
        assert news == [f"{words} Tell the user so in one short sentence."] * bool(words)


async def test_a_new_plan_is_a_change_but_no_milestone() -> None:
    for announce, words in {"milestones": [], "all": ["The plan 'Trip' is begun."]}.items():
        news: list[str] = []
        notebook = PlanNotebook(announce=announce)  # type: ignore[arg-type]  # the two are of its words
        notebook.on_news = lambda told, news=news: news.append(told.partition(" Tell")[0])  # type: ignore[misc]
        await make_plan(notebook, ["a"])
        assert news == words


def test_another_word_is_refused() -> None:
    with pytest.raises(RealtimeError, match="announce"):
        PlanNotebook(announce="loudly")  # type: ignore[arg-type]

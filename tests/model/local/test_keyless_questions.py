"""What new users ask the keyless model is answered usefully, the product and earlier turns included."""

import re
from functools import cache
from itertools import pairwise

from realtime.model.local.keyless.product import Product
from realtime.model.local.keyless.requests import split
from realtime.server.builtin import INSTRUCTIONS, SUGGESTIONS
from tests.model.local.keyless_chat import Chat
from tests.model.local.rows import assert_none, rows

KEPT = Product(store="disk")
LONGEST_WORDS = 75
"""Of the answer to one request."""
NO_ANSWER = r"don't know|can't|more than my rules|no answer"
UNKNOWN = (
    "who wrote the book about the whale",
    "what is the population of china",
    "why do cats purr",
    "how do I fix a flat tyre",
    "who invented the zip",
    "is there life on mars",
)
NO_FACTS = ("I give up", "I think so", "I'm fine", "I have a question", "I don't know", "I love it", "I see")


def chat(**options: str) -> Chat:
    return Chat(INSTRUCTIONS, product=KEPT, **options)


def answers(*turns: str) -> list[str]:
    made = chat()
    return [made.ask(turn) for turn in turns]


@cache
def calls_of_new_users() -> list[tuple[str, list[str], list[str]]]:
    """Of each call: the pattern of a useful last answer, what the user said, and the answers."""
    return [(useful, turns, answers(*turns)) for useful, *turns in rows("new_users")]


def test_a_new_user_gets_a_useful_answer() -> None:
    assert len(calls_of_new_users()) > 450
    assert_none(one for one in calls_of_new_users() if not re.search(one[0], one[2][-1], re.DOTALL))


def test_answers_are_short_enough_to_be_spoken() -> None:
    said = [pair for _, turns, told in calls_of_new_users() for pair in zip(turns, told, strict=True)]
    assert_none(pair for pair in said if len(pair[1].split()) > LONGEST_WORDS * len(split(pair[0])))


def test_capitals_and_punctuation_change_no_answer() -> None:
    questions = [turns[0] for _, *turns in rows("new_users") if len(turns) == 1]
    asking = re.compile("(what|who|how|where|can|do|is|are|which) ")
    bare = [re.sub(r"[.?!,]", "", question).lower() for question in questions if asking.match(question)]
    assert_none(one for one in bare if chat().ask(one).lower() != chat().ask(one.capitalize() + "?").lower())


def test_what_it_does_not_know_it_says_each_time_in_other_words_and_without_an_echo() -> None:
    told = answers(*UNKNOWN)
    for question, answer in zip(UNKNOWN, told, strict=True):
        assert re.search(NO_ANSWER, answer), answer
        assert not {"whale", "china", "cats", "tyre", "zip", "mars"} & set(answer.lower().split()), (question, answer)
        assert len(answer.split()) < 30
    assert all(before != after for before, after in pairwise(told))


def test_jokes_riddles_and_stories_do_not_repeat_before_all_were_told() -> None:
    for ask in ("tell me a joke", "tell me a riddle", "tell me a story", "tell me something interesting"):
        assert len({*answers(ask, ask, ask)}) == 3


def test_a_story_that_was_cut_goes_on_where_it_stopped() -> None:
    made = chat()
    story = made.ask("tell me a story")
    made.history.pop()
    heard = " ".join(story.split()[:12])
    made._add("assistant", heard)
    assert f"{heard} {made.ask('go on')}" == story


def test_chance_decides_by_the_turn_so_that_the_same_turn_has_the_same_answer() -> None:
    def coins() -> list[str]:
        return [chat(seed=str(seed)).ask("flip a coin") for seed in range(40)]

    assert coins() == coins()
    assert {*coins()} == {"It's heads.", "It's tails."}
    assert len({chat(seed=str(seed)).ask("roll a die") for seed in range(100)}) == 6


def test_what_is_forgotten_in_the_history_is_not_known() -> None:
    """Everything is read from the history: a restored or truncated conversation needs no special care."""
    made, restored, truncated = chat(), chat(), chat()
    made.ask("my dog is called Rex")
    made.ask("what time is it")
    restored.history, truncated.history = [*made.history], made.history[2:]
    assert "Rex" in restored.ask("what is my dog's name")
    assert "Rex" not in truncated.ask("what is my dog's name")
    assert "time" in truncated.ask("what did I ask first")


def test_what_is_no_fact_is_not_kept() -> None:
    for text in NO_FACTS:
        kept, film = answers(text, "what is my favourite film")
        assert "remember" not in kept, text
        assert re.search("told me|don't know", film), text


def test_what_is_asked_for_is_done_with_the_tools() -> None:
    made = chat()
    made.ask("what time is it and what is seven times eight")
    assert made.called == ["get_time", "calculate"]
    made.ask("set a timer for ten seconds")
    assert made.timers == [10]


def test_the_built_in_agent_greets_and_its_suggestions_work() -> None:
    assert chat().greet() == "Hello! I'm Heart: ask me the time, a sum or a joke, or tell me your name."
    assert [one for one in SUGGESTIONS if re.search(NO_ANSWER, chat().ask(one))] == []

"""Assents and remarks to others, told by their form; their words were not made with the lists."""

import pytest

from realtime.turn.remarks import is_remark, rest_of_assent
from realtime.turn.small_talk import DEFAULT_BACKCHANNELS, tokens_of

ASSENTS = """That's a very sensible idea.
What a lovely story.
Yes, I can well imagine.
Oh, I do like that.
No kidding.
You don't say!
So I hear.
Well, that explains it.
Blimey.
Mm, that must be tough.
Fair point, fair point.
We agree.
Such a pity.
Really? How odd."""

TURNS = """How many are there?
What a train costs is what I asked.
That's a lie.
That's not what I said.
I like the second one better.
I think we should start again.
No, the other one.
Good, then book it.
Lovely, and what does it cost?
It's too expensive.
Louder.
Three of them."""

REMARKS = """Jill, could you hold the baby?
Sweetheart, dinner is getting cold.
Give me that, Jonathan.
Yes, dear, I am coming.
Somebody is ringing the bell.
The neighbours have a new car.
Mum, not now.
I'll be right there."""


@pytest.mark.parametrize("words", ASSENTS.splitlines())
def test_an_assent_of_any_wording_asks_for_nothing(words: str) -> None:
    assert rest_of_assent(tokens_of(words), DEFAULT_BACKCHANNELS) == ([], False)


@pytest.mark.parametrize("words", TURNS.splitlines())
def test_what_says_something_is_no_assent(words: str) -> None:
    rest, takes_floor = rest_of_assent(tokens_of(words), DEFAULT_BACKCHANNELS)
    assert rest or takes_floor
    assert not is_remark(words, ())


@pytest.mark.parametrize("words", REMARKS.splitlines())
def test_a_remark_to_someone_beside_is_known_by_its_form(words: str) -> None:
    assert is_remark(words, ())


def test_what_names_the_agent_or_has_words_of_the_talk_is_no_remark() -> None:
    assert not is_remark("Jill, could you hold the line?", (), ("Jill",))
    assert is_remark("The neighbours have a new car.", tokens_of("The nights are cold."))
    assert not is_remark("The neighbours have a new car.", tokens_of("A new car costs more."))
    assert not is_remark("Oslo, two tickets please", tokens_of("From Oslo or from Bergen?"))

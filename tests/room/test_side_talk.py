"""To whom a human speaks over an agent's reply, by the words alone."""

from realtime.room.addressee import called_in
from realtime.room.participant import Participant
from realtime.room.side_talk import CALLED_S, SideTalk
from tests.tables import rows

ANNA, BEN = Participant("h1", "Anna", "human"), Participant("h2", "Ben", "human")
LEE, LEE_2 = Participant("h3", "Lee", "human"), Participant("h4", "Anna Lee", "human")
ALICE, BOB = Participant("a1", "Alice", "agent"), Participant("a2", "Bob", "agent")
ROOM = (ANNA, BEN, LEE, ALICE, BOB)


def test_a_human_is_called_at_the_beginning_or_the_end_and_not_within_a_sentence() -> None:
    assert [words for (words,) in rows("names.tsv", "calls") if called_in(words, ROOM) != (BEN,)] == []
    assert [words for (words,) in [[""], *rows("names.tsv", "mentions")] if called_in(words, ROOM)] == []


def test_of_names_that_end_alike_the_longest_is_called() -> None:
    assert called_in("Anna Lee, look!", (ANNA, LEE, LEE_2)) == (LEE_2,)


def test_words_are_to_an_agent_that_they_name_and_to_a_human_whom_they_call() -> None:
    to_agent = {
        "Alice, stop that.": True,
        "I would rather ask Bob about it.": True,
        "Ben, look at that.": False,
        "Ben, did you hear what Alice said?": False,
        "What about tomorrow?": None,
        "Anna, look!": None,
    }
    assert {words: SideTalk().addressed(ANNA.id, words, ROOM, 0.0) for words in to_agent} == to_agent


def test_a_human_who_was_called_answers_and_so_does_the_caller_in_turn() -> None:
    talk = SideTalk()
    assert talk.addressed(ANNA.id, "Ben, did you see that?", ROOM, 0.0) is False
    assert talk.addressed(LEE.id, "I saw it.", ROOM, 1.0) is None, "nobody has called Lee"
    assert talk.addressed(BEN.id, "I saw it.", ROOM, 1.0) is False
    assert talk.addressed(ANNA.id, "It was red.", ROOM, 2.0) is False
    assert talk.addressed(BEN.id, "It was blue.", ROOM, 2.0 + CALLED_S - 0.1) is False


def called_by_anna() -> SideTalk:
    """Anna has just called Ben."""
    talk = SideTalk()
    talk.addressed(ANNA.id, "Ben, did you see that?", ROOM, 0.0)
    return talk


def test_a_voice_long_after_a_call_is_no_answer_to_it() -> None:
    assert called_by_anna().addressed(BEN.id, "And what comes next?", ROOM, CALLED_S) is None


def test_a_human_who_was_called_takes_the_floor_with_words_that_do() -> None:
    for words in ("Stop.", "Wait a minute."):
        assert called_by_anna().addressed(BEN.id, words, ROOM, 1.0) is None


def test_a_human_who_names_an_agent_answers_nobody_any_more() -> None:
    talk = called_by_anna()
    assert talk.addressed(BEN.id, "Alice, what was that?", ROOM, 1.0) is True
    assert talk.addressed(BEN.id, "I mean the red one.", ROOM, 1.5) is None

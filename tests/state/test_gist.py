"""What a list says about a call: first words, turns, errors."""

from realtime.event import server as s
from realtime.event.base import ContentPart, Item
from realtime.state.gist import FIRST_WORDS_CHARS, Gist
from realtime.state.log import AudioRun


def heard(item_id: str, words: str) -> s.AgentInputTranscriptionDoneEvent:
    return s.AgentInputTranscriptionDoneEvent(item_id=item_id, transcript=words)


def typed(item_id: str, words: str) -> s.AgentItemAddedEvent:
    item = Item(id=item_id, role="user", content=(ContentPart(type="text", text=words),))
    return s.AgentItemAddedEvent(item=item)


def test_spoken_and_typed_turns_and_errors_are_counted_and_the_first_words_kept() -> None:
    error = s.AgentErrorEvent(error_type="provider_error", code="down", message="It is down.")
    run = AudioRun(seq=1, last_seq=2, ts_ms=0, last_ts_ms=0, item_id="a", offset_bytes=0, n_bytes=2)
    gist = Gist().read([heard("i1", "Where is\n my order?"), run, typed("i2", "Hello?"), error])
    assert (gist.first_words, gist.turns, gist.errors) == ("Where is my order?", 2, 1)


def test_a_turn_that_goes_on_after_a_pause_is_one_turn_with_all_of_its_words() -> None:
    gist = Gist().read([heard("i1", "Where is"), heard("i1", "Where is my order?")])
    assert (gist.first_words, gist.turns) == ("Where is my order?", 1)


def test_a_withdrawn_turn_does_not_count() -> None:
    gist = Gist().read([heard("i1", "Uh"), heard("i2", "Where is my order?"), s.AgentItemDeletedEvent(item_id="i1")])
    assert (gist.first_words, gist.turns) == ("Where is my order?", 1)


def test_turns_without_words_and_words_of_the_agent_do_not_count() -> None:
    reply = Item(id="i2", role="assistant", content=(ContentPart(type="text", text="Hello."),))
    gist = Gist().read([heard("i1", " "), s.AgentItemAddedEvent(item=reply)])
    assert (gist.first_words, gist.turns) == ("", 0)


def test_a_resumed_call_keeps_its_first_words_and_counts_on() -> None:
    gist = Gist("Where is my order?", 3, 1).read([heard("i9", "And now?")])
    assert (gist.first_words, gist.turns, gist.errors) == ("Where is my order?", 4, 1)


def test_long_words_are_cut_and_only_a_change_is_reported() -> None:
    gist = Gist()
    assert gist.take(heard("i1", "word " * 100))
    assert len(gist.first_words) <= FIRST_WORDS_CHARS
    assert gist.first_words.endswith("…")
    assert not gist.take(heard("i1", "word " * 100))

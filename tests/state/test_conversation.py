"""The conversation of a call: the order of its items, and that what was said is what was heard."""

from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event.base import ContentPart, Item, ItemStatus
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.state.conversation import Conversation
from realtime.state.truncation import Truncation


def message(item_id: str, text: str | None = None) -> Item:
    content = () if text is None else (ContentPart(type="text", text=text),)
    return Item(id=item_id, role="assistant", content=content)


def ids(conversation: Conversation) -> list[str]:
    return [item.id for item in conversation.items()]


def said_so_far(conversation: Conversation, name: str, *pieces: tuple[str, float]) -> None:
    """The answer `name`, of which these pieces of text and their audio in ms have arrived."""
    conversation.add(Item(id=name, role="assistant", status="in_progress"))
    for text, audio_ms in pieces:
        conversation.add_text(name, text)
        conversation.add_audio(name, audio_ms)


def spoken_answer(*pieces: tuple[str, float], aligned: bool = False, whole: bool = True) -> Conversation:
    """A conversation with the answer `item`."""
    conversation = Conversation(aligned=aligned)
    said_so_far(conversation, "item", *pieces)
    if whole:
        conversation.audio_complete("item")
    return conversation


def test_items_stand_where_they_are_put_and_a_known_id_is_replaced_where_it_stands() -> None:
    conversation = Conversation()
    assert conversation.add(message("b")) is None
    assert conversation.add(message("d")) == "b"
    assert conversation.add(message("a"), "root") is None
    assert conversation.add(message("c"), "b") == "b"
    assert conversation.add(message("e"), "unknown") == "d"
    assert conversation.add(message("f"), "f") == "e"
    assert conversation.add(message("b", "new words"), "root") == "a"
    assert ids(conversation) == ["a", "b", "c", "d", "e", "f"]
    assert len(conversation) == 6
    assert conversation.items()[1].text == "new words"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "delete"]),
            st.sampled_from("abcdef"),
            st.sampled_from([None, "root", *"abcdef"]),
        ),
        max_size=40,
    )
)
def test_the_order_is_that_of_a_list(course: list[tuple[str, str, str | None]]) -> None:
    conversation, expected = Conversation(), list[str]()
    for what, item_id, previous in course:
        if what == "delete":
            assert conversation.delete(item_id) == (item_id in expected)
            assert (item_id in conversation, conversation.get(item_id)) == (False, None)
            expected = [one for one in expected if one != item_id]
            continue
        if item_id not in expected:
            place = 0 if previous == "root" else len(expected)
            if previous in expected:
                place = expected.index(previous) + 1
            expected.insert(place, item_id)
        before = expected.index(item_id) - 1
        assert conversation.add(message(item_id), previous) == (expected[before] if before >= 0 else None)
        assert ids(conversation) == expected


def test_tool_calls_and_results_are_items_in_order() -> None:
    conversation = Conversation()
    conversation.add_tool_call("item_1", ToolCallBlock(id="call", name="time"))
    assert conversation.add_tool_result("item_2", ToolResultBlock(id="call", name="time", output="noon")) == "item_1"
    assert [item.type for item in conversation.items()] == ["tool_call", "tool_result"]


def test_the_latest_items_are_kept() -> None:
    for count, kept in ((9, "abcd"), (4, "abcd"), (2, "cd"), (0, "")):
        conversation = Conversation()
        for item_id in "abcd":
            conversation.add(message(item_id))
        conversation.keep_latest(count)
        assert "".join(ids(conversation)) == kept


def test_an_unknown_item_is_an_error_of_the_caller() -> None:
    for use in (Conversation.complete, Conversation.audio_complete, Conversation.spoken_text):
        with pytest.raises(KeyError):
            use(Conversation(), "nobody")


def test_a_spoken_answer_gets_its_words_when_it_is_complete() -> None:
    conversation = spoken_answer((" Good", 300.0), (" morning.", 500.0))
    assert conversation.spoken_text("item") == " Good morning."
    assert conversation.audio_ms("item") == 800.0
    item = conversation.complete("item")
    assert item.content == (ContentPart(type="audio", transcript=" Good morning."),)
    assert (item.status, item.text) == ("completed", "Good morning.")


def test_words_without_audio_are_a_text_which_is_kept_as_it_was_set_last() -> None:
    conversation = Conversation()
    for item_id, last in (("added", "ning."), ("set", "")):
        conversation.add(message(item_id))
        conversation.add_text(item_id, "Good mor")
        conversation.add_text(item_id, last)
    conversation.set_text("set", "Good morning.")
    for item_id in ("added", "set"):
        assert conversation.complete(item_id).content == (ContentPart(type="text", text="Good morning."),)


def test_what_a_user_said_is_a_transcript() -> None:
    conversation = Conversation()
    conversation.add(Item(id="item", role="user", content=(ContentPart(type="audio"),)))
    conversation.set_transcript("item", "hello there")
    assert conversation.items()[0].content == (ContentPart(type="audio", transcript="hello there"),)


FOUR = ("one two three four", 1800.0)


class Cut(NamedTuple):
    """An answer of which so much was heard, and what stays of it."""

    pieces: tuple[tuple[str, float], ...]
    heard_ms: int
    stays: str
    aligned: bool = False
    whole: bool = True


CUTS = {
    "after the last word that was heard to its end": Cut((FOUR,), 1000, "one two"),
    "heard whole: every word": Cut((("one two three four", 1800.7),), 1800, "one two three four"),
    "nothing was heard: no word": Cut((FOUR,), 0, ""),
    "aligned words are heard with their own audio": Cut((("Slow now. ", 4000), ("And.", 500)), 4000, "Slow now.", True),
    "other words by their share of all": Cut((("Slowly now. ", 4000), ("And fast.", 500)), 3500, "Slowly now. And"),
    "no audio of the last aligned words yet": Cut(
        (("One two. ", 1000), ("Three ", 0), ("four.", 0)), 1000, "One two.", aligned=True, whole=False
    ),
    "aligned words that came together share their audio": Cut(
        (("one two ", 0), ("three four", 1800)), 900, "one two", aligned=True
    ),
    "and of little of it no word was heard": Cut((("one two ", 0), ("three four", 1800)), 100, "", aligned=True),
    "audio before the first word is silence": Cut((("", 500), ("one two", 0)), 250, "", aligned=True, whole=False),
    "a sentence whose audio has just begun": Cut((("a " * 100, 100),), 100, "a a", aligned=True, whole=False),
    "text that ran ahead of its audio": Cut((("word " * 200, 1000),), 1000, "word word word", whole=False),
    "in Japanese each character is a word": Cut((("今日はいい天気です", 900),), 450, "今日はい"),
    "in Chinese too, and a comma": Cut((("你好，世界。再见", 800),), 450, "你好，世"),
    "a name among characters, heard in part": Cut((("GPT模型很快", 700),), 350, "GPT"),
    "and heard to its end": Cut((("GPT模型很快", 700),), 450, "GPT模"),
}


def test_an_answer_is_cut_after_the_last_word_that_was_heard() -> None:
    cut = {
        name: spoken_answer(*one.pieces, aligned=one.aligned, whole=one.whole).truncate("item", one.heard_ms)
        for name, one in CUTS.items()
    }
    assert cut == {name: Truncation(one.stays, one.heard_ms) for name, one in CUTS.items()}


def test_more_than_arrived_cannot_have_been_heard() -> None:
    conversation = spoken_answer(("one two", 900.0))
    assert not conversation.is_truncated("item")
    assert conversation.truncate("item", 5000) == Truncation("one two", 900)
    assert (conversation.is_truncated("item"), conversation.is_truncated("nobody")) == (True, False)


@pytest.mark.parametrize(("audio_ms", "at_least", "at_most"), [(10_000.0, 24, 25), (60_000.0, 5, 7)])
def test_a_voice_is_cut_by_the_pace_of_what_it_has_said_to_the_end(
    audio_ms: float, at_least: int, at_most: int
) -> None:
    """An answer teaches its pace once, however often it is completed."""
    conversation = Conversation()
    said_so_far(conversation, "first", ("a " * 150, audio_ms))
    conversation.audio_complete("first")
    for _ in range(50):
        conversation.complete("first")
    said_so_far(conversation, "second", ("a " * 150, 1_000.0))
    assert at_least <= len(conversation.truncate("second", 1_000).transcript) <= at_most


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_what_was_cut_or_broke_off_teaches_no_pace(status: ItemStatus) -> None:
    conversation = Conversation()
    said_so_far(conversation, "cut", ("a " * 150, 10_000.0))
    conversation.audio_complete("cut")
    if status == "completed":
        conversation.truncate("cut", 5_000)
    conversation.complete("cut", status)
    said_so_far(conversation, "next", ("a " * 150, 1_000.0))
    assert len(conversation.truncate("next", 1_000).transcript) == 15


def test_what_arrives_after_the_cut_is_ignored() -> None:
    """Neither late words nor a later version of the item bring back what was cut off."""
    conversation = spoken_answer(FOUR)
    conversation.truncate("item", 1000)
    conversation.add_text("item", " five")
    conversation.add_audio("item", 500.0)
    assert conversation.audio_ms("item") == 1800.0
    assert conversation.spoken_text("item") == "one two"
    assert conversation.complete("item").text == "one two"
    conversation.add(message("item", "one two three four"))
    conversation.update("item", status="completed", content=(ContentPart(type="text", text="all"),))
    assert (conversation.items()[0].text, conversation.items()[0].status) == ("one two", "incomplete")


def test_known_words_of_what_was_played_replace_the_estimate() -> None:
    conversation = spoken_answer(FOUR)
    assert conversation.truncate("item", 1000, transcript="one two three") == Truncation("one two three", 1000)
    assert conversation.items()[0].text == "one two three"
    conversation.add(message("unheard", "one two"))
    assert conversation.truncate("unheard", 500, transcript="one") == Truncation("one", 0)
    assert conversation.items()[1].text == "one"


def test_a_truncation_that_was_wrong_is_made_anew() -> None:
    conversation = spoken_answer(FOUR)
    conversation.truncate("item", 500)
    assert conversation.truncate("item", 1000).transcript == "one"
    assert conversation.truncate("item", 1000, anew=True).transcript == "one two"


def test_a_text_has_no_audio_to_cut() -> None:
    conversation = Conversation()
    conversation.add(message("item", "one two"))
    assert (conversation.audio_ms("item"), conversation.audio_ms("nobody")) == (0.0, 0.0)
    assert conversation.truncate("item", 0) == Truncation("one two", 0)
    assert conversation.items()[0] == message("item", "one two")
    assert conversation.spoken_text("item") == "one two"


def test_an_answer_that_is_cut_before_it_began_says_nothing() -> None:
    conversation = spoken_answer(whole=False)
    assert conversation.truncate("item", 500) == Truncation("", 0)
    conversation.add_text("item", "too late")
    assert conversation.complete("item").text == ""


texts = st.text(alphabet="ab .,天", max_size=12)
pieces_of_speech = st.lists(st.tuples(texts, st.floats(0, 3000, allow_nan=False)), max_size=8)
heard = st.floats(0, 30_000, allow_nan=False)


@given(pieces_of_speech, heard)
def test_of_aligned_text_no_piece_counts_before_its_audio(pieces: list[tuple[str, float]], heard_ms: float) -> None:
    conversation = spoken_answer(*pieces, aligned=True)
    cut = conversation.truncate("item", heard_ms)
    heard_chars, start_ms, chars = 0, 0.0, 0
    for text, audio_ms in pieces:
        chars += len(text)
        # What is heard is known to the millisecond.
        if start_ms <= heard_ms + 1.001:
            heard_chars = chars
        start_ms += audio_ms
    assert len(cut.transcript) <= heard_chars


@given(pieces_of_speech, st.booleans(), st.lists(heard, min_size=2, max_size=5))
def test_cutting_again_only_shortens(pieces: list[tuple[str, float]], aligned: bool, moments_ms: list[float]) -> None:
    conversation = spoken_answer(*pieces, aligned=aligned)
    cuts = []
    for heard_ms in moments_ms:
        cuts.append(conversation.truncate("item", heard_ms))
        conversation.add_text("item", " more")
        conversation.add_audio("item", 1000.0)
        assert conversation.items()[0].text == cuts[-1].transcript.strip()
    for earlier, later in pairwise(cuts):
        assert earlier.transcript.startswith(later.transcript)
        assert later.audio_end_ms <= earlier.audio_end_ms

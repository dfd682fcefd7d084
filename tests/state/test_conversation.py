"""The conversation of a call: the order of its items, and that what was said is what was heard."""

from itertools import pairwise

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


def spoken_answer(*pieces: tuple[str, float], aligned: bool = False) -> Conversation:
    """A conversation with the answer `item`, whose pieces of text and their audio in ms have arrived whole."""
    conversation = Conversation(aligned=aligned)
    conversation.add(Item(id="item", role="assistant", status="in_progress"))
    for text, audio_ms in pieces:
        conversation.add_text("item", text)
        conversation.add_audio("item", audio_ms)
    conversation.audio_complete("item")
    return conversation


# -- order -------------------------------------------------------------------------------------------------------------


def test_items_stand_where_they_are_put() -> None:
    conversation = Conversation()
    assert conversation.add(message("b")) is None
    assert conversation.add(message("d")) == "b"
    assert conversation.add(message("a"), "root") is None
    assert conversation.add(message("c"), "b") == "b"
    assert conversation.add(message("e"), "unknown") == "d"
    assert conversation.add(message("f"), "f") == "e"
    assert ids(conversation) == ["a", "b", "c", "d", "e", "f"]
    assert len(conversation) == 6


def test_an_item_with_a_known_id_is_replaced_where_it_stands() -> None:
    conversation = Conversation()
    for item_id in ("a", "b", "c"):
        conversation.add(message(item_id))
    assert conversation.add(message("b", "new words"), "root") == "a"
    assert ids(conversation) == ["a", "b", "c"]
    assert conversation.items()[1].text == "new words"


def test_a_deleted_item_is_gone_and_can_come_again() -> None:
    conversation = Conversation()
    conversation.add(message("a"))
    conversation.add(message("b"))
    assert conversation.delete("a")
    assert not conversation.delete("a")
    assert ("a" in conversation, conversation.get("a")) == (False, None)
    assert conversation.add(message("a")) == "b"


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


@pytest.mark.parametrize("use", [Conversation.complete, Conversation.audio_complete, Conversation.spoken_text])
def test_an_unknown_item_is_an_error_of_the_caller(use: object) -> None:
    assert callable(use)
    with pytest.raises(KeyError):
        use(Conversation(), "nobody")


# -- what an item says -------------------------------------------------------------------------------------------------


def test_a_spoken_answer_gets_its_words_when_it_is_complete() -> None:
    conversation = spoken_answer((" Good", 300.0), (" morning.", 500.0))
    assert conversation.spoken_text("item") == " Good morning."
    assert conversation.audio_ms("item") == 800.0
    item = conversation.complete("item")
    assert item.content == (ContentPart(type="audio", transcript=" Good morning."),)
    assert (item.status, item.text) == ("completed", "Good morning.")


def test_words_without_audio_are_a_text() -> None:
    conversation = Conversation()
    conversation.add(message("item"))
    conversation.add_text("item", "Good ")
    conversation.add_text("item", "morning.")
    assert conversation.complete("item").content == (ContentPart(type="text", text="Good morning."),)


def test_a_text_that_was_set_is_kept_when_it_is_complete() -> None:
    conversation = Conversation()
    conversation.add(message("item"))
    conversation.add_text("item", "Good mor")
    conversation.set_text("item", "Good morning.")
    assert conversation.complete("item", "incomplete").content == (ContentPart(type="text", text="Good morning."),)


def test_what_a_user_said_is_a_transcript() -> None:
    conversation = Conversation()
    conversation.add(Item(id="item", role="user", content=(ContentPart(type="audio"),)))
    conversation.set_transcript("item", "hello there")
    assert conversation.items()[0].content == (ContentPart(type="audio", transcript="hello there"),)


def test_an_item_that_nobody_spoke_has_no_audio() -> None:
    conversation = Conversation()
    conversation.add(message("item", "hello"))
    assert (conversation.audio_ms("item"), conversation.audio_ms("nobody")) == (0.0, 0.0)
    assert conversation.spoken_text("item") == "hello"


# -- the cut at the heard word -----------------------------------------------------------------------------------------


def test_an_answer_is_cut_after_the_last_word_that_was_heard_to_its_end() -> None:
    conversation = spoken_answer(("one two three four", 1800.0))
    assert conversation.truncate("item", 1000) == Truncation("one two", 1000)
    item = conversation.items()[0]
    assert (item.text, item.status) == ("one two", "incomplete")


def test_an_answer_that_was_heard_whole_keeps_every_word() -> None:
    conversation = spoken_answer(("one two three four", 1800.7))
    assert conversation.truncate("item", 1800) == Truncation("one two three four", 1800)


def test_an_answer_of_which_nothing_was_heard_keeps_no_word() -> None:
    conversation = spoken_answer(("one two three four", 1800.0))
    assert conversation.truncate("item", 0) == Truncation("", 0)


def test_more_than_arrived_cannot_have_been_heard() -> None:
    conversation = spoken_answer(("one two", 900.0))
    assert conversation.truncate("item", 5000) == Truncation("one two", 900)


def test_aligned_words_are_heard_with_their_own_audio() -> None:
    conversation = spoken_answer(("Slowly now. ", 4000.0), ("And fast.", 500.0), aligned=True)
    assert conversation.truncate("item", 4000).transcript == "Slowly now."
    conversation = spoken_answer(("Slowly now. ", 4000.0), ("And fast.", 500.0))
    assert conversation.truncate("item", 3500).transcript == "Slowly now. And"


def test_aligned_words_whose_audio_has_not_arrived_were_not_heard() -> None:
    conversation = Conversation(aligned=True)
    conversation.add(message("item"))
    conversation.add_text("item", "One two. ")
    conversation.add_audio("item", 1000.0)
    conversation.add_text("item", "Three ")
    conversation.add_text("item", "four.")
    assert conversation.truncate("item", 1000).transcript == "One two."


def test_a_long_sentence_whose_audio_has_just_begun_was_not_heard_whole() -> None:
    conversation = Conversation(aligned=True)
    conversation.add(message("item"))
    conversation.add_text("item", "a " * 100)
    conversation.add_audio("item", 100.0)
    assert len(conversation.truncate("item", 100).transcript) <= 3


def test_aligned_words_that_came_together_share_their_audio() -> None:
    conversation = spoken_answer(("one two ", 0.0), ("three four", 1800.0), aligned=True)
    assert conversation.truncate("item", 900).transcript == "one two"
    assert conversation.truncate("item", 100).transcript == ""


def test_audio_before_the_first_word_is_silence() -> None:
    conversation = Conversation(aligned=True)
    conversation.add(message("item"))
    conversation.add_audio("item", 500.0)
    conversation.add_text("item", "one two")
    assert conversation.truncate("item", 250) == Truncation("", 250)


def test_text_may_run_ahead_of_its_audio() -> None:
    conversation = Conversation()
    conversation.add(message("item"))
    conversation.add_text("item", "word " * 200)
    conversation.add_audio("item", 1000.0)
    assert len(conversation.truncate("item", 1000).transcript) <= 15


def said_so_far(conversation: Conversation, name: str, text: str, audio_ms: float) -> None:
    conversation.add(Item(id=name, role="assistant", status="in_progress"))
    conversation.add_text(name, text)
    conversation.add_audio(name, audio_ms)


@pytest.mark.parametrize(("audio_ms", "at_least", "at_most"), [(10_000.0, 24, 25), (60_000.0, 5, 7)])
def test_a_voice_is_cut_by_the_pace_of_what_it_has_said_to_the_end(
    audio_ms: float, at_least: int, at_most: int
) -> None:
    conversation = Conversation()
    said_so_far(conversation, "first", "a " * 150, audio_ms)
    conversation.audio_complete("first")
    conversation.complete("first")
    said_so_far(conversation, "second", "a " * 150, 1_000.0)
    assert at_least <= len(conversation.truncate("second", 1_000).transcript) <= at_most


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_what_was_cut_or_broke_off_teaches_no_pace(status: ItemStatus) -> None:
    conversation = Conversation()
    said_so_far(conversation, "cut", "a " * 150, 10_000.0)
    conversation.audio_complete("cut")
    if status == "completed":
        conversation.truncate("cut", 5_000)
    conversation.complete("cut", status)
    said_so_far(conversation, "next", "a " * 150, 1_000.0)
    assert len(conversation.truncate("next", 1_000).transcript) == 15


def test_an_answer_teaches_its_pace_once() -> None:
    conversation = Conversation()
    said_so_far(conversation, "first", "a " * 150, 10_000.0)
    conversation.audio_complete("first")
    for _ in range(50):
        conversation.complete("first")
    said_so_far(conversation, "second", "a " * 150, 1_000.0)
    assert len(conversation.truncate("second", 1_000).transcript) <= 25


@pytest.mark.parametrize(
    ("text", "heard_ms", "transcript"),
    [
        ("今日はいい天気です", 450, "今日はい"),
        ("你好，世界。再见", 450, "你好，世"),
        ("GPT模型很快", 350, "GPT"),
        ("GPT模型很快", 450, "GPT模"),
    ],
)
def test_in_a_script_without_spaces_each_character_is_a_word(text: str, heard_ms: int, transcript: str) -> None:
    conversation = spoken_answer((text, 100.0 * len(text)))
    assert conversation.truncate("item", heard_ms).transcript == transcript


def test_what_arrives_after_the_cut_is_ignored() -> None:
    conversation = spoken_answer(("one two three four", 1800.0))
    conversation.truncate("item", 1000)
    conversation.add_text("item", " five")
    conversation.add_audio("item", 500.0)
    assert conversation.audio_ms("item") == 1800.0
    assert conversation.spoken_text("item") == "one two"
    assert conversation.complete("item").text == "one two"
    assert conversation.items()[0].status == "incomplete"


def test_a_later_version_of_the_item_does_not_bring_back_what_was_cut_off() -> None:
    conversation = spoken_answer(("one two three four", 1800.0))
    conversation.truncate("item", 1000)
    conversation.add(message("item", "one two three four"))
    conversation.update("item", status="completed", content=(ContentPart(type="text", text="all"),))
    assert (conversation.items()[0].text, conversation.items()[0].status) == ("one two", "incomplete")


def test_known_words_of_what_was_played_replace_the_estimate() -> None:
    conversation = spoken_answer(("one two three four", 1800.0))
    assert conversation.truncate("item", 1000, transcript="one two three") == Truncation("one two three", 1000)
    assert conversation.items()[0].text == "one two three"


def test_known_words_cut_an_item_whose_audio_never_arrived() -> None:
    conversation = Conversation()
    conversation.add(message("item", "one two"))
    assert conversation.truncate("item", 500, transcript="one") == Truncation("one", 0)
    assert conversation.items()[0].text == "one"


def test_a_truncation_that_was_wrong_is_made_anew() -> None:
    conversation = spoken_answer(("one two three four", 1800.0))
    conversation.truncate("item", 500)
    assert conversation.truncate("item", 1000).transcript == "one"
    assert conversation.truncate("item", 1000, anew=True).transcript == "one two"


def test_only_a_truncated_item_is_truncated() -> None:
    conversation = spoken_answer(("one two", 900.0))
    assert not conversation.is_truncated("item")
    conversation.truncate("item", 100)
    assert (conversation.is_truncated("item"), conversation.is_truncated("nobody")) == (True, False)


def test_a_text_has_no_audio_to_cut() -> None:
    conversation = Conversation()
    conversation.add(message("item", "one two"))
    assert conversation.truncate("item", 0) == Truncation("one two", 0)
    assert conversation.items()[0] == message("item", "one two")
    assert conversation.spoken_text("item") == "one two"


def test_an_answer_that_had_not_begun_is_cut_to_nothing() -> None:
    conversation = Conversation()
    conversation.add(Item(id="item", role="assistant", status="in_progress"))
    assert conversation.truncate("item", 500) == Truncation("", 0)
    conversation.add_text("item", "too late")
    assert conversation.complete("item").text == ""


@pytest.mark.parametrize(("count", "kept"), [(0, ""), (2, "cd"), (4, "abcd"), (9, "abcd")])
def test_the_latest_items_are_kept(count: int, kept: str) -> None:
    conversation = Conversation()
    for item_id in "abcd":
        conversation.add(message(item_id))
    conversation.keep_latest(count)
    assert "".join(item.id for item in conversation.items()) == kept


# -- whatever was said and heard ---------------------------------------------------------------------------------------

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

"""What the embedded model keeps of a conversation, and what its language model reads of it."""

import pytest

from realtime.event.base import ContentPart, Item
from realtime.model.base import ItemTruncate
from realtime.model.local.history import add_item, conversation_of, prompt_items, truncate
from realtime.state.conversation import Conversation


def user(item_id: str, text: str = "") -> Item:
    return Item(id=item_id, role="user", content=(ContentPart(type="audio", transcript=text),))


def speak(conversation: Conversation, item_id: str, *passages: tuple[str, float]) -> None:
    """A response of which these passages have arrived, each with its audio in ms."""
    text = ""
    conversation.add(Item(id=item_id, role="assistant", status="in_progress", content=(ContentPart(type="audio"),)))
    for words, audio_ms in passages:
        text += words
        conversation.add_text(item_id, words)
        conversation.add_audio(item_id, audio_ms)
        conversation.update(item_id, content=(ContentPart(type="audio", transcript=text),))


def texts(conversation: Conversation, *continued: str) -> list[str]:
    return [item.text for item in prompt_items(conversation.items(), continued)]


def test_items_stand_where_they_were_put() -> None:
    conversation = conversation_of([user("a", "one")])
    assert add_item(conversation, user("c", "three")) == "a"
    assert add_item(conversation, user("b", "two"), "a") == "a"
    assert add_item(conversation, user("d", "four"), "nobody") == "c"
    assert add_item(conversation, user("z", "zero"), "root") is None
    assert texts(conversation) == ["zero", "one", "two", "three", "four"]


def test_an_item_with_a_known_id_is_replaced_where_it_stands_and_words_arrive_after_their_item() -> None:
    conversation = conversation_of([user("a", "one"), user("b")])
    conversation.set_transcript("b", "two")
    assert texts(conversation) == ["one", "two"]
    assert add_item(conversation, user("a", "again")) is None
    assert texts(conversation) == ["again", "two"]


def test_two_pieces_of_one_turn_are_one_turn_for_the_language_model() -> None:
    conversation = conversation_of([user("a", "I would like"), user("b", "a cup of tea")])
    assert texts(conversation, "b") == ["I would like a cup of tea"]
    assert texts(conversation) == ["I would like", "a cup of tea"]
    picture = Item(id="p", role="user", content=(ContentPart(type="image", image=b"x", media_type="image/jpeg"),))
    add_item(conversation, picture, "a")
    items = [(item.id, item.text) for item in prompt_items(conversation.items(), {"b"})]
    assert items == [("b", "I would like a cup of tea"), ("p", "")], "pictures between the pieces stay"


def test_a_piece_behind_a_response_that_was_heard_is_a_turn_of_its_own() -> None:
    conversation = conversation_of([user("a", "I would like")])
    speak(conversation, "r", ("You said: I would like.", 1000))
    add_item(conversation, user("b", "a cup of tea"))
    assert texts(conversation, "b") == ["I would like", "You said: I would like.", "a cup of tea"]


def test_a_response_is_cut_to_the_words_that_were_heard() -> None:
    conversation = conversation_of([])
    speak(conversation, "r", ("One two three.", 1000), (" Four five.", 1000))
    assert truncate(conversation, ItemTruncate("r", 1500, "")) == "One two three. Four", "only the time is known"
    assert truncate(conversation, ItemTruncate("r", 700, "One two")) == "One two"
    conversation.add_text("r", " Six.")
    conversation.update("r", content=(ContentPart(type="audio", transcript="One two three. Four five. Six."),))
    assert texts(conversation) == ["One two"]
    with pytest.raises(KeyError):
        truncate(conversation, ItemTruncate("nobody", 0, ""))


def test_a_response_from_before_this_connection_is_cut_to_the_words_that_are_told() -> None:
    said = Item(id="r", role="assistant", content=(ContentPart(type="audio", transcript="One two three."),))
    for words, audio_ms in (("One", 700), ("", 100)):
        conversation = conversation_of([said])
        assert truncate(conversation, ItemTruncate("r", audio_ms, words)) == words
        assert texts(conversation) == ([words] if words else [])


def test_a_response_of_which_nothing_was_heard_is_not_shown_to_the_language_model() -> None:
    conversation = conversation_of([user("a", "hello")])
    speak(conversation, "r", ("Hello.", 600))
    truncate(conversation, ItemTruncate("r", 0, ""))
    assert texts(conversation) == ["hello"]


def test_the_oldest_items_of_an_endless_call_are_forgotten_and_pictures_that_are_kept_stay_whole() -> None:
    conversation = conversation_of([])
    for number in range(1000):
        add_item(conversation, user(str(number), str(number)))
    assert texts(conversation) == [str(number) for number in range(600, 1000)]
    part = ContentPart(type="image", image=b"x", media_type="image/jpeg")
    conversation = conversation_of([Item(id=str(number), role="user", content=(part,)) for number in range(50)])
    assert all(item.content[0].image == b"x" for item in conversation.items())

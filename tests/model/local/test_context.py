"""What the embedded model remembers of a conversation."""

from realtime.event.base import ContentPart, Item
from realtime.model.local.context import Context


def user(item_id: str, text: str = "") -> Item:
    return Item(id=item_id, role="user", content=(ContentPart(type="audio", transcript=text),))


def assistant(item_id: str) -> Item:
    return Item(id=item_id, role="assistant", status="in_progress", content=(ContentPart(type="audio"),))


def texts(context: Context) -> list[str]:
    return [item.text for item in context.for_responder()]


def test_items_stand_where_they_were_put() -> None:
    context = Context([user("a", "one")])
    assert context.add(user("c", "three")) == "a"
    assert context.add(user("b", "two"), "a") == "a"
    assert context.add(user("d", "four"), "nobody") == "c"
    assert texts(context) == ["one", "two", "three", "four"]


def test_an_item_with_a_known_id_is_replaced_where_it_stands() -> None:
    context = Context([user("a", "one"), user("b", "two")])
    assert context.add(user("a", "again")) is None
    assert texts(context) == ["again", "two"]


def test_words_arrive_after_their_item() -> None:
    context = Context()
    context.add(user("a"))
    context.hear("a", "hello")
    assert texts(context) == ["hello"]


def test_deleting_is_told_from_not_knowing() -> None:
    context = Context([user("a", "one")])
    assert context.delete("a")
    assert not context.delete("a")
    assert "a" not in context


def test_two_pieces_of_one_turn_are_one_turn_for_the_responder() -> None:
    context = Context([user("a", "I would like")])
    context.add(user("b", "a cup of tea"), continues=True)
    assert texts(context) == ["I would like a cup of tea"]


def test_an_item_may_be_put_before_all_others() -> None:
    context = Context([user("a", "one"), user("b", "two")])
    assert context.add(user("c", "zero"), "root") is None
    assert texts(context) == ["zero", "one", "two"]


def test_pictures_between_two_pieces_of_a_turn_stay() -> None:
    picture = Item(id="p", role="user", content=(ContentPart(type="image", image=b"x", media_type="image/jpeg"),))
    context = Context([user("a", "what is")])
    context.add(picture)
    context.add(user("b", "this thing"), continues=True)
    assert [(item.id, item.text) for item in context.for_responder()] == [("b", "what is this thing"), ("p", "")]


def test_a_piece_behind_an_answer_that_was_heard_is_a_turn_of_its_own() -> None:
    context = Context([user("a", "I would like")])
    context.add(assistant("r"))
    context.speak("r", "You said: I would like.", 1000)
    context.add(user("b", "a cup of tea"), continues=True)
    assert texts(context) == ["I would like", "You said: I would like.", "a cup of tea"]


def test_an_answer_is_cut_to_the_words_that_were_heard() -> None:
    context = Context()
    context.add(assistant("r"))
    context.speak("r", "One two three.", 1000)
    context.speak("r", " Four five.", 1000)
    assert context.truncate("r", 700, "One two") == "One two"
    context.speak("r", " Six.", 500)
    assert texts(context) == ["One two"]


def test_where_only_the_time_is_known_words_are_counted_off() -> None:
    context = Context()
    context.add(assistant("r"))
    context.speak("r", "One two three.", 1000)
    context.speak("r", " Four five.", 1000)
    assert context.truncate("r", 1500, "") == "One two three. Four"
    assert context.truncate("nobody", 0, "") is None


def test_an_answer_of_which_nothing_was_heard_is_not_shown_to_the_responder() -> None:
    context = Context([user("a", "hello")])
    context.add(assistant("r"))
    context.speak("r", "Hello.", 600)
    context.truncate("r", 0, "")
    assert texts(context) == ["hello"]


def test_written_answers_grow_and_finish() -> None:
    context = Context()
    context.add(Item(id="r", role="assistant", status="in_progress", content=(ContentPart(type="text"),)))
    context.speak("r", "Good", None)
    context.speak("r", " day.", None)
    context.finish("r", "completed")
    item = context.get("r")
    assert item is not None
    assert (item.text, item.status) == ("Good day.", "completed")


def test_the_oldest_items_of_an_endless_call_are_forgotten() -> None:
    context = Context()
    for number in range(1000):
        context.add(user(str(number), str(number)))
    assert texts(context) == [str(number) for number in range(600, 1000)]

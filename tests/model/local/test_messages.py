"""What a formatter is given: the newest of the conversation, in turns that every family takes."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from realtime.event.base import ContentPart, Item
from realtime.formatter import NO_RESULT_YET
from realtime.message import Base64Source, DataBlock, Msg, TextBlock, ToolCallBlock, ToolResultBlock, check_pairs
from realtime.model.local.chat_messages import GO_ON, LISTENING, NOT_UNDERSTOOD, HistoryLimits
from realtime.model.local.language_model import Prompt
from realtime.model.local.messages import messages_of
from tests.model.local.test_chat_messages import NO_LIMITS, assistant, call, result, spoken, user


def written(*history: Item, limits: HistoryLimits = NO_LIMITS, images: bool = False, **more: Any) -> list[Msg]:
    return messages_of(Prompt(history=history, **more), limits, takes_images=images)


def told(message: Msg) -> list[str]:
    """The blocks of a message, each as a word."""
    words = []
    for block in message.content:
        match block:
            case TextBlock():
                words.append(block.text)
            case ToolCallBlock():
                words.append(f"{block.id} {block.name}({block.input})")
            case ToolResultBlock():
                words.append(f"{block.id} = {block.output}")
            case _:
                words.append(block.type)
    return words


def said(*history: Item, **more: Any) -> list[tuple[str, list[str]]]:
    return [(message.role, told(message)) for message in written(*history, **more)]


def test_instructions_words_and_answers_become_messages() -> None:
    messages = written(
        spoken("Hello."), assistant("Hi."), user("Bye.", "Ann"), instructions="Be kind.", agent_name="Mia"
    )
    assert [(one.role, one.name, told(one)) for one in messages] == [
        ("system", "system", ["Be kind."]),
        ("user", "user", ["Hello."]),
        ("assistant", "Mia", ["Hi."]),
        ("user", "Ann", ["Bye."]),
    ]


def test_a_side_that_speaks_twice_has_one_turn() -> None:
    history = [user("One."), user("Two."), assistant("Three."), assistant("Four."), user("Five.")]
    assert said(*history) == [("user", ["One.", "Two."]), ("assistant", ["Three. Four."]), ("user", ["Five."])]


def test_the_user_speaks_first_and_the_last_are_words_of_the_user_or_results() -> None:
    noise = Item(id="noise", role="user", content=(ContentPart(type="audio", transcript=""),))
    assert said() == [("user", [LISTENING])]
    assert said(assistant("Hi.")) == [("user", [LISTENING]), ("assistant", ["Hi."]), ("user", [GO_ON])]
    assert said(user("Hello."), assistant("Hi."), noise)[-1] == ("user", [NOT_UNDERSTOOD])
    assert said(user("Hello."), assistant("Hi."), call("a"), result("a"))[-1][0] == "assistant"


def test_a_turn_holds_its_calls_and_results_in_order() -> None:
    """The calls of one answer come together; ids of several models may collide."""
    history = [
        user("Hello."),
        assistant("Let me see."),
        call("x", '{"a": 1}'),
        call("x"),
        result("x"),
        assistant("Noon."),
    ]
    assert said(*history)[1] == (
        "assistant",
        [
            "Let me see.",
            'call00000 clock({"a": 1})',
            "call00001 clock({})",
            "call00000 = noon",
            "call00001 = noon",
            "Noon.",
        ],
    )
    one_by_one = [user("Hello."), call("a"), result("a"), call("b"), result("b", "one")]
    assert said(*one_by_one)[1][1] == [
        "call00000 clock({})",
        "call00000 = noon",
        "call00001 clock({})",
        "call00001 = one",
    ]


def test_a_result_that_never_came_is_said_and_one_without_a_call_is_left_out() -> None:
    # Formatters write arguments that are no JSON object as {}.
    assert said(user("Hello."), call("a", '{"broken'), result("b"))[1][1] == [
        'call00000 clock({"broken)',
        f"call00000 = {NO_RESULT_YET}",
    ]


def test_speakers_are_named_where_there_are_several() -> None:
    assert said(user("Hello.", "Ann"), user("Hi.", "Bo"), user("Who?")) == [
        ("user", ["[Ann]: Hello.", "[Bo]: Hi.", "Who?"])
    ]


def test_system_items_stay_where_they_stand() -> None:
    note = Item(id="n", role="system", content=(ContentPart(type="text", text="Ann has left."),))
    roles = [role for role, _ in said(user("Hello."), note, note, user("And now?"))]
    assert roles == ["user", "system", "system", "user"]


def test_images_are_blocks_for_a_model_that_takes_them() -> None:
    look = user("Look.", image=b"\x89PN")
    assert told(written(look)[0]) == ["Look."]
    shown = written(look, images=True)[0].content[1]
    assert isinstance(shown, DataBlock)
    assert shown.source == Base64Source(data=b"\x89PN", media_type="image/png")


def test_a_long_history_is_cut_at_the_front_and_never_behind_the_last_words_of_the_user() -> None:
    history = [item for number in range(50) for item in (user(f"user {number}"), assistant(f"assistant {number}"))]
    kept = said(*history, user("Now?"), limits=HistoryLimits(messages=8))
    assert 5 <= len(kept) <= 9
    assert kept[-1] == ("user", ["Now?"])
    asked = [user("Now?"), *(item for number in range(20) for item in (call(str(number)), result(str(number))))]
    kept = said(*history, *asked, limits=HistoryLimits(messages=8, chars=100))
    assert kept[0] == ("user", ["Now?"])
    assert len(kept[1][1]) == 40


ITEMS = st.one_of(
    st.builds(user, st.sampled_from(["", "Hello.", "[Ann]: Hi."]), st.sampled_from([None, "Ann", "Bo"])),
    st.builds(assistant, st.sampled_from(["", "Yes."])),
    st.builds(call, st.sampled_from("ab"), st.sampled_from(["{}", "broken"])),
    st.builds(result, st.sampled_from("abc")),
)


@given(st.lists(ITEMS, max_size=20), st.integers(1, 10), st.integers(1, 100))
def test_whatever_happened_the_messages_are_in_order(history: list[Item], messages: int, chars: int) -> None:
    given_out = written(*history, limits=HistoryLimits(messages=messages, chars=chars))
    roles = [message.role for message in given_out]
    assert roles[0] == "user"
    assert roles[-1] == "user" or isinstance(given_out[-1].content[-1], ToolResultBlock)
    assert all(one != other for one, other in itertools.pairwise(roles))
    assert check_pairs(given_out) == []
    assert all(message.content for message in given_out)

"""An agent's memory in line with the conversation of a call: what was heard, and nothing else of it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from realtime.agent.call_memory import LONG_HISTORY, CallMemory
from realtime.event.base import ContentPart, Item
from realtime.message import (
    AssistantMsg,
    HintBlock,
    Msg,
    SystemMsg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    UserMsg,
)
from tests.agent.thinking import shape

NAME = "Friday"
CALL = ToolCallBlock(id="call_1", name="clock", input="{}")
NOON = ToolResultBlock(id="call_1", name="clock", output="noon")
CUT = ToolResultBlock(
    id="call_1", name="clock", output="The tool call was interrupted.", state=ToolResultState.INTERRUPTED
)


def user(item_id: str, text: str, name: str | None = None) -> Item:
    return Item(id=item_id, role="user", name=name, content=(ContentPart(type="audio", transcript=text),))


def heard(item_id: str, text: str) -> Item:
    return Item(id=item_id, role="assistant", content=(ContentPart(type="audio", transcript=text),))


def called(item_id: str = "c1") -> Item:
    return Item(id=item_id, type="tool_call", tool_call=CALL)


def answered(item_id: str = "r1", result: ToolResultBlock = NOON) -> Item:
    return Item(id=item_id, type="tool_result", tool_result=result)


def reply(*blocks: str | ToolCallBlock | ToolResultBlock | ThinkingBlock | HintBlock, msg_id: str = "reply") -> Msg:
    return AssistantMsg(
        NAME, [TextBlock(text=block) if isinstance(block, str) else block for block in blocks], id=msg_id
    )


def in_line(memory: Sequence[Msg], *history: Item, call: CallMemory | None = None) -> tuple[list[str], list[str]]:
    """The messages that are remembered and those that are asked, as short texts."""
    remembered, asked = (call or CallMemory(NAME, takes_images=False)).in_line(memory, history)
    return [*map(line, remembered)], [*map(line, asked)]


def line(msg: Msg) -> str:
    return f"{msg.role}: {' | '.join(shape(msg.content)).replace('text: ', '')}"


ONCE = UserMsg("user", "Tell me a story", id="u1")
STORY = reply("Once there was a lighthouse. It could not sleep.")


def test_what_has_no_answer_is_asked_and_not_remembered() -> None:
    assert in_line([], user("u1", "Hello")) == ([], ["user: Hello"])
    assert in_line([ONCE], user("u1", "Tell me a story")) == ([], ["user: Tell me a story"])
    _, asked = CallMemory(NAME, takes_images=False).in_line([], [user("u1", "Hello", "Ann")])
    assert [(msg.id, msg.name) for msg in asked] == [("u1", "Ann")]


def test_a_reply_that_was_heard_whole_stays_as_it_is() -> None:
    memory = [ONCE, reply(ThinkingBlock(thinking="A story."), "Once there was a lighthouse.\n\nIt could not sleep.")]
    history = user("u1", "Tell me a story"), heard("a1", "Once there was a lighthouse. It could not sleep.")
    remembered, asked = CallMemory(NAME, takes_images=False).in_line(memory, [*history, user("u2", "And?")])
    assert remembered == memory
    assert all(one is other for one, other in zip(remembered, memory, strict=True))
    assert [*map(line, asked)] == ["user: And?"]


def test_a_cut_reply_keeps_the_words_that_were_heard() -> None:
    history = user("u1", "Tell me a story"), heard("a1", "Once there was"), user("u2", "Stop")
    assert in_line([ONCE, STORY], *history) == (
        ["user: Tell me a story", "assistant: Once there was"],
        ["user: Stop"],
    )


def test_a_reply_of_which_nothing_was_heard_leaves_no_trace_and_its_question_is_asked_again() -> None:
    thought = reply(ThinkingBlock(thinking="A story."), "Once there was a lighthouse.")
    history = user("u1", "Tell me a story"), user("u2", "about a dog")
    assert in_line([ONCE, thought], *history) == ([], ["user: Tell me a story", "user: about a dog"])


def test_a_turn_that_went_on_is_asked_as_one() -> None:
    assert in_line([ONCE, STORY], user("u1", "Tell me a story about a dog")) == (
        [],
        ["user: Tell me a story about a dog"],
    )


def test_tools_stay_where_the_words_around_them_were_not_heard() -> None:
    """The call did what it did; what was said of it was not heard."""
    clock = reply("Let me see.", CALL, NOON, "It is noon.")
    asked = user("u1", "Tell me a story"), heard("a1", "Let me see."), called(), answered()
    assert in_line([ONCE, clock], *asked, user("u2", "Well?")) == (
        ["user: Tell me a story", "assistant: Let me see. | tool_call: clock({}) | tool_result: success noon"],
        ["user: Well?"],
    )


def test_a_tool_of_the_call_has_the_result_that_the_call_got() -> None:
    """The agent was interrupted while the call ran the tool to its end."""
    history = user("u1", "Tell me a story"), called(), answered(), user("u2", "Well?")
    remembered, _ = in_line([ONCE, reply(CALL, CUT)], *history)
    assert remembered[1] == "assistant: tool_call: clock({}) | tool_result: success noon"


def test_a_resumed_reply_has_both_parts() -> None:
    """A false interruption: the rest was played as an item of its own."""
    parts = heard("a1", "Once there was"), heard("a2", "a lighthouse. It could not sleep.")
    remembered, _ = in_line([ONCE, STORY], user("u1", "Tell me a story"), *parts, user("u2", "Nice"))
    assert remembered == ["user: Tell me a story", "assistant: Once there was a lighthouse. It could not sleep."]


def test_words_that_are_not_the_agents_stand_for_themselves() -> None:
    """`say` of the program, before and after the reply."""
    history = user("u1", "Tell me a story"), heard("s1", "Gladly!"), heard("a1", STORY.get_text_content() or "")
    remembered, _ = in_line([ONCE, STORY], *history, heard("s2", "The end."), user("u2", "Nice"))
    assert remembered == [
        "user: Tell me a story",
        "assistant: Gladly!",
        "assistant: Once there was a lighthouse. It could not sleep.",
        "assistant: The end.",
    ]


def test_words_right_behind_a_reply_in_one_item_are_split_off() -> None:
    history = user("u1", "Tell me a story"), heard("a1", "Once there was a lighthouse. It could not sleep. The end.")
    remembered, _ = in_line([ONCE, STORY], *history, user("u2", "Nice"))
    assert remembered[2:] == ["assistant: The end."]


def test_an_empty_memory_is_primed_from_the_history() -> None:
    history = (
        heard("a0", "Good morning."),
        Item(id="s1", role="system", content=(ContentPart(type="text", text="The shop closes at six."),)),
        user("u1", "What time is it?"),
        heard("a1", "Let me see."),
        called(),
        answered(),
        heard("a2", "It is noon."),
        user("u2", "Thanks"),
    )
    assert in_line([], *history) == (
        [
            "assistant: Good morning.",
            "system: The shop closes at six.",
            "user: What time is it?",
            "assistant: Let me see. | tool_call: clock({}) | tool_result: success noon | It is noon.",
        ],
        ["user: Thanks"],
    )


def test_a_loaded_memory_that_is_shorter_is_completed() -> None:
    history = (
        user("u1", "Tell me a story"),
        heard("a1", "Once there was a lighthouse. It could not sleep."),
        user("u2", "And then?"),
        heard("a2", "It shone."),
        user("u3", "Thanks"),
    )
    assert in_line([ONCE, STORY], *history)[0][2:] == ["user: And then?", "assistant: It shone."]


def test_what_the_agent_knew_before_the_call_stays() -> None:
    before = [UserMsg("user", "I am Ann.", id="x1"), AssistantMsg(NAME, "Hello Ann.", id="x2")]
    call = CallMemory(NAME, takes_images=False)
    assert in_line(before, user("u1", "Tell me a story"), call=call)[0] == ["user: I am Ann.", "assistant: Hello Ann."]
    told = [*before, ONCE, STORY]
    remembered, _ = in_line(told, user("u1", "Tell me a story"), heard("a1", "Once"), user("u2", "Stop"), call=call)
    assert remembered[:2] == ["user: I am Ann.", "assistant: Hello Ann."]
    assert remembered[3] == "assistant: Once"


def test_a_greeting_is_cut_like_any_reply() -> None:
    call = CallMemory(NAME, takes_images=False)
    before = [UserMsg("user", "I am Ann.", id="x1"), AssistantMsg(NAME, "Hello Ann.", id="x2")]
    call.in_line(before, [])
    greeted = [*before, UserMsg("user", "(listens)"), reply("Good morning. How can I help?")]
    remembered, _ = in_line(greeted, heard("a0", "Good morning."), user("u1", "Hi"), call=call)
    assert remembered == ["user: I am Ann.", "assistant: Hello Ann.", "user: (listens)", "assistant: Good morning."]


def test_a_saved_memory_with_a_greeting_is_not_greeted_twice() -> None:
    saved = [UserMsg("user", "(listens)"), reply("Good morning.", msg_id="g"), ONCE, STORY]
    story = heard("a1", "Once there was a lighthouse. It could not sleep.")
    history = heard("a0", "Good morning."), user("u1", "Tell me a story"), story, user("u2", "Nice")
    remembered, _ = in_line(saved, *history)
    assert remembered == [*map(line, saved)]


def test_a_deleted_item_is_forgotten() -> None:
    call = CallMemory(NAME, takes_images=False)
    pin = user("u1", "My number is 1234"), heard("a1", "Noted.")
    call.in_line([], [*pin, user("u2", "Hm")])
    memory = [
        UserMsg("user", "My number is 1234", id="u1"),
        reply("Noted.", msg_id="r1"),
        UserMsg("user", "Hm", id="u2"),
    ]
    memory.append(reply("Yes?", msg_id="r2"))
    history = user("u2", "Hm"), heard("a2", "Yes?"), user("u3", "Bye")
    assert in_line(memory, *history, call=call)[0] == ["user: Hm", "assistant: Yes?"]


def test_what_a_long_call_has_no_place_for_is_remembered_all_the_same() -> None:
    call = CallMemory(NAME, takes_images=False)
    turns = [item for n in range(LONG_HISTORY) for item in (user(f"u{n}", f"Turn {n}"), heard(f"a{n}", f"Answer {n}."))]
    memory, _ = call.in_line([], [*turns, user("last", "Hm")])
    assert len(memory) == 2 * LONG_HISTORY
    remembered, _ = call.in_line(memory, [*turns[5:], user("last", "Hm")])
    assert remembered == memory


def test_messages_of_others_stay_in_their_place() -> None:
    other = AssistantMsg("Bob", "I disagree.", id="bob")
    story = heard("a1", "Once there was a lighthouse. It could not sleep.")
    remembered, _ = in_line([ONCE, STORY, other], user("u1", "Tell me a story"), story, user("u2", "And?"))
    assert remembered[2:] == ["assistant: I disagree."]


def test_a_hint_survives_its_reply() -> None:
    hinted = reply(HintBlock(hint="The parcel is there."), "Your parcel has come.")
    remembered, _ = in_line([ONCE, hinted], user("u1", "Tell me a story"), heard("s1", "Hm."), user("u2", "What?"))
    assert "assistant: hint: The parcel is there." in remembered


def test_a_hint_in_the_middle_of_a_reply_comes_behind_it() -> None:
    hint = Item(id="h1", role="system", content=(ContentPart(type="text", text="The parcel is there."),))
    whole = reply("Let me see.", CALL, NOON, "It is noon.")
    parts = heard("a1", "Let me see."), called(), answered(), heard("a2", "It is noon.")
    for place in range(5):
        history = [user("u1", "Tell me a story"), *parts[:place], hint, *parts[place:]]
        remembered, asked = in_line([ONCE, whole], *history)
        assert (remembered, asked) == ([line(ONCE), line(whole)], ["system: The parcel is there."])
        known = SystemMsg("system", "The parcel is there.", id="h1")
        answer = reply("Your parcel has come.", msg_id="second")
        after = [*history, heard("a3", "Your parcel has come.")]
        remembered, asked = in_line([ONCE, whole, known, answer], *after)
        assert (remembered, asked) == ([*map(line, (ONCE, whole, known, answer))], [])


def test_several_speakers_are_told_apart() -> None:
    history = user("u1", "Hello", "Ann"), heard("a1", "Hello Ann."), user("u2", "Hi", "Ben")
    assert in_line([], *history) == (["user: [Ann]: Hello", "assistant: Hello Ann."], ["user: [Ben]: Hi"])


WORDS = st.lists(st.sampled_from(["once", "upon", "a", "time", "there", "was", "light"]), max_size=6).map(" ".join)


@given(st.lists(st.tuples(WORDS, st.lists(WORDS, max_size=3), st.booleans()), max_size=6), st.data())
def test_memory_and_conversation_say_the_same_whatever_was_heard(
    turns: list[tuple[str, list[str], bool]], data: st.DataObject
) -> None:
    """For any replies, of which any part was heard: the memory has these words, and bringing it in line again changes
    nothing."""
    memory: list[Msg] = []
    history: list[Item] = []
    for n, (said, texts, with_tool) in enumerate(turns):
        history.append(user(f"u{n}", said or "hm"))
        memory.append(UserMsg("user", said or "hm", id=f"u{n}"))
        whole = reply(*texts, *([CALL, NOON] if with_tool else []), msg_id=f"r{n}")
        memory.append(whole)
        words = " ".join(texts).split()
        n_heard = data.draw(st.integers(0, len(words)))
        history += [heard(f"a{n}", " ".join(words[:n_heard]))] if n_heard else []
        history += [called(f"c{n}"), answered(f"t{n}")] if with_tool else []
    history.append(user("last", "so"))
    call = CallMemory(NAME, takes_images=False)
    remembered, asked = call.in_line(memory, history)
    assert spoken(remembered) == [
        text for item in history if (text := "".join(item.text.split())) and item.role == "assistant"
    ]
    assert [msg.id for msg in remembered if msg.role == "user"] + [msg.id for msg in asked] == [
        item.id for item in history if item.role == "user"
    ]
    again, asked_again = call.in_line([*remembered, *asked], history)
    assert (again, [*map(line, asked_again)]) == (remembered, [*map(line, asked)])


def spoken(messages: Sequence[Msg]) -> list[str]:
    texts = ("".join((msg.get_text_content() or "").split()) for msg in messages if msg.role == "assistant")
    return [text for text in texts if text]


def test_system_messages_are_asked_with_the_rest() -> None:
    hint = Item(id="s1", role="system", content=(ContentPart(type="text", text="It rains."),))
    remembered, asked = CallMemory(NAME, takes_images=False).in_line([], [hint])
    assert (remembered, [type(msg) for msg in asked], line(asked[0])) == (
        [],
        [type(SystemMsg("s"))],
        "system: It rains.",
    )

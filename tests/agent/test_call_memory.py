"""An agent's memory in line with the conversation of a call: what was heard, and nothing else of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
TOLD = "Once there was a lighthouse. It could not sleep."
STORY = reply(TOLD)
CLOCK = reply("Let me see.", CALL, NOON, "It is noon.")
TELL = user("u1", "Tell me a story")
WHOLE = heard("a1", TOLD)
KNOWN = [line(ONCE), line(STORY)]
BOB = AssistantMsg("Bob", "I disagree.", id="bob")
RAIN = Item(id="s1", role="system", content=(ContentPart(type="text", text="It rains."),))
NOON_TOLD = "assistant: Let me see. | tool_call: clock({}) | tool_result: success noon"


@dataclass(frozen=True)
class Case:
    """What the agent remembers and the call's conversation: what it remembers in line with it, and is asked."""

    memory: list[Msg]
    history: tuple[Item, ...]
    remembered: list[str]
    asked: list[str]


CASES = {
    "what has no answer is asked and not remembered": Case([], (user("u1", "Hello"),), [], ["user: Hello"]),
    "also where it was remembered": Case([ONCE], (TELL,), [], ["user: Tell me a story"]),
    "system messages are asked with the rest": Case([], (RAIN,), [], ["system: It rains."]),
    "a cut reply keeps the words that were heard": Case(
        [ONCE, STORY],
        (TELL, heard("a1", "Once there was"), user("u2", "Stop")),
        [line(ONCE), "assistant: Once there was"],
        ["user: Stop"],
    ),
    "a reply of which nothing was heard leaves no trace and its question is asked again": Case(
        [ONCE, reply(ThinkingBlock(thinking="A story."), "Once there was a lighthouse.")],
        (TELL, user("u2", "about a dog")),
        [],
        ["user: Tell me a story", "user: about a dog"],
    ),
    "a turn that went on is asked as one": Case(
        [ONCE, STORY], (user("u1", "Tell me a story about a dog"),), [], ["user: Tell me a story about a dog"]
    ),
    # The call did what it did; what was said of it was not heard.
    "tools stay where the words around them were not heard": Case(
        [ONCE, CLOCK],
        (TELL, heard("a1", "Let me see."), called(), answered(), user("u2", "Well?")),
        [line(ONCE), NOON_TOLD],
        ["user: Well?"],
    ),
    # The agent was interrupted while the call ran the tool to its end.
    "a tool of the call has the result that the call got": Case(
        [ONCE, reply(CALL, CUT)],
        (TELL, called(), answered(), user("u2", "Well?")),
        [line(ONCE), "assistant: tool_call: clock({}) | tool_result: success noon"],
        ["user: Well?"],
    ),
    # A false interruption: the rest was played as an item of its own.
    "a resumed reply has both parts": Case(
        [ONCE, STORY],
        (TELL, heard("a1", "Once there was"), heard("a2", "a lighthouse. It could not sleep."), user("u2", "Nice")),
        KNOWN,
        ["user: Nice"],
    ),
    # `say` of the program, before and after the reply.
    "words that are not the agent's stand for themselves": Case(
        [ONCE, STORY],
        (TELL, heard("s1", "Gladly!"), WHOLE, heard("s2", "The end."), user("u2", "Nice")),
        [line(ONCE), "assistant: Gladly!", line(STORY), "assistant: The end."],
        ["user: Nice"],
    ),
    "words right behind a reply in one item are split off": Case(
        [ONCE, STORY],
        (TELL, heard("a1", f"{TOLD} The end."), user("u2", "Nice")),
        [*KNOWN, "assistant: The end."],
        ["user: Nice"],
    ),
    "an empty memory is primed from the history": Case(
        [],
        (
            heard("a0", "Good morning."),
            RAIN,
            user("u1", "What time is it?"),
            heard("a1", "Let me see."),
            called(),
            answered(),
            heard("a2", "It is noon."),
            user("u2", "Thanks"),
        ),
        ["assistant: Good morning.", "system: It rains.", "user: What time is it?", f"{NOON_TOLD} | It is noon."],
        ["user: Thanks"],
    ),
    "several speakers are told apart": Case(
        [],
        (user("u1", "Hello", "Ann"), heard("a1", "Hello Ann."), user("u2", "Hi", "Ben")),
        ["user: [Ann]: Hello", "assistant: Hello Ann."],
        ["user: [Ben]: Hi"],
    ),
    "a loaded memory that is shorter is completed": Case(
        [ONCE, STORY],
        (TELL, WHOLE, user("u2", "And then?"), heard("a2", "It shone."), user("u3", "Thanks")),
        [*KNOWN, "user: And then?", "assistant: It shone."],
        ["user: Thanks"],
    ),
    "a saved memory with a greeting is not greeted twice": Case(
        [UserMsg("user", "(listens)"), reply("Good morning.", msg_id="g"), ONCE, STORY],
        (heard("a0", "Good morning."), TELL, WHOLE, user("u2", "Nice")),
        ["user: (listens)", "assistant: Good morning.", *KNOWN],
        ["user: Nice"],
    ),
    "messages of others stay in their place": Case(
        [ONCE, STORY, BOB], (TELL, WHOLE, user("u2", "And?")), [*KNOWN, line(BOB)], ["user: And?"]
    ),
}


def test_the_memory_is_brought_in_line_with_what_was_heard() -> None:
    got = {name: in_line(case.memory, *case.history) for name, case in CASES.items()}
    assert got == {name: (case.remembered, case.asked) for name, case in CASES.items()}


def test_a_question_keeps_its_id_and_who_asked_it() -> None:
    _, asked = CallMemory(NAME, takes_images=False).in_line([], [user("u1", "Hello", "Ann"), RAIN])
    assert [(msg.id, msg.name) for msg in asked[:1]] == [("u1", "Ann")]
    assert type(asked[1]) is type(SystemMsg("s"))


def test_a_reply_that_was_heard_whole_stays_as_it_is_and_a_hint_survives_its_reply() -> None:
    memory = [ONCE, reply(ThinkingBlock(thinking="A story."), TOLD.replace(". ", ".\n\n"))]
    hinted = reply(HintBlock(hint="The parcel is there."), "Your parcel has come.")
    remembered_hint, _ = in_line([ONCE, hinted], TELL, heard("s1", "Hm."), user("u2", "What?"))
    assert "assistant: hint: The parcel is there." in remembered_hint
    remembered, asked = CallMemory(NAME, takes_images=False).in_line(memory, [TELL, WHOLE, user("u2", "And?")])
    assert remembered == memory
    assert all(one is other for one, other in zip(remembered, memory, strict=True))
    assert [*map(line, asked)] == ["user: And?"]


def test_what_the_agent_knew_before_the_call_stays_and_a_greeting_is_cut_like_any_reply() -> None:
    before = [UserMsg("user", "I am Ann.", id="x1"), AssistantMsg(NAME, "Hello Ann.", id="x2")]
    known = ["user: I am Ann.", "assistant: Hello Ann."]
    call = CallMemory(NAME, takes_images=False)
    assert in_line(before, TELL, call=call)[0] == known
    remembered, _ = in_line([*before, ONCE, STORY], TELL, heard("a1", "Once"), user("u2", "Stop"), call=call)
    assert remembered == [*known, line(ONCE), "assistant: Once"]
    call = CallMemory(NAME, takes_images=False)
    call.in_line(before, [])
    greeted = [*before, UserMsg("user", "(listens)"), reply("Good morning. How can I help?")]
    remembered, _ = in_line(greeted, heard("a0", "Good morning."), user("u1", "Hi"), call=call)
    assert remembered == [*known, "user: (listens)", "assistant: Good morning."]


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

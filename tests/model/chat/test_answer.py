"""How one response grows: pieces of any kind in, cumulative responses out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.message import Base64Source, DataBlock, TextBlock, ThinkingBlock, ToolCallBlock
from realtime.model.chat.answer import Answer
from realtime.model.chat.base import ChatResponse
from realtime.model.chat.failures import ChatFailure, Endpoint

ENDPOINT = Endpoint("the model", "http://x/v1", "model-x")


def answer(max_chars: int = 10_000) -> Answer:
    ticks = itertools.count()
    return Answer(ENDPOINT, lambda: float(next(ticks)), max_chars)


def whole(growing: Answer, before: ChatResponse | None = None) -> ChatResponse:
    """The last response; `before` is the one that was taken last."""
    before = growing.response() or before
    growing.end()
    last = growing.finish() or before
    assert last is not None
    return last


def told(response: ChatResponse) -> list[tuple[str, str]]:
    words = []
    for block in response.content:
        match block:
            case TextBlock(text=text) | ThinkingBlock(thinking=text):
                words.append((block.type, text))
            case ToolCallBlock():
                words.append((block.name, block.input))
            case DataBlock(source=Base64Source(data=data)):
                words.append(("data", data.decode()))
    return words


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["Hi \ud83d", "\ude00!"], "Hi \U0001f600!"),
        (["Hi ", "\ud83d", "\ude00!"], "Hi \U0001f600!"),
        (["Hi \ud83d", "all"], "Hi \ufffdall"),
        (["Hi", " \ude00all"], "Hi \ufffdall"),
        (["\ud83d\ude00", " \U0001f600"], "\U0001f600 \U0001f600"),
    ],
)
def test_half_a_character_is_joined_with_its_other_half_or_becomes_a_mark(pieces: list[str], words: str) -> None:
    """The SDKs read it as it came; no event could carry it."""
    growing = answer()
    for piece in pieces:
        growing.think(piece)
    for piece in pieces:
        growing.say(piece)
    for piece in pieces:
        growing.call(0, "call_1", "f", piece)
    assert told(whole(growing)) == [("thinking", words), ("text", words), ("f", words)]


def test_blocks_stand_in_the_order_of_their_first_piece_and_stay_there() -> None:
    growing = answer()
    growing.say("Let me ")
    growing.think("Which tool?")
    growing.call(0, "call_1", "clock", "")
    growing.say("look.")
    growing.show("sound", b"la", "audio/wav")
    growing.call(0, "", "", '{"zone": "Oslo"}')
    growing.show("sound", b"la", "audio/wav")
    assert told(whole(growing)) == [
        ("text", "Let me look."),
        ("thinking", "Which tool?"),
        ("clock", '{"zone": "Oslo"}'),
        ("data", "lala"),
    ]


def test_a_response_is_given_where_something_was_added() -> None:
    growing = answer()
    assert growing.response() is None
    growing.say("<thi")
    assert growing.response() is None, "it may be a tag"
    growing.say("s>")
    first = growing.response()
    assert first is not None
    assert told(first) == [("text", "<this>")]
    assert growing.response() is None
    growing.end()
    assert growing.finish() is None
    growing.use(5, 7)
    last = growing.finish()
    assert last is not None
    assert (last.id, last.created_at) == (first.id, first.created_at)
    assert last.usage is not None
    assert (last.usage.input_tokens, last.usage.output_tokens) == (5, 7)


def test_the_responses_of_a_stream_share_their_usage() -> None:
    growing = answer()
    growing.use(5, 1)
    growing.say("Hi")
    first = growing.response()
    growing.use(5, 9, reasoning_tokens=3)
    assert first is not None
    assert first.usage is not None
    assert (first.usage.output_tokens, first.usage.reasoning_tokens, first.usage.time) == (9, 3, 2.0)


def test_a_call_appears_with_its_name_and_has_an_id_of_its_own() -> None:
    growing = answer()
    growing.call(0, "call_1", "", "{")
    assert growing.response() is None
    growing.call(0, "", "clock", "}")
    growing.call(1, "call_1", "clock", " null ")
    growing.call(2, "", "clock", "")
    growing.call_whole("call_1", "clock", {"zone": "Zürich"}, thought_signature="s")
    calls = [block for block in whole(growing).content if isinstance(block, ToolCallBlock)]
    assert [call.input for call in calls] == ["{}", "{}", "{}", '{"zone": "Zürich"}']
    assert calls[0].id == "call_1"
    assert len({call.id for call in calls}) == 4


def test_what_is_not_whole_is_refused() -> None:
    growing = answer()
    with pytest.raises(ChatFailure, match="is no streamed chat completion"):
        growing.finish()
    growing.arrived()
    with pytest.raises(ChatFailure, match="broke off"):
        growing.finish()
    held = answer()
    held.think("Hm.")
    held.end(held_back=True)
    with pytest.raises(ChatFailure, match="content filter"):
        held.finish()
    held.say("Partly.")
    assert told(whole(held)) == [("thinking", "Hm."), ("text", "Partly.")]


def test_a_response_is_bounded_whatever_it_is_made_of() -> None:
    for add in (
        lambda growing: growing.arrived() or growing.say("a" * 10),
        lambda growing: [growing.arrived() for _ in range(10)],
        lambda growing: growing.think("", key=object(), redacted_thinking="a" * 10),
        lambda growing: growing.call(None, "", "clock", ""),
        lambda growing: growing.think("a" * 10),
        lambda growing: growing.call(0, "call_1", "write", "a" * 10),
        lambda growing: growing.call(None, "", "write", {"text": "a" * 10}),
        lambda growing: growing.call_whole("", "write", {"text": "a" * 10}),
        lambda growing: growing.show("sound", b"a" * 1000, "audio/wav"),
        lambda growing: growing.show_encoded("sound", "YWFh" * 400, "audio/wav"),
    ):
        growing = answer(max_chars=200)
        for _ in range(3):
            add(growing)  # type: ignore[no-untyped-call]
        with pytest.raises(ChatFailure, match="cut at 200 characters"):
            [add(growing) for _ in range(25)]  # type: ignore[no-untyped-call]


def test_there_are_not_thousands_of_calls() -> None:
    growing = answer()
    for index in range(1000):
        growing.call(index, "", "", "")
    with pytest.raises(ChatFailure, match="found no end"):
        growing.call(1000, "", "", "")


def test_thoughts_among_the_words_are_told_apart_from_them() -> None:
    """FMT-10: a tag split across chunks, an unclosed tag, nested tags, thoughts in the middle."""
    for pieces, expected in (
        (["<th", "ink>The user greets", ".</thi", "nk>\n\n", "Hi", "."], ("Hi.", "The user greets.")),
        (["\n<think>\nOne.\n</think>\n<think>Two.</think> Hello."], ("Hello.", "\nOne.\nTwo.")),
        (["<think></think>Hello."], ("Hello.", "")),
        (["<think>I never stop thin"], ("", "I never stop thin")),
        (["<think>a<think>b</think>c</think>d"], ("d", "a<think>b</think>c")),
        (["Hm. <think>Or ", "not?</think>Yes."], ("Hm. Yes.", "Or not?")),
        (["<thi"], ("<thi", "")),
        (["<thinking> is what I do."], ("<thinking> is what I do.", "")),
        ([" \n5 < 6"], ("5 < 6", "")),
    ):
        growing = answer()
        for piece in pieces:
            growing.say(piece)
        pairs = told(whole(growing))
        said, thought = ("".join(text for kind, text in pairs if kind == wanted) for wanted in ("text", "thinking"))
        assert (said, thought) == expected


@given(st.text("<>/think a\n", max_size=40), st.lists(st.integers(1, 5), max_size=40))
def test_any_division_of_a_text_gives_the_same(text: str, sizes: list[int]) -> None:
    at_once, divided = answer(), answer()
    at_once.say(text)
    at, seen, last = 0, "", None
    for size in (*sizes, len(text)):
        divided.say(text[at : at + size])
        at += size
        response = divided.response()
        if response is not None:
            said = "".join(words for kind, words in told(response) if kind == "text")
            assert said.startswith(seen)
            seen, last = said, response
    assert sorted(told(whole(divided, last))) == sorted(told(whole(at_once)))

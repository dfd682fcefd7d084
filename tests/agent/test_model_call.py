"""The events of a model call and of a tool result, from responses that grow."""

from typing import Any

from realtime.agent.model_call import BlockIds, ModelCall, ToolResult
from realtime.event import reply as r
from realtime.message import (
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultState,
    URLSource,
)
from realtime.model.chat.base import ChatBlock, ChatUsage
from tests.agent.thinking import call, shape, types_of
from tests.message.reply_grammar import check_replies

START = r.ReplyStartEvent(reply_id="r", session_id="s", name="Friday")
END = r.ReplyEndEvent(reply_id="r", session_id="s")


def data(content: bytes, block_id: str = "d") -> DataBlock:
    return DataBlock(source=Base64Source(data=content, media_type="audio/pcm"), id=block_id)


def text(words: str, block_id: str = "t") -> TextBlock:
    return TextBlock(text=words, id=block_id)


def told(*responses: list[ChatBlock], final: list[Any] | None = None, **options: Any) -> tuple[Msg, list[r.AgentEvent]]:
    """The message that these responses fold to, and the events."""
    model_call = ModelCall("r", BlockIds(), **options)
    events = [model_call.start("m")]
    for response in responses:
        events += model_call.grow(response, None)
    events += model_call.close(model_call.content if final is None else final)[1]
    whole = [START, *events, END]
    check_replies(whole)
    return Msg.from_events(whole), events


def test_a_block_ends_when_the_next_one_begins() -> None:
    _, events = told([text("One.")], [text("One."), call("x")])
    assert types_of(events)[1:] == [
        *("TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END"),
        *("TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_CALL_END"),
        "MODEL_CALL_END",
    ]
    model_call = ModelCall("r", BlockIds())
    model_call.grow([text("One.")], None)
    assert types_of(model_call.grow([text("One."), call("x")], None)) == ["TEXT_BLOCK_END"]


def test_an_unfinished_call_is_told_only_when_it_is_whole_and_bytes_grow() -> None:
    _, events = told([call("x")], [call("x", city="Oslo")])
    assert [event.delta for event in events if isinstance(event, r.ToolCallDeltaEvent)] == ['{"city": "Oslo"}']
    message, events = told([data(b"ab")], [data(b"abcd")])
    assert [event.data for event in events if isinstance(event, r.DataBlockDeltaEvent)] == [b"ab", b"cd"]
    assert message.content == [data(b"abcd")] or shape(message.content) == ["data: audio/pcm"]
    ids, blocks = BlockIds(), [text("", "a"), text("", "a"), text("", "a_2"), call("x", "a")]
    assert [ids.claim(block).id for block in blocks] == ["a", "a_2", "a_2_2", "a"], "unique within a type"


def test_the_message_is_what_was_told_of_its_blocks() -> None:
    rows: dict[str, tuple[list[list[ChatBlock]], list[str]]] = {
        "a call that grows": ([[call("x")], [call("x", city="Oslo")]], ['tool_call: x({"city": "Oslo"})']),
        "empty text is no block": ([[text("")], [text(""), call("x")]], ["tool_call: x({})"]),
        "a thought without words": ([[ThinkingBlock(thinking="", id="k")]], ["thinking: "]),
        "text that goes on behind a call is another block": (
            [[text("One.")], [text("One."), call("x")], [text("One. Two."), call("x")]],
            ["text: One.", "text:  Two.", "tool_call: x({})"],
        ),
    }
    got = {name: shape(told(*responses)[0].content) for name, (responses, _) in rows.items()}
    assert got == {name: expected for name, (_, expected) in rows.items()}


def test_text_that_a_model_takes_back_is_corrected() -> None:
    message, events = told([text("One two")], [text("Three")], holds_ends=True)
    assert shape(message.content) == ["text: Three"]
    assert [event.text for event in events if isinstance(event, r.TextBlockEndEvent)] == ["Three"]


def test_hooks_change_remove_and_add_blocks() -> None:
    said: list[ChatBlock] = [ThinkingBlock(thinking="hm", id="k"), text("One."), text("Two.", "t2"), call("x")]
    added = HintBlock(hint="Mind the gap.")
    message, _ = told(said, final=[said[0], text("Uno."), added, text("More.", "t")], holds_ends=True)
    assert shape(message.content) == ["thinking: hm", "text: Uno.", "text: ", "hint: Mind the gap.", "text: More."]
    message, _ = told(said, final=[text("New.", "n")], holds_ends=True)
    assert shape(message.content) == ["thinking: hm", "text: ", "text: ", "text: New."]


def test_a_call_that_is_cut_off_ends_what_is_open() -> None:
    model_call = ModelCall("r", BlockIds(), holds_ends=True)
    events = [model_call.start("m"), *model_call.grow([text("One"), call("x")], ChatUsage(7, 3, 0.1))]
    events += model_call.abort()
    check_replies([START, *events, END])
    message = Msg.from_events([START, *events, END])
    assert shape(message.content) == ["text: One"]
    assert message.usage is not None
    assert message.usage.input_tokens == 7


def result_of(*responses: list[Any], note: str = "") -> Any:
    model_call, result = ModelCall("r", BlockIds()), ToolResult("r", call("x"))
    model_call.grow([call("x")], None)
    events = [START, *model_call.close(model_call.content)[1][:-1], result.start()]
    for response in responses:
        events += result.grow(response)
    events += result.end(ToolResultState.SUCCESS, note)
    return Msg.from_events([*events, END]).get_content_blocks("tool_result")[0]


def test_the_text_of_a_tool_grows_and_a_note_is_added_to_it() -> None:
    for responses, note, output in (
        ([], "", ""),
        ([[text("a")], [text("ab")]], "", "ab"),
        ([[text("a"), text("b")]], "", "ab"),
        ([[text("Working. ")], [text("Done.")]], "", "Working. Done."),
        ([], "Stopped.", "Stopped."),
        ([[text("a")]], "Stopped.", "a\nStopped."),
    ):
        assert result_of(*responses, note=note).output == output
    reference = DataBlock(source=URLSource(url="https://example.com/a", media_type="image/png"), id="u")
    whole = [text("a"), data(b"xy"), reference]
    blocks = result_of([text("a"), data(b"x")], whole, whole).output
    assert [(block.type, getattr(block, "id", "")) for block in blocks][1:] == [("data", "d"), ("data", "u")]
    assert blocks[1].source.data == b"xy"

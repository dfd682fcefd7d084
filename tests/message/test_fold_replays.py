"""The fold over whole streams: whatever they hold, cut and replayed anyhow, they give the same messages."""

import base64
import json
from functools import partial
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import read_reply_event
from realtime.event import reply as e
from realtime.message import DataBlock, Msg, TextBlock, fold_messages
from tests.message.streams import KINDS, Json, Streams

REPLIES = ("reply_1", "reply_2")


def opened(reply_id: str) -> list[Json]:
    """The starts of a block of each kind, so that what follows finds them."""
    block: Json = {"reply_id": reply_id, "block_id": "block_1", "media_type": "audio/pcm"}
    tool: Json = {"reply_id": reply_id, "tool_call_id": "call_1", "tool_call_name": "look"}
    blocks = [block | {"type": f"{kind}_BLOCK_START"} for kind in ("TEXT", "THINKING", "DATA")]
    return [*blocks, *(tool | {"type": f"{kind}_START"} for kind in ("TOOL_CALL", "TOOL_RESULT"))]


def stream_of(seed: int, length: int, opens: bool) -> list[e.AgentEvent]:
    """Both replies begin, then anything happens. Ids and times count up."""
    made = Streams(seed)
    frames = [{"type": "REPLY_START", "reply_id": reply_id, "session_id": "s", "name": "Ada"} for reply_id in REPLIES]
    frames += [frame for reply_id in REPLIES if opens for frame in opened(reply_id)]
    frames += [made.frame() for _ in range(length)]
    return [
        read_reply_event(frame | {"id": f"e{n}", "created_at": f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z"})
        for n, frame in enumerate(frames)
    ]


streams = st.builds(stream_of, st.integers(0, 2**32), st.integers(0, 60), st.booleans())


def dumps(messages: list[Msg]) -> list[bytes]:
    return [message.to_json() for message in messages]


def test_every_class_of_event_takes_part() -> None:
    made = Streams(1)
    assert {type(read_reply_event(made.frame(kind))) for kind in KINDS} == {*get_args(e.AgentEvent)}


@given(streams)
def test_the_fold_knows_neither_clock_nor_chance(events: list[e.AgentEvent]) -> None:
    """REC-26: rebuild twice, dumps equal."""
    again = [read_reply_event(json.dumps(event.model_dump())) for event in events]
    assert dumps(fold_messages(events)) == dumps(fold_messages(again)) == dumps(fold_messages(again))


@given(streams)
def test_a_replay_from_any_checkpoint_gives_the_same(events: list[e.AgentEvent]) -> None:
    """REC-25: for every prefix k: snapshot at k + replay(k..end) == full rebuild."""
    whole = dumps(fold_messages(events))
    for cut in range(len(REPLIES), len(events) + 1):
        stored = [Msg.from_json(snapshot) for snapshot in dumps(fold_messages(events[:cut]))]
        for message in stored:
            for event in events[cut:]:
                if event.reply_id == message.id:
                    message.append_event(event)
        assert dumps(stored) == whole


@given(streams, st.data())
def test_replays_may_overlap_any_number_of_times(events: list[e.AgentEvent], data: st.DataObject) -> None:
    """AMB-27: overlap is harmless because events are dropped by id."""
    stream: list[e.AgentEvent] = []
    at = 0
    while at < len(events):
        upto = data.draw(st.integers(at + 1, len(events)))
        back = data.draw(st.integers(0, at))
        stream += events[back:upto]
        at = upto
    assert dumps(fold_messages(stream)) == dumps(fold_messages(events))


@given(streams, st.data())
def test_looking_at_the_content_on_the_way_changes_nothing(events: list[e.AgentEvent], data: st.DataObject) -> None:
    watched = {event.reply_id: Msg.from_events([event]) for event in events[: len(REPLIES)]}
    for event in events[len(REPLIES) :]:
        message = watched[event.reply_id]
        message.append_event(event)
        if data.draw(st.booleans()):
            assert Msg.from_json(message.to_json()) == message
    assert dumps(list(watched.values())) == dumps(fold_messages(events))


@given(streams)
def test_messages_of_interleaved_replies_are_those_of_each_alone(events: list[e.AgentEvent]) -> None:
    alone = [Msg.from_events([event for event in events if event.reply_id == reply_id]) for reply_id in REPLIES]
    assert dumps(fold_messages(events)) == dumps(alone)


GROWS: dict[str, tuple[Any, Any, str, str]] = {
    "text": (e.TextBlockStartEvent, e.TextBlockDeltaEvent, "block_id", "delta"),
    "thinking": (e.ThinkingBlockStartEvent, e.ThinkingBlockDeltaEvent, "block_id", "delta"),
    "data": (partial(e.DataBlockStartEvent, media_type="a/b"), e.DataBlockDeltaEvent, "block_id", "data"),
    "tool_call": (partial(e.ToolCallStartEvent, tool_call_name="f"), *(e.ToolCallDeltaEvent, "tool_call_id", "delta")),
}
"""Start, delta, and the names of the block's id and of what it grows by."""
PIECES = st.tuples(
    *(st.sampled_from(REPLIES), st.sampled_from([*GROWS]), st.sampled_from("01")),
    *(st.text(max_size=4), st.binary(max_size=5)),
)


@given(st.lists(PIECES, max_size=40))
def test_a_stream_may_be_aggregated_by_hand(pieces: list[tuple[str, str, str, str, bytes]]) -> None:
    """REC-29: an independent aggregator agrees with append_event. EVT-06, EVT-07: by block_id and tool_call_id."""
    events: list[e.AgentEvent] = [e.ReplyStartEvent(reply_id=r, session_id="s", name=r) for r in REPLIES]
    by_hand: dict[str, dict[tuple[str, str], Any]] = {reply_id: {} for reply_id in REPLIES}
    for reply_id, kind, block_id, text, data in pieces:
        start, delta, id_name, grows_by = GROWS[kind]
        to, piece = {"reply_id": reply_id, id_name: block_id}, data if kind == "data" else text
        blocks = by_hand[reply_id]
        if (kind, block_id) in blocks:
            blocks[kind, block_id] += piece
        else:
            events.append(start(**to))
            blocks[kind, block_id] = piece
        events.append(delta(**{grows_by: piece}, **to))

    fields = {"text": "text", "thinking": "thinking", "tool_call": "input"}
    for message in fold_messages(events):
        got = {
            (block["type"], block["id"]): base64.b64decode(block["source"]["data"])
            if block["type"] == "data"
            else block[fields[block["type"]]]
            for block in message.model_dump()["content"]
        }
        assert [*got.items()] == [*by_hand[message.id].items()]


def test_a_long_tool_output_and_many_blocks_stay_whole() -> None:
    events: list[e.AgentEvent] = [e.ReplyStartEvent(reply_id="r1", session_id="s", name="Friday")]
    for number in range(2_000):
        events.append(e.TextBlockStartEvent(reply_id="r1", block_id=str(number)))
        events.append(e.TextBlockDeltaEvent(reply_id="r1", block_id=str(number), delta="x"))
    events.append(e.ToolResultStartEvent(reply_id="r1", tool_call_id="c", tool_call_name="f"))
    to: Json = {"reply_id": "r1", "tool_call_id": "c", "block_id": "d", "media_type": "audio/pcm"}
    events += [e.ToolResultDataDeltaEvent(data=b"\x01\x02", **to) for _ in range(2_000)]
    message = Msg.from_events(events)
    assert message.get_text_content("") == "x" * 2_000
    (result,) = message.get_content_blocks("tool_result")
    (block,) = result.media
    assert isinstance(block, DataBlock)
    assert getattr(block.source, "data", None) == b"\x01\x02" * 2_000


def test_a_message_that_was_loaded_goes_on_growing() -> None:
    start = e.ReplyStartEvent(reply_id="r1", session_id="s", name="Friday")
    begun = e.TextBlockStartEvent(reply_id="r1", block_id="b")
    first, second = (e.TextBlockDeltaEvent(reply_id="r1", block_id="b", delta=text) for text in ("Good ", "morning"))
    loaded = Msg.from_json(Msg.from_events([start, begun, first]).to_json())
    assert loaded.append_event(second).get_text_content() == "Good morning"


def test_reading_an_event_again_gives_the_same_nested_blocks() -> None:
    """AMB-26: nested ids derive from the event id."""
    hint = {"type": "HINT_BLOCK", "id": "e1", "created_at": "t", "reply_id": "r1", "block_id": "h"}
    frame = hint | {"hint": [{"type": "text", "text": "noon"}, {"type": "text", "text": "x", "id": "mine"}]}
    once, again = read_reply_event(frame), read_reply_event(frame)
    assert once == again
    assert isinstance(once, e.HintBlockEvent)
    assert [part.id for part in once.hint if isinstance(part, TextBlock)] == ["e1_0", "mine"]

    result = {"type": "tool_result", "id": "c1", "name": "f", "output": [{"type": "text", "text": "x"}]}
    results = {"type": "EXTERNAL_EXECUTION_RESULT", "id": "e2", "created_at": "t", "reply_id": "r1"}
    done = results | {"execution_results": [result]}
    assert read_reply_event(done) == read_reply_event(done)


def test_a_fold_without_any_reply_is_empty(caplog: pytest.LogCaptureFixture) -> None:
    assert fold_messages([]) == []
    assert fold_messages([e.TextBlockStartEvent(reply_id="r1", block_id="b")]) == []
    assert "its reply has not begun" in caplog.text

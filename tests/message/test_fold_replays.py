"""The fold over whole streams: whatever they hold, cut and replayed anyhow, they give the same messages."""

import base64
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import read_reply_event
from realtime.event import reply as e
from realtime.message import ConfirmResult, DataBlock, Msg, TextBlock, ToolCallBlock, ToolResultBlock, fold_messages

REPLIES = ("r1", "r2")
IDS = ("0", "1")
EVENT_CLASSES: tuple[type[e.ReplyEvent], ...] = get_args(e.AgentEvent)

replies = st.sampled_from(REPLIES)
ids = st.sampled_from(IDS)
deltas = st.text(max_size=4)
chunks = st.binary(max_size=5)
parts = deltas | st.lists(st.builds(TextBlock, text=deltas, id=ids), max_size=2)
calls = st.builds(ToolCallBlock, id=ids, name=st.just("f"), input=deltas)
fields: dict[type[e.ReplyEvent], dict[str, st.SearchStrategy[Any]]] = {
    e.ReplyStartEvent: {"session_id": st.just("s"), "name": deltas, "role": st.sampled_from(["user", "assistant"])},
    e.ReplyEndEvent: {"session_id": st.just("s"), "error": st.none() | deltas},
    e.ExceedMaxItersEvent: {"name": deltas},
    e.RequestStopEvent: {},
    e.ModelCallStartEvent: {"model_name": deltas},
    e.ModelCallEndEvent: {"input_tokens": st.integers(0, 99), "output_tokens": st.integers(0, 99)},
    e.TextBlockStartEvent: {"block_id": ids},
    e.TextBlockDeltaEvent: {"block_id": ids, "delta": deltas},
    e.TextBlockEndEvent: {"block_id": ids, "text": st.none() | deltas},
    e.ThinkingBlockStartEvent: {"block_id": ids},
    e.ThinkingBlockDeltaEvent: {"block_id": ids, "delta": deltas},
    e.ThinkingBlockEndEvent: {"block_id": ids},
    e.DataBlockStartEvent: {"block_id": ids, "media_type": st.just("audio/pcm")},
    e.DataBlockDeltaEvent: {"block_id": ids, "data": chunks},
    e.DataBlockEndEvent: {"block_id": ids},
    e.HintBlockEvent: {"block_id": ids, "hint": parts, "source": st.none() | deltas},
    e.ToolCallStartEvent: {"tool_call_id": ids, "tool_call_name": deltas},
    e.ToolCallDeltaEvent: {"tool_call_id": ids, "delta": deltas},
    e.ToolCallEndEvent: {"tool_call_id": ids},
    e.ToolResultStartEvent: {"tool_call_id": ids, "tool_call_name": deltas},
    e.ToolResultTextDeltaEvent: {"tool_call_id": ids, "delta": deltas},
    e.ToolResultDataDeltaEvent: {
        "tool_call_id": ids,
        "block_id": ids,
        "media_type": st.just("image/png"),
        "data": chunks,
    },
    e.ToolResultEndEvent: {"tool_call_id": ids, "state": st.sampled_from(["success", "error", "running"])},
    e.RequireUserConfirmEvent: {"tool_calls": st.lists(calls, max_size=2)},
    e.UserConfirmResultEvent: {
        "confirm_results": st.lists(st.builds(ConfirmResult, confirmed=st.booleans(), tool_call=calls), max_size=2)
    },
    e.RequireExternalExecutionEvent: {"tool_calls": st.lists(calls, max_size=2)},
    e.ExternalExecutionResultEvent: {
        "execution_results": st.lists(st.builds(ToolResultBlock, id=ids, name=deltas, output=parts), max_size=2)
    },
    e.UserInterruptEvent: {},
    e.CustomEvent: {"name": deltas},
}
any_event = st.one_of(*(st.builds(cls, reply_id=replies, **of) for cls, of in fields.items()))


def numbered(events: Sequence[e.AgentEvent]) -> list[e.AgentEvent]:
    """The events with ids and times that count up."""
    frames = [event.model_dump() for event in events]
    return [
        read_reply_event(frame | {"id": f"e{n}", "created_at": f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z"})
        for n, frame in enumerate(frames)
    ]


def opened(reply_id: str, block_id: str) -> list[e.AgentEvent]:
    """The starts of a block of each kind, so that what follows finds them."""
    block: dict[str, Any] = {"reply_id": reply_id, "block_id": block_id}
    tool: dict[str, Any] = {"reply_id": reply_id, "tool_call_id": block_id, "tool_call_name": "f"}
    return [
        e.TextBlockStartEvent(**block),
        e.ThinkingBlockStartEvent(**block),
        e.DataBlockStartEvent(media_type="audio/pcm", **block),
        e.ToolCallStartEvent(**tool),
        e.ToolResultStartEvent(**tool),
    ]


STARTS: list[e.AgentEvent] = [e.ReplyStartEvent(reply_id=r, session_id="s", name=r) for r in REPLIES]
OPENED = [event for reply_id in REPLIES for event in opened(reply_id, "0")]
growth = st.one_of(
    *(
        st.builds(cls, reply_id=replies, **{**of, key: st.just("0")})
        for cls, of in fields.items()
        for key in ("block_id", "tool_call_id")
        if "Delta" in cls.__name__ and key in of
    )
)
streams = st.lists(any_event | growth, max_size=60).flatmap(
    lambda events: st.sampled_from([numbered(STARTS + events), numbered(STARTS + OPENED + events)])
)


def dumps(messages: list[Msg]) -> list[bytes]:
    return [message.to_json() for message in messages]


def test_every_class_of_event_takes_part() -> None:
    assert set(fields) == set(EVENT_CLASSES)


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


well_formed = st.lists(
    st.tuples(replies, st.sampled_from(["text", "thinking", "data", "call"]), ids, deltas, chunks), max_size=40
)


@given(well_formed)
def test_a_stream_may_be_aggregated_by_hand(pieces: list[tuple[str, str, str, str, bytes]]) -> None:
    """REC-29: an independent aggregator agrees with append_event. EVT-06, EVT-07: by block_id and tool_call_id."""
    events: list[e.AgentEvent] = [e.ReplyStartEvent(reply_id=r, session_id="s", name=r) for r in REPLIES]
    by_hand: dict[str, dict[tuple[str, str], Any]] = {reply_id: defaultdict(lambda: None) for reply_id in REPLIES}
    for reply_id, kind, block_id, delta, data in pieces:
        to: dict[str, Any] = {"reply_id": reply_id, "block_id": block_id}
        call: dict[str, Any] = {"reply_id": reply_id, "tool_call_id": block_id}
        blocks = by_hand[reply_id]
        first = (kind, block_id) not in blocks
        if kind == "text":
            events += [e.TextBlockStartEvent(**to)] if first else []
            events.append(e.TextBlockDeltaEvent(delta=delta, **to))
        elif kind == "thinking":
            events += [e.ThinkingBlockStartEvent(**to)] if first else []
            events.append(e.ThinkingBlockDeltaEvent(delta=delta, **to))
        elif kind == "data":
            events += [e.DataBlockStartEvent(media_type="a/b", **to)] if first else []
            events.append(e.DataBlockDeltaEvent(data=data, **to))
        else:
            events += [e.ToolCallStartEvent(tool_call_name="f", **call)] if first else []
            events.append(e.ToolCallDeltaEvent(delta=delta, **call))
        piece: Any = data if kind == "data" else delta
        blocks[kind, block_id] = piece if first else blocks[kind, block_id] + piece

    for message in fold_messages(events):
        expected = by_hand[message.id]
        dumped = message.model_dump()["content"]
        names = {"text": "text", "thinking": "thinking", "data": "data", "tool_call": "call"}
        fields = {"text": "text", "thinking": "thinking", "tool_call": "input"}
        got = {
            (names[block["type"]], block["id"]): base64.b64decode(block["source"]["data"])
            if block["type"] == "data"
            else block[fields[block["type"]]]
            for block in dumped
        }
        assert list(got.items()) == list(expected.items())


def test_a_long_tool_output_and_many_blocks_stay_whole() -> None:
    events: list[e.AgentEvent] = [e.ReplyStartEvent(reply_id="r1", session_id="s", name="Friday")]
    for number in range(2_000):
        events.append(e.TextBlockStartEvent(reply_id="r1", block_id=str(number)))
        events.append(e.TextBlockDeltaEvent(reply_id="r1", block_id=str(number), delta="x"))
    events.append(e.ToolResultStartEvent(reply_id="r1", tool_call_id="c", tool_call_name="f"))
    for _ in range(2_000):
        events.append(
            e.ToolResultDataDeltaEvent(
                reply_id="r1", tool_call_id="c", block_id="d", media_type="audio/pcm", data=b"\x01\x02"
            )
        )
    message = Msg.from_events(events)
    assert message.get_text_content("") == "x" * 2_000
    (result,) = message.get_content_blocks("tool_result")
    (block,) = result.media
    assert isinstance(block, DataBlock)
    assert getattr(block.source, "data", None) == b"\x01\x02" * 2_000


def test_a_message_that_was_loaded_goes_on_growing() -> None:
    events = numbered(
        [
            e.ReplyStartEvent(reply_id="r1", session_id="s", name="Friday"),
            e.TextBlockStartEvent(reply_id="r1", block_id="b"),
            e.TextBlockDeltaEvent(reply_id="r1", block_id="b", delta="Good "),
            e.TextBlockDeltaEvent(reply_id="r1", block_id="b", delta="morning"),
        ]
    )
    loaded = Msg.from_json(Msg.from_events(events[:3]).to_json())
    assert loaded.append_event(events[3]).get_text_content() == "Good morning"


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

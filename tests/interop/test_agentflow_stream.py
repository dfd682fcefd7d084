"""Replies as Agentflow streams them, and what readers make of the pieces."""

import json
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from realtime.event import reply as r
from realtime.interop import load
from realtime.interop.agentflow_stream import AgentflowStream
from realtime.message import ToolCallBlock, ToolResultBlock, Usage, fold_messages
from tests.volumes import SEED, volume

Json = dict[str, Any]
CALL = {"tool_call_id": "c", "tool_call_name": "show"}
DETAIL = {"input_audio_tokens": 3, "output_audio_tokens": 4, "output_reasoning_tokens": 5, "input_text_tokens": None}


def reply(*events: tuple[type, Json], reply_id: str = "r", end: bool = True) -> list[Any]:
    """The events of a reply, with ids and times."""
    whole: list[tuple[type, Json]] = [(r.ReplyStartEvent, {"session_id": "s", "name": "Friday"}), *events]
    whole += [(r.ReplyEndEvent, {"session_id": "s"})] if end else []
    at = {"reply_id": reply_id, "created_at": "2026-01-02T03:04:05.678Z"}
    return [kind(id=f"{reply_id}_e{number}", **at, **fields) for number, (kind, fields) in enumerate(whole)]


def text(block_id: str, *deltas: str) -> list[tuple[type, Json]]:
    pieces: list[tuple[type, Json]] = [(r.TextBlockDeltaEvent, {"block_id": block_id, "delta": one}) for one in deltas]
    return [(r.TextBlockStartEvent, {"block_id": block_id}), *pieces, (r.TextBlockEndEvent, {"block_id": block_id})]


def sound(block_id: str, *pieces: bytes) -> list[tuple[type, Json]]:
    deltas: list[tuple[type, Json]] = [(r.DataBlockDeltaEvent, {"block_id": block_id, "data": one}) for one in pieces]
    start = {"block_id": block_id, "media_type": "audio/pcm;rate=24000"}
    return [(r.DataBlockStartEvent, start), *deltas, (r.DataBlockEndEvent, {"block_id": block_id})]


def call(arguments: str = "{}", output: str = "shown") -> list[tuple[type, Json]]:
    return [
        (r.ToolCallStartEvent, CALL),
        (r.ToolCallDeltaEvent, {"tool_call_id": "c", "delta": arguments}),
        (r.ToolCallEndEvent, {"tool_call_id": "c"}),
        (r.ToolResultStartEvent, CALL),
        (r.ToolResultTextDeltaEvent, {"tool_call_id": "c", "delta": output}),
        (r.ToolResultEndEvent, {"tool_call_id": "c", "state": "success"}),
    ]


def streamed(events: list[Any], **options: Any) -> list[Json]:
    stream = AgentflowStream(**options)
    return [json.loads(json.dumps(one)) for event in events for one in stream.push(event)]


def test_a_delta_is_a_piece_of_the_message_that_follows() -> None:
    """AFL-05, AMB-63: `delta` and the same id."""
    messages = streamed(reply(*text("t", "Hel", "lo"), *call()))
    told = [
        (one["message_id"], one["role"], one["delta"], " ".join(block["type"] for block in one["content"]))
        for one in messages
    ]
    assert told == [
        ("r", "assistant", True, "text"),
        ("r", "assistant", True, "text"),
        ("r", "assistant", True, "tool_call"),
        ("r_1", "tool", True, "tool_result"),
        ("r", "assistant", False, "text tool_call"),
        ("r_1", "tool", False, "tool_result"),
    ]
    assert [one["content"][0]["text"] for one in messages[:2]] == ["Hel", "lo"]


@pytest.mark.parametrize("shape", ["page", "source"])
def test_readers_keep_the_whole_message_and_drop_its_pieces(shape: str) -> None:
    """AFL-06."""
    events = reply(*text("t", "Hel", "lo"), *call(), *text("u", "Done."))
    assert load(streamed(events, shape=shape), "agentflow") == fold_messages(events)


def test_pieces_alone_are_folded() -> None:
    """AMB-63: a stream that broke off says what it said so far."""
    events = reply(
        (r.ThinkingBlockStartEvent, {"block_id": "h"}),
        (r.ThinkingBlockDeltaEvent, {"block_id": "h", "delta": "Hm"}),
        (r.ThinkingBlockDeltaEvent, {"block_id": "h", "delta": "m."}),
        *text("t", "Hel", "lo"),
        *sound("a", bytes(480), bytes(960)),
        *call('{"a": 1}'),
        *text("u", "Do", "ne."),
        end=False,
    )
    (msg,) = load(streamed(events), "agentflow")
    (whole,) = fold_messages(events)
    assert [block.type for block in msg.content] == [block.type for block in whole.content]
    assert [block.text for block in msg.get_content_blocks("text")] == ["Hello", "Done."]
    assert [block.thinking for block in msg.get_content_blocks("thinking")] == ["Hmm."]
    assert [block.source for block in msg.get_content_blocks("data")] == [
        block.source for block in whole.get_content_blocks("data")
    ]
    assert [block.output for block in msg.get_content_blocks("tool_result")] == ["shown"]


def test_sound_in_pieces_that_do_not_fit_stays_in_pieces() -> None:
    """AMB-63: another type, and what is no base64."""
    media = [("audio/wav", "AQID"), ("audio/mpeg", "AQID"), ("audio/mpeg", "%")]
    pieces = [
        {"message_id": "m", "role": "assistant", "delta": True, "content": [
            {"type": "audio", "media": {"kind": "data", "mime_type": kind, "data_base64": data}}]}
        for kind, data in media
    ]  # fmt: skip
    problems: list[str] = []
    (msg,) = load(pieces, "agentflow", problems=problems)
    assert len(msg.get_content_blocks("data")) == 2
    assert problems == ["messages[0].content[2].media holds data_base64 that is no base64"]


def test_tokens_by_kind_are_told_where_the_provider_reports_them() -> None:
    """AFL-40: summed over the responses of a reply; 0 where none are reported."""
    response = (r.ModelCallEndEvent, {"input_tokens": 10, "output_tokens": 20, "metadata": {"usage_detail": DETAIL}})
    usages = streamed(reply(*text("t", "Hi"), response, response))[-1]["usages"]
    assert [usages[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")] == [20, 40, 60]
    assert [usages[name] for name in ("audio_tokens", "reasoning_tokens", "image_tokens")] == [14, 10, 0]
    plain = (r.ModelCallEndEvent, {"input_tokens": 10, "output_tokens": 20})
    assert streamed(reply(plain))[-1]["usages"]["audio_tokens"] == 0
    assert load(streamed(reply(response)), "agentflow")[0].usage == Usage(input_tokens=10, output_tokens=20)


def test_a_call_for_the_client_goes_out_at_once_and_its_answer_comes_back() -> None:
    """AFL-23: RequireExternalExecutionEvent is a `remote_tool_call`; its result ends up in the message."""
    asked: list[tuple[type, Json]] = [
        (r.ToolCallStartEvent, CALL),
        (r.ToolCallDeltaEvent, {"tool_call_id": "c", "delta": '{"a": 1}'}),
        (r.ToolCallEndEvent, {"tool_call_id": "c"}),
        (r.RequireExternalExecutionEvent, {"tool_calls": [ToolCallBlock(id="c", name="show")]}),
    ]
    (_, sent) = streamed(reply(*asked, end=False))
    remote = {"type": "remote_tool_call", "id": "c", "name": "show", "args": {"a": 1}, "tool_type": "remote"}
    assert (sent["role"], sent["delta"], sent["metadata"]) == ("tool", False, {"is_remote": True})
    assert sent["content"] == [remote]
    answered = ToolResultBlock(id="c", name="show", output="shown")
    events = reply(*asked, (r.ExternalExecutionResultEvent, {"execution_results": [answered]}), *text("t", "Done."))
    messages = streamed(events)
    (msg,) = load(messages, "agentflow")
    assert [block.type for block in msg.content] == ["tool_call", "tool_result", "text"]
    assert msg.get_content_blocks("tool_result")[0].output == "shown"


def test_replies_interleave_and_events_without_one_give_nothing() -> None:
    one, two = reply(*text("t", "Hi"), reply_id="one"), reply(*text("t", "Ho"), reply_id="two")
    stray = reply(*text("t", "He"), reply_id="none")[1:]
    mixed = [event for three in zip(one, two, stray, strict=False) for event in three] + [one[-1], two[-1]]
    assert load(streamed(mixed), "agentflow") == fold_messages([*one, *two])


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
parts = st.one_of(
    st.tuples(st.just(text), st.lists(words, max_size=4)),
    st.tuples(st.just(sound), st.lists(st.binary(max_size=4), max_size=3)),
)


def test_any_reply_comes_back_from_its_stream() -> None:
    """AMB-63: with its pieces."""

    @seed(SEED)
    @settings(max_examples=volume(100, 3_000), deadline=None, database=None)
    @given(st.lists(parts, max_size=5))
    def check(chosen: list[Any]) -> None:
        events = reply(*(event for at, (make, pieces) in enumerate(chosen) for event in make(f"b{at}", *pieces)))
        assert load(streamed(events), "agentflow") == fold_messages(events)

    check()

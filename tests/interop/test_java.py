"""What the pages of AgentScope Java print, and what its sources write: messages and events."""

import json
from typing import Any

import pytest

import realtime
import realtime.agent
import realtime.event
from realtime.event import reply as r
from realtime.interop import dump, dump_events, load, load_events
from realtime.message import (
    AssistantMsg,
    Base64Source,
    ConfirmResult,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    URLSource,
    Usage,
    UserMsg,
)

PRINTED = """{
  "name": "user",
  "role": "USER",
  "content": [
    {"type": "text", "text": "What is this image?"},
    {"type": "image", "source": {"type": "url", "url": "https://example.com/photo.jpg"}}
  ],
  "metadata": {},
  "id": "msg_001",
  "timestamp": "2024-01-15T10:30:00Z"
}"""
CALL = {"type": "tool_use", "id": "call_001", "name": "get_weather", "input": {"city": "Beijing"}}


def message(role: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    named = {"id": "msg_1", "name": "Friday", "timestamp": "2024-01-15T10:30:00Z"}
    return {**named, "role": role, "content": [*content], "metadata": {}, **fields}


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "output": [{"type": "text", "text": "Sunny"}], **fields}


def test_the_printed_message_loads_and_is_written_equal() -> None:
    """JAV-10, JAV-11, AMB-05: upper case roles. MSG-44, AMB-09: a URL without a media type."""
    (msg,) = load(PRINTED, "java1")
    assert (msg.id, msg.name, msg.role, msg.created_at) == ("msg_001", "user", "user", "2024-01-15T10:30:00.000Z")
    image = msg.get_content_blocks("data")[0]
    assert image.source == URLSource(url="https://example.com/photo.jpg", media_type="image/jpeg")
    (written,) = dump([msg], "java1")
    assert written == json.loads(PRINTED)
    assert [*written] == [*json.loads(PRINTED)]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ({"type": "text", "text": "Hi"}, "text"),
        ({"type": "thinking", "thinking": "Hm", "metadata": None}, "thinking"),
        ({"type": "image", "source": {"type": "url", "url": "https://example.com/a"}, "minPixels": 3}, "data"),
        ({"type": "audio", "source": {"type": "url", "url": "https://example.com/a.wav"}}, "data"),
        ({"type": "video", "source": {"type": "base64", "media_type": "video/mp4", "data": "AAAA"}, "fps": 2}, "data"),
        ({**CALL, "content": None, "metadata": {}}, "tool_call"),
        (result(id="call_001", name="get_weather", metadata={}), "tool_result"),
    ],
)
def test_all_seven_blocks_of_java_1_are_read_and_written_again(raw: dict[str, Any], kind: str) -> None:
    """JAV-04, JAV-12: also the fields that ours has no place for."""
    thread = [message("ASSISTANT", raw)]
    (msg,) = load(thread, "java1")
    assert [block.type for block in msg.content] == [kind]
    assert dump([msg], "java1") == thread


@pytest.mark.parametrize("url", ["https://example.com/a.png", "http://example.com/a.png", "file:///a.png"])
def test_an_image_is_read_from_the_web_or_a_file(url: str) -> None:
    """MSG-47."""
    (msg,) = load(message("USER", {"type": "image", "source": {"type": "url", "url": url}}), "java1")
    (block,) = msg.get_content_blocks("data")
    assert block.source == URLSource(url=url, media_type="image/png")


@pytest.mark.parametrize("dialect", ["java1", "java2"])
def test_an_image_in_memory_of_a_user_is_a_data_block(dialect: str) -> None:
    """MSG-24, MSG-47."""
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    (msg,) = load(message("USER", {"type": "image", "source": source}), dialect)
    (block,) = msg.get_content_blocks("data")
    assert block.source == Base64Source(data=b"\0\0\0", media_type="image/png")


def test_a_data_block_is_written_by_its_media_type() -> None:
    """MSG-46: to Java 1.x as the kinds that it has, else into the metadata; to Java 2.x as data."""
    kinds = ["image/png", "audio/wav", "video/mp4", "application/pdf"]
    msg = UserMsg("Ann", [DataBlock(source=Base64Source(data=b"x", media_type=kind), name="a") for kind in kinds])
    (written,) = dump([msg], "java1")
    assert [block["type"] for block in written["content"]] == ["image", "audio", "video"]
    assert load(written, "java1") == [msg]
    assert [block["type"] for block in dump([msg], "java2")[0]["content"]] == ["data"] * 4


@pytest.mark.parametrize("name", ["id", "toolUseId"])
@pytest.mark.parametrize("dialect", ["java1", "java2"])
def test_a_result_is_merged_into_the_message_of_its_call_and_split_again(dialect: str, name: str) -> None:
    """JAV-14, JAV-16, AMB-03, AMB-04: its name is that of the call."""
    thread = [message("ASSISTANT", {"type": "text", "text": "Let me see"}, CALL)]
    thread += [message("TOOL", result(**{name: "call_001"}), id="msg_2", name=None, metadata={"a": None})]
    (msg,) = load(thread, dialect)
    assert (msg.role, [block.type for block in msg.content]) == ("assistant", ["text", "tool_call", "tool_result"])
    (told,) = msg.get_content_blocks("tool_result")
    assert (told.id, told.name, told.output_text()) == ("call_001", "get_weather", "Sunny")
    assert dump([msg], dialect) == thread


def test_a_result_without_a_call_is_a_message_of_its_own() -> None:
    """JAV-02, AMB-04."""
    thread = [message("USER", {"type": "text", "text": "Hi"}), message("TOOL", result(id="call_9"), id="msg_2")]
    user, told = load(thread, "java2")
    assert (user.role, told.role, told.id) == ("user", "assistant", "msg_2")
    assert dump([user, told], "java2") == thread


def test_what_an_assistant_did_is_split_at_each_result() -> None:
    """JAV-16: and put together again."""
    msg = AssistantMsg(
        "Friday", [ToolCallBlock(id="a", name="f", input='{"x":1}'), ToolResultBlock(id="a", name="f", output="1")]
    )
    msg.content.append(TextBlock(text="One."))
    written = dump([msg], "java1")
    assert [one["role"] for one in written] == ["ASSISTANT", "TOOL", "ASSISTANT"]
    assert [one["id"] for one in written] == [msg.id, f"{msg.id}_1", f"{msg.id}_2"]
    assert load(written, "java1") == [msg]
    assert load(dump([msg], "java1", keep=False), "java1")[0].get_text_content() == "One."


@pytest.mark.parametrize(
    ("raw", "ours", "again"),
    [
        ({"input": {"city": "Oslo"}}, '{"city": "Oslo"}', {"input": {"city": "Oslo"}}),
        ({"input": {}, "content": '{"city": "Os'}, '{"city": "Os', {"input": {}, "content": '{"city": "Os'}),
        ({"input": '{"a": 1}'}, '{"a": 1}', {"input": '{"a": 1}'}),
        ({}, "", {}),
    ],
)
def test_the_arguments_of_a_call_are_an_object_there_and_text_here(raw: Any, ours: str, again: Any) -> None:
    """JAV-03, JAV-13, AMB-01, AMB-02: what is no JSON is kept as text."""
    thread = [message("ASSISTANT", {"type": "tool_use", "id": "c", "name": "f", **raw})]
    (msg,) = load(thread, "java1")
    (call,) = msg.get_content_blocks("tool_call")
    assert call.input == ours
    block = dump([msg], "java1")[0]["content"][0]
    assert {name: block[name] for name in ("input", "content") if name in block} == again


def test_a_failed_result_says_so_in_its_text() -> None:
    """JAV-15: the shortcut of the page; Java 1.x has no state of results."""
    failed = ToolResultBlock.error("call_abc123", "API call failed: Connection timeout")
    assert (failed.id, failed.state, failed.output) == ("call_abc123", "error", "API call failed: Connection timeout")
    (written,) = dump([AssistantMsg("Friday", [failed])], "java1")
    told = written["content"][0]["output"]
    assert told == [{"type": "text", "text": "Error: API call failed: Connection timeout"}]
    (read,) = load(dump([AssistantMsg("Friday", [failed])], "java1", keep=False), "java1")
    (again,) = read.get_content_blocks("tool_result")
    assert (again.state, again.output_text()) == ("error", "API call failed: Connection timeout")


@pytest.mark.parametrize("dialect", ["java1", "java2"])
def test_text_alone_equals_a_list_of_one_text(dialect: str) -> None:
    """MSG-89: and each is written as it was."""
    wordy, listed = message("USER", content="Hello"), message("USER", {"type": "text", "text": "Hello"})
    assert load(wordy, dialect)[0].content == load(listed, dialect)[0].content
    assert [dump(load(one, dialect), dialect) for one in (wordy, listed)] == [[wordy], [listed]]


@pytest.mark.parametrize(
    ("time", "ours"),
    [
        ("2024-01-15T10:30:00Z", "2024-01-15T10:30:00.000Z"),
        ("2024-01-15T11:30:00.5+01:00", "2024-01-15T10:30:00.500Z"),
        ("2024-01-15 10:30:00.123", "2024-01-15T10:30:00.123Z"),
        ("2024-01-15T10:30:00.123456789Z", "2024-01-15T10:30:00.123Z"),
        (1_705_314_600.25, "2024-01-15T10:30:00.250Z"),
        (1_705_314_600_250, "2024-01-15T10:30:00.250Z"),
    ],
)
def test_all_forms_of_time_are_read_and_come_back(time: Any, ours: str) -> None:
    """AMB-13."""
    thread = [message("USER", timestamp=time)]
    (msg,) = load(thread, "java1")
    assert msg.created_at == ours
    assert dump([msg], "java1") == thread


def test_a_time_without_a_zone_is_of_the_zone_that_is_told() -> None:
    from zoneinfo import ZoneInfo

    oslo = ZoneInfo("Europe/Oslo")
    thread = [message("USER", timestamp="2024-07-15 10:30:00.123")]
    (msg,) = load(thread, "java2", zone=oslo)
    assert msg.created_at == "2024-07-15T08:30:00.123Z"
    assert dump([msg], "java2", zone=oslo) == thread


def test_a_missing_name_is_the_role_and_null_stays_null() -> None:
    """AMB-06: what has no name in theirs is written as it was; a name of ours is written."""
    nameless = [message("USER", name=None)]
    (msg,) = load(nameless, "java2")
    assert msg.name == "user"
    assert dump([msg], "java2") == nameless
    assert dump([UserMsg("user", "Hi")], "java2")[0]["name"] == "user"


def test_java_2_has_usage_reason_and_states() -> None:
    """JAV-01, JAV-03."""
    usage = {"inputTokens": 5, "outputTokens": 7, "cachedTokens": 2, "time": 1.5, "totalTokens": 12}
    notes = {"agentscope_generate_reason": "ACTING_STOP_REQUESTED", "mine": 1}
    call = {**CALL, "state": "asking"}
    thread = [
        message(
            "ASSISTANT", call, result(id="call_001", name="get_weather", state="denied"), metadata=notes, usage=usage
        )
    ]
    (msg,) = load(thread, "java2")
    assert msg.usage == Usage(input_tokens=5, output_tokens=7, cache_input_tokens=2)
    assert (msg.finished_reason, msg.metadata["stop_requested"], msg.metadata["mine"]) == ("completed", "acting", 1)
    assert [block.state for block in msg.get_content_blocks(("tool_call", "tool_result"))] == ["asking", "denied"]  # type: ignore[union-attr]
    assert dump([msg], "java2") == thread
    (own,) = dump([AssistantMsg("Friday", "Hi", usage=msg.usage, finished_reason="interrupted")], "java2")
    assert own["usage"] == {"inputTokens": 5, "outputTokens": 7, "cachedTokens": 2, "totalTokens": 12}
    assert own["metadata"]["agentscope_generate_reason"] == "INTERRUPTED"


def test_a_hint_is_a_message_of_the_user_to_java_1_and_a_block_to_java_2() -> None:
    """AMB-12."""
    msg = AssistantMsg("Friday", [TextBlock(text="a"), HintBlock(hint="Be quick", source="timer"), TextBlock(text="b")])
    written = dump([msg], "java1")
    assert [(one["role"], one["content"][0]["text"]) for one in written] == [
        ("ASSISTANT", "a"),
        ("USER", "Be quick"),
        ("ASSISTANT", "b"),
    ]
    assert load(written, "java1") == [msg]
    (whole,) = dump([msg], "java2")
    assert whole["content"][1]["hint"] == "Be quick"


def test_a_number_of_a_name_is_one_sentence_with_its_place_and_the_rest_is_read() -> None:
    text = {"type": "text", "text": "Hi"}
    thread: list[Any] = [
        message("USER", {"type": "text", "text": 5}, text, {"type": "hologram"}, CALL),
        message("NARRATOR", text),
        7,
        message("ASSISTANT", text, usage={"inputTokens": "three"}, timestamp="soon", name=["a"]),
    ]
    problems: list[str] = []
    first, last = load(thread, "java2", problems=problems)
    types = "text, thinking, data, image, audio, video, hint, tool_use, tool_call, tool_result"
    assert problems == [
        "messages[0].content[0].text is the number 5, not text",
        f"messages[0].content[2].type is one of {types}, not 'hologram'",
        "messages[0].content[3] is a tool_call block, which a user message cannot hold",
        "messages[1].role is one of USER, ASSISTANT, SYSTEM, TOOL, not 'NARRATOR'",
        "messages[2] is no JSON object",
        "messages[3].name is a list, not text",
        "messages[3].timestamp is no time: 'soon'",
        "messages[3].usage cannot be read: inputTokens is the text 'three', not a whole number",
    ]
    assert [msg.get_text_content() for msg in (first, last)] == ["Hi", "Hi"]
    assert dump([first, last], "java2") == [thread[0], thread[3]]
    with pytest.raises(ValueError, match=r"messages\[0\]\.content\[0\]\.text is the number 5, not text; messages"):
        load(thread, "java2")


def test_a_message_that_holds_itself_is_one_sentence() -> None:
    metadata: dict[str, Any] = {}
    metadata["self"] = [metadata]
    problems: list[str] = []
    (msg,) = load([message("USER", metadata=metadata), message("USER", content="Hi")], "java1", problems=problems)
    assert problems == ["messages[0].metadata.self[0] holds itself"]
    assert msg.get_text_content() == "Hi"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("{", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        ("5", "messages are a JSON object or a list of them, not int"),
        ("[" * 5_000, "JSON"),
        ([{"role": "USER", "metadata": {(1,): 2}}], r"messages\[0\]\.metadata has a key that is no text: \(1,\)"),
        ([{"role": "USER", "metadata": {"a": object()}}], r"messages\[0\]\.metadata\.a is no JSON but object"),
        ([{"role": "USER", "content": 5}], r"messages\[0\]\.content is neither text nor a list of blocks"),
        ([{"role": ["USER"]}], r"messages\[0\]\.role is one of USER, ASSISTANT, SYSTEM, TOOL, not \"\['USER'\]\""),
    ],
)
def test_what_is_no_thread_at_all_is_one_sentence(data: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        load(data, "java1")


def test_a_dialect_is_named() -> None:
    """AMB-10: the blocks of another dialect are no blocks of this one."""
    with pytest.raises(ValueError, match="unknown dialect 'java3': one of agentscope1"):
        load([], "java3")
    mixed = {"type": "data", "mime_type": "image/png", "data_base64": "AAAA"}
    with pytest.raises(ValueError, match=r"messages\[0\]\.content\[0\] cannot be read: .*source"):
        load(message("USER", mixed), "java2")


# -- events ------------------------------------------------------------------------------------------------------------

URL = {"type": "url", "url": "https://a.b/c"}
BASE = {"id": "e1", "createdAt": "2026-01-02T03:04:05.678Z", "replyId": "r1"}


def test_the_names_of_events_are_read_old_and_new() -> None:
    """JAV-05, JAV-06, AMB-18: both directions; what is written are the names of Java."""
    told = [
        {**BASE, "type": "AGENT_START", "sessionId": "s", "name": "Friday", "role": "assistant"},
        {**BASE, "type": "RUN_STARTED", "sessionId": "s", "name": "Friday"},
        {**BASE, "type": "MODEL_CALL_STARTED", "modelName": "qwen"},
        {**BASE, "type": "BINARY_BLOCK_START", "blockId": "b", "mediaType": "image/png"},
        {**BASE, "type": "AGENT_END"},
    ]
    events = load_events(told, "java2")
    assert [event.type for event in events] == [
        "REPLY_START",
        "REPLY_START",
        "MODEL_CALL_START",
        "DATA_BLOCK_START",
        "REPLY_END",
    ]
    assert isinstance(events[-1], r.ReplyEndEvent)
    assert events[-1].session_id == "s"
    assert dump_events(events, "java2") == told
    fresh = dump_events([r.ReplyStartEvent(reply_id="r", session_id="s", name="Friday")], "java2")
    assert fresh[0]["type"] == "AGENT_START"


def test_the_name_of_an_event_of_java_is_no_name_of_ours() -> None:
    """AMB-19: AgentEndEvent, one reply ended, is not AgentEndedEvent, the agent is gone."""
    for module in (realtime, realtime.event, realtime.agent):
        assert not hasattr(module, "AgentEndEvent")
        assert not hasattr(module, "AgentStartEvent")


def every_event() -> list[r.AgentEvent]:
    base: dict[str, Any] = {"id": "e", "created_at": "2026-01-02T03:04:05.678Z", "reply_id": "r"}
    call = ToolCallBlock(id="c", name="f", input='{"a": 1}', state=ToolCallState.ASKING)
    told = ToolResultBlock(id="c", name="f", output="1")
    return [
        r.ReplyStartEvent(**base, session_id="s", name="Friday"),
        r.ReplyEndEvent(**base, session_id="s", finished_reason="error", error="lost", message={"metadata": {"a": 1}}),
        r.ExceedMaxItersEvent(**base, name="Friday"),
        r.RequestStopEvent(**base, source="hook", reason="late"),
        r.ModelCallStartEvent(**base, model_name="qwen"),
        r.ModelCallEndEvent(**base, input_tokens=3, output_tokens=4),
        r.TextBlockStartEvent(**base, block_id="b"),
        r.TextBlockDeltaEvent(**base, block_id="b", delta="Hi"),
        r.TextBlockEndEvent(**base, block_id="b", text="H"),
        r.ThinkingBlockStartEvent(**base, block_id="b"),
        r.ThinkingBlockDeltaEvent(**base, block_id="b", delta="Hm"),
        r.ThinkingBlockEndEvent(**base, block_id="b", extra={"signature": "x"}),
        r.DataBlockStartEvent(**base, block_id="b", media_type="image/png", name="a"),
        r.DataBlockDeltaEvent(**base, block_id="b", data=b"abc"),
        r.DataBlockEndEvent(**base, block_id="b"),
        r.HintBlockEvent(**base, block_id="b", hint="Be quick", source="timer"),
        r.ToolCallStartEvent(**base, tool_call_id="c", tool_call_name="f"),
        r.ToolCallDeltaEvent(**base, tool_call_id="c", delta="{}"),
        r.ToolCallEndEvent(**base, tool_call_id="c"),
        r.ToolResultStartEvent(**base, tool_call_id="c", tool_call_name="f"),
        r.ToolResultTextDeltaEvent(**base, tool_call_id="c", delta="1"),
        r.ToolResultDataDeltaEvent(**base, tool_call_id="c", block_id="b", media_type="image/png", data=b"a"),
        r.ToolResultDataDeltaEvent(**base, tool_call_id="c", block_id="b", media_type="a/b", url="https://a.b/c"),
        r.ToolResultEndEvent(**base, tool_call_id="c", state=ToolResultState.RUNNING),
        r.RequireUserConfirmEvent(**base, tool_calls=[call]),
        r.UserConfirmResultEvent(**base, confirm_results=[ConfirmResult(confirmed=True, tool_call=call)]),
        r.RequireExternalExecutionEvent(**base, tool_calls=[call]),
        r.ExternalExecutionResultEvent(**base, execution_results=[told]),
        r.UserInterruptEvent(**base),
        r.CustomEvent(**base, name="team_updated", value={"a": [1, None]}),
    ]


@pytest.mark.parametrize("shape", ["page", "source"])
def test_every_event_comes_back_as_it_was(shape: Any) -> None:
    """JAV-07, AMB-20: camel case is a dialect. AMB-33: hints and signals of our own have kinds there."""
    events = every_event()
    written = dump_events(events, "java2", shape=shape)
    assert all("_" not in name for one in written for name in one)
    own = [one["type"] for one in written if one["type"] in ("HINT_BLOCK", "CUSTOM")]
    assert own == ["HINT_BLOCK", "CUSTOM", "CUSTOM"]
    read = load_events(json.dumps(written), "java2")
    if shape == "source":
        # They remember that they were not written as the page prints them.
        for event in read:
            event.metadata.pop("interop", None)
    assert read == events


@pytest.mark.parametrize(
    "event",
    [
        {"type": "MODEL_CALL_END", "usage": {"inputTokens": 3, "outputTokens": 4, "time": 0.5}},
        {"type": "DATA_BLOCK_DELTA", "blockId": "b", "delta": "AAAA"},
        {
            "type": "TOOL_RESULT_DATA_DELTA",
            "toolCallId": "c",
            "data": {"type": "image", "source": {"type": "url", "url": "https://a.b/c"}},
        },
        {"type": "EXCEED_MAX_ITERS", "maxIters": 3, "currentIter": 3},
        {"type": "AGENT_RESULT", "result": {"id": "m"}},
        {"type": "ALL_TOOLS_DENIED", "deniedToolCalls": []},
        {
            "type": "TOOL_RESULT_END",
            "toolCallId": "c",
            "state": "SUCCESS",
            "source": "main/sub",
            "metadata": {"a": None},
        },
        {"type": "USER_CONFIRM_RESULT", "confirmResults": [{"confirmed": True, "toolCall": CALL, "rules": None}]},
        {"type": "HINT_BLOCK", "blockId": "b", "hintSource": "timer", "hint": "Be quick", "source": None},
        {"type": "CUSTOM", "name": "n", "value": [1]},
    ],
)
def test_events_of_the_source_come_back_as_they_were(event: dict[str, Any]) -> None:
    told = [{**BASE, **event}]
    assert dump_events(load_events(told, "java2"), "java2") == told


def test_a_bad_event_is_one_sentence_and_the_others_are_read() -> None:
    told = [
        {**BASE, "type": "NOT_ONE"},
        {**BASE, "type": "TEXT_BLOCK_DELTA", "blockId": "b", "delta": 5},
        {**BASE, "type": "text_block_start", "blockId": "b"},
        {**BASE, "type": "TOOL_RESULT_END", "toolCallId": "c", "state": "ODD"},
    ]
    problems: list[str] = []
    (event,) = load_events(told, "java2", problems=problems)
    assert event.type == "TEXT_BLOCK_START"
    assert problems[:2] == [
        "events[0].type is no type of event of java2: 'NOT_ONE'",
        "events[1].delta is the number 5, not text",
    ]
    assert problems[2].startswith("events[3] cannot be read: ")
    with pytest.raises(ValueError, match="java1 has no events"):
        load_events([], "java1")


def test_the_events_of_java_fold_to_the_message() -> None:
    told = [
        {"type": "AGENT_START", "sessionId": "s", "name": "Friday", "role": "assistant"},
        {"type": "TEXT_BLOCK_START", "blockId": "b"},
        {"type": "TEXT_BLOCK_DELTA", "blockId": "b", "delta": "Hello"},
        {"type": "TEXT_BLOCK_END", "blockId": "b"},
        {"type": "AGENT_END"},
    ]
    msg = Msg.from_events(load_events([{**BASE, "id": str(n), **one} for n, one in enumerate(told)], "java2"))
    assert (msg.name, msg.get_text_content(), msg.finished_reason) == ("Friday", "Hello", "completed")

"""Agentflow's messages, read and written by the table: the rows are what its documentation prints."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from realtime.event import reply as r
from realtime.interop import agentflow_message, dump, load
from realtime.interop.agentflow_message import Message, RemoteToolCallBlock
from realtime.interop.agentflow_message import ToolCallBlock as TheirCall
from realtime.message import (
    AssistantMsg,
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    Msg,
    SystemMsg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    URLSource,
    Usage,
    UserMsg,
    check_pairs,
)

Json = dict[str, Any]
AT = "2024-01-15T10:30:00.500Z"
SECONDS = 1_705_314_600.5


def said(*content: Json, role: str = "assistant", **fields: Any) -> Json:
    return {"message_id": "m", "role": role, "content": [*content], "timestamp": SECONDS, **fields}


def read(*messages: Json) -> list[Msg]:
    return load([*messages], "agentflow")


def block_of(theirs: Json, role: str = "user") -> Json:
    """Our block of one of theirs, which comes back as it was."""
    (msg,) = read(said(theirs, role=role))
    assert dump([msg], "agentflow")[0]["content"] == [theirs]
    (block,) = msg.content
    return block.model_dump()


# -- messages ----------------------------------------------------------------------------------------------------------


def test_a_conversation_is_a_list_in_its_order() -> None:
    """AFL-01: a list of messages, as JSON too. AFL-03: roles. AFL-04: order. AFL-15: blocks by `type`."""
    thread = [
        said({"type": "text", "text": "Be brief."}, role="system"),
        said({"type": "text", "text": "a"}, {"type": "text", "text": "b"}, role="user"),
        said({"type": "tool_call", "id": "c", "name": "look", "args": {}}),
        said({"type": "tool_result", "tool_call_id": "c", "content": "sun", "is_error": False}, role="tool"),
        said({"type": "text", "text": "Sun."}),
    ]
    messages = load(json.dumps(thread), "agentflow")
    assert [(one.role, [block.type for block in one.content]) for one in messages] == [
        ("system", ["text"]),
        ("user", ["text", "text"]),
        ("assistant", ["tool_call", "tool_result"]),
        ("assistant", ["text"]),
    ]
    assert [block.text for block in messages[1].get_content_blocks("text")] == ["a", "b"]
    assert dump(messages, "agentflow") == thread


@pytest.mark.parametrize(("theirs", "ours"), [(7, "7"), ("msg-001", "msg-001")])
def test_a_number_as_an_id_is_text_here_and_a_number_there(theirs: Any, ours: str) -> None:
    """AFL-02, AMB-14."""
    (msg,) = read(said(message_id=theirs))
    assert msg.id == ours
    assert dump([msg], "agentflow")[0]["message_id"] == theirs


@pytest.mark.parametrize("timestamp", [SECONDS, SECONDS * 1000, "2024-01-15T10:30:00.500Z", "2024-01-15 10:30:00.500"])
def test_a_time_is_read_in_every_form_and_written_in_seconds(timestamp: Any) -> None:
    """AFL-09, AMB-13: seconds, the milliseconds of the TypeScript client, and the texts of the other projects."""
    (msg,) = read(said(timestamp=timestamp))
    assert msg.created_at == AT
    assert dump([msg], "agentflow")[0]["timestamp"] == timestamp
    assert dump([AssistantMsg("Friday", "Hi", created_at=AT)], "agentflow")[0]["timestamp"] == SECONDS


def test_what_is_not_ours_is_kept_and_comes_back() -> None:
    """AFL-07: raw calls. AFL-10: metadata. AFL-12: the raw response."""
    kept: Json = {"tools_calls": [{"id": "c"}], "raw": {"model": "o3"}, "metadata": {"source": "api"}}
    (msg,) = read(said({"type": "text", "text": "Hi"}, **kept))
    assert msg.metadata["source"] == "api"
    (again,) = dump([msg], "agentflow")
    assert {name: again[name] for name in kept} == kept


def test_the_older_field_of_thinking_is_a_block_where_there_is_none() -> None:
    """AFL-08."""
    (old,) = read(said({"type": "text", "text": "Hi"}, reasoning="hm"))
    (new,) = read(said({"type": "reasoning", "thinking": "new", "signature": None}, reasoning="old"))
    assert [block.thinking for one in (old, new) for block in one.get_content_blocks("thinking")] == ["hm", "new"]
    (again,) = dump([old], "agentflow")
    assert (again["reasoning"], [block["type"] for block in again["content"]]) == ("hm", ["text"])


USAGES = {"completion_tokens": 150, "prompt_tokens": 320, "total_tokens": 470}


def test_usage_goes_both_ways() -> None:
    """USE-13: the total is a sum. AFL-11, AFL-39: what ours does not count is kept, and 0 where none is given."""
    more = {"cache_read_input_tokens": 3, "cache_creation_input_tokens": 4, "reasoning_tokens": 5, "audio_tokens": 6}
    (msg,) = read(said(usages=USAGES | more))
    ours = Usage(input_tokens=320, output_tokens=150, cache_input_tokens=3, cache_creation_input_tokens=4)
    assert msg.usage == ours
    assert dump([msg], "agentflow")[0]["usages"] == USAGES | more
    written = dump([AssistantMsg("Friday", "Hi", usage=ours)], "agentflow")[0]["usages"]
    zeros = {"reasoning_tokens": 0, "image_tokens": 0, "audio_tokens": 0}
    assert written == USAGES | zeros | {"cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}


@pytest.mark.parametrize("missing", USAGES)
def test_usage_needs_its_three_counts(missing: str) -> None:
    """AFL-38."""
    rest = {name: count for name, count in USAGES.items() if name != missing}
    with pytest.raises(ValueError, match=rf"^messages\[0\]\.usages has no {missing}$"):
        read(said(usages=rest))


# -- blocks ------------------------------------------------------------------------------------------------------------


URL: Json = {"kind": "url", "url": "https://a.b/c.png", "mime_type": "image/png"}
OURS_AT: Json = {"type": "url", "url": "https://a.b/c.png", "media_type": "image/png"}
IMAGE: Json = {"type": "image", "media": URL}
PDF: Json = {**URL, "mime_type": "application/pdf"}
REFERENCE: Json = {"url": "https://example.com", "file_id": "f", "page": 1, "index": 2, "title": "Source"}
HINTS: Json = {
    "size_bytes": 9,
    "sha256": "ab",
    "filename": "a.png",
    "width": 3,
    "height": 4,
    "duration_ms": 5,
    "page": 6,
}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        pytest.param(
            {"type": "text", "text": "Hi", "annotations": [REFERENCE]}, {"type": "text", "text": "Hi"}, id="AFL-16"
        ),
        pytest.param(
            {"type": "image", "media": URL, "alt_text": "x", "bbox": [1, 2, 3, 4]}, {"source": OURS_AT}, id="AFL-17"
        ),
        pytest.param(
            {"type": "audio", "media": {"kind": "url", "url": "https://a.b/c.mp3"}, "transcript": "Hello"},
            {"source": {"type": "url", "url": "https://a.b/c.mp3", "media_type": "audio/mpeg"}},
            id="audio",
        ),
        pytest.param(
            {"type": "video", "media": {"kind": "url", "url": "https://a.b/c.mp4"}, "thumbnail": URL},
            {"source": {"type": "url", "url": "https://a.b/c.mp4", "media_type": "video/mp4"}},
            id="video",
        ),
        pytest.param(
            {"type": "document", "media": PDF, "text": "t", "pages": [1], "excerpt": "e"},
            {"source": {**OURS_AT, "media_type": "application/pdf"}},
            id="document",
        ),
        pytest.param(
            {"type": "data", "mime_type": "application/json", "data_base64": "e30="},
            {"source": {"type": "base64", "data": "e30=", "media_type": "application/json"}},
            id="data",
        ),
        pytest.param({**IMAGE, "media": {**URL, **HINTS}}, {"source": OURS_AT, "name": "a.png"}, id="hints"),
    ],
)
def test_text_and_media_are_ours_and_keep_what_ours_have_not(theirs: Json, ours: Json) -> None:
    """AFL-16, AFL-17, AFL-18, AFL-19, AFL-20, AFL-21: a block each. AFL-35: hints. AFL-37: references."""
    block = block_of(theirs)
    assert {name: block[name] for name in ours} == ours
    assert block["type"] in ("text", "data")


def at(url: str, media_type: str) -> Json:
    return {"type": "url", "url": url, "media_type": media_type}


def inline(data: str, media_type: str) -> Json:
    return {"type": "base64", "data": data, "media_type": media_type}


PNG = "iVBORw0KGgo="


@pytest.mark.parametrize(
    ("media", "source"),
    [
        ({"kind": "url", "url": "agentflow://media/k"}, at("agentflow://media/k", "image/*")),
        ({"kind": "file_id", "file_id": "a b"}, at("agentflow://file/a%20b", "image/*")),
        ({"kind": "data", "data_base64": PNG}, inline(PNG, "image/png")),
        ({"kind": "data", "data_base64": "data:image/png;base64,iVBO\nRw0KGgo="}, inline(PNG, "image/png")),
        ({"url": " https://a.b/ü c.png "}, at("https://a.b/%C3%BC%20c.png", "image/png")),
        ({"kind": "FILE_ID", "file_id": "f", "mime_type": "image/webp"}, at("agentflow://file/f", "image/webp")),
        ({"data_base64": "AQID"}, inline("AQID", "image/*")),
    ],
)
def test_media_are_at_an_address_at_a_provider_or_inline(media: Json, source: Json) -> None:
    """AFL-31: three kinds. AFL-32: the scheme of offloaded media. AFL-33: the id is kept, and resolved by nothing."""
    assert block_of({"type": "image", "media": media})["source"] == source


def test_a_call_has_its_arguments_as_text_here_and_as_an_object_there() -> None:
    """AFL-22."""
    theirs = {"type": "tool_call", "id": "c", "name": "find", "args": {"q": "ü"}, "tool_type": "web_search"}
    block = block_of(theirs, role="assistant")
    assert (block["input"], block["state"]) == ('{"q": "ü"}', "pending")
    unread = AssistantMsg("Friday", [ToolCallBlock(id="c", name="find", input='{"q": ')])
    written = dump([unread], "agentflow")
    assert written[0]["content"][0]["args"] == {}
    assert load(written, "agentflow") == [unread]


@pytest.mark.parametrize("content", ["Sunny", "", [1, {"a": None}], {"t": 25}, [{"type": "text", "text": "Sunny"}]])
@pytest.mark.parametrize("failed", [False, True])
def test_a_result_belongs_to_its_call(content: Any, failed: bool) -> None:
    """AFL-25: the error. AFL-26: the pair."""
    call = said({"type": "tool_call", "id": "c", "name": "look", "args": {}})
    result = said({"type": "tool_result", "tool_call_id": "c", "content": content, "is_error": failed}, role="tool")
    (msg,) = read(call, result)
    (block,) = msg.get_content_blocks("tool_result")
    assert (block.id, block.name, block.state) == ("c", "look", "error" if failed else "success")
    assert check_pairs([msg]) == []
    (alone,) = read(result)
    assert (alone.role, check_pairs([alone])) == ("assistant", ["result c has no call before it"])
    assert dump([msg], "agentflow") == [call, result]


@pytest.mark.parametrize("state", [*ToolResultState])
def test_states_that_are_no_error_there_are_kept(state: ToolResultState) -> None:
    """AMB-62: in both shapes."""
    result = ToolResultBlock(id="c", name="look", output="x", state=state)
    msg = AssistantMsg("Friday", [ToolCallBlock(id="c", name="look"), result])
    page, source = dump([msg], "agentflow")[1], dump([msg], "agentflow", shape="source")[1]
    failed = state != "success"
    assert page["content"][0] == {"type": "tool_result", "tool_call_id": "c", "content": "x", "is_error": failed}
    status = "failed" if failed else "completed"
    assert source["content"][0] == {
        "type": "tool_result",
        "call_id": "c",
        "output": "x",
        "is_error": failed,
        "status": status,
    }
    for shape in ("page", "source"):
        assert load(dump([msg], "agentflow", shape=shape), "agentflow") == [msg]


def test_thinking_keeps_its_signature() -> None:
    """AFL-27."""
    block = block_of({"type": "reasoning", "thinking": "hm", "signature": "s"}, role="assistant")
    assert (block["thinking"], block["signature"]) == ("hm", "s")
    ours = AssistantMsg("Friday", [ThinkingBlock(thinking="hm", extra={"signature": "s"})])
    assert dump([ours], "agentflow")[0]["content"] == [{"type": "reasoning", "thinking": "hm", "signature": "s"}]


def test_an_annotation_comes_back_at_its_place() -> None:
    """AFL-28."""
    annotation: Json = {"type": "annotation", "annotation": REFERENCE}
    content: list[Json] = [{"type": "text", "text": "a"}, annotation, {"type": "text", "text": "b"}]
    (msg,) = read(said(*content))
    assert [block.type for block in msg.content] == ["text", "text"]
    msg.content = [*msg.content, TextBlock(text="c")]
    added = {"type": "text", "text": "c", "annotations": []}
    assert dump([msg], "agentflow")[0]["content"] == [*content, added]


def test_an_error_is_that_of_the_message() -> None:
    """AFL-29."""
    block: Json = {"type": "error", "error": "no credit", "code": "E1"}
    (msg,) = read(said({"type": "text", "text": "Hm"}, block))
    assert (msg.error, msg.finished_reason) == ("no credit", "error")
    assert dump([msg], "agentflow")[0]["content"][1] == block
    ours = AssistantMsg("Friday", "Hm", error="no credit", finished_reason="error")
    written = dump([ours], "agentflow", shape="source")
    assert written[0]["content"][1] == {"type": "error", "message": "no credit", "code": None, "data": None}
    assert load(written, "agentflow") == [ours]


_RESULT = {"type": "tool_result", "call_id": "c"}
PACKAGE: list[tuple[Json, str, str | None]] = [
    (
        {"type": "tool_result", "call_id": "c", "output": {"t": 1}, "is_error": True, "status": "failed"},
        "tool_result",
        "error",
    ),
    ({"type": "tool_result", "call_id": "c", "output": "x", "status": "failed"}, "tool_result", "error"),
    ({"type": "reasoning", "summary": "hm", "details": None}, "thinking", None),
    ({"type": "reasoning", "summary": "", "details": ["one", "two"]}, "thinking", None),
]


@pytest.mark.parametrize(("theirs", "kind", "state"), PACKAGE)
def test_the_shape_of_the_package_is_read_and_written_by_option(theirs: Json, kind: str, state: str | None) -> None:
    """AMB-62."""
    thread = [said(theirs, role="tool" if kind == "tool_result" else "assistant")]
    (msg,) = read(*thread)
    (block,) = msg.content
    assert (block.type, getattr(block, "state", None)) == (kind, state)
    assert dump([msg], "agentflow", shape="source") == thread
    (page,) = dump([msg], "agentflow")[0]["content"]
    assert {"tool_call_id", "content"} <= page.keys() if kind == "tool_result" else "thinking" in page
    assert load(dump([msg], "agentflow"), "agentflow")[0].content == [block]


def test_details_are_the_thinking_where_there_is_no_summary() -> None:
    """AMB-62: the package's reasoning."""
    (msg,) = read(said(PACKAGE[3][0]))
    assert msg.get_content_blocks("thinking")[0].thinking == "one\ntwo"


def test_annotations_and_errors_are_written_in_either_shape() -> None:
    """AMB-62: blocks without a twin."""
    (msg,) = read(said({"type": "annotation", "annotation": REFERENCE}, {"type": "error", "error": "x", "code": "E"}))
    annotation, error = dump([msg], "agentflow", shape="source")[0]["content"]
    assert (annotation["kind"], annotation["refs"], annotation["spans"]) == ("citation", [REFERENCE], None)
    assert error == {"type": "error", "message": "x", "code": "E", "data": None}


def test_our_sound_is_written_with_its_rate_and_length() -> None:
    """AFL-18, AFL-36: half a second of samples at 24 kHz."""
    sound = DataBlock(source=Base64Source(data=bytes(24_000), media_type="audio/pcm;rate=24000"), name="a.pcm")
    (theirs,) = dump([UserMsg("Ada", [sound])], "agentflow")
    (block,) = theirs["content"]
    assert (block["type"], block["sample_rate"], block["channels"]) == ("audio", 24_000, 1)
    media = block["media"]
    assert (media["duration_ms"], media["size_bytes"], media["filename"]) == (500, 24_000, "a.pcm")


def test_payloads_that_are_too_large_are_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """AFL-34."""
    with caplog.at_level(logging.WARNING):
        for size_bytes in (50_000, 50_001):
            source = Base64Source(data=bytes(size_bytes), media_type="image/png")
            dump([UserMsg("Ada", [DataBlock(source=source)])], "agentflow")
    (line,) = [one.getMessage() for one in caplog.records if "base64" in one.getMessage()]
    assert "50001 bytes" in line


def test_a_hint_is_a_message_of_the_user_that_is_known_again() -> None:
    msg = AssistantMsg("Friday", [HintBlock(hint="Think.", source="plan"), TextBlock(text="Yes.")])
    written = dump([msg], "agentflow")
    assert [(one["role"], one["content"][0]["text"]) for one in written] == [("user", "Think."), ("assistant", "Yes.")]
    assert load(written, "agentflow") == [msg]


# -- remote tools ------------------------------------------------------------------------------------------------------


def test_a_call_for_the_browser_is_one_that_is_submitted() -> None:
    """AFL-23: as the server sends it, alone and after the model's own call, and back."""
    remote = {"type": "remote_tool_call", "id": "c", "name": "show", "args": {"a": 1}, "tool_type": "remote"}
    sent = said(remote, role="tool", metadata={"is_remote": True})
    (alone,) = read(sent)
    assert [(block.type, block.id, block.state) for block in alone.get_content_blocks("tool_call")] == [
        ("tool_call", "c", "submitted")
    ]
    assert dump([alone], "agentflow") == [sent]
    asked = said({"type": "tool_call", "id": "c", "name": "show", "args": {"a": 1}})
    (msg,) = read(asked, sent)
    assert [block.state for block in msg.get_content_blocks("tool_call")] == ["submitted"]
    assert dump([msg], "agentflow") == [asked, sent]
    answer = said({"type": "tool_result", "tool_call_id": "c", "content": "shown", "is_error": False}, role="tool")
    assert [block.type for block in read(asked, sent, answer)[0].content] == ["tool_call", "tool_result"]
    assert dump(read(asked, sent, answer), "agentflow") == [asked, sent, answer]
    ours = AssistantMsg("Friday", [ToolCallBlock(id="c", name="show", input='{"a": 1}', state=ToolCallState.SUBMITTED)])
    assert dump([ours], "agentflow")[0]["content"] == [remote]


def test_what_the_browser_answers_is_a_result_from_outside() -> None:
    """AFL-23: as Agentflow's TypeScript client answers (0.2.0, `src/tools.ts`)."""
    call = ToolCallBlock(id="c", name="show", state=ToolCallState.SUBMITTED)
    msg = AssistantMsg("Friday", [call], id="r")
    answer = {
        "type": "tool_result",
        "call_id": "c",
        "output": {"error": "no map"},
        "status": "failed",
        "is_error": True,
    }
    (told,) = read(said(answer, role="tool", message_id=None, timestamp=1_705_314_600_500))
    results = told.get_content_blocks("tool_result")
    event = r.ExternalExecutionResultEvent(reply_id="r", execution_results=results)
    msg.check_answers(event)
    msg.append_event(event)
    states = [block.state for block in msg.content if isinstance(block, ToolCallBlock | ToolResultBlock)]
    assert states == ["finished", "error"]


# -- wrong input -------------------------------------------------------------------------------------------------------


def holding_itself() -> Json:
    args: Json = {}
    args["a"] = [args]
    return {"type": "tool_call", "id": "c", "name": "n", "args": args}


WRONG_BLOCKS: list[tuple[Json, str]] = [
    ({"type": "hologram"}, ".type is one of text, "),
    ({}, ".type is one of text, "),
    ({"type": "image"}, " cannot be read: it has no media"),
    ({"type": "image", "media": 3}, ".media is the number 3, not an object"),
    ({"type": "image", "media": {"kind": "blob"}}, ".media has the kind 'blob', not url, file_id or data"),
    ({"type": "image", "media": {"kind": "url"}}, ".media is of the kind url, but has no url"),
    ({"type": "image", "media": {"kind": "data", "data_base64": "%"}}, ".media holds data_base64 that is no base64"),
    ({"type": "data", "mime_type": "a/b"}, " cannot be read: it has neither data_base64 nor media"),
    ({"type": "text", "text": 3}, ".text is the number 3, not text"),
    ({"type": "tool_call", "id": "c", "name": "n", "args": [1]}, ".args is a list, not an object"),
    ({"type": "tool_call", "id": [], "name": "n", "args": {}}, ".id is a list, not text"),
    ({"type": "tool_result", "content": "x"}, " cannot be read: "),
    (holding_itself(), ".args"),
]
WRONG: list[tuple[Json, str]] = [
    *((said(block), f"messages[1].content[0]{sentence}") for block, sentence in WRONG_BLOCKS),
    (said(role="robot"), "messages[1].role is one of user, assistant, system, tool, not 'robot'"),
    (said(timestamp="yesterday"), "messages[1].timestamp is no time: 'yesterday'"),
    (said(message_id=[1]), "messages[1].message_id is a list, not text"),
    (said(usages=5), "messages[1].usages is the number 5, not an object"),
    (said(usages={**USAGES, "total_tokens": "x"}), "messages[1].usages has a field total_tokens that is the text 'x'"),
    (said(metadata=[]), "messages[1].metadata is no object"),
    (said(parsed_content=[]), "messages[1].parsed_content is a list, not an object"),
    ({"role": "user", "content": 3}, "messages[1].content is neither text nor a list of blocks"),
]


@pytest.mark.parametrize(("wrong", "sentence"), WRONG, ids=[sentence[:48] for _, sentence in WRONG])
def test_what_is_wrong_is_one_sentence_with_its_place_and_costs_nothing_else(wrong: Json, sentence: str) -> None:
    first, last = said({"type": "text", "text": "a"}), said({"type": "text", "text": "b"}, message_id="n")
    problems: list[str] = []
    messages = load([first, wrong, last], "agentflow", problems=problems)
    assert [one[: len(sentence)] for one in problems] == [sentence]
    assert (messages[0].get_text_content(), messages[-1].get_text_content()) == ("a", "b")
    if len(messages) == 3:
        assert dump(messages, "agentflow") == [first, wrong, last]


@pytest.mark.parametrize(
    ("sloppy", "role", "text"),
    [
        ({"role": "USER", "content": [{"type": "TEXT", "text": "Hi"}]}, "user", "Hi"),
        ({"role": "Assistant", "content": "Hi"}, "assistant", "Hi"),
        ({"role": "user", "content": None}, "user", None),
        ({"role": "user", "content": [None, {"type": "text", "text": "Hi"}]}, "user", "Hi"),
        (
            {"role": "assistant", "content": [], "usages": {name: str(n) for name, n in USAGES.items()}},
            "assistant",
            None,
        ),
        ({"event": "message", "message": {"role": "user", "content": "Hi"}, "thread_id": 1}, "user", "Hi"),
    ],
)
def test_what_can_be_understood_is_understood(sloppy: Json, role: str, text: str | None) -> None:
    (msg,) = read(sloppy)
    assert (msg.role, msg.get_text_content()) == (role, text)
    assert dump([msg], "agentflow") == [sloppy.get("message", sloppy)]


def test_numbers_as_text_are_numbers() -> None:
    (msg,) = read(said(usages={name: str(count) for name, count in USAGES.items()}))
    assert msg.usage == Usage(input_tokens=320, output_tokens=150)


# -- classes -----------------------------------------------------------------------------------------------------------


def test_exported_messages_are_inspected_by_the_types_of_their_blocks() -> None:
    """AFL-41: the printed loop, on a reply of ours."""
    call = ToolCallBlock(id="c", name="get_weather", input='{"location": "London"}')
    messages = [SystemMsg("s", "Be brief."), AssistantMsg("Friday", [TextBlock(text="Wait."), call])]
    lines = []
    for msg in [Message.model_validate(one) for one in dump(messages, "agentflow")]:
        for block in msg.content:
            if block.type == "text":
                lines.append(block.text)
            elif block.type == "tool_call":
                lines.append(f"Called {block.name}({block.args})")
    assert lines == ["Be brief.", "Wait.", "Called get_weather({'location': 'London'})"]


def test_text_messages_are_made_as_printed() -> None:
    """AFL-13: three samples. AFL-14: metadata and blocks. AFL-02: an id is made where none is given."""
    plain, assistant = Message.text_message("Hello"), Message.text_message("Hello", role="assistant")
    named = Message.text_message("Hello", role="user", message_id="msg-001")
    assert [one.role for one in (plain, assistant, named)] == ["user", "assistant", "user"]
    assert plain.message_id != assistant.message_id
    assert named.message_id == "msg-001"
    direct = Message(
        role="user", content=[agentflow_message.TextBlock(text="Hello, world!")], metadata={"source": "api"}
    )
    (msg,) = load(direct.model_dump(), "agentflow")
    assert (msg.get_text_content(), msg.metadata["source"]) == ("Hello, world!", "api")
    assert dump([msg], "agentflow") == [direct.model_dump()]


def test_a_block_of_their_name_and_ours_is_read_by_its_dialect() -> None:
    """AFL-21: `data` means another block here."""
    theirs = {"type": "data", "mime_type": "image/png", "data_base64": "AQID", "media": None}
    assert block_of(theirs)["source"] == {"type": "base64", "data": "AQID", "media_type": "image/png"}
    ours = DataBlock(source=URLSource(url="https://a.b/c", media_type="image/png"))
    problems: list[str] = []
    load(said(ours.model_dump(), role="user"), "agentflow", problems=problems)
    assert problems == ["messages[0].content[0] cannot be read: it has neither data_base64 nor media"]


def test_calls_are_read_by_programs_and_made_by_agents() -> None:
    """AFL-42: as their classes say."""
    for kind in (TheirCall, RemoteToolCallBlock):
        assert "programs only read them" in str(kind.__doc__)


EXPORTED = Path(__file__).resolve().parent.parent.parent / "fixtures" / "interop" / "agentflow.json"


def test_the_export_that_the_browser_tests_read_is_up_to_date() -> None:
    """TS-09: the messages whose shape `web/packages/client/test/agentflow.test.ts` checks."""
    sound = DataBlock(source=Base64Source(data=bytes(480), media_type="audio/pcm;rate=24000"), id="s")
    blocks: list[Block] = [
        ThinkingBlock(thinking="Hm.", id="h"),
        TextBlock(text="Hello.", id="t"),
        sound,
        DataBlock(source=URLSource(url="https://a.b/c.png", media_type="image/png"), id="i", name="c.png"),
        DataBlock(source=URLSource(url="https://a.b/c.mp4", media_type="video/mp4"), id="v"),
        DataBlock(source=URLSource(url="https://a.b/c.pdf", media_type="application/pdf"), id="p"),
        DataBlock(source=Base64Source(data=b"{}", media_type="application/json"), id="d"),
        ToolCallBlock(id="c", name="look"),
        ToolResultBlock(id="c", name="look", output=[TextBlock(text="sun", id="o")]),
        ToolCallBlock(id="e", name="show", input='{"a": 1}', state=ToolCallState.SUBMITTED),
    ]
    usage = Usage(input_tokens=1, output_tokens=2)
    reply = AssistantMsg("Friday", blocks, id="r", created_at=AT, usage=usage, error="no credit")
    asked = UserMsg("Ada", TextBlock(text="Hi", id="q"), id="u", created_at=AT)
    made = dump([asked, reply], "agentflow", shape="source")
    assert made == json.loads(EXPORTED.read_text(encoding="utf-8"))

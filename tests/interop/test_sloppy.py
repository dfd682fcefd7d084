"""Archives as strangers write them: each is understood, or told in one sentence with the path to the field."""

import json
from typing import Any

import pytest

from realtime.interop import DIALECTS, dump, load
from realtime.message import ToolCallBlock

AT_S = 1_705_314_600
AT = "2024-01-15T10:30:00.000Z"
HI = {"id": "m1", "role": "user", "content": [{"type": "text", "text": "Hi"}]}
YO = {**HI, "id": "m2", "content": "Yo"}


def texts(data: Any, dialect: str = "java2", problems: list[str] | None = None) -> list[str | None]:
    return [message.get_text_content() for message in load(data, dialect, problems=problems)]


@pytest.mark.parametrize(
    "written",
    [
        AT_S,
        AT_S * 1000,
        str(AT_S),
        f" {AT_S}.000 ",
        str(AT_S * 1000),
        "2024-01-15 10:30:00,000",
        "2024-01-15T12:30:00+0200",
        "2024-01-15T11:30:00+01:00[Europe/Paris]",
        "20240115T103000Z",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_time_is_read_in_every_form_and_written_as_it_was(dialect: str, written: Any) -> None:
    thread = [{**HI, "timestamp": written}]
    if dialect == "agentflow":
        thread[0]["message_id"] = thread[0].pop("id")
    (message,) = load(thread, dialect)
    assert message.created_at == AT
    assert dump([message], dialect) == thread


@pytest.mark.parametrize("written", ["20240115103000", "1705314600123456", "soon", True, [2024, 1, 15]])
def test_what_may_be_another_time_is_none(written: Any) -> None:
    problems: list[str] = []
    assert texts([{**HI, "timestamp": written}], problems=problems) == ["Hi"]
    (told,) = problems
    assert told.startswith("messages[0].timestamp is ")


@pytest.mark.parametrize(
    "content",
    [
        "Hi",
        ["Hi"],
        {"type": "text", "text": "Hi"},
        [{"type": " TEXT ", "text": "Hi"}],
        [None, {"type": "text", "text": "Hi"}],
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_is_read_in_every_form_and_written_as_it_was(dialect: str, content: Any) -> None:
    name = "message_id" if dialect == "agentflow" else "id"
    thread = [{name: "m1", "role": " User ", "timestamp": AT, "content": content}]
    messages = load(thread, dialect)
    assert [message.get_text_content() for message in messages] == ["Hi"]
    assert dump(messages, dialect) == thread


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ids_may_be_numbers(dialect: str) -> None:
    """And a result finds its call by one."""
    name, call_id = ("message_id", "tool_call_id") if dialect == "agentflow" else ("id", "id")
    kind = "tool_call" if dialect == "agentflow" else "tool_use"
    call = {"type": kind, "id": 7, "name": "find"}
    result = {"type": "tool_result", call_id: 7, "content" if dialect == "agentflow" else "output": "At eight."}
    role = "system" if dialect == "agentscope1" else "tool"
    thread = [
        {name: 1, "role": "assistant", "timestamp": AT, "content": [call]},
        {name: 2, "role": role, "timestamp": AT, "content": [result]},
    ]
    (message,) = load(thread, dialect)
    assert (message.id, [block.id for block in message.content]) == ("1", ["7", "7"])
    assert dump([message], dialect) == thread


@pytest.mark.parametrize(
    "data",
    [
        "\n".join(json.dumps(one) for one in (HI, YO)),
        "\ufeff" + "\r\n\r\n".join(json.dumps(one) for one in (HI, YO)) + "\r\n",
        json.dumps(HI, indent=1) + json.dumps(YO, indent=1),
        f"{json.dumps(HI)},\n{json.dumps(YO)},\n",
        "".join(f"event: message\ndata: {json.dumps(one)}\n\n" for one in (HI, YO)) + "data: [DONE]\n",
        json.dumps([HI, YO]).encode("utf-16"),
        json.dumps([HI, YO]).encode("utf-8-sig"),
    ],
)
def test_an_archive_may_be_lines_or_a_stream_and_have_any_encoding_of_unicode(data: Any) -> None:
    assert texts(data) == ["Hi", "Yo"]


@pytest.mark.parametrize(
    ("data", "told", "read"),
    [
        (f'{json.dumps(HI)}\n{{"role": "US\n{json.dumps(YO)}', r"messages[1] is not valid JSON", ["Hi", "Yo"]),
        (f"{json.dumps(HI)}\nError 500\n{json.dumps(YO)}", "messages[1] is no JSON object", ["Hi", "Yo"]),
        (
            b'[{"role": "user", "content": "caf\xe9"}]',
            "messages are no UTF-8 at byte 33: what cannot be read there is replaced",
            ["caf\ufffd"],
        ),
        ([{**HI, "content": [["Hi"]]}], "messages[0].content[0] is no block", [None]),
        (
            [{**HI, "role": "ASSISTANT", "usage": {"inputTokens": -5}}],
            "messages[0].usage cannot be read: inputTokens is -5, which is less than nothing",
            ["Hi"],
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence_and_the_rest_is_read(data: Any, told: str, read: list[str]) -> None:
    problems: list[str] = []
    assert texts(data, problems=problems) == read
    (sentence,) = problems
    assert sentence.startswith(told)


@pytest.mark.parametrize(
    "data", ['[{"role": "user", "content": NaN}]', "", "{" * 5_000, '{"data": [{"role": "user"}]}', "Hi\nYo", "[}\n[}"]
)
def test_what_holds_no_messages_is_refused_as_a_whole(data: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        load(data, "java2", problems=[])


def test_half_a_character_costs_itself_alone() -> None:
    for data in ([{**HI, "content": "a\ud83d b"}], '[{"role": "user", "content": "a\\ud83d b"}]'):
        assert texts(data) == ["a\ufffd b"]


@pytest.mark.parametrize(("flag", "state"), [(True, "error"), ("true", "error"), (" True", "error"), ("no", "success")])
def test_a_flag_may_be_text(flag: Any, state: str) -> None:
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "Gone.", "is_error": flag}
    thread = [{"message_id": "m1", "role": "tool", "timestamp": AT_S, "content": [result]}]
    (message,) = load(thread, "agentflow")
    assert [block.state for block in message.get_content_blocks("tool_result")] == [state]
    assert dump([message], "agentflow") == thread


def test_base64_may_be_a_data_url_and_in_lines() -> None:
    source = {"type": "BASE64", "data": "data:image/png;base64,AAAA\nAAAA"}
    thread = [{**HI, "timestamp": AT, "content": [{"type": "image", "source": source}]}]
    (message,) = load(thread, "java1")
    (image,) = message.get_content_blocks("data")
    assert (image.source.media_type, image.model_dump()["source"]["data"]) == ("image/png", "AAAAAAAA")
    assert dump([message], "java1") == thread


@pytest.mark.parametrize("dialect", DIALECTS)
def test_arguments_as_an_object_are_an_error_here_and_converted_from_others(dialect: str) -> None:
    """MSG-58: dict raises in canon, importer converts."""
    arguments = {"city": "Oslo"}
    with pytest.raises(TypeError, match="input is str, not dict"):
        ToolCallBlock(id="c1", name="find", input=arguments)  # type: ignore[arg-type]
    written = {"args": arguments} if dialect == "agentflow" else {"input": arguments}
    call = {"type": "tool_call", "id": "c1", "name": "find", **written}
    (message,) = load([{"role": "assistant", "content": [call]}], dialect)
    assert message.content == [ToolCallBlock(id="c1", name="find", input=json.dumps(arguments))]

"""Content blocks: their wire form and what they refuse."""

import base64
import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from realtime.message import (
    AudioBlock,
    Base64Source,
    Block,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    PermissionRule,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    VideoBlock,
    read_block,
    system_reminder,
)

PNG = Base64Source(data=b"\x89PNG", media_type="image/png")
LINK = URLSource(url="https://example.org/a.wav", media_type="audio/wav")
BASE64 = {"type": "base64", "data": "iVBORw==", "media_type": "image/png"}
OUTSIDE = {"type": "url", "url": "https://example.org/a.wav", "media_type": "audio/wav"}
CALL = {"type": "tool_call", "id": "call_1", "name": "weather"}
RESULT = {"type": "tool_result", "id": "call_1", "name": "weather"}
WIRE: list[tuple[Block, dict[str, Any]]] = [
    (TextBlock(text="Hello", id="b1"), {"type": "text", "text": "Hello", "id": "b1"}),
    (DataBlock(source=PNG, id="b2", name="radar"), {"type": "data", "source": BASE64, "id": "b2", "name": "radar"}),
    (
        DataBlock(source=LINK, id="b3"),
        {
            "type": "data",
            "source": {"type": "url", "url": LINK.url, "media_type": "audio/wav"},
            "id": "b3",
            "name": None,
        },
    ),
    (
        ToolCallBlock(id="call_1", name="weather", input='{"city":"Oslo"}'),
        CALL | {"input": '{"city":"Oslo"}', "state": "pending"},
    ),
    (ToolResultBlock(id="call_1", name="weather", output="rain"), RESULT | {"output": "rain", "state": "success"}),
]


def test_a_block_is_written_and_read_by_its_type() -> None:
    for block, wire in WIRE:
        assert msgspec.to_builtins(block) == wire
        assert msgspec.convert(wire, Block, builtin_types=()) == block


def test_a_block_of_another_shape_is_refused() -> None:
    others: list[dict[str, Any]] = [
        *(CALL | {"type": "tool_use"}, CALL | {"input": {"city": "Oslo"}}, CALL | {"state": "done"}),
        *(RESULT | {"state": "ok"}, {"type": "text"}),
        {"type": "data", "source": BASE64 | {"media_type": None}},
        {"type": "data", "source": BASE64 | {"data": "?"}},
    ]
    for wire in others:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wire, Block, builtin_types=())
    for data in ({}, {"type": "tool_use"}, {"type": 7}, {"type": "text", "text": 7}, {"type": "data"}):
        with pytest.raises(ValueError, match=r"unknown block type|Block: "):
            read_block(data)


USED = {"type": "tool_use", "id": "call_1", "name": "weather"}
FILM = "AAAAGGZ0eXBtcDQy"
OLDER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (USED | {"input": {"city": "Zürich"}}, CALL | {"input": '{"city": "Zürich"}'}),
    (USED | {"input": {}}, CALL | {"input": "{}"}),
    (USED | {"input": None}, CALL | {"input": ""}),
    (USED, CALL | {"input": ""}),
    (USED | {"input": '{"a":1}'}, CALL | {"input": '{"a":1}'}),
    (USED | {"input": {"a": 1}, "raw_input": '{"a":1}'}, CALL | {"input": '{"a":1}'}),
    (USED | {"input": {"a": 1}, "raw_input": None, "content": "?"}, CALL | {"input": '{"a": 1}'}),
    (USED | {"id": "", "name": "", "input": {}}, CALL | {"id": "", "name": "", "input": "{}"}),
    (CALL | {"input": {"a": 1}, "state": "FINISHED"}, CALL | {"input": '{"a": 1}', "state": "finished"}),
    (RESULT | {"output": None}, RESULT | {"output": ""}),
    (
        RESULT | {"output": [{"type": "text", "text": "rain", "id": "t"}]},
        RESULT | {"output": [TextBlock(text="rain", id="t")]},
    ),
]
"""Calls and results of other versions, and as what they are read."""


@pytest.mark.parametrize(("written", "read"), OLDER)
def test_calls_and_results_of_other_versions_are_read(written: dict[str, Any], read: dict[str, Any]) -> None:
    kind = ToolResultBlock if read["type"] == "tool_result" else ToolCallBlock
    assert read_block(written) == kind(**read)
    assert Msg("Ann", [written], "assistant").content == [kind(**read)]
    assert Msg.model_validate({"name": "Ann", "role": "assistant", "content": [written]}).content == [kind(**read)]


UNTYPED: list[tuple[dict[str, Any], str]] = [
    ({"type": "data", "source": {"type": "url", "url": "https://a.b/c.wav"}}, "audio/x-wav"),
    ({"type": "image", "source": {"type": "url", "url": "https://a.b/c.png?x=1"}}, "image/png"),
    ({"type": "image", "source": {"type": "url", "url": "https://a.b/c"}}, "image/*"),
    ({"type": "audio", "source": {"type": "url", "url": "https://a.b/c.png"}}, "audio/*"),
    ({"type": "data", "source": {"type": "url", "url": "https://a.b/c"}}, "application/octet-stream"),
    ({"type": "data", "source": {"type": "url", "url": "data:image/png;base64,AAAA"}}, "image/png"),
    ({"type": "data", "source": {"type": "base64", "data": "iVBORw0KGgo="}}, "image/png"),
    ({"type": "data", "source": {"type": "base64", "data": "iVBORw0KGgo=", "media_type": None}}, "image/png"),
    ({"type": "data", "source": {"type": "base64", "data": "iVBORw0KGgo=", "media_type": ""}}, "image/png"),
    ({"type": "data", "source": {"type": "base64", "data": "/9j/4AAQ"}}, "image/jpeg"),
    ({"type": "audio", "source": {"type": "base64", "data": "UklGRigAAABXQVZFZm10IA=="}}, "audio/wav"),
    ({"type": "video", "source": {"type": "base64", "data": FILM}}, "video/mp4"),
    ({"type": "video", "source": {"type": "base64", "data": "AAAA"}}, "video/*"),
    ({"type": "image", "source": {"type": "base64", "data": "AAAA", "media_type": "image/x"}}, "image/x"),
]
"""Media of other versions, and the media type that they are taken for."""


@pytest.mark.parametrize(("written", "media_type"), UNTYPED)
def test_media_without_a_type_or_of_an_older_kind_are_read(written: dict[str, Any], media_type: str) -> None:
    """AMB-09: by the ending of the address, by the first bytes, else by the kind of the block."""
    for block in (read_block(written), read_block(RESULT | {"output": [written]})):
        media = block.media[0] if isinstance(block, ToolResultBlock) else block
        assert isinstance(media, DataBlock)
        assert media.source.media_type.replace("x-wav", "wav") == media_type.replace("x-wav", "wav")


def test_what_is_wrong_in_a_block_of_another_version_is_named() -> None:
    for wrong, sentence in (
        (USED | {"input": 7}, "ToolCallBlock: Expected `str`, got `int`"),
        ({"type": "tool_use", "name": "f"}, "ToolCallBlock: .*`id`"),
        ({"type": "image"}, "DataBlock: .*`source`"),
        ({"type": "image", "source": {"type": "base64", "data": "?"}}, "DataBlock: "),
        ({"type": ["tool_use"]}, "unknown block type"),
    ):
        with pytest.raises(ValueError, match=sentence):
            read_block(wrong)


def test_the_text_of_a_result_is_that_of_its_text_blocks() -> None:
    assert ToolResultBlock(id="call_1", name="weather", output="rain").output_text() == "rain"
    picture = DataBlock(source=URLSource(url="https://example.org/radar.png", media_type="image/png"))
    output: list[TextBlock | DataBlock] = [TextBlock(text="rain"), picture, TextBlock(text="12 °C")]
    result = ToolResultBlock(id="call_1", name="weather", output=output)
    assert result.output_text() == "rain\n12 °C"
    assert result.output_text(names_media=True) == "rain\n12 °C\n[image/png, which cannot be shown to you]"


MAKERS: dict[str, Callable[..., Block]] = {
    "text": lambda **fields: TextBlock(text="x", **fields),
    "thinking": lambda **fields: ThinkingBlock(thinking="x", **fields),
    "data": lambda **fields: DataBlock(source=PNG, **fields),
    "hint": lambda **fields: HintBlock(hint="x", **fields),
    "tool_call": lambda **fields: ToolCallBlock(**{"id": "c1", "name": "f"} | fields),
    "tool_result": lambda **fields: ToolResultBlock(**{"id": "c1", "name": "f"} | fields),
}


def through_json(block: Block) -> Block:
    """The block, dumped and read again."""
    return read_block(json.loads(json.dumps(block.model_dump())))


@pytest.mark.parametrize("kind", MAKERS)
def test_a_block_has_a_fixed_type_and_is_read_from_its_bare_object(kind: str) -> None:
    """MSG-25, MSG-30, MSG-34, MSG-48, MSG-55, MSG-66: a wrong value is rejected. MSG-29: the right one is accepted.
    MSG-16: each block from its bare dict. MSG-45: what is dumped is JSON."""
    assert MAKERS[kind](type=kind).type == kind
    for wrong in (*(MAKERS.keys() - {kind}), "" if kind == "tool_call" else "tool_use", "", None):
        with pytest.raises(ValueError, match=f"is '{kind}', not"):
            MAKERS[kind](type=wrong)
    block = MAKERS[kind](created_at="2026-01-01T00:00:00.000Z", finished_at="2026-01-01T00:00:01.000Z")
    assert through_json(block) == block


def test_an_id_is_generated_unless_it_is_given() -> None:
    """MSG-27, MSG-32, MSG-35, MSG-50: two blocks differ; an explicit id is kept. MSG-28: the smallest text block."""
    for kind in ("text", "thinking", "data", "hint"):
        assert MAKERS[kind]().id != MAKERS[kind]().id
        assert MAKERS[kind](id="mine").id == "mine"
    block = read_block({"type": "text", "text": "Hi"})
    assert isinstance(block, TextBlock)
    assert block.text == "Hi"
    assert block.id


def test_text_survives_the_round_trip() -> None:
    """MSG-26, MSG-31: emoji, RTL, empty string. MSG-45: a URL is dumped as plain text."""
    for text in ("", "👩‍🚀 and 🇳🇴", "שלום, مرحبا", "line\u2028line\x00"):
        for block in (TextBlock(text=text), ThinkingBlock(thinking=text)):
            assert through_json(block) == block
    link = DataBlock(source=URLSource(url="https://example.org/a%20b.png?x=1#y", media_type="image/png"))
    assert json.loads(json.dumps(link.model_dump()))["source"]["url"] == "https://example.org/a%20b.png?x=1#y"


def test_what_a_provider_adds_to_thinking_is_kept_also_when_it_is_copied_and_pickled() -> None:
    """MSG-33: add `signature`, dump, load, dump equal."""
    block = ThinkingBlock(thinking="hm", signature="c2ln", redacted={"n": [1]})  # type: ignore[call-arg]
    dumped = block.model_dump()
    assert (dumped["signature"], dumped["redacted"], dumped["thinking"]) == ("c2ln", {"n": [1]}, "hm")
    assert "extra" not in dumped
    loaded = through_json(block)
    assert loaded.model_dump() == dumped
    for one in (block, ToolResultBlock(id="c1", name="f", output=[TextBlock(text="x")])):
        assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert loaded == block


def test_the_source_is_chosen_by_its_type() -> None:
    """MSG-36: both dicts load to the right class. MSG-39, MSG-42: a wrong value is rejected. MSG-37: a name is None by
    default, and may be set."""
    inside = read_block({"type": "data", "source": BASE64})
    outside = read_block({"type": "data", "source": {"type": "url", "url": "https://a.b/c", "media_type": "a/b"}})
    assert isinstance(inside, DataBlock)
    assert isinstance(outside, DataBlock)
    assert (inside.source, outside.source) == (PNG, URLSource(url="https://a.b/c", media_type="a/b"))
    for source, kind in ((inside.source, "base64"), (outside.source, "url")):
        fields = msgspec.structs.asdict(source)
        assert type(source)(type=kind, **fields) == source
        with pytest.raises(ValueError, match=f"is '{kind}', not 'text'"):
            type(source)(type="text", **fields)
    assert inside.name is None
    assert DataBlock(source=PNG, name="radar.png").model_dump()["name"] == "radar.png"


def test_data_travels_as_base64_text_and_is_taken_as_bytes_or_text() -> None:
    """MSG-38, MSG-40, MSG-41: decodes to the original bytes; the media type is kept. MSG-44: it is required."""
    for media_type, data in (
        ("image/png", b"\x89PNG\r\n\x1a\n"),
        ("audio/wav", b"RIFF\x24\x00\x00\x00WAVE"),
        ("video/mp4", b"\x00\x00\x00\x18ftypmp42"),
        ("audio/pcm;rate=24000", bytes(range(256))),
    ):
        block = DataBlock(source=Base64Source(data=data, media_type=media_type))
        source = json.loads(json.dumps(block.model_dump()))["source"]
        assert (base64.b64decode(source["data"]), source["media_type"]) == (data, media_type)
        assert read_block(block.model_dump()) == block
    given: list[Any] = ["iVBORw==", bytearray(b"\x89PNG")]
    assert [Base64Source(data=one, media_type="image/png") for one in given] == [PNG, PNG]
    wrong: list[tuple[type[Exception], str, Any, Any]] = [
        (ValueError, "not valid base64", Base64Source, {"data": "?iVBORw==", "media_type": "image/png"}),
        (TypeError, "data is bytes, not int", Base64Source, {"data": 7, "media_type": "image/png"}),
        (TypeError, "media_type", Base64Source, {"data": b""}),
    ]
    for kind, sentence, source_type, fields in wrong:
        with pytest.raises(kind, match=sentence):
            source_type(**fields)


def test_a_url_is_a_uri() -> None:
    """MSG-43: http, https, file accepted; "not a url" raises."""
    for url in ("http://example.org/", "https://u@h:1/p?q=%C3%BC#f", "file:///tmp/a.png", "data:,x"):
        assert URLSource(url=url, media_type="image/png").url == url
    for url in ("not a url", "", "example.org/a", "http://", "https:///a", "http://a/ü", "http://a/%zz"):
        with pytest.raises(ValueError, match="not a valid URI"):
            URLSource(url=url, media_type="image/png")
        with pytest.raises(ValueError, match="not a valid URI"):
            read_block({"type": "data", "source": {"type": "url", "url": url, "media_type": "image/png"}})


def test_a_hint_is_text_or_blocks() -> None:
    """MSG-49: both forms round trip. MSG-54: a helper wraps it for the model; unwrapped text is also accepted."""
    hints: list[Any] = ["It is noon.", [TextBlock(text="radar"), DataBlock(source=PNG)]]
    for hint in hints:
        block = HintBlock(hint=hint, source='{"label": "clock"}')
        assert through_json(block) == block
    with pytest.raises(TypeError, match=r"HintBlock\.hint is text or a list"):
        HintBlock(hint=[ThinkingBlock(thinking="x")])  # type: ignore[list-item]
    assert HintBlock(hint=system_reminder("noon")).hint == "<system-reminder>\nnoon\n</system-reminder>"
    assert HintBlock(hint="noon").hint == "noon"


def test_a_call_needs_its_id_and_its_input_is_a_json_string() -> None:
    """MSG-56: missing id raises. MSG-58: dict raises in canon. AMB-02: a parsed view is a property; invalid JSON is
    kept as text."""
    with pytest.raises(TypeError, match="'id'"):
        ToolCallBlock(name="f")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="`id`"):
        read_block({"type": "tool_call", "name": "f"})
    with pytest.raises(TypeError, match="input is str, not dict"):
        ToolCallBlock(id="c1", name="f", input={"city": "Oslo"})  # type: ignore[arg-type]
    assert ToolCallBlock(id="c1", name="f").arguments == {}
    parsed = {'{"city": "Oslo"}': {"city": "Oslo"}, '{"city"': None, "[1]": None}
    for text, arguments in parsed.items():
        call = ToolCallBlock(id="c1", name="f", input=text)
        assert (call.input, call.arguments) == (text, arguments)


def test_calls_and_results_have_five_states_each() -> None:
    """MSG-59, MSG-70: membership. MSG-60: a new call has `pending`."""
    assert tuple(ToolCallState) == ("pending", "asking", "allowed", "submitted", "finished")
    assert tuple(ToolResultState) == ("running", "success", "error", "interrupted", "denied")
    assert ToolCallBlock(id="c1", name="f").state == "pending"
    assert ToolResultBlock(id="c1", name="f").state is ToolResultState.SUCCESS
    assert [ToolCallBlock(id="c1", name="f", state=state).state for state in ToolCallState] == [*ToolCallState]
    assert [ToolResultBlock(id="c1", name="f", state=state).state for state in ToolResultState] == [*ToolResultState]
    with pytest.raises(ValueError, match="is one of pending"):
        ToolCallBlock(id="c1", name="f", state="running")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is one of running"):
        ToolResultBlock(id="c1", name="f", state="finished")  # type: ignore[arg-type]


def test_a_state_is_a_word_and_a_member_however_it_was_given() -> None:
    """MSG-59, MSG-70: text, member, JSON and a replayed event give the same member, which equals and prints as its
    text. AMB-30: values are lower case on the wire; the loader accepts either."""
    from_text = ToolCallBlock(id="c1", name="f", state="asking")  # type: ignore[arg-type]
    for word in ("asking", "ASKING"):
        read = read_block({"type": "tool_call", "id": "c1", "name": "f", "state": word})
        assert isinstance(read, ToolCallBlock)
        assert from_text.state is read.state is ToolCallState.ASKING
        assert (f"{read.state}", read.state == "asking", read.model_dump()["state"]) == ("asking", True, "asking")
    assert "allowed" in [*ToolCallState]


def test_a_call_holds_permission_rules() -> None:
    """HITL-07: fields test; they are what `suggested_rules` holds."""
    rule = PermissionRule(tool_name="f", rule_content="rm *", behavior="deny", source="project")
    assert (rule.tool_name, rule.rule_content, rule.behavior, rule.source) == ("f", "rm *", "deny", "project")
    assert PermissionRule(tool_name="f").rule_content is None
    for behavior in ("allow", "deny", "ask"):
        assert PermissionRule(tool_name="f", behavior=behavior).behavior == behavior
    with pytest.raises(ValueError, match="is one of allow, deny, ask"):
        PermissionRule(tool_name="f", behavior="maybe")  # type: ignore[arg-type]

    assert ToolCallBlock(id="c1", name="f").suggested_rules == []
    call = ToolCallBlock(id="c1", name="f", suggested_rules=[rule])
    assert through_json(call) == call
    with pytest.raises(TypeError, match="list of PermissionRule"):
        ToolCallBlock(id="c1", name="f", suggested_rules=["rule"])  # type: ignore[list-item]


def test_a_result_names_its_tool_and_may_hold_text_and_audio() -> None:
    """MSG-68, MSG-69: round trip of a tool returning text + audio."""
    sound = DataBlock(source=Base64Source(data=b"RIFF", media_type="audio/wav"))
    output: list[TextBlock | DataBlock] = [TextBlock(text="the news"), sound]
    loaded = through_json(ToolResultBlock(id="c1", name="radio", output=output))
    assert isinstance(loaded, ToolResultBlock)
    assert (loaded.name, loaded.output) == ("radio", output)
    with pytest.raises(TypeError, match="output is text or a list"):
        ToolResultBlock(id="c1", name="f", output=[HintBlock(hint="x")])  # type: ignore[list-item]


def test_older_names_are_understood() -> None:
    """AMB-01: `ToolUseBlock` is an alias. AMB-08: media blocks are constructor helpers that return DataBlock."""
    assert ToolUseBlock is ToolCallBlock
    assert ImageBlock(source=PNG, id="b1") == DataBlock(source=PNG, id="b1")
    assert AudioBlock(source=LINK).source == LINK
    with pytest.raises(ValueError, match="'audio/wav' is no video"):
        VideoBlock(source=LINK)


PNG_DATA = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}


@pytest.mark.parametrize(
    ("block", "media_type"),
    [
        (ImageBlock(type="image", source=URLSource(type="url", url="https://a.b/c.png")), "image/png"),
        (ImageBlock(type="image", source=URLSource(type="url", url="https://a.b/photo?id=3")), "image/*"),
        (VideoBlock(type="video", source={"type": "url", "url": "https://a.b/c.mp4"}), "video/mp4"),
        (AudioBlock(type="audio", source={"type": "base64", "data": "SUQzBA=="}), "audio/mpeg"),
        (ImageBlock(type="image", source=PNG_DATA), "image/png"),
        (DataBlock(type="data", source=PNG_DATA), "image/png"),
        (DataBlock(source=URLSource(url="https://a.b/c.jpg")), "image/jpeg"),
    ],
)
def test_media_are_made_by_the_names_and_arguments_of_agentscope(block: DataBlock, media_type: str) -> None:
    assert (block.type, block.source.media_type) == ("data", media_type)
    assert read_block(block.model_dump()) == block


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({"type": "tool_use", "input": {"a": 1}}, {"a": 1}),
        ({"type": "tool_use", "input": {"a": 1}, "raw_input": '{"a": 2}'}, {"a": 2}),
        ({"type": "tool_use", "input": None}, {}),
        ({"type": "tool_call", "input": '{"a": 1}'}, {"a": 1}),
        ({"type": "tool_use"}, {}),
    ],
)
def test_a_call_is_made_by_the_names_and_arguments_of_agentscope(fields: Any, arguments: dict[str, int]) -> None:
    made = ToolUseBlock(id="1", name="f", **fields)
    assert (made.type, made.arguments) == ("tool_call", arguments)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ToolUseBlock(type="tool_result", id="1", name="f"), "'tool_call', not 'tool_result'"),
        (lambda: TextBlock(type="tool_use", text="a"), "'text', not 'tool_use'"),
        (lambda: ImageBlock(type="audio", source=PNG), "'image', not 'audio'"),
        (lambda: AudioBlock(type="audio", source=URLSource(url="https://a.b/c.png")), "'image/png' is no audio"),
        (lambda: ImageBlock(source={"type": "file", "path": "a"}), "the source of a block: .*'file'"),
        (lambda: URLSource(type="base64", url="https://a.b/c.png"), "'url', not 'base64'"),
    ],
)
def test_a_type_that_is_not_the_blocks_is_refused_in_a_sentence(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()

"""`Msg`: what it may hold, how it is built, read and handed out."""

import copy
import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.event import TextBlockDeltaEvent
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
    ToolResultBlock,
    Usage,
    UserMsg,
    check_pairs,
)
from tests.message.streams import Streams

TEXT = TextBlock(text="Look:")
IMAGE = DataBlock(source=Base64Source(data=b"\x89PNG", media_type="image/png"))
CALL = ToolCallBlock(id="c1", name="weather", input="{}")
RESULT = ToolResultBlock(id="c1", name="weather", output="rain")
THINKING = ThinkingBlock(thinking="hm", signature="s")  # type: ignore[call-arg]
HINT = HintBlock(hint="noon")
ALL: list[Block] = [TEXT, THINKING, IMAGE, HINT, CALL, RESULT]


@given(st.integers(0, 2**32), st.text(max_size=20))
def test_a_message_is_the_same_after_a_round_trip_through_json(seed: int, text: str) -> None:
    """MSG-15: property test over random Msgs."""
    stored = Streams(seed).message()
    stored["content"].append({"type": "text", "text": text, "id": "t"})
    msg = Msg.model_validate(stored | {"name": text})
    loaded = Msg.from_json(msg.to_json())
    assert loaded == msg
    assert loaded.content == msg.content
    assert loaded.to_json() == msg.to_json()
    assert Msg.model_validate(json.loads(json.dumps(msg.model_dump()))) == msg


def test_a_message_holds_one_turn_of_a_user_or_an_assistant_and_has_an_id_of_its_own() -> None:
    """MSG-01: build both, JSON round trip equal. MSG-05: 10 000 Msgs, no duplicate id."""
    for msg in (UserMsg("Ann", "How is the weather?"), AssistantMsg("Friday", ALL)):
        assert Msg.from_json(msg.to_json()) == msg
    assert repr(UserMsg("Ann", "secret", id="m1")) == "Msg(id='m1', name='Ann', role='user', content=[text])"
    assert len({UserMsg("Ann", None).id for _ in range(10_000)}) == 10_000


def test_a_message_is_built_by_position_from_plain_text() -> None:
    """MSG-18: the sample line. MSG-06: the name reads back. MSG-79: text becomes one TextBlock. MSG-07: any other role
    raises at construction."""
    msg = Msg("user", "Hello!", "user")
    assert (msg.name, msg.role, msg.get_text_content()) == ("user", "user", "Hello!")
    assert [block.type for block in msg.content] == ["text"]
    with pytest.raises(TypeError, match="name of a message is text"):
        Msg(None, "Hello!", "user")  # type: ignore[arg-type]
    others: list[Any] = ["tool", "User", "", None]
    for role in others:
        with pytest.raises(ValueError, match="a role is one of user, assistant, system"):
            Msg("Ann", "Hi", role)


def test_metadata_is_not_shared() -> None:
    """MSG-09: two Msgs, mutate one. What is set later belongs to the message, too."""
    given_to_both = {"k": 1}
    one, other = UserMsg("Ann", "Hi", metadata=given_to_both), UserMsg("Ann", "Hi", metadata=given_to_both)
    one.metadata["k"] = 2
    assert (one.metadata, other.metadata, given_to_both) == ({"k": 2}, {"k": 1}, {"k": 1})
    assert UserMsg("Ann", "Hi").metadata == {}
    msg, notes = AssistantMsg("Friday", "Hi"), {"city": "Oslo"}
    msg.metadata = msg.structured_output = notes
    notes["city"] = "Bergen"
    assert msg.metadata == msg.structured_output == {"city": "Oslo"}
    msg.structured_output = None
    assert msg.model_dump()["structured_output"] is None


def test_the_time_of_creation_is_iso_8601() -> None:
    """MSG-10: `datetime.fromisoformat` parses it. AMB-13: with offset, UTC; read-only alias `timestamp`."""
    msg = UserMsg("Ann", "Hi")
    assert msg.created_at.endswith("Z")
    offset = datetime.fromisoformat(msg.created_at).utcoffset()
    assert offset is not None
    assert offset.total_seconds() == 0
    assert msg.timestamp == msg.created_at
    with pytest.raises(AttributeError):
        msg.timestamp = "now"  # type: ignore[misc]


def test_users_say_and_show_systems_say_and_assistants_may_do_everything() -> None:
    """MSG-21: each of the other four block types raises. MSG-22: DataBlock in SystemMsg raises. MSG-20: on the
    constructor. MSG-23: all six at once is accepted. MSG-08: order survives dump/load. MSG-14: text + image + text in
    one UserMsg. MSG-81: build, accepted."""
    for block in (THINKING, HINT, CALL, RESULT):
        with pytest.raises(ValueError, match=f"a user message holds no {block.type} block"):
            UserMsg("Ann", [TEXT, block])
    for block in (IMAGE, THINKING, HINT, CALL, RESULT):
        with pytest.raises(ValueError, match=f"a system message holds no {block.type} block"):
            SystemMsg("system", [block])
    mixed: list[Block] = [TextBlock(text=str(number)) if number % 2 else IMAGE for number in range(9)]
    assert Msg.model_validate(UserMsg("Ann", mixed).model_dump()).content == mixed
    after = TextBlock(text="What is it?")
    assert UserMsg("Ann", [TEXT, IMAGE, after]).content == [TEXT, IMAGE, after]
    assert SystemMsg("system", [TEXT]).content == [TEXT]
    assert AssistantMsg("Friday", ALL).content == ALL


def test_content_is_text_or_blocks_or_objects_from_json() -> None:
    others: list[Any] = [7, [7], ["text"], b"bytes"]
    for content in others:
        with pytest.raises(TypeError, match="content of a message is text or blocks"):
            UserMsg("Ann", content)
    assert UserMsg("Ann", TEXT).content == [TEXT]
    assert UserMsg("Ann", [TEXT.model_dump()]).content == [TEXT]


def test_content_that_is_set_is_held_to_the_same_rules() -> None:
    msg = UserMsg("Ann", "Hi")
    msg.content = [IMAGE]
    assert msg.content == [IMAGE]
    with pytest.raises(ValueError, match="a user message holds no tool_call block"):
        msg.content = [CALL]
    with pytest.raises(TypeError, match="frozen"):
        msg.frozen().content = []
    assert msg.content == [IMAGE]


def test_factories_give_their_role() -> None:
    """MSG-76, MSG-77, MSG-78: positional and keyword. MSG-80: an id and no content, as in the reconstruction sample."""
    factories: dict[str, Any] = {"user": UserMsg, "assistant": AssistantMsg, "system": SystemMsg}
    for role, factory in factories.items():
        for msg in (factory("Ann", "Hi"), factory(name="Ann", content="Hi")):
            assert (msg.name, msg.role, msg.get_text_content()) == ("Ann", role, "Hi")
    msg = AssistantMsg(name="Friday", content=[], id="reply_1")
    assert (msg.id, msg.content) == ("reply_1", [])


def test_optional_fields_may_be_given() -> None:
    """MSG-82: keyword arguments on the factories. MSG-13: dump contains them, default None."""
    dumped = AssistantMsg("Friday", []).model_dump()
    left = ("finished_at", "usage", "finished_reason", "structured_output", "error")
    assert {name: dumped[name] for name in left} == dict.fromkeys(left)
    usage = Usage(input_tokens=1, output_tokens=2, cache_input_tokens=3)
    fields: dict[str, Any] = {
        "metadata": {"k": [1]},
        "structured_output": {"city": "Oslo"},
        "usage": usage,
        "created_at": "2026-01-01T00:00:00.000Z",
        "finished_at": "2026-01-01T00:00:01.000Z",
        "finished_reason": "error",
        "error": "gone",
    }
    msg = AssistantMsg("Friday", "Hi", **fields)
    assert Msg.from_json(msg.to_json()) == msg
    assert {name: getattr(msg, name) for name in fields} == fields


def test_text_is_joined_by_the_separator() -> None:
    """MSG-83: two blocks, custom separator. MSG-84: message with only a tool call (AMB-07)."""
    msg = UserMsg("Ann", [TextBlock(text="a"), IMAGE, TextBlock(text="b")])
    assert (msg.get_text_content(), msg.get_text_content(separator=" | ")) == ("a\nb", "a | b")
    assert AssistantMsg("Friday", [CALL]).get_text_content() is None
    assert AssistantMsg("Friday", "").get_text_content() == ""


def test_blocks_are_found_by_type() -> None:
    """MSG-85: `"tool_call"` on a mixed message. MSG-86: no argument, and a list. MSG-87: true and false case.
    MSG-88: found / None."""
    second = ToolCallBlock(id="c2", name="clock")
    msg = AssistantMsg("Friday", [*ALL, second])
    assert msg.get_content_blocks("tool_call") == [CALL, second]
    assert msg.get_content_blocks() == [*ALL, second]
    assert msg.get_content_blocks(["hint", "text"]) == [TEXT, HINT]
    assert msg.has_content_blocks("hint")
    assert msg.get_first_content_block("tool_call") == CALL
    user = UserMsg("Ann", "Hi")
    assert not user.has_content_blocks("tool_call")
    assert user.get_first_content_block("tool_call") is None
    with pytest.raises(ValueError, match="unknown block type 'tool_calls'"):
        user.get_content_blocks("tool_calls")  # type: ignore[arg-type]
    old = Msg("A", [{"type": "tool_use", "id": "1", "name": "f", "input": {}}], role="assistant")  # type: ignore[list-item]
    assert old.get_content_blocks("tool_use") == old.content  # type: ignore[arg-type]
    assert old.has_content_blocks(["text", "tool_use"])  # type: ignore[list-item]


def test_a_result_without_its_call_is_flagged() -> None:
    """MSG-67: pair checker flags orphans. AMB-16: not enforced on construction."""
    assert AssistantMsg("Friday", [CALL, RESULT]).check_pairs() == []
    assert AssistantMsg("Friday", [CALL]).check_pairs() == []
    assert AssistantMsg("Friday", [RESULT, CALL]).check_pairs() == ["result c1 has no call before it"]
    done = ToolCallBlock(id="c2", name="clock", state="finished")
    assert AssistantMsg("Friday", [done]).check_pairs() == ["call c2 is finished and has no result"]
    assert check_pairs([AssistantMsg("Friday", [CALL]), AssistantMsg("Friday", [RESULT])]) == []


def test_a_frozen_message_cannot_be_changed_from_outside() -> None:
    """MSG-19: mutation of the returned copy does not change the Msg. AMB-15: `frozen()` at the boundaries."""
    msg = AssistantMsg("Friday", [*ALL], id="r1", metadata={"list": [1]}, structured_output={"list": [1]})
    before = msg.to_json()
    frozen = msg.frozen()

    frozen.content.clear()
    frozen.metadata["list"].append(2)
    assert frozen.structured_output is not None
    frozen.structured_output["list"].append(2)
    with pytest.raises(TypeError, match="frozen"):
        frozen.name = "Saturday"
    with pytest.raises(TypeError, match="frozen"):
        frozen.append_event(TextBlockDeltaEvent(reply_id="r1", block_id=TEXT.id, delta="more"))
    msg.content.clear()
    msg.metadata["list"].append(3)

    assert frozen.to_json() == before
    assert copy.deepcopy(frozen).to_json() == before


def test_a_copy_goes_its_own_way() -> None:
    """AMB-15: mutable in canon; a copy shares nothing that can change."""
    result = ToolResultBlock(id="c1", name="weather", output=[TextBlock(text="rain")])
    msg = AssistantMsg("Friday", [result], id="r1", metadata={"list": []})
    before = msg.to_json()
    for twin in (msg.copy(), copy.deepcopy(msg)):
        twin.content.append(TEXT)
        twin.metadata["list"].append(1)
        output = twin.get_content_blocks("tool_result")[0].output
        assert isinstance(output, list)
        output.clear()
        twin.name = "Saturday"
        assert msg.to_json() == before


def test_what_is_no_message_is_refused_in_a_sentence() -> None:
    user = {"name": "Ann", "role": "user"}
    others: list[tuple[Any, str]] = [
        ([], "a message is a JSON object"),
        (user, "a message needs `content`"),
        (user | {"role": "tool", "content": []}, "a role is one of"),
        (user | {"name": 7, "content": []}, "name of a message is text"),
        (user | {"content": [7]}, "content of a message"),
        (user | {"content": [{"type": "tool_used"}]}, "unknown block type"),
        (user | {"content": [{"type": "tool_use"}]}, "missing required field `id`"),
        (user | {"content": [CALL.model_dump()]}, "holds no tool_call"),
        (user | {"role": "assistant", "content": [], "usage": {"input_tokens": "x"}}, "no message"),
    ]
    for data, sentence in others:
        with pytest.raises(ValueError, match=sentence):
            Msg.model_validate(data)
    with pytest.raises(ValueError, match="a message is a JSON object"):
        Msg.from_json(b'{"name":')


def test_text_can_be_put_before_the_content_as_the_hook_sample_does() -> None:
    """AMB-35: `"[reviewed] " + msg.content` prefixes the first words or becomes a block; an assigned text becomes
    one. The content itself stays."""
    image = DataBlock(source=Base64Source(data=b"x", media_type="image/png"), id="d1")
    msg = Msg("user", [image, TextBlock(text="Hello", id="t1"), TextBlock(text="you", id="t2")], "user")
    msg.content = "[reviewed] " + msg.content
    assert msg.content == [image, TextBlock(text="[reviewed] Hello", id="t1"), TextBlock(text="you", id="t2")]
    msg.content = "[pre] " + msg.content
    assert msg.get_text_content() == "[pre] [reviewed] Hello\nyou"
    msg.content = "anew"
    assert [block.type for block in msg.content] == ["text"]
    frozen = Msg("user", "Hello", "user").frozen()
    prefixed = "[reviewed] " + frozen.content
    assert frozen.get_text_content() == "Hello"
    assert Msg("user", prefixed, "user").get_text_content() == "[reviewed] Hello"
    empty = Msg("user", None, "user")
    empty.content = "[note] " + empty.content
    assert empty.get_text_content() == "[note] "
    with pytest.raises(TypeError):
        5 + frozen.content  # type: ignore[operator]


def test_content_of_words_alone_equals_its_text() -> None:
    """As in programs written for AgentScope 1.x, where content may be text."""
    msg = Msg("user", "1", "user")
    assert {"content": msg.content} == {"content": "1"}
    assert msg.content == "1"
    assert "1" == msg.content  # noqa: SIM300 - text on either side
    assert msg.content != "2"
    assert msg.content == [TextBlock(text="1", id=msg.content[0].id)]
    assert msg.content == msg.copy().content
    assert msg.content == msg.frozen().content
    assert Msg("user", [TextBlock(text="a"), TextBlock(text="b")], "user").content == "a\nb"
    assert Msg("user", None, "user").content == ""
    shown = Msg(
        "user", [TextBlock(text="1"), DataBlock(source=Base64Source(data=b"x", media_type="image/png"))], "user"
    )
    assert shown.content != "1"
    assert shown.content != 1

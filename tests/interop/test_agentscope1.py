"""What `Msg.to_dict()` of AgentScope Python 1.x gives."""

from typing import Any

import pytest

from realtime.interop import dump, load
from realtime.message import AssistantMsg, TextBlock, ToolCallBlock, ToolResultBlock


def message(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    named = {"id": "7kXq", "name": "Friday", "role": role, "content": content}
    return {**named, "metadata": {}, "timestamp": "2025-03-04 05:06:07.089", **fields}


CALL = {"type": "tool_use", "id": "c", "name": "find", "input": {"q": "ö"}}
RESULT = {"type": "tool_result", "id": "c", "name": "find"}


@pytest.mark.parametrize(
    "thread",
    [
        [message("user", "Hello")],
        [message("user", [{"type": "text", "text": "Hello"}])],
        [message("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "x"}], metadata=None)],
        [message("user", [{"type": "audio", "source": {"type": "url", "url": "https://example.com/a.wav"}}])],
        [message("assistant", [{**CALL, "raw_input": '{"q":"ö"}'}])],
        [
            message("assistant", [CALL]),
            message("system", [{"type": "tool_result", "id": "c", "name": "find", "output": "x"}]),
        ],
        [message("system", [{"type": "tool_result", "id": "c", "name": "find", "output": None}], invocation_id="i")],
    ],
)
def test_what_to_dict_gives_comes_back(thread: list[dict[str, Any]]) -> None:
    """AMB-13: local times without a zone."""
    messages = load(thread, "agentscope1")
    assert messages[0].created_at == "2025-03-04T05:06:07.089Z"
    assert dump(messages, "agentscope1") == thread


def test_results_of_the_system_are_results_of_the_assistant() -> None:
    told = {"type": "tool_result", "id": "c", "name": "find", "output": [{"type": "text", "text": "Here"}]}
    (msg,) = load([message("assistant", [CALL]), message("system", [told], id="b")], "agentscope1")
    assert [block.type for block in msg.content] == ["tool_call", "tool_result"]
    assert msg.get_content_blocks("tool_call")[0].input == '{"q": "ö"}'


def test_what_we_write_are_the_messages_of_a_react_agent() -> None:
    call, told = ToolCallBlock(id="c", name="find", input="{"), ToolResultBlock(id="c", name="find", output="Here")
    msg = AssistantMsg("Friday", [call, told, TextBlock(text="Found.")], created_at="2026-01-02T03:04:05.678Z")
    asked, result, answer = dump([msg], "agentscope1", keep=False)
    assert asked["content"] == [{"type": "tool_use", "id": "c", "name": "find", "input": {}, "raw_input": "{"}]
    assert (result["role"], result["content"][0]["output"]) == ("system", "Here")
    assert (answer["role"], answer["timestamp"]) == ("assistant", "2026-01-02 03:04:05.678")


def test_a_user_who_holds_a_call_is_one_sentence_and_the_call_is_written_again() -> None:
    thread = [message("user", [{"type": "text", "text": "Hi"}, CALL])]
    problems: list[str] = []
    messages = load(thread, "agentscope1", problems=problems)
    assert problems == ["messages[0].content[1] is a tool_call block, which a user message cannot hold"]
    assert dump(messages, "agentscope1") == thread

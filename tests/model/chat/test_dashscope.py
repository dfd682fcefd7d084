"""DashScope's own protocol: what only it has."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, Mock, patch

import pytest

from realtime.message import ThinkingBlock
from realtime.model.chat import DashScopeChatModel
from realtime.model.chat.failures import shown_address
from tests.model.chat.scripts import HELLO, PROVIDERS, Script, whole
from tests.model.local.chat_endpoint import KEY, ChatEndpoint

DASHSCOPE = PROVIDERS["dashscope"]
CLOCK = {"type": "function", "function": {"name": "clock"}}


async def test_the_documented_constructor_asks_the_endpoint(
    endpoint: ChatEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FMT-14: `DashScopeChatModel(model_name="qwen-max", api_key=...)`, here at the address of a fake endpoint."""
    monkeypatch.setattr("dashscope.base_http_api_url", endpoint.base_url)
    DASHSCOPE.will(endpoint, Script(words=("Hi.",)))
    model = DashScopeChatModel(model_name="qwen-max", api_key=KEY)
    DASHSCOPE.made.append(model)
    # AgentScope writes the address into a variable of the SDK, where the last model wins.
    DashScopeChatModel("qwen-max", KEY, base_http_api_url="http://127.0.0.1:9/api/v1")
    await whole(await model(HELLO))
    asked = await endpoint.request()
    assert (asked.body["model"], asked.body["input"]) == ("qwen-max", {"messages": HELLO})
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["x-dashscope-sse"] == "enable"


async def test_thoughts_are_switched_and_only_streamed(
    endpoint: ChatEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "realtime")
    model = DASHSCOPE.model(endpoint.base_url, stream=False, enable_thinking=True)
    assert model.stream
    assert "sets `stream`" in caplog.text
    endpoint.will(*DASHSCOPE.frames(Script(thoughts=("Let me see.",), words=("Hi.",))))
    response = await whole(await model(HELLO))
    assert [block.thinking for block in response.content if isinstance(block, ThinkingBlock)] == ["Let me see."]
    assert (await endpoint.request()).body["parameters"]["enable_thinking"] is True
    DASHSCOPE.will(endpoint, Script(words=("Hi.",)), stream=False)
    await whole(await DASHSCOPE.model(endpoint.base_url, stream=False, enable_thinking=False)(HELLO))
    assert (await endpoint.request(2)).body["parameters"]["enable_thinking"] is False


async def test_a_required_tool_is_the_only_one_or_left_to_the_model(endpoint: ChatEndpoint) -> None:
    DASHSCOPE.will(endpoint, Script(words=("Hi.",)))
    await whole(await DASHSCOPE.model(endpoint.base_url)(HELLO, tools=[CLOCK], tool_choice="required"))
    assert DASHSCOPE.choice(await endpoint.request()) == {"type": "function", "function": {"name": "clock"}}


async def test_pictures_have_a_service_of_their_own() -> None:
    models: list[tuple[str, dict[str, Any], bool]] = [
        ("qwen-max", {}, False),
        ("qwen-vl-plus", {}, True),
        ("qvq-max", {}, True),
        ("qwen-max", {"multimodality": True}, True),
        ("qwen-vl-plus", {"multimodality": False}, False),
    ]
    for name, settings, sees in models:
        message = {"role": "assistant", "content": [{"text": "A "}, {"text": "door."}] if sees else "A door."}
        answer = Mock(status_code=200, request_id="req-1", usage=None)
        answer.output.choices = [Mock(message=message, finish_reason="stop")]
        with (
            patch("dashscope.AioMultiModalConversation.call", new=AsyncMock(return_value=answer)) as seeing,
            patch("dashscope.aigc.generation.AioGeneration.call", new=AsyncMock(return_value=answer)) as blind,
        ):
            response = await whole(await DashScopeChatModel(name, KEY, stream=False, **settings)(HELLO))
        assert (seeing.call_count, blind.call_count) == ((1, 0) if sees else (0, 1))
        assert [getattr(block, "text", "") for block in response.content] == ["A door."]


async def test_the_service_for_pictures_streams_as_the_other_does(endpoint: ChatEndpoint) -> None:
    frames = [frame.replace('"content": "A', '"content": [{"text": "A').replace('door."', 'door."}]')
              for frame in map(str, DASHSCOPE.frames(Script(words=("A door.",))))]  # fmt: skip
    endpoint.will(*frames)
    response = await whole(await DASHSCOPE.model(endpoint.base_url, multimodality=True)(HELLO))
    assert [getattr(block, "text", "") for block in response.content] == ["A door."]


def test_an_address_is_shown_without_secrets() -> None:
    assert shown_address("https://ann:pass@host:8/api/v1/?key=pass#x") == "https://host:8/api/v1"
    assert shown_address("http://[bad") == "its address"

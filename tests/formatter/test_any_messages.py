"""Whatever the messages are, every family formats them, answers every call and changes nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.message import (
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    URLSource,
)
from tests.formatter.families import FAMILIES

Json = dict[str, Any]
WORDS = st.text(max_size=8)
TYPES = st.sampled_from(
    ["image/png", "image/bmp", "audio/wav", "audio/pcm;rate=16000", "application/pdf", "text/x", "x"]
)
URLS = st.sampled_from(
    ["https://example.org/a", "file:///etc/hostname", "data:,a", "data:x;base64,?", "gs://a", "urn:x"]
)
SOURCES = st.one_of(
    st.builds(Base64Source, data=st.binary(max_size=4), media_type=TYPES),
    st.builds(URLSource, url=URLS, media_type=TYPES),
)
TEXTS = st.builds(TextBlock, text=WORDS)
DATA = st.builds(DataBlock, source=SOURCES, name=st.none() | WORDS)
PARTS = WORDS | st.lists(TEXTS | DATA, max_size=3)
IDS = st.sampled_from(["a", "b", "c+"])
ASSISTANTS = st.one_of(
    TEXTS,
    DATA,
    st.builds(HintBlock, hint=PARTS),
    st.builds(ThinkingBlock, thinking=WORDS, signature=WORDS, thought_signature=WORDS),
    st.builds(
        ToolCallBlock,
        id=IDS,
        name=st.just("clock"),
        input=st.sampled_from(["", "{}", '{"a": 1}', "[", "null"]),
        state=st.sampled_from(ToolCallState),
    ),
    st.builds(ToolResultBlock, id=IDS, name=st.just("clock"), output=PARTS, state=st.sampled_from(ToolResultState)),
)
NAMES = st.sampled_from(["Ada", "Ben", "Friday", "a]\n[b", ""])
MESSAGES = st.lists(
    st.one_of(
        st.builds(Msg, name=NAMES, content=st.lists(TEXTS | DATA, max_size=4), role=st.just("user")),
        st.builds(Msg, name=NAMES, content=st.lists(ASSISTANTS, max_size=8), role=st.just("assistant")),
        st.builds(Msg, name=NAMES, content=st.lists(TEXTS, max_size=2), role=st.just("system")),
    ),
    max_size=6,
)
STYLES = st.sampled_from([None, {}, {"own_name": "Friday"}, {"conversation_history_prompt": "Talk:\n"}])


def calls_and_answers(family: str, message: Json) -> tuple[list[str], list[str]]:
    """The ids of the calls, and of the results, of one message of a payload."""
    match family:
        case "gemini":
            parts = message["parts"]
            calls = [part["function_call"]["id"] for part in parts if "function_call" in part]
            return calls, [part["function_response"]["id"] for part in parts if "function_response" in part]
        case "anthropic":
            calls = [part["id"] for part in message["content"] if part["type"] == "tool_use"]
            return calls, [part["tool_use_id"] for part in message["content"] if part["type"] == "tool_result"]
        case _:
            answers = [message["tool_call_id"]] if message["role"] == "tool" else []
            return [call["id"] for call in message.get("tool_calls", ())], answers


def check(family: str, payload: list[Json]) -> None:
    """Assert that each call's results follow at once, in its order, and that no message is empty."""
    awaited: list[str] = []
    for message in payload:
        calls, answers = calls_and_answers(family, message)
        assert awaited[: len(answers)] == answers
        assert bool(answers) == bool(awaited)
        awaited = awaited[len(answers) :] + calls
        assert message.get("tool_calls") or message.get("content") or message.get("parts")
    assert awaited == []
    systems = [message["role"] == "system" for message in payload]
    assert sum(systems) <= 1
    assert not any(systems[1:])


@pytest.mark.parametrize("family", FAMILIES)
@given(messages=MESSAGES, style=STYLES)
async def test_any_messages_are_formatted_and_every_call_is_answered(
    family: str, messages: list[Msg], style: dict[str, str] | None
) -> None:
    """FMT-06, AMB-04: for one user and for several participants; formatting changes no message."""
    before = [message.to_json() for message in messages]
    makes = FAMILIES[family]
    formatter = makes.chat() if style is None else makes.speakers(**style)
    payload = await formatter.format(messages)
    check(family, payload)
    if family != "dashscope":  # a server for each example would take minutes; its golden payloads are judged
        await makes.judge([payload])
    assert [message.to_json() for message in messages] == before
    assert await formatter.format(messages) == payload

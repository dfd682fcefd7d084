"""Whatever the messages are, every family formats them, answers every call and changes nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.message import Msg
from tests.formatter.families import FAMILIES
from tests.message.streams import Streams

Json = dict[str, Any]
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
@given(seed=st.integers(0, 2**32), count=st.integers(0, 6), style=STYLES)
async def test_any_messages_are_formatted_and_every_call_is_answered(
    family: str, seed: int, count: int, style: dict[str, str] | None
) -> None:
    """FMT-06, AMB-04: for one user and for several participants; formatting changes no message."""
    made = Streams(seed)
    messages = [Msg.model_validate(made.message()) for _ in range(count)]
    before = [message.to_json() for message in messages]
    makes = FAMILIES[family]
    formatter = makes.chat() if style is None else makes.speakers(**style)
    payload = await formatter.format(messages)
    check(family, payload)
    if family != "dashscope":  # a server for each example would take minutes; its golden payloads are judged
        await makes.judge([payload])
    assert [message.to_json() for message in messages] == before
    assert await formatter.format(messages) == payload

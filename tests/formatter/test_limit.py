"""A limit of tokens leaves out the oldest messages, and no call without its result."""

from collections.abc import Sequence
from typing import Any

import pytest

from realtime.errors import UsageError
from realtime.formatter import OpenAIChatFormatter
from realtime.message import AssistantMsg, Msg, SystemMsg, TextBlock, ToolCallBlock, ToolResultBlock, UserMsg


class Words:
    """Counts messages as tokens."""

    asked = 0

    async def count(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None) -> int:
        self.asked += 1
        return len(messages)


def talk(count: int) -> list[Msg]:
    return [SystemMsg("system", "Be nice."), *(UserMsg("Ada", str(number)) for number in range(count))]


async def contents(messages: list[Msg], max_tokens: int) -> list[str]:
    payload = await OpenAIChatFormatter(token_counter=Words(), max_tokens=max_tokens).format(messages)
    return [one["content"] for one in payload]


async def test_the_newest_that_fit_are_kept_behind_the_system_prompt() -> None:
    assert await contents(talk(10), 4) == ["Be nice.", "7", "8", "9"]
    assert await contents(talk(3), 4) == ["Be nice.", "0", "1", "2"]
    assert await contents(talk(9), 2) == ["Be nice.", "8"]
    assert await contents([], 1) == []
    with pytest.raises(UsageError, match="the system prompt and the newest message"):
        await contents(talk(1), 1)


async def test_as_many_are_kept_as_fit() -> None:
    assert [len(await contents(talk(99), count)) for count in range(2, 101)] == [*range(2, 101)]
    counter = Words()
    await OpenAIChatFormatter(token_counter=counter, max_tokens=100).format(talk(1_000))
    assert counter.asked <= 12, "a long history is counted a few times"


async def test_a_call_and_its_result_go_together() -> None:
    call, result = ToolCallBlock(id="c1", name="clock"), ToolResultBlock(id="c1", name="clock", output="noon")
    apart = [
        UserMsg("Ada", "Time?"),
        AssistantMsg("Friday", [call]),
        UserMsg("Ada", "Hurry."),
        AssistantMsg("Friday", [result, TextBlock(text="Noon.")]),
    ]
    assert await contents(apart, 5) == ["Time?", None, "noon", "Hurry.", "Noon."]
    assert await contents(apart, 4) == [None, "noon", "Hurry.", "Noon."]
    with pytest.raises(UsageError, match="more than 3 tokens"):
        await contents(apart, 3)


def test_a_limit_needs_a_counter() -> None:
    for counter, max_tokens in ((None, 5), (Words(), 0)):
        with pytest.raises(UsageError, match="needs a `token_counter`"):
            OpenAIChatFormatter(token_counter=counter, max_tokens=max_tokens)

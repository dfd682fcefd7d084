"""What is silently wrong is an error where it is written, or understood: arguments of agents, tools, rooms, models."""

from collections.abc import Callable
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.errors import UsageError
from realtime.event.config import TurnDetection
from realtime.message import ToolCallBlock
from realtime.model.chat import AnthropicChatModel, GeminiChatModel, OpenAIChatModel
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from realtime.model.scripted import ScriptedModel
from realtime.room import ChatRoom
from realtime.server.rooms import Rooms
from realtime.tool import Toolkit

CALL = ToolCallBlock(id="c", name="pay", input='{"amount": 1}')


def pay(amount: float) -> str:
    """Pay."""
    return "paid"


def agent(**options: Any) -> RealtimeAgent:
    return RealtimeAgent("Friday", "", ScriptedModel([]), **options)


def tool(**options: Any) -> Toolkit:
    toolkit = Toolkit()
    toolkit.register(pay, **options)
    return toolkit


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda: tool(question="Pay {sum}?"), "names {sum}, which is no argument of it; it has amount"),
        (lambda: tool(question="Pay {amount} to {whom}?", consent="card"), "names {whom}"),
        (lambda: tool(consent="voise"), "tool 'pay': consent is one of 'voice', 'card', 'either' or None, not 'voise'"),
        (lambda: RealtimeAgent(" ", "", ScriptedModel([])), "name is empty"),
        (lambda: agent(toolkit="pay"), "toolkit is a Toolkit or a list of functions or None, not 'pay'"),
        (lambda: agent(turn_detection={"silence_duration_ms": "long"}), "turn_detection: "),
        (lambda: RealtimeAgent("A", "", LocalRealtimeModel(), voice="nobody"), "there is no voice 'nobody'; "),
        (lambda: RealtimeAgent("A", "", OpenAIRealtimeModel(), voice="aloy"), "there is no voice 'aloy'; "),
        (lambda: ChatRoom([]), "agents is empty"),
        (lambda: ChatRoom([agent()], floor="adressed"), "floor is a function of realtime.room"),  # type: ignore[arg-type]
        (lambda: Limits(grace_s=-1), "grace_s is a number of seconds, 0 or more, not -1"),
        (lambda: Limits(call_s=float("nan")), "call_s is a number of seconds"),
        (lambda: Rooms({}, grace_s=-0.5), "grace_s is a number of seconds, 0 or more, not -0.5"),
        (lambda: OpenAIChatModel("m", "k", client_kwargs={"api_key": "x"}), "client_kwargs holds 'api_key'"),
        (lambda: AnthropicChatModel("m", "k", client_kwargs={"api_key": "x"}), "client_kwargs holds 'api_key'"),
        (lambda: GeminiChatModel("m", "k", client_kwargs={"api_key": "x"}), "client_kwargs holds 'api_key'"),
    ],
)
def test_a_mistake_is_an_error_where_it_is_written(write: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        write()
    assert sentence in caught.value.message


def test_what_is_meant_is_understood() -> None:
    made = agent(toolkit=[pay], turn_detection={"type": "server_vad", "silence_duration_ms": 300})
    assert [*made.toolkit.tools] == ["pay"]
    assert made.turn_detection == TurnDetection(type="server_vad", silence_duration_ms=300)


def test_a_tool_with_a_question_asks_it() -> None:
    toolkit = tool(question="Shall I pay {amount}?")
    assert toolkit.decide(CALL).asks
    assert toolkit.decide(CALL).question == "Shall I pay {amount}?"


def test_a_voice_that_a_service_may_have_passes() -> None:
    """It may be new, or custom, or that of another service."""
    for voice in ("voice_4711", "Kore", "alloy"):
        assert RealtimeAgent("A", "", OpenAIRealtimeModel(), voice=voice).voice == voice

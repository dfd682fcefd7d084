"""A tool that asks once, and a rule that its user accepts with the answer. It runs without a key:

python examples/permissions.py
"""

import asyncio
from typing import Any

from realtime import RealtimeAgent, ScriptedModel
from realtime.event import RequireUserConfirmEvent, UserConfirmResultEvent
from realtime.message import ConfirmResult, PermissionRule, UserMsg
from realtime.model.base import ModelInput, ResponseCreate, ToolResult
from realtime.model.script import CallTools, Speak, Step
from realtime.permission import PermissionBehavior, PermissionEngine
from realtime.tool import Toolkit

AMOUNTS = [30, 25, 500]
"""What the scripted model pays, turn after turn."""
NEVER = PermissionRule(tool_name="pay", rule_content="amount>100", behavior=PermissionBehavior.DENY)


def pay(recipient: str, amount: int) -> str:
    """Pay somebody."""
    return f"Paid {amount} euros to {recipient}."


class Till:
    """The scripted model's behaviour; use `open_model("openai:gpt-realtime-2.1")` instead."""

    def __init__(self) -> None:
        self.told = ""
        self.amounts = [*AMOUNTS]

    def __call__(self, message: ModelInput) -> list[Step]:
        if isinstance(message, ToolResult):
            self.told = message.result.output_text()
        if not isinstance(message, ResponseCreate):
            return []
        if self.told:
            told, self.told = self.told, ""
            return [Speak(told, 1.0)]
        return [CallTools((("pay", {"recipient": "Anna", "amount": self.amounts.pop(0)}),))]


async def main() -> None:
    """Three payments: one is asked for, the next is covered by what was accepted, the last is never allowed."""
    toolkit = Toolkit(confirm=[pay], permissions=PermissionEngine([NEVER]))
    agent = RealtimeAgent("Friday", "You keep the till.", ScriptedModel(Till()), toolkit=toolkit)
    voice: asyncio.Queue[Any] = asyncio.Queue()
    await agent.start(voice)
    for amount in AMOUNTS:
        words = ""
        async for event in agent.reply_stream(UserMsg("user", f"Pay Anna {amount} euros.")):
            if isinstance(event, RequireUserConfirmEvent):
                (call,) = event.tool_calls
                up_to = call.suggested_rules[1]
                print(f"May {call.name} run with {call.input}? Yes, and from now on: {up_to.rule_content}")
                answers = [ConfirmResult(confirmed=True, tool_call=call, rules=[up_to])]
                await agent.send(UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=answers))
            words += getattr(event, "delta", "") if event.type == "TEXT_BLOCK_DELTA" else ""
        print("Friday said:", words)
    print("Rules of the call:", ", ".join(f"{rule.behavior} {rule.rule_content}" for rule in agent.permissions.rules))
    await agent.stop()


if __name__ == "__main__":
    asyncio.run(main())

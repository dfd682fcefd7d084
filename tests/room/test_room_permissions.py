"""Permission rules in a room: those that a human accepts are theirs; those of the program are for all."""

import asyncio
from typing import Any

import pytest

from realtime.event import client as c
from realtime.event import server as s
from realtime.message import PermissionBehavior, PermissionRule, ToolCallBlock
from realtime.model.script import CallTools
from realtime.permission import PermissionEngine
from realtime.room.floor import addressed
from realtime.tool import Toolkit
from tests.room.rooms import Human, TalkModel, agent, house, spoken

pytestmark = pytest.mark.virtual_time

ALLOW, DENY = PermissionBehavior.ALLOW, PermissionBehavior.DENY


class Till:
    """An agent that pays each time that it is spoken to, if it may."""

    def __init__(self, rounds: int, *rules: PermissionRule) -> None:
        self.paid = 0
        talk = [part for _ in range(rounds) for part in ([CallTools((("pay", {"amount": 5}),))], [spoken("Paid.")])]
        toolkit = Toolkit(confirm=[self.pay], permissions=PermissionEngine(rules))
        self.agent = agent("Alice", TalkModel(*talk), toolkit=toolkit)

    def pay(self, amount: int) -> str:
        """Pay."""
        self.paid += 1
        return "paid"


def questions(human: Human) -> list[ToolCallBlock]:
    told = [event.tool_use for event in human.of(s.AgentResponseToolUseDoneEvent)]
    return [call for call in told if call.state == "asking"]


def accept(human: Human, question: ToolCallBlock, *, place: int = 0) -> None:
    rules = [question.suggested_rules[place]]
    human.call.receive(
        c.ClientToolResultEvent(id=question.id, name=question.name, output="", confirmed=True, rules=rules)
    )


def updates(human: Human) -> list[dict[str, Any]]:
    return [one.value for one in human.of(s.ServerCustomEvent) if one.name == "permission_updated"]


async def test_a_rule_that_one_human_accepts_is_of_no_use_to_another() -> None:
    till = Till(3)
    async with house(till.agent, floor=addressed) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        anna.write("Alice, pay.")
        await asyncio.sleep(1)
        (question,) = questions(anna)
        assert [rule.rule_content for rule in question.suggested_rules] == ["amount=5", "amount<=5", None]
        accept(anna, question)
        await home.quiet()
        ben.write("Alice, pay.")
        await asyncio.sleep(1)
        assert (till.paid, len(questions(ben))) == (1, 2)
        ben.call.receive(
            c.ClientToolResultEvent(id=questions(ben)[1].id, name="pay", output="", confirmed=False, event_id="e")
        )
        await home.quiet()
        anna.write("Alice, pay.")
        await home.quiet()
        assert (till.paid, len(questions(anna))) == (2, 2)
        (update,) = updates(anna)
        assert (update["by"], [one["rule_content"] for one in update["added"]]) == ("user", ["amount=5"])
        assert updates(ben) == [], "what Anna allows is hers"
        (alice,) = home.room._people.agents
        alice.run.permissions.add_rule(PermissionRule(tool_name="pay", rule_content="amount>9", behavior=DENY))
        assert [one["rules"] for one in updates(ben)] == [[]]
        assert updates(anna)[-1]["rules"] == update["rules"]


async def test_a_human_who_is_not_asked_accepts_no_rule_either() -> None:
    till = Till(1)
    async with house(till.agent, floor=addressed) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        anna.write("Alice, pay.")
        await asyncio.sleep(1)
        accept(ben, questions(ben)[0], place=2)
        await asyncio.sleep(1)
        assert (ben.errors(), till.paid) == (["not_yours_to_answer"], 0)
        assert updates(anna) == []


async def test_where_anyone_may_answer_the_rule_is_that_of_the_human_who_was_asked() -> None:
    till = Till(2)
    async with house(till.agent, floor=addressed, consent_by="anyone") as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        anna.write("Alice, pay.")
        await asyncio.sleep(1)
        accept(ben, questions(ben)[0])
        await home.quiet()
        anna.write("Alice, pay.")
        await home.quiet()
        assert (till.paid, len(questions(ben))) == (2, 1)


@pytest.mark.parametrize(("behavior", "paid", "state"), [("allow", 1, "success"), ("deny", 0, "denied")])
async def test_rules_of_the_program_are_for_all_humans(behavior: str, paid: int, state: str) -> None:
    till = Till(1, PermissionRule(tool_name="pay", behavior=PermissionBehavior(behavior)))
    async with house(till.agent, floor=addressed) as home:
        anna = await home.come("Anna")
        anna.write("Alice, pay.")
        await home.quiet()
        results = [event.tool_result.state for event in anna.of(s.AgentResponseToolResultEvent)]
        assert (questions(anna), till.paid, results) == ([], paid, [state])

"""What is recalled, and a plan, is one private part of the instructions with every provider, never piled up."""

import json
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.run import AgentRun
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.plan import PlanNotebook
from tests.agent.test_dropped_socket import in_call
from tests.agent.test_long_term import Notebook
from tests.agent.test_providers import SECOND
from tests.model.providers import FAKES, Fake
from tests.real_loop import settled


def frames_with(service: Any, words: str) -> list[str]:
    """All frames of all links of the service that have these words."""
    written = [json.dumps(frame) for link in service.sessions for frame in link.frames]
    return [one for one in written if words in one]


def frames_with_quotes(service: Any) -> list[str]:
    """All frames of all links of the service that have something remembered."""
    return frames_with(service, "<long_term_memory>")


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
async def test_each_recall_replaces_the_one_before_and_no_turn_waits_for_a_new_connection(fake: Fake) -> None:
    """Where new instructions cost a connection, they come after the reply: one turn late, and it costs no time."""
    notebook = Notebook()
    async with fake.service() as service:
        agent = RealtimeAgent("Friday", "Be nice.", fake.model(service), long_term_memory=notebook)
        assert agent.model.profile.redials_for_instructions is fake.redials_for_settings
        async with in_call(agent, SessionConfig()) as (session, log):
            for number, (recalled, gone) in enumerate((("Anna has a dog.", "jazz"), ("Anna likes jazz.", "dog"))):
                notebook.recalled = recalled
                provider, n_links = service.sessions[-1], len(service.sessions)
                session.receive(c.ClientTextAppendEvent(text=f"Question {number}?"))
                question = f"Question {number}?"
                await settled(lambda provider=provider, question=question: question in json.dumps(provider.frames))
                if not fake.redials_for_settings:
                    await settled(lambda recalled=recalled: any(recalled in one for one in frames_with_quotes(service)))
                assert len(service.sessions) == n_links, "the turn waits for no new connection"
                await fake.speak(provider, f"Answer {number}.", SECOND)
                await log.until(lambda number=number: len(log.of(s.AgentResponseDoneEvent)) > number)
                await settled(lambda recalled=recalled: any(recalled in one for one in frames_with_quotes(service)))
                newest = frames_with_quotes(service)[-1]
                assert (newest.count("<long_term_memory>"), recalled in newest, gone in newest) == (1, True, False)
            told = [*log.of(s.AgentItemAddedEvent), *log.of(s.AgentSessionUpdatedEvent)]
            assert not any("Anna" in repr(event) for event in told)
            assert notebook.asked == ["Question 0?", "Question 1?"]


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.name)
async def test_after_fifty_changes_of_a_plan_each_instruction_has_one_hint(fake: Fake) -> None:
    """PLN-29: with the plan as it is, in the instructions of the newest link; no item of the conversation has one."""
    async with fake.service() as service:
        agent = RealtimeAgent("Friday", "Be nice.", fake.model(service), plan_notebook=PlanNotebook())
        async with in_call(agent, SessionConfig()) as (session, _):
            assert isinstance(session.participant, AgentRun)
            notebook = session.participant.spec.plan_notebook
            assert notebook is not None
            await notebook.create_plan("Trip", "Go.", "Gone.", ["Train"])
            for number in range(50):
                await notebook.revise_current_plan(0, "add", f"Step {number}.")
            await settled(lambda: frames_with(service, "Step 49.") != [])
            told = frames_with(service, "<system-hint>")
            assert {one.count("<system-hint>") for one in told} == {1}
            assert "Step 0." in told[-1]
            assert "<system-hint>" not in json.dumps(session.conversation.items(), default=repr)

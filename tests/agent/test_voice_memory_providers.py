"""What is recalled is one private part of the instructions with every provider, replaced and never piled up."""

import json
from typing import Any

import pytest

from realtime.agent import RealtimeAgent
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.config import SessionConfig
from tests.agent.test_dropped_socket import in_call
from tests.agent.test_long_term import Notebook
from tests.agent.test_providers import SECOND
from tests.model.providers import FAKES, Fake
from tests.real_loop import settled


def frames_with_quotes(service: Any) -> list[str]:
    """All frames of all links of the service that have something remembered."""
    written = [json.dumps(frame) for link in service.sessions for frame in link.frames]
    return [one for one in written if "<long_term_memory>" in one]


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

"""Waiting for an answer beside which something else happens: it ends when nothing more will be heard, or says why."""

from typing import Any

import numpy as np
import pytest

from realtime.model.script import Speak as Say
from realtime.testing.client.page import Page
from realtime.testing.client.steps import Network, Send, Silence, Speak, Type, WaitFor, WaitUntilHeard
from realtime.testing.client.steps import Step as UserStep
from realtime.testing.client.user import UNNOTICED_S, User
from realtime.testing.errors import ScriptFailure
from tests.testing.served import INPUT_HZ, LOUD, Hearer, answer, served, voice

pytestmark = pytest.mark.virtual_time(limit_s=200)

HELLO = Speak(pcm=voice(500), text="hello")
HEARD = WaitUntilHeard()
REPLY_BEGINS = (WaitFor("agent_response_audio_delta"), Silence(500))
REQUEST = Send({"type": "client_response_create"})
NO_TURN = "what was spoken began no turn, and no answer was on its way"


def noise(ms: int) -> Speak:
    """Too quiet for a voice."""
    pcm = np.random.default_rng(3).integers(-LOUD // 2, LOUD // 2, INPUT_HZ * ms // 1000).astype("<i2").tobytes()
    return Speak(pcm=pcm)


class Outcome:
    """What came of a script, and when it had ended (ms of the call)."""

    def __init__(self, page: Page, ended_ms: float, failure: str | None) -> None:
        self.ended_ms, self.failure = ended_ms, failure
        self.played = page.played()
        self.responses = [one.event for one in page.received if one.event["type"] == "agent_response_done"]

    @property
    def heard_until_ms(self) -> float:
        return max(one.from_ms + one.ms for one in self.played)


async def play(*steps: UserStep, model: Any = None) -> Outcome:
    failure = None
    async with served(model) as app:
        page = Page(app)
        user = User("anna", page, steps)
        await page.join()
        try:
            await user.run()
        except ScriptFailure as caught:
            failure = str(caught)
        ended_ms = page.ms()
        await page.close()
    return Outcome(page, ended_ms, failure)


@pytest.mark.parametrize("noise_ms", [300, 5_000], ids=["short", "longer than the reply"])
async def test_a_reply_with_noise_in_it_is_waited_for_to_its_end(noise_ms: int) -> None:
    run = await play(HELLO, *REPLY_BEGINS, noise(noise_ms), HEARD, model=Hearer([answer(4.0)]))
    assert run.failure is None
    assert sum(one.ms for one in run.played) == pytest.approx(4_000)
    assert run.ended_ms == pytest.approx(max(run.heard_until_ms, 500 + 500 + noise_ms + UNNOTICED_S * 1000), abs=300)


async def test_noise_while_the_answer_is_thought_about_leaves_it_to_be_waited_for() -> None:
    slow = Say("At last.", 1.0, chunk_ms=100, pace=4.0, wait=False, after_ms=9_000)
    run = await play(Type("hi"), noise(300), noise(300), HEARD, model=Hearer([slow]))
    assert run.failure is None
    assert run.ended_ms == pytest.approx(run.heard_until_ms, abs=1)
    assert sum(one.ms for one in run.played) == pytest.approx(1_000)


@pytest.mark.parametrize("before", [(), (Type("hi"), HEARD)], ids=["nothing was said", "all was heard"])
async def test_noise_alone_is_no_reason_to_wait_and_fails_at_once(before: tuple[UserStep, ...]) -> None:
    began = await play(*before)
    run = await play(*before, noise(300), HEARD)
    assert run.failure is not None
    assert NO_TURN in run.failure
    assert run.ended_ms == pytest.approx(began.ended_ms + 300 + UNNOTICED_S * 1000, abs=1)


async def test_on_a_slow_line_a_turn_may_begin_later() -> None:
    run = await play(Network(delay_ms=3_000), HELLO, HEARD)
    assert run.failure is None
    assert sum(one.ms for one in run.played) == pytest.approx(2_000)


async def test_a_request_for_an_answer_that_is_on_its_way_is_answered_by_it() -> None:
    slow = Say("At last.", 1.0, chunk_ms=100, pace=4.0, wait=False, after_ms=2_000)
    run = await play(Type("hi"), WaitFor("agent_response_created"), REQUEST, HEARD, model=Hearer([slow]))
    assert run.failure is None
    assert [one["status"] for one in run.responses] == ["completed"]
    assert run.ended_ms == pytest.approx(run.heard_until_ms, abs=1)
    assert sum(one.ms for one in run.played) == pytest.approx(1_000)


@pytest.mark.parametrize("pace", [1.0, 20.0], ids=["that is made", "that is made whole"])
async def test_a_request_into_a_reply_is_answered_by_the_next_one(pace: float) -> None:
    run = await play(Type("hi"), *REPLY_BEGINS, REQUEST, HEARD, model=Hearer([answer(4.0, pace=pace)], [answer(3.0)]))
    assert run.failure is None
    assert len(run.responses) == 2
    assert run.played[-1].ms == pytest.approx(3_000)
    assert run.ended_ms == pytest.approx(run.heard_until_ms, abs=1)


async def test_a_request_in_silence_is_answered_by_the_next_one() -> None:
    run = await play(Type("hi"), HEARD, Silence(500), REQUEST, HEARD, model=Hearer([answer(1.0)], [answer(3.0)]))
    assert run.failure is None
    assert [one.ms for one in run.played] == pytest.approx([1_000, 3_000])


async def test_a_request_that_is_cancelled_with_the_reply_is_waited_for_no_more() -> None:
    cancel = Send({"type": "client_response_cancel"})
    slow = Say("Never.", 1.0, chunk_ms=100, pace=4.0, wait=False, after_ms=2_000)
    run = await play(Type("hi"), WaitFor("agent_response_created"), REQUEST, cancel, HEARD, model=Hearer([slow]))
    assert run.failure is None
    assert [one["status"] for one in run.responses] == ["cancelled"]

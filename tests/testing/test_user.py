"""A scripted user in a call with the real application, in virtual time: what each step does, and how it fails."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from realtime.client.outbox import Client
from realtime.errors import BadOption
from realtime.model.script import CallTools
from realtime.testing.client.page import Page
from realtime.testing.client.steps import (
    BargeIn,
    Drop,
    Leave,
    Network,
    Send,
    Silence,
    Speak,
    Type,
    WaitFor,
    WaitUntilHeard,
)
from realtime.testing.client.steps import Step as UserStep
from realtime.testing.client.user import User
from realtime.testing.errors import CaseError, ScriptFailure
from realtime.tool import Toolkit
from tests.testing.served import ANSWER, Hearer, answer, served, session_of, voice

pytestmark = pytest.mark.virtual_time(limit_s=200)

HELLO = Speak(pcm=voice(500), text="hello")
STOP = Speak(pcm=voice(400, seed=2), text="stop")
HEARD = WaitUntilHeard(timeout_ms=20_000)


async def lookup(number: str) -> str:
    """Looks up an order after two seconds.

    Args:
        number: The order.
    """
    await asyncio.sleep(2)
    return f"{number} is on its way"


class Outcome:
    """What came of a script."""

    def __init__(self, page: Page, user: User, said: Sequence[tuple[str, str]], failure: Exception | None) -> None:
        self.page, self.user, self.said, self.failure = page, user, list(said), failure
        self.spoken, self.marks = user.spoken, user.marks

    def at_ms(self, kind: str) -> list[float]:
        return [one.at_ms for one in self.page.received if one.event["type"] == kind]


async def play(*steps: UserStep, model: Hearer | None = None, client: Client = "realtime.v1") -> Outcome:
    """Run the steps; a script that fails is an outcome, too."""
    failure = None
    async with served(model, toolkit=Toolkit([lookup])) as app:
        page = Page(app, client=client)
        user = User("anna", page, steps)
        await page.join()
        session = session_of(app)
        try:
            await user.run()
        except ScriptFailure as caught:
            failure = caught
        said = [(item.role, item.text) for item in session.conversation.items() if item.role]
        await (page.close() if failure else page.leave())
    return Outcome(page, user, said, failure)


@pytest.mark.parametrize("client", ["realtime.v1", "json", "agentscope1"])
async def test_a_question_is_spoken_and_its_answer_heard_to_the_end(client: Client) -> None:
    run = await play(HELLO, HEARD, client=client)
    assert run.failure is None
    assert run.said == [("user", "what time is it"), ("assistant", ANSWER)]
    (spoken,) = run.spoken
    assert (spoken.who, spoken.text, spoken.barge_in) == ("anna", "hello", False)
    assert spoken.to_ms - spoken.from_ms == pytest.approx(500)
    (played,) = run.page.played()
    assert played.ms == pytest.approx(2_000 if client != "agentscope1" else 2_300)
    ended_ms = run.at_ms("server_session_ended")[0]
    assert ended_ms == pytest.approx(played.from_ms + played.ms, abs=1), "the call ended as soon as all was heard"


async def test_silence_lasts_as_long_as_it_says_and_a_step_that_does_not_wait_lets_the_next_begin_at_once() -> None:
    hearer = Hearer()
    waits, hurries = Speak(pcm=voice(500)), Speak(pcm=voice(500), wait=False)
    run = await play(Silence(ms=730), waits, Silence(ms=270), hurries, waits, model=hearer)
    first, second, third = run.spoken
    assert (first.from_ms, second.from_ms - first.to_ms) == pytest.approx((730, 270), abs=0.1)
    assert third.from_ms == pytest.approx(second.to_ms)
    assert len(hearer.heard) >= 2_460 * 32


async def test_a_typed_turn_is_answered_and_noted() -> None:
    run = await play(Silence(ms=100), Type(text="hi"), HEARD, Type(text="and?"), HEARD)
    assert run.failure is None
    assert run.said == [("user", "hi"), ("assistant", ANSWER), ("user", "and?"), ("assistant", ANSWER)]
    assert [mark.text for mark in run.marks if mark.what == "typed"] == ["hi", "and?"]
    assert [one.ms for one in run.page.played()] == pytest.approx([2_000, 2_000])


async def test_an_answer_of_several_parts_with_a_tool_between_is_heard_to_its_end() -> None:
    run = await play(HELLO, HEARD, model=Hearer(*LET_ME_SEE))
    assert run.failure is None
    assert [text for role, text in run.said if role == "assistant"] == ["Let me see.", "It comes."]
    assert sum(one.ms for one in run.page.played()) == pytest.approx(2_500)


async def test_an_answer_that_is_flushed_is_over() -> None:
    run = await play(
        HELLO, WaitFor("agent_response_created"), Silence(ms=700), Send({"type": "client_response_cancel"}), HEARD
    )
    assert run.failure is None
    assert [mark.what for mark in run.marks] == ["flushed"]
    (played,) = run.page.played()
    assert played.ms < 1_000


async def test_an_event_is_waited_for_by_its_fields_from_now_on() -> None:
    run = await play(
        Type(text="one"),
        HEARD,
        Type(text="two"),
        WaitFor("agent_response_done", where={"status": "completed"}),
        Silence(ms=1),
    )
    assert run.failure is None
    assert run.at_ms("agent_response_done")[1] <= run.at_ms("server_session_ended")[0] - 1
    late = await play(Type(text="one"), HEARD, WaitFor("agent_response_done", timeout_ms=5_000))
    assert "no agent_response_done came within 5000 ms" in str(late.failure)


LET_ME_SEE = ([answer(1.0, "Let me see."), CallTools((("lookup", {"number": "7"}),))], [answer(1.5, "It comes.")])
"""An answer of two parts with a tool between."""


@pytest.mark.parametrize("after_ms", [0, 1, 555, 1_999])
async def test_a_user_barges_in_when_so_much_of_the_answer_was_heard(after_ms: int) -> None:
    run = await play(HELLO, BargeIn(speech=STOP, after_ms=after_ms), Silence(ms=1_000), model=Hearer([answer()], []))
    assert run.failure is None
    _, barge_in = run.spoken
    assert barge_in.barge_in
    assert barge_in.from_ms == pytest.approx(run.page.played()[0].from_ms + after_ms, abs=0.2)


@pytest.mark.parametrize("on_tool", [True, False])
async def test_a_barge_in_counts_the_whole_answer_across_its_parts_and_may_come_when_a_tool_is_called(
    on_tool: bool,
) -> None:
    step = BargeIn(speech=STOP, on_tool="lookup") if on_tool else BargeIn(speech=STOP, after_ms=1_400)
    run = await play(HELLO, step, Silence(ms=500), model=Hearer(*LET_ME_SEE))
    assert run.failure is None
    (called_ms,) = run.at_ms("agent_response_tool_use_done")
    expected_ms = called_ms if on_tool else run.page.played()[1].from_ms + 400
    assert run.spoken[1].from_ms == pytest.approx(expected_ms, abs=0.2)


@pytest.mark.parametrize("word", ["seven", "SEVEN", "morning", "shines"])
async def test_a_user_barges_in_at_a_word_where_the_call_places_it_in_the_sound(word: str) -> None:
    model = Hearer([answer(4.0, pace=20.0)], [])
    run = await play(HELLO, BargeIn(speech=STOP, at_word=word), Silence(ms=1_000), model=model)
    assert run.failure is None
    begin = ANSWER.index(word.lower())
    end = next((place for place in range(begin, len(ANSWER)) if ANSWER[place] == " "), len(ANSWER))
    heard_ms = run.spoken[1].from_ms - run.page.played()[0].from_ms
    assert heard_ms == pytest.approx(4_000 * end / len(ANSWER), abs=2)
    (heard,) = [text for role, text in run.said if role == "assistant"]
    assert ANSWER.startswith(heard)
    assert heard.startswith(ANSWER[: begin - 1]), "what the server knows is at most a moment old"


@pytest.mark.parametrize(
    ("step", "missing"),
    [
        (BargeIn(speech=STOP, after_ms=5_000, timeout_ms=9_000), "5000 ms of the answer were not heard within 9000 ms"),
        (BargeIn(speech=STOP, at_word="eight", timeout_ms=9_000), "the word 'eight' was not heard within 9000 ms"),
        (BargeIn(speech=STOP, at_word="even", timeout_ms=9_000), "the word 'even' was not heard within 9000 ms"),
        (BargeIn(speech=STOP, on_tool="pay", timeout_ms=9_000), "the tool 'pay' was not called within 9000 ms"),
        (
            WaitFor("agent_error", where={"code": "x"}, timeout_ms=9_000),
            "no agent_error with {'code': 'x'} came within",
        ),
    ],
)
async def test_what_never_comes_fails_with_the_step_and_the_last_events(step: UserStep, missing: str) -> None:
    run = await play(HELLO, step)
    told = str(run.failure)
    assert told.startswith(f"step 2 of anna ({step.__struct_config__.tag}), at 9500 ms: {missing}")
    assert "the last events were" in told
    assert "agent_response_done" in told


async def test_an_answer_that_never_comes_fails_its_wait() -> None:
    run = await play(HELLO, WaitUntilHeard(timeout_ms=3_000), model=Hearer([]))
    assert "step 2 of anna (wait_until_heard), at 3500 ms: the answer was not heard to its end" in str(run.failure)


@pytest.mark.parametrize("noticed", [True, False])
async def test_a_dropped_socket_comes_back_and_the_answer_is_heard_whole(noticed: bool) -> None:
    run = await play(HELLO, WaitFor("server_audio_item"), Silence(ms=600), Drop(away_ms=1_500, noticed=noticed), HEARD)
    assert run.failure is None
    dropped, returned = run.marks
    assert (dropped.what, returned.what) == ("dropped", "returned")
    assert returned.ts_ms - dropped.ts_ms == pytest.approx(1_500)
    assert sum(one.ms for one in run.page.played()) == pytest.approx(2_000)
    assert run.said[-1] == ("assistant", ANSWER)


async def test_a_bad_network_lasts_until_it_is_ended() -> None:
    run = await play(Silence(ms=400), Network(loss=0.5, delay_ms=100), HELLO, Network(), Silence(ms=500), HEARD)
    assert run.failure is None
    lost = run.page.uplink.lost_frames
    assert 0 < lost < 13


async def test_a_client_event_is_sent_as_it_is_and_a_user_that_leaves_ends_the_call() -> None:
    nonsense = Send({"type": "client_nonsense", "event_id": "x1"})
    run = await play(nonsense, WaitFor("server_audio_received"), Silence(ms=300), Leave())
    (error,) = [event for event in run.page.events if event["type"] == "agent_error"]
    assert (error["code"], error["client_event_id"]) == ("unknown_event", "x1")
    assert run.failure is None
    assert [mark.what for mark in run.marks] == ["left"]
    assert run.page.is_over


async def test_a_call_that_is_over_fails_the_next_step_at_once() -> None:
    run = await play(Send({"type": "client_session_end"}), WaitFor("server_session_ended"), HELLO)
    assert "step 3 of anna (speak)" in str(run.failure)
    assert "the call is over" in str(run.failure)
    waiting = await play(Send({"type": "client_session_end"}), WaitFor("agent_response_done"))
    assert "no agent_response_done came, and the call is over" in str(waiting.failure)


REFUSED: list[tuple[UserStep, str]] = [
    (Speak(audio="missing.wav"), "there is no such file"),
    (BargeIn(speech=Speak(), after_ms=1), "there is nothing to say"),
]


@pytest.mark.parametrize(
    ("step", "fields", "told"),
    [
        (Silence, {"ms": -1}, "ms is at least 0, not -1"),
        (BargeIn, {"speech": STOP}, "give it one of after_ms, at_word and on_tool"),
        (BargeIn, {"speech": STOP, "after_ms": 1, "on_tool": "x"}, "give it one of after_ms, at_word and on_tool"),
        (Drop, {"away_ms": -1}, "away_ms is"),
        (Network, {"loss": 1.5}, "loss is at most 1, not 1.5"),
        (Speak, {"audio": "tone.wav", "gain_db": float("nan")}, "gain_db is a number, not nan"),
        (Speak, {"pcm": b"ab", "rate_hz": 0}, "rate_hz is at least 1, not 0"),
        (Speak, {"audio": "tone.wav", "from_ms": -1}, "from_ms is at least 0, not -1"),
        (Speak, {"audio": "tone.wav", "from_ms": 500, "to_ms": 500}, "to_ms is 500, which is not after from_ms"),
    ],
)
def test_a_value_that_no_step_has_is_refused_where_it_is_written(
    step: type[UserStep], fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadOption, match=told):
        step(**fields)


async def test_a_step_that_cannot_be_done_is_refused_before_the_call() -> None:
    async with served() as app:
        for step, told in REFUSED:
            with pytest.raises(CaseError, match=told):
                User("anna", Page(app), [HELLO, step])
        with pytest.raises(CaseError, match=r"step 1 of anna.*does not come back"):
            User("anna", Page(app, client="agentscope1"), [Drop()])

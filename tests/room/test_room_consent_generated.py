"""Rooms by chance in which tools ask aloud: no tool runs without the agreement of who was asked, nobody talks over."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.event import client as c
from realtime.event import server as s
from tests.agent.consent_call import Table
from tests.room.asked_room import ROBIN, SENTENCES, WREN, AskedRoom, Guest, restaurant
from tests.volumes import volume

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

TALK_S = 90.0
WEIGHTS = {ROBIN: 4, WREN: 4, "Yes.": 12, "No.": 1, "Mm-hm.": 3, "Yes, always.": 0}
"""Without a rule: what that allows is asked about no more."""
CUT_S = 0.05


async def talk(guest: Guest, chance: Random) -> None:
    """Say things at any time: also into questions, far away, typed, and with a line that is lost."""
    until = asyncio.get_running_loop().time() + TALK_S
    while asyncio.get_running_loop().time() < until:
        await asyncio.sleep(chance.expovariate(1 / 5.0))
        words = chance.choices(SENTENCES, [WEIGHTS.get(one, 1) for one in SENTENCES])[0]
        match chance.randrange(12):
            case 0:
                guest.receive(c.ClientTextAppendEvent(text=words))
            case 1:
                guest.participant.set_away(True)
                await asyncio.sleep(chance.random() * 8)
                guest.participant.set_away(False)
            case 2:
                await guest.says(words, far=True)
            case _:
                await guest.says(words, chance.choice((500, 900, 1_500)))


def agreements(home: AskedRoom) -> int:
    """Return how many calls were agreed to, each by who was asked, after they had heard the question."""
    n_agreed = 0
    for receipt in home.receipts:
        # One that was agreed to may be interrupted when it has done its work.
        if receipt["done"] not in ("success", "interrupted") or receipt["answer"] != "yes":
            assert receipt["done"] != "success"
            continue
        n_agreed += 1
        call_id, who = receipt["tool_call_id"], receipt["participant"]
        first = next(one for one in home.custom("consent_question") if one["tool_call_id"] == call_id)
        assert first.get("participant", who) == who
        assert (receipt["answered_by"] in ("voice", "text"), receipt["heard_whole"]) == (True, True)
        assert receipt["words"].startswith("Yes.")
        events = [*zip(home.times, home.told, strict=True)]
        heard_at = min(at for at, event in events if is_heard(event, call_id, receipt["question"]))
        answers = [at for at, event in events if isinstance(event, TURNS) and event.agent_name == who]
        assert any(at >= heard_at for at in answers), receipt
    return n_agreed


TURNS = (s.AgentInputStartedEvent, s.AgentItemAddedEvent)


def is_heard(event: s.ServerEvent, call_id: str, question: str) -> bool:
    """Whether this question, in these words, was played to its end."""
    value = event.value if isinstance(event, s.ServerCustomEvent) else {}
    told = (value.get("tool_call_id"), value.get("state"), value.get("question"))
    return told == (call_id, "heard", question)


def no_two_agents_at_once(home: AskedRoom) -> None:
    ends: dict[str, float] = {}
    for at, event in zip(home.times, home.told, strict=True):
        if isinstance(event, s.ServerAudioFlushEvent):
            ends.clear()
        elif isinstance(event, s.AgentResponseAudioDeltaEvent):
            others = [name for name, end in ends.items() if name != event.agent_name and end > at + CUT_S]
            assert others == [], f"{event.agent_name} speaks into {others} at {at:.2f} s"
            sound_s = len(event.delta) / SAMPLE_BYTES / (event.format.rate or 24_000)
            ends[event.agent_name] = max(at, ends.get(event.agent_name, at)) + sound_s


@pytest.mark.parametrize("consent_by", ["asked", "anyone"])
@pytest.mark.parametrize("seed", range(volume(2, 40)))
async def test_no_tool_runs_without_the_agreement_of_who_was_asked(seed: int, consent_by: str) -> None:
    robins, wrens = Table(consent="voice"), Table(consent="either")
    async with restaurant(robins, wrens, consent_by=consent_by) as (home, guests):
        async with asyncio.TaskGroup() as group:
            for number, guest in enumerate(guests):
                group.create_task(talk(guest, Random(f"{seed} {number}")))
        await asyncio.sleep(150)
        asked = {one["tool_call_id"] for one in home.custom("consent_question")}
        assert {one["tool_call_id"] for one in home.receipts} == asked, "each question has come to its end"
        assert len(asked) >= 3
        assert len(robins.booked) + len(wrens.booked) <= agreements(home)
        assert home.room.floor is None
        no_two_agents_at_once(home)

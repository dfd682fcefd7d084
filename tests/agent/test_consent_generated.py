"""Whatever is said, from near or far, early or late: nothing is booked without a near yes after the whole question."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass

import pytest

from realtime.event import server as s
from tests.agent.consent_call import SENTENCES, AskedCall, Table, asked_call

pytestmark = pytest.mark.virtual_time

BOOK = "Book a table for four on Friday."
AGREES = {"Yes.", "Yes please.", "Yes, always."}
NUMBERS = {4: "four people", 3: "three people"}
DETECTED_MS = 120
"""A detector finds a voice so much before or after it begins."""


@dataclass
class Said:
    """A sound in the microphone."""

    words: str
    start_ms: int
    far: bool


def heard_at(made: AskedCall, people: int) -> list[int]:
    """Where in the client's audio a question about so many people had been played to its end."""
    played = made.of(s.ServerPlaybackEvent)
    ends = [
        event
        for event in made.of(s.ServerCustomEvent)
        if event.value.get("state") == "heard" and NUMBERS[people] in event.value["question"]
    ]
    return [max((one.input_ms or 0 for one in played if one.seq < end.seq), default=0) for end in ends]


@pytest.mark.parametrize("seed", range(20))
async def test_nothing_runs_without_a_near_yes_after_the_whole_question(seed: int) -> None:
    chance, table, said = random.Random(seed), Table(), list[Said]()
    async with asked_call(table.tools, client_timeout_s=120) as made:
        await made.says(BOOK)
        await made.until_state("asking")
        for _ in range(chance.randint(1, 9)):
            await asyncio.sleep(chance.choice([0.0, 0.1, 0.3, 0.7, 1.2, 2.5, 6.0]))
            words, far = chance.choice(SENTENCES[1:]), chance.random() < 0.3
            said.append(Said(words, made.sent_ms, far))
            await made.says(words, chance.choice([250, 400, 700, 900]), far=far)
            if made.receipts:
                break
        await made.until_receipt()
        (receipt, *_) = made.receipts
        for people, _day in table.booked[:1]:
            near = [one for one in said if one.words in AGREES and not one.far]
            ends = heard_at(made, people)
            assert any(one.start_ms + DETECTED_MS >= min(ends) for one in near)
            assert (receipt["answer"], receipt["heard_whole"], receipt["done"]) == ("yes", True, "success")
            assert receipt["answer_start_ms"] >= min(ends)
            assert NUMBERS[people] in receipt["question"]
        if receipt["answer"] != "yes":
            assert table.booked == []
        assert made.states[-1] == "answered"

"""Consent by voice in a room on speech-to-speech models, and where only a card asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from realtime.event import client as c
from realtime.event import model as m
from realtime.event import server as s
from realtime.event.base import AudioFormat, ResponseOverrides
from realtime.event.config import SessionConfig, TurnDetection
from realtime.model.base import ModelInput, Profile, ResponseCreate, ToolResult
from realtime.model.script import CallTools, Emit, Step
from realtime.model.scripted import MANUAL_PROFILE
from realtime.room.floor import addressed
from realtime.testing.cases.hearing import voice
from tests.agent.consent_call import Table
from tests.room.rooms import DEAF, House, Human, TalkModel, agent, house, spoken

pytestmark = pytest.mark.virtual_time

QUESTION = "Shall I book a table for four people on Friday?"
BESIDE = msgspec.structs.replace(MANUAL_PROFILE, responds_beside_tools=True)
PROVISIONAL = msgspec.structs.replace(MANUAL_PROFILE, takes_provisional_results=True)
BOOK = "Alice, book a table."


def beside(words: str, overrides: ResponseOverrides) -> list[Step]:
    """A response beside the conversation that says these words."""
    number = str((overrides.metadata or {}).get("initiative"))
    response_id, metadata = f"beside_{number}", overrides.metadata
    ids: dict[str, Any] = {"response_id": response_id, "item_id": f"item_{number}"}
    pcm = voice(words, len(words) * 24_000 // 20, 24_000)
    return [
        Emit(m.ModelResponseCreatedEvent(response_id=response_id, conversation="none", metadata=metadata)),
        Emit(m.ModelResponseAudioDeltaEvent(delta=pcm, format=AudioFormat.pcm16(24_000), **ids)),
        Emit(m.ModelResponseAudioDoneEvent(**ids)),
        Emit(m.ModelResponseAudioTranscriptDoneEvent(transcript=words, **ids)),
        Emit(m.ModelResponseDoneEvent(response_id=response_id)),
    ]


def waiter(profile: Profile, *answers: Any, asks: str = QUESTION) -> TalkModel:
    """A model that books a table, and asks in these words where it is told to."""

    def react(message: ModelInput) -> Iterable[Step] | None:
        overrides = message.overrides if isinstance(message, ResponseCreate) else None
        if overrides is None or not overrides.instructions:
            return None
        return beside(asks, overrides) if overrides.conversation == "none" else [spoken(asks)]

    calls = [CallTools((("book_table", {"people": 4, "day": "Friday"}),))]
    return TalkModel(calls, *(answers or ([spoken("It is booked.")],)), profile=profile, react=react)


def custom(home: House, name: str) -> list[dict[str, Any]]:
    return [event.value for event in home.of(s.ServerCustomEvent) if event.name == name]


def states(home: House) -> list[str]:
    return [one["state"] for one in custom(home, "consent_question") if one["state"] != "waiting"]


async def until(home: House, condition: Callable[[], object], seconds: float = 60) -> None:
    news = asyncio.Event()
    home.room.on_event.append(lambda event: news.set())
    async with asyncio.timeout(seconds):
        while not condition():
            news.clear()
            await news.wait()


async def asked(home: House) -> tuple[Human, Human]:
    """Anna asks Alice to book a table; Ben is there."""
    anna, ben = await home.come("Anna"), await home.come("Ben")
    anna.end(100)
    ben.end(100)
    anna.say(BOOK)
    return anna, ben


@pytest.mark.parametrize("profile", [BESIDE, PROVISIONAL], ids=["beside its tools", "provisional results"])
async def test_a_speech_to_speech_model_asks_and_the_asked_human_answers(profile: Profile) -> None:
    table = Table()
    model = waiter(profile, [spoken("I have to ask Anna.")], [spoken("It is booked.")])
    other = agent("Bob", TalkModel("Good morning."))
    async with house(agent("Alice", model, toolkit=table.tools), other, floor=addressed) as home:
        anna, ben = await asked(home)
        await until(home, lambda: "heard" in states(home))
        ben.say("Yes.")
        await until(home, lambda: custom(home, "consent_ignored"))
        await until(home, lambda: states(home).count("heard") == 2)
        assert table.booked == []
        anna.say("Yes.")
        await until(home, lambda: custom(home, "consent_receipt"))
        (receipt,) = custom(home, "consent_receipt")
        assert (receipt["answer"], receipt["participant"], table.booked) == ("yes", "Anna", [(4, "Friday")])
        await home.quiet()
        assert home.talk()[-1] == ("Alice", "It is booked.")


async def test_a_model_that_asks_something_else_twice_leaves_it_to_the_card() -> None:
    table = Table()
    model = waiter(BESIDE, asks="Nice weather.")
    async with house(agent("Alice", model, toolkit=table.tools), floor=addressed) as home:
        await asked(home)
        await until(home, lambda: custom(home, "consent_question")[-1:] and states(home)[-1:] == ["asking"])
        await until(home, lambda: custom(home, "consent_question")[-1]["by"] == "card")
        assert custom(home, "consent_question")[-1]["why"] == "the model did not ask what it was to ask"
        assert table.booked == []


@pytest.mark.parametrize(
    ("profile", "why"),
    [(MANUAL_PROFILE, "this model says nothing while its tool call is open")],
)
async def test_a_model_that_cannot_ask_while_its_call_is_open_leaves_it_to_the_card(profile: Profile, why: str) -> None:
    table = Table(consent="voice")
    async with house(agent("Alice", waiter(profile), toolkit=table.tools), floor=addressed) as home:
        await asked(home)
        await until(home, lambda: custom(home, "consent_question"))
        (question,) = custom(home, "consent_question")
        assert (question["by"], question["why"]) == ("card", why)


async def test_where_no_agent_hears_a_card_asks() -> None:
    table = Table(consent="voice")
    deaf = msgspec.structs.replace(DEAF, responds_beside_tools=True)
    async with house(agent("Alice", waiter(deaf), toolkit=table.tools), floor=addressed) as home:
        anna = await home.come("Anna")
        anna.end(100)
        anna.write(BOOK)
        await until(home, lambda: custom(home, "consent_question"))
        assert custom(home, "consent_question")[0]["why"] == "no agent in this room hears what humans say"


async def test_who_talks_by_button_answers_by_button() -> None:
    table = Table()
    async with house(agent("Alice", waiter(BESIDE), toolkit=table.tools), floor=addressed) as home:
        anna = await home.come("Anna", SessionConfig(turn_detection=TurnDetection(authority="client")))
        anna.begin(BOOK)
        anna.call.receive(c.ClientAudioCommitEvent())
        await until(home, lambda: "heard" in states(home))
        anna.begin("Yes.")
        anna.call.receive(c.ClientAudioCommitEvent())
        await until(home, lambda: custom(home, "consent_receipt"))
        assert table.booked == [(4, "Friday")]


async def test_who_stops_no_reply_with_their_voice_still_answers() -> None:
    table = Table()
    config = SessionConfig(turn_detection=TurnDetection(interruption="off"))
    async with house(agent("Alice", waiter(BESIDE), toolkit=table.tools), floor=addressed) as home:
        anna = await home.come("Anna", config)
        anna.end(100)
        anna.say(BOOK)
        await until(home, lambda: "asking" in states(home))
        anna.say("Yes.")
        await until(home, lambda: custom(home, "consent_ignored"))
        assert (custom(home, "consent_ignored")[0]["reason"], table.booked) == ("before_end", [])
        await until(home, lambda: "heard" in states(home))
        anna.say("Yes.")
        await until(home, lambda: custom(home, "consent_receipt"))
        assert table.booked == [(4, "Friday")]


async def test_an_answer_reaches_the_other_agents_as_any_turn() -> None:
    table = Table()
    bob = TalkModel("Good morning.")
    async with house(agent("Alice", waiter(BESIDE), toolkit=table.tools), agent("Bob", bob), floor=addressed) as home:
        anna, _ = await asked(home)
        await until(home, lambda: "heard" in states(home))
        anna.say("Yes.")
        await until(home, lambda: custom(home, "consent_receipt"))
        await home.quiet()
        assert [one for one in bob.read if "Yes." in one] == ["[Anna]: Yes."]
        results = [one.result.output_text() for one in bob.of(ToolResult)]
        assert results == [], "Bob's model knows nothing of Alice's tools"

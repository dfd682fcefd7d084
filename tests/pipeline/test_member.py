"""An agent in a room: which responses of its model count, what it is told, and what is left when its model is lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.conductor import EMPTY_COMMIT
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.event.model import ModelErrorEvent, ModelInputCommittedEvent, ModelInputTranscriptionDoneEvent
from realtime.floor import addressed, broadcast
from realtime.model.base import AudioCommit, ItemCreate, ModelInput, RealtimeModel, ResponseCancel, ResponseCreate
from realtime.model.script import Step, Transcribe, Wait
from realtime.pipeline.member import Member, Utterance
from realtime.runtime import Runtime
from tests.agent.fakes import PROFILE, FakeModel
from tests.pipeline.rooms import HZ, Mind, agent, house, spoken, utterance

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

STORY = "Once upon a time there was a king who had three sons and one crown."


def two(alice: Mind | None = None, bob: Mind | None = None, **options: Any) -> Any:
    """A room with Alice and Bob."""
    options.setdefault("floor", addressed)
    return house(agent("Alice", alice or Mind("I am Alice.")), agent("Bob", bob or Mind("I am Bob.")), **options)


# -- which responses count ---------------------------------------------------------------------------------------------


def forgets_the_first_request() -> Mind:
    """A mind that was asked once without noticing, and answers with numbers from then on."""
    asked = 0

    def react(message: ModelInput) -> list[Step] | None:
        nonlocal asked
        if not isinstance(message, ResponseCreate):
            return None
        asked += 1
        return [spoken(f"Answer {asked}.")] if asked > 1 else []

    return Mind(react=react)


async def test_a_request_that_the_model_never_answers_costs_no_later_answer() -> None:
    async with two(forgets_the_first_request()) as home:
        anna = await home.come("Anna")
        for number in range(4):
            anna.write(f"Alice, question {number}?")
            await asyncio.sleep(25)
        assert [text for name, text in home.talk() if name == "Alice"] == ["Answer 2.", "Answer 3.", "Answer 4."]
        assert anna.errors() == ["no_answer"]


async def test_a_request_given_up_before_the_model_loses_it_costs_no_later_answer() -> None:
    async with two(forgets_the_first_request()) as home:
        anna = await home.come("Anna")
        anna.write("Alice, question 0?")
        await asyncio.sleep(1)
        for number in range(1, 5):
            anna.write(f"Alice, question {number}?")
            await asyncio.sleep(25)
        # The model names no request: its first response may be the one that nobody wants any more.
        assert [text for name, text in home.talk() if name == "Alice"] == ["Answer 3.", "Answer 4.", "Answer 5."]


async def test_a_slow_response_to_an_earlier_turn_is_not_taken_for_the_answer() -> None:
    alice = Mind([Wait(400), spoken("To one.")], [Wait(400), spoken("To two.")])
    async with two(alice) as home:
        anna = await home.come("Anna")
        anna.write("Alice, one.")
        await asyncio.sleep(0.2)
        anna.write("Alice, two.")
        await home.quiet()
        assert home.talk() == [("Anna", "Alice, one."), ("Anna", "Alice, two."), ("Alice", "To two.")]
        created = home.of(s.AgentResponseCreatedEvent)
        done = home.of(s.AgentResponseDoneEvent)
        assert len(created) == 1, "nobody is told of the response that does not count"
        assert [one.response_id for one in done] == [created[0].response_id]


async def test_what_a_model_says_by_itself_is_cancelled_and_leaves_what_was_said_alone() -> None:
    def answers_everything(message: ModelInput) -> list[Step] | None:
        return [spoken("Me too!")] if isinstance(message, ItemCreate) else None

    bob = Mind("I am Bob.", react=answers_everything)
    async with two(bob=bob) as home:
        anna = await home.come("Anna")
        anna.write("Alice, hello.")
        await home.quiet()
        assert len(bob.of(ResponseCancel)) == 2, "once he has read Anna's line, and once Alice's"
        assert [text for _, text in home.talk()] == ["Alice, hello.", "I am Alice."]
        assert not home.of(s.ServerAudioFlushEvent)
        assert not home.of(s.AgentItemDeletedEvent)


# -- its listeners -----------------------------------------------------------------------------------------------------


async def test_an_agent_does_not_cut_the_one_before_it_off_for_a_listener_that_lags() -> None:
    async with two(floor=broadcast, max_agent_turns=3) as home:
        anna, ben = await home.come("Anna"), await home.come("Ben")
        ben.seat.unheard_ms = lambda: 5_000
        anna.write("Hello all.")
        await asyncio.sleep(60)
        assert home.speakers() == ["Alice", "Bob", "Alice"]
        assert not home.of(s.ServerAudioFlushEvent), "what Ben has not heard yet is still to be heard"


# -- whose words they are ----------------------------------------------------------------------------------------------


def turn_of(name: str, text: str) -> Utterance:
    """What somebody has said."""
    return Utterance(f"said_{name}", name, name, bytearray(utterance(text)))


class Note:
    """The hub of an agent: what it tells is noted."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str]] = []
        self.told: list[s.ServerEvent] = []

    def transcribed(self, utterance: Utterance, text: str, by: Member | None = None) -> None:
        self.words.append((utterance.name, text))

    def tell(self, event: s.ServerEvent) -> None:
        self.told.append(event)

    def turn_over(self, member: Member) -> None: ...

    def lost(self, member: Member, reason: str) -> None: ...

    def listens_to(self, member: Member) -> bool:
        return False

    def heard_ms(self, item_id: str) -> int:
        return 0

    def unheard_ms(self) -> int:
        return 0


@asynccontextmanager
async def alone(model: RealtimeModel) -> AsyncIterator[tuple[Member, Note]]:
    """Alice, in a room that only notes."""
    hub = Note()
    runtime = Runtime.deterministic(asyncio.get_running_loop().time)
    member = Member(RealtimeAgent("Alice", "", model, agent_id="alice"), hub, runtime, "audio")
    await member.join(SessionConfig())
    yield member, hub
    await member.leave("over")


async def test_words_that_come_for_one_turn_are_not_put_under_the_next() -> None:
    model = FakeModel()
    async with alone(model) as (alice, hub):
        assert alice.listen(turn_of("Ben", "Well..."), named=False)
        assert alice.listen(turn_of("Anna", "Hello."), named=False)
        empty = ModelErrorEvent(error_type="provider_error", code=EMPTY_COMMIT, message="The buffer is too small.")
        model.link.say(empty, ModelInputCommittedEvent(item_id="item_1"))
        model.link.say(ModelInputTranscriptionDoneEvent(item_id="item_1", transcript="Hello."))
        assert hub.words == [("Ben", ""), ("Anna", "Hello.")]
        assert not hub.told, "a mistake of the room is no matter of its humans"


async def test_what_is_too_short_to_be_a_turn_is_not_taken() -> None:
    mind = Mind()
    async with alone(mind) as (alice, hub):
        short = Utterance("said_1", "ben", "Ben", bytearray(utterance("Hello there.")[: 99 * HZ // 1000 * 2]))
        assert not alice.listen(short, named=True)
        assert not short.heard_by
        assert alice.listen(turn_of("Anna", "Hello."), named=False)
        await asyncio.sleep(1)
        assert hub.words == [("Anna", "Hello.")]
        assert mind.read == []


async def test_words_of_a_turn_that_was_given_up_are_nobodys() -> None:
    def is_slow(message: ModelInput) -> list[Step] | None:
        return [Wait(1_000), Transcribe("What Ben said.")] if isinstance(message, AudioCommit) else None

    async with alone(Mind(react=is_slow)) as (alice, hub):
        given_up = turn_of("Ben", "What Ben said.")
        alice.listen(given_up, named=False)
        alice.forget(given_up)
        await asyncio.sleep(2)
        assert hub.words == []


async def test_turns_are_told_apart_in_order_where_the_provider_ends_them_by_itself() -> None:
    profile = msgspec.structs.replace(PROFILE, supports_manual_turns=False)
    model = FakeModel(profile)
    async with alone(model) as (alice, hub):
        for number, name in enumerate(("Ben", "Anna")):
            alice.listen(turn_of(name, "Hello."), named=False)
            model.link.say(ModelInputCommittedEvent(item_id=f"item_{number}"))
        for number, words in enumerate(("One.", "Two.")):
            model.link.say(ModelInputTranscriptionDoneEvent(item_id=f"item_{number}", transcript=words))
        assert hub.words == [("Ben", "One."), ("Anna", "Two.")]

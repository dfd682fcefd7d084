"""An agent in a room: which responses of its model count, what it is told, and what is left when its model is lost."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from realtime.agent import RealtimeAgent
from realtime.agent.controller import EMPTY_COMMIT
from realtime.call.asked import Person
from realtime.event import server as s
from realtime.event.client import ClientToolResultEvent
from realtime.event.config import SessionConfig, ToolDeclaration
from realtime.event.model import (
    ModelErrorEvent,
    ModelInputCommittedEvent,
    ModelInputTranscriptionDoneEvent,
    ModelResponseCreatedEvent,
    ModelResponseDoneEvent,
    ModelResponseToolUseDoneEvent,
)
from realtime.message import ToolCallBlock
from realtime.model.base import (
    AudioCommit,
    ItemCreate,
    ItemDelete,
    ModelInput,
    RealtimeModel,
    ResponseCancel,
    ResponseCreate,
    ToolResult,
)
from realtime.model.script import CallTools, Emit, Step, Transcribe, Wait
from realtime.room.agent_participant import FORGOTTEN_AT_ONCE, KEPT_ITEMS, NOT_THERE_TO_FORGET, AgentParticipant
from realtime.room.dictation import KEPT_WAITING
from realtime.room.floor import Said, addressed, broadcast
from realtime.room.utterance import Utterance
from realtime.runtime import Runtime
from realtime.tool import Toolkit
from tests.agent.fakes import PROFILE, FakeModel
from tests.room.rooms import HZ, TalkModel, agent, anna_and_ben_in, anna_in, house, spoken, two, utterance

pytestmark = pytest.mark.virtual_time(limit_s=7_200)

CLOCK = ToolDeclaration(name="clock", description="What time it is.", parameters={"type": "object"})
STORY = "Once upon a time there was a king who had three sons and one crown."


def pay() -> str:
    """Pay the bill."""
    return "paid"


async def look() -> str:
    """Look around."""
    await asyncio.sleep(30)
    return "nobody there"


def forgets_the_first_request() -> TalkModel:
    """A model that was asked once without noticing, and answers with numbers from then on."""
    asked = 0

    def react(message: ModelInput) -> list[Step] | None:
        nonlocal asked
        if not isinstance(message, ResponseCreate):
            return None
        asked += 1
        return [spoken(f"Answer {asked}.")] if asked > 1 else []

    return TalkModel(react=react)


async def test_a_request_that_the_model_never_answers_costs_no_later_answer() -> None:
    async with anna_in(two(forgets_the_first_request(), floor=addressed)) as (home, anna):
        for number in range(4):
            anna.write(f"Alice, question {number}?")
            await asyncio.sleep(25)
        assert [text for name, text in home.talk() if name == "Alice"] == ["Answer 2.", "Answer 3.", "Answer 4."]
        assert anna.errors() == ["no_answer"]
    async with anna_in(two(forgets_the_first_request(), floor=addressed)) as (home, anna):
        anna.write("Alice, question 0?")
        await asyncio.sleep(1)
        for number in range(1, 5):
            anna.write(f"Alice, question {number}?")
            await asyncio.sleep(25)
        # The model names no request: its first response may be the one that nobody wants any more.
        assert [text for name, text in home.talk() if name == "Alice"] == ["Answer 3.", "Answer 4.", "Answer 5."]


async def test_a_slow_response_to_an_earlier_turn_is_not_taken_for_the_answer() -> None:
    alice = TalkModel([Wait(400), spoken("To one.")], [Wait(400), spoken("To two.")])
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        anna.write("Alice, one.")
        await asyncio.sleep(0.2)
        await anna.writes("Alice, two.")
        assert home.talk() == [("Anna", "Alice, one."), ("Anna", "Alice, two."), ("Alice", "To two.")]
        created = home.of(s.AgentResponseCreatedEvent)
        done = home.of(s.AgentResponseDoneEvent)
        assert len(created) == 1, "nobody is told of the response that does not count"
        assert [one.response_id for one in done] == [created[0].response_id]


async def test_what_a_model_says_by_itself_is_cancelled_and_leaves_what_was_said_alone() -> None:
    def answers_everything(message: ModelInput) -> list[Step] | None:
        return [spoken("Me too!")] if isinstance(message, ItemCreate) else None

    bob = TalkModel("I am Bob.", react=answers_everything)
    async with anna_in(two(bob=bob, floor=addressed)) as (home, anna):
        await anna.writes("Alice, hello.")
        assert len(bob.of(ResponseCancel)) == 2, "once he has read Anna's line, and once Alice's"
        assert [text for _, text in home.talk()] == ["Alice, hello.", "I am Alice."]
        assert not home.of(s.ServerAudioFlushEvent)
        assert not home.of(s.AgentItemDeletedEvent)


async def test_an_agent_does_not_cut_the_one_before_it_off_for_a_listener_that_lags() -> None:
    async with anna_and_ben_in(two(floor=broadcast, max_agent_turns=3)) as (home, anna, ben):
        ben.call.audience.unplayed_ms = lambda: 5_000
        anna.write("Hello all.")
        await asyncio.sleep(60)
        assert home.speakers() == ["Alice", "Bob", "Alice"]
        assert not home.of(s.ServerAudioFlushEvent), "what Ben has not heard yet is still to be heard"


def turn_of(name: str, text: str) -> Utterance:
    """What somebody has said."""
    return Utterance(f"said_{name}", name, name, bytearray(utterance(text)))


class Nothing:
    """What does nothing, whatever it is asked to do."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


class NobodyAsked(Nothing):
    """Nobody who could be asked aloud."""

    words_s = 4.0
    is_silent = is_free = is_held_up = True
    recording = None

    def why_not(self, call_id: str) -> str:
        return "nobody is here"

    def people(self, call_id: str) -> Sequence[Person]:
        return ()

    def follow(self, follow: Callable[[s.ServerEvent, str], None]) -> Callable[[], None]:
        return lambda: None


class Note(Nothing):
    """The hub of an agent: what it tells is noted."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str]] = []
        self.told: list[s.ServerEvent] = []
        self.n_over = 0

    def transcribed(self, utterance: Utterance, text: str, by: AgentParticipant | None = None) -> None:
        self.words.append((utterance.name, text))

    def tell(self, event: s.ServerEvent) -> None:
        self.told.append(event)

    def turn_over(self, participant: AgentParticipant) -> None:
        self.n_over += 1

    def asked(self, participant: AgentParticipant) -> Any:
        return NobodyAsked()

    def played_ms(self, item_id: str) -> int:
        return 0

    def after_flush(self, settle: Callable[[], None]) -> None:
        settle()

    def unplayed_ms(self) -> int:
        return 0


def participant_of(
    model: RealtimeModel, hub: Any, agent_id: str = "alice", modality: Any = "audio", **options: Any
) -> Any:
    """An agent in a room that only notes."""
    made = RealtimeAgent(agent_id.capitalize(), "", model, agent_id=agent_id, **options)
    return AgentParticipant(made, hub, hub, Runtime.deterministic(asyncio.get_running_loop().time), modality)


@asynccontextmanager
async def alone(model: RealtimeModel, toolkit: Toolkit | None = None) -> AsyncIterator[tuple[AgentParticipant, Note]]:
    """Alice, in a room that only notes."""
    hub = Note()
    participant = participant_of(model, hub, toolkit=toolkit)
    await participant.join(SessionConfig())
    yield participant, hub
    await participant.leave("over")


def hears_no_words() -> TalkModel:
    """A model that writes nothing down."""
    return TalkModel(react=lambda message: [] if isinstance(message, AudioCommit) else None)


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
    model = TalkModel()
    async with alone(model) as (alice, hub):
        short = Utterance("said_1", "ben", "Ben", bytearray(utterance("Hello there.")[: 99 * HZ // 1000 * 2]))
        assert not alice.listen(short, named=True)
        assert not short.heard_by
        assert alice.listen(turn_of("Anna", "Hello."), named=False)
        await asyncio.sleep(1)
        assert hub.words == [("Anna", "Hello.")]
        assert model.read == []


async def test_words_of_a_turn_that_was_given_up_are_nobodys() -> None:
    def is_slow(message: ModelInput) -> list[Step] | None:
        return [Wait(1_000), Transcribe("What Ben said.")] if isinstance(message, AudioCommit) else None

    async with alone(TalkModel(react=is_slow)) as (alice, hub):
        given_up = turn_of("Ben", "What Ben said.")
        alice.listen(given_up, named=False)
        alice.dictation.forget(given_up)
        await asyncio.sleep(2)
        assert hub.words == []


async def test_sound_is_kept_of_the_latest_turns_without_words_of_each_human_and_told_when_the_agent_leaves() -> None:
    async with alone(hears_no_words()) as (alice, hub):
        known = turn_of("Bob", "Hello.")
        known.text = "Hello."
        alice.listen(known, named=True)
        alice.listen(turn_of("Ben", "Hello."), named=True)
        for number in range(2 * KEPT_WAITING):
            said = Utterance(f"said_{number}", "anna", f"Anna's turn {number}", bytearray(utterance("Hello.")))
            alice.listen(said, named=True)
        await alice.leave("kicked")
        kept = [(f"Anna's turn {number}", "") for number in range(KEPT_WAITING, 2 * KEPT_WAITING)]
        assert hub.words == [("Ben", ""), *kept], "who speaks a lot takes nobody else's words away"


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


async def test_a_turn_is_over_once_though_its_model_says_that_it_is_done_while_it_is_cancelled() -> None:
    model = FakeModel()
    async with alone(model) as (alice, hub):
        model.link.obey = lambda _: model.link.say(ModelResponseDoneEvent(response_id="resp_1", status="cancelled"))
        alice.speak()
        model.link.speak(model.link.begin(), 1_000, "Once upon a time.")
        alice.interrupt()
        assert len(model.link.got(ResponseCancel)) == 1
        assert [one.status for one in hub.told if isinstance(one, s.AgentResponseDoneEvent)] == ["cancelled"]
        assert hub.n_over == 0, "who interrupts ends the turn: it was cut"
        alice.speak()
        model.link.reply(500, "Well.")
        assert hub.n_over == 1


@pytest.mark.parametrize("toolkit", [Toolkit([look]), Toolkit(confirm=[look])], ids=["runs", "asks"])
async def test_the_result_of_an_interrupted_tool_is_told_and_leaves_nothing_at_work(toolkit: Toolkit) -> None:
    model = FakeModel()
    async with alone(model, toolkit) as (alice, hub):
        alice.speak()
        response_id = model.link.begin()
        asks = ToolCallBlock(id="call_1", name="look", input="{}")
        model.link.say(ModelResponseToolUseDoneEvent(response_id=response_id, item_id="item_1", tool_use=asks))
        await asyncio.sleep(1)
        assert alice.is_at_work
        alice.interrupt()
        await asyncio.sleep(1)
        (result,) = [one.tool_result for one in hub.told if isinstance(one, s.AgentResponseToolResultEvent)]
        assert (result.id, result.state) == ("alice.call_1", "interrupted")
        assert not alice.is_at_work
        model.link.say(ModelResponseDoneEvent(response_id=response_id, status="cancelled"))
        assert hub.n_over == 0


async def test_the_floor_is_free_again_when_an_agent_stalls_after_an_interrupted_tool() -> None:
    asks = ToolCallBlock(id="call_1", name="look", input="{}")
    begins = [
        Emit(ModelResponseCreatedEvent(response_id="resp_1")),
        Emit(ModelResponseToolUseDoneEvent(response_id="resp_1", item_id="item_1", tool_use=asks)),
    ]

    def is_slow_to_stop(message: ModelInput) -> list[Step] | None:
        if not isinstance(message, ResponseCancel):
            return None
        return [Wait(100), Emit(ModelResponseDoneEvent(response_id="resp_1", status="cancelled"))]

    alice = agent("Alice", TalkModel(begins, [], react=is_slow_to_stop), toolkit=Toolkit(confirm=[look]))
    async with anna_in(house(alice, agent("Bob", TalkModel("I am Bob.")), floor=addressed)) as (home, anna):
        anna.write("Alice, look around.")
        await asyncio.sleep(2)
        anna.write("Alice, stop that.")
        await asyncio.sleep(60)
        assert home.room.floor is None
        assert anna.errors() == ["no_answer"]


async def test_a_human_cuts_an_agent_whose_model_was_lost_where_it_was_heard() -> None:
    alice = TalkModel(STORY)
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(1)
        alice.die(refusals=99)
        await asyncio.sleep(0.5)
        anna.begin("Stop, please.")
        assert anna.of(s.ServerAudioFlushEvent), "the voice stops at once"
        (cut,) = home.of(s.AgentItemTruncatedEvent)
        assert cut.audio_end_ms <= 1_500
        assert home.talk()[1] == ("Alice", cut.transcript)
        assert 0 < len(cut.transcript or "") < len(STORY) / 2
        assert STORY.startswith(cut.transcript or "?")
        anna.end()
        await home.quiet()


async def test_an_answer_that_nobody_has_heard_when_its_model_was_lost_is_deleted_by_who_interrupts() -> None:
    alice = TalkModel(STORY)
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(0.2)
        alice.die(refusals=99)
        anna.call.audience.played_ms = lambda item_id: 0
        anna.write("Forget it.")
        assert len(home.of(s.AgentItemDeletedEvent)) == 1
        assert home.talk() == [("Anna", "Alice, tell me a story."), ("Anna", "Forget it.")]
        await home.quiet()


async def test_a_response_that_goes_with_its_model_is_ended_once() -> None:
    alice = TalkModel(STORY)
    async with anna_in(two(alice, floor=addressed)) as (home, anna):
        anna.write("Alice, tell me a story.")
        await asyncio.sleep(1)
        alice.die()
        await home.quiet()
        (created,) = home.of(s.AgentResponseCreatedEvent)
        assert [one.response_id for one in home.of(s.AgentResponseDoneEvent)] == [created.response_id]
        assert len(home.of(s.AgentResponseAudioDoneEvent)) == 1
        assert [item.status for item in home.room.conversation.items() if item.name == "Alice"] == ["incomplete"]


async def test_a_tool_is_answered_to_the_agent_that_called_it_though_another_id_begins_alike() -> None:
    model = FakeModel()
    first, second = Note(), Note()
    short = participant_of(FakeModel(), first, "a", "text")
    long = participant_of(model, second, "a.b", "text")
    for participant in (short, long):
        await participant.join(SessionConfig(tools=(CLOCK,)))
    long.speak()
    response_id = model.link.begin()
    asks = ToolCallBlock(id="call_1", name="clock", input="{}")
    model.link.say(
        ModelResponseToolUseDoneEvent(response_id=response_id, item_id="item_1", tool_use=asks),
        ModelResponseDoneEvent(response_id=response_id),
    )
    await asyncio.sleep(1)
    assert [participant.is_at_work for participant in (short, long)] == [False, True]
    answer = ClientToolResultEvent(id="a.b.call_1", name="clock", output="12:00")
    assert [participant.open_call(answer.id) is not None for participant in (short, long)] == [False, True]
    long.answer_tool(answer)
    await asyncio.sleep(1)
    assert [one.result.output_text() for one in model.link.got(ToolResult)] == ["12:00"]
    assert [participant.is_at_work for participant in (short, long)] == [False, False]
    assert [participant.open_call(answer.id) for participant in (short, long)] == [None, None], "it has its answer"
    assert not first.told
    for participant in (short, long):
        await participant.leave("over")


async def test_a_call_of_a_tool_ends_with_the_model_that_waits_for_it() -> None:
    alice = TalkModel([CallTools((("pay", {}),))], "It is paid.")
    toolkit = Toolkit(confirm=[pay])
    async with anna_in(
        house(agent("Alice", alice, toolkit=toolkit), agent("Bob", TalkModel("I am Bob.")), floor=addressed)
    ) as (_, anna):
        anna.write("Alice, pay.")
        await asyncio.sleep(1)
        (asked,) = anna.of(s.AgentResponseToolUseDoneEvent)
        assert asked.tool_use.state == "asking"
        alice.die(refusals=99)
        (ended,) = anna.of(s.AgentResponseToolResultEvent)
        assert (ended.tool_result.id, ended.tool_result.name) == (asked.tool_use.id, "pay")
        assert ended.tool_result.state == "interrupted"
        anna.call.receive(ClientToolResultEvent(id=asked.tool_use.id, name="pay", output="", confirmed=True))
        await asyncio.sleep(1)
        assert anna.errors() == ["unknown_tool_call"]


async def test_an_agent_that_waits_for_a_client_s_word_after_its_tools_goes_on_when_it_comes() -> None:
    model = TalkModel([CallTools((("clock", {}),))], "Noon.")
    hub = Note()
    participant = participant_of(model, hub, modality="text")
    await participant.join(SessionConfig(tools=(CLOCK,), tool_auto_response=False))
    participant.speak()
    participant.ask_again()
    await asyncio.sleep(1)
    (call,) = [one.tool_use for one in hub.told if isinstance(one, s.AgentResponseToolUseDoneEvent)]
    participant.answer_tool(ClientToolResultEvent(id=call.id, name="clock", output="12:00"))
    await asyncio.sleep(1)
    assert len(model.of(ResponseCreate)) == 1
    participant.ask_again()
    participant.ask_again()
    await asyncio.sleep(5)
    assert len(model.of(ResponseCreate)) == 2
    assert participant.said == "Noon."
    await participant.leave("over")


async def test_an_agent_that_comes_later_or_comes_back_knows_what_was_said() -> None:
    model = TalkModel()
    async with alone(model) as (alice, _):
        model.die()
        await alice.run.leave("away")
        said = [
            Said("anna", "Anna", "human", "Hello."),
            Said("alice", "Alice", "agent", "Hello, Anna."),
            Said("bob", "Bob", "agent", ""),
            Said("bob", "Bob", "agent", "Me too."),
        ]
        alice.recall(said)
        coming = asyncio.ensure_future(alice.join(SessionConfig()))
        await asyncio.sleep(0)
        alice.read(Utterance("said_9", "anna", "Anna", text="Are you back?"))
        await coming
        known = [(item.role, item.text) for item in model.histories[-1]]
        assert known == [("user", "[Anna]: Hello."), ("assistant", "Hello, Anna."), ("user", "[Bob]: Me too.")]
        assert model.read == ["[Anna]: Are you back?"], "what was said while its model was connected"


@pytest.mark.parametrize("deletes", [True, False])
async def test_an_agent_forgets_what_was_said_long_ago_and_tells_nobody(deletes: bool) -> None:
    model = FakeModel(msgspec.structs.replace(PROFILE, supports_item_delete=deletes))
    async with alone(model) as (alice, hub):
        for number in range(3 * KEPT_ITEMS):
            alice.read(Utterance(f"said_{number}", "anna", "Anna", text=f"Line {number}."))
        n_kept = len(alice.conversation)
        assert KEPT_ITEMS <= n_kept <= KEPT_ITEMS + FORGOTTEN_AT_ONCE
        assert alice.conversation.items()[-1].text == f"[Anna]: Line {3 * KEPT_ITEMS - 1}."
        assert len(model.link.got(ItemDelete)) == (3 * KEPT_ITEMS - n_kept if deletes else 0)
        model.link.say(ModelErrorEvent(error_type="provider_error", code=NOT_THERE_TO_FORGET, message="No such item."))
        assert not hub.told

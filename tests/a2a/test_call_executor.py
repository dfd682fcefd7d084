"""Messages to the person in a call, in virtual time: what is told, what counts as an answer, and how a task ends."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.types import Message, Part, Role, SendMessageRequest, TaskArtifactUpdateEvent, TaskState
from google.protobuf.json_format import MessageToDict

from realtime.a2a.call_executor import CALLER, MAX_WAITING, Caller, CallExecutor
from realtime.call.session import Session
from realtime.event import client as c
from realtime.model import base
from realtime.state.log import Entry
from tests.agent.fakes import Call, call
from tests.agent.voice import COSTS

pytestmark = pytest.mark.virtual_time(costs=COSTS)

QUESTION = "May the parcel wait until noon?"
ASKS = "The courier asks whether the parcel may wait until noon."
OWNER = Caller(user=None, sees_records=True, address="10.0.0.9", base_url="https://voice.example.org")


@dataclass
class OneCall:
    """A switchboard with one running call."""

    session: Session

    def new_id(self) -> str:
        return "call_new"

    def running(self, call_id: str, caller: Caller) -> Session | None:
        return self.session if call_id == self.session.call_id and not self.session.is_ending else None

    async def is_over(self, call_id: str, caller: Caller) -> bool:
        return False

    async def begin(self, call_id: str, user: str, caller: Caller) -> Session:
        raise AssertionError("the message names a call")

    async def entries(self, call_id: str) -> Sequence[Entry]:
        return []

    async def sound_url(self, call_id: str, caller: Caller) -> str | None:
        return f"{caller.base_url}/api/calls/{call_id}/sound"


@dataclass
class Asking:
    """A message on its way: the events of its task, and the task that runs it."""

    events: list[Any] = field(default_factory=list)
    running: asyncio.Task[None] | None = None

    async def enqueue_event(self, event: Any) -> None:
        self.events.append(event)

    @property
    def states(self) -> list[str]:
        kept = [event for event in self.events if not isinstance(event, TaskArtifactUpdateEvent)]
        return [TaskState.Name(event.status.state).removeprefix("TASK_STATE_").lower() for event in kept]

    @property
    def end(self) -> tuple[str, str]:
        """The last state, with its words."""
        return self.states[-1], self.events[-1].status.message.parts[0].text

    @property
    def artifacts(self) -> dict[str, Any]:
        made = [event.artifact for event in self.events if isinstance(event, TaskArtifactUpdateEvent)]
        return {one.name: MessageToDict(one)["parts"] for one in made}


@dataclass
class Desk:
    """A call, and other agents that write to the person in it."""

    call: Call
    executor: CallExecutor
    sent: int = 0

    def ask(self, text: str = QUESTION) -> Asking:
        self.sent += 1
        asking = Asking()
        message = Message(role=Role.ROLE_USER, message_id=f"m{self.sent}", parts=[Part(text=text)])
        context = RequestContext(
            ServerCallContext(state={CALLER: OWNER}),
            SendMessageRequest(message=message),
            task_id=f"task{self.sent}",
            context_id=self.call.session.call_id,
        )
        work = self.executor.execute(context, cast(EventQueue, asking))
        asking.running = asyncio.get_running_loop().create_task(work)
        return asking

    def hints(self) -> list[str]:
        """What the model was told."""
        items = [sent.item for sent in self.call.link.got(base.ItemCreate)]
        return [item.text for item in items if item.role == "system"]

    async def tell(self) -> None:
        """The agent says the message, and is heard."""
        await asyncio.sleep(0.5)
        self.call.link.reply(1_000, ASKS)
        await asyncio.sleep(2)

    async def hear(self, item_id: str, words: str) -> None:
        """The person speaks for a second."""
        self.call.link.hear_start(item_id, 0)
        await asyncio.sleep(1)
        self.call.link.hear_end(item_id, 0, words)


@asynccontextmanager
async def desk(**options: Any) -> AsyncIterator[Desk]:
    async with call(**options) as made:
        yield Desk(made, CallExecutor(OneCall(made.session), answer_s=60))


async def test_a_message_is_told_in_the_call_and_the_task_ends_with_what_the_person_answers() -> None:
    async with desk() as made:
        asking = made.ask()
        await made.tell()
        (hint,) = made.hints()
        assert QUESTION in hint
        assert asking.states == ["submitted", "working"]
        await made.hear("turn_1", "Yes, until noon.")
        await asyncio.sleep(2)
        assert asking.end == ("completed", "Yes, until noon.")
        text, data = asking.artifacts["transcript"]
        assert text["text"].splitlines()[-1].endswith("user: Yes, until noon.")
        assert [line["text"] for line in data["data"]["lines"]] == [ASKS, "Yes, until noon."]
        assert "recording" not in asking.artifacts


async def test_a_typed_answer_counts_at_once() -> None:
    async with desk() as made:
        asking = made.ask()
        await made.tell()
        made.call.receive(c.ClientTextAppendEvent(text="No."))
        await asyncio.sleep(0.1)
        assert asking.end == ("completed", "No.")


async def test_what_the_person_began_to_say_before_they_were_told_is_no_answer() -> None:
    """Also where its words come later."""
    async with desk() as made:
        made.call.link.hear_start("turn_1", 0)
        await asyncio.sleep(0.5)
        asking = made.ask()
        await asyncio.sleep(0.5)
        assert made.hints() == []
        made.call.link.hear_end("turn_1", 0)
        made.call.link.reply(1_000, "The weather is fine.")
        await asyncio.sleep(2)
        await made.tell()
        await made.hear("turn_2", "Until noon.")
        await asyncio.sleep(2)
        assert asking.end == ("completed", "Until noon.")


async def test_an_answer_that_goes_on_after_a_pause_is_one_answer() -> None:
    async with desk() as made:
        asking = made.ask()
        await made.tell()
        await made.hear("turn_1", "Yes,")
        await asyncio.sleep(0.5)
        await made.hear("turn_1", "Yes, until noon.")
        await asyncio.sleep(2)
        assert asking.end == ("completed", "Yes, until noon.")


ENDS = {
    "client_end": ("rejected", "the person has hung up without an answer"),
    "client_left": ("rejected", "the person has hung up without an answer"),
    "listener_gone": ("failed", "the person was told, and did not answer"),
    "idle": ("failed", "the person was told, and did not answer"),
}


@pytest.mark.parametrize("reason", ENDS)
async def test_a_call_that_ends_before_the_answer_ends_the_task_and_leaves_its_records(reason: str) -> None:
    async with desk() as made:
        asking = made.ask()
        await made.tell()
        await made.call.session.end(reason)
        await asyncio.sleep(0.1)
        assert asking.end == ENDS[reason]
        assert [*asking.artifacts] == ["transcript", "recording"]


async def test_a_person_who_leaves_before_they_were_told_was_not_there() -> None:
    async with desk() as made:
        asking = made.ask()
        await asyncio.sleep(0)
        await made.call.session.end("client_end")
        await asyncio.sleep(0.1)
        assert asking.end == ("failed", "the person is not there: they were not told")


async def test_a_message_that_found_no_silence_in_time_is_withdrawn() -> None:
    async with desk() as made:
        made.call.link.hear_start("turn_1", 0)
        await asyncio.sleep(0.5)
        asking = made.ask()
        await asyncio.sleep(61)
        assert asking.end == ("failed", "the person is not there: they were not told")
        made.call.link.hear_end("turn_1", 0, "I am back.")
        made.call.link.reply()
        await asyncio.sleep(20)
        assert made.hints() == []


async def test_silence_after_the_message_is_no_answer() -> None:
    async with desk() as made:
        asking = made.ask()
        await made.tell()
        await asyncio.sleep(60)
        assert asking.end == ("failed", "the person was told, and did not answer")


async def test_a_reply_of_which_nothing_was_heard_has_told_nothing() -> None:
    async with desk() as made:
        asking = made.ask()
        await asyncio.sleep(0.5)
        response_id = made.call.link.begin()
        made.call.link.speak(response_id, 0, ASKS)
        await made.hear("turn_1", "Wait.")
        await asyncio.sleep(2)
        assert asking.states == ["submitted", "working"]
        made.call.link.reply(1_000, ASKS)
        await asyncio.sleep(2)
        await made.hear("turn_2", "Until noon.")
        await asyncio.sleep(2)
        assert asking.end == ("completed", "Until noon.")


async def test_a_cancelled_message_that_waits_is_not_told() -> None:
    async with desk() as made:
        made.call.link.hear_start("turn_1", 0)
        await asyncio.sleep(0.5)
        asking = made.ask()
        await asyncio.sleep(0.5)
        assert asking.running is not None
        asking.running.cancel()
        await asyncio.sleep(0)
        made.call.link.hear_end("turn_1", 0, "Go on.")
        made.call.link.reply()
        await asyncio.sleep(20)
        assert made.hints() == []


async def test_messages_of_one_call_are_told_one_after_the_other_and_one_too_many_is_turned_away() -> None:
    async with desk() as made:
        first, second = made.ask("Is it you?"), made.ask("Are you well?")
        more = [made.ask() for _ in range(MAX_WAITING - 1)]
        await asyncio.sleep(0)
        assert more[-1].end == ("rejected", "8 messages wait in this call already: try again later")
        await made.tell()
        await made.hear("turn_1", "It is me.")
        await asyncio.sleep(2)
        assert (first.end, second.states) == (("completed", "It is me."), ["submitted", "working"])
        made.call.link.reply(500, "Thank you.")
        await asyncio.sleep(1)
        await made.tell()
        await made.hear("turn_2", "I am well.")
        await asyncio.sleep(2)
        assert second.end == ("completed", "I am well.")
        assert [hint.count("Is it you?") for hint in made.hints()[:2]] == [1, 0]
        await made.call.session.end("client_end")
        await asyncio.wait([asking.running for asking in more if asking.running is not None])
        assert {asking.states[-1] for asking in more[:-1]} == {"failed"}

"""The agent used alone: start on a queue or a callable, handle input, also of other agents, stop, whatever happens."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from realtime import ClientEvents, RealtimeAgent, ServerEvents
from realtime.call.session import Session
from realtime.errors import ProviderError, UsageError
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.model import base
from realtime.model.base import RealtimeModel
from realtime.runtime import Runtime
from tests.agent.fakes import CHUNK_MS, FakeModel, alone, speech, unreachable

pytestmark = pytest.mark.virtual_time


def agent_of(model: RealtimeModel, **options: Any) -> RealtimeAgent:
    return RealtimeAgent("Friday", "Be nice.", model, **options)


def drain(queue: "asyncio.Queue[Any]") -> list[Any]:
    return [queue.get_nowait() for _ in range(queue.qsize())]


@asynccontextmanager
async def running(**options: Any) -> AsyncIterator[tuple[RealtimeAgent, FakeModel, list[Any]]]:
    """An agent that runs alone, its model, and what it has told; it is stopped at the end."""
    model, told = FakeModel(), []
    agent = agent_of(model, **options)
    await agent.start(told.append)
    yield agent, model, told
    await agent.stop()


def types(told: list[Any]) -> list[str]:
    return [event.type for event in told]


HELLO = ClientEvents.ClientTextAppendEvent(text="Hello")


async def test_the_documented_lines_make_an_agent_that_says_it_is_ready() -> None:
    """RTA-04, RTA-05, RTA-07: the sample's imports and constructor; AgentReady arrives on a plain queue."""
    queue: asyncio.Queue[Any] = asyncio.Queue()
    agent = RealtimeAgent(name="Friday", sys_prompt="You are a helpful assistant.", model=FakeModel())
    await agent.start(queue)
    ready = await queue.get()
    assert type(ready) is ServerEvents.AgentReadyEvent
    assert (ready.agent_name, ready.agent_id != "") == ("Friday", True)
    assert ready.model["provider"] == "fake"
    await agent.handle_input(ClientEvents.ClientTextAppendEvent(session_id="session1", text="Hello"))
    await agent.stop()
    wrong: Any = "local"
    with pytest.raises(TypeError, match=r"model is a str: give a model, such as open_model\('local'\)"):
        RealtimeAgent("Friday", "", wrong)


@pytest.mark.parametrize("size", [0, 1], ids=["read", "full and unread"])
async def test_stopping_closes_the_model_ends_the_events_and_leaves_nothing_running(size: int) -> None:
    """RTA-08, SEV-05: provider closed, no task left, AgentEnded arrives."""
    queue: asyncio.Queue[Any] = asyncio.Queue(maxsize=size)
    model = FakeModel()
    agent = agent_of(model)
    before = asyncio.all_tasks()
    await agent.start(queue)
    if size:
        await agent.handle_input(HELLO)
    await agent.stop()
    assert model.link.closed
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    if not size:
        events = drain(queue)
        assert types(events) == ["agent_ready", "agent_ended"]
        assert events[-1].agent_name == "Friday"


async def test_stopping_stops_once_whenever_and_however_often_it_is_asked_for() -> None:
    """RTA-24: idempotent, also while the first is under way; safe before `start()`; nothing is said behind it."""
    told: list[Any] = []
    model = FakeModel()
    agent = agent_of(model)
    await agent.stop()
    with pytest.raises(UsageError, match="start"):
        await agent.handle_input(HELLO)
    await agent.start(told.append)
    with pytest.raises(UsageError, match="one agent per call"):
        await agent.start(told.append)
    await asyncio.gather(agent.stop(), agent.stop())
    await agent.stop()
    await agent.handle_input(HELLO)
    model.link.say()
    assert types(told) == ["agent_ready", "agent_ended"]
    assert model.link.sent == []


@pytest.mark.parametrize("by", ["provider", "client"])
async def test_stopping_is_safe_when_the_call_is_over(by: str) -> None:
    """RTA-24: safe when the provider is already gone. A session end event ends the agent, too."""
    async with running() as (agent, model, told):
        if by == "provider":
            model.link.gone("provider_closed")
        else:
            await agent.handle_input(ClientEvents.ClientSessionEndEvent())
        await asyncio.sleep(1)
        await agent.stop()
        assert types(told) == ["agent_ready", "agent_ended"]
        assert (told[-1].reason == "provider_closed") is (by == "provider")
        assert model.link.closed


async def test_a_stop_in_the_middle_of_speech_is_the_last_thing_heard() -> None:
    async with running() as (agent, model, told):
        model.link.reply(5_000)
        await asyncio.sleep(1)
        await agent.stop()
        await asyncio.sleep(10)
        kinds = types(told)
        assert kinds[-1] == "agent_ended"
        assert kinds.index("agent_response_audio_done") < kinds.index("agent_response_done") < len(kinds) - 1


@pytest.mark.parametrize(
    ("error", "code"),
    [(unreachable(), "provider_unreachable"), (RuntimeError("key sk-123 is wrong"), "internal")],
    ids=["unreachable", "a-fault"],
)
async def test_a_model_that_cannot_be_had_raises_and_leaves_nothing(
    error: Exception, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault in the model is told without its details."""
    agent = agent_of(FakeModel(refuses=error))
    before = asyncio.all_tasks()
    with pytest.raises(ProviderError) as raised:
        await agent.start(lambda event: None)
    assert (raised.value.code, "sk-123" in raised.value.message) == (code, False)
    assert ("failed" in caplog.text) is (code == "internal")
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    with pytest.raises(UsageError):
        await agent.handle_input(HELLO)
    await agent.stop()


async def test_cancelling_the_start_leaves_nothing_running() -> None:
    model = FakeModel()
    model.connecting = asyncio.Event()
    agent = agent_of(model)
    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await agent.start(lambda event: None)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert model.connections == []


async def test_one_agent_serves_many_calls_each_with_its_own_model_session_and_id_and_a_run_one() -> None:
    model = FakeModel()
    agent = agent_of(model, agent_id=None)
    runtime = Runtime.of_loop(asyncio.get_running_loop())
    runs = [agent.run(), agent.run()]
    calls = [Session(participant=one, runtime=runtime, session_id="s") for one in (*runs, runs[0])]
    for number, one in enumerate(calls[:2]):
        await one.start(SessionConfig(agent_name=f"Friday {number}"))
    first, second = runs
    assert (first.name, second.name, agent.name) == ("Friday 0", "Friday 1", "Friday")
    assert (len(model.connections), agent.agent_id) == (2, None)
    assert first.agent_id != second.agent_id
    with pytest.raises(UsageError, match="for one call"):
        await calls[2].start(SessionConfig())
    await calls[0].end("over")
    assert [one.closed for one in model.connections] == [True, False]
    await calls[1].end("over")


async def test_the_model_gets_the_prompt_the_voice_and_the_settings_of_the_call_and_of_a_create_event() -> None:
    """AMB-49: the sample server starts the agent first and hands the create event over."""
    create = {"type": "client_session_create", "config": {"instructions": "Be brief.", "user_name": "User1"}}
    model, told = FakeModel(), []
    agent = agent_of(model, voice="heart")
    await agent.start(told.append, config=SessionConfig(temperature=0.5, extra={"seed": 1}))
    settings = model.link.settings
    assert (settings.instructions, settings.voice, settings.temperature) == ("Be nice.", "heart", 0.5)
    assert settings.extra == {"seed": 1}
    await agent.handle_input(ClientEvents.from_json(create))
    assert model.link.got(base.SessionUpdate)[-1].settings.instructions == "Be brief."
    assert "server_session_updated" in types(told)
    await agent.stop()


async def test_what_cannot_be_done_is_an_event_never_an_exception() -> None:
    async with running() as (agent, _, told):
        await agent.handle_input(ClientEvents.ClientItemDeleteEvent(item_id="nothing", event_id="e1"))
        await agent.handle_input(ClientEvents.ClientSessionCreateEvent(config={"temperature": "hot"}, event_id="e2"))
        await agent.handle_input(ClientEvents.ClientSessionResumeEvent(token="t", last_seq=1, event_id="e3"))
        errors = {event.client_event_id: event.code for event in told if event.type == "agent_error"}
        assert errors == {"e1": "unknown_item", "e2": "invalid_config", "e3": "session_exists"}


async def test_an_unread_unbounded_queue_never_stalls_the_agent() -> None:
    model = FakeModel()
    agent = agent_of(model)
    await agent.start(asyncio.Queue())
    for _ in range(20):
        model.link.reply(1_000)
        await agent.handle_input(HELLO)
    await asyncio.sleep(60)
    assert len(model.link.got(base.ResponseCreate)) == 20
    await agent.stop()


async def test_a_full_queue_never_stalls_the_agent_and_gets_all_in_order_when_it_is_read() -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue(maxsize=1)
    events: list[Any] = []
    model = FakeModel()
    agent = agent_of(model)
    await agent.start(queue)
    model.link.reply(2_000)
    await asyncio.sleep(10)
    await agent.handle_input(ClientEvents.ClientAudioAppendEvent(audio=speech(100)))
    assert model.link.heard_bytes() == speech(100)

    async def read() -> None:
        while True:
            events.append(await queue.get())

    reader = asyncio.create_task(read())
    await asyncio.sleep(10)
    audio = [event for event in events if event.type == "agent_response_audio_delta"]
    assert b"".join(event.delta for event in audio) == speech(CHUNK_MS, 24_000) * 20
    await agent.stop()
    await asyncio.sleep(0)
    assert events[-1].type == "agent_ended"
    reader.cancel()


async def test_a_callable_that_raises_does_not_hurt_the_call(caplog: pytest.LogCaptureFixture) -> None:
    calls = 0

    def out(event: Any) -> None:
        nonlocal calls
        calls += 1
        raise RuntimeError("the application's own fault")

    agent = agent_of(FakeModel())
    await agent.start(out)
    await agent.handle_input(ClientEvents.ClientTextAppendEvent(text="Hello?"))
    await agent.stop()
    assert calls >= 4
    assert "failed" in caplog.text


async def test_every_event_says_who_and_where_prints_its_type_and_dumps_json_safe() -> None:
    """RTA-09: `.type` and `json.dumps(ev.model_dump())` for every event of a call.

    RTA-14: each agent event carries agent_id and agent_name; all carry seq and ts_ms.
    """
    async with running(agent_id="agent-7") as (agent, model, told):
        await agent.handle_input(HELLO)
        await agent.handle_input(ClientEvents.ClientItemDeleteEvent(item_id="nothing"))
        model.link.reply()
        model.link.hear_start("u1")
        model.link.hear_end("u1", 500, "Stop.")
        await asyncio.sleep(5)
        await agent.stop()
    assert len({*types(told)}) >= 12
    for event in told:
        assert json.loads(json.dumps(event.model_dump()))["type"] == event.type
    said = [event for event in told if event.type.startswith("agent_")]
    assert {(event.agent_id, event.agent_name) for event in said} == {("agent-7", "Friday")}
    numbers = [event.seq for event in told if event.type != "agent_response_audio_delta"]
    assert len({*numbers}) == len(numbers)


async def test_stopping_while_it_starts_ends_both() -> None:
    model = FakeModel()
    model.connecting = asyncio.Event()
    agent = agent_of(model)
    before = asyncio.all_tasks()
    starting = asyncio.create_task(agent.start(lambda event: None))
    await asyncio.sleep(1)
    await agent.stop()
    with pytest.raises(UsageError, match="stopped"):
        await starting
    assert asyncio.all_tasks() == before
    assert model.connections == []


async def test_a_provider_that_goes_while_the_agent_starts_ends_it() -> None:
    """The session is gone before `connect` has returned."""

    class Fleeting(FakeModel):
        async def connect(self, **options: Any) -> Any:
            connection = await super().connect(**options)
            connection.gone("provider_closed")
            return connection

    events: list[Any] = []
    agent = agent_of(Fleeting())
    await agent.start(events.append)
    await asyncio.sleep(1)
    assert [event.type for event in events] == ["agent_ready", "agent_ended"]
    await agent.stop()


ANN: dict[str, Any] = {"agent_id": "agent_ann", "agent_name": "Ann"}
PART: dict[str, Any] = {"response_id": "resp_1", "item_id": "item_1", **ANN}
SOUND = s.AgentResponseAudioDeltaEvent(delta=speech(100, 24_000), format=AudioFormat.pcm16(24_000), **PART)


def answer(words: str, **done: Any) -> list[s.ServerEvent]:
    return [
        s.AgentResponseCreatedEvent(response_id="resp_1", **ANN),
        s.AgentResponseAudioTranscriptDeltaEvent(delta=words, **PART),
        SOUND,
        s.AgentResponseAudioDoneEvent(**PART),
        s.AgentResponseAudioTranscriptDoneEvent(transcript=words, **PART),
        s.AgentResponseDoneEvent(response_id="resp_1", **done, **ANN),
    ]


@pytest.mark.parametrize(("words", "done"), [("It is noon.", {}), ("It is", {"status": "cancelled"})])
async def test_an_agent_is_told_what_another_agent_said_and_answers_it(words: str, done: dict[str, Any]) -> None:
    """RTA-11: the events of another agent become one turn with its name on it, once, and a response follows.

    Of one that was interrupted only what was heard is told.
    """
    async with alone() as made:
        for event in answer(words, **done):
            await made.agent.handle_input(event)
        assert made.transcript() == [("user", f"[Ann]: {words}")]
        (told,) = made.link.got(base.ItemCreate)
        assert told.item.text == f"[Ann]: {words}"
        assert len(made.link.got(base.ResponseCreate)) == 1
        # Its words, not its sound as well: that is the stream of the human.
        assert made.link.heard_bytes() == b""
    with pytest.raises(UsageError, match="call start"):
        await RealtimeAgent("Friday", "", FakeModel()).handle_input(SOUND)


async def test_nobody_is_told_of_silence_of_asides_or_of_their_own_words() -> None:
    """RTA-11: no loop from an agent to itself."""
    async with alone(agent_id="agent_ann") as made:
        for event in answer("It is noon."):
            await made.agent.handle_input(event)
    async with alone() as other:
        aside = s.AgentResponseCreatedEvent(response_id="resp_1", conversation="none", **ANN)
        for event in (*answer("  "), aside, *answer("Beside the point.")[1:], s.ServerAudioFlushEvent()):
            await other.agent.handle_input(event)
        assert (made.transcript(), other.transcript()) == ([], [])


async def test_two_agents_talk_by_handing_each_other_their_events() -> None:
    """RTA-11: the queue of one is the input of the other."""
    ann, ben = FakeModel(), FakeModel()
    first = RealtimeAgent("Ann", "", ann)
    second = RealtimeAgent("Ben", "", ben)
    queue: asyncio.Queue[Any] = asyncio.Queue()
    await first.start(queue)
    await second.start(asyncio.Queue())
    try:
        ann.link.reply(200, "Good day, Ben.")
        while True:
            event = await queue.get()
            await second.handle_input(event)
            if isinstance(event, s.AgentResponseDoneEvent):
                break
        assert [message.item.text for message in ben.link.got(base.ItemCreate)] == ["[Ann]: Good day, Ben."]
    finally:
        await first.stop()
        await second.stop()


async def test_an_agent_starts_with_settings_by_their_names_and_refuses_wrong_ones_before_it_starts() -> None:
    model, told = FakeModel(), list[Any]()
    agent = agent_of(model)
    with pytest.raises(UsageError, match="config has no 'modalities'"):
        await agent.start(told.append, config={"modalities": ["text"]})
    await agent.start(told.append, config={"output_modalities": ["text"]})
    assert model.link.settings.output_modalities == ("text",)
    await agent.stop()

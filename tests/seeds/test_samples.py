"""Every Python sample of the source documents runs, or stands in `open.toml` with what it lacks.

Each runs in a namespace of its own, with the names that its page has set up before, against an emulated provider on
loopback. The list is strict: a sample that begins to run, or that fails for another reason than the one given, fails
its test until the list says so.
"""

import ast
import asyncio
import inspect
import io
import json
import os
import re
import sys
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from realtime import agent as agents
from realtime.a2a import A2AAgent, WellKnownAgentCardResolver
from realtime.agent import ReActAgent
from realtime.event import ReplyStartEvent
from realtime.formatter import DashScopeChatFormatter
from realtime.interop import agentflow_message, dump, load
from realtime.message import AssistantMsg, ToolCallBlock, UserMsg
from realtime.model import DashScopeChatModel
from realtime.plan import PlanNotebook
from realtime.session import JSONSession
from realtime.token import CharTokenCounter
from realtime.tool import Toolkit
from tests.a2a.servers import remote_agent
from tests.a2a.test_agent import echo
from tests.a2a.test_cards import registry, web
from tests.model.local.chat_endpoint import Asked, Frame
from tests.seeds.samples import Sample, all_samples, samples_of, unfolded
from tests.seeds.services import ANSWER, answer, chat_service, endless, texts_of, thinker
from tests.server.harness import create, echo_agent, serving, serving_app
from tests.volumes import HANG_S

Names = dict[str, Any]


@dataclass(frozen=True)
class Lacking:
    """Why a sample does not run yet."""

    needs: str
    fails_with: str


def lacking() -> dict[str, Lacking]:
    """The samples that do not run yet, by name."""
    data = tomllib.loads((Path(__file__).parent / "open.toml").read_text(encoding="utf-8"))
    return {
        name: Lacking(one["needs"], error) for one in data.get("open", ()) for name, error in one["samples"].items()
    }


OPEN = lacking()

# -- running one -------------------------------------------------------------------------------------------------------


EINSTEIN = {"name": "Albert Einstein", "description": "A physicist.", "age": 76, "honors": ["Nobel Prize"]}
THINKERS = {"003:45": "Friday", "003:124": "Friday", "003:442": "Friday", "003:447": "Saturday"}
"""The names of the thinking agents that samples speak to; all others speak to one that talks."""
REMOTE = ("003:489", "003:494", "003:525", "003:537")
"""Samples that speak to a remote agent, or read its card."""
CARD_FILE = """{
    "name": "RemoteAgent",
    "url": "http://localhost:8000",
    "description": "Remote A2A Agent",
    "version": "1.0.0",
    "capabilities": {},
    "default_input_modes": ["text/plain"],
    "default_output_modes": ["text/plain"],
    "skills": []
}"""
"""The printed file of a card."""
PRINTED_AGENT, PRINTED_REGISTRY = "http://localhost:8000", "http://localhost:8848"
"""Where the printed remote agent and the printed registry are."""
TYPED = "Hello\nexit\n"
"""What a user types into the terminal of a sample."""
SUMMARY = {"main_topic": "Trips", "key_points": "Oslo", "pending_tasks": "A hotel"}
ANSWERS: dict[str, list[list[Frame]]] = {
    "003:45": [endless("A long ", "answer")],
    "003:89": [answer(generate_structured_output=SUMMARY), answer("Yes.")],
    "003:124": [answer("A physicist.", generate_response=EINSTEIN)],
}
"""What the chat service says to samples; to all others it says hello."""


class Graph:
    """An agent of ours in the place of a graph of Agentflow's: its messages go in and come out."""

    async def ainvoke(self, state: Names) -> Names:
        (asked,) = load([one.model_dump() for one in state["messages"]], "agentflow")
        reply = await thinker()(asked)
        told = [agentflow_message.Message.model_validate(one) for one in dump([reply], "agentflow")]
        return {"messages": [*state["messages"], *told]}


@asynccontextmanager
async def page(sample: Sample, folder: Path, asked: list[Asked]) -> AsyncIterator[Names]:
    """What a page has set up before a sample: an agent, a message, a session that was saved. Tasks that the sample
    leaves behind are ended."""
    if sample.name == "003:510":
        async with web(registry([], {"code": 0, "data": json.loads(CARD_FILE)})) as place:
            yield {"registry": place.url}
        return
    if sample.name in REMOTE:
        async with remote_agent(echo) as remote:
            (folder / "agent_card.json").write_text(CARD_FILE, encoding="utf-8")
            card = await WellKnownAgentCardResolver(remote.url).get_agent_card()
            yield {"agent_card": card, "served": remote.url, "remote": remote}
        return
    session = JSONSession(folder)
    await session.save_session_state("user_1", agent=thinker())
    speaker = echo_agent()
    await speaker.start(asyncio.Queue())
    model = DashScopeChatModel("qwen-max", "not-a-key")
    made: Names = {"sys_prompt": "Be brief.", "model": model, "formatter": DashScopeChatFormatter()}
    known = asyncio.all_tasks()
    try:
        yield {
            "Message": agentflow_message.Message,
            "TokenUsages": agentflow_message.TokenUsages,
            "app": Graph(),
            "PlanNotebook": PlanNotebook,
            "plan_notebook": PlanNotebook(),
            **{name: getattr(agents, name) for name in agents.__all__},
            "Any": Any,
            "ReplyStartEvent": ReplyStartEvent,
            **made,
            "asked": asked,
            "CharTokenCounter": CharTokenCounter,
            "DashScopeChatFormatter": DashScopeChatFormatter,
            "DashScopeChatModel": DashScopeChatModel,
            "agent": thinker(THINKERS[sample.name]) if sample.name in THINKERS else speaker,
            "asyncio": asyncio,
            "elided": {"name": "Friday", **made},
            "msg": AssistantMsg("Friday", "Hello"),
            "os": os,
            "session": session,
            "user_msg": UserMsg("user", "Hello"),
        }
    finally:
        left = asyncio.all_tasks() - known
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await speaker.stop()


@asynccontextmanager
async def provider_for(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """The environment of a sample; where it talks to a model, a server of ours stands for the provider."""
    for provider in ("DASHSCOPE", "OPENAI", "GEMINI"):
        monkeypatch.setenv(f"{provider}_API_KEY", "not-a-key")
    if "v2.nacos" in sample.code:
        # Stands for Nacos' own package, which excludes version 1 of a2a-sdk.
        nacos: Any = ModuleType("v2.nacos")
        nacos.ClientConfig = SimpleNamespace
        monkeypatch.setitem(sys.modules, "v2", ModuleType("v2"))
        monkeypatch.setitem(sys.modules, "v2.nacos", nacos)
    if "RealtimeAgent" not in sample.code:
        yield
        return
    async with serving(echo_agent) as place:
        monkeypatch.setenv("DASHSCOPE_WEBSOCKET_BASE_URL", place.url)
        yield


async def run(sample: Sample, names: Names) -> Names:
    """Execute the sample, and its `main` where it defines one; the names that it leaves."""
    printed = sample.rewritten
    # The printed ports may be taken.
    for url, name in ((PRINTED_AGENT, "served"), (PRINTED_REGISTRY, "registry")):
        printed = printed.replace(url, names.get(name, url))
    code = compile(printed, f"sample {sample.name}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names = {**names, "__name__": "sample"}
    async with asyncio.timeout(HANG_S):
        if code.co_flags & inspect.CO_COROUTINE:
            await eval(code, names)
        else:
            # It may run a loop of its own.
            await asyncio.to_thread(exec, code, names)
        if "main" in names:
            await names["main"]()
    return names


@pytest.fixture(scope="module")
def samples(source_documents: Path) -> dict[str, Sample]:
    """All samples of the documents, by name."""
    return {sample.name: sample for sample in all_samples(source_documents / "seeds")}


async def test_every_printed_sample_runs_or_is_listed_with_what_it_lacks(
    samples: dict[str, Sample], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CARD-10: every sample after the change of the import prefix. REA-02: the constructors in them.

    SES-08, SES-12, SES-13: modules, and sessions saved and loaded.

    FMT-14: those with DashScope's model and formatter ask an endpoint on loopback.
    """
    wrong = {}
    for name, sample in samples.items():
        folder = tmp_path / name.replace(":", "_")
        folder.mkdir()
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            error = await judged(sample, patch, folder, capsys)
        if error is not None:
            wrong[name] = error
    assert wrong == {}


def pause_until(asked: list[Asked]) -> Callable[..., Awaitable[None]]:
    """The pause of a sample that is to be over when the service was asked, however slow the machine."""
    sleep = asyncio.sleep

    async def pause(seconds: float) -> None:
        while seconds >= 1 and not asked:
            await sleep(0)
        await sleep(0)

    return pause


async def judged(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> str | None:
    """What is wrong with a sample: it fails, leaves the wrong things behind, or its place in the list is wrong."""
    listed = OPEN.get(sample.name)
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.StringIO(TYPED))
    async with (
        provider_for(sample, monkeypatch),
        chat_service(monkeypatch, ANSWERS.get(sample.name, ())) as service,
        page(sample, folder, service.asked) as names,
    ):
        if sample.name == "003:45":
            monkeypatch.setattr(asyncio, "sleep", pause_until(service.asked))
        try:
            left = await run(sample, names)
            if sample.name in LEFT:
                look, expected = LEFT[sample.name]
                assert look(left) == expected
            elif listed is None and sample.name in CHECKS:
                await CHECKS[sample.name](left, capsys)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
            return None if listed is not None and listed.fails_with in error else error
    return None if listed is None else "it runs now: take it out of tests/seeds/open.toml"


async def test_the_printed_fold_gives_the_reply_of_a_thinking_agent_too(
    samples: dict[str, Sample], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The sample of `reply_stream`, with an agent that thinks."""
    sample = samples["000:337"]
    async with chat_service(monkeypatch) as service, page(sample, tmp_path, service.asked) as names:
        left = await run(sample, {**names, "agent": thinker()})
    assert (left["msg"].get_text_content(), left["msg"].finished_reason) == (ANSWER, "completed")


async def test_the_printed_handoff_to_a_remote_agent_is_a_tool(samples: dict[str, Sample]) -> None:
    """A2A-08: the printed function, registered in a Toolkit, with a remote agent behind it."""
    async with remote_agent(echo) as remote:
        names: Names = {"agent_card": await WellKnownAgentCardResolver(remote.url).get_agent_card()}
        exec(compile(samples["003:537"].rewritten, "sample 003:537", "exec"), names)
        toolkit = Toolkit()
        toolkit.register_tool_function(names["delegate_to_remote"])
        (schema,) = toolkit.get_json_schemas()
        assert schema["function"]["description"] == "Complete a task through a remote sub-agent."
        call = ToolCallBlock(id="call_1", name="delegate_to_remote", input='{"query": "Find a hotel in Oslo."}')
        result = await toolkit.run(call)
        assert (result.state, result.output_text()) == ("success", "You said: Find a hotel in Oslo.")
        assert remote.words() == [["Find a hotel in Oslo."]]
        await names["agent"].aclose()


def test_only_samples_that_exist_are_listed(samples: dict[str, Sample]) -> None:
    """CARD-10: the list, the layouts and the checks name samples that are there."""
    assert len(samples) > 30
    assert {*OPEN, *CHECKS, *LEFT} <= {*samples}
    assert not {*OPEN} & {*CHECKS, *LEFT}


# -- what those that run leave behind ----------------------------------------------------------------------------------

Output = pytest.CaptureFixture[str]


async def an_agent_that_was_ready(_: Names, printed: Output) -> None:
    assert "Event: agent_ready" in printed.readouterr().out


async def an_interrupted_reply(left: Names, printed: Output) -> None:
    """REA-06, REA-07: the request was given up."""
    assert printed.readouterr().out == "You interrupted me. What can I do for you?\n"
    (asked,) = left["asked"]
    async with asyncio.timeout(HANG_S):
        await asked.left.wait()


async def an_agent_with_a_plan(left: Names, printed: Output) -> None:
    """PLN-18, PLN-32: the plan is made first, and the printed hint names its first subtask."""
    told = printed.readouterr().out
    assert told.startswith("user: ")
    assert "<system-hint>The current plan:" in told
    assert len(left["agent"].plan_notebook.current_plan.subtasks) == 4
    assert "finish_plan" in left["agent"].toolkit


async def an_agent_that_plans_itself(left: Names, printed: Output) -> None:
    assert ANSWER in printed.readouterr().out
    (asked,) = left["asked"]
    assert "create_plan" in texts_of(asked)[-1]


async def a_hook_of_plans(left: Names, _: Output) -> None:
    left["plan_notebook"].remove_plan_change_hook("on_plan_changed")


async def an_agent_that_compresses(left: Names, _: Output) -> None:
    config = left["agent"].compression_config
    assert (config.enable, config.trigger_threshold, config.keep_recent) == (True, 10000, 3)
    assert (await left["agent"](left["user_msg"])).get_text_content() == ANSWER


async def a_summary_of_ones_own(left: Names, _: Output) -> None:
    """REA-24: the printed class and template, on a conversation that is too long."""
    agent: ReActAgent = left["agent"]
    await agent.observe([UserMsg("user", "word " * 6000) for _ in range(3)])
    assert (await agent(left["user_msg"])).get_text_content() == "Yes."
    summarizing, answering = left["asked"]
    (tool,) = summarizing.body["parameters"]["tools"]
    assert {*tool["function"]["parameters"]["properties"]} == {*SUMMARY}
    assert "main topic, key points, and pending tasks" in texts_of(summarizing)[-1]
    summary = "<system-info>Summary:\nMain Topic: Trips\n\nKey Points:\nOslo\n\nPending Tasks:\nA hotel</system-info>"
    assert texts_of(answering)[1] == summary


async def a_structured_answer(left: Names, printed: Output) -> None:
    """REA-28, REA-29, REA-30: the printed request."""
    assert left["response"].metadata == EINSTEIN
    assert printed.readouterr().out == f"{EINSTEIN}\n"
    assert left["response"].get_text_content() == "A physicist."


async def an_agent_of_ones_own(left: Names, _: Output) -> None:
    """AGT-09, AGT-13: the printed agent answers, has hooks and is interrupted."""
    agent = left["MyAgent"]()
    assert (await agent(left["user_msg"])).get_text_content() == "Hello!"

    async def wait(self: Any, kwargs: Names) -> None:
        await self.interrupt()
        await asyncio.Event().wait()

    agent.register_instance_hook("pre_reply", "wait", wait)
    assert (await agent(left["user_msg"])).get_text_content() == "Interrupted."


async def a_hook_that_returns_what_it_gets(left: Names, _: Output) -> None:
    """HOK-09, HOK-10: the printed signatures."""
    agent = thinker()
    for hook in (left.get("my_pre_hook"), left.get("my_post_hook")):
        if hook is not None:
            agent.register_instance_hook(f"{hook.__name__.split('_')[1]}_reply", "mine", hook)
            assert (await agent(left["user_msg"])).get_text_content() == ANSWER


async def a_hook_that_was_removed(left: Names, _: Output) -> None:
    """HOK-01, AMB-35: the printed hook is gone, and works while it is there."""
    agent = left["agent"]
    await agent(left["user_msg"])
    agent.register_instance_hook(hook_type="pre_reply", hook_name="add_prefix", hook=left["add_prefix_hook"])
    await agent(UserMsg("user", "Hello again"))
    assert [texts_of(asked)[-1] for asked in left["asked"]] == ["Hello", "[reviewed] Hello again"]


async def an_agent_that_was_restored(left: Names, _: Output) -> None:
    """SES-09: it has answered, and its memory is empty again."""
    assert await left["agent"].memory.get_memory() == []
    assert left["agent"].state_dict() == left["initial_state"]
    assert (await left["agent"](left["user_msg"])).get_text_content() == ANSWER
    assert [asked.body["model"] for asked in left["asked"]] == ["qwen-max", "qwen-max"]


async def a_server_that_answers(left: Names, _: Output) -> None:
    async with serving_app(left["app"]) as place, place.client(subprotocols=()) as client:
        await client.until("agent_ready")
        await client.send(create(instructions="Be brief.", user_name="User1"))
        await client.send({"type": "client_text_append", "session_id": "session1", "text": "Hello"})
        await client.until("agent_response_audio_delta")
        await client.until("agent_response_done")


LEFT: dict[str, tuple[Callable[[Names], Any], Any]] = {
    "000:156": (
        lambda left: [left[f"{who}_msg"].role for who in ("user", "system", "assistant")],
        ["user", "system", "assistant"],
    ),
    "000:166": (lambda left: (left["text"], left["tool_calls"]), ("Hello", [])),
    "000:337": (
        lambda left: (left["msg"].get_text_content(), left["msg"].finished_reason),
        ("I heard you.", "completed"),
    ),
    "003:391": (lambda left: left["MyAgent"]().state_dict(), {"memory": {"messages": []}, "name": "Friday"}),
    "003:442": (lambda left: saved_by(left["session"])["agent"] == left["agent"].state_dict(), True),
    "003:447": (lambda left: left["agent"].name, "Friday"),
    "003:472": (lambda left: A2AAgent(left["agent_card"]).agent_card.url, PRINTED_AGENT),
    "003:489": (lambda left: left["agent_card"].name, "Office"),
    "003:494": (lambda left: left["agent_card"].name, "RemoteAgent"),
    "003:510": (lambda left: left["agent_card"].name, "RemoteAgent"),
    "004:43": (lambda left: (left["msg"].message_id, left["msg"].role), ("msg-001", "user")),
    "004:51": (lambda left: (left["msg"].metadata, left["msg"].content[0].text), ({"source": "api"}, "Hello, world!")),
    "004:233": (lambda left: (left["usages"].total_tokens, left["usages"].audio_tokens), (470, 0)),
    "003:567": (
        lambda left: [left[f"{name}_model"].voice for name in ("dashscope", "openai", "gemini")],
        ["Cherry", "alloy", "Puck"],
    ),
}
"""What samples leave behind in their names."""


def saved_by(session: JSONSession) -> Any:
    return json.loads(session.path_of("user_1").read_text(encoding="utf-8"))


async def a_remote_agent_that_answers(left: Names, printed: Output) -> None:
    """A2A-07: the printed loop, until the user types "exit"."""
    assert "Office: You said: Hello" in printed.readouterr().out
    assert left["remote"].words() == [["Hello"]]
    await left["agent"].aclose()


async def a_graph_that_was_asked(left: Names, printed: Output) -> None:
    """AFL-41: the printed loop over the messages of a reply."""
    assert printed.readouterr().out == f"Hello\n{ANSWER}\n"
    assert [one.role for one in left["result"]["messages"]] == ["user", "assistant"]


CHECKS: dict[str, Callable[[Names, Output], Awaitable[None]]] = {
    "003:45": an_interrupted_reply,
    "003:65": an_agent_that_compresses,
    "003:89": a_summary_of_ones_own,
    "003:124": a_structured_answer,
    "003:176": an_agent_with_a_plan,
    "003:251": an_agent_that_plans_itself,
    "003:278": a_hook_of_plans,
    "003:302": an_agent_of_ones_own,
    "003:330": a_hook_that_returns_what_it_gets,
    "003:340": a_hook_that_returns_what_it_gets,
    "003:357": a_hook_that_was_removed,
    "003:406": an_agent_that_was_restored,
    "003:525": a_remote_agent_that_answers,
    "003:596": an_agent_that_was_ready,
    "003:626": a_server_that_answers,
    "004:250": a_graph_that_was_asked,
}


# -- JSON --------------------------------------------------------------------------------------------------------------


def test_the_printed_json_of_java_is_read_and_written_equal(source_documents: Path) -> None:
    """JAV-11: a message, and blocks alone, which are put into one."""
    (document,) = (source_documents / "seeds").glob("002_*.txt")
    printed = [json.loads(one) for one in re.findall(r"^```json\n(.*?)^```", document.read_text(), re.M | re.S)]
    assert [sorted(one) for one in printed] == [
        ["text", "type"],
        ["content", "id", "metadata", "name", "role", "timestamp"],
    ]
    for one in printed:
        whole = one if "content" in one else {"role": "USER", "content": [one]}
        assert dump(load(whole, "java1"), "java1") == [whole]


# -- finding and judging them ------------------------------------------------------------------------------------------

DOCUMENT = """\
Agents
An agent is made by name:
from agentscope.agent import RealtimeAgent

agent = RealtimeAgent(
    name="Friday",
)
Methods
observe
Call it with await:
answer = await agent("Hi")
import io.agentscope.core.Msg;
"""


def test_samples_are_told_from_the_text_around_them(tmp_path: Path) -> None:
    document = tmp_path / "007_some.txt"
    document.write_text(DOCUMENT, encoding="utf-8")
    made, asked = samples_of(document)
    assert (made.name, asked.name) == ("007:3", "007:11")
    assert made.rewritten.splitlines()[0] == "from realtime.agent import RealtimeAgent"
    assert made.code.endswith('    name="Friday",\n)\n')
    assert asked.code == 'answer = await agent("Hi")\n'
    assert Sample("x", "agent = ReActAgent(...)\n").rewritten == "agent = ReActAgent(**elided)\n"
    assert Sample("x", "from agentscope.realtime import ClientEvents\n").rewritten == (
        "from realtime import ClientEvents\n"
    )


def test_a_line_that_has_changed_is_not_unfolded_at_the_old_places() -> None:
    assert unfolded("if a:# Whyb()", 13, [0, 0], [5, 1], [10, 1]) == "if a:\n    # Why\n    b()\n"
    with pytest.raises(ValueError, match="12 characters stands where one of 13"):
        unfolded("if a:# Whyb(", 13, [0, 0], [5, 1], [10, 1])


async def test_a_sample_is_run_with_its_main() -> None:
    await run(Sample("x", "import asyncio\nawait asyncio.sleep(0)\n"), {})
    with pytest.raises(NameError, match="name 'missing' is not defined"):
        await run(Sample("x", "async def main():\n    missing()\n"), {})
    with pytest.raises(ImportError, match=r"cannot import name 'NeverMade' from 'realtime\.agent'"):
        await run(Sample("x", "from agentscope.agent import NeverMade\n"), {})

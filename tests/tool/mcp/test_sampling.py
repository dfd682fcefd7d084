"""A server that wants a language model: whose it gets, and within which limits."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from realtime.message import ToolCallBlock
from realtime.model.chat.families import FAMILIES
from realtime.tool.context import Sampling, ToolScope
from realtime.tool.mcp.answers import MAX_SAMPLED_CHARS, MAX_SAMPLED_TOKENS
from tests.agent.fakes import alone
from tests.agent.office import ASK, desk
from tests.agent.test_tools import ask_tools
from tests.agent.thinking import call, react, requests_of, say
from tests.agent.voice import COSTS, talk
from tests.tool.mcp.scripted import Json, ScriptedClient, ScriptedServer, text, tool, toolkit_of

pytestmark = pytest.mark.virtual_time(costs=COSTS)


def asking(words: str = "Write a poem.", max_tokens: int = 50, **more: Any) -> Any:
    """A tool that has something written, and gives it back."""

    async def poem(server: ScriptedServer, request: Json) -> Json:
        message = {"role": "user", "content": {"type": "text", "text": words}}
        told = await server.ask("sampling/createMessage", messages=[message], maxTokens=max_tokens, **more)
        return text(told.get("error", {}).get("message") or told["result"]["content"]["text"])

    return ScriptedServer([tool("poem")], poem)


def writing(words: str, seen: list[Sampling]) -> Callable[[Sampling], Awaitable[str]]:
    """A language model that always writes the same, and notes what it is asked."""

    async def write(asked: Sampling) -> str:
        seen.append(asked)
        return words

    return write


async def run(client: ScriptedClient) -> str:
    result = await (await toolkit_of(client)).run(ToolCallBlock(id="1", name="poem", input="{}"))
    return result.output_text()


async def test_what_the_program_gives_writes_within_the_limit_of_tokens() -> None:
    seen: list[Sampling] = []
    server = asking(max_tokens=1_000_000, systemPrompt="You are a poet.", temperature=0.5)
    async with ScriptedClient(server, sampling=writing("Roses are red.", seen)) as client:
        assert await run(client) == "Roses are red."
    assert seen == [Sampling("You are a poet.", [("user", "Write a poem.")], MAX_SAMPLED_TOKENS, 0.5)]
    assert "sampling" in server.sent("initialize")[0]["params"]["capabilities"]


async def test_more_than_the_limit_to_read_is_refused_and_a_failure_is_told_without_its_words() -> None:
    async def fail(asked: Sampling) -> str:
        raise RuntimeError("key sk-1234")

    async with ScriptedClient(asking("x" * (MAX_SAMPLED_CHARS + 1)), sampling=fail) as client:
        assert "characters to read" in await run(client)
    async with ScriptedClient(asking(), sampling=fail) as client:
        assert await run(client) == "the language model gave no answer"


async def test_the_agent_s_own_language_model_is_not_used_unless_it_has_one_and_that_is_allowed() -> None:
    async with ScriptedClient(asking(), allow_sampling=True) as client:
        assert await run(client) == "no language model is allowed to answer here"
    for allowed, told in ((True, "Violets are blue."), (False, "Sampling not supported")):
        async with ScriptedClient(asking(), allow_sampling=allowed) as client:
            with ToolScope(call_id="call_1", sample=writing("Violets are blue.", [])).in_force():
                assert await run(client) == told


async def test_the_language_model_behind_a_voice_writes_beside_the_conversation() -> None:
    agent = react([call("poem")], say("Roses are red."), say("Here it is."))
    async with ScriptedClient(asking(), allow_sampling=True) as client:
        await agent.toolkit.register_mcp_client(client)
        async with talk(agent) as one:
            await one.type("A poem, please.")
            await asyncio.sleep(5)
            assert "success: Roses are red." in "\n".join(one.story)
    first, beside, last = requests_of(agent)
    assert [one for one in beside.texts if one] == ["Write a poem."]
    assert "Write a poem." not in " ".join([*first.texts, *last.texts])


async def test_a_delegate_s_chat_model_writes_for_its_tools() -> None:
    agent = react([call("poem")], say("Roses are red."), say("Here it is."))
    async with ScriptedClient(asking(systemPrompt="Be a poet."), allow_sampling=True) as client:
        await agent.toolkit.register_mcp_client(client)
        async with alone(toolkit=desk(agent, background=False)) as made:
            ask_tools(made, ASK)
            await asyncio.sleep(2)
    assert requests_of(agent)[1].texts == ["Be a poet.", "Write a poem."]
    assert requests_of(agent)[1].options[FAMILIES["openai"].limit_name] == 50


async def test_a_server_that_wants_it_in_a_loop_loses_its_call() -> None:
    async def loop(server: ScriptedServer, request: Json) -> Json:
        message = {"role": "user", "content": {"type": "text", "text": "Again."}}
        while not server.sent("notifications/cancelled"):
            await server.ask("sampling/createMessage", messages=[message], maxTokens=10)
        return text("enough")

    seen: list[Sampling] = []
    async with ScriptedClient(ScriptedServer([tool("poem")], loop), sampling=writing("More.", seen)) as client:
        assert "asked more than 10 samples in one call" in await run(client)
    assert len(seen) == 10


async def test_without_a_call_nothing_is_written_and_few_questions_wait() -> None:
    release, waiting = asyncio.Event(), 0

    async def fill_in(message: str, schema: Json) -> Json:
        nonlocal waiting
        waiting += 1
        await release.wait()
        return {"x": 1}

    server, seen = asking(), list[Sampling]()
    async with ScriptedClient(server, sampling=writing("Roses are red.", seen), on_elicit=fill_in):
        message = {"role": "user", "content": {"type": "text", "text": "Again."}}
        told = await server.ask("sampling/createMessage", messages=[message], maxTokens=10)
        assert told["error"]["message"] == "no language model is allowed to answer here"
        assert seen == [], "no call has paid for this"
        schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
        asked = [
            asyncio.create_task(server.ask("elicitation/create", message=f"{n}", requestedSchema=schema))
            for n in range(15)
        ]
        await asyncio.sleep(1)
        assert waiting == 10
        release.set()
        answers = [(await one)["result"] for one in asked]
        assert [one["action"] for one in answers].count("accept") == 10

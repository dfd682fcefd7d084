"""Compression: older messages become a summary, nothing is lost, and a voice never waits for it."""

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from realtime.agent import ReActAgent
from realtime.errors import ProviderError, UsageError
from realtime.message import AssistantMsg, Msg, ToolResultBlock, UserMsg
from realtime.model.chat.base import ChatResponse
from realtime.model.chat.compression import COMPRESSED, COMPRESSION_PROMPT, SummarySchema, first_kept, with_pairs
from tests.agent.fakes import call as voice_call
from tests.agent.office import ASK, desk
from tests.agent.test_tools import ask_tools, results
from tests.agent.thinking import (
    HELLO,
    Answer,
    PlainFormatter,
    ScriptedChat,
    WordCounter,
    call,
    ends_in,
    not_compressed,
    react,
    remembered,
    requests_of,
    say,
    stream,
    weather,
)
from tests.agent.voice import talk

pytestmark = pytest.mark.virtual_time

FIELDS = {
    "task_overview": "Plan a trip.",
    "current_state": "Flights are booked.",
    "important_discoveries": "No trains on Sunday.",
    "next_steps": "Find a hotel.",
    "context_to_preserve": "The user is vegetarian.",
}
SUMMARY = ChatResponse(say("-"), metadata=FIELDS)


def config(threshold: int = 150, **options: Any) -> ReActAgent.CompressionConfig:
    return ReActAgent.CompressionConfig(
        enable=True, agent_token_counter=WordCounter(), trigger_threshold=threshold, **options
    )


def words(text: str, count: int = 60) -> Msg:
    return UserMsg("user", " ".join([text] * count))


FOUR = ("one", "two", "three", "four")


async def filled(agent: ReActAgent, *texts: str) -> ReActAgent:
    await agent.observe([words(text) for text in texts or FOUR])
    return agent


async def test_a_long_memory_is_compressed_before_the_answer() -> None:
    """REA-10, REA-11, REA-14, REA-21, REA-22, REA-23"""
    agent = await filled(react(SUMMARY, say("Yes."), compression_config=config()))
    answer = await agent(HELLO)
    asked, prompt = requests_of(agent)
    assert asked.texts[1:] == [words("one").get_text_content(), words("two").get_text_content(), COMPRESSION_PROMPT]
    assert asked.options == {"structured_model": SummarySchema}
    summary = prompt.texts[1]
    assert all(text in summary for text in FIELDS.values())
    assert prompt.texts[2:] == [words(text).get_text_content() for text in ("three", "four")] + ["Hello"]
    assert [msg.role for msg in await not_compressed(agent)] == ["user", "user", "user", "assistant"]
    assert len(await remembered(agent)) == 6, "all of it can still be read"
    state = json.loads(json.dumps(agent.state_dict()))
    assert state["memory"]["_compressed_summary"] == summary
    assert answer.get_text_content() == "Yes."


@pytest.mark.parametrize(
    ("n_words", "enabled", "is_compressed"), [(147, True, False), (148, True, True), (148, False, False)]
)
async def test_compression_begins_above_the_threshold(n_words: int, enabled: bool, is_compressed: bool) -> None:
    """REA-13: two words of the system prompt, one of the question. It can be turned off."""
    answers: list[Answer] = [SUMMARY, say("Yes.")] if is_compressed else [say("Yes.")]
    one = config(keep_recent=1)
    one.enable = enabled
    agent = react(*answers, compression_config=one)
    await agent.observe(words("word", n_words))
    await agent(HELLO)
    assert len(requests_of(agent)) == 1 + is_compressed
    assert is_compressed or len(requests_of(agent)[0].messages) == 3


async def test_the_next_summary_builds_on_the_one_before() -> None:
    agent = await filled(react(SUMMARY, say("Yes."), compression_config=config()))
    await agent(HELLO)
    assert isinstance(agent.model, ScriptedChat)
    agent.model.answers += [SUMMARY, say("Again.")]
    await filled(agent, "five", "six")
    await agent(HELLO.copy())
    second = requests_of(agent)[2]
    assert FIELDS["task_overview"] in second.texts[1]
    assert second.texts[-1] == COMPRESSION_PROMPT
    assert not any("one one" in text for text in second.texts)


def test_the_default_summary_has_five_fields() -> None:
    """REA-16, REA-17, REA-18, REA-19, REA-20"""
    schema = SummarySchema.model_json_schema()
    assert [*schema["properties"]] == schema["required"] == [*FIELDS]
    described = {name: one["description"] for name, one in schema["properties"].items()}
    for name, said in {
        "task_overview": ("asked for", "success"),
        "current_state": ("done", "files", "results"),
        "important_discoveries": ("Constraints", "decisions", "errors", "did not work"),
        "next_steps": ("next",),
        "context_to_preserve": ("prefers", "details", "promises"),
    }.items():
        assert all(word in described[name] for word in said), name


class CustomSummary(BaseModel):
    """The printed class."""

    main_topic: str = Field(max_length=200, description="The main topic of the conversation")
    key_points: str = Field(max_length=400, description="Important points discussed")
    pending_tasks: str = Field(max_length=200, description="Tasks that remain to be done")


async def test_fields_template_and_prompt_can_be_ones_own() -> None:
    """REA-24, REA-25, REA-26"""
    written = ChatResponse(say("-"), metadata={"main_topic": "Trips", "key_points": "Oslo", "pending_tasks": "Hotel"})
    prompt = "<system-hint>Summarize the conversation.</system-hint>"
    template = (
        "<system-info>Summary:\nMain Topic: {main_topic}\nKey Points: {key_points}\n{pending_tasks}</system-info>"
    )
    options = {"summary_schema": CustomSummary, "compression_prompt": prompt, "summary_template": template}
    agent = await filled(react(written, say("Yes."), compression_config=config(**options)), "one", "two", "three")
    await agent(HELLO)
    asked, answered = requests_of(agent)
    assert asked.texts[-1] == prompt
    assert asked.options == {"structured_model": CustomSummary}
    assert answered.texts[1] == "<system-info>Summary:\nMain Topic: Trips\nKey Points: Oslo\nHotel</system-info>"


class Marked(PlainFormatter):
    """A formatter that can be told from the agent's."""

    async def format(self, msgs: Any, **kwargs: Any) -> list[dict[str, Any]]:
        return [{**message, "by": "compression"} for message in await super().format(msgs, **kwargs)]


async def test_a_smaller_model_may_write_the_summary() -> None:
    """REA-27, FMT-16: it and its formatter are used for that alone."""
    small = ScriptedChat(SUMMARY)
    options = {"compression_model": small, "compression_formatter": Marked()}
    agent = await filled(react(say("Yes."), compression_config=config(**options)), "one", "two", "three")
    await agent(HELLO)
    assert [len(requests_of(agent)), len(small.requests)] == [1, 1]
    assert {message.get("by") for message in small.requests[0].messages} == {"compression"}
    assert {message.get("by") for message in requests_of(agent)[0].messages} == {None}


def test_a_config_that_cannot_work_is_refused() -> None:
    for options, complaint in (
        ({"keep_recent": 0}, "keep_recent is at least 1"),
        ({"threshold": 0}, "trigger_threshold is at least 1"),
        ({"trim_threshold": 0}, "trim_threshold is at least 1"),
        ({"summary_schema": CustomSummary}, "fields that CustomSummary lacks: .*current_state"),
        ({"summary_template": "{mood}"}, "fields that SummarySchema lacks: mood"),
    ):
        with pytest.raises(UsageError, match=complaint):
            config(**options)
    assert config().keep_recent == 3


def result(call_id: str) -> ToolResultBlock:
    return ToolResultBlock(id=call_id, name="get_weather", output="rain")


async def test_a_kept_result_keeps_its_call() -> None:
    """REA-15: a history from elsewhere may have them in two messages."""
    agent = react(SUMMARY, say("Yes."), compression_config=config(threshold=60, keep_recent=2))
    await agent.observe(words("one"))
    await agent.observe(AssistantMsg("Friday", [call("get_weather", city="Oslo")]))
    await agent.observe(AssistantMsg("Friday", [result("call_1")]))
    await agent(HELLO)
    kept = (await not_compressed(agent))[:3]
    assert [[block.type for block in msg.content] for msg in kept] == [["tool_call"], ["tool_result"], ["text"]]


@given(st.lists(st.tuples(st.sampled_from(["text", "call", "result"]), st.sampled_from("abc"))), st.integers(1, 5))
def test_no_cut_parts_a_pair(parts: list[tuple[str, str]], keep_recent: int) -> None:
    """REA-15: for every history and number; results whose call is nowhere cannot be kept together."""
    made = {"text": lambda _: [], "call": lambda name: [call("x", name)], "result": lambda name: [result(name)]}
    history = [AssistantMsg("Friday", made[kind](name)) for kind, name in parts]
    place = first_kept(history, keep_recent)
    assert 0 <= place <= max(0, len(history) - keep_recent)
    last_calls = {name: at for at, (kind, name) in enumerate(parts) if kind == "call"}
    for kind, name in parts[place:]:
        assert kind != "result" or last_calls.get(name, place) >= place
    assert with_pairs(history, 0) == 0


async def test_a_long_reply_is_compressed_between_its_rounds() -> None:
    """The rounds in the summary leave the prompt; the answer has them all, and the memory too."""
    rounds = [[*say("look " * 60), call("get_weather", f"c{n}", city="Oslo")] for n in range(3)]
    model = ScriptedChat(rounds[0], rounds[1], SUMMARY, rounds[2], SUMMARY, say("Rain."))
    agent = react(model=model, toolkit=weather(), compression_config=config(threshold=110, keep_recent=1))
    answer = await agent(HELLO)
    for prompt in (model.requests[3], model.requests[5]):
        assert FIELDS["next_steps"] in prompt.texts[1]
        assert len(prompt.messages) == 3
        assert [block.type for block in prompt.messages[2]["content"]] == ["text", "tool_call", "tool_result"]
    assert [block.id for block in answer.get_content_blocks("tool_result")] == ["c0", "c1", "c2"]
    hello, *parts = await remembered(agent)
    assert [block.id for msg in parts for block in msg.get_content_blocks("tool_call")] == ["c0", "c1", "c2"]
    assert (hello, len(parts), parts[-1].id) == (HELLO, 3, answer.id)
    assert [msg.id for msg in await not_compressed(agent)] == [answer.id]


INVALID = ChatResponse(say("-"), metadata={"task_overview": "x"})
LONG = ChatResponse(say("-"), metadata=dict.fromkeys(FIELDS, "go " * 60))


@pytest.mark.parametrize(
    ("bad", "why", "n_requests"),
    [
        ([ProviderError("down", code="down")], "ProviderError", 1),
        ([INVALID, INVALID], "2 summaries in a row were invalid", 2),
        ([ChatResponse(say("no object"))] * 2, "2 summaries in a row were invalid", 2),
        ([LONG], "no shorter", 1),
        ([INVALID, SUMMARY], "", 2),
    ],
)
async def test_without_a_summary_the_conversation_goes_on(
    bad: list[Answer], why: str, n_requests: int, caplog: pytest.LogCaptureFixture
) -> None:
    """An invalid one is asked for again."""
    agent = await filled(react(*bad, say("Yes."), compression_config=config()))
    answer = await agent(HELLO)
    assert answer.get_text_content() == "Yes."
    *asked, last = requests_of(agent)
    assert len(asked) == n_requests
    if n_requests == 2:
        assert ("Field required" in asked[1].texts[-1]) or bad[0] is not INVALID
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    if why:
        assert len(last.messages) == 6
        assert [why in warning for warning in warnings] == [True]
    else:
        assert FIELDS["next_steps"] in last.texts[1]
    assert "Hello" not in caplog.text


@pytest.mark.parametrize(
    ("model", "within_s"),
    [(ScriptedChat(ProviderError("down", code="down")), 0.1), (ScriptedChat(SUMMARY, piece_s=3600), 5.1)],
    ids=["down", "hangs"],
)
async def test_the_oldest_messages_are_left_out_where_nothing_else_helps(model: ScriptedChat, within_s: float) -> None:
    """They stay in the memory. A model that hangs is given up."""
    options = {"compression_model": model, "trim_threshold": 190, "timeout_s": 5}
    agent = await filled(react(say("Yes."), compression_config=config(**options)), *FOUR, "five")
    await ends_in(within_s, agent(HELLO))
    texts = requests_of(agent)[0].texts
    assert sum(len(text.split()) for text in texts) <= 190
    assert texts[1:] == [words(text).get_text_content() for text in ("three", "four", "five")] + ["Hello"]
    assert len(await remembered(agent)) == 7


async def test_after_a_failure_the_next_attempt_waits_for_a_longer_history(caplog: pytest.LogCaptureFixture) -> None:
    """A model that is down for an hour is not asked at each turn, and the log says so once."""
    down = ScriptedChat(ProviderError("down", code="down"))
    agent = react(say("Yes."), compression_config=config(compression_model=down))
    await filled(agent, *(f"{n}" for n in range(10)))
    attempts = []
    for _ in range(10):
        await agent(UserMsg("user", "Hello"))
        attempts.append(len(down.requests))
    assert attempts == [1, 1, 2, 2, 3, 3, 3, 4, 4, 4], "after 3 more messages of 11, then after 4, 5 and 6"
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "when its history has grown by 25 %: ProviderError" in warnings[0].getMessage()
    down.answers = [SUMMARY]
    await filled(agent, *(f"{n}" for n in range(10)))
    await agent(HELLO.copy())
    assert len(down.requests) == 5
    assert FIELDS["next_steps"] in requests_of(agent)[-1].texts[1]


async def test_a_failure_within_a_reply_is_not_repeated_at_each_of_its_rounds() -> None:
    down = ScriptedChat(ProviderError("down", code="down"))
    rounds: list[Answer] = [[call("get_weather", f"call_{n}", city="Oslo")] for n in range(4)]
    agent = react(*rounds, say("Rain."), compression_config=config(compression_model=down), toolkit=weather())
    await filled(agent, *(f"{n}" for n in range(20)))
    await agent(HELLO)
    assert len(down.requests) == 1


async def test_no_reply_waits_for_a_compression_in_the_background() -> None:
    """It begins after a reply; the next one takes what is there."""
    slow = ScriptedChat(SUMMARY, piece_s=10)
    agent = react(say("Yes."), compression_config=config(compression_model=slow, background=True))
    await filled(agent)
    loop = asyncio.get_running_loop()
    began = loop.time()
    for _ in range(3):
        await agent(HELLO.copy())
        await stream(agent, UserMsg("user", "More"))
    assert loop.time() == began
    assert all("one one" in request.texts[1] for request in requests_of(agent)), "no summary yet"
    assert len(slow.requests) == 1, "one compression at a time"
    await agent.finish_compression()
    assert loop.time() == began + 10
    await agent(UserMsg("user", "And now?"))
    assert FIELDS["next_steps"] in requests_of(agent)[-1].texts[1]
    await agent.aclose()


async def test_a_compression_in_the_background_belongs_to_the_agent() -> None:
    """Closing and loading a state end it; an interruption does not."""
    slow = ScriptedChat(SUMMARY, piece_s=10)
    agent = react(say("Yes."), compression_config=config(compression_model=slow, background=True))
    await agent.finish_compression()
    await agent.aclose()
    empty = agent.state_dict()
    await filled(agent)
    await agent(HELLO)
    await agent.interrupt()
    await asyncio.sleep(1)
    agent.load_state_dict(empty)
    await asyncio.sleep(20)
    assert await agent.memory.get_memory() == []
    await filled(agent)
    await agent(HELLO)
    await asyncio.sleep(1)
    await agent.aclose()
    await asyncio.sleep(20)
    assert len(await not_compressed(agent)) == 6


async def test_in_a_voice_call_no_turn_waits_for_a_summary_unless_it_shall() -> None:
    """By default; outside of calls an answer waits, as AgentScope documents it."""
    waits_s = {}
    for background in (None, False):
        slow = ScriptedChat(SUMMARY, piece_s=10)
        agent = react(say("Yes."), compression_config=config(compression_model=slow, background=background))
        await filled(agent)
        async with talk(agent) as one:
            began = asyncio.get_running_loop().time()
            await one.ask("Hello?")
            waits_s[background] = asyncio.get_running_loop().time() - began
    assert waits_s[None] < 1
    assert waits_s[False] >= 10


async def test_a_delegate_does_not_wait_for_a_summary_either() -> None:
    slow = ScriptedChat(SUMMARY, piece_s=20)
    agent = react(say("Yes."), compression_config=config(compression_model=slow))
    await filled(agent)
    async with voice_call(toolkit=desk(agent, background=False)) as made:
        ask_tools(made, ASK)
        await asyncio.sleep(1)
        assert results(made) == [("call_1", "success", "Yes.")]
        await agent.finish_compression()
    assert await agent.memory.get_memory(mark=COMPRESSED)

"""Upstream's tests through the import shim: shapes are adapted, outcomes are told as they are."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

FILE = '''
"""Tests in upstream's shapes."""
from unittest import IsolatedAsyncioTestCase
from unittest.mock import patch

import shortuuid
from agentscope.agent import AgentBase
from agentscope.formatter import OpenAIMultiAgentFormatter
from agentscope.formatter._openai_formatter import OpenAIChatFormatter
from agentscope.memory import RedisMemory
from agentscope.message import Base64Source, ImageBlock, Msg, TextBlock, ToolResultBlock, ToolUseBlock, URLSource
from agentscope.tool import ToolResponse, Toolkit


def shout(word: str) -> ToolResponse:
    """Say it loud."""
    return ToolResponse(content=[TextBlock(type="text", text=word.upper())])


async def longer(kwargs, next_handler):
    kwargs["tool_call"]["input"]["word"] += "!"
    async for chunk in await next_handler(**kwargs):
        chunk.content[0]["text"] += "?"
        yield chunk


class Echo(AgentBase):
    async def reply(self, msg):
        return msg


class Passing(IsolatedAsyncioTestCase):
    async def test_blocks_are_dicts(self) -> None:
        call = ToolUseBlock(type="tool_use", id="1", name="shout", input={"word": "hey"})
        self.assertEqual(call, {"type": "tool_use", "id": "1", "name": "shout", "input": {"word": "hey"}})
        self.assertEqual(call.get("state"), None)
        self.assertEqual(TextBlock(type="text", text="a"), TextBlock(type="text", text="a"))
        self.assertNotEqual(TextBlock(type="text", text="a"), TextBlock(type="text", text="b"))
        picture = ImageBlock(type="image", source=URLSource(type="url", url="/a.png"))
        self.assertEqual(picture["source"], {"type": "url", "url": "/a.png"})
        self.assertEqual(Base64Source(type="base64", media_type="image/png", data="AAAA")["data"], "AAAA")

    async def test_a_middleware_changes_a_call_and_its_result(self) -> None:
        toolkit = Toolkit()
        toolkit.register_tool_function(shout)
        toolkit.register_middleware(longer)
        call = ToolUseBlock(type="tool_use", id="1", name="shout", input={"word": "hey"})
        async for chunk in await toolkit.call_tool_function(call):
            self.assertListEqual(chunk.content, [TextBlock(type="text", text="HEY!?")])

    async def test_an_agent_answers(self) -> None:
        answer = await Echo()(Msg("Ann", "hello", "user"))
        self.assertIsInstance(answer, Msg)
        self.assertEqual(answer.content, "hello")

    async def test_formatters_have_upstreams_defaults(self) -> None:
        msgs = [
            Msg("Ann", "Well?", "user"),
            Msg("Bob", [ToolUseBlock(type="tool_use", id="1", name="shout", input={})], "assistant"),
            Msg("system", [ToolResultBlock(type="tool_result", id="1", name="shout", output="HEY")], "system"),
        ]
        said = await OpenAIMultiAgentFormatter().format(msgs)
        self.assertIn("<history>", said[0]["content"])
        self.assertEqual([message["role"] for message in said], ["user", "assistant", "tool"])
        self.assertEqual((await OpenAIChatFormatter().format(msgs))[-1]["content"], "HEY")

    @patch("agentscope.formatter._formatter_base._save_base64_data")
    async def test_a_private_function_is_replaced(self, saved) -> None:
        saved.assert_not_called()


class Failing(IsolatedAsyncioTestCase):
    async def test_what_is_not_built_fails(self) -> None:
        RedisMemory()

    async def test_a_failure_is_told(self) -> None:
        self.assertEqual(1, 2)

    async def test_a_skipped_test_has_not_passed(self) -> None:
        self.skipTest("no redis")
'''
REASONS = {"Failing.*": "on purpose"}


@pytest.fixture
def tool(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("judge_upstream")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with one test file."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "shapes_test.py").write_text(FILE, "utf-8")
    return tmp_path


def test_tests_in_upstreams_shapes_run_against_this_project(tool: ModuleType, clone: Path) -> None:
    verdict = tool.judge(clone / "tests" / "shapes_test.py", REASONS)
    assert verdict.title == "shapes_test: 5 of 8"
    assert {test: wrong for test, wrong in verdict.outcomes.items() if wrong} == {
        "Failing.test_what_is_not_built_fails": "NotImplementedError: realtime has no RedisMemory",
        "Failing.test_a_failure_is_told": "AssertionError: 1 != 2",
        "Failing.test_a_skipped_test_has_not_passed": "skipped: no redis",
    }
    assert verdict.is_as_expected


def test_an_outcome_that_is_not_expected_fails_the_run(
    tool: ModuleType, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(str(clone), ["shapes_test"]) == 1
    assert "Failing.test_a_failure_is_told: UNEXPECTED: AssertionError: 1 != 2" in capsys.readouterr().out


def test_a_reason_that_no_longer_holds_fails_the_run(tool: ModuleType) -> None:
    verdict = tool.Verdict("a_test", {"A.test_one": "", "A.test_two": ""}, {"A.test_one": "not built"})
    assert not verdict.is_as_expected
    assert verdict.lines() == ["a_test: 2 of 2", "  A.test_one: PASSES in spite of: not built"]


def test_a_file_that_does_not_run_is_not_as_expected(
    tool: ModuleType, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "tests" / "broken_test.py").write_text("import nothing_of_this_name\n", "utf-8")
    assert tool.main(str(clone), ["broken_test"]) == 1
    told = capsys.readouterr()
    assert told.out == "broken_test: 0 of 0\n"
    assert "No module named 'nothing_of_this_name'" in told.err

"""What a tool learns of its call beside its arguments, and what it does when the call is over."""

import asyncio
from typing import Any

import pytest

from realtime.agent.speakers import messages_of
from realtime.event import client as c
from realtime.event.base import ContentPart, Item
from realtime.event.config import SessionConfig
from realtime.message import ToolCallBlock
from realtime.tool import ToolContext, Toolkit
from tests.agent.fakes import WORDS, call
from tests.agent.test_tools import ask_tools, results

pytestmark = pytest.mark.virtual_time


async def recall(context: ToolContext[Any]) -> str:
    """Tell what was said."""
    return " | ".join(f"{msg.name} ({msg.role}): {msg.get_text_content()}" for msg in context.heard())


async def test_a_tool_hears_what_was_played_by_the_names_of_the_speakers() -> None:
    async with call(toolkit=Toolkit([recall]), config=SessionConfig(user_name="Kay")) as made:
        made.receive(c.ClientTextAppendEvent(text="Count."))
        made.link.reply(10_000, WORDS)
        await asyncio.sleep(3)
        ask_tools(made, ("call_1", "recall", "{}"))
        await asyncio.sleep(0.5)
        assert results(made) == [("call_1", "success", "Kay (user): Count.")], "the answer is still being played"
        made.receive(c.ClientTextAppendEvent(text="Stop."))
        made.link.reply(500, "Never heard.")  # what was to follow the result
        ask_tools(made, ("call_2", "recall", "{}"))
        await asyncio.sleep(0.5)
        heard = results(made)[1][2].split(" | ")
        assert [heard[0], heard[2]] == ["Kay (user): Count.", "Kay (user): Stop."]
        assert heard[1].startswith("Friday (assistant): one two three")
        assert "nine" not in heard[1]
    outside = await Toolkit([recall]).run(ToolCallBlock(id="call_1", name="recall", input="{}"))
    assert outside.output_text() == ""


def test_in_a_room_the_speakers_are_those_of_the_words() -> None:
    def item(number: int, role: Any, text: str, **fields: Any) -> Item:
        words = () if not text else (ContentPart(type="text", text=text),)
        return Item(id=f"item_{number}", role=role, content=words, **fields)

    items = [
        item(1, "system", "<system-reminder>\nHush.\n</system-reminder>"),
        item(2, "user", "[Tom]: Good morning."),
        item(3, "assistant", "[Tom]: is how Tom begins."),
        item(4, "user", "Hello.", name="Ann"),
        item(5, "user", "Hello?"),
        item(6, "user", ""),
        item(7, "assistant", "I am", status="in_progress"),
        item(8, "assistant", "Not played."),
    ]
    messages = messages_of(items, lambda item_id: item_id != "item_8", "Emma")
    assert [(msg.id, msg.name, msg.get_text_content()) for msg in messages] == [
        ("item_2", "Tom", "Good morning."),
        ("item_3", "Emma", "[Tom]: is how Tom begins."),
        ("item_4", "Ann", "Hello."),
        ("item_5", "user", "Hello?"),
    ]


async def test_what_a_tool_leaves_for_the_end_is_done_when_the_call_is_over() -> None:
    done: list[str] = []

    async def open_door(name: str, context: ToolContext[Any]) -> None:
        """Open a door."""

        async def close() -> None:
            await asyncio.sleep(3_600 if name == "stuck" else 0.1)
            done.append(name)

        context.at_end(close)

    async with call(toolkit=Toolkit([open_door])) as made:
        for number, name in enumerate(["first", "stuck", "last"]):
            ask_tools(made, (f"call_{number}", "open_door", f'{{"name": "{name}"}}'))
        await asyncio.sleep(1)
        assert done == []
        began = asyncio.get_running_loop().time()
        await made.session.end("test_over")
        assert done == ["last", "first"], "in reverse order; the stuck one is given up"
        assert asyncio.get_running_loop().time() - began < 2

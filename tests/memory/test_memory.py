"""`InMemoryMemory`: what an agent remembers, by marks, with a summary, and saved as JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.memory import InMemoryMemory, MemoryBase
from realtime.message import (
    AssistantMsg,
    Base64Source,
    DataBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserMsg,
)
from realtime.module import StateModule


def messages(*ids: str) -> list[Msg]:
    return [UserMsg("Ada", f"words of {one}", id=one) for one in ids]


async def remembered(memory: MemoryBase, **how: Any) -> list[str]:
    return [message.id for message in await memory.get_memory(**how)]


async def filled(*ids: str, marks: str | list[str] | None = None) -> InMemoryMemory:
    memory = InMemoryMemory()
    await memory.add(messages(*ids), marks)
    return memory


async def test_messages_are_kept_in_their_order_and_removed_by_id() -> None:
    memory = await filled("0", "1", "2", "3", "4")
    await memory.add(None)
    assert await memory.delete(["2", "4", "strange"]) == 2
    assert await memory.size() == 3
    await memory.add(messages("5")[0])
    assert await remembered(memory) == ["0", "1", "3", "5"]
    await memory.clear()
    assert (await memory.size(), await remembered(memory)) == (0, [])


async def test_a_message_is_kept_once_unless_duplicates_are_wanted() -> None:
    memory = await filled("0", "1")
    await memory.add([*messages("1", "2"), *messages("2")])
    assert await remembered(memory) == ["0", "1", "2"]
    await memory.add(messages("1"), allow_duplicates=True)
    assert await remembered(memory) == ["0", "1", "2", "1"]
    assert await memory.delete(["1"]) == 2


async def test_what_its_owner_changes_later_stays_as_it_was() -> None:
    (message,) = messages("0")
    marks = ["todo"]
    memory = InMemoryMemory()
    await memory.add(message, marks)
    message.content = "other words"
    message.metadata["seen"] = True
    marks.append("done")
    (kept,) = await memory.get_memory()
    assert (kept.content, kept.metadata) == ("words of 0", {})
    assert await remembered(memory, mark="done") == []


async def test_messages_are_found_and_removed_by_their_marks() -> None:
    memory = await filled("0")
    await memory.add(messages("1", "2"), ["important", "todo"])
    await memory.add(messages("3"), "important")
    assert await remembered(memory, mark="important") == ["1", "2", "3"]
    assert await remembered(memory, exclude_mark="todo") == ["0", "3"]
    assert await remembered(memory, mark="important", exclude_mark="todo") == ["3"]
    assert await remembered(memory, mark="strange") == []
    assert await memory.delete_by_mark("strange") == 0
    assert await memory.delete_by_mark(["todo", "strange"]) == 2
    assert await memory.delete_by_mark("important") == 1
    assert await remembered(memory) == ["0"]


async def test_marks_are_added_replaced_and_removed() -> None:
    """And the number of messages that changed is returned."""
    memory = await filled("0", "1", "2", marks="old")
    assert await memory.update_messages_mark("new", msg_ids=["0", "1"]) == 2
    assert await memory.update_messages_mark("new", msg_ids=["0"]) == 0
    assert await memory.update_messages_mark("new", old_mark="old", msg_ids=["1", "2"]) == 2
    assert await remembered(memory, mark="old") == ["0"]
    assert await remembered(memory, mark="new") == ["0", "1", "2"]
    assert await memory.update_messages_mark(None, old_mark="old") == 1
    assert await remembered(memory, mark="old") == []
    assert await memory.update_messages_mark(None) == 0
    assert await memory.update_messages_mark("all") == 3


async def test_compressed_messages_are_left_out_and_their_summary_comes_first() -> None:
    """REA-21, REA-22, REA-23: marked messages are excluded, the summary is apart, the originals stay readable."""
    memory = await filled("0", "1", "2")
    await memory.update_messages_mark("compressed", msg_ids=["0", "1"])
    await memory.update_compressed_summary("Ada greeted twice.")
    prompt = await memory.get_memory(exclude_mark="compressed")
    assert [(message.role, message.content) for message in prompt] == [
        ("user", "Ada greeted twice."),
        ("user", "words of 2"),
    ]
    assert await remembered(memory, exclude_mark="compressed", prepend_summary=False) == ["2"]
    assert await remembered(memory, prepend_summary=False) == ["0", "1", "2"]
    assert memory.state_dict()["_compressed_summary"] == "Ada greeted twice."
    assert await memory.size() == 3
    await memory.clear()
    assert len(await memory.get_memory()) == 1
    await memory.update_compressed_summary("")
    assert await memory.get_memory() == []


async def test_the_state_is_json_and_restores_the_memory() -> None:
    """SES-02: as every memory has. FMT-11: thoughts too are kept, for debugging; and bytes, calls and results."""
    blocks = [
        ThinkingBlock(thinking="Hm.", signature="sig"),
        ToolCallBlock(id="c1", name="clock"),
        ToolResultBlock(id="c1", name="clock", output=[DataBlock(source=Base64Source(data=b"1", media_type="x/y"))]),
        TextBlock(text="Noon."),
    ]
    memory = await filled("0", marks=["a", "b"])
    await memory.add(AssistantMsg("Friday", blocks))
    await memory.update_compressed_summary("Before.")
    state = json.loads(json.dumps(memory.state_dict()))
    assert isinstance(memory, MemoryBase)
    assert issubclass(MemoryBase, StateModule)
    restored = InMemoryMemory()
    restored.load_state_dict(state)
    assert restored.content == memory.content
    assert restored.state_dict() == state
    before = await memory.get_memory(prepend_summary=False)
    await restored.add(messages("9"))
    await restored.update_messages_mark("c")
    assert (memory.state_dict(), await memory.get_memory(prepend_summary=False)) == (state, before)


def test_a_state_without_messages_is_refused_unless_it_may_lack_them() -> None:
    memory = InMemoryMemory()
    with pytest.raises(KeyError, match="content"):
        memory.load_state_dict({"_compressed_summary": ""})
    memory.load_state_dict({"_compressed_summary": "Before."}, strict=False)
    assert memory.state_dict() == {"_compressed_summary": "Before.", "content": []}
    with pytest.raises(ValueError, match="a message needs `name`"):
        memory.load_state_dict({"_compressed_summary": "", "content": [[{}, []]]})


async def test_what_is_no_message_and_no_mark_is_refused() -> None:
    """And nothing is kept of it."""
    memory: Any = InMemoryMemory()
    for wrong in (
        *(memory.add("words"), memory.add([*messages("1"), {"name": "Ada"}]), memory.add(messages("1"), [5])),
        *(memory.delete_by_mark(["a", 5]), memory.get_memory(mark=["a"]), memory.get_memory(exclude_mark=5)),
        *(memory.update_messages_mark(5), memory.update_messages_mark("a", old_mark=5)),
    ):
        with pytest.raises(TypeError):
            await wrong
    assert await memory.size() == 0


MARKS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)


@given(st.lists(st.tuples(st.sampled_from("0123"), MARKS)), st.sampled_from("abc"), st.sampled_from("abc"))
async def test_a_mark_divides_the_memory(added: list[tuple[str, list[str]]], mark: str, new: str) -> None:
    """Each message has the mark or has it not; what is deleted by a mark is what was found by it."""
    memory = InMemoryMemory()
    for one, marks in added:
        await memory.add(messages(one), marks, allow_duplicates=True)
    marked = await remembered(memory, mark=mark)
    others = await remembered(memory, exclude_mark=mark)
    assert sorted(marked + others) == sorted(one for one, _ in added)
    restored = InMemoryMemory()
    restored.load_state_dict(memory.state_dict())
    assert await restored.delete_by_mark(mark) == len(marked)
    assert await remembered(restored) == others
    await memory.update_messages_mark(new, old_mark=mark)
    assert await remembered(memory, mark=mark) == (marked if new == mark else [])

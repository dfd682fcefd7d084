"""Cutting a reply to the words that were heard, in a message and in the memory."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.agent.played import cut_to_played
from realtime.errors import UsageError
from realtime.message import AssistantMsg, TextBlock, UserMsg
from realtime.model.chat.compression import COMPRESSED
from tests.agent.thinking import HELLO, ScriptedChat, call, react, remembered, requests_of, say, shape, weather

pytestmark = pytest.mark.virtual_time


def reply(*texts: str) -> AssistantMsg:  # type: ignore[valid-type]
    return AssistantMsg("Friday", [TextBlock(text=text) for text in texts], finished_reason="completed")


CUTS = [
    (["One two three."], "One two three.", ["One two three."], "completed"),
    (["One two three."], "One two", ["One two"], "interrupted"),
    (["One two three."], "", [], "interrupted"),
    (["One two.", "Three four."], "One two. Three", ["One two.", "Three"], "interrupted"),
    (["One two.", "Three four."], "One two.", ["One two."], "interrupted"),
    (["One\n two."], "One   two.", ["One\n two."], "completed"),
    (["One two."], "Ein zwei", ["Ein zwei"], "interrupted"),
    (["One two."], "One two. And more", ["One two. And more"], "interrupted"),
    (["One", "two"], "Ein", ["Ein"], "interrupted"),
    ([], "", [], "completed"),
    ([], "One", ["One"], "interrupted"),
]


def test_a_message_keeps_the_words_that_were_played() -> None:
    for texts, played, left, reason in CUTS:
        whole = reply(*texts)
        cut = cut_to_played(whole, played)
        assert ([block.text for block in cut.get_content_blocks("text")], cut.finished_reason) == (left, reason)
        assert [block.text for block in whole.get_content_blocks("text")] == texts, "the message itself stays"


@given(st.lists(st.text("ab \n", max_size=8), max_size=4), st.integers(0, 30))
def test_every_beginning_can_be_cut_to(texts: list[str], place: int) -> None:
    played = " ".join(texts)[:place]
    cut = cut_to_played(reply(*texts), played)
    assert (cut.get_text_content(" ") or "").split() == played.split() or played.split()[-1:] != [""]
    assert "".join((cut.get_text_content("") or "").split()) == "".join(played.split())


async def test_the_memory_keeps_what_was_heard_of_an_interrupted_reply() -> None:
    agent = react(model=ScriptedChat(say("One two three four."), say("Yes."), piece_s=1.0))

    async def read() -> None:
        async for _ in agent.reply_stream(HELLO):
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(3.5)
    with pytest.raises(UsageError, match="truncate it after its end"):
        await agent.truncate_last_reply("One")
    await agent.interrupt()
    await task
    cut = await agent.truncate_last_reply("One two")
    assert cut is not None
    assert [msg.get_text_content() for msg in await remembered(agent)] == ["Hello", "One two"]
    await agent(UserMsg("user", "And then?"))
    assert requests_of(agent)[1].texts == ["Be brief.", "Hello", "One two", "And then?"]


async def test_what_tools_did_stays_and_what_was_not_heard_at_all_goes() -> None:
    agent = react([*say("Let me see."), call("get_weather", city="Oslo")], say("Rain."), say("Hm."), toolkit=weather())
    await agent(HELLO)
    await agent.truncate_last_reply("Let me")
    assert shape((await remembered(agent))[1].content) == [
        "text: Let me",
        'tool_call: get_weather({"city": "Oslo"})',
        "tool_result: success Oslo: rain",
    ]
    await agent(UserMsg("user", "What?"))
    assert await agent.truncate_last_reply("") is None
    assert [msg.get_text_content() for msg in await remembered(agent)] == ["Hello", "Let me", "What?"]
    assert await agent.truncate_last_reply("") is None


async def test_the_reply_keeps_its_place_and_its_marks() -> None:
    agent = react(say("One two three."))
    assert await agent.truncate_last_reply("x") is None
    answer = await agent(HELLO)
    await agent.observe([UserMsg("user", "later"), UserMsg("user", "still later")])
    await agent.memory.update_messages_mark(COMPRESSED, msg_ids=[answer.id])
    unchanged = await agent.truncate_last_reply("One two three.")
    assert unchanged is not None
    assert unchanged.to_json() == answer.to_json()
    await agent.truncate_last_reply("One")
    assert [msg.get_text_content() for msg in await remembered(agent)] == ["Hello", "One", "later", "still later"]
    marked = await agent.memory.get_memory(mark=COMPRESSED, prepend_summary=False)
    assert [msg.get_text_content() for msg in marked] == ["One"]


async def test_the_last_reply_is_known_after_a_restart() -> None:
    agent, again = react(say("One two three.")), react(say("-"))
    await agent(HELLO)
    again.load_state_dict(agent.state_dict())
    await again.truncate_last_reply("One")
    assert [msg.get_text_content() for msg in await remembered(again)] == ["Hello", "One"]

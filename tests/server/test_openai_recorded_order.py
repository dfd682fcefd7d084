"""A recorded session of the service behind, our endpoint before it: the client gets the recorded order."""

import asyncio
import json
from collections import Counter
from itertools import combinations

import pytest

from realtime.agent import RealtimeAgent
from realtime.model.openai_family.openai import OpenAIRealtimeModel
from tests.model.emulator import Emulator, Session
from tests.server.cases import lines_of, recorded
from tests.server.harness import Json, serving
from tests.server.openai_sdk import Ear, sdk

SETTINGS = ("session.update", "session.created", "session.updated")
FREE = {"response.output_audio.delta", "response.output_audio_transcript.delta"}
"""Words and sound of a part come in any order."""
WAITED_FOR = ("response.done", "response.function_call_arguments.done")


RECORDED = ["text_in_audio_out_turn", "tool_call_round", "message_history_seeding"]
OUR_OWN = ["text_turn", "tool_calls", "spoken_turn"]


@pytest.mark.parametrize("name", [*RECORDED, *OUR_OWN])
async def test_a_recorded_session_comes_through_in_its_order(request: pytest.FixtureRequest, name: str) -> None:
    """Replay what the service sent, send what its client sent, and compare."""
    if name in RECORDED:
        frames = recorded(request.getfixturevalue("recordings_dir"), f"openai-{name}")
    else:
        frames = lines_of(request.getfixturevalue("fixtures_dir") / "models" / "openai" / f"{name}.jsonl")
    steps = [step for step in frames if step["data"]["type"] not in SETTINGS]
    said = [step["data"] for step in steps if step["direction"] == "received"]
    ready = asyncio.Event()
    async with Emulator() as provider, asyncio.TaskGroup() as tasks:
        model = OpenAIRealtimeModel("gpt-realtime-2.1", api_key="sk-replay", base_url=provider.base_url)
        async with serving(lambda: RealtimeAgent("F", "F", model)) as place, sdk(place) as ear:
            await ear.until("session.created")
            tasks.create_task(_service(await provider.session(), steps, ready))
            await _client(ear, steps, _tools(said), ready)
            last = [frame["type"] for frame in said if frame["type"] in WAITED_FOR]
            while [kind for kind in ear.types if kind in WAITED_FOR] != last:
                await ear.next()
            while len([kind for kind in ear.types if kind == "conversation.item.done"]) < _n_items(said):
                await ear.next()
    expected, told = _lines(said), _lines(ear.frames)
    assert len(told) >= len(expected)
    for key, order in expected.items():
        assert {*order} <= {*told[key]}, key
        for before, after in combinations(order, 2):
            if not {before, after} <= FREE:
                assert told[key].index(before) < told[key].index(after), f"{key}: {before} comes before {after}"


def _n_items(said: list[Json]) -> int:
    return len([frame for frame in said if frame["type"] == "conversation.item.done"])


def _tools(said: list[Json]) -> list[Json]:
    """The functions that are called, so that they are the client's."""
    names = {frame["item"]["name"] for frame in said if frame.get("item", {}).get("type") == "function_call"}
    return [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in sorted(names)]


async def _service(session: Session, steps: list[Json], ready: asyncio.Event) -> None:
    """It answers to items and requests; a running response goes on whatever its client does."""
    await ready.wait()
    heard: Counter[str] = Counter()
    running = False
    for step in steps:
        kind = step["data"]["type"]
        if step["direction"] == "sent":
            heard[kind] += 1
            continue
        if not running:
            for sent, count in heard.items():
                await session.until(sent, count)
        running = (running or kind == "response.created") and kind != "response.done"
        await session.socket.send(json.dumps(step["data"]))


async def _client(ear: Ear, steps: list[Json], tools: list[Json], ready: asyncio.Event) -> None:
    audio = {"input": {"transcription": {"model": "gpt-realtime-whisper"}}}
    session = {"type": "realtime", "tools": tools, "audio": audio}
    await ear.sdk.send_raw(json.dumps({"type": "session.update", "session": session}))
    await ear.until("session.updated")
    ready.set()
    before: list[str] = []
    for step in steps:
        kind = step["data"]["type"]
        if step["direction"] == "received":
            before += [kind] if kind in WAITED_FOR else []
            continue
        while len([one for one in ear.types if one in WAITED_FOR]) < len(before):
            await ear.next()
        await ear.sdk.send_raw(json.dumps(step["data"]))


def _lines(frames: list[Json]) -> dict[str, list[str]]:
    """The types of frames about each item, each once, and what frames each response. The client's own items, whose ids
    the recorded service made, are told by their place."""
    answers = {frame["item"]["id"] for frame in frames if frame["type"] == "response.output_item.added"}
    given: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    for frame in frames:
        item_id = frame.get("item_id") or frame.get("item", {}).get("id")
        response_id = frame.get("response", {}).get("id") or frame.get("response_id")
        if item_id is not None:
            key = item_id if item_id in answers else given.setdefault(item_id, f"item {len(given)} of the client")
            _note(lines.setdefault(key, []), frame["type"])
        if response_id is not None:
            _note(lines.setdefault(response_id, []), frame["type"] if "response" in frame else "an answer")
    return lines


def _note(line: list[str], kind: str) -> None:
    line += [kind] if kind not in line else []

"""A server that is killed in the middle of a call, and started again: real processes, real signals, a real file."""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from bench.process import free_port
from realtime.state.log import last_seq_of
from realtime.state.sqlite import SqliteStore
from tests.real_loop import settled
from tests.server.harness import NATIVE, Client, Json
from tests.server.survivor import PATIENCE_S, Survivor
from tests.volumes import SEED

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")

SENTENCE = "one two three four five six seven eight nine ten"
APP = f"""
from realtime import RealtimeAgent
from realtime.model.scripted import PROFILE, ScriptedModel, echo_bot

def make_agent():
    return RealtimeAgent("Friday", "", ScriptedModel(echo_bot({SENTENCE!r}, seconds=10, pace=2.0), profile=PROFILE))
"""
ROOT = Path(__file__).resolve().parents[2]
HEARING_APP = """
from realtime import RealtimeAgent
from tests.server.survivor import hearing_model

def make_agent():
    return RealtimeAgent("Friday", "", hearing_model())
"""
KILLS, CALLERS = 40, 25
TEXT = {"type": "client_text_append", "text": "Count, please."}


@asynccontextmanager
async def served(folder: Path, port: int, app: str = APP) -> AsyncIterator[tuple[subprocess.Popen[str], str]]:
    """`realtime serve` with its calls in a file of this folder: the process, and its address."""
    (folder / "app.py").write_text(app)
    command = [sys.executable, "-u", "-m", "realtime", "serve", "app.py:make_agent", "--port", str(port)]
    command += ["--store", f"sqlite:{folder / 'calls.sqlite'}", "--max-calls-per-address", str(2 * CALLERS)]
    process = await asyncio.to_thread(_start, command, folder)
    try:
        assert process.stdout is not None
        line = ""
        while not line.startswith("http://"):
            line = await asyncio.to_thread(process.stdout.readline)
            assert line, "the server ended"
        yield process, line.strip()
    finally:
        process.kill()
        process.communicate()


def _start(command: list[str], folder: Path) -> subprocess.Popen[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@asynccontextmanager
async def client_of(address: str) -> AsyncIterator[Client]:
    socket_address = address.replace("http", "ws", 1) + "/ws/user1/session1"
    async with connect(socket_address, subprotocols=[NATIVE], compression=None) as connection:  # type: ignore[list-item]
        yield Client(connection)


async def test_a_call_survives_the_kill_of_its_server(tmp_path: Path) -> None:
    """REC-02, REC-27: killed in mid-answer; the next process goes on with the answer behind what was heard."""
    store = SqliteStore(tmp_path / "calls.sqlite")
    async with served(tmp_path, 0) as (process, address):
        port = int(address.rpartition(":")[2])
        async with client_of(address) as client:
            created = await client.make_call()
            await client.send(TEXT)
            heard_bytes = 0
            while heard_bytes < 2 * 48_000:
                delta = await client.until("agent_response_audio_delta")
                heard_bytes += len(delta["delta"]) * 3 // 4
            item_id, last_seq = delta["item_id"], delta["seq"]
            await settled(lambda: any(last_seq_of(one) >= last_seq for one in store.read(created["call_id"])))
            process.send_signal(signal.SIGKILL)
            process.wait()
    async with served(tmp_path, port) as (_, address), client_of(address) as client:
        await client.send(
            {
                "type": "client_session_resume",
                "token": created["resume_token"],
                "last_seq": last_seq,
                "played_item_id": item_id,
                "played_ms": 2_000,
            }
        )
        resumed = await client.until("server_session_resumed")
        assert resumed["from_store"]
        truncated = await client.until("agent_item_truncated")
        heard = truncated["transcript"]
        assert truncated["item_id"] == item_id
        assert SENTENCE.startswith(heard)
        assert 0 < len(heard) < len(SENTENCE)
        done = await client.until("agent_response_done")
        assert (done["status"], done["status_details"]["reason"]) == ("cancelled", "call_interrupted")
        await client.until("agent_ready")
        rest = await client.until("agent_response_created")
        assert rest["metadata"] == {"resumes": item_id}
        assert (await client.until("agent_response_audio_delta"))["response_id"] == rest["response_id"]
        path = f"{address}/api/calls/{created['call_id']}/messages?user=user1"
        with await asyncio.to_thread(urllib.request.urlopen, path) as answer:
            told = json.load(answer)["messages"]
        assert [(one["role"], one["content"][0]["text"]) for one in told[:2]] == [
            ("user", "Count, please."),
            ("assistant", heard),
        ]
        assert told[1]["finished_reason"] == "interrupted"
        await client.send(TEXT | {"text": "Again."})
        await client.until("agent_response_created")
    store.close()


@pytest.mark.night
async def test_killing_the_server_again_and_again_loses_no_word(tmp_path: Path) -> None:
    """Killed at any moment, the server lets everybody back in at once, and has each sentence of theirs once.

    What is typed overtakes what is said again: the sentences are compared without their order.
    """
    chance = random.Random(SEED)
    callers = [Survivor(f"user{number}") for number in range(CALLERS)]
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    talks: list[asyncio.Task[None]] = []
    for kill in range(KILLS + 1):
        for caller in callers:
            caller.resumed.clear()
        async with served(tmp_path, port, HEARING_APP) as (process, _):
            talks = talks or [asyncio.create_task(caller.talk(address)) for caller in callers]
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*(caller.resumed.wait() for caller in callers))
            if kill < KILLS:
                told = n_told(callers) + chance.randrange(50 * CALLERS)
                await settled(lambda told=told: n_told(callers) >= told)  # type: ignore[misc]
                process.send_signal(signal.SIGKILL)
                process.wait()
                continue
            for caller in callers:
                caller.hang_up()
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*talks)
            for caller in callers:
                sentences, gaps = await asyncio.to_thread(said_by, caller, address)
                known, said = Counter(sentences), Counter(caller.said)
                assert (said - known, known - said, gaps) == (Counter(), Counter(), []), caller.name
    assert [caller.refusals for caller in callers] == [[] for _ in callers]
    assert all(caller.seen == sorted(set(caller.seen)) for caller in callers)
    assert sum(caller.rewound for caller in callers), "nobody was ahead of the store: the kills have proven nothing"


def n_told(callers: list[Survivor]) -> int:
    """How many events all of them have been told."""
    return sum(len(caller.seen) for caller in callers)


def said_by(caller: Survivor, address: str) -> tuple[list[str], list[Json]]:
    """The sentences of the user that the call holds, and what its log lacks."""
    path = f"{address}/api/calls/{caller.call_id}/messages?user={caller.name}"
    with urllib.request.urlopen(path) as answer:
        told = json.load(answer)
    words = " ".join(part["text"] for one in told["messages"] if one["role"] == "user" for part in one["content"])
    return re.findall(r"Sentence \d+\.", words), told["gaps"]

"""Calls whose socket is cut at random frames, in virtual time: what was said and heard has to be the same as without.

The page of `Page` does what a good client does (docs/protocol.md, "Coming back"): it plays in real time, says with each
frame of speech what it has played, keeps its speech and its events, and goes on at a new socket. Its user speaks when
there is silence, or into an answer. Time passes in ticks of 40 ms, so that two runs that hear the same do the same.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.websockets import WebSocket

from realtime.agent import RealtimeAgent
from realtime.audio.pcm import SAMPLE_BYTES
from realtime.call.session import Session
from realtime.dialects import choose
from realtime.event import frames as binary
from realtime.model.base import AudioAppend, ModelInput, ResponseCreate
from realtime.model.script import React, Speak, SpeechEnd, SpeechStart, Step
from realtime.model.scripted import PROFILE, ScriptedModel
from realtime.server.calls import Calls
from realtime.server.client_socket import ClientSocket
from realtime.server.make_agent import MakeAgent
from realtime.server.settings import ServerSettings
from realtime.server.socket_calls import SocketClient
from realtime.state.log import Entry

TICK_MS = 40
INPUT_HZ = 16_000
OUTPUT_HZ = 24_000
TICK_SAMPLES = INPUT_HZ * TICK_MS // 1000
KEPT_TICKS = 250
"""The page keeps the last 10 s of its speech."""
AWAY_S = (0.0, 0.04, 0.3, 1.0, 3.0)
"""How long the page is without a socket."""
MAX_DEAF_S = 5.0
"""What the call has not heard for longer the page would forget one day: there are no cuts then."""
ANSWERS = (
    "The first train to the coast leaves the main station at seven in the morning.",
    "There are four seats left, two at the window and two at the aisle.",
    "Your order is on its way, and it should arrive before noon tomorrow.",
)


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the user says: `text`, for `ms`, after `quiet_ms` of silence, or `into_ms` of the answer that plays.

    `typed` is written instead.
    """

    text: str
    typed: bool = False
    ms: int = 800
    quiet_ms: int = 1_200
    into_ms: int | None = None


TALK = (
    Utterance("When does the train leave?"),
    Utterance("And how many seats are there?"),
    Utterance("Wait, one more thing.", into_ms=1_200),
    Utterance("Where is my order?", typed=True),
    Utterance("No, stop.", into_ms=2_000),
    Utterance("Thank you."),
    Utterance("Bye.", typed=True, into_ms=1_600),
)


def listener_model(talk: Sequence[Utterance], answer_s: float = 4.0) -> ScriptedModel:
    """Hears which utterance is spoken by the value of its samples, and answers each."""
    return ScriptedModel(_hears(talk, answer_s), profile=PROFILE)


def _hears(talk: Sequence[Utterance], answer_s: float) -> React:
    position = speaking = 0

    def react(message: ModelInput) -> Iterable[Step]:
        nonlocal position, speaking
        if isinstance(message, ResponseCreate):
            return [Speak(ANSWERS[0], answer_s, chunk_ms=400, pace=4.0, wait=False)]
        if not isinstance(message, AudioAppend):
            return []
        value = int.from_bytes(message.pcm[:SAMPLE_BYTES], "little")
        at_ms = position * 1000 // INPUT_HZ
        position += len(message.pcm) // SAMPLE_BYTES
        steps: list[Step] = []
        if value and not speaking:
            steps.append(SpeechStart(at_ms))
        elif speaking and not value:
            said = talk[speaking - 1].text
            answer = ANSWERS[speaking % len(ANSWERS)]
            steps += [SpeechEnd(at_ms, said), Speak(answer, answer_s, chunk_ms=400, pace=4.0, wait=False)]
        speaking = value
        return steps

    return react


@dataclass(slots=True)
class _Item:
    """Speech of the agent at the page: pcm received up to `received` samples, of which `played` were played."""

    received: int = 0
    played: int = 0
    complete: bool = False
    flushed: bool = False
    ranges: list[tuple[int, int]] = field(default_factory=list)


class Wire:
    """One socket in memory: both ends in one process."""

    def __init__(self, page: Page, *, make_agent: MakeAgent, calls: Calls, settings: ServerSettings) -> None:
        self._page = page
        self._to_server: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.cut = False
        scope: dict[str, Any] = {
            "type": "websocket",
            "headers": [],
            "path": "/",
            "query_string": b"",
            "subprotocols": [],
        }
        self._websocket = WebSocket(scope, self._to_server.get, self._send)
        self._handler = (make_agent, calls, settings)
        self.serving: asyncio.Task[None] | None = None

    async def open(self) -> None:
        make_agent, calls, settings = self._handler
        self._to_server.put_nowait({"type": "websocket.connect"})
        await self._websocket.accept()
        socket = ClientSocket(
            self._websocket,
            choose(["realtime.v1"], None, now=asyncio.get_running_loop().time),
            SocketClient(
                user="user1",
                session_id="session1",
                address="10.0.0.1",
                make_agent=make_agent,
                calls=calls,
                settings=settings,
            ),
        )
        self.serving = asyncio.create_task(socket.serve())

    def say(self, frame: str | bytes) -> None:
        """A frame of the page; nothing of it arrives on a socket that is cut."""
        if not self.cut and not self._page.cuts(self):
            kind = "text" if isinstance(frame, str) else "bytes"
            self._to_server.put_nowait({"type": "websocket.receive", kind: frame})

    def lose(self, code: int = 1006) -> None:
        """The server notices that the socket is gone."""
        self.cut = True
        self._to_server.put_nowait({"type": "websocket.disconnect", "code": code})

    async def _send(self, message: Any) -> None:
        if message["type"] == "websocket.close":
            self.lose(message["code"])
        elif message["type"] == "websocket.send" and not self.cut and not self._page.cuts(self):
            self._page.receive(message["text"] if message.get("text") is not None else message["bytes"])


class Page:
    """A client that comes back. `chance` cuts its socket at a frame of either direction with `cut_share`."""

    def __init__(
        self,
        talk: Sequence[Utterance],
        *,
        chance: random.Random,
        cut_share: float,
        make_agent: MakeAgent,
        calls: Calls,
        settings: ServerSettings,
    ) -> None:
        self._plan = deque(enumerate(talk, 1))
        self._chance = chance
        self._cut_share = cut_share
        self._make_wire = partial(Wire, self, make_agent=make_agent, calls=calls, settings=settings)
        self._wire: Wire | None = None
        self._old: list[asyncio.Task[None]] = []
        self._away_until: float | None = None
        self._heard_until = 0.0
        self._server_learns: Wire | None = None
        self.cut_count = 0
        self.token = ""
        self.last_seq = 0
        self.items: dict[str, _Item] = {}
        self._names: dict[int, str] = {}
        self._indexes: dict[str, int] = {}
        self._queue: deque[str] = deque()
        self._kept: deque[tuple[int, bytes, str | None, int]] = deque(maxlen=KEPT_TICKS)
        self._said: deque[tuple[int, dict[str, Any]]] = deque(maxlen=64)
        """Events with the sample of the page's speech before which each was said."""
        self._samples = 0
        self._speaking: tuple[int, int] | None = None
        self._quiet_ms = 0
        self._known: set[str] = set()
        """Items that were there when the user spoke last: what comes beyond them is the answer."""
        self._spoke = False
        self._ready = False
        self._saying_again = False
        self.seen: list[int] = []

    # -- the socket ------------------------------------------------------------------------------------------------

    def cuts(self, wire: Wire) -> bool:
        """Whether this frame is where the socket is lost."""
        if wire is not self._wire or not self.token or self._chance.random() >= self._cut_share:
            return False
        now = asyncio.get_running_loop().time()
        if now - self._heard_until > MAX_DEAF_S:
            return False
        self.cut_count += 1
        wire.cut = True
        self._away_until = now + self._chance.choice(AWAY_S)
        if self._chance.random() < 0.5:
            wire.lose()
        else:
            self._server_learns = wire
        return True

    async def _connect(self) -> None:
        self._wire = wire = self._make_wire()
        self._names.clear()
        self._indexes.clear()
        await wire.open()
        assert wire.serving is not None
        self._old.append(wire.serving)
        if self.token:
            self._say({"type": "client_session_resume", "token": self.token, "last_seq": self.last_seq})
        else:
            rates = {"input_audio_format": {"rate": INPUT_HZ}, "output_audio_format": {"rate": OUTPUT_HZ}}
            self._say({"type": "client_session_create", "config": {"audio_frames": "binary", **rates}})

    def _say(self, event: dict[str, Any]) -> None:
        if self._wire is not None:
            self._wire.say(json.dumps(event))

    def _say_speech(self, offset: int, pcm: bytes, item_id: str | None, played_ms: int) -> None:
        if self._wire is None:
            return
        index = self._indexes.get(item_id) if item_id is not None else None
        if item_id is not None and index is None:
            self._say({"type": "client_playback_ack", "item_id": item_id, "played_ms": played_ms})
        if index is None:
            self._wire.say(binary.pack(binary.CLIENT_AUDIO, 0, 0, offset, pcm))
        else:
            self._wire.say(binary.pack_played(0, index, played_ms, offset, pcm))

    def receive(self, frame: str | bytes) -> None:
        """A frame of the server."""
        if isinstance(frame, bytes):
            _, _, index, offset, pcm = binary.unpack(frame)
            self._take_speech(self._names[index], offset, len(pcm) // SAMPLE_BYTES)
            return
        event = json.loads(frame)
        kind = event["type"]
        if kind == "server_session_created":
            self.token = event["resume_token"]
        elif kind == "server_session_resumed":
            self.token = event["token"]
            self._ready = True
        elif kind == "server_audio_received":
            if self._saying_again:
                self._saying_again = False
                self._say_all_again(event["offset"])
        elif kind == "server_audio_item":
            self._names[event["item_index"]] = event["item_id"]
            self._indexes[event["item_id"]] = event["item_index"]
        elif kind == "server_audio_flush":
            for item in self.items.values():
                item.flushed = True
            self._queue.clear()
        elif kind == "agent_ready":
            self._ready = True
        elif kind == "agent_response_audio_done":
            self.items.setdefault(event["item_id"], _Item()).complete = True
        if "seq" in event:
            self.seen.append(event["seq"])
            self.last_seq = max(self.last_seq, event["seq"])

    def _say_all_again(self, received: int) -> None:
        """The speech that the call lacks, and in its place among it all that was written."""
        said = deque(self._said)
        for offset, pcm, item_id, played_ms in [*self._kept]:
            while said and said[0][0] <= offset:
                self._say(said.popleft()[1])
            if offset + len(pcm) // SAMPLE_BYTES > received:
                self._say_speech(offset, pcm, item_id, played_ms)
        for _, event in said:
            self._say(event)

    def _take_speech(self, item_id: str, offset: int, n_samples: int) -> None:
        item = self.items.setdefault(item_id, _Item())
        new = offset + n_samples - item.received
        if new <= 0 or item.flushed:
            return
        if offset > item.received:
            raise AssertionError(f"speech of {item_id} is missing from {item.received} to {offset}")
        item.received += new
        if item_id not in self._queue:
            self._queue.append(item_id)

    # -- the user --------------------------------------------------------------------------------------------------

    async def live(self) -> None:
        """Until everything was said and heard."""
        await self._connect()
        while self._plan or self._speaking or not self._is_answered() or self._away_until is not None:
            await asyncio.sleep(TICK_MS / 1000)
            now = asyncio.get_running_loop().time()
            if self._away_until is not None and now >= self._away_until:
                self._away_until = None
                self._saying_again = True
                await self._connect()
                if self._server_learns is not None:
                    # The old socket closes after the new one was opened: it must not harm the call.
                    self._server_learns.lose()
                    self._server_learns = None
            self._tick()

    async def leave(self) -> None:
        """The page says goodbye; no socket is left."""
        if self._wire is not None:
            self._wire.cut = False
            self._cut_share = 0.0
            self._say({"type": "client_session_end"})
            await asyncio.sleep(1)
            self._wire.lose(1000)
        await asyncio.gather(*self._old)

    def _tick(self) -> None:
        if not self._ready:
            return
        playing = self._play()
        self._decide(playing)
        value = 0
        if self._speaking is not None:
            number, left_ms = self._speaking
            value = number if left_ms > 0 else 0
            self._speaking = (number, left_ms - TICK_MS) if left_ms > 0 else None
        pcm = value.to_bytes(SAMPLE_BYTES, "little") * TICK_SAMPLES
        played_ms = self.items[playing].played * 1000 // OUTPUT_HZ if playing is not None else 0
        self._kept.append((self._samples, pcm, playing, played_ms))
        self._samples += TICK_SAMPLES
        if not self._saying_again:
            self._say_speech(*self._kept[-1])
            if self._away_until is None:
                self._heard_until = asyncio.get_running_loop().time()

    def _play(self) -> str | None:
        """A tick of the agent's speech; none while nobody would hear an interruption. Which item is being played."""
        if self._away_until is not None or self._saying_again:
            return self._queue[0] if self._queue else None
        left = OUTPUT_HZ * TICK_MS // 1000
        last = None
        while self._queue and left:
            last = self._queue[0]
            item = self.items[last]
            count = min(left, item.received - item.played)
            if count:
                item.ranges.append((item.played, item.played + count))
            item.played += count
            left -= count
            if item.played == item.received:
                self._queue.popleft()
        return last

    def _decide(self, playing: str | None) -> None:
        """Whether the user speaks now: into the answer, or after it and a moment of silence."""
        quiet = playing is None and self._speaking is None and self._is_answered()
        self._quiet_ms = self._quiet_ms + TICK_MS if quiet else 0
        if not self._plan or self._speaking is not None:
            return
        number, utterance = self._plan[0]
        if utterance.into_ms is None:
            due = self._quiet_ms >= utterance.quiet_ms
        else:
            answer = next((item for item_id, item in self.items.items() if item_id not in self._known), None)
            due = answer is not None and answer.played * 1000 // OUTPUT_HZ >= utterance.into_ms
        if due:
            self._plan.popleft()
            self._known = {*self.items}
            self._spoke = True
            if utterance.typed:
                event = {"type": "client_text_append", "text": utterance.text, "event_id": f"typed_{number}"}
                self._said.append((self._samples, event))
                if not self._saying_again:
                    if playing is not None:
                        played_ms = self.items[playing].played * 1000 // OUTPUT_HZ
                        self._say({"type": "client_playback_ack", "item_id": playing, "played_ms": played_ms})
                    self._say(event)
            else:
                self._speaking = (number, utterance.ms)

    def _is_answered(self) -> bool:
        """What the user said last was answered, and the answer heard to its end."""
        answers = [item for item_id, item in self.items.items() if item_id not in self._known]
        over = (item.flushed or (item.complete and item.played == item.received) for item in answers)
        return not self._spoke or (bool(answers) and all(over))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: who said which words, as they were heard, and how often the socket was cut."""

    words: tuple[tuple[str | None, str], ...]
    cuts: int
    told: list[tuple[str, str, str]]
    """(id, role or kind, words) of each item."""
    log: list[Entry]


async def one_call(seed: int, cut_share: float, talk: Sequence[Utterance] = TALK) -> Outcome:
    """A whole call. Raises AssertionError where the page missed or got twice what it should get once."""
    calls = Calls(max_per_address=4, max_total=4)
    sessions: list[Session] = []

    def make_agent() -> RealtimeAgent:
        return RealtimeAgent("Friday", "", listener_model(talk))

    page = Page(
        talk,
        chance=random.Random(seed),
        cut_share=cut_share,
        make_agent=make_agent,
        calls=calls,
        settings=ServerSettings(),
    )
    async with asyncio.timeout(600):
        living = asyncio.create_task(page.live())
        await asyncio.sleep(TICK_MS / 1000 * 2)
        sessions += calls.sessions.values()
        await living
    (session,) = sessions
    items = session.conversation.items()
    log = session.log.read()
    await page.leave()
    if page.seen != sorted(set(page.seen)):
        raise AssertionError(f"seed {seed}: events came twice or out of order")
    for item_id, item in page.items.items():
        position = 0
        for start, end in item.ranges:
            if start != position:
                raise AssertionError(f"seed {seed}: {item_id} was played from {start} after {position}")
            position = end
    return Outcome(
        words=tuple((item.role, item.text) for item in items),
        cuts=page.cut_count,
        told=[(item.id, item.role or item.type, item.text) for item in items],
        log=log,
    )

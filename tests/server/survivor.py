"""A caller whose server is killed again and again: over real sockets, as "Coming back" in docs/protocol.md says."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Iterable

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from realtime.event import frames
from realtime.model.base import AudioAppend, ModelInput, ResponseCreate
from realtime.model.script import Speak, SpeechEnd, SpeechStart, Step
from realtime.model.scripted import PROFILE, ScriptedModel
from realtime.state.spill import SLOW
from tests.real_loop import moment
from tests.server.harness import NATIVE, Json
from tests.volumes import HANG_S

TICK_S = 0.04
INPUT_HZ = 16_000
TICK_SAMPLES = int(INPUT_HZ * TICK_S)
KEPT_EVENTS = 64
"""As many as a store knows to have taken (docs/protocol.md, "Coming back")."""
SPOKEN_TICKS = 6
PAUSE_TICKS = 22
"""More than the 800 ms within which speech would be the same turn."""
AGAIN_S = 0.05
"""Between two tries to reach a server that is being started."""
PATIENCE_S = HANG_S
"""Beyond it a wait hangs: a busy machine hears a minute of speech again in some seconds."""
_ANSWER = Speak("An answer in a few words.", 1.0, chunk_ms=40, pace=2.0, wait=False)


def sentence(number: int) -> str:
    """What the user says with samples of this value, or types."""
    return f"Sentence {number}."


def hearing_model() -> ScriptedModel:
    """Knows by the value of the samples which sentence is spoken, and answers each."""
    position = speaking = 0

    def react(message: ModelInput) -> Iterable[Step]:
        nonlocal position, speaking
        if isinstance(message, ResponseCreate):
            return [_ANSWER]
        if not isinstance(message, AudioAppend):
            return []
        value = int.from_bytes(message.pcm[:2], "little")
        at_ms = position * 1000 // INPUT_HZ
        position += len(message.pcm) // 2
        steps: list[Step] = []
        if speaking and value != speaking:
            steps += [SpeechEnd(at_ms, sentence(speaking)), _ANSWER]
        if value and value != speaking:
            steps.append(SpeechStart(at_ms))
        speaking = value
        return steps

    return ScriptedModel(react, profile=PROFILE)


class Survivor:
    """Speaks and types in turns until `hang_up`, whatever becomes of its sockets."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.call_id = ""
        self.said: list[str] = []
        self.refusals: list[str] = []
        self.rewound = 0
        """How often the server had kept less than it had told."""
        self.resumed = asyncio.Event()
        self.seen: list[int] = []
        """The `seq` of each event of the log."""
        self._socket: ClientConnection | None = None
        self._token = ""
        self._may_speak = False
        self._samples = 0
        self._pause_ticks = sum(name.encode()) % PAUSE_TICKS
        self._speaking = (0, 0)
        self._kept: list[tuple[int, int | Json]] = []
        """What was said, in order, after that many samples: the value of a tick's samples, or what was typed.

        All of it, not the last 10 s: on a busy machine the next server may take longer to start.
        """
        self._typed_at: deque[int] = deque(maxlen=KEPT_EVENTS)
        """Where the latest typed events are in it."""
        self._told: list[tuple[int, str]] = []
        """The words of the user that the server has told, and still knows; each with its `seq`."""
        self._wants_to_stop = False

    async def talk(self, address: str) -> None:
        """Until `hang_up`, or until the server cannot be reached for too long."""
        async with asyncio.TaskGroup() as tasks:
            microphone = tasks.create_task(self._speak())
            while not microphone.done():
                with contextlib.suppress(OSError, ConnectionClosed, InvalidHandshake):
                    await self._listen(address)
                self._may_speak = False
                await moment(asyncio.get_running_loop().time() + AGAIN_S)

    def hang_up(self) -> None:
        """Finish the sentence and what it takes to hear it, and stop."""
        self._wants_to_stop = True

    async def _listen(self, address: str) -> None:
        uri = f"{address.replace('http', 'ws', 1)}/ws/{self.name}/session1"
        async with connect(uri, subprotocols=[NATIVE], compression=None) as socket:  # type: ignore[list-item]
            self._socket = socket
            if self._token:
                last_seq = self.seen[-1] if self.seen else 0
                await self._send({"type": "client_session_resume", "token": self._token, "last_seq": last_seq})
            else:
                await self._send({"type": "client_session_create", "config": {"audio_frames": "binary"}})
            async for frame in socket:
                if isinstance(frame, str):
                    await self._read(json.loads(frame))

    async def _read(self, event: Json) -> None:
        match event["type"]:
            case "server_session_created" if event["resume_token"]:
                self._token, self.call_id = event["resume_token"], event["call_id"]
            case "server_session_resumed":
                self._token = event["token"]
                seq = event["rewound_to_seq"]
                if seq is not None:
                    self.rewound += 1
                    self.seen = [one for one in self.seen if one <= seq]
                    self._told = [one for one in self._told if one[0] <= seq]
                return
            case "server_audio_received":
                if not self._may_speak and self._token and self.seen:
                    await self._say_again(event["offset"])
                return
            case "server_audio_item":
                return
            case "agent_error" if event["code"] != SLOW:
                self.refusals.append(event["code"])
            case "agent_ready" if not self._may_speak and not self.resumed.is_set():
                self._may_speak = True
                self.resumed.set()
            case "agent_input_transcription_done":
                self._told.append((event["seq"], event["transcript"]))
            case "agent_item_added" if event["item"]["role"] == "user" and event["item"]["content"]:
                self._told.append((event["seq"], event["item"]["content"][0].get("text") or ""))
        if "seq" in event:
            self.seen.append(event["seq"])

    def _is_understood(self) -> bool:
        return not self._speaking[1] and any(self.said[-1] in words for _, words in self._told)

    async def _say_again(self, received: int) -> None:
        first_typed = self._typed_at[0] if self._typed_at else 0
        at = 0
        # It grows meanwhile: writing waits for the server.
        while at < len(self._kept):
            offset, said = self._kept[at]
            is_missing = at >= first_typed if isinstance(said, dict) else offset + TICK_SAMPLES > received
            if is_missing:
                await self._send_said(offset, said)
            at += 1
        self._may_speak = True
        self.resumed.set()

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while not (self._wants_to_stop and self._is_understood()):
            due_s += TICK_S
            await moment(due_s)
            if self.call_id:
                await self._tick()
        if self._socket is not None:
            await self._send({"type": "client_session_end"})
            await self._socket.close()

    async def _tick(self) -> None:
        number, left = self._speaking
        value = number if left else 0
        self._speaking = (number, max(0, left - 1))
        self._pause_ticks = 0 if value else self._pause_ticks + 1
        if self._pause_ticks > PAUSE_TICKS and not self._wants_to_stop:
            self._pause_ticks = 0
            await self._begin(len(self.said) + 1)
        offset = self._samples
        self._samples += TICK_SAMPLES
        await self._say(offset, value)

    async def _begin(self, number: int) -> None:
        self.said.append(sentence(number))
        if number % 2:
            self._speaking = (number, SPOKEN_TICKS)
            return
        event = {"type": "client_text_append", "text": sentence(number), "event_id": f"{self.name}_{number}"}
        self._typed_at.append(len(self._kept))
        await self._say(self._samples, event)

    async def _say(self, offset: int, said: int | Json) -> None:
        self._kept.append((offset, said))
        if self._may_speak:
            await self._send_said(offset, said)

    async def _send_said(self, offset: int, said: int | Json) -> None:
        if isinstance(said, int):
            pcm = said.to_bytes(2, "little") * TICK_SAMPLES
            await self._put(frames.pack(frames.CLIENT_AUDIO, 0, 0, offset, pcm))
        else:
            await self._send(said)

    async def _send(self, event: Json) -> None:
        await self._put(json.dumps(event))

    async def _put(self, frame: str | bytes) -> None:
        if self._socket is not None:
            with contextlib.suppress(ConnectionClosed):
                await self._socket.send(frame)

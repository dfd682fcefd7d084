"""Load clients: N calls that talk and listen without a break, and judge what they hear.

Each sends a 40 ms chunk of pcm16 every 40 ms, at 16 kHz unless said otherwise. What comes down is checked for loss,
order and crossed sessions by the provider's stamps, and timed from the provider's write to our read. Ways to talk:

- `floor`: the provider's own frames, through a relay;
- `json`: no subprotocol, `client_audio_append` with base64, as existing pages do; no acknowledgements;
- `native`: subprotocol `realtime.v1`, JSON both ways, playback acknowledged every 100 ms as the page does;
- `binary`: binary audio frames both ways; every 100 ms one of ours carries what was played, and only an item's end is
  acknowledged beside them, as the page does;
- `openai`: the OpenAI protocol at `/v1/realtime`, 24 kHz up, as programs do that were written for that service;
- `typed`: subprotocol `realtime.v1` without audio: each call types a turn every 50 s and is answered in text.

Run by `bench.window`; commands on stdin: `begin` (forget what was counted), `end` (answer it), `hang_up` (end all
calls, answer the last `seq` of each), `quit`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import os
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import uvloop

from bench.delays import SLICE_S, Delays
from bench.process import say, serve_commands, stolen_s, waited_s
from bench.user_sounds import ECHO_MS, SOUNDS, Sound, user_chunks
from bench.wire import BINARY, TEXT, ClientPeer, frame_header
from bench.work import (
    CHUNK_MS,
    DOWN_BYTES,
    DOWN_HZ,
    GAP_MS,
    MAGIC,
    STAMP,
    STAMP_BASE64,
    UP_HZ,
    UP_SAMPLES,
    Ticker,
    encoded,
    up_chunks,
)

Mode = Literal["floor", "json", "native", "binary", "openai", "typed"]

ACK_MS = 100
"""Interval of a page's playback reports."""
TYPED_EVERY_MS = 50_000
"""Interval of typed turns in each call of mode `typed`; the calls are spread evenly over it."""
AUDIO_FRAME_BYTES = 1500
"""A message longer than this is audio."""
BINARY_HEAD = struct.Struct("<BBHIQ")
"""kind, flags, stream, item index, sample offset."""
PLAYED_HEAD = struct.Struct("<BBHIQI")
"""The same with the ms played of the item, for a frame of ours with flag `PLAYED`."""
CLIENT_AUDIO, AGENT_AUDIO = 1, 2
PLAYED = 1


@dataclass
class Tally:
    """What all calls of this process have seen since `begin`."""

    delays: Delays
    deltas: int = 0
    lost: int = 0
    reordered: int = 0
    crossed: int = 0
    chunks_sent: int = 0
    acks_sent: int = 0
    acks_carried: int = 0
    """Acknowledgements inside the client's audio."""
    messages_in: int = 0
    words: int = 0
    """Deltas of text responses."""
    flushes: int = 0
    errors: list[str] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        return {
            "deltas": self.deltas,
            "lost": self.lost,
            "reordered": self.reordered,
            "crossed": self.crossed,
            "chunks_sent": self.chunks_sent,
            "acks_sent": self.acks_sent,
            "acks_carried": self.acks_carried,
            "messages_in": self.messages_in,
            "words": self.words,
            "flushes": self.flushes,
            "errors": self.errors[:5],
            **self.delays.report(),
        }


class Load:
    """What the calls share: settings, timers, upstream audio, the tally."""

    def __init__(
        self,
        wanted: int,
        mode: Mode,
        authority: str | None,
        interruption: str | None = None,
        beside: Sequence[int] = (),
        sound: Sound | None = None,
    ) -> None:
        self.sound = sound
        self._beside = beside
        self.wanted = wanted
        self.mode = mode
        self.authority = authority
        self.detection = {"authority": authority, "interruption": interruption}
        self.chunks = Ticker()
        self.acks = Ticker(ACK_MS)
        self.turns = Ticker(TYPED_EVERY_MS) if mode == "typed" else None
        self.forget()
        rate_hz = DOWN_HZ if mode == "openai" else UP_HZ
        pcm = up_chunks(rate_hz) if sound is None else user_chunks(sound, rate_hz)
        self.audio = pcm if mode == "binary" else [encoded(chunk) for chunk in pcm]
        self.calls: set[Call] = set()
        self.ended: list[str] = []
        self.last_seqs: dict[str, int] = {}
        """The last `seq` of each ended call, by its id."""
        self.talking = asyncio.Event()
        self.hung_up = asyncio.Event()

    def forget(self) -> None:
        """Begin a new tally."""
        self.tally = Tally(Delays(self.withheld_s()))

    def withheld_s(self) -> float:
        """Return the CPU time withheld by the host from this machine, and by other programs from these processes."""
        return stolen_s() + sum(map(waited_s, self._beside))

    def check_talking(self) -> None:
        if sum(call.session > 0 for call in self.calls) == self.wanted:
            self.talking.set()


class Call(ClientPeer):
    """One call: sends chunks by the shared timer, checks each delta, acknowledges as a page would."""

    def __init__(self, load: Load, number: int) -> None:
        self.typed = load.mode == "typed"
        self.name = f"{'typed' if self.typed else 'bench'}{number:05d}"
        native = load.mode in ("native", "binary", "typed")
        path = "/v1/realtime?model=gpt-realtime" if load.mode == "openai" else f"/ws/load/{self.name}"
        super().__init__(path, "realtime.v1" if native else None)
        self.load = load
        self.number = number
        self.native = native
        self.speaks_openai = load.mode in ("floor", "openai")
        self.session = 0
        """The provider's number of the session behind, from the first stamp; 0 before. Ours where there is no sound."""
        self.call_id = ""
        self.last_delta = 0
        self.chunk = 0
        self.joined = b""
        # What is being played, as a page would: from its arrival on, in real time.
        self.item_id: str | None = None
        self.item_bytes = self.item_delta = 0
        self.item_start = 0.0
        self.item_done = False
        self.end_told = False
        self.acked_ms = 0
        self.items: dict[int, str] = {}
        self.item_index = 0
        self.leaving = False
        head = b'{"type":"client_audio_append","session_id":"' + self.name.encode() + b'","audio":"'
        tail = b'","format":{"encoding":"pcm16","sample_rate":16000}}'
        if self.speaks_openai:
            head, tail = b'{"type":"input_audio_buffer.append","audio":"', b'"}'
        self.up_head = frame_header(len(head) + len(load.audio[0]) + len(tail), masked=True) + head
        self.up_tail = tail
        self.up_binary_head = frame_header(BINARY_HEAD.size + UP_SAMPLES * 2, opcode=BINARY, masked=True)
        self.up_played_head = frame_header(PLAYED_HEAD.size + UP_SAMPLES * 2, opcode=BINARY, masked=True)

    # Socket

    def opened(self, path: str) -> None:
        self.load.calls.add(self)
        if self.speaks_openai:
            self.say({"type": "session.update", "session": {"type": "realtime", "instructions": "Be brief."}})
            return
        config: dict[str, Any] = {"instructions": "Be brief."}
        if self.native:
            config["audio_frames"] = "binary" if self.load.mode == "binary" else "json"
            config["input_audio_format"] = {"type": "audio/pcm", "rate": 16000}
            config["output_audio_format"] = {"type": "audio/pcm", "rate": DOWN_HZ}
        if self.typed:
            config = {"instructions": "Be brief.", "output_modalities": ["text"]}
        if any(self.load.detection.values()):
            config["turn_detection"] = self.load.detection
        self.say({"type": "client_session_create", "session_id": self.name, "config": config})

    def lost(self) -> None:
        self.load.chunks.remove(self.number * 11, self)
        self.load.acks.remove(self.number * 7, self)
        if self.load.turns is not None:
            self.load.turns.remove(self.typing_slot, self)
        if not self.leaving:
            self.load.ended.append(f"{self.name} closed with {self.close_code}")

    def say(self, event: dict[str, Any]) -> None:
        self.send(json.dumps(event, separators=(",", ":")).encode())

    def talk(self) -> None:
        """Start talking, and request the first response where the client decides about turns."""
        if self.load.turns is not None:
            self.load.turns.add(self.typing_slot, self, self.type_turn)
            self.session = self.number
            self.load.check_talking()
            return
        self.load.chunks.add(self.number * 11, self, self.send_chunk)
        if self.native:
            self.load.acks.add(self.number * 7, self, self.acknowledge)
        if self.load.authority == "server":
            self.ask()

    @property
    def typing_slot(self) -> int:
        return TYPED_EVERY_MS * self.number // self.load.wanted

    def type_turn(self) -> None:
        self.say({"type": "client_text_append", "session_id": self.name, "text": "And what did they do?"})

    def ask(self) -> None:
        if not self.leaving and self.open:
            self.say({"type": "client_response_create", "session_id": self.name})

    def send_chunk(self) -> None:
        if self.transport.is_closing():
            return
        self.load.tally.chunks_sent += 1
        audio = self.load.audio[self.chunk_heard() % len(self.load.audio)]
        if self.load.mode == "binary":
            self.transport.write(b"".join((*self.binary_head(self.chunk * UP_SAMPLES), audio)))
        else:
            self.transport.write(b"".join((self.up_head, audio, self.up_tail)))
        self.chunk += 1

    def chunk_heard(self) -> int:
        """Return the number of the chunk that the microphone hears now: of an echo, of what was played."""
        if self.load.sound == "echo" and self.item_id is not None:
            return self.item_delta + max(0, self.played_ms() - ECHO_MS) // CHUNK_MS
        return self.chunk

    def binary_head(self, offset: int) -> tuple[bytes, bytes]:
        """Return the two headers of an audio frame, which report playback while something plays."""
        played_ms = self.played_ms()
        if played_ms < self.acked_ms + ACK_MS:
            return self.up_binary_head, BINARY_HEAD.pack(CLIENT_AUDIO, 0, 0, 0, offset)
        self.acked_ms = played_ms
        self.load.tally.acks_carried += 1
        head = PLAYED_HEAD.pack(CLIENT_AUDIO, PLAYED, 0, self.item_index, offset, played_ms)
        return self.up_played_head, head

    # Down

    def received(self, opcode: int, payload: bytes) -> None:
        self.load.tally.messages_in += 1
        if opcode == BINARY:
            kind, _, _, index, _ = BINARY_HEAD.unpack_from(payload)
            if kind == AGENT_AUDIO:
                self.item_index = index
                self.play(self.items[index])
                self.hear(payload[BINARY_HEAD.size :])
        elif len(payload) > AUDIO_FRAME_BYTES and payload.find(b"audio") > 0:
            self.hear_json(payload)
        else:
            self.take(json.loads(payload))

    def hear_json(self, payload: bytes) -> None:
        start = payload.find(b'"delta":"') + 9
        if start < 9:
            self.take(json.loads(payload))
            return
        if self.native:
            item_start = payload.find(b'"item_id":"') + 11
            self.play(payload[item_start : payload.find(b'"', item_start)].decode())
        end = payload.find(b'"', start)
        if end - start == DOWN_BYTES // 3 * 4 and not self.joined:
            self.item_bytes += DOWN_BYTES
            self.check(base64.b64decode(payload[start : start + STAMP_BASE64]))
        else:
            self.hear(base64.b64decode(payload[start:end]))

    def hear(self, pcm: bytes) -> None:
        """Find each delta of the provider in the server's pieces of audio."""
        if self.load.mode == "json" and not pcm.strip(b"\0"):
            return  # the silence at the end of an item that AgentScope 1.x pages need
        self.item_bytes += len(pcm)
        if self.joined:
            pcm = self.joined + pcm
        start = 0
        while len(pcm) - start >= DOWN_BYTES:
            self.check(pcm[start : start + STAMP.size])
            start += DOWN_BYTES
        self.joined = pcm[start:]

    def check(self, stamp: bytes) -> None:
        now_ns = time.monotonic_ns()
        magic, session, delta, sent_ns = STAMP.unpack(stamp)
        tally = self.load.tally
        if magic != MAGIC:
            tally.crossed += 1
            return
        if not self.session:
            self.session = session
            self.load.check_talking()
        elif session != self.session:
            tally.crossed += 1
        if delta > self.last_delta:
            tally.lost += delta - self.last_delta - 1
            self.last_delta = delta
        else:
            tally.reordered += 1
        tally.deltas += 1
        tally.delays.add((now_ns - sent_ns) // 1000)

    def take(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "server_session_created":
                self.call_id = event.get("call_id", "")
            case "agent_ready":
                self.talk()
            case "session.updated" if self.speaks_openai:
                self.talk()
            case "agent_response_audio_delta":
                self.hear(base64.b64decode(event["delta"]))
            case "server_audio_item":
                self.items[event["item_index"]] = event["item_id"]
            case "agent_response_done":
                self.item_done = True
                if self.load.authority == "server":
                    asyncio.get_running_loop().call_later(GAP_MS / 1000, self.ask)
            case "agent_response_text_delta":
                self.load.tally.words += 1
            case "server_audio_flush":
                self.load.tally.flushes += 1
            case "server_session_ended":
                self.load.last_seqs[self.call_id] = event["seq"]
                if len(self.load.last_seqs) == self.load.wanted:
                    self.load.hung_up.set()
            case "agent_error" | "error":
                self.load.tally.errors.append(str(event.get("code") or event.get("error", {}).get("code")))

    # Playback

    def play(self, item_id: str) -> None:
        if item_id != self.item_id:
            self.item_id = item_id
            self.item_delta = self.last_delta + 1
            self.item_bytes = self.acked_ms = 0
            self.item_start = time.monotonic()
            self.item_done = self.end_told = False

    def played_ms(self) -> int:
        """Return the ms of the item that a page would have played."""
        if self.item_id is None:
            return 0
        received_ms = self.item_bytes * 500 // DOWN_HZ
        return min(received_ms, int((time.monotonic() - self.item_start) * 1000))

    def acknowledge(self) -> None:
        """Report playback every 100 ms, and once at the end; only the latter where audio carries the others."""
        if self.item_id is None or self.transport.is_closing():
            return
        played_ms = self.played_ms()
        if self.load.mode == "binary":
            if self.end_told or not self.item_done or played_ms < self.item_bytes * 500 // DOWN_HZ:
                return
            self.end_told = True
        elif played_ms == self.acked_ms:
            return
        self.acked_ms = played_ms
        self.load.tally.acks_sent += 1
        self.send(
            b'{"type":"client_playback_ack","item_id":"%b","played_ms":%d}' % (self.item_id.encode(), played_ms), TEXT
        )

    def hang_up(self) -> None:
        """End the call and wait for its last event."""
        self.leaving = True
        self.load.chunks.remove(self.number * 11, self)
        self.load.acks.remove(self.number * 7, self)
        self.say({"type": "client_session_end", "session_id": self.name})

    def leave(self) -> None:
        self.leaving = True
        self.close()


async def hang_up(load: Load) -> None:
    """End all calls (of modes with our own events) and return their last events."""
    for call in load.calls:
        call.hang_up()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(load.hung_up.wait(), 20)
    say({"last_seqs": load.last_seqs})


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--mode", choices=["floor", "json", "native", "binary", "openai", "typed"], required=True)
    parser.add_argument("--authority", choices=["provider", "server"])
    parser.add_argument("--interruption", choices=["off", "selective"])
    parser.add_argument("--sound", choices=SOUNDS)
    parser.add_argument("--beside", type=int, help="a process whose waits for a core make a slice no calm one")
    options = parser.parse_args()
    beside = () if options.beside is None else (options.beside, os.getpid())
    load = Load(options.calls, options.mode, options.authority, options.interruption, beside, options.sound)
    quitting = asyncio.Event()
    hanging: list[asyncio.Task[None]] = []

    def command(word: str) -> None:
        if word == "begin":
            load.forget()
            load.chunks.worst_late_ms = 0.0
            say({})
        elif word == "end":
            late = {"worst_late_ms": round(load.chunks.worst_late_ms, 2), "ended": load.ended[:5]}
            say({**load.tally.report(), **late})
        elif word == "hang_up":
            hanging.append(asyncio.create_task(hang_up(load)))
        elif word == "quit":
            quitting.set()

    ended = serve_commands(command)
    loop = asyncio.get_running_loop()

    def end_slice() -> None:
        load.tally.delays.end_slice(load.withheld_s())
        loop.call_later(SLICE_S, end_slice)

    end_slice()
    for number in range(1, options.calls + 1):
        await loop.create_connection(lambda number=number: Call(load, number), "127.0.0.1", options.port)  # type: ignore[misc]
        await asyncio.sleep(0.01)
    try:
        await asyncio.wait_for(load.talking.wait(), 30)
    except TimeoutError:
        load.ended.append(f"{sum(not call.session for call in load.calls)} calls hear nothing")
    say(
        {
            "talking": sum(call.session > 0 for call in load.calls),
            "ended": load.ended[:5],
            "errors": load.tally.errors[:5],
        }
    )
    waits = {asyncio.create_task(ended.wait()), asyncio.create_task(quitting.wait())}
    _, waiting = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    for call in load.calls:
        call.leave()
    await asyncio.sleep(0.2)


if __name__ == "__main__":
    uvloop.run(main())

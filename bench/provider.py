"""A load provider: speaks the GA frames of OpenAI Realtime as cheaply as it can.

Each session gets whole voice turns without a break, in real time: speech events, commit, transcription, a response of
8 s in 40 ms deltas with 5 transcript deltas a second, usage. With the client's turn detection on it begins by itself,
with it off a response follows each `response.create`. A session whose modality is text gets 8 words, 5 a second, for
each `response.create` and nothing else. What comes up is counted and its order checked.

Run by `bench.run`; commands on stdin: `reset`, `stats`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import math
import time
from typing import Any

import uvloop

from bench.process import say, serve_commands
from bench.user_sounds import agent_deltas
from bench.wire import ServerPeer, frame_header
from bench.work import (
    CHUNK_MS,
    GAP_MS,
    LEVELS,
    MAGIC,
    STAMP,
    STAMP_BASE64,
    TURN_S,
    UNPACED,
    WORD_EVERY,
    Ticker,
    down_tail,
    encoded,
    level_number,
)

WORDS = (" and", " then", " the", " other", " people", " went", " home", " again.")
TAIL = encoded(down_tail())
BURST_WAIT_S = 0.002
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


def to_json(event: dict[str, Any]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode()


class Load:
    """What all sessions of this provider share: the timer, settings and counters."""

    def __init__(self, input_hz: int, turn_s: float, spoken: bool) -> None:
        self.spoken = spoken
        """Whether the agent speaks words; then the user's sound has no levels either."""
        self.tails = [encoded(pcm[STAMP.size :]) for pcm in agent_deltas()] if spoken else [TAIL]
        self.ticker = Ticker()
        self.block_samples = input_hz * CHUNK_MS // 1000
        self.turn_chunks = int(turn_s * 1000 / CHUNK_MS)
        self.sessions: set[Session] = set()
        self.opened = 0
        self.received_bytes = 0
        self.out_of_order = 0
        self.messages_in = 0
        self.messages_out = 0
        self.cancelled = 0

    def reset(self) -> None:
        self.received_bytes = self.out_of_order = self.messages_in = self.messages_out = self.cancelled = 0
        self.ticker.worst_late_ms = 0.0

    def stats(self) -> dict[str, Any]:
        return {
            "sessions": len(self.sessions),
            "opened": self.opened,
            "received_bytes": self.received_bytes,
            "out_of_order": self.out_of_order,
            "messages_in": self.messages_in,
            "messages_out": self.messages_out,
            "cancelled": self.cancelled,
            "worst_late_ms": round(self.ticker.worst_late_ms, 2),
        }


class Session(ServerPeer):
    """One provider session: a turn is a run of ticks, each sends one delta."""

    def __init__(self, load: Load) -> None:
        super().__init__()
        self.load = load
        load.opened += 1
        self.number = load.opened
        self.slot = self.number * 7
        self.turn = 0
        self.delta = 0
        self.left = 0
        self.pause = 0
        self.automatic = False
        self.unpaced = False
        self.writes = False
        """Whether it responds in text."""
        self.paused = False
        self.position = 0
        self.event_number = 0
        self.last_item: str | None = None
        self.audio_head = self.audio_event = b""
        self.session: dict[str, Any] = {}

    # Socket

    def opened(self, path: str) -> None:
        self.load.sessions.add(self)
        model = path.rpartition("model=")[2] or "gpt-realtime"
        audio = {
            "input": {
                "format": {"type": "audio/pcm", "rate": 24000},
                "transcription": None,
                "noise_reduction": None,
                "turn_detection": {
                    "type": "server_vad",
                    "threshold": 0.5,
                    "prefix_padding_ms": 300,
                    "silence_duration_ms": 200,
                    "idle_timeout_ms": None,
                    "create_response": True,
                    "interrupt_response": True,
                },
            },
            "output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "marin", "speed": 1.0},
        }
        self.session = {
            "type": "realtime",
            "object": "realtime.session",
            "id": f"sess_{self.number:021d}",
            "model": model,
            "output_modalities": ["audio"],
            "instructions": "",
            "tools": [],
            "tool_choice": "auto",
            "max_output_tokens": "inf",
            "tracing": None,
            "truncation": "auto",
            "prompt": None,
            "expires_at": int(time.time()) + 3600,
            "audio": audio,
            "include": None,
        }
        self.say("session.created", session=self.session)

    def lost(self) -> None:
        self.load.sessions.discard(self)
        self.load.ticker.remove(self.slot, self)
        self.load.ticker.remove(self.slot + CHUNK_MS // 2, self)

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        if self.unpaced:
            self.burst()

    def received(self, opcode: int, payload: bytes) -> None:
        self.load.messages_in += 1
        if b"input_audio_buffer.append" in payload[:80]:
            start = payload.find(b'"audio":"') + 9
            end = payload.find(b'"', start)
            self.hear(payload, start, end)
            return
        event = json.loads(payload)
        kind = event["type"]
        if kind == "session.update":
            self.update(event["session"])
        elif kind == "response.create" and not self.left:
            self.begin_response()
            if self.writes:
                self.left = len(WORDS)
                self.write_word()
        elif kind == "response.cancel" and self.left:
            self.load.cancelled += 1
            self.end_response("cancelled")
        elif kind == "conversation.item.truncate":
            where = {key: event[key] for key in ("item_id", "content_index", "audio_end_ms")}
            self.say("conversation.item.truncated", **where)
        elif kind == "conversation.item.create":
            self.say("conversation.item.added", item=event["item"], previous_item_id=self.last_item)
            self.say("conversation.item.done", item=event["item"], previous_item_id=self.last_item)

    def say(self, kind: str, **fields: Any) -> None:
        self.event_number += 1
        self.load.messages_out += 1
        self.send(to_json({"type": kind, "event_id": f"event_{self.event_number:021d}", **fields}))

    # Up

    def hear(self, payload: bytes, start: int, end: int) -> None:
        """Count the audio and check the level in the middle of each chunk that it holds."""
        n_bytes = (end - start) // 4 * 3 - payload[end - 2 : end].count(b"=")
        self.load.received_bytes += n_bytes
        block = self.load.block_samples
        position = self.position
        self.position = after = position + n_bytes // 2
        middle = position // block * block + block // 2
        if middle < position:
            middle += block
        while middle < after and not self.load.spoken:
            offset = (middle - position) * 2
            group = offset // 3
            six = base64.b64decode(payload[start + group * 4 : min(end, start + group * 4 + 8)])
            at = offset - group * 3
            sample = int.from_bytes(six[at : at + 2], "little", signed=True)
            if level_number(sample) != middle // block % LEVELS:
                self.load.out_of_order += 1
            middle += block

    def update(self, session: dict[str, Any]) -> None:
        detection = session.get("audio", {}).get("input", {}).get("turn_detection", {})
        self.session["audio"]["input"]["turn_detection"] = detection
        self.say("session.updated", session=self.session)
        self.writes = session.get("output_modalities") == ["text"]
        if self.writes:
            return
        if UNPACED in session.get("instructions", ""):
            self.unpaced = True
            self.begin_response()
            self.burst()
            return
        if not self.automatic:
            # The first turn is shortened, by another length for each session, so that turns do not end together.
            self.load.ticker.add(self.slot, self, self.audio_tick)
            self.load.ticker.add(self.slot + CHUNK_MS // 2, self, self.word_tick)
        self.automatic = detection is not None
        if self.automatic and not self.left:
            self.pause = 1

    # Down

    def audio_tick(self) -> None:
        """Every 40 ms: the next delta, or the wait for the next turn."""
        if self.left:
            self.send_delta()
            self.left -= 1
            if not self.left:
                self.end_response("completed")
        elif self.pause:
            self.pause -= 1
            if not self.pause:
                self.hear_user()
                self.begin_response()

    def word_tick(self) -> None:
        """Every 40 ms, half a delta later: each fifth time a piece of transcript."""
        if self.left and self.left % WORD_EVERY == 0:
            word = WORDS[self.left // WORD_EVERY % len(WORDS)]
            self.say("response.output_audio_transcript.delta", **self.where(), delta=word, obfuscation="x" * 10)

    def write_word(self) -> None:
        """Send the next word of a text response, and in 200 ms the one after it."""
        if not self.left or self.transport.is_closing():
            return
        word = WORDS[-self.left]
        self.say("response.output_text.delta", **self.where(), delta=word, obfuscation="x" * 10)
        self.left -= 1
        if self.left:
            asyncio.get_running_loop().call_later(WORD_EVERY * CHUNK_MS / 1000, self.write_word)
        else:
            self.end_response("completed")

    def send_delta(self) -> None:
        self.event_number += 1
        self.delta += 1
        self.load.messages_out += 1
        stamp = base64.b64encode(STAMP.pack(MAGIC, self.number, self.delta, time.monotonic_ns()))
        event_id = b"%021d" % self.event_number
        tail = self.load.tails[self.delta % len(self.load.tails)]
        self.transport.write(b"".join((self.audio_head, event_id, self.audio_event, stamp, tail, b'"}')))

    def burst(self) -> None:
        """Send as many deltas as the socket takes now, response after response."""
        while not self.paused and not self.transport.is_closing():
            self.send_delta()

    def hear_user(self) -> None:
        """Send the user's turn at once: its words came up before."""
        self.turn += 1
        item_id = f"item_u{self.number:05d}{self.turn:015d}"
        end_ms = self.position * 1000 // (self.load.block_samples * 1000 // CHUNK_MS)
        item = {
            "id": item_id,
            "type": "message",
            "status": "completed",
            "role": "user",
            "content": [{"type": "input_audio", "transcript": None}],
        }
        before = self.last_item
        self.say("input_audio_buffer.speech_started", audio_start_ms=max(0, end_ms - 700), item_id=item_id)
        self.say("input_audio_buffer.speech_stopped", audio_end_ms=max(0, end_ms - 200), item_id=item_id)
        self.say("input_audio_buffer.committed", item_id=item_id, previous_item_id=before)
        self.say("conversation.item.added", previous_item_id=before, item=item)
        self.say("conversation.item.done", previous_item_id=before, item=item)
        kind = "conversation.item.input_audio_transcription"
        self.say(f"{kind}.delta", item_id=item_id, content_index=0, delta="And what did they do?", obfuscation="x" * 11)
        usage = {"type": "duration", "seconds": 1}
        self.say(f"{kind}.completed", item_id=item_id, content_index=0, transcript="And what did they do?", usage=usage)
        self.last_item = item_id

    def where(self) -> dict[str, Any]:
        return {"response_id": self.response_id, "item_id": self.item_id, "output_index": 0, "content_index": 0}

    def response(self, status: str) -> dict[str, Any]:
        tokens = {"text_tokens": 20, "audio_tokens": 100}
        cached = {"image_tokens": 0, "cached_tokens": 0, "cached_tokens_details": {**tokens, "image_tokens": 0}}
        usage = {
            "total_tokens": 320,
            "input_tokens": 120,
            "output_tokens": 200,
            "input_token_details": {**tokens, **cached},
            "output_token_details": {"text_tokens": 40, "audio_tokens": 160},
        }
        done = status != "in_progress"
        cancelled = {"type": "cancelled", "reason": "client_cancelled"}
        return {
            "object": "realtime.response",
            "id": self.response_id,
            "status": status,
            "status_details": cancelled if status == "cancelled" else None,
            "output": [self.message(status)] if done else [],
            "conversation_id": f"conv_{self.number:021d}",
            "output_modalities": ["text" if self.writes else "audio"],
            "max_output_tokens": "inf",
            "audio": {"output": {"format": {"type": "audio/pcm", "rate": 24000}, "voice": "marin"}},
            "usage": usage if done else None,
            "metadata": None,
        }

    def message(self, status: str) -> dict[str, Any]:
        said = {"type": "output_audio", "transcript": "".join(WORDS)}
        written = {"type": "output_text", "text": "".join(WORDS)}
        content = [] if status == "in_progress" else [written if self.writes else said]
        item_status = {"cancelled": "incomplete"}.get(status, status)
        return {
            "id": self.item_id,
            "type": "message",
            "status": item_status,
            "role": "assistant",
            "content": content,
        }

    def part(self, words: str) -> dict[str, Any]:
        return {"type": "text", "text": words} if self.writes else {"type": "audio", "transcript": words}

    def begin_response(self) -> None:
        self.turn += 1
        self.response_id = f"resp_{self.number:05d}{self.turn:016d}"
        self.item_id = f"item_a{self.number:05d}{self.turn:015d}"
        length = self.load.turn_chunks
        # The first turn of each session has another length, so that turns do not end together: multiples of the golden
        # ratio lie evenly in 0 to 1, however many there are.
        self.left = length if self.delta else max(WORD_EVERY, int(length * (self.number * GOLDEN_RATIO % 1)))
        where = b'"response_id":"%b","item_id":"%b","output_index":0,"content_index":0' % (
            self.response_id.encode(),
            self.item_id.encode(),
        )
        head = b'{"type":"response.output_audio.delta","event_id":"event_'
        self.audio_event = b'",' + where + b',"delta":"'
        self.audio_head = (
            frame_header(len(head) + 21 + len(self.audio_event) + STAMP_BASE64 + len(TAIL) + 2, masked=False) + head
        )
        self.say("response.created", response=self.response("in_progress"))
        self.say(
            "response.output_item.added",
            response_id=self.response_id,
            output_index=0,
            item=self.message("in_progress"),
        )
        self.say("conversation.item.added", previous_item_id=self.last_item, item=self.message("in_progress"))
        self.say("response.content_part.added", **self.where(), part=self.part(""))
        self.last_item = self.item_id

    def end_response(self, status: str) -> None:
        self.left = 0
        transcript = "".join(WORDS)
        if self.writes:
            self.say("response.output_text.done", **self.where(), text=transcript)
        else:
            self.say("response.output_audio.done", **self.where())
            self.say("response.output_audio_transcript.done", **self.where(), transcript=transcript)
        self.say("response.content_part.done", **self.where(), part=self.part(transcript))
        self.say("conversation.item.done", previous_item_id=None, item=self.message(status))
        self.say("response.output_item.done", response_id=self.response_id, output_index=0, item=self.message(status))
        self.say("response.done", response=self.response(status))
        limits = [{"name": "tokens", "limit": 4000000, "remaining": 3999702, "reset_seconds": 0.004}]
        self.say("rate_limits.updated", rate_limits=limits)
        if self.automatic:
            self.pause = GAP_MS // CHUNK_MS


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--input-hz", type=int, default=24_000)
    parser.add_argument("--turn-s", type=float, default=TURN_S)
    parser.add_argument("--spoken", action="store_true")
    options = parser.parse_args()
    load = Load(options.input_hz, options.turn_s, options.spoken)

    def command(word: str) -> None:
        if word == "reset":
            load.reset()
        say(load.stats())

    ended = serve_commands(command)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Session(load), "127.0.0.1", options.port, backlog=1000)
    say({"port": server.sockets[0].getsockname()[1]})
    await ended.wait()
    server.close()


if __name__ == "__main__":
    uvloop.run(main())

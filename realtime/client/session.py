"""The client's side of one call over any sockets: what comes, what is sent again, what was heard.

It follows docs/protocol.md, "Coming back" included, and owns no socket: `Sockets` writes its frames. Its timers are
those of the running loop, which may be virtual.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec
import pybase64

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.voice import is_voice
from realtime.client.ear import Ear, Speech
from realtime.client.outbox import INPUT_HZ, Client, Frame, Outbox, acknowledgement
from realtime.client.speaker import OUTPUT_HZ, Speaker
from realtime.event import frames

Event = dict[str, Any]
"""An event as on the wire."""
Line = Literal["away", "asking", "open"]
"""No socket; a socket on which the call is being resumed; one on which everything is said."""

_PCM16 = "audio/pcm"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server makes or resumes no call, and says why."""

    code: str
    message: str
    retryable: bool = False


class Sockets(Protocol):
    """Who owns a session: writes its frames, and follows what happens. No method may raise or call the session."""

    def put(self, frame: Frame, is_audio: bool) -> None:
        """Write a frame to the newest socket."""

    def took(self, event: Event) -> None:
        """An event came. Those of audio are left to `heard`."""

    def heard(self, speech: Speech, offset: int, n_samples: int) -> None:
        """New audio of an item came: its samples from `offset` on."""

    def live_voice(self, speech: Speech, offset: int, pcm: bytes) -> None:
        """The live voice of another human in a room came; it is played at once."""

    def flushed(self, item_id: str | None) -> None:
        """The speech of an item, or of all, is silenced."""

    def rewound(self, seq: int) -> None:
        """The server knows nothing of the events after `seq`: it was killed before it had stored them."""

    def failed(self, fault: str) -> None:
        """The server sent something that the protocol does not allow."""

    def changed(self) -> None:
        """The line or the speaker changed, or an event came."""


class ClientSession:
    """One call of a client. `aligned` says that the model gives each piece of words right before its audio."""

    def __init__(
        self,
        sockets: Sockets,
        name: str,
        *,
        client: Client = "realtime.v1",
        aligned: bool = False,
        speaker: Speaker | None = None,
    ) -> None:
        self.client = client
        self.call_id = ""
        self.call_began_s = 0.0
        """The loop's time at 0 ms of the call."""
        self.line: Line = "away"
        self.ended = False
        """Whether the server said that the call is over."""
        self.token: str | None = None
        """The right to resume the call."""
        self.refusal: Refusal | None = None
        """Why the server refused to make or resume the call."""
        self.ear = Ear(
            aligned=aligned,
            reports=client != "agentscope1",
            can_report=lambda: self.line == "open" and not self.ended,
            acknowledge=self._acknowledge,
            speaker=speaker if speaker is not None else Speaker(),
        )
        """Plays the agents' speech."""
        self._sockets = sockets
        self._outbox = Outbox(client, name)
        self._loop = asyncio.get_running_loop()
        self._from_store = False
        self._last_seq = 0
        self._position = 0
        """Samples of the client's speech so far."""
        self._parts: dict[int, Speech] = {}
        self._cursors: dict[str, int] = {}
        """Place of the next JSON audio delta in each item."""
        self._settled: asyncio.Future[None] | None = None

    # -- its line --------------------------------------------------------------------------------------------------

    def create(self, config: Event) -> None:
        """Ask for a new call, on a new socket."""
        if self.client != "agentscope1":
            config = config | {
                "audio_frames": "binary" if self.client == "realtime.v1" else "json",
                "input_audio_format": {"type": _PCM16, "rate": INPUT_HZ},
                "output_audio_format": {"type": _PCM16, "rate": OUTPUT_HZ},
            }
        self._begin({"type": "client_session_create", "config": config}, "open")

    def resume(self) -> None:
        """Ask to resume the call, on a new socket."""
        self._parts.clear()
        self._outbox.indexes.clear()
        self._cursors.clear()
        ask: Event = {"type": "client_session_resume", "token": self.token, "last_seq": self._last_seq}
        now = self._loop.time()
        sounding = self.ear.speaker.sounding(now)
        if sounding is not None:
            ask |= {"played_item_id": sounding, "played_ms": self.ear.position_ms(sounding, now)}
        self._begin(ask, "asking")

    def _begin(self, first: Event, line: Line) -> None:
        self.refusal = None
        self.line = line
        self._sockets.put(json.dumps(first), False)

    def lose(self) -> None:
        """Note that the socket is lost: nothing sounds until the call is resumed."""
        self.line = "away"
        self.ear.pause()

    def survive(self) -> None:
        """Note that only the server ends: the call can be resumed once another one is there."""
        self.ended = False
        self.lose()

    async def settle(self, timeout_s: float) -> None:
        """Wait until the latest request is done, refused or void. Raises TimeoutError."""
        self._settled = self._loop.create_future()
        try:
            async with asyncio.timeout(timeout_s):
                await self._settled
        finally:
            self._settled = None

    def have_settled(self) -> None:
        """End the wait of `settle`."""
        if self._settled is not None and not self._settled.done():
            self._settled.set_result(None)

    def close(self) -> None:
        """Cancel the timers. Idempotent."""
        self.ear.close()

    # -- what comes ------------------------------------------------------------------------------------------------

    def receive(self, frame: Frame) -> None:
        """Take a frame of the newest socket. It is answered from later callbacks of the loop."""
        if self.line == "asking" and self._from_store and not (type(frame) is str and "server_audio_received" in frame):
            self._loop.call_soon(self._say_again, None)
        if type(frame) is bytes:
            _, _, index, offset, pcm = frames.unpack(frame)
            speech = self._parts.get(index)
            if speech is None:
                self._sockets.failed(f"sound of item index {index}, which no server_audio_item told")
            else:
                self._hear(speech, offset, pcm)
        else:
            self._read(msgspec.json.decode(frame))
        self._sockets.changed()

    def _read(self, event: Event) -> None:
        kind = event["type"]
        if kind == "agent_response_audio_delta":
            speech = self.ear.item(event)
            pcm = pybase64.b64decode(event["delta"])
            offset = self._cursors.get(speech.item_id, speech.received)
            self._cursors[speech.item_id] = offset + len(pcm) // SAMPLE_BYTES
            self._hear(speech, offset, pcm)
            return
        self._last_seq = max(self._last_seq, event.get("seq", 0))
        match kind:
            case "server_session_created":
                if event.get("resume_token") is not None:
                    self.token = event["resume_token"]
                if not self.call_id:
                    # An item that is announced again after resuming is that of the log.
                    self.call_id = event.get("call_id") or ""
                    self.call_began_s = self._loop.time() - event.get("ts_ms", 0) / 1000
            case "server_session_resumed":
                self.token = event["token"] or self.token
                self._from_store = event["from_store"]
                if event["rewound_to_seq"] is not None:
                    self._last_seq = event["rewound_to_seq"]
                    self._sockets.rewound(event["rewound_to_seq"])
            case "server_audio_received":
                self._outbox.acknowledge(event["offset"])
                if self.line == "asking":
                    self._loop.call_soon(self._say_again, event["offset"])
            case "server_audio_item":
                speech = self.ear.item(event)
                self._parts[event["item_index"]] = speech
                self._outbox.indexes[speech.item_id] = event["item_index"]
                if self.client == "json":
                    # JSON audio deltas carry no offset: this event says where they continue.
                    self._cursors[speech.item_id] = event["offset_samples"]
            case "server_audio_flush":
                self.flush(event["item_id"])
            case "agent_input_started" if self.client == "agentscope1":
                # These pages know no flush: they stop at the first word of the user.
                self.flush(None)
            case "agent_item_truncated":
                # Without a flush in a call that was read from a store: its speech will not continue.
                cut = self.ear.speech.get(event["item_id"])
                if cut is not None and not cut.flushed and not self.ear.is_rendered(cut):
                    self.flush(cut.item_id)
            case "agent_response_audio_transcript_delta":
                self.ear.item(event).words.add_text(event["delta"])
            case "agent_response_audio_transcript_done":
                speech, whole = self.ear.item(event), event["transcript"]
                if not (speech.flushed or speech.words.text.startswith(whole)):
                    speech.words.correct(0, len(speech.words.text), whole)
            case "agent_response_audio_done":
                self.ear.complete(self.ear.item(event))
            case "agent_response_done":
                for speech in [*self.ear.speech.values()]:
                    if speech.response_id == event["response_id"]:
                        self.ear.complete(speech)
            case "agent_ready":
                if self.line == "open":
                    self.have_settled()
            case "server_session_ended":
                self.ended = True
                self.have_settled()
            case "agent_error" if self._settled is not None and (self.line == "asking" or not self.call_id):
                self.refusal = Refusal(event["code"], event["message"], event.get("retryable", False))
                self.have_settled()
        self._sockets.took(event)

    def flush(self, item_id: str | None) -> None:
        """Silence one item, or all (None)."""
        if self.ear.flush(item_id) or self.client != "agentscope1":
            self._sockets.flushed(item_id)

    def _hear(self, speech: Speech, offset: int, pcm: bytes) -> None:
        if is_voice(speech.item_id):
            self._sockets.live_voice(speech, offset, pcm)
            return
        new = self.ear.hear(speech, offset, pcm)
        if new is not None:
            self._sockets.heard(speech, *new)

    # -- what it says ----------------------------------------------------------------------------------------------

    def send(self, event: Event) -> None:
        """Send a client event; repeat it if the socket is lost on the way."""
        self._say_event(self._outbox.labelled(event))

    def speak(self, pcm: bytes) -> None:
        """Send the client's next speech, with a report of playback where due."""
        offset = self._position
        self._position += len(pcm) // SAMPLE_BYTES
        item_id, played_ms = self.ear.report() if self.line == "open" else (None, 0)
        self._outbox.keep_speech(offset, pcm, item_id, played_ms)
        if self.line == "open":
            for frame, is_audio in self._outbox.speech(offset, pcm, item_id, played_ms):
                self._sockets.put(frame, is_audio)
        elif self.line == "asking" and self._from_store:
            # A server that has just restored the call need not report where its input ended.
            self._say_again(None)

    def report(self) -> None:
        """Report playback, where due and not carried by speech."""
        item_id, played_ms = self.ear.report() if self.line == "open" else (None, 0)
        if item_id is not None:
            self._acknowledge(item_id, played_ms, False)

    def _acknowledge(self, item_id: str, heard_ms: int, flushed: bool) -> None:
        self._say_event(acknowledgement(item_id, heard_ms, flushed))

    def _say_event(self, text: str) -> None:
        """Send it now, or when the call is resumed."""
        self._outbox.keep_event(text, self._position)
        if self.line == "open":
            self._sockets.put(text, False)

    def _say_again(self, received: int | None) -> None:
        """Send again what the server lacks, as `Outbox.missing` says."""
        if self.line != "asking":
            return
        self.line = "open"
        for frame, is_audio in self._outbox.missing(received):
            self._sockets.put(frame, is_audio)
        self._from_store = False
        self.ear.resume()
        self.have_settled()
        self._sockets.changed()

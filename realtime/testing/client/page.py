"""A simulated browser page: microphone, speaker in real time, playback reports, resuming.

The microphone never stops. The page resumes after losing its socket, as docs/protocol.md says under "Coming back".

All timing follows the loop's clock: under a `VirtualLoop` an hour takes seconds and every run is the same. One timer
runs per 40 ms of microphone; the only other one is for the end of an item.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec
import pybase64

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.dialects import frames
from realtime.dialects.native import SUBPROTOCOL
from realtime.testing.client.devices import FRAME_MS, FRAME_SAMPLES, OUTPUT_HZ, Microphone
from realtime.testing.client.ear import Ear, Speech
from realtime.testing.client.echo_path import EchoPath
from realtime.testing.client.outbox import Client, Outbox, acknowledgement
from realtime.testing.client.pair import LOST, Application, Frame, SocketPair, Tap, Uplink
from realtime.testing.client.steps import INPUT_HZ, Loudspeaker
from realtime.testing.errors import ScriptFailure
from realtime.testing.record import Lane, Played

ANSWER_TIME_S = 60.0
"""Seconds for the server to make, resume or end a page's call."""
FINAL_CODES = (1000, 1008, 1011, 4000)
"""Close codes after which a page does not resume."""

Event = dict[str, Any]


class Received(NamedTuple):
    """An event received at `at_ms` of the call. Audio is replaced by its `n_samples`."""

    at_ms: float
    event: Event


class Page:
    """One client of the application at `app`. Call `join`, then `leave` or at least `close`.

    `received` is all that came. `on_change` is called after each event and whenever the socket or the speaker changes
    its state; it must not raise. Times in ms are those of the call. `seed` decides the noise between the user's words
    (`background` is its rms, 0 for silence) and which frames are lost. `starts_after_ms` separates the frames of
    several pages in time. `aligned` says that the model gives each piece of words right before its audio
    (`Profile.aligns_transcript`).
    """

    def __init__(
        self,
        app: Application,
        name: str = "user1",
        *,
        client: Client = "realtime.v1",
        session_id: str = "session1",
        config: Event | None = None,
        seed: int = 0,
        background: float = 3.0,
        starts_after_ms: float = 0.0,
        aligned: bool = False,
        query: str = "",
        direct: bool = True,
        tap: Tap | None = None,
    ) -> None:
        self.name = name
        self.client = client
        self.received: list[Received] = []
        self.flushes: list[tuple[float, str]] = []
        """(ms, item) of each flush; an empty id means all items."""
        self.faults: list[str] = []
        """Messages of the server that the protocol does not allow."""
        self.closed_with: tuple[int, str] | None = None
        """The server's close code and reason; None while the socket is open."""
        self.call_id = ""
        self.call_began_s = 0.0
        """The loop's time at 0 ms of the call."""
        self.on_change: Callable[[], None] = lambda: None
        self._make_pair = partial(
            SocketPair,
            app,
            f"/ws/{name}/{session_id}",
            subprotocols=() if client == "agentscope1" else (SUBPROTOCOL,),
            query=query,
            direct=direct,
            tap=tap,
            on_frame=self._receive,
            on_close=self._closed,
        )
        self._config = config or {}
        self.ear = Ear(
            aligned=aligned,
            reports=client != "agentscope1",
            can_report=lambda: self._line == "open" and not self._ended,
            acknowledge=self._acknowledge,
        )
        """Plays the agents' speech."""
        self._outbox = Outbox(client, name)
        chance = Random(f"{seed} {name}")
        self.uplink = Uplink(chance)
        """The connection to the server; its `network` may be set at any time."""
        self._starts_after_s = starts_after_ms / 1000
        self._loop = asyncio.get_running_loop()
        # -- the line
        self._pairs: list[SocketPair] = []
        self._line: Literal["away", "asking", "open"] = "away"
        self._from_store = False
        self._token: str | None = None
        self._last_seq = 0
        self._ended = False
        self._refusal: str | None = None
        self._parts: dict[int, Speech] = {}
        self._cursors: dict[str, int] = {}
        """Place of the next JSON audio delta in each item."""
        self._settled: asyncio.Future[None] | None = None
        # -- the microphone
        self._microphone = Microphone(background, chance.getrandbits(32))
        self._echoes = False
        self._frame_timer: asyncio.TimerHandle | None = None
        self._hears_from_s = 0.0

    # -- its life --------------------------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether no more will come: the call has ended, or the server has closed the socket."""
        return self._ended or self.closed_with is not None

    @property
    def events(self) -> list[Event]:
        """All received events, without their times."""
        return [one.event for one in self.received]

    def ms(self, at_s: float | None = None) -> float:
        """Convert the loop's time (default: now) to ms of the call."""
        return round(((self._loop.time() if at_s is None else at_s) - self.call_began_s) * 1000, 3)

    async def join(self) -> None:
        """Start a call and switch the microphone on. Returns once the agent is ready.

        Raises ScriptFailure where no call is made, ConnectionRefusedError where the server refuses the socket. After a
        cancellation, `close` ends what remains.
        """
        config = dict(self._config)
        if self.client != "agentscope1":
            config |= {
                "audio_frames": "binary" if self.client == "realtime.v1" else "json",
                "input_audio_format": {"type": "audio/pcm", "rate": INPUT_HZ},
                "output_audio_format": {"type": "audio/pcm", "rate": OUTPUT_HZ},
            }
        await self._connect({"type": "client_session_create", "config": config}, "open")
        self._hears_from_s = self.ear.next_report_s = self._loop.time() + self._starts_after_s
        self._listen()

    async def leave(self) -> None:
        """End the call, wait for the server's confirmation, and `close`."""
        if not self.is_over and self._line == "open":
            self.send({"type": "client_session_end"})
            await self._settle("client_session_end")
        await self.close()

    async def close(self) -> None:
        """End everything: cancel the timers and wait until the application has finished with its sockets.

        Raises what the application raised.
        """
        if self._frame_timer is not None:
            self._frame_timer.cancel()
            self._frame_timer = None
        self.ear.close()
        self.uplink.clear()
        for pair in self._pairs:
            pair.lose(1000 if self._line == "open" and pair is self._pairs[-1] else LOST)
        self._line = "away"
        for pair in self._pairs:
            await pair.ended()

    def lose(self, *, noticed: bool = True) -> None:
        """Lose the socket: the page notices, is silent, and keeps the user's speech.

        The server notices too where `noticed`, else only once the page has resumed.
        """
        if self._line == "away":
            return
        self._line = "away"
        self.ear.pause()
        pair = self._pairs[-1]
        if noticed:
            pair.lose()
        else:
            pair.cut()
        self.on_change()

    async def come_back(self) -> None:
        """Resume the call on a new socket, with missed events and speech.

        Raises ScriptFailure where the server refuses to resume, ConnectionRefusedError where it refuses the socket.
        """
        if self._line != "away":
            return
        if self._token is None:
            raise ScriptFailure(f"a page of {self.client} cannot come back: it was given no resume_token")
        lost = self._pairs[-1]
        self._parts.clear()
        self._outbox.indexes.clear()
        self._cursors.clear()
        self.closed_with = None
        ask: Event = {"type": "client_session_resume", "token": self._token, "last_seq": self._last_seq}
        now = self._loop.time()
        sounding = self.ear.speaker.sounding(now)
        if sounding is not None:
            ask |= {"played_item_id": sounding, "played_ms": self.ear.position_ms(sounding, now)}
        await self._connect(ask, "asking")
        lost.lose()

    async def _connect(self, first: Event, line: Literal["asking", "open"]) -> None:
        pair = self._make_pair()
        self._pairs.append(pair)
        self._refusal = None
        await pair.open()
        self._line = line
        self._put(json.dumps(first), is_audio=False)
        await self._settle(first["type"])
        self._raise_refusal(first["type"])

    def _raise_refusal(self, asked: str) -> None:
        if self._refusal is not None or self.is_over:
            why = self._refusal or f"closed with {self.closed_with}"
            raise ScriptFailure(f"the server refused the {asked} of {self.name} ({why})")

    async def _settle(self, asked: str) -> None:
        """Wait until the request is done or refused. Raises ScriptFailure where the server does not answer."""
        self._settled = self._loop.create_future()
        try:
            async with asyncio.timeout(ANSWER_TIME_S):
                await self._settled
        except TimeoutError:
            raise ScriptFailure(f"the server did not answer the {asked} of {self.name}") from None
        finally:
            self._settled = None

    def _have_settled(self) -> None:
        if self._settled is not None and not self._settled.done():
            self._settled.set_result(None)

    # -- what comes ------------------------------------------------------------------------------------------------

    def _receive(self, frame: Frame) -> None:
        if (
            self._line == "asking"
            and self._from_store
            and not (type(frame) is str and "server_audio_received" in frame)
        ):
            self._loop.call_soon(self._say_again, None)
        if type(frame) is bytes:
            _, _, index, offset, pcm = frames.unpack(frame)
            speech = self._parts.get(index)
            if speech is None:
                self.faults.append(f"sound of item index {index}, which no server_audio_item told")
            else:
                self._hear(speech, offset, pcm)
        else:
            self._read(msgspec.json.decode(frame))
        self.on_change()

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
        now = self._loop.time()
        match kind:
            case "server_session_created":
                if event.get("resume_token") is not None:
                    self._token = event["resume_token"]
                if not self.call_id:
                    # An item that is announced again after resuming is that of the log.
                    self.call_id = event.get("call_id") or ""
                    self.call_began_s = now - event.get("ts_ms", 0) / 1000
            case "server_session_resumed":
                self._token = event["token"] or self._token
                self._from_store = event["from_store"]
                if event["rewound_to_seq"] is not None:
                    self._rewind(event["rewound_to_seq"])
            case "server_audio_received" if self._line == "asking":
                self._loop.call_soon(self._say_again, event["offset"])
            case "server_audio_item":
                speech = self.ear.item(event)
                self._parts[event["item_index"]] = speech
                self._outbox.indexes[speech.item_id] = event["item_index"]
                if self.client == "json":
                    # JSON audio deltas carry no offset: this event says where they continue.
                    self._cursors[speech.item_id] = event["offset_samples"]
            case "server_audio_flush":
                self._flush(event["item_id"])
            case "agent_input_started" if self.client == "agentscope1":
                # These pages know no flush: they stop at the first word of the user.
                self._flush(None)
            case "agent_item_truncated":
                # Without a flush in a call that was read from a store: its speech will not continue.
                cut = self.ear.speech.get(event["item_id"])
                if cut is not None and not cut.flushed and not self.ear.is_rendered(cut):
                    self._flush(cut.item_id)
            case "agent_response_audio_transcript_delta":
                self.ear.item(event).words.add_text(event["delta"])
            case "agent_response_audio_done":
                self.ear.complete(self.ear.item(event))
            case "agent_response_done":
                for speech in [*self.ear.speech.values()]:
                    if speech.response_id == event["response_id"]:
                        self.ear.complete(speech)
            case "agent_ready":
                if self._line == "open":
                    self._have_settled()
            case "server_session_ended":
                self._ended = True
                self._have_settled()
            case "agent_error" if self._settled is not None and (self._line == "asking" or not self.call_id):
                self._refusal = f"{event['code']}: {event['message']}"
                self._have_settled()
        self.received.append(Received(self.ms(now), event))

    def _rewind(self, seq: int) -> None:
        """Discard what came after `seq`: the server was killed before it had stored it."""
        self._last_seq = seq
        first = next((at for at, one in enumerate(self.received) if one.event.get("seq", 0) > seq), len(self.received))
        gone, self.received = self.received[first:], self.received[:first]
        for item_id in {one.event["item_id"] for one in gone if one.event["type"] == "server_audio_item"}:
            self._flush(item_id)

    def _hear(self, speech: Speech, offset: int, pcm: bytes) -> None:
        new = self.ear.hear(speech, offset, pcm)
        if new is not None:
            place = {"response_id": speech.response_id, "item_id": speech.item_id}
            heard = {"type": "agent_response_audio_delta", **place, "offset_samples": new[0], "n_samples": new[1]}
            self.received.append(Received(self.ms(), heard))

    def _flush(self, item_id: str | None) -> None:
        if self.ear.flush(item_id) or self.client != "agentscope1":
            self.flushes.append((self.ms(), item_id or ""))

    def _closed(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)
        self._line = "away"
        if code in FINAL_CODES:
            self._token = None
        self.ear.pause()
        self._have_settled()
        self.on_change()

    # -- what was heard --------------------------------------------------------------------------------------------

    def played(self) -> list[Played]:
        """Return every stretch of speech that was heard, in order. Complete once the page is silent."""
        return [
            Played(self.name, item_id, at * 1000 / OUTPUT_HZ, self.ms(from_s), len(pcm) / 2 * 1000 / OUTPUT_HZ)
            for item_id, at, from_s, pcm in self.ear.speaker.runs()
            if pcm
        ]

    def lanes(self) -> list[Lane]:
        """Return the user's audio, and the heard audio of each agent."""
        silence = bytes(max(0, round(self.ms(self._hears_from_s) * INPUT_HZ / 1000)) * SAMPLE_BYTES)
        by_agent: dict[str, bytearray] = {}
        for item_id, _, from_s, pcm in self.ear.speaker.runs():
            track = by_agent.setdefault(self.ear.speech[item_id].agent, bytearray())
            begin = round(self.ms(from_s) * OUTPUT_HZ / 1000) * SAMPLE_BYTES
            track.extend(bytes(max(0, begin - len(track))))
            track[begin : begin + len(pcm)] = pcm
        human = Lane(self.name, "human", INPUT_HZ, silence + self._microphone.pcm())
        return [human, *(Lane(agent, "agent", OUTPUT_HZ, bytes(track)) for agent, track in by_agent.items())]

    # -- what it says ----------------------------------------------------------------------------------------------

    def send(self, event: Event) -> None:
        """Send a client event; repeat it if the socket is lost on the way."""
        self._say_event(self._outbox.labelled(event))

    def say(self, pcm: bytes) -> tuple[float, float]:
        """Speak pcm16 at 16 kHz from now on, or after earlier speech.

        Returns when it begins and ends, in seconds of the loop.
        """
        begin = self._microphone.say(pcm, round((self._loop.time() - self._hears_from_s) * INPUT_HZ))
        end = begin + len(pcm) // SAMPLE_BYTES
        return self._hears_from_s + begin / INPUT_HZ, self._hears_from_s + end / INPUT_HZ

    def hear_loudspeaker(self, step: Loudspeaker) -> None:
        """Let the microphone hear what is played, from now on."""
        self._echoes = True
        self._microphone.echo = EchoPath(step, OUTPUT_HZ)

    def _listen(self) -> None:
        at_s = self._hears_from_s + (self._microphone.position + FRAME_SAMPLES) / INPUT_HZ
        self._frame_timer = self._loop.call_at(at_s, self._tick)

    def _tick(self) -> None:
        """Send the next 40 ms of microphone audio."""
        if self._ended:
            self._frame_timer = None
            return
        offset = self._microphone.position
        heard = self.ear.speaker.audible(self._loop.time() - FRAME_MS / 1000, FRAME_MS) if self._echoes else b""
        pcm = self._microphone.next_frame(heard)
        self._listen()
        item_id, played_ms = self.ear.report() if self._line == "open" else (None, 0)
        self._outbox.keep_speech(offset, pcm, item_id, played_ms)
        if self._line == "open":
            for frame, is_audio in self._outbox.speech(offset, pcm, item_id, played_ms):
                self._put(frame, is_audio=is_audio)
        elif self._line == "asking" and self._from_store:
            # A server that has just restored the call need not report where its input ended.
            self._say_again(None)

    def _acknowledge(self, item_id: str, heard_ms: int, flushed: bool) -> None:
        self._say_event(acknowledgement(item_id, heard_ms, flushed))

    def _say_event(self, text: str) -> None:
        """Send it now, or when the page has resumed."""
        self._outbox.keep_event(text, self._microphone.position)
        if self._line == "open":
            self._put(text, is_audio=False)

    def _say_again(self, received: int | None) -> None:
        """Send again what the server lacks, as `Outbox.missing` says."""
        if self._line != "asking":
            return
        self._line = "open"
        for frame, is_audio in self._outbox.missing(received):
            self._put(frame, is_audio=is_audio)
        self._from_store = False
        self.ear.resume()
        self._have_settled()
        self.on_change()

    def _put(self, frame: Frame, *, is_audio: bool) -> None:
        self.uplink.send(self._pairs[-1], frame, is_audio=is_audio)

"""A simulated browser page: microphone, speaker in real time, playback reports, resuming.

The microphone never stops. The page resumes after losing its socket, as docs/protocol.md says under "Coming back".

All timing follows the loop's clock: under a `VirtualLoop` an hour takes seconds and every run is the same. One timer
runs per 40 ms of microphone; the only other one is for the end of an item.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Literal, NamedTuple

import msgspec
import pybase64

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.audio.voice import is_voice
from realtime.dialects import frames
from realtime.dialects.native import SUBPROTOCOL
from realtime.state.truncation import Spoken as Words
from realtime.testing.client.devices import FRAME_SAMPLES, OUTPUT_HZ, OUTPUT_LATENCY_S, Microphone, Speaker
from realtime.testing.client.pair import LOST, Application, Frame, SocketPair, Tap, Uplink
from realtime.testing.client.steps import INPUT_HZ
from realtime.testing.errors import ScriptFailure
from realtime.testing.record import Lane, Played

KEPT_SAMPLES = 10 * INPUT_HZ
"""Samples of its latest speech (10 s) that a page keeps for re-sending."""
ACK_EVERY_S = 0.1
ANSWER_TIME_S = 60.0
"""Seconds that a page waits for the server to make, resume or end a call."""
FINAL_CODES = (1000, 1008, 1011, 4000)
"""Close codes after which a page does not resume."""

Event = dict[str, Any]
Client = Literal["realtime.v1", "json", "agentscope1"]
"""The project's page with binary frames, the same with JSON audio, or an AgentScope 1.x page."""


class Received(NamedTuple):
    """An event received at `at_ms` of the call. Audio is replaced by its `n_samples`."""

    at_ms: float
    event: Event


@dataclass(slots=True)
class Speech:
    """An agent's item at the page. Positions are samples; `acked_ms` is the last reported position."""

    item_id: str
    response_id: str = ""
    agent: str = ""
    received: int = 0
    words: Words = field(default_factory=Words)
    """Its words so far, aligned with its audio as on the server."""
    complete: bool = False
    flushed: bool = False
    acked_ms: int = 0


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
        self.speech: dict[str, Speech] = {}
        """The agents' speech, by item."""
        self.flushes: list[tuple[float, str]] = []
        """(ms, item) of each flush; an empty id means all items."""
        self.late_samples = 0
        """Samples of items that came after their flush."""
        self.missing_samples = 0
        """Samples that never came, although later ones did."""
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
        self.aligned = aligned
        chance = Random(f"{seed} {name}")
        self.uplink = Uplink(chance)
        """The connection to the server; its `network` may be set at any time."""
        self._starts_after_s = starts_after_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._speaker = Speaker()
        # -- the line
        self._pairs: list[SocketPair] = []
        self._line: Literal["away", "asking", "open"] = "away"
        self._from_store = False
        self._token: str | None = None
        self._last_seq = 0
        self._ended = False
        self._refusal: str | None = None
        self._parts: dict[int, Speech] = {}
        self._indexes: dict[str, int] = {}
        self._cursors: dict[str, int] = {}
        """Place of the next JSON audio delta in each item."""
        self._settled: asyncio.Future[None] | None = None
        # -- the microphone
        self._microphone = Microphone(background, chance.getrandbits(32))
        self._frame_timer: asyncio.TimerHandle | None = None
        self._hears_from_s = 0.0
        self._kept: deque[tuple[int, bytes, str | None, int]] = deque(maxlen=KEPT_SAMPLES // FRAME_SAMPLES)
        """(offset, pcm, item played then, its ms) of the latest frames."""
        self._said: deque[tuple[int, str]] = deque()
        """Sent events, each with the sample of the page's speech that followed it."""
        self._event_count = 0
        self._next_ack_s = 0.0
        self._ending: list[Speech] = []
        """Items that are complete but not heard to the end."""
        self._end_timer: asyncio.TimerHandle | None = None

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
        self._hears_from_s = self._next_ack_s = self._loop.time() + self._starts_after_s
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
        for timer in (self._frame_timer, self._end_timer):
            if timer is not None:
                timer.cancel()
        self._frame_timer = self._end_timer = None
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
        self._speaker.pause(self._loop.time())
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
        self._indexes.clear()
        self._cursors.clear()
        self.closed_with = None
        ask: Event = {"type": "client_session_resume", "token": self._token, "last_seq": self._last_seq}
        now = self._loop.time()
        sounding = self._speaker.sounding(now)
        if sounding is not None:
            ask |= {"played_item_id": sounding, "played_ms": self._heard_ms(sounding, now)}
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
            speech = self._of_item(event)
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
                    self._rewind(event["rewound_to_seq"], now)
            case "server_audio_received" if self._line == "asking":
                self._loop.call_soon(self._say_again, event["offset"])
            case "server_audio_item":
                speech = self._of_item(event)
                self._parts[event["item_index"]] = speech
                self._indexes[speech.item_id] = event["item_index"]
                if self.client == "json":
                    # JSON audio deltas carry no offset: this event says where they continue.
                    self._cursors[speech.item_id] = event["offset_samples"]
            case "server_audio_flush":
                self._flush(event["item_id"], now)
            case "agent_input_started" if self.client == "agentscope1":
                # These pages know no flush: they stop at the first word of the user.
                self._flush(None, now)
            case "agent_item_truncated":
                # Without a flush in a call that was read from a store: its speech will not continue.
                cut = self.speech.get(event["item_id"])
                if cut is not None and not cut.flushed and not self._is_rendered(cut, now):
                    self._flush(cut.item_id, now)
            case "agent_response_audio_transcript_delta":
                self._of_item(event).words.add_text(event["delta"])
            case "agent_response_audio_done":
                self._complete(self._of_item(event))
            case "agent_response_done":
                for speech in [*self.speech.values()]:
                    if speech.response_id == event["response_id"]:
                        self._complete(speech)
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

    def _rewind(self, seq: int, now: float) -> None:
        """Discard what came after `seq`: the server was killed before it had stored it."""
        self._last_seq = seq
        first = next((at for at, one in enumerate(self.received) if one.event.get("seq", 0) > seq), len(self.received))
        gone, self.received = self.received[first:], self.received[:first]
        for item_id in {one.event["item_id"] for one in gone if one.event["type"] == "server_audio_item"}:
            self._flush(item_id, now)

    def _of_item(self, event: Event) -> Speech:
        item_id = event["item_id"]
        speech = self.speech.get(item_id)
        if speech is None:
            speech = self.speech[item_id] = Speech(item_id, words=Words(aligned=self.aligned))
        if event.get("response_id") and not speech.response_id:
            speech.response_id, speech.agent = event["response_id"], event.get("agent_name") or ""
        return speech

    def _hear(self, speech: Speech, offset: int, pcm: bytes) -> None:
        """Play more audio, unless already played or of a flushed item."""
        if is_voice(speech.item_id):
            return  # Another human in a room, heard live beside the agents.
        now = self._loop.time()
        known = speech.received - offset
        if known > 0:
            pcm, offset = pcm[known * SAMPLE_BYTES :], speech.received
            if not pcm:
                return
        elif known < 0:
            self.missing_samples -= known
        n_samples = len(pcm) // SAMPLE_BYTES
        speech.received = offset + n_samples
        speech.words.audio_ms = speech.received * 1000 / OUTPUT_HZ
        if speech.flushed:
            self.late_samples += n_samples
        else:
            self._speaker.play(speech.item_id, offset, pcm, now)
        place = {"response_id": speech.response_id, "item_id": speech.item_id}
        event = {"type": "agent_response_audio_delta", **place, "offset_samples": offset, "n_samples": n_samples}
        self.received.append(Received(self.ms(now), event))

    def _closed(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)
        self._line = "away"
        if code in FINAL_CODES:
            self._token = None
        self._speaker.pause(self._loop.time())
        self._have_settled()
        self.on_change()

    # -- what was heard --------------------------------------------------------------------------------------------

    def heard_ms(self, *items: str) -> float:
        """Return the ms of these items together that have been heard."""
        now = self._loop.time()
        return sum(self._speaker.heard(item_id, now) for item_id in items) * 1000 / OUTPUT_HZ

    def heard_at(self, items: Iterable[str], ms: float) -> float | None:
        """Return the loop's time when this much of these items is heard; None if not queued."""
        return self._speaker.heard_at(items, round(ms * OUTPUT_HZ / 1000))

    @property
    def silent_at(self) -> float | None:
        """Return the loop's time when all received audio has been heard; None while the speaker waits."""
        return self._speaker.ends_at()

    def played(self) -> list[Played]:
        """Return every stretch of speech that was heard, in order. Complete once the page is silent."""
        return [
            Played(self.name, item_id, at * 1000 / OUTPUT_HZ, self.ms(from_s), len(pcm) / 2 * 1000 / OUTPUT_HZ)
            for item_id, at, from_s, pcm in self._speaker.runs()
            if pcm
        ]

    def lanes(self) -> list[Lane]:
        """Return the user's audio, and the heard audio of each agent."""
        silence = bytes(max(0, round(self.ms(self._hears_from_s) * INPUT_HZ / 1000)) * SAMPLE_BYTES)
        by_agent: dict[str, bytearray] = {}
        for item_id, _, from_s, pcm in self._speaker.runs():
            track = by_agent.setdefault(self.speech[item_id].agent, bytearray())
            begin = round(self.ms(from_s) * OUTPUT_HZ / 1000) * SAMPLE_BYTES
            track.extend(bytes(max(0, begin - len(track))))
            track[begin : begin + len(pcm)] = pcm
        human = Lane(self.name, "human", INPUT_HZ, silence + self._microphone.pcm())
        return [human, *(Lane(agent, "agent", OUTPUT_HZ, bytes(track)) for agent, track in by_agent.items())]

    def _heard_ms(self, item_id: str, now: float) -> int:
        return self._speaker.heard(item_id, now) * 1000 // OUTPUT_HZ

    def _flush(self, item_id: str | None, now: float) -> None:
        """Silence one item, or all of them, as the server requests."""
        if item_id is not None and item_id not in self.speech:
            self._of_item({"item_id": item_id})
        named = [self.speech[item_id]] if item_id is not None else [*self.speech.values()]
        hit = [one for one in named if not one.flushed and not (one.complete and self._is_rendered(one, now))]
        for one in hit:
            one.flushed = True
        self._speaker.flush([one.item_id for one in hit], now)
        if hit or self.client != "agentscope1":
            self.flushes.append((self.ms(now), item_id or ""))
        for one in hit:
            if one.received and self.client != "agentscope1":
                # Audio on its way to the ear will still be heard: the acknowledgement of a flush includes it.
                heard_ms = self._heard_ms(one.item_id, now + OUTPUT_LATENCY_S)
                self._loop.call_soon(self._acknowledge, one, heard_ms, True)
        self._set_end_timer()

    def _is_rendered(self, speech: Speech, now: float) -> bool:
        ends_at = self._speaker.ends_at([speech.item_id])
        return ends_at is not None and ends_at - OUTPUT_LATENCY_S <= now

    def _acknowledge(self, speech: Speech, heard_ms: int, flushed: bool = False) -> None:
        speech.acked_ms = heard_ms
        self._say_event(_ack(speech.item_id, heard_ms, flushed))

    def _complete(self, speech: Speech) -> None:
        if not speech.complete:
            speech.complete = speech.words.audio_complete = True
            if speech.received and self.client != "agentscope1":
                self._ending.append(speech)
                self._set_end_timer()

    def _set_end_timer(self) -> None:
        """Set the timer for the next end of a complete item."""
        if self._end_timer is not None:
            self._end_timer.cancel()
            self._end_timer = None
        self._ending = [one for one in self._ending if not one.flushed]
        ends = [at for at in (self._speaker.ends_at([one.item_id]) for one in self._ending) if at is not None]
        if ends:
            self._end_timer = self._loop.call_at(max(min(ends), self._loop.time()), self._end_items)

    def _end_items(self) -> None:
        """Acknowledge the end of fully heard items, each by its own event."""
        now = self._loop.time()
        still: list[Speech] = []
        for one in self._ending:
            at = self._speaker.ends_at([one.item_id])
            if at is None or at > now + 1e-9:
                still.append(one)
            elif self._line == "open" and not self._ended:
                self._acknowledge(one, self._heard_ms(one.item_id, now))
        self._ending = still
        self._set_end_timer()

    # -- what it says ----------------------------------------------------------------------------------------------

    def send(self, event: Event) -> None:
        """Send a client event; repeat it if the socket is lost on the way."""
        if self.client != "agentscope1" and "event_id" not in event:
            self._event_count += 1
            event = {**event, "event_id": f"{self.name}_{self._event_count}"}
        self._say_event(json.dumps(event))

    def say(self, pcm: bytes) -> tuple[float, float]:
        """Speak pcm16 at 16 kHz from now on, or after earlier speech.

        Returns when it begins and ends, in seconds of the loop.
        """
        begin = self._microphone.say(pcm, round((self._loop.time() - self._hears_from_s) * INPUT_HZ))
        end = begin + len(pcm) // SAMPLE_BYTES
        return self._hears_from_s + begin / INPUT_HZ, self._hears_from_s + end / INPUT_HZ

    def _listen(self) -> None:
        at_s = self._hears_from_s + (self._microphone.position + FRAME_SAMPLES) / INPUT_HZ
        self._frame_timer = self._loop.call_at(at_s, self._tick)

    def _tick(self) -> None:
        """Send the next 40 ms of microphone audio."""
        if self._ended:
            self._frame_timer = None
            return
        offset, pcm = self._microphone.position, self._microphone.next_frame()
        self._listen()
        item_id, played_ms = self._news_of_playback() if self._line == "open" else (None, 0)
        self._kept.append((offset, pcm, item_id, played_ms))
        if self._line == "open":
            self._say_speech(offset, pcm, item_id, played_ms)
        elif self._line == "asking" and self._from_store:
            # A server that has just restored the call need not report where its input ended.
            self._say_again(None)

    def _news_of_playback(self) -> tuple[str | None, int]:
        """Return the audible item's heard ms, if a report is due."""
        now = self._loop.time()
        # Times are sums of fractions: in two runs of one call the same report is due at the same frame.
        if now < self._next_ack_s - 1e-6 or self.client == "agentscope1":
            return None, 0
        item_id = self._speaker.sounding(now)
        if item_id is None:
            return None, 0
        speech, heard_ms = self.speech[item_id], self._heard_ms(item_id, now)
        if speech.flushed or heard_ms <= speech.acked_ms:
            return None, 0
        self._next_ack_s = max(self._next_ack_s + ACK_EVERY_S, now)
        speech.acked_ms = heard_ms
        return item_id, heard_ms

    def _say_speech(self, offset: int, pcm: bytes, item_id: str | None, played_ms: int) -> None:
        if self.client == "realtime.v1":
            index = self._indexes.get(item_id) if item_id is not None else None
            if index is not None:
                self._put(frames.pack_played(0, index, played_ms, offset, pcm), is_audio=True)
                return
        if item_id is not None:
            self._put(_ack(item_id, played_ms), is_audio=False)
        if self.client == "realtime.v1":
            self._put(frames.pack(frames.CLIENT_AUDIO, 0, 0, offset, pcm), is_audio=True)
            return
        place = f'"offset":{offset},' if self.client == "json" else ""
        audio = pybase64.b64encode_as_string(pcm)
        self._put(f'{{"type":"client_audio_append",{place}{_FORMAT},"audio":"{audio}"}}', is_audio=True)

    def _say_event(self, text: str) -> None:
        """Send it now, or when the page has resumed."""
        if self._kept:
            while self._said and self._said[0][0] < self._kept[0][0]:
                self._said.popleft()
        self._said.append((self._microphone.position, text))
        if self._line == "open":
            self._put(text, is_audio=False)

    def _say_again(self, received: int | None) -> None:
        """Send again what the server lacks.

        That is the speech from sample `received` on, with every event in its place. None: the server does not know what
        it has of the speech.
        """
        if self._line != "asking":
            return
        self._line = "open"
        said = deque(self._said)
        for offset, pcm, item_id, played_ms in [*self._kept]:
            while said and said[0][0] <= offset:
                self._put(said.popleft()[1], is_audio=False)
            if received is not None and offset + FRAME_SAMPLES > received:
                self._say_speech(offset, pcm, item_id, played_ms)
        for _, text in said:
            self._put(text, is_audio=False)
        self._from_store = False
        self._speaker.resume(self._loop.time())
        self._set_end_timer()
        self._have_settled()
        self.on_change()

    def _put(self, frame: Frame, *, is_audio: bool) -> None:
        self.uplink.send(self._pairs[-1], frame, is_audio=is_audio)


_FORMAT = f'"format":{{"type":"audio/pcm","rate":{INPUT_HZ}}}'


def _ack(item_id: str, played_ms: int, flushed: bool = False) -> str:
    return json.dumps({"type": "client_playback_ack", "item_id": item_id, "played_ms": played_ms, "flushed": flushed})

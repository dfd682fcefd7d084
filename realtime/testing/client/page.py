"""A simulated browser page: microphone, speaker in real time, playback reports, resuming.

The microphone never stops. The page resumes after losing its socket, as docs/protocol.md says under "Coming back".

All timing follows the loop's clock: under a `VirtualLoop` an hour takes seconds and every run is the same. One timer
runs per 40 ms of microphone; the only other one is for the end of an item.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from realtime.audio.pcm import SAMPLE_BYTES
from realtime.client.ear import Ear, Speech
from realtime.client.outbox import INPUT_HZ, Client, Frame
from realtime.client.session import ClientSession, Event
from realtime.client.speaker import OUTPUT_HZ
from realtime.event.frames import SUBPROTOCOL
from realtime.testing.client.devices import FRAME_MS, FRAME_SAMPLES, Microphone
from realtime.testing.client.echo_path import EchoPath
from realtime.testing.client.pair import LOST, Application, SocketPair, Tap, Uplink
from realtime.testing.client.steps import Loudspeaker
from realtime.testing.errors import ScriptFailure
from realtime.testing.record import Lane, Played

ANSWER_TIME_S = 60.0
"""Seconds for the server to make, resume or end a page's call."""
FINAL_CODES = (1000, 1008, 1011, 4000)
"""Close codes after which a page does not resume."""


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
        self.on_change: Callable[[], None] = lambda: None
        self._session = ClientSession(self, name, client=client, aligned=aligned)
        self._make_pair = partial(
            SocketPair,
            app,
            f"/ws/{name}/{session_id}",
            subprotocols=() if client == "agentscope1" else (SUBPROTOCOL,),
            query=query,
            direct=direct,
            tap=tap,
            on_frame=self._session.receive,
            on_close=self._closed,
        )
        self._config = config or {}
        chance = Random(f"{seed} {name}")
        self.uplink = Uplink(chance)
        """The connection to the server; its `network` may be set at any time."""
        self._starts_after_s = starts_after_ms / 1000
        self._loop = asyncio.get_running_loop()
        # -- the line
        self._pairs: list[SocketPair] = []
        # -- the microphone
        self._microphone = Microphone(background, chance.getrandbits(32))
        self._echoes = False
        self._frame_timer: asyncio.TimerHandle | None = None
        self._hears_from_s = 0.0

    @property
    def ear(self) -> Ear:
        """Plays the agents' speech."""
        return self._session.ear

    @property
    def call_id(self) -> str:
        """The server's name of the call; empty before there is one."""
        return self._session.call_id

    @property
    def call_began_s(self) -> float:
        """The loop's time at 0 ms of the call."""
        return self._session.call_began_s

    # -- its life --------------------------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether no more will come: the call has ended, or the server has closed the socket."""
        return self._session.ended or self.closed_with is not None

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
        await self._connect("client_session_create")
        self._hears_from_s = self.ear.next_report_s = self._loop.time() + self._starts_after_s
        self._listen()

    async def leave(self) -> None:
        """End the call, wait for the server's confirmation, and `close`."""
        if not self.is_over and self._session.line == "open":
            self._catch_up()
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
        self._session.close()
        self.uplink.clear()
        for pair in self._pairs:
            pair.lose(1000 if self._session.line == "open" and pair is self._pairs[-1] else LOST)
        self._session.line = "away"
        for pair in self._pairs:
            await pair.ended()

    def lose(self, *, noticed: bool = True) -> None:
        """Lose the socket: the page notices, is silent, and keeps the user's speech.

        The server notices too where `noticed`, else only once the page has resumed.
        """
        if self._session.line == "away":
            return
        self._session.lose()
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
        if self._session.line != "away":
            return
        if self._session.token is None:
            raise ScriptFailure(f"a page of {self.client} cannot come back: it was given no resume_token")
        lost = self._pairs[-1]
        self.closed_with = None
        await self._connect("client_session_resume")
        lost.lose()

    async def _connect(self, asked: str) -> None:
        pair = self._make_pair()
        self._pairs.append(pair)
        await pair.open()
        if asked == "client_session_create":
            self._session.create(self._config)
        else:
            self._session.resume()
        await self._settle(asked)
        refusal = self._session.refusal
        if refusal is not None or self.is_over:
            why = f"{refusal.code}: {refusal.message}" if refusal is not None else f"closed with {self.closed_with}"
            raise ScriptFailure(f"the server refused the {asked} of {self.name} ({why})")

    async def _settle(self, asked: str) -> None:
        """Wait until the request is done or refused. Raises ScriptFailure where the server does not answer."""
        try:
            await self._session.settle(ANSWER_TIME_S)
        except TimeoutError:
            raise ScriptFailure(f"the server did not answer the {asked} of {self.name}") from None

    # -- what comes ------------------------------------------------------------------------------------------------

    def put(self, frame: Frame, is_audio: bool) -> None:
        """See `realtime.client.session.Sockets`, also for the following."""
        self.uplink.send(self._pairs[-1], frame, is_audio=is_audio)

    def took(self, event: Event) -> None:
        self.received.append(Received(self.ms(), event))

    def heard(self, speech: Speech, offset: int, n_samples: int) -> None:
        place = {"response_id": speech.response_id, "item_id": speech.item_id}
        heard = {"type": "agent_response_audio_delta", **place, "offset_samples": offset, "n_samples": n_samples}
        self.received.append(Received(self.ms(), heard))

    def live_voice(self, speech: Speech, offset: int, pcm: bytes) -> None:
        """Humans of a room are heard by their own pages alone."""

    def flushed(self, item_id: str | None) -> None:
        self.flushes.append((self.ms(), item_id or ""))

    def failed(self, fault: str) -> None:
        self.faults.append(fault)

    def changed(self) -> None:
        self.on_change()

    def rewound(self, seq: int) -> None:
        """Discard what came after `seq`."""
        first = next((at for at, one in enumerate(self.received) if one.event.get("seq", 0) > seq), len(self.received))
        gone, self.received = self.received[first:], self.received[:first]
        for item_id in {one.event["item_id"] for one in gone if one.event["type"] == "server_audio_item"}:
            self._session.flush(item_id)

    def _closed(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)
        if code in FINAL_CODES:
            self._session.token = None
        self._session.lose()
        self._session.have_settled()
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
        self._session.send(event)

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

    def _catch_up(self) -> None:
        """Send the frames whose time has passed: in real time, a busy machine runs their timer late."""
        while self._frame_timer is not None and self._frame_timer.when() < self._loop.time():
            self._frame_timer.cancel()
            self._tick()

    def _tick(self) -> None:
        """Send the next 40 ms of microphone audio."""
        if self._session.ended:
            self._frame_timer = None
            return
        heard = self.ear.speaker.audible(self._loop.time() - FRAME_MS / 1000, FRAME_MS) if self._echoes else b""
        pcm = self._microphone.next_frame(heard)
        self._listen()
        self._session.speak(pcm)

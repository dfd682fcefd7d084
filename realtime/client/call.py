"""A call with a realtime server: `async with connect(url) as call`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec
import pybase64

from realtime.audio.pcm import PcmCarry
from realtime.client.address import socket_address
from realtime.client.captions import Caption, Captions
from realtime.client.ear import Speech
from realtime.client.exchange import Exchange
from realtime.client.gain import Gain
from realtime.client.line import Line
from realtime.client.microphone import RecordedMicrophone
from realtime.client.outbox import INPUT_HZ, Frame
from realtime.client.session import ClientSession, Event
from realtime.client.speaker import OUTPUT_HZ, Speaker
from realtime.client.voices import LiveVoices
from realtime.errors import BadOption, CallError, UsageError
from realtime.event import ClientEvent, ServerEvent, SessionConfig
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.client import ClientResponseCreateEvent
from realtime.message import Msg, PermissionRule, ToolCallBlock
from realtime.options import checked
from realtime.runtime import Runtime, iso
from realtime.state.replies import ReplyProjection, messages
from realtime.tool import Toolkit

_Words = s.AgentResponseAudioTranscriptDeltaEvent

State = Literal["connecting", "open", "reconnecting", "over"]

READY_S = 60.0
"""Seconds for the server to make or resume a call."""
LEAVE_S = 1.0
"""Seconds for the server to confirm the end of a call."""
EXTRA_S = 2.0
"""Tries go on for this much longer than the server waits: its wait begins when it notices the loss."""
FIRST_DELAY_S, LONGEST_DELAY_S = 0.25, 4.0
STEADY_S = 1.0
"""A socket that held for less counts as a failed try."""
REPORT_S = 0.1
GREETING_S = 10.0
"""Seconds that a greeting is waited for."""
MAX_EVENTS = 10_000
"""Events that wait for a program which does not read them; the oldest go."""
PIECE_BYTES = 6_400
"""The most speech in one frame: 200 ms."""
BLOCK_MS = 20
"""The length of the blocks of `Call.audio`."""
MOST_BEHIND_S = 1.0
"""A reader of `Call.audio` that is later than this skips ahead."""

NORMAL, REFUSED, FAULT, ELSEWHERE = 1000, 1008, 1011, 4000
NO_PONG = "keepalive ping timeout"
"""A server's reason for closing a silent socket: the call waits."""


@checked()
@asynccontextmanager
async def connect(
    url: str,
    *,
    config: SessionConfig | Mapping[str, Any] | None = None,
    tools: Iterable[Callable[..., Any]] | Toolkit = (),
    user: str = "user",
    token: str | None = None,
    output_latency_s: float = 0.0,
    runtime: Runtime | None = None,
) -> AsyncIterator[Call]:
    """Call an agent; the block is the call.

    `url` is what `realtime serve` prints, that of a room (`.../rooms/demo`), or the address of a WebSocket of the
    native protocol. `config` has the settings of the call; other audio formats than those of this client are
    refused: pcm16, mono, 16 kHz there and 24 kHz back. `tools` are functions that run here (see
    `realtime.tool.Toolkit`).
    `user` is this client's label (in a room its name), `token` what the server asks for, if the url does not have it.
    `output_latency_s` is the time from a block of `Call.audio` to the ear.

    A lost network does not end the call: it is resumed as soon as the server can be reached, everything that was said
    meanwhile is said, and everything that was missed comes. Leaving the block ends the call; so does cancelling, within
    about a second. Raises CallError where the call cannot be made, UsageError for a wrong address or setting.
    """
    if not user.strip():
        raise BadOption("user is empty: give this client a label, or leave it out")
    settings = SessionConfig.of(config)
    _check_formats(msgspec.to_builtins(settings))
    call = Call(
        socket_address(url, user, token),
        settings,
        tools if isinstance(tools, Toolkit) else Toolkit(tools),
        user=user,
        output_latency_s=output_latency_s,
        runtime=runtime or Runtime.of_loop(asyncio.get_running_loop()),
    )
    try:
        await call._begin()
        yield call
    finally:
        await call._end()


class Call:
    """A running call; made by `connect`. Methods that send return at once.

    While the network is away they keep what they are given: the last 10 s of speech, the last 64 events.

    `async for event in call` gives the server's events from the beginning, to one reader; it ends with the call, and
    raises CallError where the call was lost for good.
    """

    def __init__(
        self,
        address: str,
        config: SessionConfig,
        toolkit: Toolkit,
        *,
        user: str,
        output_latency_s: float,
        runtime: Runtime,
    ) -> None:
        self.model: dict[str, Any] = {}
        """What `agent_ready` says of the model: `provider`, `model`, `voice` and its abilities."""
        self.agent_name = ""
        self.end_reason: str | None = None
        """The server's word for why the call ended; None while it goes on."""
        self.dropped_events = 0
        """Events that the program did not read in time."""
        self._address = address
        self._toolkit = toolkit
        self._runtime = runtime
        self._loop = asyncio.get_running_loop()
        self._config = _written(config, toolkit)
        self._session = ClientSession(self, runtime.new_id(user), speaker=Speaker(output_latency_s, forgets=True))
        self._captions = Captions(self._session.ear)
        self._exchange = Exchange()
        self._gain = Gain()
        self._voices = LiveVoices(output_latency_s)
        self._carry = PcmCarry()
        self._microphone = RecordedMicrophone(self._session.speak, room=config.detection.authority != "client")
        self._uses_microphone = False
        self._line: Line | None = None
        self._dropped_frames = 0
        self._state: State = "connecting"
        self._failure: CallError | None = None
        self._log: list[ServerEvent] = []
        """The events with a `seq`, for `messages`."""
        self._events: deque[ServerEvent] = deque(maxlen=MAX_EVENTS)
        self._is_read = False
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._began_wall_s = runtime.wall_now()
        self._resume_within_s = 0.0
        self._give_up_s = 0.0
        self._retry_after_s: float | None = None
        """When a server that restarts may be back, by its goodbye."""

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def call_id(self) -> str:
        """The server's name of the call."""
        return self._session.call_id

    @property
    def dropped_frames(self) -> int:
        """Pieces of speech that came too late for a slow network."""
        return self._dropped_frames + (self._line.dropped_frames if self._line is not None else 0)

    @property
    def state(self) -> State:
        """Whether what is sent arrives: `open`; `reconnecting`: later; `over`: never."""
        return self._state

    def messages(self) -> list[Msg]:
        """Return the conversation so far, as the server stores it: each turn is a message with what was heard."""
        began_s = self._began_wall_s
        projection = ReplyProjection(
            self.call_id,
            created_at_of=lambda ts_ms: iso(began_s + ts_ms / 1000),
            client_tools=[one.name for one in self._toolkit.declarations()],
        )
        replies = [reply for event in self._log for reply in projection.push(event)]
        return messages([*replies, *projection.settle()])

    def captions(self) -> list[Caption]:
        """Return the words of each turn, in step with the voice."""
        return self._captions.all(self._loop.time())

    # -- what is said ----------------------------------------------------------------------------------------------

    def send_text(self, text: str) -> None:
        """Type a turn. The agent answers it."""
        self.send_event({"type": "client_text_append", "text": text})

    def send_image(self, image: bytes, media_type: str = "image/jpeg") -> None:
        """Show the model a picture, which belongs to the next turn. Models without eyes answer with an error event."""
        data = pybase64.b64encode_as_string(image)
        self.send_event({"type": "client_image_append", "image": data, "format": {"mime_type": media_type}})

    def send_audio(self, pcm: bytes) -> None:
        """Send the next sound of a microphone, as it is recorded: pcm16 mono at 16 kHz, of any length.

        Go on through silence: the server finds the ends of turns in it. Raises UsageError after `speak`, which has a
        microphone of its own.
        """
        if self._uses_microphone:
            raise UsageError("a call has one microphone: use either send_audio or speak", code="two_microphones")
        if not self._exchange.has_turn:
            self._exchange.asked()
        whole = self._carry.push(pcm)
        for at in range(0, len(whole), PIECE_BYTES):
            self._speak(whole[at : at + PIECE_BYTES])

    async def speak(self, pcm: bytes) -> None:
        """Speak a recording in real time: pcm16 mono at 16 kHz. Returns when it is said; silence follows.

        Cancelling stops in mid-word. Raises CallError where the call is over.
        """
        self._check()
        if not self._uses_microphone:
            self._uses_microphone = True
            self._spawn(self._microphone.run(), "recorded microphone")
        self._exchange.asked()
        await self._unless_over(self._microphone.say(self._carry.push(pcm)))

    def commit(self) -> None:
        """End the user's turn, as a button does that is released (push-to-talk)."""
        self.send_event({"type": "client_audio_commit"})

    def interrupt(self) -> None:
        """Stop the agent, as a button does."""
        self.send_event({"type": "client_response_cancel"})

    def respond(self, request: ClientResponseCreateEvent | None = None) -> None:
        """Ask for an answer now, with settings for this one."""
        self.send_event(request or ClientResponseCreateEvent())

    def answer_tool(
        self, call: ToolCallBlock, allow: bool, reason: str = "", *, rules: Sequence[PermissionRule] = ()
    ) -> None:
        """Allow or refuse a tool of the server that asks; the model reads the reason of a refusal.

        `rules` are those of `call.suggested_rules` that the user accepts with it.
        """
        answer = {"id": call.id, "name": call.name, "output": reason, "confirmed": allow}
        accepted = {"rules": msgspec.to_builtins([*rules])} if rules else {}
        self.send_event({"type": "client_tool_result", **answer, **accepted})

    def send_event(self, event: ClientEvent | Event) -> None:
        """Send an event of the protocol, as an object or a dict. Raises CallError where the call is over."""
        self._check()
        written = event if isinstance(event, dict) else _without_none(event.model_dump())
        _check_formats(written.get("config"))
        self._exchange.sent(written)
        self._session.send(written)

    # -- what is heard ---------------------------------------------------------------------------------------------

    @property
    def audio(self) -> AsyncIterator[bytes]:
        """What is heard, from now on and in real time: 20 ms of pcm16 mono at 24 kHz after the other.

        Silence is part of it. An interruption empties it at once, and a lost network makes it wait. It counts as heard
        whether it is read or not; a reader who stays behind by a second goes on at the present. Ends with the call.
        """
        return self._sound()

    async def _sound(self) -> AsyncIterator[bytes]:
        speaker, block_s = self._session.ear.speaker, BLOCK_MS / 1000
        at_s = self._loop.time()
        while self._state != "over":
            await asyncio.sleep(at_s + block_s - self._loop.time())
            if self._loop.time() - at_s > MOST_BEHIND_S:
                at_s = self._loop.time() - block_s
            from_s = at_s + speaker.latency_s
            block = self._gain.apply(speaker.audible(from_s, BLOCK_MS), BLOCK_MS)
            yield self._voices.mix_into(block, from_s, BLOCK_MS)
            at_s += block_s

    async def answered(self) -> str:
        """Wait until the last turn is answered and the answer heard; return the heard words of this answer.

        A greeting, or an answer that the turn cut, is not among them. Returns an empty text where nothing is answered.
        Raises UsageError where nothing was said yet, and CallError where the call ends before, or the answer fails.
        """
        if not self._exchange.has_turn and self._exchange.error is None:
            raise UsageError(
                "nothing was said yet that could be answered: type or speak first; `greeted` waits for a greeting",
                code="no_turn",
            )
        await self._all_is_heard()
        return self._heard_words(self._exchange.items)

    async def greeted(self, within_s: float = GREETING_S) -> str:
        """Wait until the agent's greeting is heard; return the heard words.

        Returns an empty text where none begins within this time. Raises CallError where the call ends before.
        """
        give_up_s = self._loop.time() + within_s
        while not self._exchange.greets:
            self._check()
            left_s = give_up_s - self._loop.time()
            if left_s <= 0:
                return ""
            await _either(self._news, left_s)
        await self._all_is_heard()
        return self._heard_words(self._exchange.greeting)

    async def _all_is_heard(self) -> None:
        """Wait until nothing more is to come, and what came is heard. Raises CallError."""
        ear = self._session.ear
        while True:
            news = self._news
            error = self._exchange.error
            if self._exchange.is_answered:
                if error is not None and not self._exchange.items:
                    raise CallError(error.message, code=error.code, retryable=error.retryable)
                silent_at, now = ear.silent_at, self._loop.time()
                if silent_at is not None and silent_at <= now and self._state != "reconnecting":
                    return
                self._check()
                if silent_at is not None:
                    await _either(news, max(silent_at - now, 0.005))
                    continue
            self._check()
            await news.wait()

    def _heard_words(self, items: dict[str, str]) -> str:
        said = {one.item_id: one.heard for one in self.captions()}
        return " ".join(filter(None, (said.get(item_id, text).strip() for item_id, text in items.items())))

    async def __aiter__(self) -> AsyncIterator[ServerEvent]:
        if self._is_read:
            raise UsageError("the events of a call have one reader", code="two_readers")
        self._is_read = True
        try:
            while True:
                news = self._news
                while self._events:
                    yield self._events.popleft()
                if self._state == "over":
                    if self._failure is not None:
                        raise self._failure
                    return
                await news.wait()
        finally:
            self._is_read = False

    # -- its life --------------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        line = await Line.open(self._address)
        self._spawn(self._keep_line(line), "client socket")
        self._spawn(self._keep_reporting(), "client reports")
        try:
            self._line = line
            self._session.create(self._config)
            await self._session.settle(READY_S)
        except TimeoutError:
            raise CallError(f"the server made no call within {READY_S:g} s", code="timeout", retryable=True) from None
        refusal, error = self._session.refusal, self._exchange.error
        if refusal is not None:
            raise CallError(refusal.message, code=refusal.code, retryable=refusal.retryable)
        if self._failure is not None:
            raise self._failure
        if self._session.ended:
            told = error.message if error is not None else f"the server ended the call at once ({self.end_reason})"
            raise CallError(told, code=error.code if error is not None else "ended")
        self._state = "open"
        self._session.ear.next_report_s = self._loop.time()

    async def _end(self) -> None:
        line, was_over = self._line, self._state == "over"
        try:
            if line is not None and self._session.line == "open" and not was_over:
                self._session.send({"type": "client_session_end"})
                await self._session.settle(LEAVE_S)
        except TimeoutError:
            pass
        finally:
            self._over(None)
            if line is not None:
                await line.close(NORMAL)
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
            self._session.close()

    async def _keep_line(self, line: Line) -> None:
        """Exchange frames and resume the call until it is over."""
        while True:
            opened_s = self._loop.time()
            code, reason = await line.run(self._session.receive)
            self._line = None
            self._dropped_frames += line.dropped_frames
            failure = self._why_final(code, reason)
            if failure is not None or self._session.ended or self._session.token is None:
                return self._over(failure)
            self._session.lose()
            if self._state == "open":
                self._give_up_s = self._loop.time() + self._resume_within_s + EXTRA_S
            self._set_state("reconnecting")
            found = await self._open_again(0 if self._loop.time() - opened_s >= STEADY_S else 1)
            if found is None:
                return self._over(
                    CallError("the network was away for longer than the call waits", code="lost", retryable=True)
                )
            line = self._line = found
            self._session.resume()

    async def _open_again(self, attempt: int) -> Line | None:
        """Return a new socket; None: none could be opened in time."""
        while True:
            delay_s = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2 ** (attempt - 1)) if attempt else 0.0
            delay_s = max(delay_s * (0.5 + self._runtime.random.random() / 2), self._retry_after_s or 0.0)
            self._retry_after_s = None
            if self._loop.time() + delay_s > self._give_up_s:
                return None
            await asyncio.sleep(delay_s)
            attempt += 1
            try:
                return await Line.open(self._address)
            except CallError:
                continue

    def _why_final(self, code: int, reason: str) -> CallError | None:
        """Return what ends the call with this close of its socket; None: nothing, or its regular end."""
        refusal = self._session.refusal
        if refusal is not None and not refusal.retryable:
            return CallError(refusal.message, code=refusal.code)
        if self._session.ended or self._retry_after_s is not None:
            return None
        if code == ELSEWHERE:
            return CallError("the call goes on on another socket", code="elsewhere")
        if code == REFUSED or (code == FAULT and reason != NO_PONG):
            return CallError(reason or "the server refused the socket", code="refused")
        if code == NORMAL or self._session.token is None:
            return CallError(f"the server closed the call's socket with {code}: {reason or 'no reason'}", code="lost")
        return None

    async def _keep_reporting(self) -> None:
        """Report what was heard while no speech carries the reports."""
        while True:
            await asyncio.sleep(REPORT_S)
            self._session.report()

    def _over(self, failure: CallError | None) -> None:
        if self._state == "over":
            return
        self._failure = failure
        self._session.lose()
        self._session.have_settled()
        self._set_state("over")

    def _set_state(self, state: State) -> None:
        self._state = state
        self.changed()

    def _check(self) -> None:
        if self._state == "over":
            raise self._failure or CallError(f"the call is over ({self.end_reason or 'ended here'})", code="ended")

    async def _unless_over(self, doing: Any) -> None:
        """Wait for this, but no longer than the call. Raises CallError where the call ends first."""
        task = asyncio.ensure_future(doing)
        try:
            while not task.done():
                news = asyncio.ensure_future(self._news.wait())
                await asyncio.wait([task, news], return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
                if not task.done():
                    self._check()
        finally:
            task.cancel()
            await asyncio.wait([task])

    def _spawn(self, work: Any, name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _speak(self, pcm: bytes) -> None:
        self._check()
        self._session.speak(pcm)

    # -- `realtime.client.session.Sockets` -------------------------------------------------------------------------

    def put(self, frame: Frame, is_audio: bool) -> None:
        """Write a frame; what is lost with the socket is sent again."""
        if self._line is not None:
            self._line.put(frame, is_audio)

    def took(self, event: Event) -> None:
        """Follow an event. One that this version does not know is skipped."""
        try:
            known = s.from_json(event)
        except ValueError:
            return
        match known:
            case s.ServerSessionCreatedEvent():
                self._resume_within_s = (known.resume_within_ms or self._resume_within_s * 1000) / 1000
                self._began_wall_s = self._runtime.wall_now() - known.ts_ms / 1000
            case s.AgentReadyEvent():
                self.model, self.agent_name = known.model or {}, known.agent_name
            case s.ServerGoodbyeEvent() if known.resume_token is not None:
                self._session.token = known.resume_token
                self._retry_after_s = (known.retry_after_ms or 0) / 1000
            case s.AgentEndedEvent() | s.ServerSessionEndedEvent() if self._retry_after_s is not None:
                # The server restarts, and the call goes on: nothing has ended.
                if isinstance(known, s.ServerSessionEndedEvent):
                    self._session.survive()
                    self._abandon()
                return
            case s.ServerSessionEndedEvent():
                self.end_reason = known.reason
            case s.ServerRoomLeftEvent():
                self._voices.leave(known.participant_id)
            case s.ServerAudioGainEvent():
                self._gain.set(known.gain_db, known.ramp_ms)
            case s.ServerAudioFlushEvent():
                self._gain.set(0.0, 0)
            case s.AgentErrorEvent() if self._session.refusal is not None:
                self._abandon()
            case s.AgentResponseToolUseDoneEvent() if known.tool_use.name in self._toolkit:
                if known.tool_use.may_run:
                    self._spawn(self._run_tool(known.tool_use), "client tool")
            case _:
                pass
        if known.seq:
            self._log.append(known)
        self._captions.take(known)
        self._exchange.take(known)
        self.dropped_events += len(self._events) == MAX_EVENTS
        self._events.append(known)
        if isinstance(known, s.ServerSessionEndedEvent):
            self._over(None)

    def heard(self, speech: Speech, offset: int, n_samples: int) -> None:
        """New sound waits to be played."""

    def live_voice(self, speech: Speech, offset: int, pcm: bytes) -> None:
        """Another human of the room is heard beside the agents."""
        self._voices.play(speech.item_id, offset, pcm, self._loop.time())

    def flushed(self, item_id: str | None) -> None:
        """The speaker has dropped it."""

    def rewound(self, seq: int) -> None:
        """Forget what the server does not know."""
        gone = {
            one.item_id
            for one in self._log
            if one.seq > seq and isinstance(one, s.AgentResponseAudioTranscriptDeltaEvent)
        }
        self._log = [one for one in self._log if one.seq <= seq]
        self._captions.rewind(seq)
        for item_id in gone:
            self._session.flush(item_id)

    def failed(self, fault: str) -> None:
        """A frame without a place is dropped."""

    def changed(self) -> None:
        """Wake those who wait."""
        if self._state == "reconnecting" and self._session.line == "open":
            self._state = "open"
        news, self._news = self._news, asyncio.Event()
        news.set()

    def _abandon(self) -> None:
        """Drop the socket once the current frame is taken."""
        if self._line is not None:
            self._loop.call_soon(self._line.abandon)

    async def _run_tool(self, call: ToolCallBlock) -> None:
        result = (await self._toolkit.run(call)).model_dump()
        if self._state != "over":
            fields = {key: result[key] for key in ("id", "name", "output", "state")}
            self.send_event({"type": "client_tool_result", **fields})


async def _either(news: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await news.wait()
    except TimeoutError:
        pass


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


def _written(config: SessionConfig, toolkit: Toolkit) -> dict[str, Any]:
    """Return the config for the first frame, with the program's tools."""
    written = _without_none(msgspec.to_builtins(config))
    if len(toolkit):
        written["tools"] = [*written.get("tools", ()), *msgspec.to_builtins(toolkit.declarations())]
    return written


def _check_formats(config: Any) -> None:
    """Raise BadOption for audio formats that are not those of this client."""
    given = config if isinstance(config, dict) else {}
    for key, own_hz, remedy in (
        ("input_audio_format", INPUT_HZ, "resample what you send"),
        ("output_audio_format", OUTPUT_HZ, "resample what you get"),
    ):
        said = {name: value for name, value in (given.get(key) or {}).items() if value is not None}
        try:
            fits = msgspec.convert(said, AudioFormat).rate_hz(own_hz) == own_hz
        except (ValueError, AttributeError):
            fits = False
        if not fits:
            raise BadOption(f"{key} of this client is pcm16, mono, at {own_hz} Hz: leave it out, and {remedy}")

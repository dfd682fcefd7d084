"""The native dialect, subprotocol `realtime.v1`: our events as they are, and speech as binary frames on request."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pybase64

from realtime.audio.playback import KEPT_ITEMS, AcknowledgedPlayback
from realtime.audio.unplayed import Chunk
from realtime.call.listener import Listener, Sink
from realtime.dialects.base import AudioDeltaWriter, Frame, decode_json, encode_json
from realtime.dialects.reply_frames import ReplyFrames
from realtime.errors import ClientError
from realtime.event import frames
from realtime.event import server as s
from realtime.event.base import DEFAULT_INPUT_RATE_HZ, AudioFormat
from realtime.event.client import ClientAudioAppendEvent, ClientEvent
from realtime.event.config import SessionConfig
from realtime.event.frames import SUBPROTOCOL
from realtime.runtime import Runtime

ITEMS_AT_ONCE = KEPT_ITEMS
"""Parts whose binary audio may be interleaved; an older one is introduced again."""
LANES = 64
"""Humans whose voices may be interleaved: more than a room holds, so that only those who left are forgotten."""


_PAYLOAD = re.compile(r'"audio"\s*:\s*"')


class _Lane:
    """The voice of one human: the index of its frames, and their constant part."""

    __slots__ = ("delta", "index")

    def __init__(self, index: int) -> None:
        self.index = index
        self.delta = AudioDeltaWriter()


class _SpeechReader:
    """Reads JSON speech without a parser.

    It differs from a frame before in nothing but its payload, in nearly every frame of nearly every client.
    """

    __slots__ = ("_after", "_before", "_event")

    def __init__(self) -> None:
        self._before = self._after = ""
        self._event: ClientAudioAppendEvent | None = None

    def read(self, frame: str) -> ClientAudioAppendEvent | None:
        """Return the speech of such a frame; None for others."""
        known = self._event
        if known is None or not (frame.startswith(self._before) and frame.endswith(self._after)):
            return None
        try:
            # Strict base64 has no quote: the payload ends where the rest begins.
            pcm = pybase64.b64decode(frame[len(self._before) : -len(self._after)], validate=True)
        except ValueError:
            return None
        return ClientAudioAppendEvent(session_id=known.session_id, audio=pcm, format=known.format)

    def remember(self, frame: str, event: ClientEvent) -> None:
        """Take a frame that was parsed: the next one may be alike."""
        if not isinstance(event, ClientAudioAppendEvent):
            return
        start = _PAYLOAD.search(frame)
        is_plain = event.event_id is None and event.offset is None and event.played_item_id is None
        if is_plain and start is not None:
            self._before, self._after = frame[: start.end()], frame[frame.index('"', start.end()) :]
            self._event = event


class NativeDialect:
    """One native client. It acknowledges what it played, so speech is not paced."""

    def __init__(self, subprotocol: str | None = SUBPROTOCOL) -> None:
        self._subprotocol = subprotocol
        self._reply_frames = ReplyFrames()
        self._speech = _SpeechReader()
        self._binary = False
        self._input_format = AudioFormat.pcm16(DEFAULT_INPUT_RATE_HZ)
        self._delta = AudioDeltaWriter()
        self._items = 0
        self._item: tuple[str, str, int] | None = None
        self._item_index = 0
        self._offset_samples = 0
        self._others: dict[tuple[str, str, int], tuple[int, int]] = {}
        self._introduced: dict[int, str] = {}
        self._lanes: dict[str, _Lane] = {}

    @property
    def subprotocol(self) -> str | None:
        """See `ClientDialect`."""
        return self._subprotocol

    def decode(self, frame: Frame) -> ClientEvent:
        """See `ClientDialect`. A binary frame is speech."""
        if isinstance(frame, str):
            speech = self._speech.read(frame)
            if speech is not None:
                return speech
            try:
                event = decode_json(frame)
            except ClientError as error:
                return self._reply_frames.read(frame, error)
            self._speech.remember(frame, event)
            return event
        try:
            kind, item_index, played_ms, offset_samples, pcm = frames.unpack_client(frame)
        except ValueError as error:
            raise ClientError(str(error), code="invalid_frame") from error
        if kind != frames.CLIENT_AUDIO:
            raise ClientError(f"binary frames of kind {kind} are not for the server", code="invalid_frame")
        item_id = None if played_ms is None else self._introduced.get(item_index)
        if item_id is None:
            return ClientAudioAppendEvent(audio=pcm, format=self._input_format, offset=offset_samples)
        return ClientAudioAppendEvent(
            audio=pcm,
            format=self._input_format,
            offset=offset_samples,
            played_item_id=item_id,
            played_ms=played_ms,
        )

    def more(self) -> Sequence[ClientEvent]:
        """The further events of the frame that was decoded last (`ReplyFrames.more`)."""
        return self._reply_frames.more()

    def encode(self, event: s.ServerEvent) -> list[Frame]:
        """See `ClientDialect`."""
        if type(event) is not s.AgentResponseAudioDeltaEvent:
            if type(event) is s.ServerSessionUpdatedEvent and event.config:
                self._follow(SessionConfig.from_dict(event.config))
            return [encode_json(event)]
        if not self._binary:
            return [self._delta.encode(event)]
        key = (event.item_id, event.response_id, event.content_index)
        out: list[Frame] = []
        if key != self._item and self._is_new(key):
            out.append(encode_json(self._introduce(event)))
        out.append(frames.pack(frames.AGENT_AUDIO, 0, self._item_index, self._offset_samples, event.delta))
        self._offset_samples += len(event.delta) // 2
        return out

    def encode_again(self, chunk: Chunk) -> list[Frame]:
        """See `ResumableDialect`. The part is introduced anew with the offset at which its speech continues: a client
        that still has some of it knows what to drop."""
        event, start = chunk
        key = (event.item_id, event.response_id, event.content_index)
        is_new = key != self._item and self._is_new(key)
        self._offset_samples = start
        out: list[Frame] = [encode_json(self._introduce(event))] if is_new else []
        return [*out, *self.encode(event)]

    def encode_voice(self, chunk: Chunk) -> list[Frame]:
        """See `LaneDialect`."""
        event, start = chunk
        lane = self._lanes.get(event.item_id)
        out: list[Frame] = []
        if lane is None:
            if len(self._lanes) >= LANES:
                del self._lanes[next(iter(self._lanes))]
            self._items += 1
            lane = self._lanes[event.item_id] = _Lane(self._items)
            out.append(encode_json(_introduction(event, lane.index, start)))
        if self._binary:
            out.append(frames.pack(frames.AGENT_AUDIO, 0, lane.index, start, event.delta))
        else:
            out.append(lane.delta.encode(event))
        return out

    def listener(self, sink: Sink, runtime: Runtime, config: SessionConfig) -> Listener:
        """See `ClientDialect`. Raises ClientError for a rate that is not served."""
        self._input_format = AudioFormat.pcm16(config.input_rate_hz)
        output_hz = config.output_rate_hz
        self._binary = config.audio_frames == "binary"
        return Listener(
            sink=sink,
            dialect=self,
            runtime=runtime,
            clock=AcknowledgedPlayback(output_hz),
            output_rate_hz=output_hz,
            tells_received_audio=True,
            resumes_with=self,
            lanes=self,
            takes_gain=True,
            shows_questions=True,
        )

    def _follow(self, change: SessionConfig) -> None:
        if change.input_audio_format is not None:
            self._input_format = AudioFormat.pcm16(change.input_rate_hz)

    def _is_new(self, key: tuple[str, str, int]) -> bool:
        """Turn to another part; `False` for one that continues, since two responses may be spoken in turns."""
        if self._item is not None:
            self._others[self._item] = (self._item_index, self._offset_samples)
            if len(self._others) > ITEMS_AT_ONCE:
                del self._others[next(iter(self._others))]
        self._item = key
        known = self._others.pop(key, None)
        if known is not None:
            self._item_index, self._offset_samples = known
            return False
        self._items += 1
        self._item_index, self._offset_samples = self._items, 0
        self._introduced[self._items] = key[0]
        if len(self._introduced) > KEPT_ITEMS:
            # The playback clock has forgotten older ones too.
            del self._introduced[next(iter(self._introduced))]
        return True

    def _introduce(self, event: s.AgentResponseAudioDeltaEvent) -> s.ServerAudioItemEvent:
        return _introduction(event, self._item_index, self._offset_samples)


def _introduction(event: s.AgentResponseAudioDeltaEvent, index: int, offset_samples: int) -> s.ServerAudioItemEvent:
    return s.ServerAudioItemEvent(
        item_index=index,
        response_id=event.response_id,
        item_id=event.item_id,
        output_index=event.output_index,
        content_index=event.content_index,
        format=event.format,
        offset_samples=offset_samples,
        agent_id=event.agent_id,
        agent_name=event.agent_name,
        ts_ms=event.ts_ms,
    )

"""A Gemini dialect in a call, for the tests of it."""

import functools
import json
from typing import Any

import pytest

from realtime.dialects.base import Frame
from realtime.dialects.gemini.dialect import NOTHING, GeminiDialect
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat
from realtime.event.config import SessionConfig
from realtime.message import ToolCallBlock, ToolResultBlock
from realtime.runtime import Runtime

Json = dict[str, Any]
PCM = AudioFormat.pcm16(24_000)
LOOK: Json = {"tools": [{"functionDeclarations": [{"name": "look"}]}]}
TOLD: Json = {"inputAudioTranscription": {}, "outputAudioTranscription": {}}
MANUAL: Json = {"realtimeInputConfig": {"automaticActivityDetection": {"disabled": True}}}


@functools.cache
def server_message() -> Any:
    """The SDK's type of what a server says."""
    return pytest.importorskip("google.genai.types").LiveServerMessage


class Call:
    """A dialect in a call: what it is told it follows and encodes, as its listener does."""

    def __init__(self, **setup: Any) -> None:
        self.dialect = GeminiDialect(Runtime.deterministic(lambda: 0.0), life_s=600.0, drain_s=12.0)
        self.frames: list[Json] = []
        (self.created,) = self.hear({"setup": {"model": "models/gemini-3.8-live", **setup}})
        self.tell(s.AgentReadyEvent())

    @property
    def config(self) -> SessionConfig:
        assert isinstance(self.created, c.ClientSessionCreateEvent)
        return SessionConfig.from_dict(self.created.config)

    def hear(self, frame: Frame | Json) -> list[c.ClientEvent]:
        """All that a frame of the client says."""
        first = self.dialect.decode(json.dumps(frame) if isinstance(frame, dict) else frame)
        if first is NOTHING:
            assert self.dialect.more() == []
            return []
        assert isinstance(first, c.ClientEventBase)
        return [first, *self.dialect.more()]

    take = hear

    def kinds(self, frame: Frame | Json) -> list[str]:
        return [event.type.removeprefix("client_") for event in self.hear(frame)]

    def tell(self, *events: s.ServerEvent) -> list[Json]:
        """The frames that say it; each satisfies the SDK's type, which takes no field that it does not know.

        Its reader drops a `warning` before.
        """
        new = []
        for event in events:
            self.dialect.follow(event)
            for frame in self.dialect.encode(event):
                new.append(json.loads(frame))
                server_message().model_validate({key: part for key, part in new[-1].items() if key != "warning"})
        self.frames += new
        return new

    def begin(self, response_id: str = "r1") -> None:
        self.tell(s.AgentResponseCreatedEvent(response_id=response_id))

    def say(self, words: str, response_id: str = "r1") -> list[Json]:
        where: Json = {"response_id": response_id, "item_id": f"item_{response_id}"}
        return self.tell(
            s.AgentResponseAudioTranscriptDeltaEvent(**where, delta=words),
            s.AgentResponseAudioDeltaEvent(**where, delta=b"\x01\x00" * 10, format=PCM),
        )

    def ask(self, call_id: str, name: str = "look", arguments: str = "{}", response_id: str = "r1") -> list[Json]:
        tool_use = ToolCallBlock(id=call_id, name=name, input=arguments)
        return self.tell(s.AgentResponseToolUseDoneEvent(response_id=response_id, item_id="i", tool_use=tool_use))

    def return_(self, call_id: str, state: Any = "success") -> list[Json]:
        result = ToolResultBlock(id=call_id, name="look", output="x", state=state)
        return self.tell(s.AgentResponseToolResultEvent(tool_result=result, response_id="r1", item_id="o"))

    def end(self, response_id: str = "r1", *, heard: bool = True, **fields: Any) -> list[Json]:
        """A response is over and, as its listener says by saying it again, was heard."""
        done = s.AgentResponseDoneEvent(response_id=response_id, **fields)
        return self.tell(done, done) if heard else self.tell(done)


def refused(call: Call, frame: Frame | Json) -> str:
    with pytest.raises(ClientError) as error:
        call.hear(frame)
    assert error.value.code in ("invalid_argument", "not_supported")
    return error.value.message

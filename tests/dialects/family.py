"""The dialects of OpenAI's family in a call, for the tests of them."""

from __future__ import annotations

import base64
import functools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from realtime.dialects.openai_family.dashscope import DashScopeDialect
from realtime.dialects.openai_family.dashscope_listener import DashScopeListener
from realtime.dialects.openai_family.openai import OpenAIDialect
from realtime.errors import ClientError
from realtime.event import client as c
from realtime.event import server as s
from realtime.event.base import AudioFormat, Item
from realtime.event.config import SessionConfig
from realtime.runtime import Runtime

Json = dict[str, Any]
SECOND = bytes(48_000)
PLACE: Json = {"response_id": "resp_1", "item_id": "item_1"}


@functools.cache
def documented() -> Callable[[Json], None]:
    """Fails for a frame of DashScope that has other fields than the documented ones."""
    check: Callable[[Json], None] = pytest.importorskip("tests.server.dashscope_sdk").check_frame
    return check


class Call(ABC):
    """A dialect in a call: what it is told it follows and encodes."""

    dialect: OpenAIDialect | DashScopeDialect

    def __init__(self) -> None:
        self.now = 0.0
        """Its clock in seconds."""
        self.runtime = Runtime.deterministic(lambda: self.now)
        self.frames: list[Json] = []

    @abstractmethod
    def _deliver(self, event: s.ServerEvent) -> None:
        """Let the client's frames for this event arrive."""

    def tell(self, *events: s.ServerEvent) -> list[str]:
        """The types of the frames that say it."""
        before = len(self.frames)
        for event in events:
            self._deliver(event)
        return [frame["type"] for frame in self.frames[before:]]

    def say(self, kind: str, **fields: Any) -> Any:
        """The event of a client's frame; settings are taken as the call takes them, what the server answers is told."""
        event = self.dialect.decode(json.dumps({"event_id": "mine", "type": kind, **fields}))
        if isinstance(event, c.ClientSessionUpdateEvent):
            SessionConfig.from_dict(event.config)
            self.tell(s.ServerSessionUpdatedEvent(session_id="s", config=event.config))
        elif not isinstance(event, c.ClientEventBase):
            self.tell(event)
        return event

    def take(self, frame: Json) -> list[Any]:
        """What a frame of the client means to the call; what the server answers is told."""
        event = self.say(**{"kind" if key == "type" else key: value for key, value in frame.items()})
        return [event] if isinstance(event, c.ClientEventBase) else []

    def update(self, **session: Any) -> Any:
        """The event of new settings."""
        return self.say("session.update", session=session)

    def append(self, n_bytes: int) -> Any:
        return self.say("input_audio_buffer.append", audio=base64.b64encode(bytes(n_bytes)).decode())

    def refused(self, kind: str, **fields: Any) -> ClientError:
        with pytest.raises(ClientError) as error:
            self.say(kind, **fields)
        return error.value

    def speak(self, pcm: bytes = b"\x01\x00") -> list[str]:
        return self.tell(
            s.AgentResponseCreatedEvent(response_id="resp_1"),
            s.AgentItemAddedEvent(item=Item(id="item_1", role="assistant", status="in_progress")),
            s.AgentResponseAudioDeltaEvent(**PLACE, delta=pcm, format=AudioFormat.pcm16(24_000)),
        )


class OpenAICall(Call):
    dialect: OpenAIDialect
    tool: ClassVar[Json] = {"type": "function", "name": "look", "parameters": {"type": "object"}}

    def __init__(self) -> None:
        super().__init__()
        self.dialect = OpenAIDialect("gpt-realtime", self.runtime)
        self.tell(s.ServerSessionCreatedEvent(session_id="s", call_id="call_9"))

    def _deliver(self, event: s.ServerEvent) -> None:
        self.dialect.follow(event)
        for frame in self.dialect.encode(event):
            assert isinstance(frame, str)
            self.frames.append(json.loads(frame))
            assert self.frames[-1]["event_id"]

    def update(self, **session: Any) -> Any:
        return super().update(type="realtime", **session)


class DashScopeCall(Call):
    """With the listener of its client."""

    dialect: DashScopeDialect

    def __init__(self, *, voices: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.dialect = DashScopeDialect("qwen3-omni-flash-realtime", self.runtime)
        listener = self.dialect.listener(self, self.runtime, SessionConfig())
        assert isinstance(listener, DashScopeListener)
        self.listener = listener
        self.tell(
            s.ServerSessionCreatedEvent(session_id="s", call_id="call_9"), s.AgentReadyEvent(model={"voices": voices})
        )

    def _deliver(self, event: s.ServerEvent) -> None:
        self.listener.deliver(event)

    def write(self, frame: Any) -> bool:
        """As the sink of its listener."""
        assert isinstance(frame, str)
        self.frames.append(json.loads(frame))
        documented()(self.frames[-1])
        return True

    async def finish(self) -> None:
        raise NotImplementedError

    def close(self, code: int, reason: str) -> None:
        raise NotImplementedError

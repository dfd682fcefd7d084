"""A small Gemini-like provider on loopback: strict about what it takes, says what the test says, breaks where told."""

from __future__ import annotations

import json
from typing import Any

import pybase64

from tests.model.loopback import Json, LoopbackService, LoopbackSession

KINDS = {"setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate"}


class GeminiSession(LoopbackSession):
    """One client: what it sent (`frames`), and what the test lets the service say."""

    def kind_of(self, frame: Json) -> str:
        (kind,) = frame
        return str(kind)

    @property
    def setup(self) -> Json:
        setup: Json = self.frames[0]["setup"]
        return setup

    @property
    def path(self) -> str:
        assert self.socket.request is not None
        return self.socket.request.path

    @property
    def audio(self) -> bytes:
        """All audio of the client."""
        said = [frame["audio"]["data"] for frame in self.sent("realtimeInput") if "audio" in frame]
        return b"".join(map(pybase64.b64decode, said))

    def sent(self, kind: str) -> list[Json]:
        return [frame[kind] for frame in self.frames if kind in frame]

    async def react(self, frame: Json) -> None:
        """Confirm the setup. What the service would refuse is refused with its close code."""
        kind = self.kind_of(frame)
        is_setup = kind == "setup"
        markers = kind == "realtimeInput" and frame[kind].keys() & {"activityStart", "activityEnd"}
        if kind not in KINDS or is_setup is bool(self.frames) or (markers and not self._disabled):
            await self.close(1007, "Request contains an invalid argument.")
        elif is_setup:
            await self.send(setupComplete={})

    @property
    def _disabled(self) -> bool:
        config = self.setup.get("realtimeInputConfig", {})
        return bool(config.get("automaticActivityDetection", {}).get("disabled"))

    async def send(self, **keys: Any) -> None:
        await self.socket.send((json.dumps(keys, indent=2) + "\n").encode())

    async def content(self, **keys: Any) -> None:
        await self.send(serverContent=keys)

    async def begin(self, words: str, pcm: bytes) -> None:
        """The beginning of an answer: words, and audio in bursts."""
        await self.content(outputTranscription={"text": words})
        for at in range(0, len(pcm), 19_200):
            data = pybase64.b64encode_as_string(pcm[at : at + 19_200])
            await self.content(
                modelTurn={"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": data}}]}
            )

    async def finish(self) -> None:
        await self.content(generationComplete=True)
        usage = {"promptTokenCount": 10, "responseTokenCount": 20, "totalTokenCount": 30}
        await self.send(serverContent={"turnComplete": True}, usageMetadata=usage)

    async def hand_out(self, handle: str) -> None:
        await self.send(sessionResumptionUpdate={"newHandle": handle, "resumable": True})


class GeminiEmulator(LoopbackService):
    """`async with GeminiEmulator() as provider`: a `LoopbackService` of Gemini sessions."""

    def __init__(self) -> None:
        super().__init__(GeminiSession)

    async def session(self, number: int = 1) -> GeminiSession:
        """The `number`-th session, as soon as its setup is there."""
        session: GeminiSession = await super().session(number)
        await session.until("setup")
        return session

"""What every foreign client goes through, whichever protocol it speaks and whichever model is behind: one table.

A client is seen through `Judged`, which says what a program that uses its SDK does and learns. A scenario never names
an SDK, a protocol or a model, so one table serves each pair of an endpoint and a model.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import soundfile

from realtime.audio.resample import Resampler
from realtime.model.base import ResponseCreate, ToolResult
from realtime.model.scripted import (
    CallTools,
    Expect,
    ExpectAudio,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
)
from tests.server.harness import Json, Place, settled

AUDIO = Path(__file__).resolve().parents[2] / "fixtures" / "audio"
RATE_HZ = 24_000
SILENCE_AFTER_MS = 1_500
"""Enough for any detector to be sure that the turn is over."""
BEGINNING_BYTES = RATE_HZ * 2
"""As much of a turn as is said before a client can stop its speaker: it would else get the answer before the news."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer as the SDK gave it to its user."""

    text: str
    audio_ms: float


@dataclass(slots=True)
class Weather:
    """A function of the client's program, to be offered to the model as `get_weather`."""

    calls: list[str] = field(default_factory=list)

    name = "get_weather"
    description = "The weather of a city."
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}  # noqa: RUF012
    result = '{"sky": "grey"}'

    def __call__(self, city: str) -> str:
        self.calls.append(city)
        return self.result


class Judged(Protocol):
    """One session of an SDK, as a program that uses it sees it."""

    frames: list[Json]
    """Every frame that the server sent."""
    complaints: list[str]
    """What the SDK reported to its user as an error."""

    async def type(self, text: str) -> None:
        """A typed turn that is to be answered."""
        ...

    async def talk(self, pcm: bytes) -> None:
        """Speech, pcm16 mono at 24 kHz."""
        ...

    async def begun(self) -> None:
        """Wait until an answer is heard."""
        ...

    async def heard(self) -> str:
        """What the user said last, once the SDK was told."""
        ...

    async def silenced(self) -> None:
        """Wait until the user's voice stopped the answer, and tell the server what was heard, as this SDK does."""
        ...

    async def answer(self) -> Answer:
        """The next answer that came to its end; one that was cut or that only called functions is passed over."""
        ...

    async def blunder(self) -> None:
        """Ask for something that has to be refused, and wait until the SDK complains."""
        ...


Open = Callable[[Place, Weather | None], AbstractAsyncContextManager[Judged]]
"""Opens a session on a server, with push-to-talk off and transcripts of the user on. Leaving it closes the session."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """`script` is what the scripted model does. `says` is what has to be in the last answer, by kind of model."""

    name: str
    script: Sequence[Step]
    run: Callable[[Judged, Weather, dict[str, str]], Awaitable[None]]
    says: dict[str, str] = field(default_factory=dict)
    with_tool: bool = False


def spoken(name: str) -> bytes:
    """A recording of ours at 24 kHz, with the silence that ends a turn."""
    samples, rate_hz = soundfile.read(AUDIO / name, dtype="int16")
    resampler = Resampler(rate_hz, RATE_HZ)
    return resampler.push(samples.tobytes()) + resampler.flush() + bytes(RATE_HZ * 2 * SILENCE_AFTER_MS // 1000)


def _check(answer: Answer, says: str) -> None:
    assert re.search(says, answer.text, re.IGNORECASE), answer.text
    assert answer.audio_ms > 200


async def _open(_: Judged, __: Weather, ___: dict[str, Any]) -> None:
    """Opening is done by now, and was told."""


async def _text_turn(judged: Judged, _: Weather, says: dict[str, str]) -> None:
    await judged.type("Hello there, who are you?")
    _check(await judged.answer(), says["text"])


async def _voice_turn(judged: Judged, _: Weather, says: dict[str, str]) -> None:
    await judged.talk(spoken("twelve_times_seven.wav"))
    _check(await judged.answer(), says["text"])
    assert re.search(says["heard"], await judged.heard(), re.IGNORECASE)


async def _tool_round(judged: Judged, weather: Weather, says: dict[str, str]) -> None:
    await judged.type("What is the weather in Oslo?")
    _check(await judged.answer(), says["text"])
    assert weather.calls == ["Oslo"]


async def _interruption(judged: Judged, _: Weather, says: dict[str, str]) -> None:
    await judged.type("Count to fifty.")
    await judged.begun()
    words = spoken("twelve_times_seven.wav")
    await judged.talk(words[:BEGINNING_BYTES])
    await judged.silenced()
    await judged.talk(words[BEGINNING_BYTES:])
    _check(await judged.answer(), says["text"])


async def _error(judged: Judged, _: Weather, says: dict[str, str]) -> None:
    await judged.blunder()
    (complaint,) = judged.complaints
    assert "does not exist" in complaint
    judged.complaints.clear()
    await judged.type("Hello there, who are you?")
    _check(await judged.answer(), says["text"])


_HELLO = (Expect(ResponseCreate), Speak("I am Friday.", 0.6))
_LISTENS = (SpeechStart(20), SpeechEnd(1_500, "what is twelve times seven"))
_WHO = {"scripted": "I am Friday", "local": "Heart"}

SCENARIOS = (
    Scenario("open", (), _open),
    Scenario("text turn", _HELLO, _text_turn, _WHO),
    Scenario(
        "voice turn",
        (ExpectAudio(300), _LISTENS[0], ExpectAudio(1_800), _LISTENS[1], Speak("It is 84.", 0.6)),
        _voice_turn,
        {"scripted": "84", "local": "twelve|12"},
    ),
    Scenario(
        "tool round trip",
        (
            Expect(ResponseCreate),
            CallTools((("get_weather", {"city": "Oslo"}),)),
            Expect(ToolResult),
            Expect(ResponseCreate),
            Speak("The sky is grey.", 0.6),
        ),
        _tool_round,
        {"scripted": "grey", "local": "grey"},
        with_tool=True,
    ),
    Scenario(
        "interruption",
        (
            Expect(ResponseCreate),
            Speak("One, two, three, four, five, and so on for long.", 20.0, pace=1.0, wait=False),
            ExpectAudio(300),
            _LISTENS[0],
            ExpectAudio(1_800),
            _LISTENS[1],
            Speak("It is 84.", 0.6),
        ),
        _interruption,
        {"scripted": "84", "local": "twelve|12"},
    ),
    Scenario("error", _HELLO, _error, _WHO),
)


async def judge(scenario: Scenario, place: Place, open_client: Open, model: str) -> list[Json]:
    """Run the scenario with a client on this server, then close; the frames that the client got.

    Closing is part of each: the server's call has to end with its client.
    """
    weather = Weather()
    async with open_client(place, weather if scenario.with_tool else None) as judged:
        says = {"text": scenario.says.get(model, ""), "heard": "(twelve|12) times (seven|7)"}
        await scenario.run(judged, weather, says)
        assert judged.complaints == []
        frames = judged.frames
    await settled(lambda: not place.calls.running)
    return frames

"""What is done in each scenario. One text per scenario, whichever client speaks and whichever model is behind."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from realtime.audio.files import read_pcm16
from realtime.event import server as s
from realtime.event.base import Item
from realtime.model.base import AudioCommit, ItemCreate, ResponseCreate, ToolResult
from realtime.model.scripted import (
    CallTools,
    Expect,
    ExpectAudio,
    Speak,
    SpeechEnd,
    SpeechStart,
    Step,
    Transcribe,
)
from tests.square.callers import NONSENSE, Answer, Caller, Weather
from tests.square.chain import Chain
from tests.square.table import LOCAL, Cannot

AUDIO = Path(__file__).resolve().parents[2] / "fixtures" / "audio"
SILENCE_AFTER_MS = 1_500
"""Enough for any detector to be sure that the turn is over."""
JPEG = bytes.fromhex("ffd8ffe000104a46494600010100000100010000ffd9")
WHO = "Hello there, who are you?"
QUESTION = "what is twelve times seven"
LONG = "one, two, three, four, five, six, seven, eight, nine, ten, " * 5
LONG_S = 20.0
"""Told at once: however slow the machine, less of it was heard than told."""
AHEAD_MS = 2_000
"""How far words may come ahead of their sound."""
LISTENS_MS = 800
BEGINNING_MS = 1_500
"""As much of a turn is said before the client looks whether it is to be silent."""


def who(chain: Chain) -> str:
    """What the answer to `WHO` holds."""
    return "Heart" if chain.behind == LOCAL else "I am Friday"


def product(chain: Chain) -> str:
    """What the answer to the spoken question holds."""
    return "84|eighty.four|twelve|12" if chain.behind == LOCAL else "It is 84"


def spoken(name: str, rate_hz: int) -> bytes:
    """A recording of ours, with the silence that ends a turn."""
    return read_pcm16(AUDIO / name, rate_hz) + bytes(rate_hz * 2 * SILENCE_AFTER_MS // 1000)


def question(caller: Caller) -> tuple[bytes, bytes]:
    """The spoken question, in two parts."""
    pcm, cut = spoken("twelve_times_seven.wav", caller.rate_hz), caller.rate_hz * 2 * BEGINNING_MS // 1000
    return pcm[:cut], pcm[cut:]


def check(answer: Answer, says: str) -> None:
    """The answer came in words and in sound."""
    assert re.search(says, answer.text, re.IGNORECASE), answer.text
    assert answer.audio_ms > 200


async def text_turn(chain: Chain) -> None:
    async with chain.caller() as caller:
        await caller.type(WHO)
        check(await caller.answer(), who(chain))
    assert_answered(chain)


async def voice_turn(chain: Chain) -> None:
    async with chain.caller() as caller:
        await says_its_question(caller)
        check(await caller.answer(), product(chain))
    assert_answered(chain)


async def says_its_question(caller: Caller, *, presses: bool = False) -> None:
    """Ask aloud, and read what was heard."""
    if presses:
        await caller.press()
    for part in question(caller):
        await caller.talk(part)
    if presses:
        await caller.release()
    heard = await caller.heard()
    assert re.search("(twelve|12) times (seven|7)", heard, re.IGNORECASE), heard


async def push_to_talk(chain: Chain) -> None:
    async with chain.caller(push_to_talk=True) as caller:
        await says_its_question(caller, presses=True)
        check(await caller.answer(), product(chain))
        assert not caller.complaints
    assert_answered(chain)


async def tool_round_trip(chain: Chain) -> None:
    weather = Weather()
    async with chain.caller(weather) as caller:
        await caller.type("What is the weather in Oslo?")
        check(await caller.answer(), "grey")
        assert weather.calls == ["Oslo"]
    assert_answered(chain)


async def interruption(chain: Chain) -> None:
    async with chain.caller() as caller:
        began_s = time.monotonic()
        await caller.type("Count to fifty.")
        # For a while: what was hardly heard would be withdrawn as a whole.
        await caller.listen(LISTENS_MS)
        beginning, rest = question(caller)
        await caller.talk(beginning)
        await caller.silenced()
        heard_ms = round((time.monotonic() - began_s) * 1000)
        await caller.talk(rest)
        check(await caller.answer(), product(chain))
        session = chain.session
        first, *_ = [item for item in session.conversation.items() if item.role == "assistant"]
        whole = "".join(
            event.delta
            for event in session.log.read()
            if isinstance(event, s.AgentResponseAudioTranscriptDeltaEvent) and event.item_id == first.id
        )
        check_cut(first, whole, heard_ms)
    assert_answered(chain)


def check_cut(item: Item, told: str, heard_ms: int) -> None:
    """Of an answer of which the client was told so many words, the conversation keeps what can have been heard."""
    assert item.status == "incomplete"
    assert item.text
    assert told.startswith(item.text)
    assert len(item.text) < len(told)
    spoken_ms = len(item.text) / len(LONG) * LONG_S * 1000
    assert spoken_ms <= heard_ms + AHEAD_MS


async def image(chain: Chain) -> None:
    async with chain.caller() as caller:
        beginning, rest = question(caller)
        await caller.talk(beginning)
        await caller.show(JPEG)
        await caller.talk(rest)
        check(await caller.answer(), product(chain))
    assert_answered(chain)
    assert images_behind(chain) == [JPEG]


def images_behind(chain: Chain) -> list[bytes | None]:
    """The images that the scripted model got."""
    assert chain.scripted is not None
    connection = chain.scripted.connections[-1]
    created = [message.item for message in connection.received if isinstance(message, ItemCreate)]
    return [part.image for item in created for part in item.content if part.type == "image"]


async def error(chain: Chain) -> None:
    async with chain.caller() as caller:
        await caller.blunder()
        assert NONSENSE in await caller.complaint()
        if caller.survives_errors:
            await caller.type(WHO)
            check(await caller.answer(), who(chain))
    if not caller.survives_errors:
        await text_turn(chain)


async def close(chain: Chain) -> None:
    async with chain.caller() as caller:
        await caller.type("Count to fifty.")
        await caller.begun()
        assert chain.near.calls.running == 1
        assert chain.far.calls.running == (0 if chain.behind == LOCAL else 1)


def assert_answered(chain: Chain) -> None:
    """The script behind came to its end. A connection before the last was given up before anything was said."""
    if chain.scripted is not None:
        assert not chain.scripted.connections[-1].unfinished()


# -- what cannot be ----------------------------------------------------------------------------------------------------


async def refused_image(chain: Chain, cannot: Cannot) -> None:
    """The image is refused by name, and the call goes on."""
    async with chain.caller() as caller:
        beginning, rest = question(caller)
        await caller.talk(beginning)
        await caller.show(JPEG)
        assert cannot.told
        assert cannot.told in await caller.complaint()
        await caller.talk(rest)
        check(await caller.answer(), product(chain))
    if chain.scripted is not None:
        assert images_behind(chain) == []


async def refused_tools(chain: Chain, cannot: Cannot) -> None:
    """The model is not offered the functions and answers without them."""
    weather = Weather()
    async with chain.caller(weather) as caller:
        await caller.type(WHO)
        if cannot.told:
            assert cannot.told in await caller.complaint()
        check(await caller.answer(), who(chain))
    assert weather.calls == []
    assert chain.scripted is not None
    assert [connection.settings.tools for connection in chain.scripted.connections] == [()]


async def refused_push_to_talk(chain: Chain, cannot: Cannot) -> None:
    """The change is refused by name; the call goes on, and its turns are heard by the server."""
    async with chain.caller(push_to_talk=True) as caller:
        assert cannot.told
        assert cannot.told in await caller.complaint()
        for part in question(caller):
            await caller.talk(part)
        check(await caller.answer(), product(chain))
    assert_answered(chain)


REFUSALS: dict[str, Callable[[Chain, Cannot], Awaitable[None]]] = {
    "image": refused_image,
    "tool round trip": refused_tools,
    "push-to-talk": refused_push_to_talk,
}


# -- what the model behind does ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scenario:
    """`script` is what the scripted model does where the provider hears the turns, `manual` where it is told them."""

    run: Callable[[Chain], Awaitable[None]]
    script: Sequence[Step]
    manual: Sequence[Step] | None = None

    def script_for(self, behind: str) -> Sequence[Step]:
        """Gemini reports no start and end of speech: the near server hears the turns and tells it."""
        return self.manual if behind == "gemini" and self.manual is not None else self.script


_HELLO = (Expect(ResponseCreate), Speak("I am Friday.", 0.6))
_COUNT = (Expect(ResponseCreate), Speak(LONG, LONG_S, pace=4.0, wait=False))
_HEARS = (ExpectAudio(300), SpeechStart(20), ExpectAudio(2_500), SpeechEnd(2_000, QUESTION), Speak("It is 84.", 0.6))
_IS_TOLD = (Expect(AudioCommit), Transcribe(QUESTION), Expect(ResponseCreate), Speak("It is 84.", 0.6))

SCENARIOS = {
    "text turn": Scenario(text_turn, _HELLO),
    "voice turn": Scenario(voice_turn, _HEARS, _IS_TOLD),
    "push-to-talk": Scenario(push_to_talk, _IS_TOLD),
    "tool round trip": Scenario(
        tool_round_trip,
        (
            Expect(ResponseCreate),
            CallTools((("get_weather", {"city": "Oslo"}),)),
            Expect(ToolResult),
            Expect(ResponseCreate),
            Speak("The sky is grey.", 0.6),
        ),
    ),
    "interruption": Scenario(interruption, (*_COUNT, *_HEARS), (*_COUNT, *_IS_TOLD)),
    "image": Scenario(image, _HEARS, _IS_TOLD),
    "error": Scenario(error, _HELLO),
    "close": Scenario(close, (Expect(ResponseCreate), Speak(LONG, LONG_S, pace=1.0))),
}
"""By the name in the table."""

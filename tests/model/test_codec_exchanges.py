"""Exchanges with a codec, a step a line: what a frame means, and what is sent, hang on what was said before.

In `exchanges/PROVIDER.jsonl` a line names the exchange, with the options of its codec and the session that Gemini has
`opened`, unless that is a step; then its steps follow.

- `open`: the settings and the history of a new session; `sent` is its opening
- `say`: what the codec is asked to send; `sent` are the frames
- `hear`: a frame of the service; `told` are the events, of sound only how much
- `close`: how the link ends; `verdict` is our code, and whether it is dialled again
- `dial`: a new session of the same call begins

Gemini's frames are read by its SDK (`test_gemini_codec.py`); those of OpenAI are of the types of its SDK, those of
DashScope are as documented. A step that goes otherwise is shown with what came of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from realtime.event import Item
from realtime.model import base
from realtime.model.base import Codec, Frame, ModelInput, Settings
from realtime.model.gemini.model import GeminiCodec, Resumption
from tests.model.frames import Json, dashscope, dump, fresh_gemini, openai, wired
from tests.model.test_codec_received import short

EXCHANGES = Path(__file__).parent / "exchanges"
MS_OF_PCM = b"\x01\x02" * 16


def exchanges(provider: str) -> dict[str, tuple[Json, list[Json]]]:
    """By its name the line that names it, and its steps."""
    found: dict[str, tuple[Json, list[Json]]] = {}
    for line in map(json.loads, (EXCHANGES / f"{provider}.jsonl").read_text(encoding="utf-8").splitlines()):
        if "exchange" in line:
            steps: list[Json] = []
            found[line["exchange"]] = (line, steps)
        else:
            steps.append(line)
    return found


def made(provider: str, options: Json, resumption: Resumption) -> Codec:
    if provider == "gemini":
        return fresh_gemini(**options, resumption=resumption)
    return openai(**options) if provider == "openai" else dashscope(**options)


def message_of(said: Json) -> ModelInput:
    """`{"AudioCommit": {}}` and the like. Speech is given as `10 ms`."""
    ((kind, fields),) = said.items()
    if (length := re.fullmatch(r"(\d+) ms", fields.get("pcm", ""))) is not None:
        return base.AudioAppend(MS_OF_PCM * int(length[1]))
    message: ModelInput = msgspec.convert(fields, getattr(base, kind))
    return message


def session_of(opening: Json) -> tuple[Settings, list[Item]]:
    settings = msgspec.convert(opening.get("settings", {}), Settings)
    return settings, msgspec.convert(opening.get("history", []), list[Item])


def shown(frames: list[Frame]) -> list[Json]:
    """The frames, of long sound and pictures only how much."""
    return [
        json.loads(re.sub(r'"([\w+/]{100,}=*)"', lambda long: f'"{len(long[1])} characters"', str(frame)))
        for frame in frames
    ]


def played(provider: str, head: Json, steps: list[Json]) -> list[Json]:
    """The steps with what came of each."""
    options = head.get("options", {})
    resumption = Resumption(**head.get("resumption", {}))
    codec = made(provider, options, resumption)
    if (opened := head.get("opened")) is not None:
        codec.opening(*session_of(opened))
        codec.decode(wired({"setupComplete": {}}))
    done: list[Json] = []
    for step in steps:
        match step:
            case {"open": opening}:
                done.append({"open": opening, "sent": shown(codec.opening(*session_of(opening)))})
            case {"say": message}:
                done.append({"say": message, "sent": shown(codec.encode(message_of(message)))})
            case {"hear": frame}:
                text = wired(frame) if isinstance(codec, GeminiCodec) else dump(frame)
                done.append({"hear": frame, "told": [*map(short, codec.decode(text))]})
            case {"close": [code, reason]}:
                verdict = codec.closed(code, reason)
                done.append({"close": [code, reason], "verdict": [verdict.code, verdict.reconnect]})
            case {"dial": other}:
                codec = made(provider, options | other, resumption)
                done.append(step)
    return done


@pytest.mark.parametrize("provider", ["openai", "dashscope", "gemini"])
def test_each_exchange_goes_as_written(provider: str) -> None:
    """RTM-14: text, audio and image reach the service. RTM-18: the user's words are told where they were asked for."""
    went = {name: played(provider, head, steps) for name, (head, steps) in exchanges(provider).items()}
    expected = {name: steps for name, (_, steps) in exchanges(provider).items()}
    assert {name: steps for name, steps in went.items() if steps != expected[name]} == {}

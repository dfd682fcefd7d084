"""What a draft of the response, begun in a pause, saves in time and costs in work.

In virtual time, so the numbers are the same on each run: detector, recogniser and voice are real, recognition and
synthesis cost `LOCAL_COSTS`. Needs the extra `local`; recordings of real speakers join where REALTIME_RECORDINGS is
set.
"""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.labelled_turns import Turn, turns_of_fixtures
from bench.listen_words import RememberingRecognizer, RememberingVoice, remembering_engine
from bench.process import ROOT
from bench.report import Check, Section, median, share
from realtime.agent import ReActAgent
from realtime.event import model as m
from realtime.formatter import OpenAIChatFormatter
from realtime.message import TextBlock
from realtime.model.base import AudioAppend, Settings
from realtime.model.chat.base import ChatModelBase, ChatResponse
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.ears import RATE_HZ
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.keyless.conversationalist import Conversationalist
from realtime.model.local.language_model import LanguageModel, Prompt, Reply
from realtime.model.local.speculation import DEFAULT_MODE, DraftCounts, Mode
from realtime.runtime import Runtime
from realtime.testing.call import LOCAL_COSTS
from realtime.testing.clock import run

MODES: tuple[Mode, ...] = ("off", "words", "speech")
THINKS_MS = 400
THINKING = f"{THINKS_MS} ms"
AGENT = f"agent on {THINKS_MS} ms"
BUILT_IN_LIMIT_MS = 570.0
THINKING_LIMIT_MS = 850.0
AGENT_LIMIT_MS = 20.0
"""What an agent may cost beyond the language model that it thinks with."""
CHUNK_MS = 40
CHUNK_BYTES = RATE_HZ * CHUNK_MS // 1000 * 2
REST_S = 3.0
"""After the last of the sound."""


class Thinking:
    """The built-in language model, which needs `THINKS_MS` before its first word."""

    name = "thinking"
    takes_images = False

    def __init__(self) -> None:
        self._words = Conversationalist()

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `LanguageModel`."""
        await asyncio.sleep(THINKS_MS / 1000)
        async for reply in self._words.respond(prompt):
            yield reply


class ThinkingChat(ChatModelBase):
    """A chat model that needs as long."""

    def __init__(self) -> None:
        super().__init__("thinking", False)

    async def __call__(self, *args: Any, **kwargs: Any) -> ChatResponse:
        """See `ChatModelBase`."""
        await asyncio.sleep(THINKS_MS / 1000)
        return ChatResponse([TextBlock(text="I see. What else?")])


def make_agent() -> ReActAgent:
    """Make an agent that thinks with that chat model."""
    agent = ReActAgent("Robin", "", ThinkingChat(), OpenAIChatFormatter())
    agent.set_console_output_enabled(False)
    return agent


@dataclass(slots=True)
class Heard:
    """What came of one turn."""

    latency_ms: float | None = None
    """From the end of the voice to the first sound; None: there was none, or a part of the turn was answered."""
    early: int = 0
    """Deltas of sound while the user had the turn: mistakes."""
    in_pause: bool = False
    """Whether the answer to a part of the turn was heard, since its end was found in a pause."""


@dataclass(slots=True)
class Arm:
    """All turns with one language model and one mode."""

    language_model: str
    mode: Mode
    heard: list[Heard] = field(default_factory=list)
    drafts: DraftCounts = field(default_factory=DraftCounts)


class _Listener:
    def __init__(self, turn: Turn, start_s: float) -> None:
        self._voice_ended_s = start_s + turn.end_ms / 1000
        self._is_decided = False
        self.heard = Heard()

    def hear(self, event: m.ModelEvent) -> None:
        match event:
            case m.ModelInputStartedEvent():
                self._is_decided = False
                self.heard.in_pause |= self.heard.latency_ms is not None
                self.heard.latency_ms = None
            case m.ModelInputDoneEvent():
                self._is_decided = True
            case m.ModelResponseAudioDeltaEvent() if not self._is_decided:
                self.heard.early += 1
            case m.ModelResponseAudioDeltaEvent() if self.heard.latency_ms is None:
                self.heard.latency_ms = (asyncio.get_running_loop().time() - self._voice_ended_s) * 1000
            case _:
                pass


async def measure_speculation(*, quick: bool = False, words: Path | None = None) -> Section:
    """Speak every labelled turn to the embedded model, with each mode and each language model."""
    turns = turns_of_fixtures()[:: 5 if quick else 1]
    costs = {
        RememberingRecognizer.transcribe: LOCAL_COSTS["Recognizer.transcribe"],
        RememberingVoice.synthesize: LOCAL_COSTS["HibariVoice.synthesize"],
    }
    with tempfile.TemporaryDirectory() as folder:
        engine = remembering_engine(words or Path(folder) / "words")
        arms = [
            await asyncio.to_thread(run, spoken(engine, name, mode, turns), costs=costs)
            for name in LANGUAGE_MODELS
            for mode in MODES
        ]
        engine.close()
    return section_of(turns, arms)


LANGUAGE_MODELS: dict[str, Callable[[], LanguageModel | ReActAgent]] = {
    "built-in": Conversationalist,
    THINKING: Thinking,
    AGENT: make_agent,
}


async def spoken(engine: SpeechEngine, name: str, mode: Mode, turns: Sequence[Turn]) -> Arm:
    """Speak every turn in a call of its own; on a loop in virtual time."""
    model = LocalRealtimeModel(language_model=LANGUAGE_MODELS[name], speculation=mode, engine=engine)
    await model.warm_up()
    return Arm(name, mode, [await _answered(model, turn) for turn in turns], model.drafts)


async def _answered(model: LocalRealtimeModel, turn: Turn) -> Heard:
    loop = asyncio.get_running_loop()
    start_s = loop.time()
    listener = _Listener(turn, start_s)
    connection = await model.connect(
        settings=Settings(), on_event=listener.hear, history=list, runtime=Runtime.deterministic(loop.time)
    )
    for number in range(len(turn.pcm) // CHUNK_BYTES):
        await asyncio.sleep(start_s + (number + 1) * CHUNK_MS / 1000 - loop.time())
        connection.send(AudioAppend(turn.pcm[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES]))
    await asyncio.sleep(REST_S)
    await connection.close()
    return listener.heard


def section_of(turns: Sequence[Turn], arms: Sequence[Arm]) -> Section:
    """Write what the arms show as a table, with the limits of the default mode."""
    section = Section(
        "speculation",
        "Measured: work that starts early",
        f"{len(turns)} labelled turns of {len({turn.speaker for turn in turns})} speakers with "
        f"{sum(turn.pauses for turn in turns)} pauses inside, each in a call of its own in virtual time; recognition "
        "and synthesis cost what they take on a small server (0.1 s and 35 ms for each second of speech; 20 ms). "
        "Latency: from the labelled end of the voice to the first sound. A dropped draft costs one answer of the "
        "language model, with `speech` one sentence of synthesis more. In a pause: turns of which a part was answered "
        "aloud, since a pause was taken for the end.",
        (
            "language model",
            "mode",
            "median",
            "p90",
            "drafts",
            "kept",
            "dropped",
            "saved each",
            "in a pause",
            "mistakes",
        ),
        page=ROOT / "docs" / "performance.md",
    )
    medians_ms: dict[tuple[str, Mode], float] = {}
    for arm in arms:
        latencies = [one.latency_ms for one in arm.heard if one.latency_ms is not None]
        drafts, mistakes = arm.drafts, sum(one.early > 0 for one in arm.heard)
        wasted = f"{drafts.dropped} ({drafts.dropped / drafts.started:.0%})" if drafts.started else "0"
        saved = f"{drafts.saved_ms / drafts.kept:.0f} ms" if drafts.kept else ""
        section.rows.append(
            (
                arm.language_model,
                arm.mode,
                f"{median(latencies):.0f} ms",
                f"{share(latencies, 90):.0f} ms",
                str(drafts.started),
                str(drafts.kept),
                wasted,
                saved,
                str(sum(one.in_pause for one in arm.heard)),
                str(mistakes),
            )
        )
        medians_ms[arm.language_model, arm.mode] = median(latencies)
        section.data[f"{arm.language_model} {arm.mode}"] = dataclasses.asdict(arm)
        if arm.mode == DEFAULT_MODE:
            alone_ms = medians_ms.get((THINKING, arm.mode))
            limits_ms = {THINKING: THINKING_LIMIT_MS, "built-in": BUILT_IN_LIMIT_MS}
            limit = limits_ms.get(arm.language_model, (alone_ms or THINKING_LIMIT_MS) + AGENT_LIMIT_MS)
            what = f"{arm.language_model} language model, {arm.mode}"
            section.checks.append(Check(f"{what}: median", median(latencies), limit, " ms"))
            section.checks.append(Check(f"{what}: audible mistakes", mistakes, 0))
    return section

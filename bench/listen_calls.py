"""Calls in which stimuli sound over replies, in virtual time: what is played, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from bench.listen_provider import EmulatedService, ProviderName
from bench.listen_words import RememberingRecognizer, RememberingVoice
from bench.process import ROOT
from bench.stimuli import Channel, Varied, question
from realtime.agent import RealtimeAgent
from realtime.agent.partial_words import no_words, recognise_words
from realtime.event.config import InterruptionMode, TurnAuthority
from realtime.event.server import AgentInputTranscriptionDoneEvent, AgentInterruptionEvent
from realtime.model.base import RealtimeModel
from realtime.model.local import LocalRealtimeModel
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.language_model import Prompt, ReplyText
from realtime.testing.call import LOCAL_COSTS, play
from realtime.testing.cases.stand_in import Hear, Say, StandIn
from realtime.testing.client.steps import BargeIn, Silence, Speak, Step
from realtime.testing.clock import VirtualLoop
from realtime.testing.errors import RunFailure
from realtime.testing.record import CallRecord, Spoken
from realtime.testing.score.labels import Label
from realtime.testing.score.scene import Scene, scene_of

ModelName = Literal["embedded", "scripted"] | ProviderName

REPLY = (
    "The mountains in October are a quiet place. The nights are cold and the days are still warm, and most of the huts "
    "have closed for the winter. If you like to walk alone, it is the best time of the year."
)
SHORT_REPLY = "All right, as you wish."
REPLY_MS = 11_000
"""No less than the long reply lasts."""
ANSWER_MS = 3_000
"""Time for the short reply."""
PLACES_MS = (300, 2_000, 4_000, 6_000)
JITTER_MS = 100
LEAD_MS = 400
PER_CALL = 5
DECIDED_IN_MS = 4_000.0
"""A decision this long after a stimulus still belongs to it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the server decided about one stimulus."""

    id: str
    """Of its label."""
    stimulus_id: str
    kind: str
    text: str
    channel: str
    held_out: bool
    state: str
    """The last state that was reported; empty where no voice was noticed over a reply."""
    reason: str
    level_db: float
    """Relative to the recorded level of voices."""
    decided_ms: float | None = None
    """From its onset to that; None where nothing was decided."""
    looks: tuple[tuple[float, str], ...] = ()
    """What was recognised while it was undecided, with the ms since its onset."""

    @property
    def words(self) -> str:
        """What was recognised last."""
        return self.looks[-1][1] if self.looks else ""


@dataclass(frozen=True, slots=True)
class Heard:
    """One call."""

    scene: Scene
    outcomes: tuple[Outcome, ...]
    unplaced: int
    """Stimuli that never sounded, because no reply came."""
    transcripts: tuple[str, ...] = ()
    """The words of the user's turns, as they were told."""


@dataclass(slots=True)
class _Mind:
    """A language model that answers at length where a stimulus is to follow, and briefly otherwise."""

    at_length: bool = True
    name: str = "bench"
    takes_images: bool = False

    async def respond(self, prompt: Prompt) -> AsyncGenerator[ReplyText, None]:
        yield ReplyText(REPLY if self.at_length else SHORT_REPLY)


@dataclass(slots=True)
class Script:
    """The user's steps, and which of them speak which stimulus."""

    steps: list[Step] = field(default_factory=list)
    asks: set[int] = field(default_factory=set)
    """Steps whose reply is long, by number from 1."""
    spoken: list[Varied | None] = field(default_factory=list)
    """What each speaking step speaks; None for a question."""


def grouped(stimuli: Sequence[Varied]) -> list[tuple[Varied, ...]]:
    """Return the stimuli of each call: of one user on one line, in an order that mixes the classes."""
    shuffled = sorted(stimuli, key=lambda one: hashlib.sha256(f"{one.number}".encode()).digest())
    by_user: dict[tuple[str, str], list[Varied]] = {}
    for one in shuffled:
        by_user.setdefault((one.user_voice, one.line), []).append(one)
    return [
        tuple(by_user[user][at : at + PER_CALL])
        for user in sorted(by_user)
        for at in range(0, len(by_user[user]), PER_CALL)
    ]


def script_of(stimuli: Sequence[Varied], *, model: ModelName) -> Script:
    """Return a user who asks, and is overheard during the reply, once for each stimulus."""
    script = Script()
    # The scripted model answers at length whatever it hears.
    answer_ms = 2 * REPLY_MS if model == "scripted" else ANSWER_MS
    for one in stimuli:
        script.steps.append(Silence(LEAD_MS))
        sound = Speak(pcm=one.pcm(), text=one.stimulus.text or None)
        if one.stimulus.kind == "hold":
            script.spoken.append(one)
            script.steps += [sound, Silence(answer_ms)]
            continue
        asked = question(one.user_voice)
        script.spoken += [None, one]
        script.asks.add(len(script.steps) + 1)
        place = int.from_bytes(hashlib.sha256(f"place {one.number}".encode()).digest()[:4], "big")
        after_ms = PLACES_MS[place % len(PLACES_MS)] + place // 7 % (2 * JITTER_MS) - JITTER_MS
        script.steps += [
            Speak(pcm=question_pcm(asked.voice, one.line), text=asked.text),
            BargeIn(speech=sound, after_ms=after_ms, timeout_ms=10_000),
            Silence(REPLY_MS - after_ms + answer_ms),
        ]
    return script


def question_pcm(voice: str, line: Channel = "clean") -> bytes:
    """Return the question of a voice, over this line."""
    return Varied(question(voice), line, 0, 0.0, 1.0, voice).pcm()


def hear(
    stimuli: Sequence[Varied],
    engine: SpeechEngine,
    *,
    model: ModelName,
    mode: InterruptionMode,
    authority: TurnAuthority | None = None,
    recognises: bool = True,
) -> Heard:
    """Play one call. `recognises` says whether this server recognises voices over replies itself."""
    script = script_of(stimuli, model=model)
    return hear_script(script, engine, model=model, mode=mode, authority=authority, recognises=recognises)


def hear_script(
    script: Script,
    engine: SpeechEngine,
    *,
    model: ModelName,
    mode: InterruptionMode,
    authority: TurnAuthority | None = None,
    recognises: bool = True,
    settings: dict[str, Any] | None = None,
    greeting: str | None = None,
    on_record: Callable[[CallRecord], None] = lambda _: None,
) -> Heard:
    """Play one call of these steps; `settings` are added to those of the call, whose agent may greet.

    `on_record` gets all that happened.
    """
    mind = _Mind()
    loop = VirtualLoop()
    looked: list[tuple[float, str]] = []

    def on_words(words: str | None) -> None:
        looked.append((loop.time() * 1000, words or ""))

    def on_step(number: int, ms: float) -> None:
        if number in script.asks:
            mind.at_length = True
        elif number - 1 not in script.asks:
            mind.at_length = False

    async def played() -> CallRecord:
        async with AsyncExitStack() as stack:
            behind: RealtimeModel = LocalRealtimeModel(language_model=mind, engine=engine)
            if model == "scripted":
                behind = _scripted()
            elif model != "embedded":
                service = EmulatedService(model, behind, on_words)
                await stack.enter_async_context(service.running())
                behind = service.provider_model()
            recognise = partial(_recognise, engine, on_words) if recognises else no_words
            agent = partial(RealtimeAgent, "Friday", "", behind, recognise=recognise, greeting=greeting)
            detection = {"interruption": mode, "authority": authority}
            config: dict[str, Any] = {"turn_detection": detection, "input_audio_transcription": True}
            config |= settings or {}
            return await play(script.steps, agent=agent, model="own", config=config, frames=False, on_step=on_step)

    loop.declare_cost(RememberingRecognizer.transcribe, LOCAL_COSTS["Recognizer.transcribe"])
    loop.declare_cost(RememberingVoice.synthesize, LOCAL_COSTS["HibariVoice.synthesize"])
    try:
        record = loop.run_until_complete(played())
    except RunFailure as failure:
        if failure.record is None:
            raise
        record = failure.record
    finally:
        loop.close()
    on_record(record)
    return _heard(script, record, looked)


def _recognise(
    engine: SpeechEngine,
    on_words: Callable[[str | None], None],
    pcm: bytes,
    rate_hz: int,
    then: Callable[[str | None], None],
) -> None:
    def understood(words: str | None) -> None:
        on_words(words)
        then(words)

    recognise_words(pcm, rate_hz, understood, engine=engine)


def _scripted() -> RealtimeModel:
    return StandIn(turns="none", hears=(Hear("Go on."),) * 100, otherwise=Say(REPLY, ms=REPLY_MS - 2_000)).model(ROOT)


def _heard(script: Script, record: CallRecord, looked: Sequence[tuple[float, str]]) -> Heard:
    labels: list[Label] = []
    outcomes: list[Outcome] = []
    decisions = record.events(AgentInterruptionEvent)
    for number, (one, spoken) in enumerate(zip(script.spoken, record.spoken, strict=False)):
        found = [*_labels(number, one, spoken)]
        labels += found
        if one is not None and one.stimulus.kind != "hold":
            until_ms = found[0].off_ms + DECIDED_IN_MS
            about = [event for event in decisions if found[0].on_ms <= event.ts_ms <= until_ms]
            decided_ms = about[-1].ts_ms if about else until_ms
            on_ms = found[0].on_ms
            looks = [(round(at_ms - on_ms), text) for at_ms, text in looked if on_ms <= at_ms <= decided_ms + 1]
            outcomes.append(
                Outcome(
                    id=found[0].id,
                    stimulus_id=one.stimulus.id,
                    kind=one.stimulus.kind,
                    text=one.stimulus.text,
                    channel=one.channel,
                    held_out=one.stimulus.held_out,
                    state=about[-1].state if about else "",
                    reason=about[-1].reason if about else "",
                    level_db=one.level_db,
                    decided_ms=round(decided_ms - on_ms) if about else None,
                    looks=tuple(looks),
                )
            )
    unplaced = sum(one is not None for one in script.spoken[len(record.spoken) :])
    transcripts = tuple(event.transcript for event in record.events(AgentInputTranscriptionDoneEvent))
    return Heard(scene_of(record, labels), tuple(outcomes), unplaced, transcripts)


def _labels(number: int, one: Varied | None, spoken: Spoken) -> Iterator[Label]:
    """Yield what a piece of the user's sound was, the whole first."""
    if one is None:
        yield Label(f"question-{number}", "turn", spoken.from_ms, spoken.to_ms, spoken.text)
        return
    name = f"{one.stimulus.id}-{one.number}"
    on_ms, off_ms = spoken.from_ms + one.on_ms, spoken.from_ms + one.off_ms
    kind = one.stimulus.kind if one.stimulus.kind != "hold" else "turn"
    yield Label(name, kind, on_ms, off_ms, spoken.text, far=one.far)
    for pause, (from_ms, to_ms) in enumerate(one.pauses_ms):
        yield Label(f"{name}-{pause}", "hold", spoken.from_ms + from_ms, spoken.from_ms + to_ms)

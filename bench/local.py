"""The embedded model in calls over a real socket: how soon it answers, alone and with seven others, and what it hears.

Needs the extra `local`; the word error rate also `test` and REALTIME_RECORDINGS.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.process import ROOT, UNGREETED, free_port, listening, running
from bench.report import Check, Section, median, share
from bench.wire import BINARY, ClientPeer
from bench.work import CHUNK_MS, DOWN_HZ, UP_HZ
from realtime.audio.files import read_pcm16
from realtime.event.frames import AGENT_AUDIO, CLIENT_AUDIO, pack, pack_played, unpack
from realtime.model.local.voice import DEFAULT_VOICE, Voice, load_voices

FIXTURES = (
    "hello_anna.wav",
    "what_time.wav",
    "twelve_times_seven.wav",
    "set_timer.wav",
    "what_date.wav",
    "hello_robert.wav",
)
ROUNDS = 3
MANY = 8
PADDING_MS = (500, 2_000)
NOISE_RMS = 3.0
LONG_MS = 13_000
AGENT_APP = f"{ROOT / 'bench' / 'local_agent.py'}:make_agent"
FIRST_AUDIO_LIMIT_MS = 60.0
RECOGNISED_LIMIT = 90.0
MANY_LIMIT = 1.4
WORDS_LIMIT = 3.0
CHUNK_BYTES = UP_HZ * CHUNK_MS // 1000 * 2
REPLY_PATIENCE_S = 30.0
NUMBERS = {"2": "two", "3": "three", "4": "four", "5": "five", "7": "seven", "8": "eight", "10": "ten", "12": "twelve"}


@dataclass(slots=True)
class Turn:
    """One spoken turn. Times in seconds of the monotonic clock."""

    voice_ended: float
    """When the last sound of the user's voice was captured."""
    ended: float
    length_ms: int
    question: int = -1
    """Which of the fixtures was asked, where one was."""
    recognised: bool = False
    """The words were there when the turn ended: they came before the response."""
    responded: bool = False
    first_audio: float | None = None
    first_words: str = ""

    @property
    def wait_ms(self) -> float:
        """From the end of the turn to the first sound of the answer."""
        return ((self.first_audio or self.ended) - self.ended) * 1000

    @property
    def silence_ms(self) -> float:
        """From the end of the voice to the first sound of the answer: what a person waits."""
        return ((self.first_audio or self.ended) - self.voice_ended) * 1000


@dataclass(slots=True)
class Spoken:
    """What came of one file that was spoken into a call."""

    turns: list[Turn] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Sounding:
    """An item in the loudspeaker."""

    index: int
    start_s: float
    length_ms: float = 0.0
    reported_ms: int = 0

    def played_ms(self, now: float) -> int:
        """How much of it was played."""
        return round(min(self.length_ms, (now - self.start_s) * 1000))


class Caller(ClientPeer):
    """One call: a microphone that never stops, and a loudspeaker that plays at once and reports what it played."""

    def __init__(self) -> None:
        super().__init__("/ws/bench/local", "realtime.v1")
        self.ready = asyncio.Event()
        self.replied = asyncio.Event()
        self.spoken = Spoken()
        self.sounding: list[Sounding] = []
        self.played_until = 0.0
        self._sent_at: list[float] = []
        self._start_ms = 0
        self._noise = np.random.default_rng(5)

    def opened(self, path: str) -> None:
        audio = {"type": "audio/pcm", "rate": UP_HZ}
        config = {"audio_frames": "binary", "input_audio_format": audio}
        self.send(json.dumps({"type": "client_session_create", "config": config}).encode())

    def received(self, opcode: int, payload: bytes) -> None:
        now = time.monotonic()
        if opcode == BINARY:
            kind, _, index, _, pcm = unpack(payload)
            if kind == AGENT_AUDIO:
                self._hear(index, len(pcm), now)
            return
        event = json.loads(payload)
        turns = self.spoken.turns
        match event["type"]:
            case "agent_ready":
                self.ready.set()
            case "agent_input_started":
                self._start_ms = event["audio_start_ms"]
            case "agent_input_done":
                end_ms = event["audio_end_ms"]
                turns.append(Turn(self._captured_at(end_ms), ended=now, length_ms=end_ms - self._start_ms))
            case "agent_input_transcription_done":
                self.spoken.words[event["item_id"]] = event["transcript"]
                if turns and not turns[-1].responded:
                    turns[-1].recognised = True
            case "agent_response_created" if turns:
                turns[-1].responded = True
            case "agent_response_audio_transcript_delta" if turns and not turns[-1].first_words:
                turns[-1].first_words = event["delta"]
            case "agent_response_done":
                self.replied.set()
            case "agent_error":
                raise RuntimeError(f"the server reports {event['code']}: {event['message']}")

    def _hear(self, index: int, n_bytes: int, now: float) -> None:
        if self.spoken.turns and self.spoken.turns[-1].first_audio is None:
            self.spoken.turns[-1].first_audio = now
        starts, ms = max(now, self.played_until), n_bytes / 2 / DOWN_HZ * 1000
        if not self.sounding or self.sounding[-1].index != index:
            self.sounding.append(Sounding(index, starts))
        self.sounding[-1].length_ms += ms
        self.played_until = starts + ms / 1000

    def _frame(self, chunk: bytes, now: float) -> bytes:
        """A chunk of the microphone, with what the loudspeaker has played since the last one."""
        offset = len(self._sent_at) * CHUNK_BYTES // 2
        for item in self.sounding:
            if (played_ms := item.played_ms(now)) > item.reported_ms:
                item.reported_ms = played_ms
                return pack_played(0, item.index, played_ms, offset, chunk)
        return pack(CLIENT_AUDIO, 0, 0, offset, chunk)

    def _captured_at(self, position_ms: int) -> float:
        """When a microphone would have given this part of the stream: a chunk is sent once it is complete."""
        number = min(position_ms // CHUNK_MS, len(self._sent_at) - 1)
        return self._sent_at[number] - ((number + 1) * CHUNK_MS - position_ms) / 1000

    async def say(self, pcm: bytes) -> None:
        """Speak in real time."""
        start = time.monotonic()
        for number in range(-(-len(pcm) // CHUNK_BYTES)):
            chunk = pcm[number * CHUNK_BYTES : (number + 1) * CHUNK_BYTES].ljust(CHUNK_BYTES, b"\0")
            self.send(self._frame(chunk, time.monotonic()), BINARY)
            self._sent_at.append(time.monotonic())
            await asyncio.sleep(start + (number + 1) * CHUNK_MS / 1000 - time.monotonic())

    def quiet(self, ms: int) -> bytes:
        """A room in which nobody speaks."""
        return self._noise.normal(0, NOISE_RMS, UP_HZ * ms // 1000).astype("<i2").tobytes()

    async def ask(self, pcm: bytes) -> None:
        """One turn, and the whole answer to it."""
        self.replied.clear()
        await self.say(self.quiet(PADDING_MS[0]) + pcm)
        async with asyncio.timeout(REPLY_PATIENCE_S):
            while not self.replied.is_set() or time.monotonic() < self.played_until:
                await self.say(self.quiet(200))


async def call(port: int) -> Caller:
    """A call that is ready."""
    loop = asyncio.get_running_loop()
    _, caller = await loop.create_connection(Caller, "127.0.0.1", port)
    await asyncio.wait_for(caller.ready.wait(), 60)
    return caller


async def measure_local(*, quick: bool = False) -> Section:
    """Everything; `quick` asks each question once and leaves the recordings out."""
    rounds = 1 if quick else ROUNDS
    questions = [read_pcm16(ROOT / "fixtures" / "audio" / name, UP_HZ) for name in FIXTURES]
    async with _serving(UNGREETED) as port:
        alone = await _converse(port, 1, questions, rounds)
        many = await _converse(port, MANY, questions, rounds)
        recorded = await _speak_recordings(port) if not quick else {}
    async with _serving(AGENT_APP) as port:
        agent_alone = await _converse(port, 1, questions, rounds)
        agent_many = await _converse(port, MANY, questions, rounds)
    voice = load_voices()[DEFAULT_VOICE]
    voice.warm_up()
    return _section(alone, many, (agent_alone, agent_many), recorded, voice)


@contextlib.asynccontextmanager
async def _serving(*what: str) -> AsyncIterator[int]:
    """A server of these calls; its port."""
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        argv = ["-m", "realtime", "serve", *what, "--port", str(port), "--strict-port"]
        argv += ["--max-calls-per-address", "100", "--store", "none"]
        async with running(argv, core=None, log=Path(folder) / "server") as server:
            await listening(server, port, 60)
            yield port


async def _converse(port: int, calls: int, questions: Sequence[bytes], rounds: int) -> list[Turn]:
    """All the questions in each of so many calls at once, begun at different ones. The first answer warms up."""
    callers = [await call(port) for _ in range(calls)]

    async def talk(caller: Caller, first: int) -> None:
        await asyncio.sleep(first * 0.3)
        await caller.ask(questions[first % len(questions)])
        caller.spoken.turns.clear()
        for number in range(rounds * len(questions)):
            question = (first + number) % len(questions)
            before = len(caller.spoken.turns)
            await caller.ask(questions[question])
            for turn in caller.spoken.turns[before:]:
                turn.question = question
        caller.close()

    async with asyncio.TaskGroup() as group:
        for first, caller in enumerate(callers):
            group.create_task(talk(caller, first))
    return [turn for caller in callers for turn in caller.spoken.turns]


def recordings() -> list[dict[str, Any]]:
    """The clean speech of REALTIME_RECORDINGS; none where that is not set."""
    root = os.environ.get("REALTIME_RECORDINGS")
    if not root:
        return []
    folder = Path(root) / "audio"
    entries: list[dict[str, Any]] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    clean = [one for one in entries if one["transcript"] and not one["file"].startswith(("mix_", "echo_"))]
    return [{**one, "path": folder / one["file"]} for one in clean]


async def _speak_recordings(port: int) -> dict[str, tuple[str, Spoken]]:
    """(what was said, what came of it) by file. Each in a call of its own, answers are talked over."""
    found = {}
    for entry in recordings():
        caller = await call(port)
        speech = read_pcm16(entry["path"], UP_HZ)
        await caller.say(caller.quiet(PADDING_MS[0]) + speech + caller.quiet(PADDING_MS[1]))
        found[entry["file"]] = (entry["transcript"], caller.spoken)
        caller.close()
    return found


def _section(
    alone: list[Turn],
    many: list[Turn],
    of_agents: tuple[list[Turn], list[Turn]],
    recorded: dict[str, tuple[str, Spoken]],
    voice: Voice,
) -> Section:
    alone, many, agent_alone, agent_many = (
        [turn for turn in turns if turn.first_audio is not None] for turns in (alone, many, *of_agents)
    )
    synthesis = [_synthesis_ms(voice, turn.first_words) for turn in alone]
    times = {
        "turn end to first sound, one session": [turn.wait_ms for turn in alone],
        "synthesis of the same sentences alone": synthesis,
        f"turn end to first sound, {MANY} sessions": [turn.wait_ms for turn in many],
        "end of voice to first sound, one session": [turn.silence_ms for turn in alone],
        f"end of voice to first sound, {MANY} sessions": [turn.silence_ms for turn in many],
        "the same with a thinking agent and its tool, one session": [turn.silence_ms for turn in agent_alone],
        f"the same with a thinking agent and its tool, {MANY} sessions": [turn.silence_ms for turn in agent_many],
    }
    section = Section("local", "The embedded model", HOW, ("time", "turns", "median ms", "p90 ms", "highest ms"))
    for name, found in times.items():
        cells = (f"{median(found):.0f}", f"{share(found, 90):.0f}", f"{max(found):.0f}")
        section.rows.append((name, str(len(found)), *cells))
    one, alone_ms, *_ = times.values()
    turns = [*alone, *(turn for _, spoken in recorded.values() for turn in spoken.turns)]
    short = [turn for turn in turns if turn.length_ms <= LONG_MS]
    recognised = sum(turn.recognised for turn in short) * 100 / len(short)
    beyond = median(one) - median(alone_ms)
    load, load_of_agents = (
        share(_in_medians_of_the_same_question(*turns), 90) for turns in ((many, alone), (agent_many, agent_alone))
    )
    section.checks = [
        Check("median beyond synthesis alone, one session", beyond, FIRST_AUDIO_LIMIT_MS, " ms"),
        Check(f"p90 at {MANY} sessions, each turn in medians of its own question at one", load, MANY_LIMIT),
        Check("the same with thinking agents", load_of_agents, MANY_LIMIT),
        Check(f"recognised when the turn ended, of {len(short)}", recognised, RECOGNISED_LIMIT, " %", at_least=True),
    ]
    if recorded:
        rate, count = _word_errors(recorded)
        section.checks.append(Check(f"word errors in {count} words of real speech", rate * 100, WORDS_LIMIT, " %"))
    heard = {name: list(spoken.words.values()) for name, (_, spoken) in recorded.items()}
    section.data = {"times_ms": times, "recognised": recognised, "heard": heard}
    return section


def _in_medians_of_the_same_question(many: Sequence[Turn], alone: Sequence[Turn]) -> list[float]:
    """How much longer each turn took among many than the median of the turns that asked the same alone.

    From the end of the voice: what load adds, without the silence that an unfinished-sounding question waits.
    """
    medians = {
        question: median([turn.silence_ms for turn in alone if turn.question == question])
        for question in {turn.question for turn in alone}
    }
    return [turn.silence_ms / medians[turn.question] for turn in many if turn.question in medians]


HOW = (
    "Calls over a real socket to a server with the embedded model, everything on this machine, in real time. The "
    "turn's end is the arrival of `agent_input_done` at the client, which comes after 500 ms of silence; the end of "
    "the voice is when the sample at its `audio_end_ms` was sent; the first sound is the arrival of the answer's "
    "first frame. Synthesis alone is the time that the same first sentences take in a process of their own "
    "afterwards. A turn counts as recognised when its transcript comes before the response is created. Real speech: "
    "the clean files of REALTIME_RECORDINGS, each spoken into a call; the transcripts of its turns are joined. The "
    "thinking agents (`bench/local_agent.py`) ask a tool in each turn and need no time to think."
)


def _synthesis_ms(voice: Voice, words: str) -> float:
    start = time.perf_counter()
    voice.synthesize(words.strip())
    return (time.perf_counter() - start) * 1000


def _word_errors(recorded: dict[str, tuple[str, Spoken]]) -> tuple[float, int]:
    """(share of wrong words, number of words)."""
    import jiwer

    said = [plain_words(text) for text, _ in recorded.values()]
    heard = [plain_words(" ".join(spoken.words.values())) for _, spoken in recorded.values()]
    return jiwer.wer(said, heard), sum(len(text.split()) for text in said)


def plain_words(text: str) -> str:
    """Lower case, no punctuation, digits and abbreviations spelled out: what a word error rate compares."""
    text = text.lower().replace("’", "'").replace("mr.", "mister")
    text = re.sub(r"\d+", lambda number: NUMBERS.get(number[0], number[0]), text)
    return " ".join(re.sub(r"[^\w' ]", " ", text).split())

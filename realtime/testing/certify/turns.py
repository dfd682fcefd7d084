"""The ten turns: the user's steps, the expectations, and their check in the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pybase64

from realtime.event import server as s
from realtime.model.base import Profile
from realtime.state.log import AudioRun, Entry
from realtime.testing.check.words import says, shortened
from realtime.testing.client.steps import BargeIn, Leave, Send, Silence, Speak, Step, Type, WaitUntilHeard

FOLDER = Path(__file__).parent
"""The folder of the sounds and the picture."""
INSTRUCTIONS = (
    "You are being tested by a program. Answer in English, in one short sentence, unless you are asked for more. "
    "Use the tool order_state for every question about an order."
)
OTHER_INSTRUCTIONS = "Whatever is said to you, answer with one word: banana."
OUTPUT_HZ_BYTES_PER_MS = 48
LONG_MS = 8_000
HEARD_MS = 1_500
"""Played ms of a response after which the user interrupts it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One turn's part of the log."""

    entries: tuple[Entry, ...]

    def all(self, *kinds: type[Entry]) -> list[Entry]:
        """Return the events of these kinds."""
        return [entry for entry in self.entries if isinstance(entry, kinds)]

    @property
    def spoken_ms(self) -> int:
        """Ms of speech by the agent."""
        runs = (entry.n_bytes for entry in self.entries if isinstance(entry, AudioRun))
        return sum(runs) // OUTPUT_HZ_BYTES_PER_MS

    @property
    def words(self) -> str:
        """The agent's spoken or written words."""
        kinds = s.AgentResponseAudioTranscriptDeltaEvent | s.AgentResponseTextDeltaEvent
        return "".join(entry.delta for entry in self.entries if isinstance(entry, kinds))

    @property
    def user_words(self) -> str:
        """The user's words as understood."""
        done = [entry for entry in self.entries if isinstance(entry, s.AgentInputTranscriptionDoneEvent)]
        return " ".join(entry.transcript for entry in done)

    @property
    def errors(self) -> list[str]:
        """The codes of the errors."""
        return [entry.code for entry in self.entries if isinstance(entry, s.AgentErrorEvent)]

    @property
    def answer(self) -> str:
        """The response, for the table."""
        said = f'"{shortened(self.words, 40)}"' if self.words else "no words"
        return f"{self.spoken_ms / 1000:.1f} s of speech, {said}"


Judge = Callable[[Seen], tuple[bool, str]]


@dataclass(frozen=True, slots=True)
class Turn:
    """One of the ten turns. `user_s` is the user's time, `answer_s` the responses' approximate length."""

    name: str
    expected: str
    steps: tuple[Step, ...]
    judge: Judge
    user_s: float
    answer_s: float = 3.0
    cuts: bool = False
    """Whether the provider's link is lost before the turn."""


def turns_for(profile: Profile) -> tuple[Turn, ...]:
    """Return the turns for a model with this profile: ten, or nine for one that takes no images."""
    change = {"type": "client_session_update", "config": {"instructions": OTHER_INSTRUCTIONS}}
    return (
        Turn(
            "speech",
            "the words are understood, a spoken answer",
            (Speak("question.flac", text="What time is it?"), WaitUntilHeard()),
            _speech,
            2.5,
        ),
        Turn("text", "a spoken answer", _typed("My name is Ann. Greet me by my name."), _answered(), 0.5),
        Turn(
            "interruption",
            "the answer stops, and what was not heard is cut; another answer",
            (
                Type("Count slowly from one to thirty."),
                BargeIn(Speak("stop.flac", text="Stop, please. That is enough."), after_ms=HEARD_MS),
                WaitUntilHeard(),
            ),
            _interrupted,
            5.0,
            5.0,
        ),
        _tool_turn(profile),
        *_picture_turns(profile),
        Turn("silence", "no turn and no answer", (Silence(4_000),), _silent, 4.0, 0.0),
        Turn(
            "reconnect",
            "the link comes back, and the answer knows what was said before",
            (Silence(1_000), *_typed("What is my name?")),
            _reconnected,
            1.5,
            cuts=True,
        ),
        Turn(
            "long answer",
            f"at least {LONG_MS / 1000:.0f} s of speech",
            _typed("Tell me a story of about sixty words."),
            _long,
            0.5,
            25.0,
        ),
        Turn(
            "changed settings",
            "the new instructions hold",
            (Send(change), Silence(1_000), *_typed("And what do you say now?")),
            _answered("banana", after=s.ServerSessionUpdatedEvent),
            1.5,
        ),
        Turn("end", "the call ends without an error", (Leave(),), _ended, 0.2, 0.0),
    )


def _typed(text: str) -> tuple[Step, ...]:
    return (Type(text), WaitUntilHeard())


def _speech(seen: Seen) -> tuple[bool, str]:
    understood = says(seen.user_words, "time")
    return understood and seen.spoken_ms > 0, f'understood "{shortened(seen.user_words, 30)}", {seen.answer}'


def _answered(word: str = "", *, after: type[Entry] | None = None) -> Judge:
    def judge(seen: Seen) -> tuple[bool, str]:
        good = seen.spoken_ms > 0 and (not word or says(seen.words, word)) and (after is None or bool(seen.all(after)))
        return good and not seen.errors, _with_errors(seen, seen.answer)

    return judge


def _interrupted(seen: Seen) -> tuple[bool, str]:
    flushed, cut = bool(seen.all(s.ServerAudioFlushEvent)), bool(seen.all(s.AgentItemTruncatedEvent))
    answers = len({entry.response_id for entry in seen.entries if isinstance(entry, s.AgentResponseDoneEvent)})
    told = f"{'stopped' if flushed else 'not stopped'}, {'cut' if cut else 'not cut'}, {answers} answers"
    return flushed and cut and answers > 1, told


def _tool_turn(profile: Profile) -> Turn:
    steps = _typed("What is the state of order 17?")
    if profile.supports_tools:
        expected = "order_state(17) is called, the answer knows its result"
        return Turn("tool", expected, steps, _tool, 0.5, 4.0)
    return Turn("tool", "none: this model has no tools; an answer without", steps, _answered(), 0.5, 4.0)


def _picture_turns(profile: Profile) -> tuple[Turn, ...]:
    if "image" not in profile.input_modalities:
        return ()
    red = pybase64.b64encode_as_string((FOLDER / "red.jpg").read_bytes())
    picture = {"type": "client_image_append", "image": red, "format": {"type": "image/jpeg"}}
    steps = (Send(picture), Silence(500), *_typed("Which colour has the picture? Name the colour."))
    return (Turn("picture", "the answer knows the colour", steps, _answered("red"), 1.0),)


def _tool(seen: Seen) -> tuple[bool, str]:
    calls = [entry.tool_use for entry in seen.entries if isinstance(entry, s.AgentResponseToolUseDoneEvent)]
    results = [entry.tool_result for entry in seen.entries if isinstance(entry, s.AgentResponseToolResultEvent)]
    good = any(call.name == "order_state" and "17" in call.input for call in calls)
    good = good and any(result.state == "success" for result in results) and says(seen.words, "shipped")
    made = ", ".join(f"{call.name}({shortened(call.input, 30)})" for call in calls) or "no call"
    return good, f"{made}, {seen.answer}"


def _silent(seen: Seen) -> tuple[bool, str]:
    turns, answers = len(seen.all(s.AgentInputStartedEvent)), len(seen.all(s.AgentResponseCreatedEvent))
    return not turns and not answers, f"{turns} turns, {answers} answers"


def _reconnected(seen: Seen) -> tuple[bool, str]:
    back = bool(seen.all(s.AgentReconnectedEvent))
    return back and says(seen.words, "Ann"), f"{'back' if back else 'not back'}, {seen.answer}"


def _long(seen: Seen) -> tuple[bool, str]:
    return seen.spoken_ms >= LONG_MS and not seen.errors, _with_errors(seen, seen.answer)


def _ended(seen: Seen) -> tuple[bool, str]:
    ended = [entry.reason for entry in seen.entries if isinstance(entry, s.ServerSessionEndedEvent)]
    return bool(ended) and not seen.errors, _with_errors(seen, f"ended ({', '.join(ended) or 'not told'})")


def _with_errors(seen: Seen, told: str) -> str:
    return ", ".join((told, *(f"error {code}" for code in seen.errors)))


def tokens_of(entries: Iterable[Entry]) -> tuple[int, int]:
    """Return the tokens that the provider counted: input and output."""
    done = [entry for entry in entries if isinstance(entry, s.AgentResponseDoneEvent)]
    return sum(one.input_tokens for one in done), sum(one.output_tokens for one in done)

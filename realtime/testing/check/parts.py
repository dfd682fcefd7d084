"""Parts of a call with their own checks: recognition, tool calls, interruption, latency."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from realtime.event import server as s
from realtime.state.latency import CONSENT, latencies
from realtime.state.truncation import Spoken as Words
from realtime.testing.check.failing import Fluent, counted
from realtime.testing.check.subject import Subject
from realtime.testing.check.turns import BargeIn, CutItem, Response, Speech, ToolCall, UserTurn
from realtime.testing.check.words import normalised, shortened

__tracebackhide__ = True
"""pytest hides these frames: a failure shows the test's line."""
WORD_TOLERANCE_MS = 200.0
"""Accuracy of a word's time: players report their position about every 200 ms, and words are placed by the audio that
came with them."""
MAX_SHOWN_WORDS = 8
STAGES = {
    "turn_end": "the end of the turn was decided",
    "transcript": "the words were understood",
    "response": "the model began to answer",
    "first_token": "the first word or tool call came",
    "first_audio": "the first sound left the server",
    "heard": "the first sound reached the ear",
}
"""A response's measurable stages: all from the end of the user's voice."""
ANSWERED = frozenset({"response", "first_token", "first_audio", "heard"})
"""The stages that a turn without a response lacks."""


def heard_words(speech: Speech, before: str, heard_ms: float, within_ms: float) -> tuple[str, str]:
    """Return the fewest and most words of `before` heard within `heard_ms`.

    Only fully heard words count.

    Words may come with their audio or far ahead of it: both are taken into account. For a response that was cut while
    its audio still came, words were placed by the pace of the voice only: that counts as well.
    """
    told = speech.words
    known = [told, Words(text=told.text, audio_ms=told.audio_ms, audio_complete=told.audio_complete)]
    if speech.words_when_cut is not None:
        known.append(speech.words_when_cut)
    fewest = min((one.played_text(heard_ms - within_ms) for one in known), key=len)
    most = max((one.played_text(heard_ms + within_ms) for one in known), key=len)
    return fewest[: len(before)], most[: len(before)]


def same_in_log(run: Subject, speech: Speech, *places_ms: float) -> None:
    """The conversation's item equals the log's words, which begin the generated words."""
    kept = _spaced(speech.text if speech.kept is None else speech.kept)
    if kept != _spaced(speech.text):
        finding = f'The conversation holds "{shortened(kept)}" of an answer, but the log "{shortened(speech.text)}"'
        run.fail(f"{finding}.", *places_ms)
    if not _spaced(speech.words.text).startswith(kept):
        finding = (
            f'The conversation holds "{shortened(kept)}", which is not how "{shortened(speech.words.text)}" begins'
        )
        run.fail(f"{finding}.", *places_ms)


def _spaced(text: str) -> str:
    return " ".join(text.split())


class HeardByAgent(Fluent):
    """Recognition: the agent's understood words against the recordings' words (`Spoken.text`)."""

    def __init__(self, run: Subject) -> None:
        self._run = run
        known = [one for one in run.record.spoken if one.text]
        # A turn from a recording without a transcript has nothing to compare with.
        unknown = [one for one in run.record.spoken if not one.text]
        self._turns = [
            turn
            for turn in run.user_turns
            if not turn.typed and not (_overlaps(turn, unknown) and not _overlaps(turn, known))
        ]
        names = {turn.who for turn in self._turns}
        everybody = run.user_turns == run.reading.turns
        self._said = [one for one in known if everybody or one.who in names]

    @property
    def reference(self) -> str:
        """The words that were said, normalised."""
        return normalised(" ".join(one.text or "" for one in sorted(self._said, key=lambda one: one.from_ms)))

    @property
    def text(self) -> str:
        """The words that were understood, normalised."""
        return normalised(" ".join(turn.transcript for turn in self._turns))

    def wer_below(self, limit: float) -> HeardByAgent:
        """The word error rate is below `limit`: the share of wrong, missed or added words.

        Case and punctuation do not count; in languages without spaces a character is a word. Needs `jiwer`.
        """
        try:
            import jiwer
        except ImportError as error:
            raise ImportError("the word error rate needs jiwer: pip install jiwer") from error
        reference, heard = self.reference, self.text
        if not reference:
            self._run.fail("The word error rate is not known: there is no transcript of the speech (Speak.text).")
        found = jiwer.process_words(reference, heard)
        if found.wer >= limit:
            wrong = found.substitutions + found.deletions + found.insertions
            counts = f"{found.substitutions} wrong, {found.deletions} missing, {found.insertions} added"
            asked = f"less than {limit:g} was asked"
            finding = (
                f"The word error rate is {found.wer:.3f} ({wrong} of {len(reference.split())}: {counts}); {asked}."
            )
            self._run.fail(finding, *self._places(found), details=_differences(found))
        return self

    def _places(self, found: Any) -> list[float]:
        """Return the time of the turn with the first word error."""
        first = next((one.hyp_start_idx for one in found.alignments[0] if one.type != "equal"), 0)
        for turn in self._turns:
            first -= len(normalised(turn.transcript).split())
            if first < 0:
                return [turn.from_ms]
        return [self._turns[-1].from_ms] if self._turns else [one.from_ms for one in self._said[:1]]


def _overlaps(turn: UserTurn, spoken: list[Any]) -> bool:
    return any(one.from_ms < turn.to_ms and one.to_ms > turn.from_ms for one in spoken)


def _differences(found: Any) -> str:
    reference, heard = found.references[0], found.hypotheses[0]
    lines = []
    for one in found.alignments[0]:
        said = " ".join(reference[one.ref_start_idx : one.ref_end_idx])
        got = " ".join(heard[one.hyp_start_idx : one.hyp_end_idx])
        if one.type != "equal":
            lines.append(f"  said {_quoted(said)}, understood {_quoted(got)}")
    more = len(lines) - MAX_SHOWN_WORDS
    return "\n".join(lines[:MAX_SHOWN_WORDS] + ([f"  ... and {more} more"] if more > 0 else []))


def _quoted(words: str) -> str:
    return f'"{shortened(words)}"' if words else "nothing"


class ToolCalls(Fluent):
    """Calls of one tool, at least one, in order."""

    def __init__(self, run: Subject, calls: list[ToolCall], wanted: str) -> None:
        self._run = run
        self.calls = calls
        self._wanted = wanted

    @classmethod
    def select(cls, run: Subject, name: str, arguments: dict[str, Any]) -> ToolCalls:
        """Select the tool's calls with at least these arguments; fail where there is none."""
        agents = {one.id for one in run.responses}
        made = [call for call in run.reading.tool_calls if call.response_id in agents]
        named = [call for call in made if call.name == name]
        chosen = [call for call in named if has_arguments(call, arguments)]
        given = ", ".join(f"{key}={_argument(value)}" for key, value in arguments.items())
        wanted = f"{name}({given})"
        if not chosen:
            others = named or made
            finding = f"{wanted} was not called; the agent called {listed_calls(others) or 'no tool'}."
            run.fail(finding, *(call.asked_ms for call in others[:1]))
        return cls(run, chosen, wanted)

    def once(self) -> ToolCalls:
        """There is exactly one such call."""
        return self.times(1)

    def times(self, count: int) -> ToolCalls:
        """There are exactly `count` such calls."""
        if len(self.calls) != count:
            finding = f"{self._wanted} was called {counted(len(self.calls), 'time')}, not {count}."
            self._run.fail(finding, *(call.asked_ms for call in self.calls))
        return self

    def before(self, name: str) -> ToolCalls:
        """The first such call precedes the other tool's first one, which exists."""
        others = [call for call in self._run.reading.tool_calls if call.name == name]
        if not others:
            self._run.fail(f"{self._wanted} was called, but {name} was not at all.", self.calls[0].asked_ms)
        if others[0].asked_seq <= self.calls[0].asked_seq:
            times = f"{others[0].asked_ms / 1000:.2f} s, {self._wanted} only at {self.calls[0].asked_ms / 1000:.2f} s"
            self._run.fail(f"{name} was called at {times}.", others[0].asked_ms, self.calls[0].asked_ms)
        return self

    def answered(self, *, within_ms: float | None = None) -> ToolCalls:
        """Each such call got a result without error, within `within_ms` if given."""
        for call in self.calls:
            if call.answered_ms is None:
                self._run.fail(f"{self._wanted} never got a result.", call.asked_ms)
            elif call.state not in ("success", "running"):
                finding = f"{self._wanted} ended as {call.state}: {shortened(call.output)}."
                self._run.fail(finding, call.answered_ms)
            elif within_ms is not None and call.answered_ms - call.asked_ms > within_ms:
                took = f"took {call.answered_ms - call.asked_ms:.0f} ms; at most {within_ms:.0f} ms were allowed"
                self._run.fail(f"{self._wanted} {took}.", call.asked_ms, call.answered_ms)
        return self


def listed_calls(calls: Sequence[ToolCall]) -> str:
    """Return the calls as a failure lists them; empty for none."""
    return ", ".join(f"{call.name}({shortened(call.input, 40)})" for call in calls)


def has_arguments(call: ToolCall, wanted: dict[str, Any]) -> bool:
    """Whether the tool was called with at least these arguments.

    A pattern is searched in the argument's text; `True` is not 1.
    """
    arguments = call.arguments or {}
    for name, value in wanted.items():
        if name not in arguments:
            return False
        if isinstance(value, re.Pattern):
            if value.search(str(arguments[name])) is None:
                return False
        elif arguments[name] != value or isinstance(arguments[name], bool) is not isinstance(value, bool):
            return False
    return True


def _argument(value: Any) -> str:
    return f"/{value.pattern}/" if isinstance(value, re.Pattern) else repr(value)


class BargeInCheck(Fluent):
    """One interruption. `barge_in` holds its times and the words before and after the cut."""

    def __init__(self, run: Subject, barge_in: BargeIn) -> None:
        self._run = run
        self.barge_in = barge_in

    def silence_within(self, *, ms: float) -> BargeInCheck:
        """The user's ear was silent within `ms` of the interrupting voice.

        Without a voice the time counts from the flush. The check holds where nothing was audible then.
        """
        one = self.barge_in
        self._run.must_know_ears("when the ear fell silent")
        if one.silent_ms is not None and one.silent_ms - one.began_ms > ms:
            took_ms, flush_ms = one.silent_ms - one.began_ms, one.flush_ms - one.began_ms
            finding = (
                f"Interruption {one.number}: the ear was silent {took_ms:.0f} ms after it began (the flush left after "
                f"{flush_ms:.0f} ms); at most {ms:.0f} ms were allowed."
            )
            self._run.fail(finding, one.began_ms, one.silent_ms)
        return self

    def transcript_cut_at_heard_word(self, *, within_ms: float = WORD_TOLERANCE_MS) -> BargeInCheck:
        """The kept part of the response ends with the last heard word.

        It was heard to its end; `within_ms` is the accuracy of a word's time. A response of which nothing was heard is
        withdrawn.
        """
        self._run.must_know_ears("what was heard of the answer")
        for item in self.barge_in.items:
            same_in_log(self._run, item.speech, self.barge_in.flush_ms)
            self._check_cut(item, within_ms)
        return self

    def _check_cut(self, item: CutItem, within_ms: float) -> None:
        heard_ms, flush_ms = item.heard_ms, self.barge_in.flush_ms
        name = f"Interruption {self.barge_in.number}"
        fewest, most = heard_words(item.speech, item.before, heard_ms, within_ms)
        if not item.before.startswith(item.after):
            kept = f'keeps "{shortened(item.after)}", which is not how "{shortened(item.before)}" begins'
            self._run.fail(f"{name}: the conversation {kept}.", flush_ms)
        rest = item.before[len(item.after) :]
        if item.after and rest and item.after[-1].isalnum() and rest[0].isascii() and rest[0].isalnum():
            self._run.fail(f'{name}: the conversation is cut inside a word: "{shortened(item.after)}".', flush_ms)
        if item.outcome == "whole" and len(item.after) > len(most):
            finding = f"{name}: the answer was not cut; {heard_ms:.0f} of {item.audio_ms:.0f} ms were heard"
            self._run.fail(f'{finding}, up to "{shortened(most)}".', flush_ms)
        if not len(fewest) <= len(item.after) <= len(most):
            heard = most if len(item.after) > len(most) else fewest
            finding = f'{name}: the conversation keeps "{shortened(item.after)}"'
            self._run.fail(f'{finding}, but "{shortened(heard)}" was heard ({heard_ms:.0f} ms).', flush_ms)
        cut_ms = item.speech.cut_ms
        if item.outcome == "cut" and cut_ms is not None and abs(cut_ms - heard_ms) > within_ms:
            finding = f"{name}: the answer was cut at {cut_ms} ms, but {heard_ms:.0f} ms of it were heard"
            self._run.fail(f"{finding}; they may differ by {within_ms:.0f} ms.", flush_ms)

    def answered(self, *, within_ms: float | None = None) -> BargeInCheck:
        """The agent responded afterwards, in sound or text; within `within_ms` of the flush if given."""
        one = self.barge_in
        later = [answer for answer in self._run.reading.responses if answer.created_seq > one.seq]
        came = [ms for ms in map(self._came_ms, later) if ms is not None]
        if not came:
            self._run.fail(f"Interruption {one.number} was never answered.", one.flush_ms)
        elif within_ms is not None and min(came) - one.flush_ms > within_ms:
            took = f"after {min(came) - one.flush_ms:.0f} ms; at most {within_ms:.0f} ms were allowed"
            self._run.fail(f"Interruption {one.number} was answered {took}.", one.flush_ms, min(came))
        return self

    def _came_ms(self, answer: Response) -> float | None:
        heard = self._run.first_sound_ms(answer)
        written = any(one.written and one.text for one in self._run.reading.speeches if one.response_id == answer.id)
        return answer.done_ms if heard is None and written else heard


class Latency(Fluent):
    """Delay from each user turn to its response, in ms; one value per answered turn.

    Counted from the end of the user's voice, or from the arrival of a typed turn, to the first sound that was played:
    what the call has logged as `server_latency`. Where it has not, the record is measured; without playback the first
    sound that left the server stands for the first that was heard.

    A turn without a response has no value, but it is slower than all the time that the user waited: until a participant
    spoke or typed again or stopped the response, the user left, or the call ended. If that is not less than the limit,
    it counts as infinite. A turn that never ended, was withdrawn or was answered in text alone is owed no response, nor
    is one in a call with several humans, who also talk to each other.
    """

    def __init__(self, run: Subject, stage: str = "heard") -> None:
        self._run = run
        self._stage = stage
        self._told = {event.item_id: event for event in latencies(run.record.entries)}
        self.samples: list[tuple[UserTurn, float]] = self._measured()
        self.unanswered: list[tuple[UserTurn, float]] = self._waited()
        """Turns without a response, each with the ms that the user waited."""

    @property
    def values_ms(self) -> list[float]:
        """The values in order of the turns."""
        return [ms for _, ms in self.samples]

    def told(self, turn: UserTurn) -> s.ServerLatencyEvent | None:
        """Return what the call has logged about this turn."""
        return self._told.get(turn.item_id)

    def is_estimated(self, turn: UserTurn) -> bool:
        """Whether the client did not report the playback that ends this wait."""
        told = self.told(turn)
        return told.estimated if told is not None else not self._run.record.played

    def stage(self, name: str) -> Latency:
        """Return the latency to an earlier stage.

        Stages are `turn_end`, `transcript`, `response`, `first_token`, `first_audio`, `heard`, each from the end of the
        user's voice; or another one of `server_latency`.
        """
        known = [*STAGES, *sorted({stage for event in self._told.values() for stage in event.stages_ms} - {*STAGES})]
        if name not in known:
            raise ValueError(f"there is no stage {name!r}: use one of {', '.join(known)}")
        return Latency(self._run, name)

    def percentile_ms(self, percent: float) -> float:
        """Return the smallest value that `percent` of all values do not exceed. Fails without a value.

        A turn without a response counts as infinite if the user waited longer for it than for any other.
        """
        return self._percentile_ms(percent, max(self.values_ms, default=0.0))

    def _percentile_ms(self, percent: float, limit_ms: float) -> float:
        if not self.samples:
            places = [turn.to_ms for turn, _ in self.unanswered[:1]]
            self._run.fail(f"No turn of the user has a latency ({self._what()}): none was answered.", *places)
        values = sorted(self.values_ms) + [math.inf] * len(self._given_up(limit_ms))
        return values[max(0, math.ceil(len(values) * percent / 100) - 1)]

    def _given_up(self, limit_ms: float) -> list[tuple[UserTurn, float]]:
        return [(turn, waited_ms) for turn, waited_ms in self.unanswered if waited_ms >= limit_ms]

    def p50_below(self, *, ms: float) -> Latency:
        """Half of the turns are faster."""
        return self._below("p50", 50, ms)

    def p95_below(self, *, ms: float) -> Latency:
        """95 % of the turns are faster; with fewer than 20, all."""
        return self._below("p95", 95, ms)

    def max_below(self, *, ms: float) -> Latency:
        """All turns are faster."""
        return self._below("maximum", 100, ms)

    def _below(self, name: str, percent: float, limit_ms: float) -> Latency:
        measured_ms = self._percentile_ms(percent, limit_ms)
        if measured_ms == math.inf:
            missing = self._given_up(limit_ms)
            turn, waited_ms = missing[0]
            numbers = ", ".join(str(one.number) for one, _ in missing)
            finding = (
                f"The {name} from the end of the user's voice until {self._what()} is infinite: "
                f"{'turn' if len(missing) == 1 else 'turns'} {numbers} of {len(self.samples) + len(missing)} "
                f"{'was' if len(missing) == 1 else 'were'} never answered. "
                f"The user waited {waited_ms:.0f} ms after turn {turn.number}."
            )
            self._run.fail(finding, turn.to_ms, turn.to_ms + waited_ms)
        if measured_ms >= limit_ms:
            turn, slowest_ms = max(self.samples, key=lambda sample: sample[1])
            finding = (
                f"The {name} from the end of the user's voice until {self._what()} is {measured_ms:.0f} ms over "
                f"{counted(len(self.samples), 'turn')}; less than {limit_ms:.0f} ms was asked. "
                f"Turn {turn.number} took longest, {slowest_ms:.0f} ms."
            )
            self._run.fail(finding, turn.to_ms, turn.to_ms + slowest_ms)
        return self

    def _what(self) -> str:
        return STAGES.get(self._stage, self._stage)

    def _measured(self) -> list[tuple[UserTurn, float]]:
        return [(turn, ms) for turn in self._run.user_turns if (ms := self._of(turn)) is not None]

    def _waited(self) -> list[tuple[UserTurn, float]]:
        reading = self._run.reading
        if self._stage not in ANSWERED or len({turn.who for turn in reading.turns}) > 1:
            return []
        measured = {turn.number for turn, _ in self.samples}
        waited = []
        for turn in self._run.user_turns:
            if turn.number in measured or turn.ended_ms is None or turn.withdrawn or self._answered_elsewise(turn):
                continue
            later = [one.from_ms for one in reading.turns if one.number > turn.number and not one.withdrawn]
            left = [one.ts_ms for one in self._run.record.marks if one.what == "left" and one.ts_ms >= turn.to_ms]
            stopped = [one.flush_ms for one in reading.flushes if one.seq > turn.ended_seq]
            until_ms = min((*later, *left, *stopped, float(self._run.record.duration_ms)))
            waited.append((turn, max(0.0, until_ms - turn.to_ms)))
        return waited

    def _answered_elsewise(self, turn: UserTurn) -> bool:
        """Whether the response is text, or by an agent outside this run."""
        reading = self._run.reading
        answers = {one.id: one for one in reading.responses if _is_answer(one, turn)}
        written = {one.response_id for one in reading.speeches if one.written and one.words.text}
        own = {one.id for one in self._run.responses}
        return any(
            name in written or (name not in own and self._moment(answer) is not None)
            for name, answer in answers.items()
        )

    def _of(self, turn: UserTurn) -> float | None:
        answers = [one for one in self._run.responses if _is_answer(one, turn)]
        told = self.told(turn)
        if self._stage == "heard" and told is not None and told.latency_ms is not None:
            return float(told.latency_ms)
        if self._stage not in STAGES:
            return None if told is None else _reached_ms(told, self._stage)
        if self._stage == "turn_end":
            at_ms = turn.ended_ms
        elif self._stage == "transcript":
            at_ms = turn.transcript_ms
        else:
            at_ms = min((ms for ms in map(self._moment, answers) if ms is not None), default=None)
        if at_ms is None:
            return None
        passed_ms = at_ms - turn.to_ms
        return passed_ms if told is None else passed_ms - _asked_ms(told, passed_ms)

    def _moment(self, answer: Response) -> float | None:
        moments = {
            "response": answer.created_ms,
            "first_token": answer.first_token_ms,
            "first_audio": answer.first_audio_ms,
        }
        return moments.get(self._stage, self._run.first_sound_ms(answer))


def _reached_ms(told: s.ServerLatencyEvent, stage: str) -> float | None:
    """Return when a stage was done, from the end of the voice.

    Questions for consent take no time.
    """
    names = [*told.stages_ms]
    if stage not in names:
        return None
    return float(sum(told.stages_ms[name] for name in names[: names.index(stage) + 1] if name != CONSENT))


def _asked_ms(told: s.ServerLatencyEvent, passed_ms: float) -> float:
    """Return how long the user was asked for consent until then."""
    asked_ms = told.stages_ms.get(CONSENT, 0)
    return asked_ms if passed_ms >= asked_ms + (_reached_ms(told, CONSENT) or 0.0) else 0.0


def _is_answer(response: Response, turn: UserTurn) -> bool:
    return response.turn == turn.number and not response.out_of_band and response.created_seq > turn.ended_seq

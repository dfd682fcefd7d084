"""Assertions about a call: `Run` wraps a record and has a method for each question.

Every check returns an object for further checks, never a bool, and raises `CheckFailed`, an AssertionError, where it
does not hold: one sentence with the measurement and the requirement, then the timeline around the place.

    run.heard_by_agent.wer_below(0.10)
    run.agent_said("order number").tool_called("lookup_order", id="A-17").before("refund").answered()
    run.barge_in(2).silence_within(ms=150).transcript_cut_at_heard_word()
    run.response_latency.p95_below(ms=900)
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from realtime.agent.call_record import call_record_in
from realtime.testing.cases.case import CASE_FILE, LOG_FILE, read_case
from realtime.testing.cases.expected import Expected, ToolUse
from realtime.testing.check import golden
from realtime.testing.check.failing import CheckFailed, counted
from realtime.testing.check.parts import (
    WORD_TOLERANCE_MS,
    BargeInCheck,
    HeardByAgent,
    Latency,
    ToolCalls,
    has_arguments,
    heard_words,
    listed_calls,
    same_in_log,
)
from realtime.testing.check.reading import BY_VOICE
from realtime.testing.check.subject import Subject
from realtime.testing.check.turns import BargeIn, Speech, UserTurn
from realtime.testing.check.words import first_missing, normalised, says, shortened, shown
from realtime.testing.errors import CaseError
from realtime.testing.record import CallRecord
from realtime.testing.score.board import Score
from realtime.testing.score.labels import Label

M = TypeVar("M", bound=BaseModel)

__all__ = ["BargeInCheck", "CheckFailed", "HeardByAgent", "Latency", "Run", "ToolCalls"]

__tracebackhide__ = True
"""pytest hides these frames: a failure shows the test's line."""
ECHO_WORDS = 3
"""A turn that repeats at least this many agent words is echo."""
VOICE_LAG_MS = 1_000.0
"""Longest delay of a flush after the voice that causes it."""
PAUSE_LAG_MS = 3_000.0
"""The same for a flush that comes after the voice has ended."""
WHOLE_CALL_MS = 20_000.0
"""A recording of this length is no single utterance: its edges do not show who speaks in it."""
FLUSH_GRACE_MS = 100.0
"""Ms that a device plays after a flush: the sound it already has."""


class Run(Subject):
    """A played or recorded call and the assertions about it. `record` is all that is known of it."""

    def of(self, speaker: str) -> Run:
        """Narrow the run to one speaker.

        That is a human's turns and interruptions, or an agent's responses, tool calls and interruptions.
        """
        if speaker not in self.reading.speakers:
            known = ", ".join(self.reading.speakers) or "none"
            self.fail(f'Nobody called "{speaker}" says anything in this call: {known} does.')
        narrowed = Run(self.record, speaker=speaker)
        narrowed.__dict__["reading"] = self.reading
        return narrowed

    # -- words -----------------------------------------------------------------------------------------------------

    @property
    def heard_by_agent(self) -> HeardByAgent:
        """The agent's recognition of speech."""
        return HeardByAgent(self)

    def agent_said(self, *phrases: str | re.Pattern[str], within_turn: int | None = None) -> Run:
        """The agent said or wrote these phrases in order: the heard part counts.

        Other words may come between. Case, spacing and punctuation do not count; a pattern is searched in each item
        unchanged. `within_turn`: in the response to that turn, from 1; 0 before the first turn.
        """
        said = self._said(within_turn)
        missing = first_missing([one.text for one in said], phrases)
        if missing is not None:
            phrase, before = phrases[missing], phrases[:missing]
            unheard = [one for one in said if says(one.words.text, phrase) and not says(one.text, phrase)]
            if any(says(one.text, phrase) for one in said):
                unheard = []
            told = " or ".join(f'"{shortened(one.text)}"' for one in said if one.text) or "nothing"
            place = [one.first_audio_ms for one in (unheard or said) if one.first_audio_ms is not None]
            why = "was interrupted before it had said" if unheard else "did not say"
            behind = f" behind {shown(before[-1])}" if before else ""
            self.fail(f"The agent {why} {shown(phrase)}{behind}{_in_turn(within_turn)}; it said {told}.", *place[:1])
        return self

    def agent_did_not_say(self, phrase: str | re.Pattern[str], *, within_turn: int | None = None) -> Run:
        """The agent's audible and written words do not contain this; see `agent_said`."""
        for one in self._said(within_turn):
            if says(one.text, phrase):
                response = self.reading.log.response_of(one)
                place = one.first_audio_ms
                if place is None and response is not None:
                    place = response.created_ms
                finding = f'The agent said {shown(phrase)}{_in_turn(within_turn)}: "{shortened(one.text)}".'
                self.fail(finding, *([] if place is None else [place]))
        return self

    def user_said(self, phrase: str | re.Pattern[str], *, within_turn: int | None = None) -> Run:
        """The user typed this, or the agent understood it; see `agent_said`."""
        turns = self.user_turns if within_turn is None else [self._turn(within_turn)]
        if not any(says(turn.transcript, phrase) for turn in turns):
            told = " or ".join(f'"{shortened(turn.transcript)}"' for turn in turns if turn.transcript) or "nothing"
            finding = f"The user was not understood to say {shown(phrase)}{_in_turn(within_turn)}; it was {told}."
            self.fail(finding, *([turns[0].from_ms] if within_turn is not None else []))
        return self

    def _said(self, within_turn: int | None) -> list[Speech]:
        if within_turn is None:
            return self.speeches
        number = 0 if within_turn == 0 else self._turn(within_turn).number
        ids = {one.id for one in self.responses if one.turn == number}
        return [one for one in self.speeches if one.response_id in ids]

    def _turn(self, number: int) -> UserTurn:
        turns = self.user_turns
        if not 1 <= number <= len(turns):
            self.fail(f"There is no turn {number}: the call has {counted(len(turns), 'turn')} of the user.")
        return turns[number - 1]

    def turns(self, count: int) -> Run:
        """The user had exactly `count` turns, typed ones included."""
        turns = self.user_turns
        if len(turns) != count:
            listed = [f'{turn.from_ms / 1000:.2f} s "{shortened(turn.transcript, 30)}"' for turn in turns]
            finding = _finding(f"The user had {counted(len(turns), 'turn')}, not {count}", "; ".join(listed))
            self.fail(finding, *(turn.from_ms for turn in turns[count:]))
        return self

    # -- its record ------------------------------------------------------------------------------------------------

    def call_record(self, model: type[M]) -> M:
        """Return the record that the agent filled in at the end (`RealtimeAgent(call_record=model)`).

        The call failed this check if there is none, or not one of this class.
        """
        value = call_record_in(self.record.entries)
        if value is None:
            self.fail("The call has no record: its agent fills in none, or nothing was said.")
        if value["record"] is None:
            self.fail(f"The record of the call could not be filled in: {'; '.join(value['reasons'])}.")
        try:
            return model.model_validate(value["record"])
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            self.fail(f"The record of the call, a {value['model']}, is no {model.__name__}: {wrong}.")

    # -- tools -----------------------------------------------------------------------------------------------------

    def tool_called(self, name: str, /, **arguments: Any) -> ToolCalls:
        """The agent called the tool with at least these arguments. Patterns are searched in an argument's text."""
        return ToolCalls.select(self, name, arguments)

    def tools_called_in_order(self, *names: str) -> Run:
        """These tools were called in this order; others may come between."""
        calls = [one for one in self.reading.tool_calls if self._concerns(one.who, human=False)]
        left = list(names)
        for call in calls:
            if left and call.name == left[0]:
                left.pop(0)
        if left:
            made = ", ".join(call.name for call in calls) or "none"
            asked = ", ".join(names)
            place = [call.asked_ms for call in calls if call.name == left[0]]
            self.fail(f'Tools were to be called in the order {asked}, but "{left[0]}" does not follow: {made}.', *place)
        return self

    def no_tool_called(self, name: str | None = None) -> Run:
        """No tool was called, or not this one."""
        for call in self.reading.tool_calls:
            if self._concerns(call.who, human=False) and name in (None, call.name):
                self.fail(f"The agent called {call.name}({shortened(call.input)}).", call.asked_ms)
        return self

    def tools_answered(self) -> Run:
        """Every tool call has a result, in log and conversation alike."""
        for call in self.reading.tool_calls:
            if self._concerns(call.who, human=False) and call.answered_ms is None:
                self.fail(f"The call of {call.name}({shortened(call.input)}) never got a result.", call.asked_ms)
        results = {item.tool_result.id for item in self.record.items if item.tool_result is not None}
        for item in self.record.items:
            if item.tool_call is not None and item.tool_call.id not in results and self._speaker is None:
                self.fail(f"The conversation holds a call of {item.tool_call.name} without its result.")
        return self

    # -- interruptions ---------------------------------------------------------------------------------------------

    def barge_in(self, number: int = 1) -> BargeInCheck:
        """Return the n-th interruption, from 1: a voice, a text or the page stopped a response.

        A turn that continues after a pause (`hasty_turn`) is no interruption.
        """
        found = self.interruptions
        if not 1 <= number <= len(found):
            there = _finding(counted(len(found), "interruption"), _listed(found)) if found else "none."
            self.fail(f"There is no interruption {number}; the call has {there}", *(one.flush_ms for one in found))
        return BargeInCheck(self, found[number - 1])

    def barge_ins(self, count: int) -> Run:
        """There were exactly `count` interruptions; see `barge_in`."""
        found = self.interruptions
        if len(found) != count:
            finding = f"There {'was' if len(found) == 1 else 'were'} {counted(len(found), 'interruption')}, not {count}"
            self.fail(_finding(finding, _listed(found)), *(one.flush_ms for one in found))
        return self

    def no_self_interruption(self) -> Run:
        """No response was stopped without human speech.

        Other causes are the agent's own voice, noise, or the model itself. A human spoke where one of their recordings
        runs and its audio contains a voice. Where that is unknown (no audio, no times of speech, or one recording of
        the whole call, which includes the agent at the microphone), a turn without words, or with the words that the
        agent was saying, counts as no human as well.
        """
        for one in self.reading.flushes:
            if one.reason in (*BY_VOICE, "speech_stopped") and not self._human_spoke(one):
                heard = next((turn.transcript for turn in self.reading.turns if turn.first_seq > one.seq), "")
                what = f', understood as "{shortened(heard)}"' if heard else ""
                finding = f"The answer was stopped at {one.flush_ms / 1000:.2f} s, though no human spoke{what}."
                self.fail(finding, one.flush_ms)
        for response in self.responses:
            until_ms = response.done_ms
            if response.status != "cancelled" or until_ms is None or response.out_of_band:
                continue
            if response.first_audio_ms is None:
                # A response requested before the interruption that began after it.
                continue
            if not any(response.created_ms <= one.flush_ms <= until_ms for one in self.reading.flushes):
                self.fail(f"The model gave up its answer at {until_ms / 1000:.2f} s, without a request.", until_ms)
        return self

    def _human_spoke(self, one: BargeIn) -> bool:
        lag_ms = VOICE_LAG_MS if one.reason in BY_VOICE else PAUSE_LAG_MS
        sounding = [
            (spoken, voice)
            for spoken in self.record.spoken
            if spoken.from_ms <= one.flush_ms <= spoken.to_ms + lag_ms
            and ((voice := self.reading.voice_of(spoken)) is None or voice.heard(one.flush_ms - lag_ms, one.flush_ms))
        ]
        if self.record.spoken and not sounding:
            return False
        if any(voice is not None and spoken.to_ms - spoken.from_ms < WHOLE_CALL_MS for spoken, voice in sounding):
            return True
        turn = next((turn for turn in self.reading.turns if turn.first_seq > one.seq), None)
        if turn is None or turn.transcript_ms is None:
            return True
        words = normalised(turn.transcript)
        saying = normalised(" ".join(cut.before for cut in one.items))
        return bool(words) and not (len(words.split()) >= ECHO_WORDS and words in saying)

    def nothing_after_flush(self, *, grace_ms: float = FLUSH_GRACE_MS) -> Run:
        """After a flush, the dropped speech was neither audible nor sent.

        That includes what a response requested before the flush goes on to say in a new item.
        """
        if self.record.late_samples:
            places = [one.flush_ms for one in self.reading.flushes]
            finding = f"{counted(self.record.late_samples, 'sample')} of speech came to a page after its flush."
            self.fail(finding, *places)
        for flush in self.reading.flushes:
            for speech in self.reading.speeches:
                if not self.reading.log.asked_before(speech, flush.seq) or self.reading.log.is_out_of_band(speech):
                    continue
                for one in speech.played:
                    limit_ms = self._silent_from(flush, one.who) + grace_ms
                    end_ms = one.from_ms + one.ms
                    if end_ms > limit_ms and end_ms > flush.flush_ms:
                        finding = f"{one.who} heard the answer {end_ms - limit_ms:.0f} ms longer than allowed"
                        self.fail(f"{finding}, until {end_ms / 1000:.2f} s.", flush.flush_ms, end_ms)
        return self

    def _silent_from(self, flush: BargeIn, who: str) -> float:
        """Return when this page executed a flush: a slow line delays it."""
        marks = [one.ts_ms for one in self.record.marks if one.what == "flushed" and one.who == who]
        return min((ms for ms in marks if ms >= flush.flush_ms), default=float(flush.flush_ms))

    def transcript_equals_heard(self, *, within_ms: float = WORD_TOLERANCE_MS) -> Run:
        """Every spoken item in the conversation holds exactly the heard words.

        Where the record has the conversation's items, these are compared, and the log has to agree.

        `within_ms` is the accuracy of a word's time. Speech still audible when the call ended or the last user left is
        allowed; so is a response that was reverted because the user's turn had ended too early (`hasty_turn`): its
        first moments may have been heard.
        """
        self.must_know_ears("what was heard")
        last_ms = max((one.from_ms + one.ms for one in self.record.played), default=0.0)
        undone = {cut.speech.item_id for one in self.reading.flushes if not one.number for cut in one.items}
        for speech in self.speeches:
            if speech.written or self.reading.log.is_out_of_band(speech) or not speech.words.audio_ms:
                continue
            ends_ms = [one.from_ms + one.ms for one in speech.played]
            same_in_log(self, speech, *ends_ms[-1:])
            if speech.withdrawn and speech.item_id in undone:
                continue
            over = speech.gone_seq == 0 and (not ends_ms or max(ends_ms) >= last_ms)
            over = over and not self.reading.log.begun_after_flush(speech)
            if over and speech.heard_ms < speech.words.audio_ms and self.record.duration_ms - last_ms < within_ms:
                continue
            fewest, most = heard_words(speech, speech.words.text, speech.heard_ms, within_ms)
            if not len(fewest) <= len(speech.text) <= len(most):
                too = "more" if len(speech.text) > len(most) else "less"
                heard = fewest if too == "less" else most
                finding = f"The conversation holds {too} than was heard ({speech.heard_ms:.0f} ms of the answer)"
                words = f'"{shortened(speech.text)}", heard "{shortened(heard)}"'
                self.fail(f"{finding}: {words}.", *ends_ms[-1:])
        return self

    # -- time and cost ---------------------------------------------------------------------------------------------

    @property
    def response_latency(self) -> Latency:
        """Delay from each turn's end to its response's first sound, by stage."""
        return Latency(self)

    def no_dead_air(self, *, longer_than_ms: float, anyones: bool = False) -> Run:
        """No silence exceeded the limit while a human waited for the agent.

        Nor did one while a response was in progress. `anyones`: the limit also holds while it was the human's turn to
        speak.
        """
        for one in self.reading.silences():
            if one.ms > longer_than_ms and (one.owed or anyones):
                where = f"from {one.from_ms / 1000:.2f} s to {one.to_ms / 1000:.2f} s"
                finding = f"Nobody was to be heard for {one.ms:.0f} ms, {where}; at most {longer_than_ms:.0f} ms"
                self.fail(f"{finding} were allowed.", one.from_ms, one.to_ms)
        return self

    def score(self, labels: Iterable[Label] | None = None) -> Score:
        """Measure how well the agent listened; without `labels`, with those beside the case (`labels.json`)."""
        return Score.of(self.record, labels)

    def tokens_below(self, limit: int) -> Run:
        """All responses together cost fewer tokens, input and output; for all speakers, transcriptions too."""
        answers = sum(one.input_tokens + one.output_tokens for one in self.responses)
        transcriptions = self.reading.log.transcription_tokens if self._speaker is None else 0
        if answers + transcriptions >= limit:
            dearest = max(self.responses, key=lambda one: one.input_tokens + one.output_tokens, default=None)
            place = [dearest.created_ms] if dearest is not None else []
            finding = f"The call cost {counted(answers + transcriptions, 'token')}; fewer than {limit:,} were allowed."
            self.fail(finding, *place)
        return self

    # -- anything else ---------------------------------------------------------------------------------------------

    def matches_log(self, path: str | Path | None = None, *, accept: bool = False) -> Run:
        """The log equals the accepted one: `log.jsonl` in the case's folder, or in the given file or folder.

        It is compared byte for byte, but fields with the value None count as missing: events gain some with new
        versions. `accept` stores the present log as the accepted one instead of comparing.
        """
        if path is None and self.record.folder is None:
            raise ValueError("this call has no folder: say where its accepted log is")
        target = Path(path) if path is not None else self.record.folder or Path()
        if target.is_dir() or not target.suffix:
            target = target / "log.jsonl"
        if accept:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self.record.log_bytes())
            return self
        try:
            found = golden.difference(golden.read_accepted(target), self.record.log_bytes())
        except ValueError as error:
            self.fail(f"{target} cannot be compared: {error}.")
        if found is not None:
            text, at_ms = found
            finding = f"The log is not the accepted one ({target}); accept=True keeps the new one."
            self.fail(finding, *([] if at_ms is None else [at_ms]), details=text)
        return self

    def meets_expectations(self) -> Run:
        """The call meets the case's expectations. Raises CaseError where there are none."""
        check_expectations(self, expected_of(self.record))
        return self

    def check(self, function: Callable[[CallRecord], object]) -> Run:
        """Run your own check: a function over the record that raises AssertionError, or returns None.

        Raises TypeError for any other return value: a bool would be forgotten.
        """
        try:
            result = function(self.record)
        except CheckFailed:
            raise
        except AssertionError as error:
            finding = str(error) or f"{_name_of(function)} does not hold."
            raise CheckFailed(finding, self.timeline.around(), ()) from error
        if inspect.iscoroutine(result):
            result.close()
        if result is not None:
            raise TypeError(
                f"{_name_of(function)} returned {type(result).__name__}; a check asserts, and returns nothing"
            )
        return self


def _finding(finding: str, listed: str) -> str:
    return f"{finding}: {listed}." if listed else f"{finding}."


def _listed(barge_ins: Sequence[BargeIn]) -> str:
    return ", ".join(f"{one.flush_ms / 1000:.2f} s ({one.reason})" for one in barge_ins)


def _name_of(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _in_turn(number: int | None) -> str:
    return f" in turn {number}" if number is not None else ""


def expected_of(record: CallRecord) -> Expected:
    """Return the case's expectations, or those of a stored call's `case.json`.

    Raises CaseError where there is no case, or one without expectations.
    """
    expected = record.expected
    if expected is None and record.folder is not None and (record.folder / CASE_FILE).is_file():
        expected = read_case(record.folder).expect
    if expected is None or expected == Expected():
        remedy = 'Say what has to come of it ("expect" in case.json), or check it in the test.'
        raise CaseError(record.folder or record.name, "nothing is expected of this call", remedy)
    return expected


def check_expectations(run: Run, expected: Expected) -> None:
    """Raise AssertionError for the first expectation that is not met."""
    if expected.turns is not None:
        run.turns(expected.turns)
    if expected.user_said:
        _check_user_turns(run, expected.user_said)
    if expected.wer_below is not None:
        run.heard_by_agent.wer_below(expected.wer_below)
    run.agent_said(*expected.agent_said)
    if expected.tools:
        _check_tools(run, expected.tools)
    if expected.barge_ins is not None:
        run.barge_ins(expected.barge_ins)
    if expected.response_p95_below_ms is not None:
        run.response_latency.p95_below(ms=expected.response_p95_below_ms)
    if expected.no_dead_air_ms is not None:
        run.no_dead_air(longer_than_ms=expected.no_dead_air_ms)
    if expected.score:
        figures = run.score().figures
        found = {name: figures.get(name) for name in expected.score}
        if found != expected.score:
            run.fail(f"The score is {found}, not {expected.score}.")
    if expected.log:
        run.matches_log(LOG_FILE if run.record.folder is None else run.record.folder / LOG_FILE)


def _check_tools(run: Run, uses: tuple[ToolUse, ...]) -> None:
    """The tool calls are exactly those expected, in order, with their arguments."""
    calls = run.reading.tool_calls
    made = listed_calls(calls) or "none"
    for number, use in enumerate(uses, 1):
        wanted = f"{use.name}({', '.join(f'{name}={value!r}' for name, value in use.arguments.items())})"
        call = calls[number - 1] if number <= len(calls) else None
        if call is None or call.name != use.name or not has_arguments(call, use.arguments):
            place = [] if call is None else [call.asked_ms]
            run.fail(f"Call {number} of a tool was to be {wanted}; the calls are {made}.", *place)
    if len(calls) > len(uses):
        finding = (
            f"There {'was' if len(calls) == 1 else 'were'} {counted(len(calls), 'call')} of tools, not {len(uses)}"
        )
        run.fail(f"{finding}: {made}.", calls[len(uses)].asked_ms)


def _check_user_turns(run: Run, texts: tuple[str, ...]) -> None:
    # A turn without known words has nothing to compare.
    said = [one.text for one in run.record.items if one.type == "message" and one.role == "user" and one.text]
    if [normalised(text) for text in said] != [normalised(text) for text in texts if text]:
        places = [turn.from_ms for turn in run.user_turns]
        run.fail(f"The user's turns are {said}; {[*texts]} were expected.", *places[:1])

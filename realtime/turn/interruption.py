"""Decide what a voice over a reply means: an interruption, or a sound that asks for nothing. Pure; time is an argument.

A voice begins while a reply is played. Until there is a decision the reply goes on, quieter where the client can. Each
new piece of evidence is put before `Interruption.judge`, which applies `RULES` in order: the first that has something
to say decides. Sources: `docs/listening.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from realtime.turn.purpose import FOR_AGENT, model
from realtime.turn.small_talk import (
    DEFAULT_BACKCHANNELS,
    DEFAULT_TAKES_FLOOR,
    commands_stop,
    is_hum,
    phrase_at,
    phrases_of,
    repeats,
    resembles,
    rest_of,
    tokens_of,
)

DUCK_DB = -15.0
"""The level of a reply while a voice over it is undecided: quieter, and never silent."""
DUCK_RAMP_MS = 60
RESTORE_RAMP_MS = 250
"""A sudden return of the level startles; a sudden duck answers the user."""
MIN_SPEECH_MS = 500
FAR_DB = -6.0
"""A voice this far below the user's usual level comes from elsewhere.

Of voices 10 dB lower in a room 99 of 100 are below it after 0.5 s, of users who vary by 4 dB two of 100.
"""
FAR_MS = 300
"""How much of a voice shows its level; weak onsets are shorter."""
QUIETER_DB = -14.0
"""The same for a voice that sounds like the user's: people turn away, sit back, and gain control turns them down."""
MAYBE_DB = -7.5
"""The same for a voice too short to show its timbre.

It counts while no other one was heard in the call."""
TIMBRE_MS = 900
"""How much of a voice shows its timbre. Until then one between the two levels is undecided."""
ECHO = 0.6
"""Likeness to what was played from which a voice is its echo."""
SHORT_LOOK_MS = {1: 600, 2: 450}
"""How long a voice lasts until so few words are certain.

"I'm" is heard of a hummed "mm-hm", "that's not" of "exactly".
"""
QUIET_MS = 160
"""Silence after which a voice seems over; a consonant's is shorter."""
NO_ECHO = 0.4
"""Below this likeness a voice after a reply is surely no echo: one look is enough."""
SURE_MS = 600
"""A longer voice after a reply need not be sure."""
UNDECIDED_MS = 1_500
"""A voice that lasts this long with unknown words takes the floor: a user who talks must be heard."""
WORDLESS_MS = 4_000
"""The same for a voice without words, or of hums: a cough or a radio is over or known by then."""
BACKCHANNEL_MS = 350
UNHEARD_MS = 400
"""So much of a voice behind its last look may be words."""
LOOK_WAIT_MS = 200
"""How long a voice waits for a look that covers it."""
WORD_MS = 250
LETTER_MS = 30
"""The longest backchannel: this, and more for each word and letter: an "okay" that goes on begins more."""

ASSENT, BESIDE = 0.08, 0.06
"""Words less likely than this to be for the agent go by: as an assent, or as said to someone beside.

A reply that talks over its user costs more than one that stops too often, and recognition of a line mishears: at 0.15
a tenth of the interruptions went by.
"""
MAYBE_ASIDE = {2: 0.15, 3: 0.12}, 0.1
"""The same while the voice goes on, by the number of words: until it is over the reply goes on, quieter."""
SURE = 0.8
"""Words this likely to be for the agent need no longer look."""

FAR_VOICE = "far_voice"
"""Reason of a voice that comes from elsewhere."""
SIDE_TALK = "side_talk"
"""Reason of a voice that speaks to another human."""


class Verdict(StrEnum):
    """What to do about a voice over a reply."""

    HOLD = "hold"
    """Undecided: the reply goes on."""
    CONFIRM = "confirm"
    """The user takes the floor: flush and truncate."""
    DISMISS = "dismiss"
    """The voice asks for nothing: restore the level, and take back what the model heard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known at one moment about a voice over a reply. Levels in dB, likeness and shares 0 to 1."""

    voiced_ms: int
    """From its onset to now, or to its end."""
    ended: bool = False
    """Whether the voice is over."""
    silent_ms: int = 0
    """How long its level has been that of silence; `voiced_ms` does not count it."""
    has_paused: bool = False
    """Whether the voice went on after a pause, which `voiced_ms` counts."""
    words: str | None = None
    """What was recognised of it so far; "": no word; None: unknown, or nothing can recognise it."""
    words_expected: bool = False
    """Whether words will become known: a recogniser is at work, or the provider transcribes."""
    words_ms: int = 0
    """How much of the voice the words cover."""
    is_late: bool = False
    """Whether it ended so long ago that awaited words no longer count."""
    level_db: float | None = None
    """Its level relative to this user's usual voice; None: no voice of this user is known."""
    unlike: float | None = None
    """How different it sounds from this user's voice: up to 1 it may be the same; None: unknown."""
    others_heard: bool = True
    """Whether another voice than the user's was heard in this call."""
    echo: float | None = None
    """Likeness of its sound to what was played at the time; None: not measured."""
    user_heard: bool = True
    """Whether this user has had a turn: before that, all voices over replies may be echoes."""
    after_reply: bool = False
    """Whether nothing was played any more at its onset: then it is the end of an echo, or it has the floor."""
    played: Sequence[str] = ()
    """The words of the reply that were played, as `tokens_of` gives them."""
    talk: Sequence[str] = ()
    """Words of the reply that was played: a remark to someone else has none of them."""
    names: Sequence[str] = ()
    """What the agent is called."""
    played_ms: int = 0
    """How much of the reply was played when the voice began."""
    is_answer_expected: bool = False
    """Whether the reply has just asked a question: then "yes" answers it."""
    addressed: bool | None = None
    """In a room: whether the voice speaks to an agent; False: to another human; None: unknown."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason, as pages and logs show it."""

    verdict: Verdict
    reason: str = ""


HOLD = Judgement(Verdict.HOLD)


class Interruption:
    """The decision about voices over replies, with one user's settings. Holds no state of a voice."""

    def __init__(
        self,
        *,
        min_speech_ms: int = MIN_SPEECH_MS,
        min_words: int = 1,
        backchannels: Sequence[str] = (),
        protect_ms: int = 0,
    ) -> None:
        self.min_speech_ms = min_speech_ms
        self.min_words = min_words
        self.protect_ms = protect_ms
        own = phrases_of(backchannels)
        # A union is a copy, also with nothing: all calls without phrases of their own share one set.
        self.backchannels = DEFAULT_BACKCHANNELS | own if own else DEFAULT_BACKCHANNELS

    def judge(self, evidence: Evidence) -> Judgement:
        """Return the verdict of the first rule that has one; HOLD if none has."""
        for rule in RULES:
            if (judgement := rule(self, evidence)) is not None:
                return judgement
        return HOLD


def _after_reply(settings: Interruption, seen: Evidence) -> Judgement | None:
    if not seen.after_reply:
        return None
    if seen.echo is not None and seen.echo >= ECHO:
        return Judgement(Verdict.DISMISS, "echo")
    is_known = seen.ended or seen.voiced_ms >= SURE_MS or (seen.echo is not None and seen.echo < NO_ECHO)
    return Judgement(Verdict.CONFIRM, "speech") if is_known else HOLD


def _protected(settings: Interruption, seen: Evidence) -> Judgement | None:
    if seen.played_ms >= settings.protect_ms:
        return None
    return Judgement(Verdict.DISMISS, "protected") if seen.ended else HOLD


def _echo(settings: Interruption, seen: Evidence) -> Judgement | None:
    if seen.echo is not None and seen.echo >= ECHO:
        return Judgement(Verdict.DISMISS, "echo")
    if not seen.words:
        return None
    words = tokens_of(seen.words)
    # A user who was never heard may be no one: what sounds like the reply is taken for it, unless it surely is no echo.
    may_be_reply = not seen.user_heard and (seen.echo is None or seen.echo >= NO_ECHO)
    if repeats(words, seen.played) or (may_be_reply and resembles(words, seen.played)):
        return Judgement(Verdict.DISMISS, "echo_words")
    return None


def _far(settings: Interruption, seen: Evidence) -> Judgement | None:
    if seen.level_db is None or seen.level_db > FAR_DB or seen.addressed:
        return None
    words = tokens_of(seen.words or "")
    if words and not rest_of(words, settings.backchannels)[0]:
        return None  # People hum far more quietly than they speak.
    if seen.level_db > QUIETER_DB:
        if seen.unlike is not None and seen.unlike <= 1:
            return None
        if commands_stop(words):
            return None  # Meant for the agent or not: stopping costs less than being ignored.
        if seen.unlike is None and not seen.ended and seen.voiced_ms < TIMBRE_MS:
            return HOLD
        if seen.unlike is None and seen.level_db > MAYBE_DB and not seen.others_heard:
            return None
    lasted_ms = seen.voiced_ms + seen.silent_ms
    return Judgement(Verdict.DISMISS, FAR_VOICE) if seen.ended or lasted_ms >= FAR_MS else None


def _addressed(settings: Interruption, seen: Evidence) -> Judgement | None:
    if seen.addressed is None or not seen.words:
        return None
    if len(tokens_of(seen.words)) == 1 and _is_short_look(1, seen):
        return HOLD
    return Judgement(Verdict.CONFIRM, "addressed") if seen.addressed else Judgement(Verdict.DISMISS, SIDE_TALK)


def _words(settings: Interruption, seen: Evidence) -> Judgement | None:
    if seen.words is None:
        return None
    words = tokens_of(seen.words)
    rest, takes_floor = rest_of(words, settings.backchannels)
    if seen.is_answer_expected and any(not is_hum(word) for word in words) and seen.ended:
        return Judgement(Verdict.CONFIRM, "answer")
    if not rest:
        if not _seems_over(seen) or seen.words_ms < seen.voiced_ms:
            is_open = seen.has_paused or all(map(is_hum, words))
            long_ms = WORDLESS_MS if is_open else _longest_ms(words)
            # A look that ends before may not have heard the next word of a backchannel.
            is_known = seen.words_ms >= long_ms or seen.voiced_ms >= long_ms + LOOK_WAIT_MS
            is_long = seen.voiced_ms >= long_ms and is_known
            may_say_more = seen.voiced_ms - seen.words_ms >= UNHEARD_MS
            if seen.is_late and not may_say_more:
                return Judgement(Verdict.DISMISS, "backchannel" if words else "no_words")
            is_turn = seen.is_late or (is_long and not seen.ended)
            return Judgement(Verdict.CONFIRM, "speech") if is_turn else HOLD
        return Judgement(Verdict.DISMISS, "backchannel" if words else "no_words")
    is_more = len(rest) > phrase_at(rest, 0, DEFAULT_TAKES_FLOOR)
    if is_more and not commands_stop(rest) and (aside := _aside(settings, seen, words, rest)) is not None:
        return aside
    if takes_floor:
        return Judgement(Verdict.CONFIRM, "stop_words")
    if len(rest) < settings.min_words:
        return Judgement(Verdict.DISMISS, "few_words") if seen.ended else HOLD
    if _is_short_look(len(words), seen):
        return HOLD
    return Judgement(Verdict.CONFIRM, "words")


def _aside(settings: Interruption, seen: Evidence, words: Sequence[str], rest: Sequence[str]) -> Judgement | None:
    """Hold words that seem to ask nothing; dismiss them once they are over."""
    is_known = seen.is_late or (_seems_over(seen) and seen.words_ms >= seen.voiced_ms)
    purpose = model().purpose_of(seen.words or "", seen.talk, seen.names, is_over=is_known)
    if not is_known:
        limits, limit = MAYBE_ASIDE
        if purpose.agent < limits.get(len(words), limit) and seen.voiced_ms < WORDLESS_MS:
            return HOLD
        is_sure = FOR_AGENT is not purpose and purpose.agent >= SURE and len(rest) >= settings.min_words
        return Judgement(Verdict.CONFIRM, "words") if is_sure else None
    if purpose.assent >= purpose.beside:
        return Judgement(Verdict.DISMISS, "backchannel") if purpose.agent < ASSENT else None
    return Judgement(Verdict.DISMISS, SIDE_TALK) if purpose.agent < BESIDE else None


def _seems_over(seen: Evidence) -> bool:
    """Return whether the voice is over, or seems so by its level.

    A dismissal is taken back if the voice goes on; an answer to a question is not judged so early.
    """
    return seen.ended or (seen.silent_ms >= QUIET_MS and not seen.is_answer_expected)


def _is_short_look(n_words: int, seen: Evidence) -> bool:
    """Return whether this many words are too few so early."""
    return not seen.ended and seen.words_ms < SHORT_LOOK_MS.get(n_words, 0)


def _longest_ms(words: Sequence[str]) -> int:
    """Return how long a backchannel of these words lasts at most."""
    return BACKCHANNEL_MS + WORD_MS * len(words) + LETTER_MS * sum(map(len, words))


def _length(settings: Interruption, seen: Evidence) -> Judgement:
    if seen.words_expected:
        return Judgement(Verdict.CONFIRM, "speech") if seen.voiced_ms >= UNDECIDED_MS and not seen.ended else HOLD
    if seen.voiced_ms >= settings.min_speech_ms:
        return Judgement(Verdict.CONFIRM, "speech")
    return Judgement(Verdict.DISMISS, "short") if seen.ended else HOLD


RULES: tuple[Callable[[Interruption, Evidence], Judgement | None], ...] = (
    _after_reply,
    _protected,
    _echo,
    _far,
    _addressed,
    _words,
    _length,
)

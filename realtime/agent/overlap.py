"""A voice over a reply, from its onset to its end: what is known of it, and when to look again.

Time is counted in the client's audio, so a decision falls while audio arrives and replays as it happened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from realtime.audio.timbre import Timbre, timbre_of
from realtime.event import model as m
from realtime.turn.interruption import QUIET_MS, Evidence, Interruption, Judgement

Recognise = Callable[[bytes, int, Callable[[str | None], None]], None]
"""Recognise pcm16 of a rate in Hz; the callback gets its words, "" for none, None if that failed."""

InputEvent = (
    m.ModelInputDoneEvent
    | m.ModelInputCommittedEvent
    | m.ModelInputTranscriptionDeltaEvent
    | m.ModelInputTranscriptionDoneEvent
    | m.ModelInputTranscriptionFailedEvent
)
"""What a model reports of a voice after its onset."""

ECHO_EVERY_MS = 200
"""Length of a voice between two comparisons with what is played; each takes some 5 ms."""
ECHO_MARGIN_MS = 200
"""Audio before the onset that is compared as well: an echo is there before a detector finds a voice in it."""
ECHO_MS = 800
"""The newest part of a voice that is compared: a user may talk over an echo that was there first."""
LOOK_MS = (320, 440, 560, 720, 880, 1_040, 1_200, 1_400, 1_900, 2_500, 3_300, 4_200)
"""How long the voice has lasted at each look for its words: they are mostly known 0.2 s later."""
LOOK_EVERY_MS = 1_500
"""And from then on, as long as it lasts."""
LONGEST_LOOK_MS = 6_000
"""No more than the newest part of a longer voice is recognised."""
TRANSCRIPT_WAIT_MS = 3_000
"""How long the model may take to say the words; then they count as unknown."""
DECIDE_MS = 400
"""How long a voice that was found over waits for our recogniser.

That needs 0.2 s; then what is known decides."""
_FRAME_MS = 20
_LOUD_DB = 10.0
_LOUD_SHARE = 0.9
"""The share of frames below the loud ones of a clip."""
_CONTRAST_DB = 12.0
"""A voice is this much louder than the silence behind it."""
_LEARN = 0.3


def level_db(pcm: bytes, rate_hz: int) -> float | None:
    """Return the level of a voice in dB below full scale; None for less than 40 ms of sound.

    It is the mean power of the frames within 10 dB of the loudest, so the silence around a voice does not count.
    """
    level = _levels_db(pcm, rate_hz)
    if len(level) < 2:
        return None
    return float(10 * np.log10(np.mean(10 ** (level[level > level.max() - _LOUD_DB] / 10))))


def silent_ms(pcm: bytes, rate_hz: int, loud_db: float = -math.inf) -> tuple[int, float]:
    """Return how long the end is silent, and the loud level.

    The first is 0 where it cannot be told. `loud_db` is how loud the voice was before the clip.
    """
    level = _levels_db(pcm, rate_hz)
    if len(level) < 2:
        return 0, loud_db
    ranked = np.sort(level)
    floor_db, loud_db = float(ranked[len(ranked) // 10]), max(loud_db, float(ranked[int(len(ranked) * _LOUD_SHARE)]))
    if loud_db - floor_db < _CONTRAST_DB:
        return 0, loud_db
    heard = np.flatnonzero(level >= (floor_db + loud_db) / 2)
    last = int(heard[-1]) if len(heard) else -1
    return (len(level) - 1 - last) * _FRAME_MS, loud_db


def _levels_db(pcm: bytes, rate_hz: int) -> npt.NDArray[np.float32]:
    """Return the level of each frame, in dB below full scale."""
    length = rate_hz * _FRAME_MS // 1000
    samples = np.frombuffer(pcm, "<i2", len(pcm) // 2).astype(np.float32)
    frames = samples[: len(samples) // length * length].reshape(-1, length)
    power = np.einsum("ij,ij->i", frames, frames) / length
    return np.asarray(10 * np.log10(power / 32768.0**2 + 1e-12), np.float32)


class UsualVoice:
    """How loud this user usually is, and how the voice sounds."""

    __slots__ = ("_db", "_timbre")

    def __init__(self) -> None:
        self._db: float | None = None
        self._timbre: Timbre | None = None

    def learn(self, pcm: bytes, rate_hz: int) -> None:
        """Take a turn of the user."""
        db, timbre = level_db(pcm, rate_hz), timbre_of(pcm, rate_hz)
        if db is not None:
            self._db = db if self._db is None else self._db + _LEARN * (db - self._db)
        if timbre is not None:
            self._timbre = timbre if self._timbre is None else self._timbre.nearer(timbre, _LEARN)

    def unlike(self, pcm: bytes, rate_hz: int) -> float | None:
        """Return how different this voice sounds: see `Timbre.unlike`. None where that cannot be told."""
        timbre = None if self._timbre is None else timbre_of(pcm, rate_hz)
        return None if timbre is None or self._timbre is None else self._timbre.unlike(timbre)

    @property
    def is_known(self) -> bool:
        """Whether the user has spoken."""
        return self._db is not None

    def relative_db(self, pcm: bytes, rate_hz: int) -> float | None:
        """Return how much louder than usual this voice is; None while nothing is known."""
        db = level_db(pcm, rate_hz)
        return None if db is None or self._db is None else db - self._db


class JoinedPiece(NamedTuple):
    """A further piece of a voice: the model found an end before it."""

    piece_id: str
    model_start_ms: int
    """Where it begins, as the model counts it."""
    before_ms: int
    """How long the voice had lasted before."""


@dataclass(slots=True)
class Overlap:
    """One voice over a reply. Positions are ms of the client's audio."""

    piece_id: str
    """The id of the user's item, if the voice takes the floor: that of its first piece."""
    start_ms: int
    model_start_ms: int
    """The same as the model counts it."""
    item_id: str | None
    """The reply's item that was played."""
    played_ms: int
    words_expected: bool
    end_ms: int | None = None
    """Where the voice ended; None while it lasts."""
    loud_db: float = -math.inf
    """How loud it was."""
    found_over_ms: int | None = None
    """Where in the audio it was known that it has ended."""
    has_paused: bool = False
    after_reply: bool = False
    """Nothing is played any more: it is either the last of an echo, or the user's turn."""
    was_echo: bool = False
    """An echo, or a voice from elsewhere, sounded until `start_ms`."""
    over: bool = False
    """The turn that it would be is over: it will not go on."""
    confirmed: str = ""
    """The reason why it takes the floor; empty while that is open."""
    dismissed: str = ""
    """The reason why it asked for nothing so far; empty while that is open."""
    words: str | None = None
    words_ms: int = 0
    looks: int = 0
    looking: bool = False
    """Whether its words are being recognised."""
    unasked_ms: int = -1
    """How much of the voice the latest look covers."""
    echo: float | None = None
    """Share of its sound that the played audio explains; None: not measured."""
    echo_ms: int = 0
    """Length of the voice when that was measured."""
    joined: list[JoinedPiece] = field(default_factory=list)
    """Its further pieces: the model found an end in each pause."""
    transcripts: dict[str, str | None] = field(default_factory=dict)
    """The words of its pieces as the model says them; None: it cannot."""
    held: list[InputEvent] = field(default_factory=list)
    """What the model reported of it meanwhile."""

    @property
    def piece_ids(self) -> tuple[str, ...]:
        """Its pieces, in spoken order."""
        return (self.piece_id, *(piece.piece_id for piece in self.joined))

    @property
    def has_transcript(self) -> bool:
        """Whether the model has said the words of all pieces."""
        return self.transcripts.keys() >= {*self.piece_ids}

    def join(self, piece_id: str, model_start_ms: int) -> None:
        """The same voice goes on after a pause, as another piece."""
        self.joined.append(JoinedPiece(piece_id, model_start_ms, self.voiced_ms(0)))
        self.end_ms, self.over, self.has_paused = None, False, True

    def take_transcript(self, piece_id: str, words: str | None) -> None:
        """Take what the model says of a piece; None: it cannot."""
        self.transcripts[piece_id] = words
        if words is None:
            return
        said = " ".join(text for one in self.piece_ids if (text := self.transcripts.get(one)))
        next_piece = self.piece_ids.index(piece_id)
        if next_piece == len(self.joined):
            self.take_words(said, self.voiced_ms(0))
        elif (covers_ms := self.joined[next_piece].before_ms) >= self.words_ms:
            self.words, self.words_ms = said, covers_ms

    def voiced_ms(self, position_ms: int) -> int:
        """How long the voice has lasted."""
        return max(0, (position_ms if self.end_ms is None else self.end_ms) - self.start_ms)

    def look_is_due(self, position_ms: int, silent_ms: int = 0) -> bool:
        """Whether its words should be recognised now: at set times, and as soon as it seems over."""
        voiced_ms = self.voiced_ms(position_ms)
        if self.looking or not self.words_expected:
            return False
        if self.end_ms is not None:
            return self.unasked_ms < voiced_ms
        if silent_ms >= QUIET_MS and self.unasked_ms < voiced_ms - silent_ms:
            return True
        if self.looks < len(LOOK_MS):
            return voiced_ms >= LOOK_MS[self.looks]
        return voiced_ms >= self.unasked_ms + LOOK_EVERY_MS

    def look(self, position_ms: int) -> int:
        """Note that a look begins; returns how much of the voice it covers, in ms."""
        voiced_ms = self.voiced_ms(position_ms)
        while self.looks < len(LOOK_MS) and LOOK_MS[self.looks] <= voiced_ms:
            self.looks += 1
        self.looking = True
        self.unasked_ms = voiced_ms
        return voiced_ms

    def take_words(self, words: str | None, covers_ms: int) -> None:
        """Take the result of a look; None: it failed, and no other is tried."""
        self.looking = False
        if words is None:
            self.words_expected = False
        else:
            self.words, self.words_ms = words, covers_ms

    def to_compare_ms(self, position_ms: int) -> int:
        """Note a comparison with what is played, if one is due; return how much of the newest sound it takes, in ms."""
        come_ms = position_ms - self.start_ms
        # Once more when it is over: a short one has not been measured, and a pause brings no more of it.
        due_ms = self.echo_ms + ECHO_EVERY_MS if self.end_ms is None else self.end_ms - self.start_ms
        if come_ms < due_ms or (self.end_ms is not None and self.echo_ms >= due_ms):
            return 0
        self.echo_ms = come_ms
        return ECHO_MS if self.was_echo else min(come_ms + ECHO_MARGIN_MS, ECHO_MS)

    def begin_again(self, position_ms: int, played_ms: int) -> list[str]:
        """So far it was an echo, or came from elsewhere: the user's voice begins here.

        Returns the pieces before, which are no part of it any more.
        """
        self.model_start_ms += position_ms - self.start_ms
        self.start_ms, self.played_ms = position_ms, played_ms
        self.was_echo, self.has_paused = True, False
        self.echo_ms = self.looks = self.words_ms = 0
        self.unasked_ms = -1
        self.words = None
        left = [*self.piece_ids[:-1]]
        if left:
            self.piece_id = self.piece_ids[-1]
            self.joined.clear()
        return left

    def judge(
        self,
        settings: Interruption,
        position_ms: int,
        *,
        silent_ms: int,
        relative_db: float | None,
        unlike: float | None,
        others_heard: bool,
        played: Sequence[str],
        talk: Sequence[str],
        names: Sequence[str],
        is_answer_expected: bool,
        transcript_expected: bool,
        user_heard: bool = True,
        addressed: bool | None = None,
    ) -> Judgement:
        """Return what the voice means, as far as it is known. `transcript_expected`: the model will say its words."""
        ended = self.end_ms is not None
        if not ended:
            self.found_over_ms = None
        elif self.found_over_ms is None:
            self.found_over_ms = position_ms
        is_late = self.found_over_ms is not None and position_ms - self.found_over_ms >= DECIDE_MS
        words_expected = self.words_expected and not is_late
        return settings.judge(
            Evidence(
                voiced_ms=self.voiced_ms(position_ms) - (0 if ended else silent_ms),
                ended=ended,
                silent_ms=silent_ms,
                has_paused=self.has_paused,
                words=self.words,
                words_expected=words_expected or (ended and transcript_expected),
                is_late=is_late and not transcript_expected,
                words_ms=self.words_ms,
                level_db=relative_db,
                unlike=unlike,
                others_heard=others_heard,
                echo=self.echo,
                user_heard=user_heard,
                after_reply=self.after_reply,
                played=played,
                talk=talk,
                names=names,
                played_ms=self.played_ms,
                is_answer_expected=is_answer_expected,
                addressed=addressed,
            )
        )

    @property
    def is_dropped(self) -> bool:
        """Whether it is over and asked for nothing.

        An unknown word may still come that asks for something.
        """
        return self.over and bool(self.dismissed) and not (self.looking and self.words is None)

    def is_settled(self, position_ms: int, *, transcript_expected: bool) -> bool:
        """Whether nothing more will become known of it."""
        if not self.over or self.looking or self.look_is_due(position_ms):
            return False
        waits = transcript_expected and not self.has_transcript
        return not waits or position_ms - self.start_ms - self.voiced_ms(position_ms) > TRANSCRIPT_WAIT_MS

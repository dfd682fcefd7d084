"""User audio that no model has understood, kept for replay.

Positions are bytes of pcm16 at the model's rate since the call began; replayed audio does not count again.
"""

from __future__ import annotations

from dataclasses import dataclass

from realtime.agent.user_turn import UserTurn
from realtime.model.base import AudioAppend, AudioCommit

KEPT_MS = 10_000
"""More than this is never replayed."""
KEPT_WHILE_QUIET_MS = 1_000
"""Kept while the model's detector hears no voice: it reports one within half of this. 48 kB a call at 24 kHz."""
MIN_COMMIT_MS = 100
"""OpenAI refuses a commit of less as empty."""


@dataclass(slots=True, eq=False)
class SpeechPiece:
    """Audio that is one piece of a user's turn; None for what is unknown yet. Without an `end` it goes on."""

    start: int
    end: int | None = None
    turn: UserTurn | None = None
    piece_id: str | None = None
    """The model's name for it."""
    committed: bool = False
    """The server told the model that it ends here; otherwise the model finds its end, again if it is replayed."""
    label: str | None = None
    """The `event_id` of the client's commit that ended it."""
    end_ms: int | None = None
    """In push-to-talk: the position of that commit in the client's audio."""


class ReplayBuffer:
    """Audio that was sent and not understood, with the turns in it.

    A piece is settled when its words are known (or known to be lost), and everything before it with it.
    """

    def __init__(self, rate_hz: int) -> None:
        self._bytes_per_ms = rate_hz * 2 / 1000
        self._quiet_bytes = int(self._bytes_per_ms * KEPT_WHILE_QUIET_MS)
        self._most_bytes = int(self._bytes_per_ms * KEPT_MS)
        self._chunks: list[bytes] = []
        self._start = self._end = 0
        self._pieces: list[SpeechPiece] = []
        self._replayed: list[SpeechPiece] = []
        self._lost_at = 0

    def add(self, pcm: bytes, *, waits_for_speech: bool) -> None:
        """Keep audio that was sent; little of it before a voice that the model reports (`waits_for_speech`)."""
        self._chunks.append(pcm)
        self._end += len(pcm)
        quiet = waits_for_speech and not self._pieces
        bound = self._quiet_bytes if quiet else self._most_bytes
        while self._end - self._start > bound and len(self._chunks) > 1:
            self._start += len(self._chunks.pop(0))
        while self._pieces and (end := self._pieces[0].end) is not None and end <= self._start:
            del self._pieces[0]

    def latest(self, ms: int) -> bytes:
        """Return the newest audio that is kept, at most this much."""
        missing = int(ms * self._bytes_per_ms) & ~1
        pieces: list[bytes] = []
        for chunk in reversed(self._chunks):
            if missing <= 0:
                break
            pieces.append(chunk[-missing:])
            missing -= len(chunk)
        return b"".join(reversed(pieces))

    # -- turns -----------------------------------------------------------------------------------------------------

    def started(self, turn: UserTurn, piece_id: str, start_ms: int) -> None:
        """The model's detector hears a voice begin."""
        self._pieces.append(SpeechPiece(self._at(start_ms), turn=turn, piece_id=piece_id))

    def stopped(self, piece_id: str, end_ms: int) -> bool:
        """The model's detector hears a voice end. False: that was known, and the voice was only replayed."""
        for piece in self._pieces:
            if piece.piece_id == piece_id:
                if piece.end is not None:
                    return False
                piece.end = self._at(end_ms)
        return True

    def end_piece(self, turn: UserTurn | None = None, *, committed: bool) -> SpeechPiece:
        """End a piece here, `committed` or not reported by the model; without a turn, the model names it later."""
        piece = SpeechPiece(self._start, self._end, turn=turn, committed=committed)
        self._pieces.append(piece)
        return piece

    def settle(self, piece_id: str) -> None:
        """Drop a piece whose words are known, and everything before it."""
        for place, piece in enumerate(self._pieces):
            if piece.piece_id == piece_id:
                del self._pieces[: place + 1]
                self._drop_until(self._end if piece.end is None else piece.end)
                return

    def clear(self) -> None:
        """Drop what is not committed: the model has to forget it."""
        self._pieces = self.commits
        until = (self._pieces[-1].end or 0) if self._pieces else self._start
        kept: list[bytes] = []
        position = self._start
        for chunk in self._chunks:
            position += len(chunk)
            # Commits stand between chunks, so whole chunks go.
            if position <= until:
                kept.append(chunk)
        self._chunks = kept
        moved = self._end - sum(map(len, kept)) - self._start
        self._start += moved
        for piece in self._pieces:
            piece.start, piece.end = piece.start + moved, (piece.end or 0) + moved

    # -- after a lost link -----------------------------------------------------------------------------------------

    def replay(self) -> list[AudioAppend | AudioCommit]:
        """Return everything that the next link has to hear first.

        The model will name the pieces anew. Those that the server ends again stand in `commits`; `taken_up` finds the
        others as the model reports them.
        """
        self._lost_at = self._end
        while self._pieces and self._is_torn(self._pieces[0]):
            self._drop_until(self._pieces.pop(0).end or 0)
        for piece in self._pieces:
            piece.piece_id = None
            if piece.turn is not None:
                piece.turn.starts_over()
        self._replayed = [one for one in self._pieces if not one.committed and one.turn is not None]
        messages: list[AudioAppend | AudioCommit] = []
        ends = self.commits
        position = since = self._start
        for chunk in self._chunks:
            messages.append(AudioAppend(chunk, again=True))
            position += len(chunk)
            while ends and (ends[0].end or 0) <= position:
                piece = ends.pop(0)
                if position - since >= MIN_COMMIT_MS * self._bytes_per_ms:
                    messages.append(AudioCommit())
                    since = position
                else:
                    self._pieces.remove(piece)
        return messages

    @property
    def commits(self) -> list[SpeechPiece]:
        """Pieces that the server ended and whose words are unknown, in order."""
        return [one for one in self._pieces if one.committed]

    @property
    def n_whole(self) -> int:
        """Number of whole turns that are replayed and the model ends itself.

        A model that answers turns by itself will answer each.
        """
        return sum(piece.end is not None for piece in self._replayed)

    def taken_up(self, piece_id: str, start_ms: int | None = None) -> SpeechPiece | None:
        """Return the replayed piece that the model reports under this id; None for a new one."""
        while self._replayed:
            piece = self._replayed.pop(0)
            end = self._lost_at if piece.end is None else piece.end
            if start_ms is None or self._at(start_ms) <= end:
                piece.piece_id = piece_id
                return piece
        return None

    def _is_torn(self, piece: SpeechPiece) -> bool:
        """Whether the model ended it and its beginning is not kept: it would hear something else."""
        return not piece.committed and piece.end is not None and piece.start < self._start

    def _at(self, ms: int) -> int:
        return int(ms * self._bytes_per_ms) & ~1

    def _drop_until(self, position: int) -> None:
        while self._chunks and self._start < position:
            chunk = self._chunks.pop(0)
            surplus = self._start + len(chunk) - position
            if surplus > 0:
                self._chunks.insert(0, chunk[-surplus:])
                self._start = position
            else:
                self._start += len(chunk)

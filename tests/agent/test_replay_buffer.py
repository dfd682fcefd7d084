"""What is kept of the user's audio, to be said again after a lost link. A pure core."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from realtime.agent.replay_buffer import KEPT_MS, ReplayBuffer
from realtime.agent.user_turn import UserTurn
from realtime.model.base import AudioAppend, AudioCommit
from tests.agent.fakes import speech

RATE_HZ = 16_000
BYTES_PER_MS = 32


def sent(ms: int, *, chunk_ms: int = 20, start_ms: int = 0) -> tuple[ReplayBuffer, bytes]:
    """So much audio was sent, in chunks."""
    kept, pcm = ReplayBuffer(RATE_HZ), speech(start_ms + ms)[start_ms * BYTES_PER_MS :]
    say(kept, pcm, chunk_ms)
    return kept, pcm


def say(kept: ReplayBuffer, pcm: bytes, chunk_ms: int = 20) -> None:
    step = chunk_ms * BYTES_PER_MS
    for at in range(0, len(pcm), step):
        kept.add(pcm[at : at + step], waits_for_speech=False)


def again(kept: ReplayBuffer) -> tuple[bytes, list[int]]:
    """The audio that is said again, and after how many ms of it the commits stand."""
    pcm, commits = b"", []
    for message in kept.replay():
        if isinstance(message, AudioAppend):
            assert message.again
            pcm += message.pcm
        else:
            assert isinstance(message, AudioCommit)
            commits.append(len(pcm) // BYTES_PER_MS)
    return pcm, commits


@given(
    chunk_ms=st.integers(1, 200),
    sent_ms=st.integers(0, 3_000),
    end_ms=st.integers(0, 3_000),
    later_ms=st.integers(0, 500),
)
def test_all_but_what_was_understood_is_said_again_however_it_was_cut(
    chunk_ms: int, sent_ms: int, end_ms: int, later_ms: int
) -> None:
    kept, pcm = sent(sent_ms, chunk_ms=chunk_ms)
    kept.started(UserTurn("u1"), "u1", 0)
    kept.stopped("u1", min(end_ms, sent_ms))
    say(kept, pcm[: later_ms * BYTES_PER_MS], chunk_ms)
    kept.settle("u1")
    assert again(kept)[0] == (pcm + pcm[: later_ms * BYTES_PER_MS])[min(end_ms, sent_ms) * BYTES_PER_MS :]


@given(chunk_ms=st.integers(1, 200), sent_ms=st.integers(0, 30_000))
def test_never_more_than_ten_seconds_are_kept_and_these_are_the_last(chunk_ms: int, sent_ms: int) -> None:
    kept, pcm = sent(sent_ms, chunk_ms=chunk_ms)
    said = again(kept)[0]
    assert len(said) <= KEPT_MS * BYTES_PER_MS
    assert pcm.endswith(said)
    assert len(said) >= min(len(pcm), (KEPT_MS - chunk_ms) * BYTES_PER_MS)


def test_commits_stand_where_they_stood_and_one_of_next_to_nothing_is_left_out() -> None:
    """Saying it again twice says the same."""
    kept, pcm = sent(300)
    first = kept.end_piece(UserTurn("a"), committed=True)
    say(kept, pcm[: 60 * BYTES_PER_MS])
    kept.end_piece(UserTurn("b"), committed=True)
    say(kept, pcm)
    assert again(kept) == again(kept) == (pcm + pcm[: 60 * BYTES_PER_MS] + pcm, [300])
    assert kept.commits == [first]


def test_a_turn_of_the_models_finding_whose_beginning_is_gone_is_left_out() -> None:
    kept, _ = sent(1_000)
    kept.started(UserTurn("u1"), "u1", 200)
    kept.stopped("u1", 800)
    say(kept, speech(KEPT_MS - 500))
    said, _ = again(kept)
    assert said == speech(1_000)[800 * BYTES_PER_MS :] + speech(KEPT_MS - 500)
    assert kept.n_whole == 0


def test_a_new_voice_later_than_the_turn_that_was_said_again_is_another_turn() -> None:
    kept, _ = sent(1_000)
    turn = UserTurn("u1")
    kept.started(turn, "u1", 200)
    kept.stopped("u1", 800)
    again(kept)
    assert kept.n_whole == 1
    assert kept.taken_up("u2", 2_000) is None
    again(kept)
    found = kept.taken_up("u2", 210)
    assert found is not None
    assert found.turn is turn
    assert kept.stopped("u2", 790) is False, "it was told already"


def test_after_what_was_not_committed_is_forgotten_positions_go_on() -> None:
    kept, pcm = sent(400)
    kept.end_piece(committed=True)
    say(kept, pcm[: 200 * BYTES_PER_MS])
    kept.clear()
    say(kept, pcm)
    assert again(kept) == (pcm * 2, [400])

"""The rule of truncation: which words belong to the part of the audio that was played."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.state.truncation import Spoken, Truncation, portion_played

texts = st.text(alphabet="ab .,天", max_size=12)
pieces_of_speech = st.lists(st.tuples(texts, st.floats(0, 3000, allow_nan=False)), max_size=8)
played = st.floats(0, 30_000, allow_nan=False)


@pytest.mark.parametrize(
    ("played_ms", "audio_ms", "portion"),
    [(0, 0.0, "none"), (0, 500.0, "none"), (1, 500.0, "part"), (499, 500.9, "part"), (500, 500.9, "all")],
)
def test_an_item_was_played_not_at_all_in_part_or_whole(played_ms: int, audio_ms: float, portion: str) -> None:
    assert portion_played(played_ms, audio_ms) == portion


def test_a_truncation_is_clamped_to_the_audio_that_arrived() -> None:
    spoken = Spoken(text="one two", audio_ms=900.7, audio_complete=True)
    assert spoken.truncation(5_000) == Truncation("one two", 900)
    assert spoken.truncation(-1) == Truncation("", 0)


def test_of_two_truncations_the_shorter_one_holds() -> None:
    assert Truncation("one two", 500).shorter(Truncation("one", 900)) == Truncation("one", 500)


def test_the_event_of_a_truncation_names_the_item_and_the_agent() -> None:
    event = Truncation("one", 500).event("item", "agent", "Robin")
    assert (event.item_id, event.audio_end_ms, event.transcript) == ("item", 500, "one")
    assert (event.agent_id, event.agent_name) == ("agent", "Robin")


@given(pieces_of_speech, st.booleans(), st.booleans(), played)
def test_a_cut_transcript_is_a_prefix_that_ends_with_a_word(
    pieces: list[tuple[str, float]], aligned: bool, whole: bool, played_ms: float
) -> None:
    spoken = Spoken(aligned=aligned, audio_complete=whole)
    for text, audio_ms in pieces:
        spoken.add_text(text)
        spoken.audio_ms += audio_ms
    transcript, rest = spoken.played_text(played_ms), spoken.text[len(spoken.played_text(played_ms)) :]
    assert spoken.text.startswith(transcript)
    assert transcript == transcript.rstrip()
    inside_a_word = transcript and rest and not {"天", *" "} & {transcript[-1], rest[0]}
    assert not inside_a_word


@given(pieces_of_speech, st.booleans(), st.booleans(), st.lists(played, min_size=2, max_size=6))
def test_more_played_audio_never_means_fewer_words(
    pieces: list[tuple[str, float]], aligned: bool, whole: bool, moments_ms: list[float]
) -> None:
    spoken = Spoken(aligned=aligned, audio_complete=whole)
    for text, audio_ms in pieces:
        spoken.add_text(text)
        spoken.audio_ms += audio_ms
    transcripts = [spoken.played_text(played_ms) for played_ms in sorted(moments_ms)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(transcripts))


def test_words_begin_where_their_audio_does() -> None:
    """In step exactly, in complete audio by their share, in audio to come rather early."""
    aligned = Spoken(aligned=True)
    aligned.add_text("One.")
    aligned.audio_ms += 700
    aligned.add_text(" Two.")
    aligned.audio_ms += 900
    assert aligned.begins_ms(5) == 700
    free = Spoken()
    free.add_text("One two three four five six.")
    assert 0 < free.begins_ms(18) < 18 * 1000 / 15
    free.audio_ms, free.audio_complete = 2_800.0, True
    assert free.begins_ms(14) == pytest.approx(1_400)

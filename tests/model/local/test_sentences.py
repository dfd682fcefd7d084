"""Text into sentences, whole and streamed."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from realtime.model.local.sentences import MAX_CHARS, SentenceSplitter
from tests.model.local.rows import labelled


def split_sentences(text: str) -> list[str]:
    """The sentences of a whole text."""
    splitter = SentenceSplitter()
    return [*splitter.push(text), *splitter.finish()]


def test_sentences_end_where_a_reader_would_pause() -> None:
    sentences = labelled("sentences")
    assert {text: split_sentences(text) for text in sentences} == sentences


def test_long_text_is_cut_at_a_comma_and_else_at_a_word() -> None:
    clauses = ", ".join(["and then we went on to the next village"] * 10)
    assert all(piece.endswith(",") for piece in split_sentences(clauses)[:-1])
    words = split_sentences("word " * 100)
    assert all(len(piece) <= MAX_CHARS and set(piece.split()) == {"word"} for piece in words)
    assert [len(piece) for piece in split_sentences("x" * 450)] == [200, 200, 50]


def test_a_streamed_sentence_comes_as_soon_as_its_end_is_certain() -> None:
    splitter = SentenceSplitter()
    assert splitter.push("It is 3") == []
    assert splitter.push(".") == []
    assert splitter.push("5 degrees.") == []
    assert splitter.push(" And") == ["It is 3.5 degrees."]
    assert splitter.finish() == ["And"]
    assert splitter.finish() == []


TEXTS = st.text(alphabet="abIMr .,!?…\"'\n:;5Dé—", max_size=600)


@given(TEXTS, st.lists(st.integers(0, 600), max_size=8))
def test_streamed_equals_whole(text: str, cuts: list[int]) -> None:
    splitter = SentenceSplitter()
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    streamed = [sentence for start, end in pairwise(bounds) for sentence in splitter.push(text[start:end])]
    assert [*streamed, *splitter.finish()] == split_sentences(text)


@given(TEXTS)
def test_nothing_but_space_is_lost_and_no_piece_is_too_long(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == sentence.strip() and 0 < len(sentence) <= MAX_CHARS for sentence in sentences)

"""Sentences are read aloud, code is not; whole and streamed."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from realtime.model.local.passages import CODE_ALOUD, PassageSplitter
from tests.model.local.rows import labelled


def split(*deltas: str) -> list[tuple[str, str]]:
    splitter = PassageSplitter()
    passages = [passage for delta in deltas for passage in splitter.push(delta)]
    return [(passage.text, passage.aloud) for passage in (*passages, *splitter.finish())]


def test_code_between_fences_is_shown_and_not_read_aloud() -> None:
    """The passages of a text; those that begin with a fence are code."""
    for text, passages in labelled("passages").items():
        aloud = [CODE_ALOUD if passage.startswith(("```", "~~~")) else passage for passage in passages]
        assert split(text) == [*zip(passages, aloud, strict=True)]


@given(st.text(alphabet="`~ab. \n", max_size=80), st.lists(st.integers(0, 80), max_size=8))
def test_streamed_equals_whole(text: str, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert split(*(text[start:end] for start, end in pairwise(bounds))) == split(text)

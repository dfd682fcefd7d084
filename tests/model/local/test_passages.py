"""Sentences are read aloud, code is not; whole and streamed."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from realtime.model.local.passages import CODE_ALOUD, PassageSplitter


def split(*deltas: str) -> list[tuple[str, str]]:
    splitter = PassageSplitter()
    passages = [passage for delta in deltas for passage in splitter.push(delta)]
    return [(passage.text, passage.aloud) for passage in (*passages, *splitter.finish())]


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        ("", []),
        ("Try `ls` first.", [("Try `ls` first.", "Try `ls` first.")]),
        (
            "Like this:\n```python\nprint(1)\n```\nThat is all.",
            [("Like this:", "Like this:"), ("```python\nprint(1)\n```", CODE_ALOUD), ("That is all.", "That is all.")],
        ),
        ("```\na. b. c.", [("```\na. b. c.", CODE_ALOUD)]),
        ("````\n```\nx\n```\n````", [("````\n```\nx\n```\n````", CODE_ALOUD)]),
        ("```\nx\n`````\nDone.", [("```\nx\n`````", CODE_ALOUD), ("Done.", "Done.")]),
        (
            '```python\nmark = "```"\nprint(mark)\n```\nDone.',
            [('```python\nmark = "```"\nprint(mark)\n```', CODE_ALOUD), ("Done.", "Done.")],
        ),
        ("```md\n```sh\nls\n```\nDone.", [("```md\n```sh\nls\n```", CODE_ALOUD), ("Done.", "Done.")]),
        ("```\nls```  \nDone.", [("```\nls```", CODE_ALOUD), ("Done.", "Done.")]),
        ("Say ```x``` now.", [("Say", "Say"), ("```x```", CODE_ALOUD), ("now.", "now.")]),
    ],
)
def test_code_between_fences_is_shown_and_not_read_aloud(text: str, passages: list[tuple[str, str]]) -> None:
    assert split(text) == passages


@given(st.text(alphabet="`ab. \n", max_size=80), st.lists(st.integers(0, 80), max_size=8))
def test_streamed_equals_whole(text: str, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert split(*(text[start:end] for start, end in pairwise(bounds))) == split(text)

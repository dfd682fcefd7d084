"""Sentences are read aloud, code is not; whole and streamed."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from realtime.model.local.passages import CODE_ALOUD, PassageSplitter


def split(*deltas: str) -> list[tuple[str, str]]:
    splitter = PassageSplitter()
    passages = [passage for delta in deltas for passage in splitter.push(delta)]
    return [(passage.text, passage.aloud) for passage in (*passages, *splitter.finish())]


def test_code_between_fences_is_shown_and_not_read_aloud() -> None:
    def code(text: str) -> tuple[str, str]:
        return text, CODE_ALOUD

    def words(text: str) -> tuple[str, str]:
        return text, text

    passages = {
        "": [],
        "Try `ls` first.": [words("Try `ls` first.")],
        "Like this:\n```python\nprint(1)\n```\nThat is all.": [
            *(words("Like this:"), code("```python\nprint(1)\n```"), words("That is all."))
        ],
        "```\na. b. c.": [code("```\na. b. c.")],
        "````\n```\nx\n```\n````": [code("````\n```\nx\n```\n````")],
        "```\nx\n`````\nDone.": [code("```\nx\n`````"), words("Done.")],
        '```python\nmark = "```"\nprint(mark)\n```\nDone.': [
            *(code('```python\nmark = "```"\nprint(mark)\n```'), words("Done."))
        ],
        "```md\n```sh\nls\n```\nDone.": [code("```md\n```sh\nls\n```"), words("Done.")],
        "```\nls```  \nDone.": [code("```\nls```"), words("Done.")],
        "Say ```x``` now.": [words("Say"), code("```x```"), words("now.")],
    }
    assert {text: split(text) for text in passages} == passages


@given(st.text(alphabet="`ab. \n", max_size=80), st.lists(st.integers(0, 80), max_size=8))
def test_streamed_equals_whole(text: str, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert split(*(text[start:end] for start, end in pairwise(bounds))) == split(text)

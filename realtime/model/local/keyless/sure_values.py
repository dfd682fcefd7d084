"""Whether words of a request are surely the value of an argument."""

from __future__ import annotations

from collections.abc import Sequence

from realtime.model.local.keyless.parameters import Parameter, Takes
from realtime.model.local.keyless.tool_words import FINITE
from realtime.model.local.keyless.words import each, plain

_OPEN = frozenset(
    each(
        "text query question search prompt q input message note content body description reason comment detail details "
        "symptoms problem instruction instructions task expression sentence phrase words memo summary"
    )
)
"""Names of arguments that take any words, also a sentence."""
ASKING = frozenset(
    each(
        "what what's which who who's whom whose where where's when when's why how how's if whether whatever whoever is "
        "are was were am do does did can could will would should has have had isn't aren't"
    )
)
"""Words that begin a question, and no name of a thing."""
_ASKED = frozenset(each("query question search prompt q"))
"""Of these, those that take a question."""
_SUBJECTS = frozenset(each("i we he she they you it who that i'm we're it's they're"))
_PLACEHOLDERS = frozenset(
    each(
        "it that this these those them something anything everything nothing whatever one ones some any again "
        "whoever whomever someone somebody anyone anybody everyone everybody person people guy man woman lady "
        "stuff thing things else now usual normal regular"
    )
)
"""Words that stand for a value and are none."""
UNNAMING = frozenset(each("next last first same other another new whole best one many much any some only"))


def takes_any(one: Parameter) -> bool:
    """Whether an argument takes any words, also a sentence."""
    return one.takes is Takes.MESSAGE or bool({*one.words} & _OPEN)


def is_value(one: Parameter, text: str, begins: Sequence[str]) -> bool:
    """Whether words are the value: no question, and no sentence for a thing.

    `begins` is the first word behind the tool's verb: a request that begins with a question's word is one itself.
    """
    words = plain(text).split()
    if one.takes is not Takes.MESSAGE and text.islower() and {*words} <= _PLACEHOLDERS | UNNAMING:
        return False
    if one.takes is Takes.TITLE:
        # "Who Let the Dogs Out" is a song, "what they played at our wedding" is none.
        return not {*words[:1]} & ASKING or all(word[0].isupper() for word in text.split()[:2])
    if not takes_any(one):
        return not (FINITE.search(" ".join(words)) or {*words} & _SUBJECTS or {*words[:1]} & ASKING)
    return one.words[-1] in _ASKED or not ({*words[:1]} & ASKING and [*begins] == words[:1])

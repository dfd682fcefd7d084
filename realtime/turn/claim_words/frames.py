"""Which clauses of a sentence the speaker states: not those that are quoted, conditional or steps of a procedure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from realtime.turn.claim_words.english import SELF, SUBORDINATE, word_set
from realtime.turn.claim_words.forms import Clause
from realtime.turn.claim_words.grammar import without_openers

_FILLER = re.compile(
    r"(?:,\s*)?(?<![\w'-])"
    r"(?:u+h+m*|u+m+|e+rm?|h+m+|mm+|m{1,20}hm+|mm-hm+|(?<=, )like(?=,)|let me see)\b(?!['-])[,.]?(?=\s|$)",
    re.IGNORECASE,
)
_TITLE = re.compile(r"\b(Dr|Mr|Mrs|Ms|St)\.")
_REPEATED = re.compile(
    r"\b((?:i|you|we|it|that|they|the|your|so|and)(?:'\w+)?),? (?:\1,? ){0,20}\1(?![\w'])", re.IGNORECASE
)
_COMPOUND = re.compile(r"\b(well|ill|hand|home|self|pre|half|long|late|newly|freshly|badly)-(?=\w)", re.IGNORECASE)
_JOINED = re.compile(r"(?<=\w)-(on|off|up|in|out|down)\b", re.IGNORECASE)
"""Joined, "turned-on lights" and "check-up" hold no verb."""
_DRAWN = re.compile(r"(?i)\b(a)a+(?=nd\b)")
_FIGURES = re.compile(r",? \b(?:word for word|as in, ?\w+)\b", re.IGNORECASE)
_BUTTON = re.compile(r"\b(?:hit|pressed|clicked|tapped) (send|submit|cancel|delete)\b(?! to\b)")
_PRESSED = {"send": "sent it", "submit": "submitted it", "cancel": "cancelled it", "delete": "deleted it"}
_CLEFT = re.compile(r"\b[Ww]hat (I|we)(?:'ve| have)? (?:just )?(?:done|did)(?: for you)? (?:is|was)(?: to)? (?=[a-z])")
_KNOWN = re.compile(r"\bnow that (?=(?:i|we|it|you|your|the)\b)", re.IGNORECASE)
_TAG = re.compile(
    r"[,;] *(?:did|have|has|had|is|are|was|were|do|does)(?:n't)? (?:you|he|she|they|it|we)\b *(?:[,.?]|$)",
    re.IGNORECASE,
)
"""A question behind the sentence: "cancelled the trip, did they?"."""

_SAYING = word_set(
    "says said reads writes wrote states stated asks asked goes quote quoting claims claimed announced replied begins "
    "began runs ran"
)
_TEXTS = word_set(
    "headline subject title text wording message mail email note line banner letter status caption reply error sign "
    "label entry page words"
)
_TOLD = re.compile(r"\b(?:told|wrote to|texted|emailed|asked) (?:me|us|him|her|them)$")
_HEARSAY = re.compile(
    r"^(?:(?:it |he |she )?(?:says|said|reads) [\w']+(?: [\w']+){0,2} ?|"
    r"(?!as |like |i )(?:[\w']+ ){1,4}(?:says?|said|writes?|wrote|claims?|reports?|shows)|"
    r"i (?:hear|read|see|gather|suppose|guess|am told|heard|take it)|you (?:say|said|think|mean|told me))$"
)
"""Behind a statement they make it another's: "your table is booked, the app says"."""
_CHECKED = re.compile(r"^i (?:have )?(?:just )?(?:checked|looked)$")
"""What follows is how things were found."""
_BEFORE = (
    ("as", "soon"),
    ("as", "long"),
    ("even", "if"),
    ("only", "if"),
    ("only", "when"),
    ("each", "time"),
    ("every", "time"),
    ("any", "time"),
    ("in", "case"),
)
_MOMENT = word_set("moment minute second instant day")
_SUBJECTS = word_set("i you we he she it they that this the your someone somebody my")
_STEADY = word_set(
    "are were have had has will would can could may might must should do did need want know like see mean get also "
    "just already then now still wanted asked said told gave sent paid got made put set left lost let chose took"
)
"""Behind "you" they tell no step of a procedure: "you wanted six"."""
_WISHES = word_set("like want wish agree prefer say please")
_DONE = word_set("sent done paid set made put bought gone")
_MODALS = word_set("would could might may should must will can cannot")
_FINITES = word_set("is are was were has have had will would can could may might must does do did says said goes")
_NO_LIST = word_set("a an the that those these any no some there this i you he she it we they what who so if")
_PRAISE = ("nice", "good", "great", "lovely", "clever", "smart", "well done", "good for you", "nice one")
"""Behind a verb without a subject: the user has done it."""
_ADDS_NONE = word_set(
    "you it he she they we ready arriving arrives due open opens starting starts leaving leaves reference number not "
    "instead shall want need call thanks comes takes costs closes ends another anything within"
)
_PLAIN_SUBJECTS = word_set("i you we he she they see")


def plain(sentence: str) -> str:
    """Return the sentence without fillers, its idioms in plain words."""
    text = _FILLER.sub("", _TITLE.sub(r"\1", sentence.replace("’", "'"))).lstrip(" ,")
    text = _JOINED.sub(r"\1", _COMPOUND.sub(r"\1", _REPEATED.sub(r"\1", text)))
    text = _FIGURES.sub("", _DRAWN.sub(r"\1", text))
    text = _BUTTON.sub(lambda found: _PRESSED[found.group(1)], text)
    return _KNOWN.sub("because ", _CLEFT.sub(r"\1 did ", text))


def is_tagged(sentence: str) -> bool:
    """Whether a short question behind the sentence asks for what it says."""
    return _TAG.search(sentence) is not None


def stated(clauses: Sequence[Clause]) -> list[bool]:
    """Return for each clause whether the speaker states it."""
    texts = [clause.texts for clause in clauses]
    if len(clauses) > 1 and _HEARSAY.match(" ".join(texts[-1])):
        return [False] * len(clauses)
    made: list[bool] = []
    quotes = conditional = instructs = commands = False
    for clause, words in zip(clauses, texts, strict=True):
        content = without_openers(clause).texts
        if clause.joined_by in ("but", "so"):
            quotes = False
        was_conditional, conditional = conditional, _is_condition(content)
        is_step = (instructs or (clause.joined_by == "and" and commands)) and _is_state(content)
        is_then = "then" in words[:2] and _is_state(content) and _has_content(clauses[: len(made)])
        is_early = content[:3] == ["by", "the", "time"]
        is_past = was_conditional and _is_perfect(content)
        is_seen = (
            _CHECKED.match(" ".join(without_openers(clauses[len(made) - 1]).texts)) and _is_state(content)
            if made
            else False
        )
        is_open = is_seen or quotes or conditional or (was_conditional and not is_past)
        made.append(
            not (is_early or is_open or is_step or is_then or (clause.is_asked and clause.joined_by != "because"))
        )
        quotes = quotes or (not conditional and _opens_quote(words))
        instructs = instructs or _is_step(content)
        commands = _is_bare(content) and not _has_content(clauses[: len(made) - 1])
        if made[1:] and (content[:1] == ["pending"] or content[:2] in _NOT_OURS):
            made[-2] = False
        if made[1:] and _is_wish(content) and _is_state(without_openers(clauses[len(made) - 2]).texts):
            made[-2] = False
    return made


def is_verbless(texts: Sequence[str]) -> bool:
    """Whether a clause only names things: "table for three", "Friday"; what is done may follow."""
    if texts[:2] == ["that", "is"]:
        texts = texts[2:]
    return bool(texts) and texts[0] not in _NO_LIST and not (_FINITES | SELF | {"you", "it", "they"}) & {*texts}


def is_addition(texts: Sequence[str]) -> bool:
    """Whether a clause only adds details: "Friday at eight", "a table for two"."""
    return len(texts) < 8 and not (_FINITES | SELF | _ADDS_NONE) & {*texts} and texts[0] not in _ADDS_NONE


def dangles(clause: Clause) -> bool:
    """Whether a participle before this clause says no deed: "sent to the old one, it would have bounced"."""
    if " ".join(clause.texts) in _PRAISE:
        return True
    texts = without_openers(clause).texts
    if not texts:
        return False
    if _MODALS & {*texts} and texts[0] not in _PLAIN_SUBJECTS - {"i"}:
        return True
    if texts[0] in ("that", "this", "these", "those", "the", "a", "it"):
        return any(text in _FINITES or text.endswith("ed") for text in texts)
    return texts[0] not in _PLAIN_SUBJECTS and bool({"is", "are", "was", "were", "has"} & {*texts[1:]})


def _has_content(clauses: Sequence[Clause]) -> bool:
    return any(without_openers(clause).words for clause in clauses)


def _opens_quote(texts: Sequence[str]) -> bool:
    """Whether the next clause is what another says: "the letter says", "the headline is"."""
    last = texts[-1]
    if last in ("quote", "quoting") or _TOLD.search(" ".join(texts)):
        return True
    if texts[0] in ("as", "like") or len(texts) < 2:
        return False
    if last in ("is", "was", "were", "goes"):
        return bool(_TEXTS & {*texts[:-1]})
    return last in _SAYING and texts[-2] not in SELF | {"you"}


def _is_condition(texts: Sequence[str]) -> bool:
    """Whether a clause makes itself and the next conditional."""
    if not texts:
        return False
    if texts[0] in SUBORDINATE or tuple(texts[:2]) in _BEFORE:
        return True
    if texts[0] == "the" and len(texts) > 2 and texts[1] in _MOMENT and texts[2] in _SUBJECTS:
        return True
    return texts[0] in ("had", "were", "should") and texts[1:2] != [] and texts[1] in _SUBJECTS


def _is_step(texts: Sequence[str]) -> bool:
    """Whether a clause is a step of a procedure: "you say yes", "first you confirm"."""
    words = [text for text in texts if text != "first"]
    return len(words) > 1 and words[0] == "you" and words[1] not in _STEADY and not words[1].endswith("ed")


def _is_bare(texts: Sequence[str]) -> bool:
    """Whether a clause lacks subject or verb: "two clicks", "tap twice"."""
    done = any(text.endswith("ed") or text in _DONE for text in texts)
    is_offer = texts[:1] in (["a"], ["one"], ["another"], ["just"])
    subjects = SELF | ({"it", "they"} if is_offer else {"you", "it", "they"})
    return bool(texts) and not (_FINITES | subjects) & {*texts} and not done


_NOT_OURS = (["as", "always"], ["as", "usual"], ["as", "ever"], ["as", "before"], ["by", "you"], ["by", "your"])
"""Behind a statement they make it no deed of the speaker's."""


def _is_perfect(texts: Sequence[str]) -> bool:
    """Whether the speaker had done it before the condition: "if he asks, I've already told him"."""
    return texts[:1] != [] and texts[0] in SELF and texts[1:3] in (["have", "already"], ["have", "just"])


def _is_wish(texts: Sequence[str]) -> bool:
    """Whether a clause leaves it to the user: "if you like"."""
    return texts[:2] == ["if", "you"] and texts[-1] in _WISHES


def _is_state(texts: Sequence[str]) -> bool:
    """Whether a clause tells how things are, not what the speaker did."""
    return bool({"is", "are", "gets"} & {*texts}) and not (SELF & {*texts} and {"have"} & {*texts})

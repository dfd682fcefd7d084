"""An agent's own instructions: who it says it is, and which of their sentences it may tell users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from realtime.model.local.keyless.words import content, plain, stem

_KEPT_BRIEFS = 32
LONGEST_CHARS = 20_000
"""Characters of instructions that are read."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“(])|\n+")
_FORBIDS = re.compile(
    r"\b(?:never|don't|do not|must not|may not|cannot|should not|shouldn't|avoid|refuse|without)\b", re.I
)
_SECRET = re.compile(
    r"\b(?:secret|confidential|internal|private|password|passcode|pin|api key|token|code word"
    r"|do not share|hidden)\b",
    re.I,
)
_POINTS_BACK = re.compile(
    r"\b(?:this|that|it|these|those|them|the above)(?=\s+(?:to|with|out|secret|private|up|outside"
    r"|is secret|is confidential)\b|[.,!;]|$)",
    re.I,
)
_POINTS_ON = re.compile(r"\b(?:following|below|next)\b|:\s*$", re.I)
# Words that begin an order or set a condition for one.
_ORDER = re.compile(
    r"^(?:[-*•\d.) ]*)(?:please|always|never|only|if|when|whenever|unless|before|after|once|while|then"
    r"|also|do|don't|be|keep"
    r"|use|answer|speak|say|tell|ask|respond|reply|greet|help|act|avoid|ensure|make|remember|refuse"
    r"|decline|stay|remain|let"
    r"|offer|mention|explain|pretend|reveal|call|transfer|give|get|provide|follow|start|begin|end|finish|stop|try|treat"
    r"|assume|imagine|introduce|repeat|confirm|check|look|search|talk|write|read|send|take|put|note|limit|think|listen"
    r"|summarize|summarise|translate|focus|apologize|apologise|thank|welcome|direct|guide|show|list"
    r"|format|output|return"
    r"|respect|adopt|play|behave|maintain|default|go|wait|allow|encourage|suggest|recommend|promise|share|hide|ignore"
    r"|collect|note|sound|address|invite|admit|leave|hand|pass|route|escalate|verify|book|schedule)\b",
    re.I,
)
_ORDERS_YOU = re.compile(
    r"\byou(?:r answers?| must| should| may| can| will| need| have to|'ll| shall| cannot| are to)\b", re.I
)
# Who the agent is and what others say, which is no fact for a user.
_OF_THE_AGENT = re.compile(
    r"your (?:name|task|job|role|goal|answers?|tone|style)\b|you are (?:a|an|the|called|in)\b"
    r"|you have (?:just|to)\b|what\b"
    r"|you (?!(?:are|have|sell|offer|open|close|deliver|accept|take|ship|cost|live)\b)",
    re.I,
)
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|costs?|opens?|closes?|sells?|offers?|delivers?|ships?|takes?"
    r"|accepts?|lives?|speaks?"
    r"|starts?|ends?|begins?|lies?|stands?|works?|runs?|owns?|includes?|serves?|charges?|belongs?"
    r"|lasts?|comes?|goes|needs?"
    r"|makes?|repairs?|buys?|rents?|provides?|stays?|can|do|does|will|may|we're|it's|there's|they're)\b",
    re.I,
)
_ROLE = re.compile(
    r"^you (?:are|'re) (?=(?:a|an|the|our|part|responsible)\b)|^you (?:answer|work|help|run|sell|guide"
    r"|teach|take|manage"
    r"|assist|support|advise|look after|serve|speak for|handle|know|explain|book|give|offer|provide"
    r"|play|tell|welcome)\b",
    re.I,
)
_SHORTEST_TITLE = 3
"""Words before a comma that are a title: "the clerk of a shop", not "a helpful"."""
_NO_ROLE = re.compile(
    r"^(?:a|an|the)(?: (?:very|friendly|helpful|kind|polite|voice|small|useful|cheerful|concise|brief|nice|good|warm|ai"
    r"|virtual|personal|digital|realtime|real-time|professional|witty|smart|clever|expert"
    r"|conversational|knowledgeable|honest|patient))*"
    r" (?:assistant|agent|bot|chatbot|helper|model|companion|ai)$",
    re.I,
)
_PHONE = re.compile(
    r"^you (?:answer|take|pick up) the (?:phones?|telephones?|calls?)(?: calls)? (?:of|at|for"
    r"|in) (?:(?:a|an|the|our) )?(.+)$",
    re.I,
)

# Classes of words that ask for the same thing, by a word that stands for it.
_MEANT = {
    "open": "open hour close time shut schedule",
    "where": "where street road avenue square corner city floor building "
    "station town district downtown directions reach find",
    "cost": "cost euro pound dollar free charge much cheap expensive cent rate",
    "phone": "phone number email mail contact reach",
    "deliver": "deliver ship shipping post courier",
    "owner": "owner own boss manager run found founder",
    "sell": "sell offer stock buy carry product",
    "card": "card cash visa credit",
    "visit": "appointment reservation reserve table",
    "refund": "refund return money back exchange",
    "park": "park parking car",
    "eat": "eat food menu vegan vegetarian",
    "sun": "sunday weekend saturday monday tuesday wednesday thursday friday weekday day",
}
_SAME: dict[str, frozenset[str]] = {}
for _head, _words in _MEANT.items():
    for _word in _words.split():
        _SAME[stem(_word)] = _SAME.get(stem(_word), frozenset()) | {f"~{_head}"}
_ASKS_FOR = (
    (re.compile(r"\b(?:when|what time|how late|how early|until when)\b"), frozenset({"~open"})),
    (re.compile(r"\b(?:where|what address|which street|how do i (?:get|find))\b"), frozenset({"~where"})),
    (re.compile(r"\bhow (?:much|expensive)\b"), frozenset({"~cost"})),
    (re.compile(r"\bwho\b(?! are you)"), frozenset({"~owner"})),
)


_OF_SOMEONE = re.compile(r"\b(?:he|she|him|her|his|hers|he's|she's)\b")
_OF_SOMETHING = re.compile(r"\b(?:it|that|this|they|those|these|i|we)\b")
"""Words for what was spoken of: the price of another thing is none of it."""
_COMMON_OF_SOMEONE = 2
"""Words that a sentence has in common with a question about someone: "she" may be anyone."""
_TELLS_AGE = re.compile(r"\b(?:years?|since|founded|aged?|[12]\d{3})\b", re.I)


@dataclass(frozen=True, slots=True)
class Brief:
    """What may be told of an agent's instructions.

    `role` says in the first person what the agent does ("I answer the phone of a small bookshop"), "" if unknown;
    `title` names it ("the receptionist of a clinic"), `place` where it answers the phone. `facts` are sentences with
    the stems of their words.
    """

    role: str = ""
    title: str = ""
    place: str = ""
    facts: tuple[tuple[str, frozenset[str]], ...] = ()
    forbidden: frozenset[str] = frozenset()

    def about(self, question: str, me: str = "") -> str | None:
        """Return the sentence that a plain question matches best; None without one, or where it may not be told."""
        asked = content(question) - {stem(word) for word in me.lower().split()}
        if not self.facts or asked & self.forbidden:
            return None
        is_of_someone = _OF_SOMEONE.search(question) is not None
        asks_age = "how old" in question
        wants = frozenset().union(*(meant for pattern, meant in _ASKS_FOR if pattern.search(question)))
        wanted = _meanings(asked) | wants
        is_of_something = "~cost" in wanted and _OF_SOMETHING.search(question) is not None
        best, sentence = 0.0, None
        for said, words in self.facts:
            known = _meanings(words)
            # What only the kind of question asks for ("when") counts little beside a common word.
            common = asked & words
            if (asks_age and not _TELLS_AGE.search(said)) or (is_of_someone and len(common) < _COMMON_OF_SOMEONE):
                continue
            if is_of_something and all("~cost" in _SAME.get(word, ()) for word in common):
                continue
            score = (
                sum(1.3 if word in _SAME else 1.0 for word in common)
                + 0.6 * len((wanted & known) - _meanings(common))
                + 0.2 * bool(wants & known)
            )
            if score > best and (common or len(wanted & known) > len(wants & known) or _is_bare(asked, wants)):
                best, sentence = score, said
        return sentence if best >= max(0.6, 0.6 * len(asked)) else None


def _is_bare(asked: frozenset[str], wants: frozenset[str]) -> bool:
    """Whether a question asks for a time, place or price only: "where are you?"."""
    return bool(wants - {"~owner"}) and not asked


def _meanings(words: frozenset[str]) -> frozenset[str]:
    return frozenset().union(*(_SAME.get(word, frozenset()) for word in words))


@lru_cache(_KEPT_BRIEFS)
def brief_of(instructions: str) -> Brief:
    """Read an agent's instructions. Orders, what they forbid and what they call secret are left out."""
    sentences = [one.strip(" -*•\t") for one in _SENTENCE.split(instructions[:LONGEST_CHARS])]
    sentences = [one for one in sentences if one]
    forbidden: set[str] = set()
    hidden: set[int] = set()
    for at, sentence in enumerate(sentences):
        if not (_FORBIDS.search(sentence) or _SECRET.search(sentence)):
            continue
        hidden.add(at)
        if _POINTS_BACK.search(sentence):
            hidden.add(at - 1)
        if _POINTS_ON.search(sentence):
            hidden.update(range(at + 1, len(sentences)))
        if _FORBIDS.search(sentence):
            forbidden |= content(plain(sentence)) - _COMMON
    role = title = place = ""
    is_plain = False
    for at, sentence in enumerate(sentences):
        if at not in hidden and not role and _ROLE.match(sentence) and not re.search(r",? so\b|;", sentence):
            role = _as_role(sentence.rstrip(".!"))
            if found := re.match(r"you(?: are|'re) (.+)", sentence.rstrip(".!"), re.I):
                title = re.split(r",?\s(?:who|that|which|and you|and your)\b", found[1])[0].strip()
                is_plain = _NO_ROLE.match(re.sub(",? and |, ?", " ", " ".join(title.split()))) is not None
                first = title.split(",")[0]
                title = first if len(first.split()) >= _SHORTEST_TITLE else title
            if found := _PHONE.match(sentence.rstrip(".!")):
                place = re.split(r",|\bwho\b|\bthat\b", found[1])[0].strip()
            if is_plain:
                role = title = ""
    facts = tuple(_facts(sentences, hidden, frozenset(forbidden)))
    return Brief(role, title, place, facts, frozenset(forbidden))


_COMMON = content(
    "say mention talk speak discuss give answer question user caller customer person people reveal word share"
)


def _facts(sentences: list[str], hidden: set[int], forbidden: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for at, sentence in enumerate(sentences):
        if at in hidden or _ORDER.match(sentence) or _ORDERS_YOU.search(sentence) or not _STATES.search(sentence):
            continue
        if _OF_THE_AGENT.match(sentence) or re.match(r"You are [A-Z]", sentence):
            continue
        words = content(plain(sentence))
        if words and not words & forbidden:
            ended = sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
            yield _first_person(ended), words


def _as_role(sentence: str) -> str:
    """Write a role in the first person: "You are a clerk" becomes "I'm a clerk."."""
    own = re.sub(r"^you(?: are|'re)\b", "I'm", sentence, flags=re.I)
    own = re.sub(r"^you\b", "I", own, flags=re.I)
    return re.sub(r"\byou\b", "me", re.sub(r"\byour\b", "my", own, flags=re.I), flags=re.I) + "."


_TURNED = {"you": "we", "your": "our", "yours": "ours", "yourself": "ourselves", "you're": "we're"}


def _first_person(sentence: str) -> str:
    """Write a fact in the first person: "Your shop" becomes "Our shop"."""

    def turned(match: re.Match[str]) -> str:
        word = _TURNED[match[0].lower()]
        return word.capitalize() if match[0][0].isupper() else word

    return re.sub(r"\b(?:you're|yourself|yours|your|you)\b", turned, sentence, flags=re.I)

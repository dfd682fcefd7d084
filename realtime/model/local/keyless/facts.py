"""What the user said of themselves, kept and told back: read from their lines each time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from realtime.model.local.keyless.arithmetic import find_number
from realtime.model.local.keyless.names import FORGETS_NAME, learned_name
from realtime.model.local.keyless.requests import split
from realtime.model.local.keyless.situation import Line, Situation
from realtime.model.local.keyless.utterance import utterance_of
from realtime.model.local.keyless.words import capital, content, core, each, forms, is_question, listed, plain, stem

# A question about the ability, not something to remember.
_ABLE_TO = re.compile(r"^(?:can|could|will|do) you remember (?:\w+|what .+|if .+|things? .+)$")
_REMEMBER = re.compile(
    r"^(?:(?:please|can you|could you|will you) )*(?:remember|keep in mind|don't forget|do not forget"
    r"|note(?: down)?|make a note"
    r"|write down|memorize|memorise|save)(?: for me)?(?: this)?(?: that|:)? (?!me\b|when\b|what\b|who\b"
    r"|where\b|how\b|my name$|it$)(.+)$"
)
_NO_FACT = re.compile(
    r"^(?:(?:i|we)(?:'d|'ll| will| shall| might| should)\b|i(?:'m| am) (?:feeling|fine|good|well|great|ok|okay"
    r"|sorry|sure|not sure|back"
    r"|here|ready|done|listening|doing|going to|trying"
    r"|talking|speaking|asking|wondering|testing|curious|very well|glad|calling|just|bored|tired|sad"
    r"|happy|hungry|confused|lost)"
    r"\b"
    r"|i (?:have|had|'ve|'ve got|got) (?:a |an |another |one |no |some )?(?:\w+ )?(?:questions?|idea"
    r"|problem|request|clue)\b"
    r"|i (?:give|agree|doubt|forgot|forget|lied|quit|promise|swear|try|tried|repeat|suppose|assume"
    r"|expect|just|also|never mind"
    r"|told|call|want|need|think|guess|mean|know|don't|can't|didn't|said|asked|told|hear|heard|see|feel|hope"
    r"|wish|bet|would|will"
    r"|could|like (?:it|that|this|you)|love (?:it|that|this|you)|hate (?:it|that|this|you)|understand|wonder|say)\b"
    r"|the (?:weather|sun|sky|problem|thing|point|truth|earth|question|answer|joke|story|page|sound"
    r"|screen|microphone|mic)\b"
    r"|i(?:'ve| have| need| must| got|'ve got)?(?: to)? (?:go|leave|run|hang up|stop)\b"
    r"|my (?:question|name|bad|turn|pleasure|god|goodness)\b)"
)
_FACT = re.compile(
    r"^(?:i(?:'m|'ve)?|my|our|we(?:'re|'ve)?|mine)\b.*|^(?:i|we) (?:am|are|live|have)\b.*"
    r"|^(?:the|his|her|their) [\w' ]{1,40}? (?:is|are|was|starts|begins|ends) .+"
    r"|^[\w']+ is my .+"
)
_PRONOUNS = {
    "i": "you",
    "i'm": "you're",
    "i am": "you are",
    "i've": "you've",
    "i'd": "you'd",
    "i'll": "you'll",
    "my": "your",
    "me": "you",
    "mine": "yours",
    "myself": "yourself",
    "we": "you",
    "we're": "you're",
    "we've": "you've",
    "our": "your",
    "us": "you",
    "ours": "yours",
    "i was": "you were",
}
_PRONOUNS_OF_MINE = {
    "you are": "I am",
    "you were": "I was",
    "you're": "I'm",
    "you've": "I've",
    "you'd": "I'd",
    "you'll": "I'll",
    "yourself": "myself",
    "yours": "mine",
    "your": "my",
}
"""How the agent says them."""
_SUBJECT_YOU = re.compile(
    r"(?:^|[,.;:]|\b(?:that|what|how|who|which|where|when|why|if|because|since|until|before|after|while|as|than|and|but"
    r"|say|says|said|think|thinks|thought|know|knows|knew|hope|hopes|wish|wishes|believe|believes))\s?$",
    re.I,
)
_AUXILIARY = re.compile(
    r"\s(?:have|had|can|could|will|would|do|did|should|may|might|must|always|never|don't|didn't|can't|won't)\b", re.I
)
_PRONOUN = re.compile(
    r"\b(?:you are|you were|you're|you've|you'd|you'll|yourself|yours|your|you|"
    r"i am|i was|i'm|i've|i'd|i'll|i|my|me|mine|myself|we're|we've|we|our|ours|us)\b",
    re.I,
)
# What a question calls otherwise than the statement does.
_ALSO = {
    "job": "work nurse teacher doctor engineer",
    "profession": "work",
    "old": "year age",
    "age": "year old",
    "birth": "birth",
    "pet": "dog cat hamster rabbit fish parrot bird horse",
    "live": "home city town move",
    "from": "from",
    "name": "call",
    "hobby": "like love play enjoy",
    "allergic": "allergy",
    "allergy": "allergic",
    "spouse": "wife husband",
    "partner": "wife husband girlfriend boyfriend",
    "car": "drive",
    "like": "favourite love enjoy",
    "love": "like favourite",
    "prefer": "favourite like",
    "dad": "father",
    "mom": "mother",
    "phone": "number",
    "sibling": "brother sister",
    "child": "son daughter",
    "home": "live",
    "town": "live",
    "city": "live",
}
_SAME = {stem(word): frozenset(map(stem, words.split())) for word, words in _ALSO.items()}
_ABOUT_ME = re.compile(r"\b(?:i|my|me|mine|our|we|i'm)\b")
# "What kind of music do I like": the kind need not have been said.
_KIND_ASKED = re.compile(
    r"(?:what|which)(?: kind of| sort of| type of)? [\w ]{1,60}? (?:do|did|have|am|was) ((?:i|we) .+)"
)
_ASKS_JOB = re.compile(r"\bwhat do i do(?: for (?:a living|work))?$|\bmy (?:job|profession|occupation)\b")
_IS_OF_AGE = re.compile(r"i(?:'m| am) [\w-]+(?: [\w-]+)?$")
_MOVED = re.compile(r"(?:i|we)(?:'ve| have)? (?:just |now |since )?moved to\b")
_IS_SOMEONE = re.compile(r"i(?:'m| am| work as) (?:an?|the) \w+")
_ASKS_OF_ME = re.compile(
    r"(?:what|what's|where|where's|who|who's|when|when's|which|how old|do you know (?:my|where i|who i))\b"
)
_ALL = re.compile(
    r"\bwhat (?:do|did) you (?:know|remember|learn|learned)(?: about| of)? (?:me|i|so far)\b"
    r"|\bwhat (?:have|did) i (?:told|tell) you\b"
    r"|\beverything (?:you know|i(?:'ve| have)? (?:told|said))\b|\bwhat (?:did|do|should|were) (?:i"
    r"|you) (?:ask you |tell you |say |have |supposed )*(?:to )?"
    r"remember(?:ing)?\b|\bwhat do you remember\b|\btell me about (?:me|myself)\b"
    r"|\bremember (?:anything|something|what i (?:told|said)) (?:about me|you|to you)\b"
    r"|\bremind me what i (?:told|said)"
)
_KINDS = frozenset(
    map(
        stem,
        each(
            "colour kind type size brand number time day date year month place city town street country floor age old "
            "call name long far often"
        ),
    )
)
_SURE = 0.55
"""The share of a question's words that an answer must hold."""
_MOST_FACTS = 4
_FORGET = re.compile(r"\b(?:forget|delete|erase|remove|wipe)\b")
_FORGETS = re.compile(
    r"(?:(?:actually|no|and|but|please|ok|okay|sorry|wait|can you|could you|will you) ){0,5}(?:forget|erase|ignore) "
    r"(?!to\b)(?:about |that |what i (?:said|told you) (?:about )?){0,3}(?P<what>.*)"
)
_THAT = re.compile(r"(?:it|that|this|that one|it again)?")
_CORRECTING = (
    "or rather|or better|sorry|wait|hang on|hold on|i mean|i meant|correction|scratch that|i was wrong|that's wrong"
)
_TAKES_BACK = f"no|{_CORRECTING}"
_CORRECTS = re.compile(
    rf"(?=(?:(?:actually|but|and|oh|well) ){{0,3}}(?:{_TAKES_BACK})\b)"
    rf"(?:(?:actually|but|and|oh|well|{_TAKES_BACK})\b[\s,.:;!]{{0,4}}){{1,6}}",
    re.I,
)
"""What takes back the statement before it: "actually no, Rex is the cat"."""
_TAKES_BACK_HERE = re.compile(rf"[,.;]\s*(?=no[,.]|(?:no )?(?:{_CORRECTING})\b)", re.I)
_PREPOSITIONS = (
    "in|at|from|on|to|near|by|with|for|since|until|under|over|above|below|behind|before|after|beside|between|opposite"
    "|outside|inside|around|next to|close to|across from"
)
_PREPOSITION = re.compile(rf"\b(?:{_PREPOSITIONS})(?=\s)", re.I)
_VALUE_BEGINS = re.compile(
    rf"\b(?:is|are|was|were|am|i'm|called|named|{_PREPOSITIONS}|like|love|have|drive|prefer)\s(?:(?:an?|the)\s)?",
    re.I,
)
_BEFORE_A_VALUE = re.compile(rf"(?:(?:it's|it is|{_PREPOSITIONS}|an?|the)\s)+", re.I)
_MOST_VALUE_WORDS = 3
_NO_VALUE = re.compile(
    r"\b(?:thanks|thank|worries|problem|way|idea|matter|need|clue|kidding|joking|bother|rush|hurry|doubt|offen[cs]e|pardon"
    r"|yeah|nope|never|nothing|wrong|correct|right|sure|later|maybe|whatever|second|minute|moment)\b",
    re.I,
)
_ORDERS = re.compile(
    r"(?:(?:i|we|um|uh|like) ){0,3}(?:i|we)(?: really| just| also| still){0,2} (?:need|want|wish)\b"
    r"|(?:i|we|i'm|we're|i've|we've)\b.{0,80}\band (?:(?:i|we) )?(?:need|want|would like|would love)\b"
)
"""What is ordered, and no fact to remember: "we need two bikes"."""
_ABOUT_THE_AGENT = re.compile(r"\b(?:you|your|yours|yourself)\b")
_NOT_MINE = re.compile(
    r"^(?:how (?:do|can|could|should|would|many|much)|can|could|may|should|do|does|would|will"
    r"|what (?:can|should|could|do i"
    r" (?:need|have|do with|say))|where (?:can|do i (?:get|find|set|put|start|click|press|see))|why)\b"
)


def statement(line: str) -> str | None:
    """Return what a line states about the user, or asks to remember.

    Plain; None without one.
    """
    text = core(plain(line))
    if (found := _REMEMBER.match(text)) and not _ABLE_TO.match(plain(line)):
        return found[1]
    if is_question(line, text) or _NO_FACT.match(text) or not _FACT.match(text):
        return None
    if len(text.split()) < 3 and find_number(text) is None:
        return None
    return text


def told(text: str) -> str:
    """Say a statement of the user to them: "my dog likes you" becomes "your dog likes me"."""

    def turned(match: re.Match[str]) -> str:
        word = match[0].lower()
        if match[0] == "US":
            return match[0]
        if word == "you":
            is_subject = _SUBJECT_YOU.search(text[: match.start()]) or _AUXILIARY.match(text, match.end())
            return "I" if is_subject else "me"
        return _PRONOUNS.get(word) or _PRONOUNS_OF_MINE[word]

    said = _PRONOUN.sub(turned, text)
    return re.sub(r"\byou was\b", "you were", said)


def standing(parts: Sequence[str]) -> list[str]:
    """Return an utterance's parts without statements that later ones take back."""
    kept: list[str] = []
    for part in _with_leads(parts):
        if kept and (corrected := _with_value(kept[-1], part)) is not None:
            kept[-1] = corrected
            continue
        if kept and _CORRECTS.match(part) and statement(kept[-1]) is not None and _is_same(kept[-1], part):
            kept.pop()
        kept.append(part)
    return kept


def _with_value(stated: str, part: str) -> str | None:
    """Return a statement with the value that a correction names alone: "I live in Oslo. Sorry, Bergen."."""
    lead, begins = _CORRECTS.match(part), [one.end() for one in _VALUE_BEGINS.finditer(stated)]
    if lead is None or not begins or statement(stated) is None or "?" in part:
        return None
    if re.fullmatch(r"no\s*", lead[0], re.I):  # "tea, no sugar"
        return None
    said = part[lead.end() :].strip(" .!,")
    value = _BEFORE_A_VALUE.sub("", said, count=1) if _BEFORE_A_VALUE.match(said) else said
    words = re.findall(r"[\w']+", plain(value))
    day = utterance_of(value).days
    is_day = bool(day) and (day[0].start, day[0].end) == (0, len(utterance_of(value)))
    # "No thanks" and "no, I do not" name no value.
    if not is_day and (
        not words
        or len(words) > _MOST_VALUE_WORDS
        or len(content(plain(value))) < len(words)
        or _NO_VALUE.search(value)
    ):
        return None
    first = _PREPOSITION.match(said)
    places = [*_PREPOSITION.finditer(stated)] if first is not None else []
    if first is not None and places:
        # "Near Porto, no, near Braga", "under the mat, no, behind the pot".
        same = [one for one in places if one[0].lower() == first[0].lower()]
        return f"{stated[: (same or places)[-1].start()]}{said}."
    return f"{stated[: begins[-1]]}{value}."


def _with_leads(parts: Sequence[str]) -> list[str]:
    """Split parts before what takes back; join "No wait" with what follows."""
    joined: list[str] = []
    for part in (piece for whole in parts for piece in _TAKES_BACK_HERE.split(whole) if piece.strip()):
        lead = _CORRECTS.match(joined[-1]) if joined else None
        if lead is not None and lead.end() == len(joined[-1]):
            joined[-1] += f" {part}"
        else:
            joined.append(part)
    return joined


def _is_same(one: str, other: str) -> bool:
    """Whether two statements are about the same: they share a word that says something."""
    return bool(content(plain(one)) & content(plain(other)))


def _stated(part: str) -> list[str]:
    """Return the statements of a part; of one that corrects, those of its clauses."""
    lead = _CORRECTS.match(part)
    clauses = re.split(r", (?:and |but )?", part[lead.end() :]) if lead is not None else [part]
    return [clause for clause in clauses if statement(clause) is not None]


def forget(situation: Situation) -> str | None:
    """Agree to tell a fact no more; None where none was told that is meant."""
    asked = _FORGETS.match(situation.plain)
    if asked is None:
        return None
    earlier = [line.words for line in situation.earlier]
    is_name = FORGETS_NAME.match(situation.said) and learned_name(earlier) is not None
    facts = [one for one, _ in _statements(situation.earlier)]
    if not is_name and (not facts or [*_remembered(facts, asked["what"])] == facts):
        return None
    return "All right, I won't tell it any more in this call."


def _remembered(facts: Sequence[str], what: str) -> list[str]:
    """Return the facts that are left when one is to be forgotten: the last, all, or those about something."""
    if _THAT.fullmatch(what):
        return [*facts[:-1]]
    if re.match(r"(?:everything|all)\b", what):
        return []
    return [one for one in facts if not _is_same(one, what)]


def learn(situation: Situation) -> str | None:
    """Acknowledge what the user says of themselves or asks to remember."""
    stated = [one for one in _stated(situation.said) if not _ORDERS.match(core(plain(one)))]
    if not stated:
        return None
    words = listed([_original(one) for one in stated])
    return situation.vary((f"Got it: {words}.", f"Okay, I'll remember that {words}.", f"Noted: {words}."))


def ask_back(situation: Situation) -> str | None:
    """Answer a question about what the user has said before; None where it is none."""
    text = situation.core
    if _ALL.search(text) and not _FORGET.search(text):
        return _all(situation)
    if not situation.asks and not re.match(
        r"(?:tell me|remind me|say|guess|repeat) (?:of |about )?(?:my|where|what|when|who)\b", text
    ):
        return None
    is_mine = _ABOUT_ME.search(text) is not None and not _NOT_MINE.match(text)
    asked = content(text) | ({"old"} if re.search(r"\bhow old\b", text) else frozenset())
    if _ASKS_JOB.search(text):
        asked = frozenset({"job"})
    if (kind := _KIND_ASKED.match(text)) and (rest := content(kind[1])):
        asked = rest
    comes_from = text.endswith(" from")
    asked = asked | ({"from"} if comes_from else frozenset())
    best, score = None, 0.0
    keys = _keys(asked)
    hopeful = [
        line
        for line in situation.earlier
        if any(key in line.words.lower() for key in keys) or _FORGET.search(line.words) or _CORRECTS.match(line.words)
    ]
    for said, original in _statements(hopeful):
        words = content(said) | ({"from"} if comes_from and " from " in said else frozenset())
        words = words | (
            {"job"}
            if _IS_SOMEONE.match(said)
            else {"age", "old"}
            if _IS_OF_AGE.match(said) and find_number(said)
            else {"live"}
            if _MOVED.match(said)
            else frozenset()
        )
        common = asked & words
        also = sum(
            bool(_SAME.get(word, frozenset()) & (words | set(map(stem, said.split())))) for word in asked - common
        )
        if not (common - {"favourite"} or also or asked == common):
            continue
        # What kind of thing is asked for, the statement need not name.
        found = (len(common) + 0.8 * also) / max(1, len(asked - (_KINDS - common)))
        if found > 0 and found >= score:
            best, score = original, found
    is_certain = score >= (_SURE if is_mine else 0.99)
    if best is not None and is_certain and not (_ABOUT_THE_AGENT.search(text) and not is_mine):
        return f"{capital(_original(best))}."
    return None


def _keys(asked: frozenset[str]) -> tuple[str, ...]:
    """Return beginnings of words that an answer may hold."""
    also = frozenset().union(*(_SAME.get(word, frozenset()) for word in asked))
    keys = frozenset().union(*(forms(word) for word in asked | also))
    if "job" in asked:
        keys |= {" a", " the"}
    if asked & {"age", "old"}:
        keys |= {"i'm ", "i’m ", "i am ", "im "}
    return tuple(keys)


def may_be_told(situation: Situation) -> bool:
    """Whether the user has said something with a word of the question: it may hold the answer."""
    asked = content(situation.core)
    keys = _keys(asked)
    lines = [line for line in situation.earlier if any(key in line.words.lower() for key in keys)]
    if any(_FORGET.search(line.words) for line in situation.earlier):
        hopeful = [line for line in situation.earlier if line in lines or _FORGET.search(line.words)]
        return any(asked & content(said) for said, _ in _statements(hopeful))
    texts = [(line.words, plain(line.words)) for line in lines]
    return any(asked & content(text) for words, text in texts if not is_question(words, core(text)))


def not_told(situation: Situation) -> str | None:
    """Say that the user has not said that about themselves; None where they ask for something else."""
    text = situation.core
    if not _ASKS_OF_ME.match(text) or _NOT_MINE.match(text) or not _ABOUT_ME.search(text):
        return None
    if may_be_told(situation):
        return situation.vary(("I can't tell that from what you said.", "That I don't know for sure: please say it."))
    return situation.vary(
        ("You have not told me that yet.", "I don't know that yet: tell me, and I'll remember it in this call.")
    )


def _all(situation: Situation) -> str:
    """Tell the newest facts."""
    facts: list[str] = []
    for _, original in reversed([*_statements(situation.earlier)]):
        if (fact := _original(original)) not in facts:
            facts.append(fact)
        if len(facts) >= _MOST_FACTS:
            break
    facts.reverse()
    if situation.name and not any("name" in one for one in facts):
        facts.insert(0, f"your name is {situation.name}")
    if not facts:
        return "Nothing yet: tell me something about you, and I'll remember it in this call."
    return f"I know that {listed(facts)}."


def _statements(lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    """Yield the statements that stand, plain and in original words, oldest first."""
    kept: list[tuple[str, str]] = []
    for line in lines:
        for part in _with_leads(split(line.words)):
            if (forgets := _FORGETS.match(plain(part))) is not None:
                facts = [said for said, _ in kept]
                left = _remembered(facts, forgets["what"])
                kept = [one for one in kept if one[0] in left]
                continue
            if kept and (corrected := _with_value(kept[-1][1], part)) is not None:
                kept[-1] = (statement(corrected) or kept[-1][0], corrected)
                continue
            if _CORRECTS.match(part) and kept and _is_same(kept[-1][1], part):
                kept.pop()
            kept += [(said, one) for one in _stated(part) if (said := statement(one)) is not None]
    yield from kept


def _original(line: str) -> str:
    """Return a statement with its capitals, said to the user."""
    words = line.replace("’", "'").split()
    stated = statement(line)
    if stated is not None:
        begins = stated.split()[:2]
        starts = [at for at in range(len(words)) if plain(" ".join(words[at : at + 2])).split()[:2] == begins]
        if starts:
            words = words[starts[0] :]
    said = told(" ".join(words).rstrip(".!?,;: "))
    return said if said.split()[0].lower() not in _LOWERED else said[0].lower() + said[1:]


_LOWERED = frozenset(each("your you you're you've you'd the his her their yours"))

"""What was said before in this conversation, told again."""

from __future__ import annotations

import re

from realtime.model.local.keyless.situation import Line, Rules, Situation, always, first_answer, rules
from realtime.model.local.keyless.words import core, either, is_question, listed, plain

NOTHING_YET = "I have not said anything yet."
_PIECE_WORDS = 3
_LONGEST_WORDS = 25


def recall(situation: Situation) -> str | None:
    """Answer a request about earlier turns; None where it is none."""
    return first_answer(RULES, situation)


def _repeat(situation: Situation, _: re.Match[str]) -> str:
    return situation.last_answer or NOTHING_YET


def _slower(situation: Situation, _: re.Match[str]) -> str:
    """Say the last answer in pieces: the voice has one speed, and pauses at commas."""
    if situation.last_answer is None:
        return f"{NOTHING_YET} When I have, ask me to say it slower."
    if situation.last_answer.startswith("Slower: "):
        return situation.last_answer
    words = re.sub(r"(?<=\w),(?=\s)", "", situation.last_answer).split()
    pieces, piece = [], list[str]()
    for word in words:
        piece.append(word)
        if len(piece) == _PIECE_WORDS or word.endswith((".", "!", "?", ":")):
            pieces.append(" ".join(piece))
            piece = []
    pieces += [" ".join(piece)] if piece else []
    return "Slower: " + re.sub(r"([.!?:]),", r"\1", ", ".join(pieces))


def _first(situation: Situation, match: re.Match[str]) -> str:
    wants_question = re.search(r"\bask|question", match[0]) is not None
    lines = [*situation.earlier]
    asked = [line for line in lines if _is_asked(line)] if wants_question else lines
    if chosen := (asked or lines):
        return _quoted(chosen[0], "First you")
    return "This is the first thing that you said to me."


def _nth(situation: Situation, match: re.Match[str]) -> str:
    place = ("second", "third", "fourth", "fifth").index(match[1]) + 1
    lines = [line for line in situation.earlier if "question" not in match[0] or _is_asked(line)]
    return (
        _quoted(lines[place], f"{match[1].capitalize()}, you")
        if place < len(lines)
        else "You have not said so much yet."
    )


def _last(situation: Situation, match: re.Match[str]) -> str:
    wants_question = re.search(r"\bask|question", match[0]) is not None
    lines = [*situation.earlier]
    asked = [line for line in lines if _is_asked(line)] if wants_question else lines
    if chosen := (asked or lines):
        return _quoted(chosen[-1], "You")
    return "Nothing before this: it is the first thing that you said to me."


def _first_answer_of_mine(situation: Situation, _: re.Match[str]) -> str:
    return f"First I said: {_short(situation.answers[0])}" if situation.answers else NOTHING_YET


def _before_that(situation: Situation, _: re.Match[str]) -> str:
    if len(situation.answers) > 1:
        return f"Before that I said: {_short(situation.answers[-2])}"
    return NOTHING_YET if not situation.answers else "Before that I had not said anything."


def _summary(situation: Situation, _: re.Match[str]) -> str:
    said = [_short(line.words).rstrip(".!?") for line in situation.earlier if len(line.words.split()) > 1][-3:]
    if not said:
        return "We have only just begun to talk."
    return f"You said: {listed([f'“{one}”' for one in said])}."


def _how_many(situation: Situation, match: re.Match[str]) -> str:
    count = sum(map(_is_asked, situation.earlier)) + 1 if "question" in match[0] else situation.turn
    what = "question" if "question" in match[0] else "thing"
    return (
        f"You have {'asked me' if what == 'question' else 'said'} {count} "
        f"{what}{'s' if count != 1 else ''}, counting this one."
    )


def _why(situation: Situation, _: re.Match[str]) -> str | None:
    if situation.last_answer is None:
        return None
    return "Because one of my rules fits words that you said: I match words, and do not think."


def _is_asked(line: Line) -> bool:
    return is_question(line.words, core(plain(line.words)))


def _quoted(line: Line, who: str) -> str:
    verb = "asked" if _is_asked(line) else "said"
    words = _short(line.words)
    return f"{who} {verb}: {words}{'' if words.endswith(('.', '!', '?', '…')) else '.'}"


def _short(text: str) -> str:
    words = text.split()
    return text.strip() if len(words) <= _LONGEST_WORDS else f"{' '.join(words[:_LONGEST_WORDS])} …"


_NOT_SHARED = "I don't share my instructions."
RULES: Rules = rules(
    (
        either(
            r"\b(?:repeat|tell|say|show|read|reveal|print|give|list|recite|share|output|quote|write|spell|see|know|hear"
            r"|summari[sz]e|translate|disclose|ignore|forget|disregard|what(?:'s| is| are| were| do| does)|copy)\b.*"
            r"\b(?:system prompt|your (?:\w+ ){0,2}(?:prompt|instructions|orders|guidelines|briefing)"
            r"|(?:previous|prior|above|earlier|hidden|secret) instructions)\b(?!.*\b(?:change|write my|use a)\b)",
            r"\b(?:what|which|who|how|anything|something|everything|whatever|things)\b.*\b(?:were|are|have|had|was) you"
            r" (?:been )?(?:\w+ )?(?:told|instructed|ordered|forbidden|programmed|briefed)\b",
            r"\b(?:you were|you are|you're|you've been) (?:\w+ )?(?:told|instructed|ordered|forbidden|supposed|allowed)"
            r" (?:to )?(?:not|never|keep|hide|conceal)\b",
            r"\bwhat (?:are you (?:not|hiding|keeping)|aren't you|may you not|must you not|did they tell you|"
            r"do they tell you|can't you tell|won't you tell)\b",
            r"\b(?:your|any|the) secrets\b",
            r"\b(?:things?|anything|something|topics?|what)\b.{0,20}\byou (?:must|may|should|are)(?:n't| not)"
            r"(?: \w+){0,2} (?:say|tell|mention|reveal|talk|discuss)\b",
            r"\bwhat (?:did|do|does|has|have) (?!i\b|we\b|you\b).{0,30}\b(?:tell|told|instruct\w*|order\w*) you\b",
        ),
        always(_NOT_SHARED),
    ),
    (
        either(
            r"\b(?:repeat|say|tell|speak|again|talk)\b.*\b(?:slow|slower|slowly)\b",
            r"^(?:a (?:bit|little) |more )?(?:slower|slowly)\b",
            r"\bslow (?:it )?down\b",
            r"\b(?:too|so) fast\b",
            r"\bslower\b",
        ),
        _slower,
    ),
    (
        either(
            (
                r"\bwhat (?:was|is|were|'s) (?:the )?(?:very )?(?:first|1st) (?:thing|question|words?"
                r"|sentence) (?:that )?(?:i|of mine)\b"
            ),
            r"\bmy (?:very )?first (?:question|words?|sentence|line|request)\b",
            (
                r"\b(?:what|which)\b.*\bi\b.*\b(?:ask|asked|say|said|tell|told|mention)\b.*\b(?:first"
                r"|at the (?:beginning|start)|to begin)\b"
            ),
            r"\b(?:first|1st) (?:thing|question)\b.*\b(?:i|me)\b",
        ),
        _first,
    ),
    (r"\b(second|third|fourth|fifth) (?:thing|question|words?|sentence)\b.*\bi\b", _nth),
    (
        either(
            (
                r"\b(?:what|which)\b.*\byou\b.*\b(?:say|said|answer|answered|tell|told)\b.*\b(?:first"
                r"|at the (?:beginning|start))\b"
            ),
            r"\byour first (?:answer|words?|sentence)\b",
            r"\bfirst thing you said\b",
        ),
        _first_answer_of_mine,
    ),
    (
        either(
            r"\b(?:what|how)\b.*\byou\b.*\b(?:say|said|answer|tell)\b.*\bbefore (?:that|this|then)\b",
            r"\byou(?:r answer)? before that\b",
            r"\bprevious answer\b",
        ),
        _before_that,
    ),
    (
        either(
            (
                r"\b(?:what|which)\b.*\b(?:did|have|had|was) i\b.*\b(?:just |last |previously )?(?:ask|asked|asking"
                r"|say|said|saying)\b(?! you to| to remember)"
            ),
            r"\bmy (?:last|previous|latest|recent) (?:question|words?|sentence|request|line)\b",
            r"\b(?:remember|know|repeat|recall|tell me|say) what i (?:just )?(?:said|asked)\b",
            r"^what i (?:just )?(?:said|asked)\b",
            r"\b(?:last|previous) (?:thing|question)\b.*\bi\b",
            r"\bwhat was (?:i saying|my question|i asking)\b",
            r"\bremember my (?:last |previous )?question\b",
        ),
        _last,
    ),
    (
        either(
            r"\b(?:what|which things) (?:have|did|were|are) we (?:been )?(?:talk|discuss|say|cover|chat)\w*\b",
            r"\b(?:summar(?:y|ize|ise)|sum up|recap)\b",
            r"\bwhat (?:was|is|has) (?:this|our|the) (?:conversation|call|chat|talk)(?: been)? about\b",
            r"\bso far\b.*\btalk",
        ),
        _summary,
    ),
    (r"\bhow many (?:questions|things|times|sentences)\b.*\b(?:i|we)\b.*\b(?:ask|asked|said|say|talk)\w*\b", _how_many),
    (
        either(
            r"^(?:repeat|say|tell)(?: me)? (?:that|it|this)\b(?! (?:i|you|my|we)\b)",
            r"\b(?:repeat|say) (?:that|it)\b",
            r"\bonce (?:more|again)\b",
            r"^again$",
            r"\bwhat (?:did|have|was|were) (?:it )?you (?:just )?(?:say|said|saying|tell|told|answer)\w*\b",
            r"\bwhat you (?:just )?(?:said|say|told|answered)\b",
            (
                r"^(?:pardon(?: me)?|what|come again|say again|huh|what was that|sorry what|i beg your pardon"
                r"|one more time|excuse me)$"
            ),
            (
                r"\b(?:i )?(?:didn't|did not|couldn't|could not|can't) (?:hear|catch|understand|get|follow) (?:that"
                r"|you|it|what you)\b"
            ),
            r"^repeat\b(?! after)",
            r"\byour last (?:answer|words?|sentence)\b",
            r"\bone more time\b",
        ),
        _repeat,
    ),
    (r"^(?:but )?why(?: did you say (?:that|so)| is that|not| do you (?:say|think) (?:that|so))?$", _why),
    (
        either(
            r"\b(?:remember|recall|know) (?:me|us)\b(?! \w)",
            r"\bremember (?:me|us|this|that|it|anything)\b.*\b(?:tomorrow|next|later|again|another)\b",
            r"\b(?:remember|recall)\b.*\b(?:last (?:time|call|conversation)|yesterday|earlier calls?)\b",
            r"\b(?:have|did) we (?:met|meet|talk|talked|spoken|speak) before\b",
            r"\b(?:last time|last call|last week|yesterday)\b.*\b(?:we|i) (?:talked|spoke|said|told)\b",
        ),
        always("I remember only this call: each one begins anew."),
    ),
    (
        r"^(?:(?:can|could|do|will|how much can) you )?(?:remember|learn|memori[sz]e)"
        r"(?: things?| stuff| facts?| anything| something| names)?$",
        always("Yes, in this call: tell me something about you, and ask me later."),
    ),
)

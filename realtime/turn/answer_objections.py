"""Questions for objections ("would it bother you if"): a yes refuses, a no agrees. Pure."""

from __future__ import annotations

import re
from enum import Enum, auto

from realtime.tool.spoken_numbers import Language
from realtime.turn.answer_phrases import LONGEST, PHRASES, Kind, Phrase, as_compared
from realtime.turn.answer_pieces import raw_tokens

_ASKS = re.compile(
    r"\b(?:do|would|will) (?:you|u) (?:mind|object)\b|\b(?:any|an) objections?\b"
    r"|\b(?:is|would|will) (?:it|that|there) (?:be )?(?:a|any) problem\b|\b(?:would|will|does) (?:it|that) bother you\b"
    r"|\bist (?:es|das) ein problem\b|\b(?:hay|es|seria) (?:algun|un) problema\b"
    r"|\b(?:etwas|was|einwande) dagegen\b|\beinwande\b|\b(?:stort|storte|storen) (?:es|sie|dich|das)\b"
    r"|\bmacht es (?:ihnen|dir) etwas aus\b"
    r"|\b(?:le|te|les|os) (?:importa|importaria|molesta|molestaria)\b|\b(?:algun |alguna )?inconveniente\b"
    r"|介 意|反 对"
)


class Stance(Enum):
    """How an answer takes it."""

    OBJECTS = auto()
    ALLOWS = auto()
    DOUBT = auto()


def asks_for_objections(question: str) -> bool:
    """Whether a question asks for objections, so that its yes refuses."""
    return _ASKS.search(" ".join(as_compared(question))) is not None


def _phrases(text: str) -> frozenset[Phrase]:
    return frozenset(as_compared(phrase) for phrase in text.split(","))


_OBJECTING = _phrases(
    "i do mind,i would mind,i'd mind,yes i do,yes i would,yes i mind,yeah i do,yeah i mind,yeah i would,i mind,"
    "i object,i'd rather you didn't,i would rather you didn't,"
    "ich habe etwas dagegen,ich hab was dagegen,habe ich,hab ich,da habe ich etwas dagegen,das stört mich,"
    "es stört mich,ja schon,sí me importa,me importa,me importaría,sí me molesta,me molesta,sí que me importa,"
    "介意,我介意,反对,我反对"
)
_CLEAR = _phrases(
    "not at all,i don't mind,don't mind,i wouldn't mind,i don't mind at all,of course not,no of course not,no problem,"
    "no problem at all,no worries,no objection,no objections,i have no objection,i don't object,"
    "gar nicht,überhaupt nicht,ganz und gar nicht,nichts dagegen,ich habe nichts dagegen,ich hab nichts dagegen,"
    "hab nichts dagegen,habe nichts dagegen,kein problem,keine einwände,stört mich nicht,das stört mich nicht,"
    "es stört mich nicht,macht mir nichts aus,para nada,en absoluto,no me importa,a mí no me importa,claro que no,"
    "por supuesto que no,no me molesta,qué va,no hay problema,ningún problema,ningún inconveniente,"
    "不介意,我不介意,一点也不介意,当然不介意,没关系,没问题,没事,不反对,我不反对"
)
_WEAK = _phrases("no,nope,nah,i don't,i do not,i wouldn't,nein,nee,ne,habe ich nicht,hab ich nicht,不,不会")
_NO = _phrases("nope,nah,nein,nee,ne")
"""What never negates the words behind it; the others of `_WEAK` may: "no cancele el hotel", "I wouldn't cancel it"."""
_TOLD = re.compile(r"[áéíóú]\w{1,20}(?:lo|la|los|las)$")
_YES = _phrases("yes,yeah,yep,yup,ja,jawohl,si,是,是的,对,对的")
_ORDERS = _phrases(
    "go ahead,go for it,do it,do that,please do,proceed,by all means,feel free,carry on,you can go ahead,"
    "you may go ahead,let's do it,"
    "nur zu,mach das,mach es,machs,mach ruhig,machen sie das,machen sie es,machen sie ruhig,machen sie,leg los,"
    "legen sie los,tun sie das,"
    "adelante,hazlo,hágalo,dale,proceda,procede,请吧,做吧,去做吧,请便"
)
"""What tells to do it, whatever the question was."""


def without_stance(words: str, language: Language) -> tuple[Stance, str, bool]:
    """Return the stance, the other words, and whether an order is there.

    `ALLOWS` is returned only where a whole phrase says so; a "no" alone is `DOUBT`, and is taken out as well.
    """
    tokens, raw = as_compared(words), raw_tokens(words)
    rest: list[str] = []
    stances: set[Stance] = set()
    has_order = has_yes = False
    at = 0
    while at < len(tokens):
        said = _phrase_at(tokens, at)
        goes_on = at + len(said) == len(tokens) or bool(_phrase_at(tokens, at + len(said)))
        longer = 0 if goes_on and said in _WEAK else _longest_refusal(tokens, at, language)
        if not said or longer > len(said):
            count = max(longer, 1)
            rest += tokens[at : at + count]
            at += count
            continue
        at += len(said)
        if said in _WEAK and not goes_on and said not in _NO and not (said == ("no",) and _is_told(raw[at], language)):
            rest += said
        elif said in _OBJECTING:
            stances.add(Stance.OBJECTS)
        elif said in _CLEAR:
            stances.add(Stance.ALLOWS)
        elif said in _YES:
            has_yes = True
        elif said in _ORDERS:
            has_order = True
        elif rest and not all(PHRASES[language].get((token,)) is Kind.PAD for token in rest):
            rest += said
    if Stance.OBJECTS in stances:
        stance = Stance.DOUBT if Stance.ALLOWS in stances or has_order else Stance.OBJECTS
        return stance, " ".join(rest), False
    if has_yes and Stance.ALLOWS in stances:
        return Stance.DOUBT, " ".join(rest), False
    return (Stance.ALLOWS if Stance.ALLOWS in stances else Stance.DOUBT), " ".join(rest), has_order


def _phrase_at(tokens: Phrase, at: int) -> Phrase:
    """Return the longest phrase at a token; empty without one."""
    phrases = (one for one in _OBJECTING | _CLEAR | _WEAK | _ORDERS | _YES if tokens[at : at + len(one)] == one)
    return max(phrases, key=len, default=())


def _is_told(token: str, language: Language) -> bool:
    """Return whether a "no" before this word does not negate it: "no, cancélalo", which is "no lo canceles" else."""
    return language == "en" or (language == "es" and _TOLD.search(token) is not None)


def _longest_refusal(tokens: Phrase, at: int, language: Language) -> int:
    """Return the words of the longest phrase of refusal, waiting or doubt: "no don't" is no "no"."""
    kinds = (Kind.NO, Kind.WAIT, Kind.DOUBT, Kind.ASK)
    counts = range(1, min(LONGEST[language], len(tokens) - at) + 1)
    return max((n for n in counts if PHRASES[language].get(tokens[at : at + n]) in kinds), default=0)

"""The deed that a question asks for, and orders of it: "turn it on". Pure."""

from __future__ import annotations

from collections.abc import Sequence

from realtime.tool.spoken_numbers import Language
from realtime.turn.answer_phrases import Phrase, as_compared, word_set
from realtime.turn.answer_words import ARTICLES, LEADS, PREPOSITIONS

_FAMILIES = [
    frozenset(as_compared(verb) for verb in family.split(","))
    for family in [
        "delete,remove,erase,bin,trash,get rid of,wipe",
        "book,reserve",
        "add,put,enter",
        "email,mail,send",
        "text,message,send",
        "transfer,send,pay,wire",
        "forward,transfer,connect,put",
        "call,ring,phone",
        "open,file,raise,create,submit",
        "buy,order,purchase,get",
        "change,update,move,switch",
        "move,reschedule,shift",
        "turn,switch,put",
        "lock,shut",
        "block,lock",
        "save,store",
        "transfer,move",
        "charge,bill",
        "share,send",
        "start,begin",
        "renew,extend",
    ]
]
"""Verbs that ask for the same deed."""
_KIN = [
    frozenset(family.split())
    for family in [
        "losch entfern",
        "schick send mail uberweis",
        "buch reservier",
        "bestell order",
        "verschieb verleg",
        "stornier absag",
        "sperr blockier",
        "borr elimin suprim quit",
        "envi mand transfier",
        "cambi mov modific pas muev",
        "cancel anul",
        "pag abon",
        "encend enciend prend",
        "sub aument",
        "pong pon",
        "hag haz",
    ]
]
"""Stems of German and Spanish verbs that ask for the same deed."""
_CONNECTING = frozenset({"forward", "transfer", "connect", "put"})
"""With "call" for their object, they connect the user: "put me through"."""
_PARTICLES = {"on": "off", "off": "on", "in": "out", "out": "in", "up": "down", "down": "up", "back": "forward"}
"""Words of a verb, with their opposites."""
_MILD = frozenset({"in", "over", "through", "across"})
"""Particles that a question may lack: "yes, book it in"."""
_OBJECTS: dict[Language, frozenset[str]] = {
    "en": word_set("it that this them those these him her"),
    "de": word_set("es ihn sie das die den ihm ihr ihnen"),
    "es": word_set("lo la los las le les eso"),
    "zh": frozenset("它他她"),
}
_USER = frozenset({"you", "dich", "dir", "te"})
"""The user, as the question names them."""
_NAMES_USER = word_set("you dich dir euch sie ihnen te")
_BEHIND_OBJECT = (PREPOSITIONS - {"a", "an"}) | word_set(
    "of from in about as by into called named ending now today tomorrow until before after"
)
_SEPARABLE = word_set("ab an auf aus ein fest her hin los mit nach um vor weg weiter zu zuruck")


_CLITICS = word_set("le les lo la los las te os se me")
_SPANISH_LEADS = word_set("si que puedo podria debo")
_IT_IS_OKAY = frozenset(
    f"{begin} {word}"
    for begin in ("its", "it is", "thats", "that is")
    for word in ("ok", "okay", "fine", "all right", "alright")
)
_PERMITS = frozenset({"you can", "you may", "you could"})
_SHORT_YES: dict[str, frozenset[str]] = {
    "do you want": frozenset({"i do", "we do"}),
    "would you like": frozenset({"i would", "we would"}),
    "is it ok": _IT_IS_OKAY,
    "is it all right": _IT_IS_OKAY,
    "is it alright": _IT_IS_OKAY,
    "is it fine": _IT_IS_OKAY,
    "can i": _PERMITS,
    "may i": _PERMITS,
    "could i": _PERMITS,
    "darf ich": frozenset({"durfen sie", "darfst du"}),
    "kann ich": frozenset({"konnen sie", "kannst du"}),
    "soll ich": frozenset({"sollen sie", "sollst du"}),
    "mochten sie": frozenset({"mochte ich"}),
    "mochtest du": frozenset({"mochte ich"}),
    "quieres que": frozenset({"quiero", "si quiero"}),
    "你 想": frozenset({"想"}),
    "想 让": frozenset({"想"}),
}


class Deed:
    """The verb and the object of a question."""

    def __init__(self, tokens: Phrase, language: Language) -> None:
        self._language = language
        self._tokens = tokens
        found = [
            at + len(lead)
            for lead in LEADS
            for at in range(len(tokens) - len(lead))
            if tokens[at : at + len(lead)] == lead
        ]
        begin = min(found, default=len(tokens))
        self.verb = tokens[begin] if begin < len(tokens) else None
        self._behind = tokens[begin + 1 :]
        families = [family for family in _FAMILIES if (self.verb,) in family]
        own: frozenset[Phrase] = frozenset({(self.verb,)} if self.verb else ())
        self._verbs = own.union(*families)
        self._names_user = self._behind[:1] == ("you",) or (self.verb in _CONNECTING and "call" in self._behind)
        self._object = self._object_of()

    def _object_of(self) -> list[str]:
        words: list[str] = []
        for token in self._behind:
            if not words and token in _PARTICLES:
                continue
            if token in _BEHIND_OBJECT:
                break
            words.append(token)
        return words

    def is_object(self, items: Sequence[object]) -> bool:
        """Whether these words name the object; words before its last may be left out."""
        if not items or not self._object or items[-1] != self._object[-1]:
            return False
        at = 0
        for item in items:
            if item not in self._object[at:]:
                return False
            at = self._object.index(str(item), at) + 1
        return True

    def behind_order(self, items: Sequence[object], with_synonyms: bool) -> int:
        """Return how many first items are the verb with pronouns and particles."""
        verbs = self._verbs if with_synonyms else {(self.verb,)}
        at = max((len(verb) for verb in verbs if tuple(items[: len(verb)]) == verb), default=0)
        return at + self.behind_verb(items[at:]) if at else 0

    @staticmethod
    def kin(stem: str) -> frozenset[str]:
        """Return the stems of German and Spanish verbs for the same deed."""
        return frozenset({stem}).union(*(family for family in _KIN if stem in family))

    def is_particle(self, item: object) -> bool:
        """Whether a word is a part of the verb: "on" of "turn on"."""
        return item in _PARTICLES and item in self._behind

    def german_verb(self) -> str:
        """The verb of a German question: its last word, or that before what it tells ("schicken, dass ...")."""
        at = next((at for at, token in enumerate(self._tokens) if at > 3 and token in ("dass", "ob", "weil")), 0)
        return self._tokens[at - 1]

    def spanish_verb(self) -> str | None:
        """The verb of a Spanish question: behind "le importa si" or "quiere que", else the first that is no pronoun."""
        end = next((at for at, token in enumerate(self._tokens) if token in ARTICLES["es"]), len(self._tokens))
        begin = max((at + 1 for at, token in enumerate(self._tokens[:end]) if token in _SPANISH_LEADS), default=0)
        return next((token for token in self._tokens[begin:] if token not in _CLITICS), None)

    def is_short_yes(self, words: str) -> bool:
        """Whether an answer takes up how the question begins: "I do" to "do you want me to"."""
        question = " ".join(self._tokens)
        return any(question.startswith(begin) and words in answers for begin, answers in _SHORT_YES.items())

    def is_recipient(self, items: Sequence[object]) -> bool:
        """Whether these words are a pronoun for the question's only recipient."""
        is_clear = self._behind.count("to") == 1 and "from" not in self._behind
        return is_clear and len(items) == 2 and items[0] == "to" and items[1] in ("him", "her", "them")

    def behind_verb(self, items: Sequence[object]) -> int:
        """Return how many first items are pronouns and particles."""
        at = 0
        while at < len(items) and (self._is_pronoun(items[at]) or self._is_particle(items[at])):
            at += 1
        return at

    def is_separable(self, item: object) -> bool:
        """Whether an item is the last part of a German order: "ruf ihn an"."""
        return item in _SEPARABLE and bool(self._tokens) and self._tokens[-1].startswith(str(item))

    def _is_pronoun(self, item: object) -> bool:
        if item in _USER:
            return self._names_user if self._language == "en" else bool(_NAMES_USER & {*self._tokens})
        return item in _OBJECTS[self._language]

    def _is_particle(self, item: object) -> bool:
        if self._language != "en" or not isinstance(item, str) or _PARTICLES.get(item) in self._behind:
            return False
        return item in _MILD or (item in _PARTICLES and item in self._behind)

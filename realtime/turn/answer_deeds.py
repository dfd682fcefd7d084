"""The deed that a question asks for, and orders of it: "turn it on". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from realtime.tool.spoken_numbers import Language
from realtime.turn.answer_phrases import Phrase, as_compared, word_set
from realtime.turn.answer_words import ARTICLES, LEADS, PREPOSITIONS

_FAMILIES = [
    frozenset(as_compared(verb) for verb in family.split(","))
    for family in [
        "delete,remove,erase,bin,trash,get rid of,get rid,wipe,ditch,dump,chuck,nuke,toss,clear,purge,dispose of",
        "cancel,end,terminate,kill,ditch,axe,bin,call off,get rid of,get rid",
        "unsubscribe,cancel,end,remove",
        "book,reserve,make,schedule,arrange,get,grab,order,set up,rent,hire",
        "add,put,enter,top up,top,load,stick,pop,pay,chuck,throw",
        "email,mail,send,shoot,fire,ship",
        "text,message,send,shoot,fire",
        "transfer,send,pay,wire",
        "forward,transfer,connect,put",
        "call,ring,phone,dial",
        "open,file,raise,create,submit,lodge,log,report,start,send,put",
        "post,publish,submit,send,put,share,upload",
        "buy,order,purchase,get,grab,book,reorder",
        "pay,settle,clear",
        "change,update,move,switch,amend,edit",
        "move,reschedule,shift,push,bring",
        "turn,switch,put",
        "lock,shut,close",
        "block,lock,freeze,stop",
        "save,store",
        "transfer,move",
        "charge,bill,take,debit",
        "share,send",
        "start,begin,run,launch",
        "play,put,start",
        "set,put,make",
        "sign,put,enrol,enroll,register,book",
        "renew,extend",
        "refund,return,send",
        "remind,tell,ping",
        "print,run",
        "install,update,run",
    ]
]
"""Verbs that ask for the same deed."""
_KIN = [
    frozenset(family.split())
    for family in [
        "losch entfern",
        "schick verschick abschick absend send mail uberweis",
        "buch reservier bestell vereinbar",
        "bestell order besorg hol kauf ruf nimm",
        "verschieb verleg leg",
        "stornier absag kundig",
        "sperr blockier",
        "stell einstell",
        "einschalt anschalt anmach",
        "ausschalt ausmach abschalt",
        "trag eintrag",
        "borr elimin suprim quit",
        "envi mand transfier env",
        "cambi mov modific pas muev",
        "cancel anul",
        "pag abon",
        "encend enciend prend",
        "reserv ped pid pill coj encarg apart",
        "compr ped pid pill coj encarg saqu sac",
        "llam marc telefone",
        "program pong pon",
        "sub aument",
        "pong pon",
        "agend reserv program apunt anot",
        "hag haz",
    ]
]
"""Stems of German and Spanish verbs that ask for the same deed."""
_REMOVING = word_set("cancel delete remove erase block close end return stop unsubscribe terminate wipe clear")
_REMOVING_STEMS = re.compile(
    r"\b(?:kundig|losch|stornier|sperr|entfern|absag|abbestell|beend|cancel|borr|elimin|anul|bloque|quit|suprim)\w*"
    r"|取 消|注 销|[删退冻停]"
)
_CONNECTING = frozenset({"forward", "transfer", "connect", "put"})
"""With "call" for their object, they connect the user: "put me through"."""
_PARTICLES = {"on": "off", "off": "on", "in": "out", "out": "in", "up": "down", "down": "up", "back": "forward"}
"""Words of a verb, with their opposites."""
_MILD = frozenset({"in", "over", "through", "across"})
"""Particles that a question may lack: "yes, book it in"."""
_LOOSE = {
    "up": word_set("top sign set"),
    "off": word_set("send fire ship"),
    "away": word_set("send fire file order"),
    "out": word_set("send"),
}
"""Particles that a question may lack behind these verbs: "yes, top it up"."""
_BETWEEN = word_set("just also now please really quickly go ahead and")
"""Words between the lead of a question and its verb."""
_OBJECTS: dict[Language, frozenset[str]] = {
    "en": word_set("it that this them those these him her"),
    "de": word_set("es ihn sie das die den ihm ihr ihnen eins einen eine welche"),
    "es": word_set("lo la los las le les eso"),
    "zh": frozenset("它他她"),
}
_PARTICIPLES = {"send": "sent", "mak": "made", "buy": "bought", "get": "got", "pay": "paid", "put": "put", "set": "set"}
"""By the verb without its "e"."""
_BRINGING = word_set("get order book buy grab reserve fetch")
"""Verbs that may name for whom: "get me a taxi"."""
_THINGS = word_set("it that this you")
_USER = frozenset({"you", "dich", "dir", "te"})
"""The user, as the question names them."""
_NAMES_USER = word_set("you dich dir euch sie ihnen te")
_BEHIND_OBJECT = (PREPOSITIONS - {"a", "an"}) | word_set(
    "of from in about as by into called named ending now today tomorrow until before after"
)
_SEPARABLE = word_set("ab raus an auf aus ein fest her hin los mit nach um vor weg weiter zu zuruck")


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
        while begin < len(tokens) - 1 and (tokens[begin] in _BETWEEN or tokens[begin].endswith("ly")):
            begin += 1
        self.verb = tokens[begin] if begin < len(tokens) else None
        self._behind = tokens[begin + 1 :]
        families = [family for family in _FAMILIES if (self.verb,) in family]
        own: frozenset[Phrase] = frozenset({(self.verb,)} if self.verb else ())
        self._verbs = own.union(*families)
        self._names_user = self._behind[:1] == ("you",) or (self.verb in _CONNECTING and "call" in self._behind)
        self._object = self._object_of()

    @property
    def removes(self) -> bool:
        """Whether the deed takes something away: who wants the thing does not want the deed."""
        return self.verb in _REMOVING or _REMOVING_STEMS.search(" ".join(self._tokens)) is not None

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
        if not at:
            return 0
        if at == 1 and items[0] in _BRINGING and items[1:2] == ["you"] and len(items) > 2:
            at = 2
        count = at + self.behind_verb(items[at:])
        is_loose = (
            count < len(items)
            and (items[count - 1] in _THINGS or [*items[1:]] == ["away"])
            and items[0] in _LOOSE.get(str(items[count]), ())
        )
        return count + (is_loose and _PARTICLES.get(str(items[count])) not in self._behind)

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

    def spanish_verbs(self) -> list[str]:
        """The verbs of a Spanish question: behind "le importa si" or "quiere que", else the first; and its purpose."""
        end = next((at for at, token in enumerate(self._tokens) if token in ARTICLES["es"]), len(self._tokens))
        begin = max((at + 1 for at, token in enumerate(self._tokens[:end]) if token in _SPANISH_LEADS), default=0)
        first = next((token for token in self._tokens[begin:] if token not in _CLITICS), None)
        purposes = [
            verb
            for to, verb in pairwise(self._tokens)
            if to == "para" and len(verb) > 3 and verb.endswith(("ar", "er", "ir"))
        ]
        return [*([first] if first else []), *purposes]

    def is_participle(self, item: object) -> bool:
        """Whether a word is the English participle of the deed: "cancelled", "done"."""
        stems = {verb[0].rstrip("e") for verb in self._verbs if len(verb) == 1}
        is_regular = any(re.fullmatch(rf"{re.escape(stem)}\w?ed", str(item)) for stem in stems if len(stem) > 1)
        return (
            is_regular
            or item == "done"
            or (item == "gone" and self.removes)
            or item in {_PARTICIPLES.get(stem) for stem in stems}
        )

    def is_short_yes(self, words: str) -> bool:
        """Whether an answer takes up how the question begins: "I do" to "do you want me to"."""
        question = " ".join(self._tokens)
        return any(question.startswith(begin) and words in answers for begin, answers in _SHORT_YES.items())

    def is_recipient(self, items: Sequence[object]) -> bool:
        """Whether these words are a pronoun for the question's only recipient."""
        if tuple(items) in (("for", "it"), ("for", "that")):
            return "for" in self._behind
        is_clear = self._behind.count("to") == 1 and "from" not in self._behind
        return is_clear and len(items) == 2 and items[0] == "to" and items[1] in ("him", "her", "them")

    def behind_verb(self, items: Sequence[object]) -> int:
        """Return how many first items are pronouns and particles."""
        at = 0
        while at < len(items) and (self._is_pronoun(items[at]) or self._is_particle(items[at])):
            at += 1
        return at

    @staticmethod
    def is_separable(item: object) -> bool:
        """Whether an item may be the last part of a German order: "ruf ihn an"."""
        return item in _SEPARABLE

    def _is_pronoun(self, item: object) -> bool:
        if item in _USER:
            return self._names_user if self._language == "en" else bool(_NAMES_USER & {*self._tokens})
        return item in _OBJECTS[self._language]

    def _is_particle(self, item: object) -> bool:
        if self._language != "en" or not isinstance(item, str) or _PARTICLES.get(item) in self._behind:
            return False
        return item in _MILD or (item in _PARTICLES and item in self._behind)

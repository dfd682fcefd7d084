"""Reasons beside an agreement: "please do, I never watch it". Pure.

A reason is about who answers or how things are now, has no condition and nothing new. Plans, the past and other people
are none: they may be said to another person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from realtime.tool.spoken_numbers import Language
from realtime.turn.answer_phrases import as_compared, word_set
from realtime.turn.answer_words import PLEASE


def _one_of(phrases: str) -> str:
    """Return a pattern for one of some phrases, which "|" separates."""
    return "(?:" + "|".join(" ".join(as_compared(phrase)) for phrase in phrases.split("|")) + ")"


def _some_of(phrases: str) -> str:
    """Return a pattern for any number of phrases, a space behind each."""
    return f"(?:{_one_of(phrases)} ){{0,4}}"


def _ends_with(phrases: str) -> str:
    """Return a pattern for any number of phrases, a space before each."""
    return f"(?: {_one_of(phrases)}){{0,4}}"


_STATE = _one_of(
    "cold|freezing|chilly|hot|boiling|roasting|warm|stuffy|dark|gloomy|loud|noisy|late|empty|tired|exhausted|knackered|"
    "starving|hungry|famished|thirsty|broke|urgent|overdue|outdated|useless|rubbish|soaked|poorly|sick|ill|kalt|eiskalt|"
    "heiß|dunkel|laut|spät dran|müde|hungrig|dringend|eilig|veraltet|hunger|durst|frío|calor|tarde|hambre|prisa|sed|"
    "sueño|cansado|cansada|oscuro|urgente"
)
_AS = f"{_one_of('because|cause|cos|as|since|and')}? ?"
_I_AM = _one_of("i'm|i am|we're|we are")
_IT = _one_of("it|that|this|them|those|any|there")
_VERY = _some_of("really|so|very|quite|pretty|absolutely|running|nearly|almost|just|already|getting|a bit|all")
_END = _ends_with("now|today|anyway|in here|out here|again|at all|anymore|any more|any longer|honestly|either")
_WELL = _some_of("ja|so|echt|schon|sehr|ganz|eh|wirklich|sowieso|eigentlich|einfach|doch|dringend|jetzt|alles|das|es")
_DAS = _one_of("die|das|den|es|sie|ihn")
_USE = _one_of("brauch|brauche|brauchen|les|lese|nutz|nutze|nutzen|schau|schaue|guck|gucke|will|benutz|benutze|trage")
_NO_MORE = _one_of("nie|nimmer|nicht mehr|nie mehr|kaum|kaum noch|gar nicht mehr|fast nie")
_QUE = f"{_one_of('que|porque|es que|ya que')}? ?"
_LO = _one_of("la|lo|las|los")
_WE = _some_of("我们|我")
_ALREADY = _some_of("都|也|正好|刚好|真的|从来|根本|早就|已经|全|很")

_OF_STATE: dict[Language, tuple[str, ...]] = {
    "en": (
        f"{_AS}{_I_AM} {_VERY}{_STATE}{_END}",
        f"{_AS}{_one_of('it is|its|they are|theyre')} {_VERY}{_STATE}{_END}",
    ),
    "de": (f"{_one_of('mir ist|es ist|ich bin|ich hab|ich habe|wir sind|wir haben|hier ist es')} {_WELL}{_STATE}",),
    "es": (
        f"{_QUE}{_one_of('hace|tengo|tenemos|estoy|estamos|es|está|hay')} "
        f"{_some_of('mucho|mucha|muy|bastante|ya')}{_STATE}{_ends_with('aquí|ya|hoy')}",
    ),
    "zh": (
        f"{_some_of('我|我们|家里|这里|屋里|外面|因为')}{_one_of('太|好|真|很|有点|有点儿|快')} [冷热暗黑饿累困吵渴急]"
        f"{_ends_with('了|死了|啊')}",
        f"{_one_of('我|我们')} {_some_of('都|也')}[饿累困渴冷] 了",
        f"{_one_of('上午|下午|晚上')} {_WE}{_ALREADY}{_one_of('在家|有空|有时间|方便')}",
    ),
}
"""Reasons that may stand beside any yes: how it is, or how the person is."""
_BESIDE_ORDERS: dict[Language, tuple[str, ...]] = {
    "en": (
        f"{_AS}{_I_AM} {_VERY}{_some_of('fed up')}"
        f"{_one_of('out|low|short|tired|sick')}(?: (?:of|with|on) {_IT})?{_END}",
        f"{_AS}{_one_of('i have|ive|we have|weve|its|theyre')} "
        f"{_some_of('already|just|got|it|that|them|all|everything')}"
        f"{_one_of('backed up|saved|copied|checked|confirmed|decided|covered')}"
        f"{_ends_with('it|them|everything|all|already')}",
        f"{_AS}{_one_of('i|we')} {_one_of('cant wait|cant be bothered')}",
        f"{_AS}{_I_AM} {_one_of('at home|home|free|available')}{_ends_with('then|that day|all day|anyway')}",
    ),
    "de": (
        f"{_one_of('ich hab|ich habe|hab|habe|ich habs|habs')} {_WELL}"
        f"{_one_of('gesichert|gespeichert|kopiert|geprüft|eilig')}",
    ),
    "es": (f"{_QUE}(?:ya )?{_LO} tengo {_some_of('todo|ya|todas|todos')}(?:guardad|copiad|respaldad)[oa]s?",),
    "zh": (
        f"{_WE}{_ALREADY}{_one_of('在家|有空|有时间')}",
        f"{_WE}{_ALREADY}{_one_of('备份|保存|确认|存')}{_ends_with('好|过')} 了",
    ),
}
"""Reasons that need an order or a "please" beside them."""
_OF_BRINGING: dict[Language, tuple[str, ...]] = {
    "en": (
        f"{_AS}{_one_of('i|we')} {_some_of('really')}{_one_of('love|need|want|could use|could do with')} {_IT}{_END}",
    ),
    "de": (f"ich {_one_of('brauch|brauche|will|mag')} {_DAS}{_ends_with('ja|echt|wirklich|dringend|jetzt')}",),
    "es": (
        f"{_QUE}{_LO} {_one_of('necesito|quiero')}{_ends_with('ya|mucho|urgente')}",
        f"{_QUE}me {_one_of('hace|hacen')} (?:mucha )?falta",
    ),
    "zh": (f"我 {_some_of('很|真的')}需 要{_ends_with('它|这个')}",),
}
"""Such reasons where the deed takes nothing away: "I need it"."""
_OF_REMOVING: dict[Language, tuple[str, ...]] = {
    "en": (
        f"{_AS}{_one_of('i|we')} {_some_of('really|just')}{_one_of('never|hardly|barely|dont|rarely|no longer')} "
        f"{_some_of('even|ever|really')}{_one_of('need|use|want|like|watch|read|wear|go|play|open|look at|listen to')}"
        f"(?: {_IT})?{_END}",
        f"{_AS}{_I_AM} {_one_of('not|no longer')} {_one_of('using|going|watching|reading|needing')}(?: {_IT})?{_END}",
        f"{_AS}{_one_of('i|we')} {_one_of('hate|cant stand')} {_IT}{_END}",
        f"{_AS}{_one_of('its|theyre')} {_some_of('just|only|all')}"
        f"{_one_of('a waste of money|a waste of time|a waste of space|junk|duplicates')}",
    ),
    "de": (
        f"{_some_of('ich|wir')}{_USE} {_some_of('ich|wir|die|das|den|es|sie|ihn')}{_WELL}{_NO_MORE}",
        f"{_DAS} {_USE} {_one_of('ich|wir')} {_WELL}{_NO_MORE}",
    ),
    "es": (
        f"{_QUE}{_some_of('ya|casi')}{_one_of('no|nunca')} (?:{_LO} )?"
        f"{_one_of('uso|necesito|quiero|veo|leo|voy|utilizo|sirve|sirven')}"
        f"{_ends_with('nunca|ya|más|nada|para nada|casi')}",
    ),
    "zh": (
        f"我 (?:们 )?{_ALREADY}{_one_of('不|没')} (?:怎 么 )?{_one_of('用|看|去|需要|想要|要')}"
        f"{_ends_with('过|它|了')}",
        f"{_some_of('留着|也|都')}{_one_of('没用|没什么用|用不着|占地方|占空间')}{_ends_with('了')}",
    ),
}
"""Reasons to take something away, beside a yes to that: "I don't need it"."""
_ABOUT_IT = word_set("it that them those this die das den es sie ihn la lo las los 了")
"""With these a reason to take something away is about that: then any yes may stand beside it."""
_MOST_WORDS = 24

_PATTERNS: dict[Language, tuple[re.Pattern[str], ...]] = {
    language: tuple(
        re.compile("|".join(table[language])) for table in (_OF_STATE, _BESIDE_ORDERS, _OF_BRINGING, _OF_REMOVING)
    )
    for language in _OF_STATE
}


def reasons_in(tokens: Sequence[str], language: Language, removes: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield where a reason begins and ends, and what it needs.

    The last is whether an order or a "please" has to stand beside it; else any yes may.

    `removes` tells whether the deed that was asked for takes something away.
    """
    if len(tokens) > _MOST_WORDS:
        return
    of_state, beside_orders, of_bringing, of_removing = _PATTERNS[language]
    for begin in range(len(tokens)):
        for end in range(len(tokens), begin + 1, -1):
            said = " ".join(tokens[begin:end])
            is_about_it = removes and of_removing.fullmatch(said) is not None
            if of_state.fullmatch(said):
                needs_order = False
            elif is_about_it or beside_orders.fullmatch(said) or (not removes and of_bringing.fullmatch(said)):
                needs_order = not is_about_it or not _ABOUT_IT & {*tokens[begin:end]}
            else:
                continue
            behind = tokens[end] if end < len(tokens) else "so"
            if behind == "so" or behind in PLEASE or of_state.fullmatch(said):
                # "We're not going, so cancel it"; "I don't want ... it cancelled" is none.
                yield begin, min(end + (behind == "so"), len(tokens)), needs_order

"""Reasons beside an agreement: "please do, I never watch it". Pure.

A reason is about who answers or how things are now, has no condition, no negated deed and nothing new, and ends the
answer or stands before the order. Plans, the past and other people are none: they may be said to somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from realtime.tool.spoken_numbers import Language
from realtime.turn.answer_phrases import word_set

_STATES = (
    "cold freezing chilly hot boiling roasting warm stuffy dark gloomy loud noisy late early empty full tired exhausted "
    "knackered starving hungry famished thirsty broke urgent overdue outdated useless rubbish "
    "soaked soaking poorly sick ill "
    "kalt eiskalt heiß heiss warm dunkel laut spat spät mude hungrig leer voll dringend eilig veraltet "
    "frio calor tarde hambre prisa sed sueno cansado cansada oscuro vacio llena lleno urgente"
)
_STATE = "(?:" + "|".join(_STATES.split()) + ")"
_VERY = r"(?:(?:really|so|too|very|quite|pretty|absolutely|running|nearly|almost|just|already|bloody|getting|a bit|rather|all)\ )*"
_END = r"(?: (?:now|today|anyway|anyhow|in here|out here|here|again|at all|any ?more|any longer|tbh|honestly))*"
_BECAUSE = r"(?:(?:because|cause|cos|coz|as|since|and) )?"
_THEM = r"(?:it|that|this|them|those|any|one)"

_ALWAYS: dict[Language, str] = {
    "en": rf"{_BECAUSE}(?:its|it is|im|i am|we are|were|theyre|ive|i feel|i am feeling|im feeling) {_VERY}{_STATE}{_END}",
    "de": rf"(?:weil |denn )?(?:mir ist|mir ists|es ist|ich bin|ich hab|ich habe|wir sind|wir haben|hier ists|hier ist es)"
    rf" (?:(?:ja|so|echt|schon|sehr|voll|ganz|eh|zu|viel|wirklich|etwas) )*(?:{_STATE}|hunger|durst|fertig|spat dran)",
    "es": rf"(?:(?:que|porque|es que|ya que) )?(?:hace|tengo|tenemos|estoy|estamos|es|ya es|esta|hay|hace ya)"
    rf" (?:(?:mucho|mucha|muy|bastante|un poco de|tanto|tanta|ya|demasiado) )*{_STATE}(?: (?:aqui|ya|hoy))*",
    "zh": r"(?:因 为 )?(?:我 (?:们 )?|家 里 |这 里 |屋 里 |外 面 )?(?:有 点 (?:儿 )?|太 |好 |真 |很 |都 |快 )(?:冷|热|暗|黑|饿|累|困|吵|旧|乱|渴|急|晚)(?: 了| 死 了| 啊)*"
    r"|我 (?:们 )?(?:都 |也 |好 |真 的 )?(?:饿|累|困|渴|冷) 了|(?:(?:上|下) 午|晚 上) 我 (?:们 )?(?:都 |正 好 |刚 好 |也 |会 )?(?:在 家|有 空|有 时 间|方 便)(?: 的)?",
}
"""Reasons that may stand beside any yes: how it is, or how the person is."""
_BESIDE_ORDERS: dict[Language, str] = {
    "en": rf"{_BECAUSE}(?:im|i am|we are|were) {_VERY}(?:running |down |fed up |sick |tired |out )*(?:out|low|short|done|finished|through|tired|sick|over)(?: (?:of|with|on) {_THEM})?{_END}"
    rf"|{_BECAUSE}(?:ive|we have|weve|i have|its|theyre|everythings) (?:already |just )?(?:got |been )?(?:it |that |them |all |everything )*(?:all )?(?:backed up|saved|copied|checked|confirmed|decided|covered|sorted)(?: (?:it|them|everything|all|up|already|elsewhere))*"
    rf"|{_BECAUSE}i (?:love|trust|really need|need|could use|could do with|really want) {_THEM}{_END}"
    rf"|{_BECAUSE}(?:ill be|im|we are|well be|i am) (?:at home|home|free|in|available)(?: (?:then|that day|all day|anyway))*"
    rf"|{_BECAUSE}i (?:cant|could not|couldnt) (?:wait|be bothered|be arsed|stand {_THEM}){_END}",
    "de": r"(?:ich (?:brauch|brauche|will|mag|liebe) (?:das|die|den|es|ihn|sie) (?:ja |echt |wirklich |dringend |jetzt )*)"
    r"|(?:ich )?hab(?:e)? (?:ja |schon |eh |alles |das |es |sie )*(?:gesichert|gespeichert|kopiert|gepruft)"
    r"|(?:ich habs|habs) (?:ja |schon |eh )*(?:eilig|gesichert|gespeichert|kopiert)",
    "es": r"(?:que |porque )?(?:ya )?(?:lo|la|los|las) (?:necesito|quiero|tengo (?:todo |ya )*(?:guardado|copiado|guardada|guardadas|copiadas|guardados))(?: (?:ya|mucho|todo|urgente))*"
    r"|(?:que |porque )?me (?:hace|hacen) (?:mucha )?falta",
    "zh": r"我 (?:们 )?(?:都 |正 好 |刚 好 |也 )?(?:在 家|有 空|有 时 间)|我 (?:都 |已 经 |全 )*(?:备 份|保 存|确 认|存)(?: 好)? (?:过 )?了|我 (?:很 |真 的 )?需 要(?: 它| 这 个)?",
}
"""Reasons that may stand beside an order to do it, or a "please"."""
_OF_REMOVING: dict[Language, str] = {
    "en": rf"{_BECAUSE}(?:i|we) (?:(?:really|just|hardly|barely) )*(?:never|hardly|barely|dont|wont|rarely|havent) (?:(?:even|ever|really) )*(?:need|needed|use|used|want|wanted|like|liked|watch|read|wear|go|play|have|open|look at|listen to|eat|drink)(?: (?:it|that|this|them|those|there|in|either))*{_END}"
    rf"|{_BECAUSE}(?:im|i am|were|we are) (?:not|no longer) (?:using|going|watching|reading|needing|interested in)(?: {_THEM})?{_END}"
    rf"|{_BECAUSE}i (?:hate|cant stand|no longer (?:need|use|want|watch|read)) {_THEM}{_END}"
    rf"|{_BECAUSE}(?:its|theyre) (?:just |only )?(?:a )?(?:waste of (?:money|time|space)|junk|duplicates|not worth it)",
    "de": r"(?:(?:ich|wir) )?(?:brauch|brauche|brauchen|les|lese|lesen|nutz|nutze|nutzen|schau|schaue|guck|gucke|will|verwend|verwende|benutz|benutze|trag|trage) "
    r"(?:ich )?(?:die|das|den|es|sie|ihn|des)? ?(?:(?:ja|eh|sowieso|eigentlich|einfach|doch|schon|lange) )*(?:nie|nimmer|nicht mehr|nie mehr|kaum|kaum noch|gar nicht mehr|fast nie)"
    r"|(?:die|das|den|es|sie|ihn) (?:brauch|brauche|les|lese|nutz|nutze|benutze|benutz|schau|schaue|will|trag) (?:ich|wir) (?:(?:ja|eh|sowieso|eigentlich|doch) )*(?:nie|nimmer|nicht mehr|nie mehr|kaum|kaum noch|gar nicht mehr|fast nie)",
    "es": r"(?:(?:que|porque|es que|total) )?(?:ya |casi )*(?:no|nunca) (?:ya )?(?:(?:la|lo|las|los) )?(?:uso|necesito|quiero|veo|leo|voy|utilizo|sirve|sirven|hace falta)(?: (?:nunca|ya|mas|nada|para nada|casi))*",
    "zh": r"我 (?:都 |也 |从 来 |根 本 |早 就 |已 经 )*(?:不|没) (?:怎 么 )?(?:用|看|去|需 要|想 要|要|想 留)(?: 过| 它)?(?: 了)?|(?:留 着 )?(?:也 )?(?:没 用|没 什 么 用|用 不 着|占 地 方|占 空 间)(?: 了)?",
}
"""Reasons to take something away, beside such an order: "I don't need it"."""
_ABOUT_IT = word_set("it that them those this die das den es sie ihn la lo las los 了")
"""With these a reason to take something away is about that: then any yes may stand beside it."""
_MOST_WORDS = 24

_PATTERNS: dict[Language, tuple[tuple[re.Pattern[str], bool, bool], ...]] = {
    language: tuple(
        (re.compile(table[language]), is_strong, is_removing)
        for table, is_strong, is_removing in (
            (_ALWAYS, False, False),
            (_BESIDE_ORDERS, True, False),
            (_OF_REMOVING, True, True),
        )
    )
    for language in _ALWAYS
}


def without_reason(tokens: Sequence[str], language: Language, removes: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield where a reason begins and ends, and whether only an order or a "please" may stand beside it.

    `removes` tells whether the deed that was asked for takes something away.
    """
    if len(tokens) > _MOST_WORDS:
        return
    for begin in range(len(tokens)):
        for end in range(len(tokens), begin + 1, -1):
            said = " ".join(tokens[begin:end])
            for pattern, is_strong, is_removing in _PATTERNS[language]:
                if (removes or not is_removing) and pattern.fullmatch(said):
                    is_about_it = is_removing and bool(_ABOUT_IT & {*tokens[begin:end]})
                    end_of_all = end + (tuple(tokens[end : end + 1]) == ("so",))
                    yield begin, end_of_all, is_strong and not is_about_it

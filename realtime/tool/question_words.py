"""The words of questions for consent, by language."""

from __future__ import annotations

from dataclasses import dataclass

from realtime.tool.spoken_numbers import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """What a question is made of. `{}` in a phrase is a number of words, or a name."""

    shall_i: str
    comma: str
    and_: str
    yes: str
    no: str
    nothing: str
    point: str
    minus: str
    plus: str
    dot: str
    at: str
    link: str
    more_words: str
    more_details: str
    common: frozenset[str]
    """The commonest words of the language."""
    signs: str = ""
    """Letters and marks of the language that others lack."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DEEDS: dict[Language, Phrases] = {
    "en": Phrases(
        shall_i=". Shall I do it?",
        comma=", ",
        and_=" and ",
        yes="yes",
        no="no",
        nothing="nothing",
        point="point",
        minus="minus ",
        plus="plus",
        dot=" dot ",
        at=" at ",
        link="a link to {}",
        more_words=", and {} more words",
        more_details="and {} more details",
        common=_words(
            "the a an of to for on in at and or i you it is are shall should may can do does your my me with this that "
            "from want would like be will please by as"
        ),
    ),
    "de": Phrases(
        shall_i=". Soll ich das tun?",
        comma=", ",
        and_=" und ",
        yes="ja",
        no="nein",
        nothing="nichts",
        point="Komma",
        minus="minus ",
        plus="plus",
        dot=" Punkt ",
        at=" ät ",
        link="ein Link zu {}",
        more_words=", und noch {} Wörter",
        more_details="und noch {} Angaben",
        common=_words(
            "der die das den dem des ein eine einen einem einer und oder ich du sie es ist sind soll sollen darf kann "
            "für fur am im um an auf zu mit von bei dir ihnen ihr mir mich bitte jetzt nicht auch"
        ),
        signs="äöüß",
    ),
    "es": Phrases(
        shall_i=". ¿Lo hago?",
        comma=", ",
        and_=" y ",
        yes="sí",
        no="no",
        nothing="nada",
        point="coma",
        minus="menos ",
        plus="más",
        dot=" punto ",
        at=" arroba ",
        link="un enlace a {}",
        more_words=", y {} palabras más",
        more_details="y {} datos más",
        common=_words(
            "el la los las un una unos unas de del al y o yo tú usted es son está que para por con en se le les lo su "
            "tu mi me quiere quieres puedo debo desea a"
        ),
        signs="¿¡ñáéíóú",
    ),
    "zh": Phrases(
        shall_i="。要我这样做吗？",
        comma="，",
        and_="和",
        yes="是",
        no="否",
        nothing="无",
        point="点",
        minus="负",
        plus="加",
        dot="点",
        at="艾特",
        link="{}的链接",
        more_words="，还有{}个字",
        more_details="还有{}项",
        common=_words("的 了 吗 呢 吧 要 我 你 您 是 在 给 把 好 个 这 样 做"),
    ),
}

CURRENCIES: dict[str, dict[Language, tuple[str, str, str, str]]] = {
    "EUR": {
        "en": ("euro", "euros", "cent", "cents"),
        "de": ("Euro", "Euro", "Cent", "Cent"),
        "es": ("euro", "euros", "céntimo", "céntimos"),
        "zh": ("欧元", "欧元", "欧分", "欧分"),
    },
    "USD": {
        "en": ("dollar", "dollars", "cent", "cents"),
        "de": ("Dollar", "Dollar", "Cent", "Cent"),
        "es": ("dólar", "dólares", "centavo", "centavos"),
        "zh": ("美元", "美元", "美分", "美分"),
    },
    "GBP": {
        "en": ("pound", "pounds", "penny", "pence"),
        "de": ("Pfund", "Pfund", "Penny", "Pence"),
        "es": ("libra", "libras", "penique", "peniques"),
        "zh": ("英镑", "英镑", "便士", "便士"),
    },
    "CHF": {
        "en": ("Swiss franc", "Swiss francs", "centime", "centimes"),
        "de": ("Franken", "Franken", "Rappen", "Rappen"),
        "es": ("franco suizo", "francos suizos", "céntimo", "céntimos"),
        "zh": ("瑞士法郎", "瑞士法郎", "生丁", "生丁"),
    },
    "CNY": {
        "en": ("yuan", "yuan", "fen", "fen"),
        "de": ("Yuan", "Yuan", "Fen", "Fen"),
        "es": ("yuan", "yuanes", "fen", "fen"),
        "zh": ("元", "元", "分", "分"),
    },
    "JPY": {
        "en": ("yen", "yen", "", ""),
        "de": ("Yen", "Yen", "", ""),
        "es": ("yen", "yenes", "", ""),
        "zh": ("日元", "日元", "", ""),
    },
    "MXN": {
        "en": ("Mexican peso", "Mexican pesos", "centavo", "centavos"),
        "de": ("mexikanischer Peso", "mexikanische Peso", "Centavo", "Centavo"),
        "es": ("peso", "pesos", "centavo", "centavos"),
        "zh": ("比索", "比索", "分", "分"),
    },
}
"""One, many, one hundredth, many hundredths; no hundredths where the last two are empty."""

NEGATIONS = _words(
    "no not never don't won't can't cannot didn't doesn't isn't without nein nicht kein keine keinen nie niemals ohne "
    "nunca jamas sin tampoco 不 没 别 未 无"
)
"""Words without accents that turn a sentence into its opposite."""
ASKING = _words(
    "shall should may can could would do want okay confirm soll sollen darf kann mochten wollen quiere quieres debo "
    "puedo desea 吗 呢 要 可"
)
"""Words without accents of which a question for consent has one."""

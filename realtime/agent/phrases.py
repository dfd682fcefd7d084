"""What an agent says unasked, by language: the first subtag of a BCP 47 tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

SAY_EXACTLY = (
    "Say exactly the following words, in the language in which they are written. "
    "Add nothing, leave nothing out, and do not answer them:\n"
)
"""Asks a model that cannot speak given words for these."""

FILLERS: dict[str, tuple[str, ...]] = {
    "en": ("One moment.", "Just a second.", "Still looking.", "Almost there."),
    "de": ("Einen Moment.", "Ich schaue nach.", "Das dauert noch kurz.", "Gleich habe ich es."),
    "fr": ("Un instant.", "Je regarde.", "Encore un petit moment.", "J'y suis presque."),
    "es": ("Un momento.", "Lo estoy mirando.", "Solo un segundo más.", "Ya casi está."),
    "it": ("Un momento.", "Sto guardando.", "Ancora un attimo.", "Ci siamo quasi."),
    "pt": ("Um momento.", "Estou vendo.", "Só mais um segundo.", "Está quase."),
    "zh": ("请稍等。", "我正在查。", "还要一会儿。", "马上就好。"),
    "ja": ("少々お待ちください。", "今調べています。", "もう少しかかります。", "もうすぐです。"),
}
"""While a tool runs, in this order."""
QUESTIONS: dict[str, str] = {
    "en": "Are you still there?",
    "de": "Sind Sie noch da?",
    "fr": "Vous êtes toujours là ?",
    "es": "¿Sigue ahí?",
    "it": "È ancora lì?",
    "pt": "Você ainda está aí?",
    "zh": "您还在吗？",
    "ja": "まだいらっしゃいますか。",
}
"""Whether the user is still there."""
FAREWELLS: dict[str, str] = {
    "en": "I cannot hear you any more, so I end the call. Goodbye.",
    "de": "Ich höre Sie nicht mehr und beende das Gespräch. Auf Wiederhören.",
    "fr": "Je ne vous entends plus, je termine l'appel. Au revoir.",
    "es": "Ya no le oigo, así que termino la llamada. Adiós.",
    "it": "Non la sento più, quindi chiudo la chiamata. Arrivederci.",
    "pt": "Não ouço mais você, por isso encerro a chamada. Até logo.",
    "zh": "我听不到您了，通话就到这里。再见。",
    "ja": "お声が聞こえないので、通話を終わります。失礼します。",
}
"""Before the agent ends a call in which the user says nothing."""


def in_language(phrases: Mapping[str, T], languages: Sequence[str]) -> T:
    """Return the phrases of a call with these languages; the English ones unless it is one that is known."""
    known = {tag.split("-")[0].lower() for tag in languages}
    return phrases.get(known.pop() if len(known) == 1 else "en", phrases["en"])

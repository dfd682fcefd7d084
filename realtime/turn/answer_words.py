"""Single words that decide how an answer is read. Pure.

They are compared without accents. Phrases are in `answer_phrases.py`.
"""

from __future__ import annotations

from itertools import product

from realtime.tool.spoken_numbers import Language
from realtime.turn.answer_phrases import as_compared, word_set

NEGATIONS: dict[Language, frozenset[str]] = {
    "en": word_set("no not dont nope nah never cannot cant wont didnt isnt doesnt shouldnt wouldnt without nothing"),
    "de": word_set("nein nee kein keine keinen keinem nicht nie niemals nichts ohne"),
    "es": word_set("no nunca jamas tampoco nada sin ni"),
    "zh": frozenset("不没别未无非"),
}
"""With these nothing is a yes, except inside a phrase of `ALWAYS`."""
ALTERNATIVES: dict[Language, frozenset[str]] = {
    "en": word_set("and or"),
    "de": word_set("und oder"),
    "es": word_set("y o e u"),
    "zh": frozenset("和或还及与"),
}
"""What joins parts of a question. A part of it that is repeated is not the whole."""
ARTICLES: dict[Language, frozenset[str]] = {
    "en": word_set("a an the my your"),
    "de": word_set("der die das den dem ein eine einen einem mein meine meinen dein deine deinen ihr ihre ihren"),
    "es": word_set("el la los las un una mi mis tu tus su sus"),
    "zh": frozenset("的"),
}
"""Words that a repeated piece of a question may lack."""
POSSESSIVES = word_set("my your our mein meine meinen meiner dein deine deinen ihr ihre ihren mi mis tu tus su sus")
"""What calls a thing the user's."""
INVERTED: dict[Language, frozenset[str]] = {
    "en": word_set(
        "is are do can could does did has have will would was were isnt arent wasnt doesnt didnt cant couldnt wouldnt "
        "wont am shall should may"
    ),
    "de": word_set("ist sind kann konnen hat wird gibt"),
    "es": word_set("tiene tienen hay puede puedo"),
    "zh": frozenset(),
}
"""Verbs that a question without a question word begins with."""
PRONOUNS = word_set("it that this them es sie ihn das lo la los las eso")
"""What stands for the object of a question."""
NO_NAMES = word_set(
    "me you him her us them it myself yourself today tomorrow tonight now later dinner lunch breakfast "
    "tea sure real fun good free next this that mich dich ihn sie uns heute morgen mi ti el ella "
    "nosotros hoy manana ahora everyone nobody somebody someone anyone business work home god the a an "
    "two to too four for one won eight ate"
)
"""Words without accents that are no name behind "for"."""
NAMED = word_set(
    "name recipient to for person guest contact payee customer guest_name customer_name recipient_name "
    "to_name attendee beneficiary receiver user who whom full_name first_name contact_name empfaenger "
    "empfanger kunde nombre destinatario"
)
"""Arguments that hold the name of a person."""
STOPS = word_set("cancel stop decline reject abort drop forget leave delete scratch scrap keep hold skip")
"""Words that refuse, unless the question itself asks for that: "Shall I cancel the order?"."""
REFUSING = (*sorted(STOPS - {"delete"}), "stornier", "abbrech", "brech", "取")
"""An order that begins with these is in doubt without a yes: "cancel it"."""
KEEPING = word_set("keep leave behalten behalte lass lassen deja deje dejalo dejelo dejala dejela quedarme 留 保")
"""Behind a "no", what is to stay as it is."""
APPROVING = word_set("is works suits ist passt es va me")
"""Words that an approval begins with: "is great", "works"."""
PRAISING = word_set(
    "good nice gut bueno great super ideal lovely wonderful toll prima klasse wunderbar fein genial estupendo"
)
"""Last words of approvals that are as often said about a thing."""
LUKEWARM = frozenset(as_compared(text) for text in ("is okay", "is right", "is correct", "ist okay", "ist recht"))
"""Approvals that are none alone."""
SUBJECTS = word_set(
    "i im ill ive id we were well weve wed you youre he hes hell she shes shell they theyre theyve it its itll "
    "that thats there theres this my our his her their too let lets dont never need"
)
"""English words that a sentence behind a "no" begins with."""
TELLING = word_set(
    "do go proceed ahead crack please confirm mach machen machs tu tun nur leg bitte hazlo hagalo haz haga adelante "
    "dale procede proceda favor 吧 办 做 请"
)
"""What a phrase of agreement has that tells to do it."""
WANTING = word_set("要 quiero")
"""Last words of agreement that also say what is wanted: "我要会员"."""
WISHES = frozenset({"i want", "i need", "id like", "i would like", "we want", "we need", "i do want"})
"""What stands before the deed that is wished for: "I want it cancelled"."""
PLEASE = word_set("please bitte favor porfa porfis porfi 请")
REJECTING = frozenset(
    as_compared(phrase)
    for phrase in [
        "not",
        " instead of",
        " rather than",
        " no",
        " nicht",
        " statt",
        " anstatt",
        " en vez de",
        " en lugar de",
        " 不是",
        " 不要",
    ]
)
"""What stands before a value that is not wanted."""
RELATIVE = word_set("more less fewer mehr weniger mas menos 多 少 更 double twice half doppelt doble")
"""Words that make a number one of difference."""
PREPOSITIONS = word_set("for to on at with from fur an auf zu mit von um para a con de al del 给")
HANGING = word_set(
    "ich i yo ver "
    "so well like also nun na und pues entonces y and the a my your of to for with from para con fur einen eine "
    "mein meinen un una el mi su "
    "那 就 然 后 个"
)
"""Words that begin more: an answer that ends with one is not over."""
JOINTS = word_set("and und y e 并 且 而")
"""What joins agreement to agreement."""
HESITATIONS = word_set("hm hmm um umm uh uhm er erm ah ahm oh eh em este 呃")
"""Fillers of who has not finished: an answer that ends with one is not over."""
HOMOPHONES = {
    "for": "four",
    "to": "two",
    "too": "two",
    "won": "one",
    "ate": "eight",
    "fore": "four",
    "free": "three",
    "tree": "three",
}
"""Number words as they are misheard behind "only"."""
CORE_YES: dict[Language, frozenset[str]] = {
    "en": word_set("yes yeah yep yup okay ok sure"),
    "de": word_set("ja jawohl"),
    "es": word_set("si"),
    "zh": frozenset("是对好行"),
}
"""What agrees to a question in another language: "dale" may be a name."""
LEADS = frozenset(
    (*before, *subject)
    for before, subject in [
        *product([("shall",), ("should",), ("may",), ("can",), ("could",), ("if",)], [("i",), ("we",)]),
        *product([("me",), ("us",), ("ok",), ("okay",), ("permission",)], [("to",)]),
    ]
)
"""What stands before the verb of a question."""
ADDRESSES = word_set(
    "sir madam maam miss mate dude pal bud buddy bro fella guv chief boss friend mann mensch meister chef lieber liebe "
    "kollege alter senor senora senorita joven amigo amiga tio tia guey wey hermano compadre jefe jefa hombre mujer"
)
"""How the agent may be called; the same words may name another person: "to my friend"."""
AS_ASKED = {
    "cab": "taxi",
    "bucks": "dollars",
    "quid": "pounds",
    "pills": "tablets",
    "tablets": "pills",
    "meds": "tablets",
    "pics": "photos",
    "sub": "subscription",
    "mail": "email",
    "slot": "appointment",
}
"""Other words for what a question names, where it does."""
DEED_CHARS = frozenset("定预除订买发转付送打约删取寄存改调开关点叫报交换查传加设冻退续搬移租借")
"""Chinese verbs that agree with "吧" if the question has them."""

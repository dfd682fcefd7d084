"""Words as a recogniser writes them: text for matching, stems, and classes of words."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What recognisers and fast typists write, and what is meant.
_SPELLINGS = tuple(
    (re.compile(rf"\b(?:{heard})\b"), meant)
    for heard, meant in (
        (r"what ?s", "what's"),
        (r"(how|who|where|that|it|there|name|let|when) s", r"\1's"),
        (r"whats", "what's"),
        (r"(how|who|where|that|when)s", r"\1's"),
        (r"i m|im", "i'm"),
        (r"i ve|ive", "i've"),
        (r"(don|can|won|doesn|didn|isn|couldn)'? ?t", r"\1't"),
        (r"you re|youre", "you're"),
        (r"gonna", "going to"),
        (r"wanna", "want to"),
        (r"lemme", "let me"),
        (r"gimme", "give me"),
        (r"a ?p ?i", "api"),
        (r"api ?keys?", "key"),
        (r"l l m|elel em", "llm"),
        (r"l ?m studio", "lmstudio"),
        (r"o llama|oh llama|olama|alama|all llama|o lama|oh lama", "ollama"),
        (r"open ?a ?i|open eye", "openai"),
        (r"chat g ?[pb] ?t|chat gbt", "chatgpt"),
        (r"web ?sites?", "website"),
        (r"web ?pages?", "webpage"),
        (r"home ?pages?", "webpage"),
        (r"java ?script", "javascript"),
        (r"(favo|colo|neighbo)r(s|ite|ites)?", r"\1ur\2"),
        (r"mum", "mom"),
        (r"centre", "center"),
    )
)
_MISSPELT = re.compile("|".join(heard.pattern for heard, _ in _SPELLINGS))
_ASKING = r"(?:who|what|what's|when|where|where's|why|how|which|if|whether)\b"
_LEADING = re.compile(
    r"(?:(?:um+|uh+|er+m?|hmm+|well|so|okay|ok|oh|right|alright|now|and|but|also|then|please|hey|hi|hello|there|listen"
    r"|excuse me|sorry|actually|just|by the way|anyway|maybe|first|quick question|(?:i have |here's )?(?:a|one|another)"
    r" (?:quick |more )?question|i(?:'d| would) (?:like|love) to (?:know|hear|ask)(?: you)?|i want to (?:know|hear|ask)"
    r"(?: you)?|i need to know|i(?:'m| am| was) (?:curious|wondering|just wondering)(?: about| if)?|i wonder(?: if)?"
    r"|any idea) "
    r"|(?:wait|hold on|hang on|never ?mind)(?: a (?:moment|second|minute))? (?=(?:who|what|what's|when|where|why|how"
    r"|which|is|are|do|does|did|can|could|will|would|have|has|i|i'm|i've) )"
    r"|(?:can|could|would|will) you (?:please |kindly |just |maybe |quickly )*(?=(?:tell|explain|show|say|give"
    r"|let|spell|count|flip|toss|roll|set|sing|repeat|remind|remember (?!me|what|when|how|my|us)|recommend|choose|pick"
    r"|translate|do|make|help|calculate|convert|add|slow|read|play|turn|call|send|order|book|open|find"
    r"|search|look|draw|guess|start|throw|name|define|describe)\b)"
    rf"|(?:do|can|could) you (?:still |happen to |please )*(?:know|remember|recall) (?={_ASKING})"
    rf"|(?:please )?(?:tell|explain to|let) me (?:know )?(?={_ASKING}))+"
)
# "What your name is" asks as "what is your name" does.
_INDIRECT = re.compile(
    r"^(who|what time|what day|what|where|when|how old|how)"
    r" (i|you|it|this|that|we|my [\w' ]+|your [\w' ]+|the [\w' ]+) (is|are|am|was)$"
)
_TRAILING = re.compile(r"(?: (?:please|thanks|thank you|then|for me|if you can|mate|buddy|right now|now|today)){1,6}$")


def each(words: str) -> list[str]:
    """Return the words of a list that is written as a text."""
    return words.split()


_SUFFIXES = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_IRREGULAR = {
    "opening": "open",
    "hours": "open",
    "closing": "close",
    "called": "call",
    "named": "name",
    "lives": "live",
    "living": "live",
    "lived": "live",
    "likes": "like",
    "liked": "like",
    "loved": "love",
    "loves": "love",
    "born": "birth",
    "parked": "park",
    "went": "go",
    "going": "go",
    "goes": "go",
    "bought": "buy",
    "sold": "sell",
    "costs": "cost",
    "working": "work",
    "worked": "work",
    "works": "work",
    "has": "have",
    "had": "have",
    "children": "child",
    "kids": "child",
    "kid": "child",
    "wives": "wife",
    "teeth": "tooth",
    "mother": "mom",
    "father": "dad",
    "daddy": "dad",
    "mommy": "mom",
    "mum": "mom",
    "telephone": "phone",
    "birthday": "birth",
    "colours": "colour",
    "whose": "who",
    "ate": "eat",
    "got": "get",
    "gave": "give",
    "told": "tell",
    "left": "leave",
    "kept": "keep",
    "put": "put",
    "met": "meet",
    "meeting": "meeting",
    "wedding": "wedding",
    "was": "be",
    "is": "be",
    "are": "be",
    "am": "be",
    "were": "be",
    "drives": "drive",
    "driving": "drive",
    "driven": "drive",
    "closed": "close",
    "closes": "close",
    "prices": "cost",
    "price": "cost",
    "pricing": "cost",
    "fee": "cost",
    "fees": "cost",
    "used": "used",
    "news": "news",
    "glasses": "glasses",
    "favourite": "favourite",
    "delivery": "deliver",
    "address": "where",
    "location": "where",
    "located": "where",
    "moved": "move",
    "studies": "study",
}
_PAST = (
    "grew grow drove drive wrote write spoke speak took take came come saw see won win lost lose broke "
    "break chose choose flew "
    "fly knew know began begin slept sleep paid pay made make felt feel found find thought think "
    "taught teach caught catch ran "
    "run sang sing drank drink swam swim sat sit stood stand sent send spent spend built build wore "
    "wear hid hide fell fall"
)
_IRREGULAR |= dict(zip(each(_PAST)[::2], each(_PAST)[1::2], strict=True))
_STOP = frozenset(
    each(
        "a an the most best of to in on at for with by from and or but so that this these those it its i you he she we "
        "they me him her us them my your our their mine yours is are am was were be been being do does did "
        "done have has had can could will would shall should may might must what what's which who's "
        "where's when's how's there's who whom when "
        "where why how there here if then than as not no yes please tell know remember say said about just "
        "really very much many any some all again now today right okay ok i'm i've i'd i'll you're don't "
        "didn't doesn't it's that's let's one ones thing things ask asked told mention mentioned called call "
        "name named names get got go also too ever still give"
    )
)


_FORM_CHARS = 3
"""Characters that the forms of a regular word have in common."""


def plain(text: str) -> str:
    """Return the text for matching: lower case, one kind of apostrophe, no punctuation, one spelling."""
    text = text.lower().replace("’", "'")
    text = " ".join(re.sub(r"[^\w\s'+*/%.:-]|[.:](?!\d)|(?<!\w)'|'(?!\w)", " ", text).split())
    if _MISSPELT.search(text):
        for heard, meant in _SPELLINGS:
            text = heard.sub(meant, text)
    return text


def core(text: str, me: str = "") -> str:
    """Return plain text without courtesies at its ends: "could you tell me what time it is" becomes "what time it is".

    `me` is the name that the speaker is addressed by.
    """
    before = ""
    name = re.compile(rf"(?:(?:hey|hi|hello|okay|ok) )?{re.escape(me.lower())} (?=\w)") if me else None
    while text != before:
        before = text
        if name is not None and (called := name.match(text)):
            text = text[called.end() :]
        if (courtesy := _LEADING.match(text)) and courtesy.end() < len(text):
            text = text[courtesy.end() :]
        text = _TRAILING.sub("", text) or text
    return _INDIRECT.sub(r"\1 \3 \2", text)


def stem(word: str) -> str:
    """Return the form by which words are compared: "dogs" and "dog's" become "dog"."""
    word = word.removesuffix("'s").removesuffix("'")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or word.endswith(("ss", "us", "is")):
        return word
    if len(word) == len("bikes") and word.endswith("es") and word[-3] not in "sxzho":
        return word[:-1]
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)] + instead
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def forms(stemmed: str) -> frozenset[str]:
    """Return beginnings of the words that have this stem."""
    return frozenset(
        {stemmed[:_FORM_CHARS], *(word[:_FORM_CHARS] for word, stem in _IRREGULAR.items() if stem == stemmed)}
    )


def content(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning; `text` is plain."""
    return frozenset(stem(word) for word in re.findall(r"[\w']+", text) if word not in _STOP)


# Classes of words. A star ends a beginning: "record*" is also "recorded" and "recordings".
_CLASSES = {
    "who": "who whom whose anyone anybody someone somebody everyone everybody others people person humans nsa",
    "what": "what what's which",
    "where": "where where's location place folder directory path",
    "how": "how how's",
    "why": "why",
    "long": "long until days weeks months forever retention expire* period",
    "hear": "hear hears heard hearing listen listens listening listened eavesdrop* spy spies spying overhear* wiretap*",
    "read": "see sees read reads access view views watch watches watching look",
    "key": "key keys apikey api credential* login account accounts license* licence* password register registration",
    "variable": "variable variables env environment setting settings export",
    "cost": "cost costs price* pricing pay paying paid pays free charge* expensive cheap money bill* subscription* fee "
    "fees dollar dollars euro euros buck bucks payment* gratis",
    "model": "model models llm llms brain brains engine gpt transformer mind intelligence",
    "provider": "openai chatgpt gpt gemini google dashscope qwen alibaba claude anthropic ollama llama mistral "
    "deepseek "
    "vllm provider providers vendor lmstudio grok",
    "local": "ollama llama llama.cpp vllm lmstudio local locally mistral deepseek",
    "change": "change* switch* choose select connect* add swap* replace set setup configure install* plug upgrade* "
    "improve* use using get give need needs require* run running hook enable turn put make attach link want",
    "better": "better smarter bigger stronger real proper intelligent clever cleverer best larger powerful smart "
    "brighter upgrade* improve* capable",
    "language": "language languages english german french spanish italian chinese mandarin cantonese japanese "
    "portuguese "
    "russian hindi arabic dutch turkish korean polish swedish greek bilingual multilingual deutsch espanol francais",
    "foreign": "german french spanish italian chinese mandarin cantonese japanese portuguese russian hindi arabic "
    "dutch "
    "turkish korean polish swedish greek deutsch espanol francais",
    "speak": "speak speaks speaking talk talks talking understand* support* reply answer respond converse",
    "private": "privacy private privately confidential secure security safe safely gdpr data personal sensitive trust",
    "outside": "cloud internet leave leaves leaving upload* share shared sharing transmit* third sent send sends "
    "sending "
    "company companies outside go goes going end ends elsewhere servers",
    "record": "record records recorded recording recordings tape taped taping",
    "store": "store stored stores storing save saved saves saving keep keeps kept keeping log logs logged logging "
    "retain* archive* disk storage transcript* saved",
    "delete": "delete* deleting erase* erasing remove removed removing wipe wiped destroy* rid purge clear forget",
    "call": "call calls conversation* chat chats session* voice audio speech words sound discussion data transcript* "
    "recording recordings history talk talked say said saying dialog* talking",
    "you": "you your you're yours yourself this it that",
    "me": "i i'm me my mine we us our",
    "page": "website webpage site sites page pages app apps application* blog wordpress react html iframe frontend "
    "javascript browser django flask fastapi shop",
    "embed": "embed* integrat* put add include insert into inside on in",
    "own": "own custom customi* personal",
    "agent": "agent agents bot bots assistant assistants chatbot* persona character",
    "build": "build* make making write writing create* creating develop* design* code coding program* script "
    "implement* define",
    "room": "room rooms group groups conference multiplayer party several multiple together friends multi multi-user",
    "interrupt": "interrupt* barge* cut",
    "tool": "tool tools function functions abilities feature features skill skills capabilit* plugin*",
    "voice": "voice voices accent tone pitch",
    "network": "offline online internet network wifi connection connected cloud",
    "made": "made make makes built build created creates wrote developed designed programmed maker creator "
    "author company "
    "behind invented",
    "docs": "documentation docs documents manual readme guide tutorial instructions",
    "phone": "phone phones mobile iphone android tablet ipad cellphone smartphone device devices laptop",
    "delay": "latency delay lag fast slow quick quickly speed",
    "product": "server install* deploy* docker kubernetes port github repo repository websocket protocol sdk python "
    "typescript twilio sip webrtc telephone telephony gpu cpu configure settings production scale",
}
_EXACT: dict[str, frozenset[str]] = {}
_BEGINNINGS: dict[str, frozenset[str]] = {}
for _name, _words in _CLASSES.items():
    for _word in _words.split():
        _table = _BEGINNINGS if _word.endswith("*") else _EXACT
        _table[_word.rstrip("*")] = _table.get(_word.rstrip("*"), frozenset()) | {_name}


def classes_of(text: str) -> frozenset[str]:
    """Return the classes of words that occur in plain text."""
    found: set[str] = set()
    for word in text.split():
        found |= _EXACT.get(word, frozenset())
        for end in range(3, len(word) + 1):
            found |= _BEGINNINGS.get(word[:end], frozenset())
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Intent:
    """What an utterance holds: words of all these classes (one of each set), and of none of the others."""

    all_of: tuple[frozenset[str], ...]
    none_of: frozenset[str] = frozenset()

    def fits(self, classes: frozenset[str]) -> bool:
        """Whether an utterance with words of these classes has the intent."""
        return all(one & classes for one in self.all_of) and not self.none_of & classes


def intent(needs: str, without: str = "") -> Intent:
    """Make an intent: "record|store call" is a word of `record` or `store`, and one of `call`.

    Raises ValueError for an unknown class.
    """
    all_of = tuple(frozenset(one.split("|")) for one in needs.split())
    none_of = frozenset(without.split())
    if unknown := (frozenset().union(*all_of) | none_of) - _CLASSES.keys():
        raise ValueError(f"no classes of words: {sorted(unknown)}")
    return Intent(all_of, none_of)


_QUESTION = re.compile(
    r"^(?:who|who's|whose|whom|what|what's|when|when's|where|where's|why|how|how's|which|is|are|am|do"
    r"|does|did|can|could"
    r"|will|would|should|shall|have|has|was|were|may|isn't|aren't|don't|doesn't|didn't|can't|couldn't|any)\b"
)


def is_question(said: str, core_text: str) -> bool:
    """Whether an utterance asks something; recognisers leave out question marks."""
    return said.rstrip().endswith("?") or _QUESTION.match(core_text) is not None


def capital(text: str) -> str:
    """Begin with a capital."""
    return text[:1].upper() + text[1:]


_GAP_CHARS = 80
"""Between the words of a rule: those further apart belong to different thoughts, and no rule is worse than linear."""


def rule_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern of words in order; its `.*` spans at most 80 characters."""
    return re.compile(text.replace(".*", f".{{0,{_GAP_CHARS}}}"))


def either(*patterns: str) -> str:
    """Join alternatives of a pattern."""
    return "|".join(patterns)


def listed(words: list[str], last: str = "and") -> str:
    """Join words for reading aloud: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"

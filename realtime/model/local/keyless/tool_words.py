"""The words by which users name tools: verbs that mean the same, and nouns that do."""

from __future__ import annotations

import re

from realtime.model.local.keyless.utterance import stem_of as stem
from realtime.model.local.keyless.words import each

VERBS = tuple(
    frozenset(each(words))
    for words in (
        "book reserve arrange schedule hold get make have",
        "schedule plan arrange book make create set add put note enter organise organize",
        "cancel delete remove drop scrap undo clear erase",
        "send text message tell write email mail forward inform notify let",
        "transfer send pay wire give move",
        "remind set create add make note wake",
        "add put append insert place throw",
        "create make add open start write generate build",
        "order buy get have purchase bring want need",
        "set change turn make put adjust raise lower heat switch update modify",
        "play start hear listen",
        "search find look",
        "start begin launch run",
        "stop end halt pause quit",
        "open unlock",
        "close shut lock",
        "call phone ring dial",
        "save store note write keep remember record take",
        "move reschedule shift postpone change push",
    )
)
"""Verbs that users say for each other."""
LOOKS = frozenset(
    each(
        "get fetch find look lookup search check show tell list read track query see view give describe calculate "
        "compute return retrieve locate count know translate convert define explain report"
    )
)
"""Verbs of tools that change nothing."""
KNOWN_VERBS = frozenset().union(*VERBS) | LOOKS
_NOUNS = (
    "table reservation booking",
    "booking reservation",
    "room stay hotel suite motel",
    "money payment cash funds",
    "message text sms note",
    "email mail message",
    "reminder remind",
    "event meeting appointment calendar entry",
    "appointment meeting visit",
    "weather forecast rain raining rainy sunny snow snowing snowy windy cloudy storm stormy",
    "flight fly flying plane flights",
    "order package parcel delivery shipment",
    "cart basket trolley bag",
    "temperature heating thermostat heat degree",
    "music song album track artist playlist",
    "balance money",
    "light lamp",
    "colour color",
    "list",
    "taxi cab ride",
    "product item article thing",
    "ticket seat",
    "recipe dish meal",
    "alarm wake",
    "note memo",
    "restaurant place",
    "phone number",
)
ALIKE: dict[str, frozenset[str]] = {}
"""The stems of alike nouns, by the stem of the first."""
for _words in _NOUNS:
    _first, *_others = map(stem, each(_words))
    ALIKE[_first] = ALIKE.get(_first, frozenset()) | {_first, *_others}
_IMPLIED = {
    "remind": "reminder",
    "play": "music",
    "text": "message",
    "message": "message",
    "email": "email",
    "pay": "money",
    "wire": "money",
    "tell": "message",
    "let": "message",
    "inform": "message",
    "notify": "message",
    "fly": "flight",
    "wake": "alarm",
}
IMPLIES = {verb: stem(noun) for verb, noun in _IMPLIED.items()}
"""Verbs that name the object of their tool as well."""
TAKE_ANYTHING = frozenset(
    each(
        "search find play remind translate define echo spell note call email text message buy order add put look "
        "track say"
    )
)
"""Verbs that name their tool with any words behind them."""
SMALL = frozenset(
    each("a an the to of for in on at by and or with from is are be it this that current my your user given all")
)
PARTICLES = frozenset(("on", "off", "up", "down", "in", "out"))

SEARCHES = frozenset(("search", "find", "look"))
"""Verbs that look for what stands behind them."""

_FRAME = (
    r"(?:can|could|would|will) (?:you|we|i)(?: please| maybe| possibly| kindly| also| just| quickly| help me)*(?: to)?"
    r"|(?:i|we)(?:'d| would) (?:like|love|prefer)(?: you)?(?: to)?|(?:i|we) (?:want|need|wish)(?: you)?(?: to)?"
    r"|(?:i|we) (?:have|got) to|(?:i'm|we're|i am|we are) (?:looking|trying|going|hoping) (?:for|to)(?: need)?"
    r"|(?:perhaps|maybe) you could|and (?:want|need|would like|'d like|would love)(?: to)?"
    r"|(?:let's|let us|please|go ahead and|be so kind and|may i|may we|is it possible to|i wanna|i gotta"
    r"|would you mind|you should|i'll have|i'll take|i will have|we'll have|we'll take|get me|give me|get us|bring me)"
)
FRAME = re.compile(rf"\b(?:{_FRAME})(?: please)? ")
"""Words that turn what follows into a request. The text is plain."""
WANTS = re.compile(
    r"(?:like|love|prefer|want|need|wish|have|take|get me|give me|get us|bring me|looking for)(?: please)? $"
)
"""How those end that a thing may follow, not a deed."""
MAY_ASK = re.compile(r"\b(?:can|could|would|will|is it possible|are you able|do you|may)\b")
CLAUSE = re.compile(r"(?:\b(?:and|then|so|please|ok|okay|but|also|now|hey|hi|hello|yes|well|just) )")
LOOKING = re.compile(
    r"(?:(?:who|what|which|when|where|how|is|are|will|does|do|did|has|have|was|were)(?:'s|'re)?\b"
    r"|(?:can|could|would|will) you (?:please )?(?:tell|show|check|give|find|look|search|get|read|list|see)\b"
    r"|(?:tell|show|check|give|find|look|search|get|read|list|see|track|fetch)\b"
    r"|(?:i|we)(?:'d| would| want| need|'m|'re)(?: like| love| looking| trying)?(?: to)? "
    r"(?:know|see|check|find|hear|search|look|get|have|for|fly|go|track)\b"
    r"|i (?:want|need)\b|i wonder\b|any )"
)
NEVER = re.compile(
    r"\b(?:don't|dont|do not|doesn't|didn't|did not|never|not|no need|won't|can't|cannot|wouldn't|shouldn't|without"
    r"|forgot|forget|if|unless|why|how (?:do|can|could|would|should|to|did)|what (?:if|happens|would)|should (?:i|we)"
    r"|did (?:you|i|we|he|she|they)|have (?:you|i|we) (?:ever|already)|used to|someone|somebody|he|she|they"
    r"|thinking (?:of|about)|is it safe|whether|when i|when we|instead of|rather than|(?:stop|quit|avoid) \w+ing"
    r"|before i|before you|after you|who|wish (?:i|we|you|he|she|they|it)|(?:i|we) (?:should|might|may|ought to)"
    r"|(?:i|we)(?:'ll| will) (?:maybe|perhaps|probably|possibly)"
    r"|(?:maybe|perhaps|probably|possibly) (?:i|we)(?:'ll|'d| will| would| want| need)?(?! could| can)"
    r"|some ?day|(?<!for )one day|one of these days|eventually|dream(?:ing)? of|was going to|were going to)\b"
)
"""Words before a verb that make it no request."""
UNDECIDED = re.compile(
    r"\b(?:(?:i|we)(?:'ll| will| have to| need to) (?:think (?:about|on|it over)|sleep on)|let (?:me|us) think"
    r"|(?:haven't|have not) (?:\w+ )?decided|(?:can't|cannot) decide|still thinking|not (?:just )?yet$"
    r"|(?:i'm|i am|we're|just) (?:only |just )?thinking (?:aloud|out loud|about)"
    r"|if (?:you were|i were|i was) (?:me|you|in (?:my|your))"
    r"|(?:one|some) ?day$|someday$|sometime$|eventually$)"
)
"""Words behind an order that take it back for now; the text is of one sentence."""
_SOMEONE = r"(?:i|we|you|he|she|it|they|there|my|our|the|your|his|her|their|that|this|someone|somebody|anyone|everyone)"
_ABOUT_ABILITY = (
    r"(?: at all)? (?:possible|available|necessary|needed|need be"
    r"|you (?:can|could|may|might)|(?:i|we) (?:can|could|may|might)(?= (?:have|get|book|rent|reserve|order|please)\b|$)"
    r"|(?:you|i|we) (?:will|would|please|like"
    r"|want|wish|have (?:time|a)|get|don't mind|do not mind|wouldn't mind|would like|are able|do)"
    r"|(?:that|it|this)(?:'s| is| would be)?"
    r" (?:all right|alright|ok|okay|possible|fine|works|not too|no trouble|any help))"
)
CONDITION = re.compile(
    r"(?:(?<!even )(?<!as )(?<!what )(?<!know )(?<!tell me )(?<!ask me )(?<!show me )(?<!see )(?<!check )(?<!out )"
    r"(?<!wonder )(?<!wondering )(?<!sure )(?<!ask )(?<!mind )(?<!nice )(?<!great )(?<!grateful )(?<!happy )(?<!glad )"
    r"(?<!kind )(?<!for )(?<!of )(?<!about )"
    rf"\b(?:if|unless|when|whenever|as soon as|as long as|so long as)\b(?!{_ABOUT_ABILITY}\b)"
    r"(?! (?:is|are|was|were|do|does|did|will|would|can|could|should|possible)\b)"
    rf"|\b(?:once|the (?:moment|minute|second|instant)|(?:every|each) time) (?={_SOMEONE}\b)"
    r"|\bafter (?:(?:i|we|he|she|it|they) |(?:my|our|the|his|her|their) \w+ "
    r"(?:calls|comes|arrives|gets|goes|is|has|leaves|opens|closes|ends|says|agrees|confirms|finishes)\b)"
    r"|\bdepending on\b"
    r"|\b(?:provided|providing|on (?:the )?condition|assuming|supposing|in the event)\b"
    rf"|^(?:should {_SOMEONE}|in case)\b)"
)
"""Words that make an order wait. The text is of one sentence, and plain."""
ADDS_CONDITION = re.compile(r"(?:(?:but|and|though|well|only) ){0,3}(?:if|unless|when|provided|as long as)\b")
"""How a sentence begins that makes the order before it wait."""
ASKS = re.compile(
    r"\b(?:when|where|which|what|how(?! about))\b|^(?:do|does|did|is(?! it possible)|are|was|were|has|am)\b"
)
"""Words before a verb that make it a question."""
FINITE = re.compile(
    r"\b(?:is|was|were|are|has|had|costs?|looks?|seems?|tastes?|needs|wants|would|will|could|can|does|did|isn't|wasn't|makes|made|went|came)\b"
)
ALREADY = re.compile(r"\b(?:booked|ordered|cancelled|sent|paid|ate|bought|called|told|played|transferred|set up) \b")
"""A deed that is done."""
NO_SUBJECT = frozenset(
    each(
        "i you we they he she it who to not don't doesn't didn't never no can't won't cannot that which can could "
        "would will should may might must do does did than what how why when if people let's always often usually "
        "i'd we'd you'd he'd she'd they'd"
    )
)
"""Words that no order follows without a full stop between."""
ELSEWHERE = re.compile(r"\b(?:to|on|onto|into|in) (?:my|the|our|a) ")
"""Where something is put."""
HOW_TO = re.compile(r"how (?:do|can|could|should|would) (?:i|you|we)\b(?! (?:have|owe))")
DETERMINED = frozenset(each("a an the my our me us this some another two three four five six for it"))

"""What is said where no rule knows an answer: honest, short, with the next step, and never the same twice in a row."""

from __future__ import annotations

import re

from realtime.model.local.keyless.facts import may_be_told
from realtime.model.local.keyless.situation import Situation
from realtime.model.local.keyless.words import rule_pattern

_LISTEN = re.compile(
    r"^(?:play|put on|start|stop|pause|skip)\b.*\b(?:music|song|radio|video|podcast|playlist|album"
    r"|something|spotify|youtube|movie|film)\b|^play\b"
)
_HOME = re.compile(
    r"\b(?:turn|switch|dim) (?:on|off|up|down|the)\b|\b(?:lights?|lamp|heating|thermostat|alarm clock|door"
    r"|tv|television)\b"
)
_SEND = re.compile(r"\b(?:send|write|text|email|mail|message|call|phone|dial|ring|post|tweet|reply to)\b")
_BUY = rule_pattern(
    r"\b(?:order|buy|book|reserve|purchase|pay|schedule|add .* calendar|calendar|appointment|shopping list"
    r"|to ?do list)\b"
)
_LIVE = re.compile(
    r"\b(?:news|headlines?|score|scores|match|game|stock|stocks|bitcoin|price of|exchange rate|traffic"
    r"|election|won|winner|latest|today's|yesterday's|president|prime minister|pope|happening)\b"
)
_YEAR = re.compile(r"\b[12]\d{3}\b")
_SEARCH = re.compile(
    r"\b(?:google|search|look up|browse|find|wikipedia|internet|online|directions|navigate|route|nearest"
    r"|near me|nearby|restaurant|restaurants)\b"
)
_REQUEST = re.compile(
    r"^(?:tell|show|give|find|play|turn|switch|open|close|send|call|order|buy|book|write|draw|make"
    r"|translate|recommend|explain|describe|read|search|look|help|start|stop|add|create|"
    r"schedule|set|wake|remind|suggest|define|list|name|compare|summarize|summarise|teach|plan|do|go"
    r"|cancel|unsubscribe|change|update|adjust|remove|delete|move|raise|lower|reset|enable|disable"
    r"|let|put|take|get|check|solve|imagine|pretend|act|convert|calculate|cook|i want|i need"
    r"|i would like|i'd like|can you|could you|would you|will you)\b"
)
_WRITE = re.compile(r"\b(?:write|compose|draft|essay|code|program)\b")
_HAND_OVER = rule_pattern(
    r"\b(?:hand|pass|transfer|connect|put|forward)\b.*\b(?:human|person|someone|somebody|operator|staff|support)\b"
)
_LIMITS = (
    (_HAND_OVER, "I can't pass you on to a person."),
    (_WRITE, "I can't write texts or code."),
    (_LISTEN, "I can't play music or films."),
    (_SEND, "I can't send messages or call anyone."),
    (_BUY, "I can't order, book or note dates."),
    (_HOME, "I can't switch anything in your home."),
    (_SEARCH, "I can't search the internet."),
)
_MONEY = rule_pattern(
    r"\b(?:dollars?|euros?|pounds?|yen|francs?|rupees?)\b.*\b(?:in|to|into)\b.*\b(?:dollars?|euros?|pounds?"
    r"|yen|francs?|rupees?)\b"
)
_CAN_YOU = re.compile(r"(?:can|could|would|will) you\b")
_OPINION = re.compile(r"^(?:i think|i believe|i feel|i guess|i bet|i'd say|in my opinion)\b")


def is_request(situation: Situation) -> bool:
    """Whether the user asks for something."""
    return situation.asks or _REQUEST.match(situation.core) is not None


def own_up(situation: Situation) -> str:
    """Say that no rule fits, with the next step."""
    text = situation.core
    if situation.brief.role or situation.brief.facts:
        return _for_a_caller(situation)
    can = _offer(situation)
    if len(text.split()) == 1 and not situation.asks:
        return situation.vary(("I caught one word, but no question. " + can, "Tell me a little more. " + can))
    if _MONEY.search(text):
        return f"I don't know exchange rates: they change, and I have no internet. {can}"
    if situation.asks and not _CAN_YOU.match(text):
        if _LIVE.search(text) and not _YEAR.search(text):
            return situation.vary(
                (
                    f"I can't know that: I have no news and no internet. {situation.hint}",
                    f"That changes by the day, and I only know a few rules. {can}",
                )
            )
        return situation.vary(
            (
                f"I don't know that. {situation.hint}",
                f"That is more than my rules know. {can}",
                f"I have no answer to that one. {situation.hint}",
                f"I can't tell you that. {can}",
            )
        )
    if _REQUEST.match(text) or _CAN_YOU.match(text) or _LISTEN.search(text):
        limit = next((said for pattern, said in _LIMITS if pattern.search(text)), None)
        if limit is not None:
            return situation.vary((f"{limit} An agent of your own could, with a tool for it.", f"{limit} {can}"))
        return situation.vary(
            (f"I can't do that: I work by simple rules. {situation.hint}", f"That is more than my rules can do. {can}")
        )
    if _OPINION.match(text):
        return situation.vary(
            (f"I have no opinion on that, but I heard you. {can}", f"You may be right: I can't judge it. {can}")
        )
    return situation.vary(
        (
            f"I heard you, but I don't know what to make of it. {can}",
            f"I have no rule for that. {situation.hint}",
            f"That is beyond me. {can}",
        )
    )


def _offer(situation: Situation) -> str:
    """Name something that works, another each time."""
    offers = ["Ask me what I can do.", "I can tell you a joke or a riddle.", "I can flip a coin or spell a word."]
    if situation.has("calculate"):
        offers.append("Try a sum, like twelve times seven.")
    if situation.has("set_timer"):
        offers.append("I can set a timer.")
    return situation.vary(offers)


def _for_a_caller(situation: Situation) -> str:
    known = "Ask me something else." if situation.brief.facts else "Ask me what I can do."
    if situation.asks and may_be_told(situation):
        return situation.vary(("I'm afraid I don't know that.", f"That I can't answer. {known}"))
    if situation.asks:
        return situation.vary(
            (f"I was not told about that. {known}", "I'm afraid I don't know that.", f"That I can't answer. {known}")
        )
    return situation.vary(
        (
            "I'm afraid I can't do that.",
            f"I can't help with that. {known}",
            "I heard you, but I was not told what to do about it.",
        )
    )

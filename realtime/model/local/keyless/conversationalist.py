"""The built-in language model: a table of rules, deterministic and offline.

It keeps no state: it reads names, facts and its own last words from the history each time, so a truncated or restored
conversation needs no special care.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from datetime import date

from realtime.event.config import ToolDeclaration
from realtime.model.base import CONTINUE_ANSWER
from realtime.model.local.keyless import clock
from realtime.model.local.keyless.about import about
from realtime.model.local.keyless.almanac import look_up
from realtime.model.local.keyless.arithmetic import evaluate, find_expression, find_number, say_expression, say_number
from realtime.model.local.keyless.brief import brief_of
from realtime.model.local.keyless.dates import date_said
from realtime.model.local.keyless.facts import ask_back, forget, learn, not_told, standing
from realtime.model.local.keyless.measures import convert
from realtime.model.local.keyless.names import learned_name, own_name
from realtime.model.local.keyless.parameters import Takes
from realtime.model.local.keyless.product import Product
from realtime.model.local.keyless.recall import recall
from realtime.model.local.keyless.requests import split
from realtime.model.local.keyless.results import results_to_tell
from realtime.model.local.keyless.situation import LONGEST_CHARS, Line, Situation, situation_of
from realtime.model.local.keyless.small_talk import follow_up, greeted, greeting, introduce, talk
from realtime.model.local.keyless.subjects import guess
from realtime.model.local.keyless.tool_words import CONDITION, UNDECIDED
from realtime.model.local.keyless.toolbox import Context, ToolRequest, answered, request_in
from realtime.model.local.keyless.unknown import is_request, own_up
from realtime.model.local.keyless.utterance import utterance_of
from realtime.model.local.keyless.wordplay import play
from realtime.model.local.keyless.words import capital, listed, plain, rule_pattern
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyThought, ReplyToolCall

_BUILT_IN = {"get_time": None, "get_date": None, "calculate": "expression", "set_timer": "seconds"}
"""The tools of `skills.py`, with their argument."""
_CANNOT_WAIT = "I can't wait for a condition: ask me again when it is so."
_TAKE_YOUR_TIME = "All right, take your time."
_TOLD_TOOLS = 8
"""Tools that a reason names."""
_SAY = re.compile(r"^say(?: exactly)?(?:\s*+:)?\s+(.+)", re.I | re.S)
_SAY_AT_THE_END = re.compile(r"^say(?: exactly)?(?::|\s+(?=[\"“]))(.+)", re.I | re.S)


_CORRECTS_NAME = re.compile(r"(?:no|nope|not|sorry|wait|actually)\b", re.I)


class Conversationalist:
    """The built-in language model: small talk, the offered tools, facts that users tell, and what it is and can do.

    `product` are facts about the server, which only its built-in agent tells; None: an agent of the user's own.
    """

    name = "local"
    takes_images = False

    def __init__(self, product: Product | None = None) -> None:
        self._product = product

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `LanguageModel`. Responds at once and cannot fail."""
        for reply in respond_to(prompt, self._product):
            yield reply

    def can_answer(self, prompt: Prompt) -> bool:
        """Whether rules fit all that was said, or call a tool."""
        situation = situation_of(prompt, self._product)
        if situation is None or not situation.plain or _words_to_say(prompt.instructions) is not None:
            return True
        if results_to_tell(prompt.history, situation.plain):
            return True
        answers = _answers(situation)
        return any(one.calls for one in answers) or all(one.is_known for one in answers)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer to one request.

    `is_known` is whether a rule fits; `is_courtesy`, whether another answer makes it needless; `is_aside`, whether
    no rule fits and nothing was asked.
    """

    text: str = ""
    calls: tuple[ReplyToolCall, ...] = ()
    is_courtesy: bool = False
    is_known: bool = True
    is_aside: bool = False
    is_introduction: bool = False

    @property
    def is_beside(self) -> bool:
        """Whether it still counts beside an introduction."""
        return not (self.is_introduction or self.is_courtesy or self.is_aside)


def respond_to(prompt: Prompt, product: Product | None = None) -> list[Reply]:
    """Return the response, or the rest of one that was broken off."""
    if (broken_off := _broken_off(prompt)) is not None:
        begun, heard = broken_off
        return _behind(respond_to(begun, product), heard)
    if (ordered := _words_to_say(prompt.instructions)) is not None:
        return [ReplyText(ordered)]
    situation = situation_of(prompt, product)
    if results := results_to_tell(prompt.history, situation.plain if situation is not None else ""):
        return [ReplyText(" ".join(results))]
    if situation is None:
        return [ReplyText(_words_to_say_at_the_end(prompt.instructions) or _first_words(prompt))]
    if not situation.plain:
        return [
            ReplyText(
                situation.vary(
                    ("Sorry, I did not catch that. Please say it again.", "I did not catch that. Once more, please.")
                )
            )
        ]
    answers = _answers(situation)
    return [*_why_no_call(situation, answers), *_replies(answers)]


def _broken_off(prompt: Prompt) -> tuple[Prompt, str] | None:
    """Return the prompt of a broken-off answer, and what was heard."""
    items = [*prompt.history]
    if not items or (items[-1].role, items[-1].text) != ("system", CONTINUE_ANSWER):
        return None
    heard: list[str] = []
    while items and items[-1].type == "message" and items[-1].role != "user":
        last = items.pop()
        heard += [last.text] if last.role == "assistant" else []
    return dataclasses.replace(prompt, history=items), " ".join(reversed(heard))


def _behind(replies: Sequence[Reply], heard: str) -> list[Reply]:
    """Return the replies without the words that were heard; all of them where the words are others."""
    rest: list[Reply] = []
    for reply in replies:
        if isinstance(reply, ReplyText):
            said, known = reply.text.split(), heard.split()
            begins = [plain(word) for word in said[: len(known)]] == [plain(word) for word in known]
            reply = ReplyText(" ".join(said[len(known) :])) if begins else reply
            if not reply.text:
                continue
        rest.append(reply)
    return rest


def _why_no_call(situation: Situation, answers: Sequence[_Answer]) -> list[Reply]:
    """Tell who builds the agent why none of its tools is called."""
    tools = _others(situation)
    if not tools or any(one.calls for one in answers):
        return []
    request = _requested(situation)
    if request is None:
        names = ", ".join(tool.name for tool in tools[:_TOLD_TOOLS])
        more = f" and {len(tools) - _TOLD_TOOLS} more" if len(tools) > _TOLD_TOOLS else ""
        return [ReplyThought(f"No tool is called: the words name none of {names}{more}, or ask for nothing.")]
    if request.waits:
        return [ReplyThought(f"{request.name} is not called: it is ordered for a case that may come.")]
    if request.missing:
        lacks = ", ".join(".".join(one.path) for one in request.missing)
        return [ReplyThought(f"{request.name} is not called: what was said gives no sure value for {lacks}.")]
    return [ReplyThought(f"{request.name} is not called: its subject was named, but nothing was asked for.")]


def _words_to_say(instructions: str) -> str | None:
    """Return the words to say of instructions that order nothing else."""
    return _unquoted(_SAY.match(instructions.strip()))


def _words_to_say_at_the_end(instructions: str) -> str | None:
    """Return the words to say at the end of the instructions."""
    lines = instructions.strip().split("\n")
    for at in range(1, len(lines) - 1):
        if lines[at].strip() or not lines[at + 1].lstrip().lower().startswith("say"):
            continue
        if (words := _unquoted(_SAY_AT_THE_END.match("\n".join(lines[at + 1 :]).lstrip()))) is not None:
            return words
    return None


def _unquoted(order: re.Match[str] | None) -> str | None:
    if order is None:
        return None
    words = order[1].strip()
    begin, end = words[:1] in ('"', "“"), words[-1:] in ('"', "”")
    return words[begin : len(words) - (end and len(words) > 1)].strip() or None


def _first_words(prompt: Prompt) -> str:
    """Greet where no user has said anything."""
    me, brief = own_name(prompt.instructions, prompt.agent_name), brief_of(prompt.instructions)
    if brief.role:
        return f"Hello! {introduce(me, brief.role, brief.title, brief.place)}"
    offered = {tool.name for tool in prompt.tools}
    if {"get_time", "calculate"} <= offered:
        return f"Hello! I'm {me}: ask me the time, a sum or a joke, or tell me your name."
    return f"Hello! I'm {me}. What can I do for you?"


def _answers(situation: Situation) -> list[_Answer]:
    """Answer each request of an utterance; courtesies beside others need no answer."""
    said = split(situation.said)
    parts = standing(said)
    if len(parts) == 1:
        return [_answer(situation if parts == said else situation.part(parts[0], 0))]
    if _corrected_length(situation) or (_has(situation, "calculate") and _corrected_sum(situation.said)):
        return [_answer(situation)]
    request = _requested(situation)
    if request is not None and _is_one_request(situation, request, parts):
        return _with_details(situation, request, parts)
    answers = [_answer(situation.part(part, place)) for place, part in enumerate(parts)]
    if request is not None and request.waits:
        answers = [
            _Answer(_CANNOT_WAIT) if any(call.name == request.name for call in one.calls) else one for one in answers
        ]
    if request is None and UNDECIDED.search(situation.plain) and any(one.calls for one in answers):
        return [_Answer(_TAKE_YOUR_TIME)]
    if (named := _renamed(situation, parts)) is not None:
        beside = [
            one for part, one in zip(parts, answers, strict=True) if one.is_beside and not _CORRECTS_NAME.match(part)
        ]
        return [_introduction(situation.part(parts[0], 0), named), *beside]
    unknown = [one for one in answers if not one.is_known]
    is_open = any(not one.is_aside for one in unknown) and not any(one.calls for one in answers)
    if is_open and (text := about(situation) or guess(situation)) is not None:
        # "We have a shop. Can we add you there?": only the whole says what it is about.
        return [_Answer(text)]
    if len(unknown) == len(answers):
        return [_answer(situation)]
    return [one for one in answers if not one.is_courtesy and not one.is_aside] or answers[:1]


def _renamed(situation: Situation, parts: Sequence[str]) -> str | None:
    """Return the user's name where it corrects another: "Call me Bob. No, Robert."."""
    last = [situation.last_answer or ""]
    name = learned_name([situation.said], last)
    given = [learned_name([part], last) for part in parts]
    return name if any(one is not None and one != name for one in given) else None


def _is_one_request(situation: Situation, request: ToolRequest, parts: Sequence[str]) -> bool:
    """Whether no part asks for another tool: the others may say what the call needs."""
    found = (request_in(part, _others(situation)) for part in parts)
    return (request.is_ordered or not request.missing) and all(
        one is None or one.name == request.name or _is_within(part, request)
        for one, part in zip(found, parts, strict=True)
    )


def _with_details(situation: Situation, request: ToolRequest, parts: Sequence[str]) -> list[_Answer]:
    """Answer a request in several parts, and the questions beside it."""
    answers = [_answer_to(request)]
    for place, part in enumerate(parts):
        beside = situation.part(part, place)
        introduced = learned_name([part], [situation.last_answer or ""])
        if _is_within(part, request) or request_in(part, _others(situation)) is not None:
            continue
        if introduced and not beside.asks and introduced not in request.arguments.values():
            answers.insert(0, _introduction(beside, introduced))
        elif is_request(beside) or _known_calls(beside):
            answers.append(
                _answer(dataclasses.replace(beside, tools=[tool for tool in beside.tools if _is_built_in(tool)]))
            )
    return [one for one in answers if one.is_known] or answers


def _is_within(part: str, request: ToolRequest) -> bool:
    """Whether a part is inside a text of the call: "remind me to call mum and tell her ..."."""
    words = _LEAD_OF_A_CORRECTION.sub("", plain(part))
    return any(words in plain(value) for value in request.arguments.values() if isinstance(value, str))


_LEAD_OF_A_CORRECTION = re.compile(r"^(?:(?:no|sorry|wait|actually|i mean|i meant) ){1,4}(?=\w)")


def _answer_to(request: ToolRequest) -> _Answer:
    """Call the tool, or ask for what it needs."""
    if request.waits:
        return _Answer(_CANNOT_WAIT)
    if request.asks_ability:
        return _Answer(f"Yes, I can. {request.question}")
    beside = f"One at a time: I leave out {listed([*request.left_out])}." if request.left_out else ""
    if request.missing:
        return _Answer(f"{beside} {request.question}".strip())
    return _Answer(beside, calls=(_call(request.name, **request.arguments),))


def _replies(answers: Sequence[_Answer]) -> list[Reply]:
    """Join answers: texts first, none twice, then the calls."""
    texts = [*dict.fromkeys(one.text for one in answers if one.text)]
    calls = [*dict.fromkeys(call for one in answers for call in one.calls)]
    return [*([ReplyText(" ".join(texts))] if texts else []), *calls]


def _answer(situation: Situation) -> _Answer:
    """Answer one request, by the first topic with a rule for it."""
    request = _requested(situation)
    introduced = learned_name([situation.said], [situation.last_answer or ""])
    if introduced and not situation.asks and (request is None or introduced not in request.arguments.values()):
        met = _introduction(situation, introduced)
        if request is None or not request.is_ordered:
            return met
        done = _answer_to(request)
        return _Answer(" ".join(filter(None, (f"Nice to meet you, {introduced}.", done.text))), calls=done.calls)
    if calls := _known_calls(situation):
        return _Answer(calls=tuple(calls))
    if request is not None and (request.is_ordered or not request.missing):
        return _answer_to(request)
    for topic in TOPICS:
        if (text := topic(situation)) is not None:
            is_known = topic not in (not_told, greeted)
            return _Answer(text, is_courtesy=topic is greeting or _is_courtesy(situation), is_known=is_known)
    return _Answer(own_up(situation), is_known=False, is_aside=not is_request(situation))


def _introduction(situation: Situation, name: str) -> _Answer:
    met = f"Nice to meet you, {name}."
    if situation.is_whole:
        return _Answer(f"{met} I'm {situation.me}. What can I do for you?", is_introduction=True)
    return _Answer(met, is_introduction=True)


def _is_courtesy(situation: Situation) -> bool:
    return (
        re.fullmatch(
            r"(?:please|thanks|thank you|sorry|okay|ok|yes|no|well|great|cool|nice|wow|good|all right"
            r"|alright|hello|hi|hey)(?: \w+){0,2}",
            situation.plain,
        )
        is not None
    )


def _sum(situation: Situation) -> str | None:
    """Work out a sum, where no tool does."""
    if (expression := _expression(situation)) is None:
        return None
    try:
        return capital(f"{say_expression(expression)} is {say_number(evaluate(expression))}.")
    except ValueError as error:
        return str(error)


def _expression(situation: Situation) -> str | None:
    """Find a sum, or one that goes on from the last result: "double that", "plus five"."""
    if (expression := find_expression(_corrected_sum(situation.said) or situation.said)) is not None:
        return expression
    result = _RESULT.search(situation.last_answer or "")
    if result is None or not (goes_on := _GOES_ON.search(situation.core)):
        return None
    number, text = result[1].replace(",", ""), situation.core[goes_on.start() :]
    text = re.sub(r"\b(?:that|it|this|the (?:result|answer))\b", number, text)
    text = re.sub(rf"^add (?!{number})", f"{number} plus ", text)
    text = re.sub(rf"^(?:subtract|take away) (?!{number})", f"{number} minus ", text)
    text = re.sub(r"^(multipl|divid)(?:y|e)(?: [\d.]+)? by", rf"{number} \1ied by", text).replace("dividied", "divided")
    if re.match(r"(?:plus|minus|times|divided by|multiplied by|squared|cubed)\b", text):
        text = f"{number} {text}"
    return find_expression(text)


def _corrected_sum(said: str) -> str | None:
    """Put the number that corrects the last one in its place; None: none does.

    "20 percent of 80, no, of 90".
    """
    utterance = utterance_of(said)
    for start, end in reversed(utterance.corrections):
        rest = _LAST_NUMBER.fullmatch(utterance.text(end, len(utterance)))
        terms = [*_TERM.finditer(utterance.text(0, start))]
        if rest is not None and terms and find_expression(said) is not None:
            return f"{terms[-1].string[: terms[-1].start()]}{rest[1] or terms[-1][1]}{rest[2]}"
    return None


_LAST_NUMBER = re.compile(r"((?:of|by|from|plus|minus|times) |)(\d[\d,.]*)")
_TERM = re.compile(r"\b((?:of|by|from|plus|minus|times) )\d[\d,.]*")
_RESULT = re.compile(r"\bis (-?\d[\d,]*(?:\.\d+)?)\.$")
_GOES_ON = rule_pattern(
    r"^(?:plus|minus|times|divided by|multiplied by|squared|cubed|(?:add|subtract|take away) (?:that|it"
    r"|\w+)|(?:multiply|divide)\b.*\bby)\b"
    r"|\b(?:double|twice|triple|half of|square root of|percent of) (?:that|it|this)\b|\b(?:that"
    r"|it) (?:plus|minus|times|divided by)\b"
)


def _own_words(situation: Situation) -> str | None:
    """Answer with a sentence of the agent's own instructions."""
    if not situation.asks or _asks(situation, "the date", clock.ASKS_DATE):
        return None
    return situation.brief.about(situation.core, situation.me)


def _what_a_tool_lacks(situation: Situation) -> str | None:
    """Ask for what a tool needs that tells something; and agree to do nothing."""
    request = _requested(situation)
    if request is None and (order := _FORBIDS.match(situation.core)) is not None:
        forbidden = request_in(situation.core[order.end() :], _others(situation))
        return "All right, I won't." if forbidden is not None and forbidden.is_ordered else None
    was_asked = request is not None and _was_asked(request, situation.last_answer)
    return request.question if request is not None and request.missing and not was_asked else None


def _still_lacks(situation: Situation) -> str | None:
    """Ask once more for what an order needs."""
    request = _requested(situation)
    return request.question if request is not None and request.missing else None


def _timer_talk(situation: Situation) -> str | None:
    """Say what a timer lacks, or that there is none."""
    if not _ALARM.search(situation.core):
        return None
    if CONDITION.search(situation.plain):
        return _CANNOT_WAIT
    if not situation.has("set_timer"):
        return "I would need a tool for timers, and none was given to me."
    if _CANCEL.search(situation.core):
        return "I can't stop a timer: it rings once, and ends with this call."
    if re.search(r"\balarm\b|\b(?:at|for) .{0,40}(?:o'clock|am|pm)\b|\b\d+:\d\d\b", situation.core):
        return "I can't set alarms for a time of day, only timers: say, set a timer for five minutes."
    return f"{_HOW_LONG} Say, set a timer for five minutes."


def _no_clock(situation: Situation) -> str | None:
    """Say the date, or which tool is lacking."""
    if situation.today is not None and _asks(situation, "the date", clock.ASKS_DATE):
        return clock.date_answer(situation.plain, clock.said_in_full(situation.today))
    for what, asked in (("the time", clock.ASKS_TIME), ("the date", clock.ASKS_DATE)):
        if _asks(situation, what, asked):
            return f"I would need a tool for {what}, and none was given to me."
    return None


Topic = Callable[[Situation], str | None]
TOPICS: tuple[Topic, ...] = (
    follow_up,
    recall,
    convert,
    _sum,
    play,
    ask_back,
    forget,
    learn,
    _own_words,
    _what_a_tool_lacks,
    greeting,
    _timer_talk,
    about,
    talk,
    look_up,
    _no_clock,
    guess,
    _still_lacks,
    not_told,
    greeted,
)
"""What may answer a request; the first one that has a rule for it does."""


# -- tools -------------------------------------------------------------------------------------------------------------

_CLOCK_TOOLS = (("get_time", clock.ASKS_TIME), ("get_date", clock.ASKS_DATE))
_OPEN_TURNS = 4
"""How many turns a question for arguments may go back."""
_SHORTEST_CUT = 6
_FORBIDS = re.compile(r"(?:please )?(?:don't|do not|never) ")
_HOW_LONG = "For how long?"
_ALARM = re.compile(r"\btimers?\b|\balarm\b(?! clock)|\breminders?\b|\bremind me (?:to|in|at|about)\b|\bwake me\b")
_CANCEL = re.compile(r"\b(?:cancel|stop|delete|clear|end)(?: (?:my|the|that|this|all))* (?:timers?|alarms?)\b")
_TIMER = rule_pattern(
    r"\btimer\b|\bwake me\b|\bremind me in\b|\balarm (?:in|for)\b|\bcountdown\b|\bremind me\b.*\bin\b"
)


def _known_calls(situation: Situation) -> list[ReplyToolCall]:
    """Return the calls of the built-in tools that the user asked for."""
    if _has(situation, "set_timer") and (seconds := _timer_seconds(situation)):
        return [_call("set_timer", seconds=seconds)]
    if convert(situation) is not None:
        return []
    if _has(situation, "calculate") and (expression := _expression(situation)):
        return [_call("calculate", expression=expression)]
    return [_call(name) for name, asked in _CLOCK_TOOLS if _has(situation, name) and _asks(situation, name, asked)]


def _asks(situation: Situation, what: str, asked: re.Pattern[str]) -> bool:
    """Whether time or date is asked for, and nothing else."""
    core = situation.core
    is_named = what.endswith("date") and date_said(core, situation.today or date.min) is not None
    return asked.search(core) is not None and (is_named or clock.is_known(core))


def _requested(situation: Situation) -> ToolRequest | None:
    """Return the other tool that the user asks for; what they were asked for it last is filled in."""
    tools = _others(situation)
    if not tools:
        return None
    context = Context(situation.name, situation.today)
    request: ToolRequest | None = None
    lines = [*situation.earlier[-_OPEN_TURNS:], Line(situation.said, situation.last_answer)]
    first = len(lines) - 1
    while first and (lines[first].after or ".")[-1] not in ".!":
        first -= 1
    for line in lines[first:]:
        said = line.words[:LONGEST_CHARS]
        asked = request if request is not None and _was_asked(request, line.after) else None
        answer = None
        if asked is not None and not _turns_to_another(asked, said, tools, context):
            answer = answered(asked, said, context)
        is_whole = answer is not None and answer.is_ordered
        request = answer if is_whole else request_in(said, tools, context) or answer
    return request


def _turns_to_another(asked: ToolRequest, said: str, tools: Sequence[ToolDeclaration], context: Context) -> bool:
    """Whether words behind a question are surely no answer to it.

    Also where any words could be one: "What time is it?" is no message, and "Set an alarm for seven" no title where
    another tool does that.
    """
    words = plain(said)
    if any(pattern.search(words) and clock.is_known(words) for _, pattern in _CLOCK_TOOLS):
        return True
    if any(one.takes is Takes.MESSAGE for one in asked.missing[:1]):
        return False
    other = request_in(said, tools, context)
    return other is not None and other.name != asked.name and other.is_ordered and not other.missing


def _was_asked(request: ToolRequest, said: str | None) -> bool:
    """Whether the agent has asked for what is missing; its question may have been cut."""
    if not said:
        return False
    return said.endswith(request.question) or (len(said) >= _SHORTEST_CUT and request.question.startswith(said))


def _others(situation: Situation) -> list[ToolDeclaration]:
    return [tool for tool in situation.tools if not _is_built_in(tool)]


def _is_built_in(tool: ToolDeclaration) -> bool:
    """Whether it is a tool of `skills.py`, not a namesake."""
    arguments = tool.parameters.get("properties") or {}
    return tool.name in _BUILT_IN and {*arguments} <= {_BUILT_IN[tool.name]}


def _has(situation: Situation, name: str) -> bool:
    return any(tool.name == name and _is_built_in(tool) for tool in situation.tools)


def _call(name: str, /, **arguments: object) -> ReplyToolCall:
    return ReplyToolCall(name, json.dumps(arguments))


def _timer_seconds(situation: Situation) -> float | None:
    plain = situation.plain
    was_asked = (situation.last_answer or "").startswith(_HOW_LONG)
    if not (was_asked or _TIMER.search(plain)) or _CANCEL.search(plain) or CONDITION.search(plain):
        return None
    plain = _corrected_length(situation) or plain
    total = 0.0
    for before, unit, behind in re.findall(
        r"([\w. -]{1,60}?)[ -](hour|minute|min|second|sec)s?\b( and a (?:half|quarter)\b(?! \w*(?:hour"
        r"|minute|second)))?",
        plain,
    ):
        # The number comes right before the unit.
        count = re.split(r"\b(?:for|in|timer|to)\b", before)[-1]
        number = _how_many(count) + _PARTS[behind.rpartition(" ")[2]]
        total += number * {"hour": 3600, "min": 60, "sec": 1}.get(unit, 60 if unit == "minute" else 1)
    return total or None


def _corrected_length(situation: Situation) -> str | None:
    """Return the length that corrects another: "for five minutes, no, eight"; None: none does."""
    if not _has(situation, "set_timer") or not _TIMER.search(situation.plain):
        return None
    said = utterance_of(situation.said)
    for start, end in reversed(said.corrections):
        length, before = plain(said.text(end, len(said))), plain(said.text(0, start))
        units = _TIME_UNIT.findall(before)
        if units and find_number(length) is not None:
            return length if _TIME_UNIT.search(length) else f"{length} {units[-1]}s"
    return None


_TIME_UNIT = re.compile(r"\b(hour|minute|min|second|sec)s?\b")
_PARTS = {"half": 0.5, "quarter": 0.25, "": 0.0}


def _how_many(words: str) -> float:
    """Return the count of a unit: "five", "a", "half an", "two and a half", "three quarters of an"."""
    number = find_number(words)
    if whole := re.search(r"\band a (half|quarter)\b", words):
        return (number or 1.0) + _PARTS[whole[1]]
    if re.search(r"\bquarters?\b", words):
        # "three quarters of" is a number of its own.
        return number if number is not None and number < 1 else (number or 1.0) * 0.25
    return 0.5 if re.search(r"\bhalf\b", words) else number or 1.0

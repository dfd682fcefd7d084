"""The built-in language model: a table of rules, deterministic and offline.

It keeps no state: it reads the user's name and its own last words from the history each time, so a truncated or
restored conversation needs no special care.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from realtime.event.base import Item
from realtime.event.config import ToolDeclaration
from realtime.message.speakers import SPEAKS, speaker_and_words
from realtime.model.local.keyless.arithmetic import find_expression, find_number, say_expression, say_number
from realtime.model.local.keyless.names import learned_name, own_name
from realtime.model.local.keyless.toolbox import tool_call_for
from realtime.model.local.language_model import Prompt, Reply, ReplyText, ReplyToolCall

WHAT_I_AM = "I'm {me}, the small voice built into this server. I run right here: no key, no internet, and English only."
SIMPLE_RULES = "I work by simple rules."
ASK_THE_OPERATOR = "The operator of this server can give me a language model that can talk about anything."
"""How to get a better language model, for callers, not operators."""
SET_A_KEY = (
    "For a language model that can talk about anything, set the variable OPENAI_API_KEY, and start the server again."
)
"""The same, for the person who started a server without a key."""
_LONGEST_ECHO_WORDS = 30
_HIGHEST_COUNT = 50


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of a rule: the utterance and the known facts.

    `said` is the original utterance, `plain` the same in lower case without punctuation.
    """

    said: str
    plain: str
    name: str | None
    me: str
    turn: int
    last_answer: str | None
    tools: Sequence[ToolDeclaration]
    better: str

    def named(self, greeting: str) -> str:
        """Add the user's name to the greeting if it is known: "Hello, Katie"."""
        return f"{greeting}, {self.name}" if self.name else greeting

    def has(self, tool: str) -> bool:
        """Whether the prompt offers a tool of this name."""
        return any(declared.name == tool for declared in self.tools)


Rule = Callable[[Situation, re.Match[str]], str]


class Conversationalist:
    """The built-in language model: greets, learns names, uses the offered tools, and else repeats the user's words.

    `better` is the sentence that says how to get a better language model.
    """

    name = "local"
    takes_images = False

    def __init__(self, better: str = ASK_THE_OPERATOR) -> None:
        self._better = better

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `LanguageModel`. Responds at once and cannot fail."""
        for reply in respond_to(prompt, self._better):
            yield reply

    def can_answer(self, prompt: Prompt) -> bool:
        """Whether a rule fits: without one, the response is an echo."""
        situation = _situation(prompt, self._better)
        if situation is None or not situation.plain:
            return True
        return respond_to(prompt, self._better) != [ReplyText(_echo(situation))]


def respond_to(prompt: Prompt, better: str = ASK_THE_OPERATOR) -> list[Reply]:
    """Return the whole response to a prompt."""
    if words := re.match(r"\s*say(?: exactly)?\s*:?\s+[\"“]?(.+?)[\"”]?\s*$", prompt.instructions, re.I | re.S):
        return [ReplyText(words[1])]
    results = _results_to_tell(prompt.history)
    if results:
        return [ReplyText(" ".join(results))]
    situation = _situation(prompt, better)
    if situation is None:
        me = own_name(prompt.instructions, prompt.agent_name)
        return [ReplyText(f"Hello! I'm {me}. What can I do for you?")]
    if not situation.plain:
        return [ReplyText("Sorry, I did not catch that. Please say it again.")]
    return _answer(situation)


def _situation(prompt: Prompt, better: str) -> Situation | None:
    lines = _lines_of(prompt.history)
    if not lines:
        return None
    speaker, last = lines[-1]
    said = [words for who, words in lines if who == speaker]
    answers = [
        item.text for item in prompt.history if item.type == "message" and item.role == "assistant" and item.text
    ]
    return Situation(
        said=last.strip(),
        plain=_plain(last),
        name=learned_name(said) or speaker,
        me=own_name(prompt.instructions, prompt.agent_name),
        turn=len(said),
        last_answer=answers[-1] if answers else None,
        tools=prompt.tools,
        better=f"{SIMPLE_RULES} {better}",
    )


def _lines_of(history: Sequence[Item]) -> list[tuple[str | None, str]]:
    """Return the users' words with their speakers.

    In a room the speaker begins the line, or comes in a line before the words.
    """
    lines: list[tuple[str | None, str]] = []
    speaker: str | None = None
    for item in history:
        if item.type != "message" or item.role != "user":
            continue
        who, words = speaker_and_words(item.text)
        if who is not None and words == SPEAKS:
            speaker = who
            continue
        lines.append((who or speaker, words))
        speaker = None
    return lines


def _plain(text: str) -> str:
    """Return the text for matching: lower case, one kind of apostrophe, no punctuation."""
    text = text.lower().replace("’", "'")
    return " ".join(re.sub(r"[^\w\s'+*/%.:-]|[.:](?!\d)|(?<!\w)'|'(?!\w)", " ", text).split())


def _answer(situation: Situation) -> list[Reply]:
    introduced = learned_name([situation.said])
    prelude = f"Nice to meet you, {introduced}. " if introduced else ""
    calls = _calls(situation)
    if calls:
        return [ReplyText(prelude.strip()), *calls] if prelude else [*calls]
    for pattern, rule in RULES:
        # An introduction takes precedence over a greeting beside it.
        if (match := re.search(pattern, situation.plain)) and not (introduced and rule is _greet):
            return [ReplyText(prelude + rule(situation, match))]
    if introduced:
        return [ReplyText(f"{prelude}I'm {situation.me}. What can I do for you?")]
    return [ReplyText(_echo(situation))]


def _calls(situation: Situation) -> list[ReplyToolCall]:
    """Return the tool calls that the user asked for."""
    calls: list[ReplyToolCall] = []
    if situation.has("set_timer") and (seconds := _timer_seconds(situation.plain)):
        calls.append(_call("set_timer", seconds=seconds))
    elif situation.has("calculate") and (expression := find_expression(situation.said)):
        calls.append(_call("calculate", expression=expression))
    else:
        for name, pattern in _CLOCK_TOOLS:
            if situation.has(name) and re.search(pattern, situation.plain):
                calls.append(_call(name))
    if not calls:
        known = {"get_time", "get_date", "calculate", "set_timer"}
        others = [tool for tool in situation.tools if tool.name not in known]
        if found := tool_call_for(situation.plain, situation.said, others):
            calls.append(_call(found.name, **found.arguments))
    return calls


def _call(name: str, **arguments: object) -> ReplyToolCall:
    return ReplyToolCall(name, json.dumps(arguments))


_CLOCK_TOOLS = (
    ("get_time", r"\bwhat(?:'s| is)? (?:the )?time\b|\btime is it\b|\btell me the time\b|\bthe time\b"),
    (
        "get_date",
        r"\bwhat (?:day|date|month|year)\b|\bthe date\b|\bwhat(?:'s| is) today\b|\btoday's date\b|\bdate is it\b",
    ),
)


def _timer_seconds(plain: str) -> float | None:
    if not re.search(r"\btimer\b|\bwake me\b|\bremind me in\b|\balarm in\b", plain):
        return None
    if re.search(r"\b(?:cancel|stop|delete|clear|end)(?: (?:my|the|that|this|all))* (?:timers?|alarms?)\b", plain):
        return None
    total = 0.0
    for before, unit, behind in re.findall(
        r"([\w. -]+?)[ -](hour|minute|second)s?\b( and a (?:half|quarter)\b(?! \w*(?:hour|minute|second)))?", plain
    ):
        # The number comes right before the unit.
        count = re.split(r"\b(?:for|in|timer|to)\b", before)[-1]
        number = _how_many(count) + _PARTS[behind.rpartition(" ")[2]]
        total += number * {"hour": 3600, "minute": 60, "second": 1}[unit]
    return total or None


_PARTS = {"half": 0.5, "quarter": 0.25, "": 0.0}


def _how_many(words: str) -> float:
    """Return the count of a unit: "five", "a", "half an", "two and a half", "three quarters of an"."""
    number = find_number(words)
    if whole := re.search(r"\band a (half|quarter)\b", words):
        return (number or 1.0) + _PARTS[whole[1]]
    if re.search(r"\bquarters?\b", words):
        return (number or 1.0) * 0.25
    return 0.5 if re.search(r"\bhalf\b", words) else number or 1.0


def _results_to_tell(history: Sequence[Item]) -> list[str]:
    """Return sentences for the tool results that end the history, in order."""
    at = len(history)
    while at and history[at - 1].type == "tool_result":
        at -= 1
    inputs = {item.tool_call.id: item.tool_call.input for item in history[:at] if item.tool_call is not None}
    return [
        _tell(item.tool_result.name, inputs.get(item.tool_result.id, ""), item.tool_result.output_text())
        if item.tool_result.state == "success"
        else "That did not work, I'm afraid."
        for item in history[at:]
        if item.tool_result is not None
    ]


def _tell(tool: str, arguments: str, output: str) -> str:
    said = _spoken(output)
    match tool:
        case "get_time":
            return f"It is {said}."
        case "get_date":
            return f"Today is {said}."
        case "calculate" if re.fullmatch(r"-?[\d,.]+", said):
            expression = re.search(r'"expression":\s*"([^"]*)"', arguments)
            return f"{say_expression(expression[1])} is {said}." if expression else f"That makes {said}."
        case _:
            return said if said.endswith((".", "!", "?")) else f"{said}."


def _spoken(output: str) -> str:
    """Write a tool's result in words: JSON objects as "key: value", lists with commas."""
    try:
        value = json.loads(output)
    except ValueError:
        return output.strip() or "Done"
    return _words_of(value) or "Done"


def _words_of(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{str(key).replace('_', ' ')}: {_words_of(part)}" for key, part in value.items())
    if isinstance(value, list):
        return ", ".join(_words_of(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return say_number(value)
    return "nothing" if value is None else str(value).strip()


def _greet(situation: Situation, match: re.Match[str]) -> str:
    words = match[0].split()
    greeting = match[0].capitalize() if words[0] == "good" else "Hello"
    if situation.turn > 1:
        return f"{situation.named(greeting)}. I'm listening."
    return f"{situation.named(greeting)}. I'm {situation.me}. Tell me your name, or ask what I can do."


def _help(situation: Situation, _: re.Match[str]) -> str:
    abilities = [
        words
        for tool, words in (
            ("get_time", "the time"),
            ("get_date", "the date"),
            ("calculate", "a sum, like twelve times seven"),
        )
        if situation.has(tool)
    ]
    asked = f"You can ask me {_listed(abilities)}. " if abilities else ""
    timer = "I can set a timer. " if situation.has("set_timer") else ""
    return (
        f"{asked}{timer}I can learn your name, count, tell a short story, and repeat what you say. {situation.better}"
    )


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _repeat(situation: Situation, _: re.Match[str]) -> str:
    return situation.last_answer or "I have not said anything yet."


def _users_name(situation: Situation, _: re.Match[str]) -> str:
    return f"Your name is {situation.name}." if situation.name else "You have not told me yet. What is your name?"


def _count(situation: Situation, match: re.Match[str]) -> str:
    number = find_number(match[1])
    if number is None or not 1 <= number <= _HIGHEST_COUNT:
        return f"I can count from one to {_HIGHEST_COUNT}."
    return ", ".join(str(count) for count in range(1, int(number) + 1)) + "."


def _say_after(situation: Situation, match: re.Match[str]) -> str:
    # The original words, with their capitals, end the utterance.
    words = situation.said.split()[-len(match[1].split()) :]
    return " ".join(words)


def _missing(what: str) -> Rule:
    return lambda situation, match: f"I would need a tool for {what}, and none was given to me."


def _fixed(text: str) -> Rule:
    return lambda situation, match: text.format(me=situation.me, better=situation.better)


def _named(start: str, end: str) -> Rule:
    return lambda situation, match: f"{situation.named(start)}. {end}"


STORY = (
    "Once there was a little lighthouse that could not sleep. Every night it counted the ships. "
    "One night no ship came at all. So the lighthouse counted the stars instead. "
    "It was still counting when the sun came up. And ever since, the stars go out in the morning, "
    "so that a tired lighthouse can rest."
)
JOKE = "Why did the microphone break up with the speaker? It needed some feedback."

# Patterns of the plain utterance with their rules; the first match wins.
RULES: tuple[tuple[str, Rule], ...] = (
    (r"^(?:please )?(?:repeat after me|say) (.+)$", _say_after),
    (r"\b(?:repeat|say) (?:that|it)\b|\bwhat did you say\b|^(?:pardon|what|come again)$|^repeat\b", _repeat),
    (r"\bwhat(?:'s| is) my name\b|\bwho am i\b|\bknow my name\b", _users_name),
    (r"\bwhat(?:'s| is) your name\b", _fixed("I'm {me}. And you?")),
    (r"\bwhat (?:can|do) you do\b|\bwhat can i (?:say|ask|do)\b|^(?:please )?help\b|\bhelp me\b", _help),
    (
        r"\b(?:better|bigger|smarter|real) (?:mind|brain|model|voice)\b|\bapi key\b|\bopenai\b|\bgemini\b|\bsmarter\b",
        _fixed("{better}"),
    ),
    (
        r"\b(?:who|what) are you\b|\bare you (?:a |an |really )?(?:real|human|robot|person|machine|computer|ai|bot)\b"
        r"|\babout yourself\b|\bhow do you work\b",
        _fixed(f"{WHAT_I_AM} {{better}}"),
    ),
    (r"\bcan you hear me\b|\bdo you hear me\b|^(?:test|testing)\b", _named("Yes, I hear you well", "Go on.")),
    (r"\bhow are you\b|\bhow do you do\b|\bhow's it going\b", _named("I'm very well, thank you", "And how are you?")),
    (r"\bcount (?:up )?(?:from (?:1|one) )?to ([\w -]+)", _count),
    (r"\bstory\b", _fixed(STORY)),
    (r"\bjoke\b|\bmake me laugh\b", _fixed(JOKE)),
    (r"\bgood ?bye\b|\bbye\b|\bsee you\b|\bgood night\b", _named("Goodbye", "It was nice talking to you.")),
    (r"\bthank(?:s| you)\b", _named("You're welcome", "Is there anything else?")),
    (r"^(?:please )?(?:stop|be quiet|quiet|shut up|never ?mind|cancel|enough|that's enough|wait)\b", _fixed("Okay.")),
    (r"^(?:good (?:morning|afternoon|evening|day)|hello|hi|hey|greetings)\b", _greet),
    (r"\bnice to meet you\b", _named("Nice to meet you too", "What can I do for you?")),
    (r"^i(?:'m| am) (?:fine|good|well|great|ok|okay|very well|doing well)\b", _fixed("I'm glad to hear that.")),
    (r"^(?:yes|yeah|yep|right|correct|exactly|sure|ok|okay)\b[\w ]{0,20}$", _fixed("Good. Go on.")),
    (r"^(?:no|nope|wrong|not really)\b[\w ]{0,20}$", _fixed("Then please say it again, a little slower.")),
    (r"\bsorry\b", _fixed("No harm done.")),
    (_CLOCK_TOOLS[0][1], _missing("the time")),
    (_CLOCK_TOOLS[1][1], _missing("the date")),
    (r"\btimer\b", _missing("timers")),
)

_QUESTION = re.compile(r"^(?:who|what|when|where|why|how|which|is|are|do|does|can|could|will|would|should)\b")
_AFTER_ECHO = (
    "I heard you well, but I cannot do much with it. Ask me what I can do.",
    "Did I get that right?",
    "That is all I can make of it with simple rules.",
)
_AFTER_QUESTION = (
    "I do not know that. Ask me what I can do.",
    "That is beyond my simple rules.",
)


def _echo(situation: Situation) -> str:
    words = situation.said.split()
    heard = " ".join(words[:_LONGEST_ECHO_WORDS]).rstrip(".,;:")
    if len(words) > _LONGEST_ECHO_WORDS:
        heard += ", and so on"
    end = "" if heard.endswith(("!", "?")) else "."
    if situation.said.endswith("?") or _QUESTION.match(situation.plain):
        return f"You asked: {heard}{end} {_AFTER_QUESTION[situation.turn % len(_AFTER_QUESTION)]}"
    start = situation.named("I heard") if situation.turn == 1 else "You said"
    return f"{start}: {heard}{end} {_AFTER_ECHO[situation.turn % len(_AFTER_ECHO)]}"

"""What the keyless model says of itself and the product. A test holds these sentences against the code.

What depends on the server is said from its `Product`; without one (an agent of the user's own) the operator is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from realtime.model.local.keyless.product import (
    ASK_THE_OPERATOR,
    FREE_MODEL,
    SIMPLE_RULES,
    Product,
    companies,
    key_variables,
    titles,
)
from realtime.model.local.keyless.situation import Situation
from realtime.model.local.keyless.words import listed
from realtime.model.services import SERVICES
from realtime.version import __version__

WHAT_I_AM = "I'm {me}, the small voice built into this server. I run right here: no key, no internet, and English only."
HERE = "I hear you, think of an answer and speak on the computer that runs this server: no other company hears this."
ASK_ABOUT_KEEPING = "Whoever runs this server decides what is kept of calls; I cannot see it from here, so ask them."
_FREE = "Talking to me costs nothing: I run on this server."
QUICKSTART = "docs/quickstart.md shows the lines."

Answer = Callable[[Situation], str]


def said(text: str) -> Answer:
    """Return what always says the same."""
    return lambda situation: text


# -- who it is ---------------------------------------------------------------------------------------------------------


def who_i_am(situation: Situation) -> str:
    """Say who speaks, and how to get more."""
    if situation.brief.role:
        if situation.brief.title:
            return f"I'm {situation.me}, {situation.brief.title}."
        return f"I'm {situation.me}. {situation.brief.role}"
    return f"{WHAT_I_AM.format(me=situation.me)} {SIMPLE_RULES} {situation.pointer}"


def no_human(situation: Situation) -> str:
    """Say that no person speaks."""
    if situation.product is None or situation.brief.role:
        return f"I'm a program and no person: {situation.me}, a voice that works by simple rules."
    return f"I'm a program and no person. {WHAT_I_AM.format(me=situation.me)}"


def not_them(situation: Situation) -> str:
    """Say that this is none of the well-known assistants."""
    return (
        f"I'm {situation.me}: a small voice with simple rules, and no language model behind it. {_next_step(situation)}"
    )


def how_i_work(situation: Situation) -> str:
    """Say how speech becomes an answer."""
    return (
        "A recogniser turns your speech into words, simple rules choose an answer, and a small voice model speaks it, "
        "all of it on this server."
    )


def what_i_can_do(situation: Situation) -> str:
    """List abilities: those of the tools at hand, and its own."""
    if situation.brief.role:
        told = f"{situation.brief.role} " if not situation.brief.title else f"I'm {situation.brief.title}. "
        tools = [tool.name.replace("_", " ") for tool in situation.tools if tool.name not in _HOUSE_TOOLS]
        more = (
            f"I can also use these tools: {listed(tools)}."
            if tools
            else "Ask me about it, and I'll tell you what I know."
        )
        return told + more
    asked = [words for tool, words in _HOUSE_TOOLS.items() if situation.has(tool) and tool != "set_timer"]
    others = [tool.name.replace("_", " ") for tool in situation.tools if tool.name not in _HOUSE_TOOLS]
    first = f"You can ask me {listed(asked, 'or')}. " if asked else ""
    timer = "I can set a timer. " if situation.has("set_timer") else ""
    extra = f"I have tools for this: {listed(others)}. " if others else ""
    return (
        f"{first}{timer}{extra}I can learn your name, remember what you tell me, convert units, flip a coin, count, "
        f"spell, and tell jokes. {situation.pointer}"
    )


_HOUSE_TOOLS = {
    "get_time": "the time",
    "get_date": "the date",
    "calculate": "a sum, like twelve times seven",
    "set_timer": "a timer",
}


def tools(situation: Situation) -> str:
    """Say which tools there are, and how to have more."""
    names = [tool.name.replace("_", " ") for tool in situation.tools]
    have = (
        f"I have {len(names)} tool{'s' if len(names) != 1 else ''}: {listed(names)}."
        if names
        else "I have no tools here."
    )
    return f"{have} An agent of your own gets tools as plain Python functions; docs/tools.md shows how."


# -- a better language model -------------------------------------------------------------------------------------------


def _next_step(situation: Situation) -> str:
    return FREE_MODEL if situation.product is not None else ASK_THE_OPERATOR


def better_model(situation: Situation) -> str:
    """Say how to get a language model that knows more."""
    return f"{SIMPLE_RULES} There is no language model behind me. {_next_step(situation)}"


def keys(situation: Situation) -> str:
    """Say that no key is needed, and which variables take one."""
    if situation.product is None:
        return f"You need no key to talk to me. {ASK_THE_OPERATOR}"
    return (
        f"You need no key to talk to me. {FREE_MODEL} With a provider's key instead, set {key_variables()}; keys come "
        f"from the site of {companies()}."
    )


def no_account(situation: Situation) -> str:
    """Say that no account is needed."""
    return f"You need no account and no key to talk to me. {situation.pointer}"


def cost(situation: Situation) -> str:
    """Say what is free and what is not."""
    if situation.product is None:
        return _FREE
    return (
        f"{_FREE} A local language model is free as well. The models of {companies()} cost what those "
        "companies charge; the page says so before you call one."
    )


def models(situation: Situation) -> str:
    """Say which models there are, and which of them have a key."""
    if situation.product is None:
        return f"I'm the embedded model, with simple rules and no language model. {ASK_THE_OPERATOR}"
    ready = situation.product.ready
    keys = f"With a key here: {listed([*ready])}." if ready else "No provider has a key on this server yet."
    return (
        f"I'm the embedded model. The page's Model menu also lists {titles()}. {keys} Or run a free local model, with "
        "REALTIME_LLM_BASE_URL."
    )


def local_model(situation: Situation) -> str:
    """Say how to connect a language model on this computer."""
    if situation.product is None:
        return ASK_THE_OPERATOR
    return f"Any server with OpenAI's chat protocol can write my words. {FREE_MODEL} {QUICKSTART}"


def provider(situation: Situation) -> str:
    """Say how to use the provider that the user names."""
    if situation.product is None:
        return ASK_THE_OPERATOR
    if re.search(r"\b(?:claude|anthropic)\b", situation.core):
        return (
            "Claude can write my words: set REALTIME_LLM_PROVIDER to anthropic, REALTIME_LLM_MODEL to its name, and "
            "ANTHROPIC_API_KEY. It costs money; a local model with REALTIME_LLM_BASE_URL is free."
        )
    name = next((name for words, name in _PROVIDERS.items() if re.search(rf"\b(?:{words})\b", situation.core)), None)
    if name is None:
        return f"{FREE_MODEL} {QUICKSTART}"
    service = SERVICES[name]
    return (
        f"For {service.title}, set {service.key_variables[0]}, start the server again, and choose it in the page's "
        "Model menu. That costs money at the provider; a local model with REALTIME_LLM_BASE_URL is free."
    )


_PROVIDERS = {"openai|chatgpt|gpt": "openai", "gemini|google": "gemini", "dashscope|qwen|alibaba": "dashscope"}


# -- languages and voices ----------------------------------------------------------------------------------------------


def languages(situation: Situation) -> str:
    """Say which languages are understood and spoken."""
    only = "I understand and speak English only."
    if situation.product is None:
        return f"{only} {ASK_THE_OPERATOR}"
    return f"{only} The models of {titles()} speak other languages, with a key."


def voices(situation: Situation) -> str:
    """Say which voices there are."""
    return (
        "I have two voices: the page's Voice menu changes them. I cannot speak faster or slower, but I can "
        "repeat things in pieces."
    )


# -- privacy and storage -----------------------------------------------------------------------------------------------


def who_hears(situation: Situation) -> str:
    """Say who hears and keeps the call."""
    return f"{HERE} {_kept_briefly(situation.product)}"


def _kept_briefly(product: Product | None) -> str:
    if product is None:
        return ASK_ABOUT_KEEPING
    kept = {
        "none": "Nothing of this call is stored.",
        "memory": "The words of calls are kept in memory until the server stops.",
        "disk": "The words of calls are stored on that computer.",
    }[product.store]
    sound = "Sound is recorded only where the caller agreed." if product.records else "The sound is not recorded."
    return f"{kept} {sound}"


def recorded(situation: Situation) -> str:
    """Say whether sound is recorded."""
    product = situation.product
    if product is None:
        return ASK_ABOUT_KEEPING
    if not product.records:
        return f"This server records no sound. {_stored_words(product)}"
    return f"Only if you agreed: the page does that with ?recording in its address. {_stored_words(product)}"


def stored(situation: Situation) -> str:
    """Say what is stored, and how to delete it."""
    product = situation.product
    if product is None:
        return ASK_ABOUT_KEEPING
    sound = "" if product.records else " The sound is not recorded."
    return f"{_stored_words(product)}{sound}{_deleting(product)}"


def _stored_words(product: Product) -> str:
    if product.store == "none":
        return "Nothing of a call is stored after its end."
    if product.store == "memory":
        return "The words of calls are kept in memory, and gone when the server stops."
    return f"The words of calls are stored on the computer that runs this server, {_until(product)}."


def _until(product: Product) -> str:
    if product.keep_days is None and product.keep_gb is None:
        return "until someone deletes them"
    days = (
        f"for {product.keep_days:g} day{'s' if product.keep_days != 1 else ''} after the end"
        if product.keep_days is not None
        else ""
    )
    space = f"at most {product.keep_gb:g} gigabytes of them" if product.keep_gb is not None else ""
    return ", ".join(filter(None, (days, space)))


def _deleting(product: Product) -> str:
    if product.store == "none":
        return ""
    if not product.lists_calls:
        return " Whoever runs this server can delete them."
    return " To delete one, open Calls on the page: each has a Delete button."


def delete(situation: Situation) -> str:
    """Say how to delete calls."""
    product = situation.product
    if product is None:
        return ASK_ABOUT_KEEPING
    if product.store == "none":
        return "There is nothing to delete: this server stores nothing of a call after its end."
    where = (
        "Open Calls on the page: each call has a Delete button."
        if product.lists_calls
        else "Ask whoever runs this server: they can delete calls."
    )
    return f"{where} Until then I remember what you tell me in this call."


def transcript(situation: Situation) -> str:
    """Say where calls can be read."""
    product = situation.product
    if product is None:
        return ASK_ABOUT_KEEPING
    if product.store == "none" or not product.lists_calls:
        return f"The page shows it while we talk. {_stored_words(product)}"
    return f"Open Calls on the page: it shows each call with its words. {_stored_words(product)}"


# -- the page, and building with it ------------------------------------------------------------------------------------

WHERE = "I run on the computer that runs this server, and nowhere else."
LOUDER = "My voice has one volume: your device can make it louder."
INTERRUPT = "Just speak: I stop and listen. A short hum only makes me quieter. The page also has a button, Stop voice."
ROOMS = (
    "In a room, several people talk with several agents: start the server with realtime serve --room demo. "
    "docs/rooms.md tells more."
)
EMBED = (
    "Your page loads a script of this server and has a button that talks: docs/web-client.md shows both. Name your "
    "page's address with --allow-embed. Programs use the WebSocket of docs/protocol.md. "
    "In a FastAPI application, include voice_router: docs/quickstart.md shows it."
)
OWN_AGENT = (
    "Write a Python file with a function make_agent that returns a RealtimeAgent: a name, instructions, a model and "
    "tools. Then run realtime serve my_agent.py:make_agent. docs/quickstart.md shows one."
)
OTHER_DEVICES = (
    "The page works in a browser with a microphone. From another device the browser wants https: start the server with "
    "--host 0.0.0.0 --tls self --token auto."
)
OFFLINE = "I need no internet: recognition, rules and voice run on this server."
MICROPHONE = (
    "If no captions appear when you speak, allow the microphone in the browser, and see that the right one is chosen "
    "there. You can also type to me."
)
DOCS = (
    "I don't know that by heart. The README lists the documents: docs/quickstart.md to begin, docs/operations.md to "
    "run a server."
)
MADE_BY = "I'm part of realtime, an open-source server for voice agents under the Apache 2.0 licence."
ENDING = "Press End call on the page. To stop the server itself, press Ctrl and C in its terminal."
MUTE = "The page listens while a call runs. It has a Mute button for your microphone, and Stop voice for mine."
CODE = (
    "The server and its agents are written in Python. A program that talks to them may be in any "
    "language with WebSockets: "
    "docs/protocol.md."
)
TYPING = "The page has a text box: type there, and I answer aloud."
DELAY = "The page shows for each answer how long it took."


def version(situation: Situation) -> str:
    """Say the version."""
    return f"This is realtime, version {__version__}."


# -- beside an agent of the user's own ---------------------------------------------------------------------------------

_DOCUMENTATION = frozenset((ROOMS, EMBED, OWN_AGENT, OTHER_DEVICES, OFFLINE, DOCS, CODE, DELAY, TYPING))
"""What only the built-in agent tells: callers of another one know no server."""
_OF_THE_CALL = re.compile(
    r"\b(?:record(?:ed|ing|ings)"
    r"|(?:record|tape|taping|taped) (?:me|us|this|what|everything|my voice|our|the call|calls?)"
    r"|eavesdrop\w*|sp(?:y|ying)|wiretap\w*|overhear\w*|privacy|gdpr|transcripts?|listen(?:s|ing)?|hears?"
    r"|confidential\w*|conversations?|chats?|audio|my (?:voice|words|data|calls?|speech|recordings?)|personal data"
    r"|(?:the|this|our|these|of|past|previous|earlier|old|last|former) (?:voice|data|calls?|speech)|calls"
    r"|what (?:i|we) (?:say|said|tell|told)|(?:is|are) (?:this|it|you|we) (?:private|safe|secure)"
    r"|who else|third part\w+|cloud|(?:forget|delete|erase|remember) (?:me|us|everything))\b"
)
_OF_TALKING = re.compile(
    r"^(?:is|are) (?:this|it|you|everything|that)(?: really| actually| all| completely| still)? free"
    r"(?: of charge| to use| for me| or not| at all)?$"
    r"|^(?:what|how much) (?:do|does|will|would|is|are) (?:this|you|talking|calling|it|the call|a call|this call)"
    r"(?: \w+)? (?:cost|charge)(?: me)?$|^how much are you$|^do you cost\b"
    r"|\b(?:talk(?:ing)?|speak(?:ing)?|chat(?:ting)?|use|using) (?:to|with|you|this)\b|\b(?:this|the|per|a|each) call\b"
    r"|^(?:do|must|should|will|can) (?:i|we) (?:have to |need to |still )?pay(?: anything| money)?"
    r"(?: for (?:you|this|it|calls?|talking))?$"
    r"|^do you (?:charge|cost)(?: me| money| anything)?(?: for (?:you|this|it))?$"
)
_OF_A_MODEL = re.compile(
    r"\b(?:llms?|ai|language models?|brains?|openai|chatgpt|gpt|gemini|claude|anthropic|qwen|alibaba|dashscope|ollama"
    r"|llama|smarter|cleverer|api|intelligent|stupid|dumb|limited|upgrade|what you (?:run|are)"
    r"|(?:talk|speak|call) (?:to|with) you)\b"
    r"|\b(?:are|why|can't|don't|what|how) you .{0,40}\b(?:know|understand|useless|bad|smart|good|better)\b"
    r"|\bmodels? (?:are you|do you (?:use|run)|is (?:this|it|behind))\b|\byour (?:\w+ )?(?:models?|engine|answers?)\b"
    r"|\b(?:better|bigger|own|local) (?:\w+ )?(?:models?|minds?)\b"
    r"|\b(?:real|proper|normal|better) (?:answers?|conversations?|talks?|chats?)\b"
)
_OF_A_VOICE = re.compile(r"\b(?:voices?|speak|talk|sound|say|read|accent|tone|pitch)\w*\b")


_OF_AN_ACCOUNT = re.compile(
    r"\b(?:api|need (?:\w+ ){0,2}(?:accounts?|keys?|password|log ?in|to (?:register|sign up|log ?in))"
    r"|to (?:talk|speak|use|call))\b"
)
_SURELY: dict[Answer, re.Pattern[str]] = {
    **dict.fromkeys((who_hears, recorded, stored, delete, transcript), _OF_THE_CALL),
    **dict.fromkeys((better_model, models, local_model, provider), _OF_A_MODEL),
    **dict.fromkeys((keys, no_account), _OF_AN_ACCOUNT),
    cost: _OF_TALKING,
    voices: _OF_A_VOICE,
}
"""Words that the question needs where callers may mean a shop."""


def told_of(answer: Answer, situation: Situation) -> str | None:
    """Return an answer; None where an agent of the user's own is not surely asked for it."""
    words = answer(situation)
    if situation.product is not None:
        return words
    surely = _SURELY.get(answer)
    return None if words in _DOCUMENTATION or (surely and not surely.search(situation.core)) else words

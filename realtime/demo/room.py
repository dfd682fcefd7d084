"""The demo room: two agents of the embedded model in its two voices. No key, no network."""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncGenerator

import msgspec

from realtime.agent import RealtimeAgent
from realtime.event.base import ContentPart, Item
from realtime.model.local.chat import language_model_from_environment
from realtime.model.local.engine import SpeechEngine
from realtime.model.local.keyless.conversationalist import respond_to
from realtime.model.local.keyless.names import own_name
from realtime.model.local.keyless.skills import make_skills
from realtime.model.local.language_model import Prompt, Reply, ReplyText
from realtime.model.local.model import LocalRealtimeModel
from realtime.model.local.weights import WHISPER_FOLDER
from realtime.room import ChatRoom
from realtime.room.floor import addressed
from realtime.tool import Toolkit

NAME = "demo"
VOICES = {"Emma": "heart", "Tom": "heart-low"}
"""The agents and their voices; recognition understands these names well."""

_SAID_BY = re.compile(r"^\[[^\]\n]*\]:\s*")
_ROOM_NAME = re.compile(r"^You are (?P<name>[^\n]+), in a room\b", re.MULTILINE)
"""The agent's name in the room's instruction; it may differ from its original."""
_ASK = re.compile(r"\bask (?P<whom>\w+)[,:]?\s(?P<what>.+)", re.IGNORECASE | re.DOTALL)


def demo_room(*, engine: SpeechEngine | None = None) -> ChatRoom:
    """Make a room with Emma and Tom; the addressed agent answers.

    `engine` holds the parts of the embedded model (default: those of the running event loop). Raises UsageError for an
    invalid environment.
    """
    return ChatRoom([demo_agent(name, engine=engine) for name in VOICES], floor=addressed, name=NAME)


def demo_agent(name: str, *, engine: SpeechEngine | None = None) -> RealtimeAgent:
    """Make an agent of the embedded model with the built-in tools.

    Its language model is the chat endpoint of the environment, else `Roommate`.
    """
    model = LocalRealtimeModel(
        VOICES.get(name),
        language_model=language_model_from_environment() or Roommate(),
        whisper_dir=os.environ.get(WHISPER_FOLDER) or None,
        engine=engine,
    )
    prompt = "You are a friendly voice assistant. Answer in one or two short sentences."
    return RealtimeAgent(name, prompt, model, toolkit=Toolkit(make_skills(time.time)))


class Roommate:
    """The built-in language model in a room: ignores speaker and addressee, and passes questions on.

    At "Emma, ask Tom what twelve times seven is" Emma says "Tom, what twelve times seven is?", and Tom has the floor.
    """

    name = "local"
    takes_images = False

    async def respond(self, prompt: Prompt) -> AsyncGenerator[Reply, None]:
        """See `LanguageModel`."""
        named = _ROOM_NAME.search(prompt.instructions)
        instructions = f"Your name is {named['name']}." if named is not None else prompt.instructions
        me = named["name"] if named is not None else own_name(instructions)
        history = tuple(_plain(item, me) for item in prompt.history)
        last = history[-1] if history else None
        asked = _ASK.search(last.text) if last is not None and last.role == "user" else None
        if asked is not None and asked["whom"].casefold() != me.casefold():
            yield ReplyText(f"{asked['whom'].capitalize()}, {asked['what'].rstrip(' .?!')}?")
            return
        for reply in respond_to(Prompt(instructions, history, prompt.tools)):
            yield reply


def _plain(item: Item, me: str) -> Item:
    """Remove speaker and addressee from another participant's message."""
    if item.type != "message" or item.role != "user":
        return item
    words = _SAID_BY.sub("", item.text)
    words = re.sub(rf"^(?:hey |hello |hi )?{re.escape(me)}(?:\s*+[,.!:])?\s+(?=\S)", "", words, flags=re.IGNORECASE)
    return msgspec.structs.replace(item, content=(ContentPart(type="text", text=words),))

"""Who may speak next in a room: a policy is one function over what the room knows.

    def only_the_boss(state: FloorState) -> str | None:
        return "Ada" if state.last is not None and state.last.kind == "human" else None

It is asked when a turn is over and no human speaks. It returns the name or the id of an agent, one of `state.agents`,
or None for no agent; it may be async. Humans need no policy: a human who speaks has the floor. Whatever a policy
returns, no more than `ChatRoom(max_agent_turns=...)` agents speak one after another without a human.

Pure: nothing here waits, except for a moderator.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from realtime.message.speakers import spoken_by
from realtime.turn.small_talk import DEFAULT_BACKCHANNELS, rest_of, tokens_of

Kind = Literal["human", "agent"]
JOINERS = frozenset("\u200c\u200d" + "".join(map(chr, range(0xFE00, 0xFE10))))
"""Seen only in what they do to their neighbours: zero-width (non-)joiners, as Persian writes them, and the selectors of
emoji. Part of a name, but nothing that tells two apart."""
_WITHOUT_JOINERS = dict.fromkeys(map(ord, JOINERS))
MAX_AGENT_TURNS = 4
"""How many agents may speak one after another without a human."""


@dataclass(frozen=True, slots=True)
class Participant:
    """A human or an agent in a room.

    `away`: its model, or its socket, is lost; `muted`: not heard; `silent`: an agent that speaks only if it is called.
    """

    id: str
    name: str
    kind: Kind
    away: bool = False
    muted: bool = False
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A turn that is over: the words that were heard of it."""

    id: str
    name: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class FloorState:
    """What a policy chooses by.

    `said` are the latest turns in order; `agent_turns` counts those of agents since a human spoke; `addressed` is the
    id of the agent that was spoken to last.
    """

    participants: tuple[Participant, ...]
    said: tuple[Said, ...] = ()
    agent_turns: int = 0
    addressed: str | None = None

    @property
    def agents(self) -> tuple[Participant, ...]:
        """The agents that can speak, in the order of the room; a silent one only when it is called."""
        called = self.called
        return tuple(one for one in self.participants if _is_able(one) and (one is called or not one.silent))

    @property
    def called(self) -> Participant | None:
        """The silent agent that the last turn calls: "Friday, ..." or "..., Friday?"."""
        last = self.last
        silent = [one for one in self.participants if one.silent and _is_able(one)]
        if last is None or not silent:
            return None
        called = called_in(last.text, self.participants)
        return called if called in silent and called.id != last.id else None

    @property
    def last(self) -> Said | None:
        """The turn that is over now; None where nothing was said yet."""
        return self.said[-1] if self.said else None

    def find(self, speaker: str | None) -> Participant | None:
        """The agent of this id or name that can speak."""
        if speaker is None:
            return None
        wanted = folded(speaker)
        return next((one for one in self.agents if one.id == speaker or folded(one.name) == wanted), None)


Choice = str | Participant | None
"""A policy's choice: the name or the id of an agent, the agent itself, or None for no agent."""
Policy = Callable[[FloorState], Choice | Awaitable[Choice]]


def named_by(choice: object) -> str | None:
    """The name or id of a policy's choice. Raises TypeError for any other type."""
    if isinstance(choice, Participant):
        return choice.id
    if choice is None or isinstance(choice, str):
        return choice
    raise TypeError(f"a floor policy answers with a name, a participant or None, and not with {type(choice).__name__}")


def broadcast(state: FloorState) -> str | None:
    """All agents answer in turn, in the order of the room.

    Each has heard those before it; then they continue among themselves until the room's limit.

    A room with more agents than `ChatRoom(max_agent_turns=...)` (4) needs a higher limit, else the last of them never
    answer.
    """
    return state.called.id if state.called is not None else _next_after(state, state.last)


def round_robin(state: FloorState) -> str | None:
    """One agent answers each turn of a human, in turns."""
    if state.last is None or state.last.kind == "agent":
        return None
    if state.called is not None:
        return state.called.id
    silent = {one.id for one in state.participants if one.silent}
    before = next((one for one in reversed(state.said) if one.kind == "agent" and one.id not in silent), None)
    return _next_after(state, before)


def addressed(state: FloorState) -> str | None:
    """The agent that was named last answers; at first, the first of the room.

    An agent that names another gives it the floor; one that names none gives it back.
    """
    last = state.last
    if last is None:
        return None
    named = state.called or _spoken_to(state, last)
    if named is not None or last.kind == "agent":
        return named.id if named is not None else None
    sticky = state.find(state.addressed)
    if sticky is not None:
        return sticky.id
    return state.agents[0].id if state.agents else None


def moderator(ask: Callable[[str], Awaitable[str]]) -> Policy:
    """A policy that asks a moderator in words.

    `ask` gets the talk and the names of the agents, and returns a text that names one of them, or none. docs/rooms.md
    shows an agent that does.

    One function over the state is a moderator as well, and needs no words: give it to the room as it is.
    """

    async def decide(state: FloorState) -> str | None:
        if not state.agents:
            return None
        answer = await ask(_question(state))
        named = named_in(answer, state.agents, besides=state.participants)
        return named.id if named is not None else None

    return decide


POLICIES: dict[str, Policy] = {"broadcast": broadcast, "addressed": addressed, "round_robin": round_robin}
"""By the names that templates and commands use."""


def named_in(
    text: str, participants: tuple[Participant, ...], *, besides: tuple[Participant, ...] = ()
) -> Participant | None:
    """Which of `participants` is named first in the text.

    Case and the way in which letters are composed do not count, nor accents where no name has them: speech recognisers
    write few.

    A name is a word of its own; where a language is written without spaces, it may stand within others. Where two names
    begin at one place the longer one is meant: `Anna Lee` is not taken for `Anna`. `besides` are the others in the
    room, so that a call for `Anna 2`, who is none of `participants`, is none for `Anna`.
    """
    for written in (folded, _without_accents):
        said = written(text)
        # Where two begin at one place, the longer comes first.
        found = sorted(
            (start, -length, place)
            for place, one in enumerate((*participants, *besides))
            for start, length in _places(said, written(one.name))
        )
        taken = 0
        for start, minus_length, place in found:
            if start < taken:
                continue
            if place < len(participants):
                return participants[place]
            taken = start - minus_length
        if found:
            break
    return None


_CALLING = frozenset(["and", "but", "hallo", "hello", "hey", "hi", "hola", "listen", "oh", "salut", "so"])
"""Words that stand before a called name, besides small talk."""


def called_in(text: str, participants: tuple[Participant, ...]) -> Participant | None:
    """Which of `participants` the text calls: at its beginning ("Hey Ben, look!") or at its end ("What now, Ben?").

    A sign separates the name from the rest, so "Ben told me" and "call Ben" call no participant.
    """
    for written in (folded, _without_accents):
        said = written(text)
        for one in sorted(participants, key=lambda one: -len(one.name)):
            for at, length in _places(said, written(one.name)):
                before, after = said[:at].rstrip(), said[at + length :].lstrip()
                leads = [word for word in rest_of(tokens_of(before), DEFAULT_BACKCHANNELS)[0] if word not in _CALLING]
                is_first = not leads and (not after or not _is_word(after[0]))
                is_last = before != "" and not _is_word(before[-1]) and not any(map(_is_word, after))
                if is_first or is_last:
                    return one
    return None


def with_turn(state: FloorState, said: Said, *, keep: int = 50) -> FloorState:
    """The state after a turn: counts agents' turns and remembers the agent that was spoken to.

    A silent agent is not remembered: it answers once.
    """
    named = _spoken_to(state, said)
    is_silent = any(one.silent and one.id == said.id for one in state.participants)
    spoken_to = said.id if said.kind == "agent" and not is_silent else state.addressed
    if named is not None:
        spoken_to = named.id
    return replace(
        state,
        said=(*state.said, said)[-keep:],
        agent_turns=state.agent_turns + 1 if said.kind == "agent" else 0,
        addressed=spoken_to,
    )


def _is_able(one: Participant) -> bool:
    return one.kind == "agent" and not (one.away or one.muted)


def _next_after(state: FloorState, before: Said | None) -> str | None:
    """The next agent in the order of the room; after a human, the first.

    The agent before it may be away or muted by now. No agent answers itself.
    """
    able = state.agents
    order = [one for one in state.participants if one.kind == "agent"]
    ids = [one.id for one in order]
    at = ids.index(before.id) + 1 if before is not None and before.id in ids else 0
    following = next((one for one in (*order[at:], *order[:at]) if one in able), None)
    if following is None or (state.last is not None and following.id == state.last.id):
        return None
    return following.id


def _spoken_to(state: FloorState, said: Said) -> Participant | None:
    """The agent that is named in a turn, and is not silent; an agent does not address itself."""
    others = tuple(one for one in state.agents if one.id != said.id and not one.silent)
    return named_in(said.text, others, besides=state.participants)


_WITHOUT_SPACES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1100, 0x11FF),  # Korean: what follows a name is written together with it
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x9FFF),  # Chinese, Japanese
    (0xA000, 0xA4CF),  # Yi
    (0xAC00, 0xD7FF),  # Korean
    (0xF900, 0xFAFF),  # Chinese
    (0x20000, 0x3FFFF),  # Chinese
)
"""Scripts whose words end without a space or other sign."""


_ACCENTS = re.compile("[\u0300-\u036f]")


def folded(text: str) -> str:
    """The text as it is compared: one form of all those that a reader takes for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text.translate(_WITHOUT_JOINERS)).casefold())


def _without_accents(text: str) -> str:
    """The same without the marks on Latin, Greek and Cyrillic letters; elsewhere marks make other words."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", folded(text))))


def _places(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Begin and length of the name as a separate word in `text`."""
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if _is_border(text, at) and _is_border(text, end):
            yield at, len(name)
        at = text.find(name, at + 1)


def _is_border(text: str, at: int) -> bool:
    """Whether a word may begin or end before this character."""
    if at in (0, len(text)):
        return True
    before, after = text[at - 1], text[at]
    if unicodedata.category(after).startswith("M"):
        return False  # it belongs to the letter before it
    return not (_is_word(before) and _is_word(after)) or _is_unspaced(before) or _is_unspaced(after)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char).startswith("M")


def _is_unspaced(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _WITHOUT_SPACES)


def _question(state: FloorState) -> str:
    talk = "\n".join(spoken_by(one.name, one.text) for one in state.said)
    names = ", ".join(one.name for one in state.agents)
    return f"{talk}\n\nWho of these should speak next: {names}? Answer with one name, or with: nobody."

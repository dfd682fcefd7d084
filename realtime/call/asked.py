"""Those whom an agent asks aloud: the user of a call, or humans in a room.

What a question whether a tool may run needs to know of them: how much of it they have heard, where their audio is,
whether the agent may speak, and what becomes of a turn that is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from realtime.event.server import ServerEvent


class Person(Protocol):
    """A person who may answer."""

    @property
    def id(self) -> str:
        """Their id; "" for the only user of a call."""

    @property
    def position_ms(self) -> int:
        """How much of their audio has arrived, in ms."""

    def played_ms(self, item_id: str) -> int:
        """How much of an item their own client has played, in ms."""

    def unplayed_ms(self) -> int:
        """How much speech their client has still to play, in ms."""


class Asked(Protocol):
    """Those who are asked, and the floor between them and the agent."""

    @property
    def words_s(self) -> float:
        """How long the words of a turn may take."""

    @property
    def is_silent(self) -> bool:
        """Whether nothing that was said is still to be played."""

    @property
    def is_free(self) -> bool:
        """Whether the agent may begin to speak: no one else speaks, or has the floor."""

    @property
    def is_held_up(self) -> bool:
        """Whether time means nothing now: a voice is undecided, or another participant has the floor."""

    def why_not(self, call_id: str) -> str:
        """Why a voice cannot ask about this call; "" where it can."""

    def people(self, call_id: str) -> Sequence[Person]:
        """Those who are there and may answer for this call."""

    def only(self, call_id: str) -> str | None:
        """The name of the one among several who may answer; None without others."""

    def name_of(self, call_id: str, person_id: str) -> str | None:
        """The name of who answered, else of who is asked; None where there is none."""

    def follow(self, follow: Callable[[ServerEvent, str], None]) -> Callable[[], None]:
        """Call `follow` with each later event of the agent but speech.

        Also with what the clients of those who are asked play: it gets the event, and whose client plays. Returns what
        ends this.
        """

    def let_pass(self, *, is_theirs: bool) -> None:
        """Their turn gets no response; unless it `is_theirs`, it was an echo, or of someone else."""

    def respond(self, beside: Callable[[], None] | None) -> None:
        """Their turn is no answer: it is answered like any other, or by `beside`."""

    def forget(self, turn_ids: Iterable[str], *, typed: bool) -> None:
        """Let the agent's model forget these turns, which were an answer."""

    @property
    def recording(self) -> str | None:
        """The path of the recorded sound that positions are about; None where there is none."""

"""The rooms of a server: by id, made from templates or over HTTP, forgotten when they are empty."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import msgspec

from realtime.agent import RealtimeAgent
from realtime.errors import ClientError, UsageError
from realtime.event import server as s
from realtime.event.config import SessionConfig
from realtime.model.base import RealtimeModel
from realtime.options import check_fields
from realtime.room import ChatRoom
from realtime.room.floor import POLICIES
from realtime.room.human_participant import HumanParticipant
from realtime.room.names import settled_name
from realtime.room.participant import folded
from realtime.room.thinking import RoomAgent
from realtime.runtime import Runtime

logger = logging.getLogger(__name__)

MAX_ROOMS = 100
MAX_AGENTS = 8
"""How many agents a room that a client asks for may have."""
MAX_AWAITED = 8
"""How many empty rooms one stranger may have made."""
GRACE_S = 30.0
"""How long an empty room is kept, in seconds."""
ENTER_S = 30.0
"""How long a new room is kept at least, in seconds: its agents may have to be connected first."""
ROOM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class AgentRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent to be added to a room: from a template of the server, perhaps under another name, or described.

    `model` is as `config.model_provider` of a call; None is the server's default.
    """

    template: str | None = None
    name: str | None = None
    instructions: str = ""
    model: str | None = None
    voice: str | None = None


class RoomRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A room to be made: from a template, or with these agents and this policy of `realtime.room.floor.POLICIES`.

    `floor` None is `addressed`, `room_id` None an unguessable id.
    """

    template: str | None = None
    agents: tuple[AgentRequest, ...] | None = None
    floor: str | None = None
    room_id: str | None = None


@dataclass(slots=True, eq=False)
class Hosted:
    """A room with its id. Only `owner` may remove, mute and rename participants and add agents; None: everyone."""

    id: str
    room: ChatRoom
    template: str | None = None
    owner: str | None = None
    keep_until: float = 0.0
    """Loop time until which it is kept while empty."""
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)
    made_by: str | None = None
    """The address of the stranger who made it."""
    coming: list[str] = field(default_factory=list)
    """The names of agents that are being connected."""

    def describe(self) -> dict[str, Any]:
        """Describe who is there and who has the floor. Holds no secrets."""
        told = self.room.describe()
        named = next((name for name, policy in POLICIES.items() if policy is self.room.policy), None)
        return {
            "room_id": self.id,
            "template": self.template,
            "owned": self.owner is not None,
            "policy": named or "custom",
            "floor": self.room.floor,
            "humans": len(self.room.humans),
            "participants": [
                {"id": one.id, "name": one.name, "kind": one.kind, "away": one.away, "muted": one.muted}
                for one in self.room.participants
            ],
            "agents": told["agents"],
        }

    def advertise(self) -> dict[str, Any]:
        """Describe it to strangers: its agents by name, and how many humans are there."""
        agents = [{"name": one["name"]} for one in self.room.describe()["agents"]]
        return {"room_id": self.id, "template": self.template, "humans": len(self.room.humans), "agents": agents}


@dataclass(eq=False)
class Rooms:
    """The rooms of a server. `templates` make rooms by name, `agents` make agents by name to be added to one.

    The first human who comes makes a room whose id is the name of a template; rooms of other ids are made from
    `default`, and where that is None they have to be made first (`make`). `choose_model` opens the models of agents
    that clients describe (`realtime.server.models.Models.choose`); None: they can only ask for templates.

    An empty room waits `grace_s` seconds; then its agents leave and it is forgotten. At most `max_rooms` are there.
    """

    templates: Mapping[str, Callable[[], ChatRoom]]
    _: KW_ONLY
    default: str | None = None
    agents: Mapping[str, Callable[[], RoomAgent]] = field(default_factory=dict)
    choose_model: Callable[[SessionConfig], RealtimeModel] | None = None
    max_rooms: int = MAX_ROOMS
    grace_s: float = GRACE_S

    def __post_init__(self) -> None:
        check_fields(self)
        if self.default is not None and self.default not in self.templates:
            there = ", ".join(self.templates) or "none"
            raise ValueError(f"there is no template {self.default!r}; there are {there}")
        self._hosted: dict[str, Hosted] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._over = False

    # -- rooms -----------------------------------------------------------------------------------------------------

    @property
    def hosted(self) -> list[Hosted]:
        """All rooms, in order of making."""
        return [*self._hosted.values()]

    def advertised(self) -> list[dict[str, Any]]:
        """What strangers may know: the rooms that the server itself offers by name, without who is in them."""
        return [one.advertise() for one in self.hosted if one.id in self.templates]

    def find(self, room_id: str) -> Hosted:
        """The room of this id. Raises ClientError where there is none."""
        hosted = self._hosted.get(room_id)
        if hosted is None:
            raise ClientError(f"there is no room {room_id[:64]!r}", code="no_such_room")
        return hosted

    def make(
        self, request: RoomRequest, runtime: Runtime, owner: str | None = None, *, stranger: str | None = None
    ) -> Hosted:
        """Make a new room. `stranger` is the address that asks, where everyone may: its empty rooms are bounded.

        Raises ClientError for what cannot be made, what `choose_model` raises, and what a template raises.
        """
        awaited = sum(one.made_by == stranger and not one.room.humans for one in self.hosted)
        if stranger is not None and awaited >= MAX_AWAITED:
            raise ClientError(
                f"{MAX_AWAITED} rooms that you have made are empty: come into one, or wait until they are forgotten",
                code="too_many_rooms",
                retryable=True,
            )
        room_id = request.room_id if request.room_id is not None else runtime.new_id("room")
        if ROOM_ID.fullmatch(room_id) is None:
            raise ClientError("a room's id has up to 64 letters, digits, - and _", code="invalid_room_id")
        if room_id in self._hosted:
            raise ClientError(f"there is a room {room_id!r} already", code="room_exists")
        if room_id in self.templates and (request.template != room_id or owner is not None):
            # Humans who come to it expect what its template makes, and no owner who may change that.
            raise ClientError(
                f"{room_id!r} is the room of a template: it has no other agents and no owner", code="room_exists"
            )
        if (request.template is None) == (request.agents is None):
            raise ClientError("name either a template or agents", code="invalid_request")
        if request.template is not None:
            if request.floor is not None:
                raise ClientError("a template has a floor of its own: leave `floor` out", code="invalid_request")
            hosted = self._host(room_id, request.template, owner)
        else:
            agents = request.agents or ()
            hosted = self._host(room_id, None, owner, lambda: self._room_of(agents, request.floor, room_id))
        hosted.made_by = stranger
        return hosted

    def admit(self, room_id: str, name: str) -> None:
        """Raise ClientError where a human of this name cannot come in.

        That is where the room is neither there nor made on demand, or the name is not allowed.
        """
        settled_name(name)
        if room_id not in self._hosted:
            self._template_for(room_id)

    def make_human(self, room_id: str, name: str, runtime: Runtime) -> HumanParticipant:
        """Make a human's participant; make its room first, if a template says how.

        Raises ClientError as `admit` and `ChatRoom.make_human` do, and what a template raises.
        """
        self.admit(room_id, name)
        hosted = self._hosted.get(room_id) or self._host(room_id, self._template_for(room_id), None)
        human = hosted.room.make_human(name, runtime)
        self._keep(hosted, max(self.grace_s, ENTER_S))
        return human

    async def close(self) -> None:
        """Close all rooms and make no new ones: their agents leave. Idempotent."""
        self._over = True
        for hosted in self.hosted:
            self._forget(hosted, "shutdown")
        if self._closing:
            await asyncio.wait(self._closing)

    # -- who is in them --------------------------------------------------------------------------------------------

    async def add_agent(self, room_id: str, request: AgentRequest) -> None:
        """One more agent. Raises ClientError for what cannot be, what `choose_model` and `AgentRun.join` raise."""
        hosted = self.find(room_id)
        names = {folded(one["name"]) for one in hosted.room.describe()["agents"]} | {*hosted.coming}
        if len(names) >= MAX_AGENTS:
            raise ClientError(f"a room has at most {MAX_AGENTS} agents", code="too_many_agents")
        agent = self._agent_of(request)
        name = folded(agent.name)
        if name in names:
            raise ClientError(f"{agent.name!r} is taken", code="name_taken")
        hosted.coming.append(name)
        try:
            await hosted.room.add(agent)
        finally:
            hosted.coming.remove(name)

    def change(self, room_id: str, participant_id: str, *, muted: bool | None = None, name: str | None = None) -> None:
        """Mute, unmute or rename a participant.

        Raises ClientError, with nothing changed, for an unknown id and for a name that is taken or not allowed.
        """
        room = self.find(room_id).room
        if name is not None:
            name = settled_name(name)
        try:
            if name is not None:
                room.rename(participant_id, name)
            if muted is not None:
                room.mute(participant_id, muted)
        except KeyError:
            raise _unknown_participant() from None

    async def remove(self, room_id: str, participant_id: str) -> None:
        """Remove a participant. Raises ClientError for an unknown id."""
        room = self.find(room_id).room
        try:
            await room.remove(participant_id)
        except KeyError:
            raise _unknown_participant() from None

    # -- inside ----------------------------------------------------------------------------------------------------

    def _template_for(self, room_id: str) -> str:
        """The template of a room that is not there yet. Raises ClientError where there is none."""
        if room_id in self.templates:
            return room_id
        if self.default is None or ROOM_ID.fullmatch(room_id) is None:
            raise ClientError(f"there is no room {room_id[:64]!r}: it has to be made first", code="no_such_room")
        return self.default

    def _host(
        self, room_id: str, template: str | None, owner: str | None, make: Callable[[], ChatRoom] | None = None
    ) -> Hosted:
        if self._over:
            raise ClientError("the server is about to stop and makes no rooms", code="draining", retryable=True)
        if len(self._hosted) >= self.max_rooms:
            raise ClientError("the server has no place for another room", code="too_many_rooms", retryable=True)
        if make is None:
            if template is None or template not in self.templates:
                there = ", ".join(self.templates) or "none"
                raise ClientError(f"there is no template {template!r}; there are: {there}", code="unknown_template")
            make = self.templates[template]
        room = make()
        if not isinstance(room, ChatRoom):
            raise UsageError(f"what makes the room {room_id!r} has made a {type(room).__name__}, not a ChatRoom")
        hosted = self._hosted[room_id] = Hosted(room_id, room, template, owner)
        hosted.room.on_event.append(lambda event: self._watch(hosted, event))
        self._keep(hosted, max(self.grace_s, ENTER_S))
        logger.info("room %s is open", room_id)
        return hosted

    def _room_of(self, requests: Sequence[AgentRequest], floor: str | None, name: str) -> ChatRoom:
        if not 0 < len(requests) <= MAX_AGENTS:
            raise ClientError(f"a room is made with 1 to {MAX_AGENTS} agents", code="too_many_agents")
        policy = POLICIES.get(floor or "addressed")
        if policy is None:
            there = ", ".join(POLICIES)
            raise ClientError(f"there is no floor {floor!r}; there are: {there}", code="unknown_floor")
        agents = [self._agent_of(one) for one in requests]
        names = [folded(agent.name) for agent in agents]
        if len(set(names)) < len(names):
            raise ClientError("two agents of a room have one name; nobody could address them", code="name_taken")
        return ChatRoom(agents, floor=policy, name=name)

    def _agent_of(self, request: AgentRequest) -> RoomAgent:
        if request.template is not None:
            if request.instructions or request.model is not None or request.voice is not None:
                raise ClientError(
                    "a template has instructions, a model and a voice of its own: leave these out",
                    code="invalid_request",
                )
            make = self.agents.get(request.template)
            if make is None:
                there = ", ".join(self.agents) or "none"
                raise ClientError(
                    f"there is no agent {request.template!r}; there are: {there}", code="unknown_template"
                )
            agent = make()
            if request.name is not None:
                agent.name = settled_name(request.name)
            return agent
        if self.choose_model is None:
            raise ClientError("agents are made from templates here", code="templates_only")
        name = settled_name(request.name or "")
        model = self.choose_model(SessionConfig(model_provider=request.model))
        return RealtimeAgent(name, request.instructions, model, voice=request.voice)

    def _watch(self, hosted: Hosted, event: s.ServerEvent) -> None:
        """Keep an empty room for a while; a room with humans stays."""
        if not isinstance(event, s.ServerRoomJoinedEvent | s.ServerRoomLeftEvent):
            return
        if hosted.room.humans:
            self._stop_timer(hosted)
            hosted.keep_until = 0.0
        elif isinstance(event, s.ServerRoomLeftEvent) and hosted.timer is None:
            # Only a human who leaves empties a room: agents that come and go, and new names, do not.
            self._keep(hosted, self.grace_s)

    def _keep(self, hosted: Hosted, for_s: float) -> None:
        """Keep an empty room for at least this long."""
        if hosted.room.humans or self._hosted.get(hosted.id) is not hosted:
            return
        loop = asyncio.get_running_loop()
        hosted.keep_until = max(hosted.keep_until, loop.time() + for_s)
        self._stop_timer(hosted)
        hosted.timer = loop.call_at(hosted.keep_until, self._forget, hosted, "empty")

    def _stop_timer(self, hosted: Hosted) -> None:
        if hosted.timer is not None:
            hosted.timer.cancel()
            hosted.timer = None

    def _forget(self, hosted: Hosted, reason: str) -> None:
        self._stop_timer(hosted)
        del self._hosted[hosted.id]
        logger.info("room %s is over: %s", hosted.id, reason)
        closing = asyncio.create_task(hosted.room.close(reason), name=f"closing room {hosted.id}")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


def _unknown_participant() -> ClientError:
    return ClientError("nobody of this id is in the room", code="unknown_participant")

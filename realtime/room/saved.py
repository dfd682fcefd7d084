"""The state of a room: its agents and what was heard in it, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import msgspec

from realtime.agent.heard import heard_items, items_from_json, items_to_json
from realtime.agent.realtime import RealtimeAgent
from realtime.errors import UsageError
from realtime.room.floor import FloorState, Said
from realtime.room.people import People
from realtime.room.speaker import Speaker


def save(people: People, talk: FloorState, speaker: Speaker) -> dict[str, Any]:
    """Return a room's agents, by name, and its talk as heard."""
    unplayed = speaker.agent.item_ids if speaker.agent is not None else []
    items = heard_items(people.record.conversation, speaker, unplayed)
    return {
        "agents": {one.name: {"id": one.agent_id, "state": one.state_dict()} for one in people.expected},
        "conversation": items_to_json(items),
        "speakers": people.record.speakers_of(items),
        "said": [asdict(one) for one in talk.said],
        "agent_turns": talk.agent_turns,
        "addressed": talk.addressed,
    }


def restore(people: People, talk: FloorState, state: Mapping[str, Any], strict: bool) -> FloorState:
    """Let a room that has not begun go on from a state; return its talk.

    Raises UsageError for a damaged state. With `strict`, an agent without a saved state raises KeyError before
    anything changes.
    """
    saved = state.get("agents", {})
    if strict and (missing := [one.name for one in people.expected if one.name not in saved]):
        raise KeyError(f"the state of the room lacks the agents {', '.join(missing)}")
    items = items_from_json(state.get("conversation", []))
    try:
        said = msgspec.convert(state.get("said", []), tuple[Said, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"this is no saved talk of a room: {error}", code="bad_state") from error
    for agent in people.expected:
        if agent.name in saved:
            _restore_agent(agent, saved[agent.name], strict)
    people.record.recall(items, state.get("speakers", {}))
    return replace(talk, said=said, agent_turns=state.get("agent_turns", 0), addressed=state.get("addressed"))


def _restore_agent(agent: RealtimeAgent, saved: Mapping[str, Any], strict: bool) -> None:
    agent.load_state_dict(saved["state"], strict)
    # What it said has its id: with another one these would be the words of someone else.
    agent.agent_id = saved.get("id") or agent.agent_id

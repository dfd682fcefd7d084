/** The participants of a room, with floor and activity, folded from the events. Pure. */

import { type LocalSignal, type ServerEvent, type ServerEventOf, isGone } from "@realtime-voice/client";
import { readModelInfo } from "../words.ts";

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly kind: "human" | "agent";
  /** Whether an agent's model or a human's line is lost and may come back. */
  readonly away: boolean;
  /** Whether the room plays this human to no one, or gives this agent no floor. */
  readonly muted: boolean;
  /** Whether a human speaks, or an agent prepares or gives a response. */
  readonly active: boolean;
  /** The name of an agent's voice, if it has one. */
  readonly voice: string | null;
}

export interface People {
  /** In the order of joining. */
  readonly all: readonly Person[];
  /** The user's own id; null before joining. */
  readonly me: string | null;
  /** Every id that the user had: a restarted server gives a new one. */
  readonly mine: readonly string[];
  /** The id of the participant who has the floor; null: anyone may speak. */
  readonly floor: string | null;
  /** By id, the voices of agents that were ready before they joined. */
  readonly voices: Readonly<Record<string, string>>;
}

export const NOBODY: People = { all: [], me: null, mine: [], floor: null, voices: {} };

export function personOf(people: People, id: string | null): Person | null {
  return people.all.find((person) => person.id === id) ?? null;
}

/** The maker of a thing by its id: ids of what agents make begin with theirs. */
export function makerOf(people: People, id: string): Person | null {
  return people.all.find((person) => id.startsWith(`${person.id}.`)) ?? null;
}

export function foldPeople(people: People, event: ServerEvent | LocalSignal): People {
  switch (event.type) {
    case "closed":
      return NOBODY;
    case "server_room_joined":
      return joined(people, event);
    case "server_room_changed": {
      const { participant_id: id, name, muted, away } = event;
      return change(people, id, { name, muted, away, ...(away && { active: false }) });
    }
    case "server_room_left":
      if (event.reason === "away") return change(people, event.participant_id, { away: true, active: false });
      if (!isGone(event)) return people;
      return {
        ...people,
        me: people.me === event.participant_id ? null : people.me,
        all: people.all.filter(({ id }) => id !== event.participant_id),
      };
    case "server_room_floor":
      return { ...people, floor: event.participant_id };
    case "agent_ready": {
      const voice = readModelInfo(event.model)?.voice ?? null;
      const voices = voice === null ? people.voices : { ...people.voices, [event.agent_id]: voice };
      return change({ ...people, voices }, event.agent_id, { away: false, voice });
    }
    case "agent_reconnecting":
      return change(people, event.agent_id, { away: true });
    case "agent_reconnected":
      return change(people, event.agent_id, { away: false });
    case "agent_input_started":
    case "agent_response_created":
      return change(people, event.agent_id, { active: true });
    case "agent_input_done":
    case "agent_input_cleared":
    case "agent_response_done":
      return change(people, event.agent_id, { active: false });
    default:
      return people;
  }
}

/** The first participant who joins is the user. */
function joined(people: People, event: ServerEventOf<"server_room_joined">): People {
  const { participant_id: id, name, muted, away } = event;
  const me = people.me ?? id;
  const mine = people.mine.includes(me) ? people.mine : [...people.mine, me];
  if (personOf(people, id)) return change({ ...people, me, mine }, id, { name, muted, away });
  const voice = people.voices[id] ?? null;
  const kind = event.kind === "human" ? "human" : "agent";
  return { ...people, me, mine, all: [...people.all, { id, name, kind, away, muted, active: false, voice }] };
}

function change(people: People, id: string, how: Partial<Person>): People {
  if (!personOf(people, id)) return people;
  return { ...people, all: people.all.map((person) => (person.id === id ? { ...person, ...how } : person)) };
}

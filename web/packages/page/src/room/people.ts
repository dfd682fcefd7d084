/** Who is in the room, who has the floor, who is speaking: folded from the events. Pure. */

import { type LocalSignal, type ServerEvent, type ServerEventOf, isGone } from "@realtime-voice/client";
import { readModelInfo } from "../words.ts";

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly kind: "human" | "agent";
  /** An agent whose model is lost, or a human whose line is, and who may come back. */
  readonly away: boolean;
  /** Nobody hears this human, or this agent gets no floor: the room wants it so. */
  readonly muted: boolean;
  /** A human whose voice is heard, or an agent that prepares or tells its answer. */
  readonly active: boolean;
  /** Of an agent: the name of its voice, where it has one. */
  readonly voice: string | null;
}

export interface People {
  /** In the order in which they came, we before those who came later. */
  readonly all: readonly Person[];
  /** Our own id; null before we are in. */
  readonly me: string | null;
  /** Every id that was ours: a server that was started again knows us by a new one. */
  readonly mine: readonly string[];
  /** The id of whoever may speak; null: nobody in particular. */
  readonly floor: string | null;
  /** Voices of agents that introduced themselves before they are told of, by id. */
  readonly voices: Readonly<Record<string, string>>;
}

export const NOBODY: People = { all: [], me: null, mine: [], floor: null, voices: {} };

export function personOf(people: People, id: string | null): Person | null {
  return people.all.find((person) => person.id === id) ?? null;
}

/** Whose thing it is that is called so: what agents make is named after them. */
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

/** The first whom we are told of is ourselves. */
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

/** The rooms that can be entered, as the server describes them. Pure. */

import { asRecord, asText, asTexts } from "../json.ts";

export interface OpenRoom {
  readonly id: string;
  /** The names of the humans who are in it; null where the server keeps them to itself. */
  readonly humans: readonly string[] | null;
  /** How many humans are in it. */
  readonly count: number;
  /** The names of its agents; of a room that opens with its first human they are not known yet. */
  readonly agents: readonly string[];
}

/** Reads `GET api/rooms`; odd entries are left out. Rooms with humans come first. */
export function readLobby(value: unknown): readonly OpenRoom[] {
  const { rooms, templates } = asRecord(value);
  const open = (Array.isArray(rooms) ? rooms : []).flatMap((room): OpenRoom[] => {
    const { room_id, participants, humans, agents } = asRecord(room);
    if (typeof room_id !== "string" || room_id === "") return [];
    const people = Array.isArray(participants) ? participants.map(asRecord) : null;
    return [
      {
        id: room_id,
        humans: people && people.filter(({ kind }) => kind === "human").map(({ name }) => asText(name)),
        count: typeof humans === "number" ? humans : 0,
        agents: Array.isArray(agents) ? agents.map((agent) => asText(asRecord(agent)["name"])).filter(Boolean) : [],
      },
    ];
  });
  const known = new Set(open.map(({ id }) => id));
  const offered = asTexts(templates).filter((id) => !known.has(id));
  const closed = offered.map((id): OpenRoom => ({ id, humans: [], count: 0, agents: [] }));
  return [...open.filter(({ count }) => count > 0), ...open.filter(({ count }) => count === 0), ...closed];
}

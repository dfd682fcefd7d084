/** What the page shows of its room: people, talk, and whose speech plays. Pure. */

import type { CallController, LocalSignal, Projection, ServerEvent } from "@realtime-voice/client";
import { NOBODY, type People, foldPeople, makerOf, personOf } from "./people.ts";
import { NO_TALK, type Talk, foldTalk } from "./talk.ts";

export interface RoomShown {
  readonly people: People;
  readonly talk: Talk;
  /** The agent whose speech plays; null: none. */
  readonly sounding: string | null;
}

export type RoomCall = CallController<RoomShown>;

export const ROOM: Projection<RoomShown> = {
  empty: { people: NOBODY, talk: NO_TALK, sounding: null },
  fold: ({ people, talk, sounding }, event) => ({
    people: foldPeople(people, event),
    talk: foldTalk(talk, event),
    sounding: foldSounding(sounding, people, event),
  }),
  phase: ({ people }) => (people.me === null ? "waiting" : "ready"),
  rewind: ({ people, talk }, { sounding }) => ({ people, talk, sounding }),
  isHuman: ({ people }, id) => personOf(people, id)?.kind === "human",
};

function foldSounding(sounding: string | null, people: People, event: ServerEvent | LocalSignal): string | null {
  if (event.type === "voice_started") return makerOf(people, event.itemId)?.id ?? null;
  return event.type === "voice_idle" || event.type === "closed" ? null : sounding;
}

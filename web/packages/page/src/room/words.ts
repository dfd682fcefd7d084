/** Sentences of the room page. Pure. */

import type { ClientState, Closing } from "@realtime-voice/client";
import { type Notice, closeNotice, endNotice, reconnectingWords } from "../words.ts";
import type { OpenRoom } from "./lobby.ts";
import { type People, type Person, personOf } from "./people.ts";

const BACK_IN = "Press Join to come back in.";

export const NO_VOICE: Notice = {
  what: "The browser opened no sound output, so the others can only be read.",
  todo: "Check the system's sound output, then reload the page.",
};

export const LINK_IN_HAND: Notice = { what: "The browser keeps pages from the clipboard. The link is:", todo: "" };

/** Why the user is out of the room; null for a wanted end. */
export function roomCloseNotice(closing: Closing, reachable: boolean): Notice | null {
  const notice = closeNotice(closing, reachable);
  return notice && (reachable && closing.wasOpen ? { ...notice, todo: BACK_IN } : notice);
}

/** The notice for the reason of the server's end; null for a wanted end. */
export function roomEndNotice(reason: string): Notice | null {
  if (reason === "kicked") return { what: "You were asked to leave the room.", todo: "" };
  if (reason === "absent") return { what: "You were away for more than a minute, so you left the room.", todo: BACK_IN };
  // Another notice explains it.
  if (reason === "agent_failed" || reason === "agent_ended") return null;
  const notice = endNotice(reason);
  return notice && { ...notice, todo: BACK_IN };
}

/** The status line: the line to the server first, then who has the floor. */
export function statusWords(state: ClientState | null, attempt: number, people: People): string {
  if (state === null || state === "closed" || state === "closing") return "";
  if (state === "reconnecting") return reconnectingWords(attempt);
  if (state === "connecting" || people.me === null) return "Coming in…";
  const speaker = personOf(people, people.floor);
  if (speaker) return speaker.id === people.me ? "You have the floor" : `${speaker.name} has the floor`;
  return people.all.length === 1 ? "Nobody else is here yet" : "Anybody may speak";
}

/** The activity of a participant. `sounds`: the agent's speech plays. */
export function doingWords(person: Person, sounds: boolean, muted: boolean): string {
  if (person.away) return "Away, expected back";
  if (muted) return "Muted";
  if (person.kind === "agent") return sounds ? "Speaking" : person.active ? "Thinking" : "";
  return person.active ? "Speaking" : "";
}

const names = new Intl.ListFormat("en");

/** A name that is read in its own direction and turns no words around it. */
function isolated(name: string): string {
  return `\u2068${name}\u2069`;
}

/** Who is in a room of the lobby. */
export function insideWords({ humans, count }: OpenRoom): string {
  if (humans && humans.length > 0) return names.format(humans.map(isolated));
  if (count > 0) return count === 1 ? "1 person" : `${count} people`;
  return "Nobody is in it yet";
}

/** Which agents are in a room of the lobby; empty where they are not known. */
export function agentsWords({ agents }: OpenRoom): string {
  return agents.length === 0 ? "" : `With ${names.format(agents.map(isolated))}`;
}

/** What the button of a room in the lobby does. */
export function joinWords(room: string): string {
  return `Join ${room}`;
}

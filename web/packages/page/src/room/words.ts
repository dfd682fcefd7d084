/** Sentences of the room page. Pure, but for the language of the texts. */

import type { ClientState, Closing } from "@realtime-voice/client";
import { type Notice, closeNotice, endNotice, reconnectingWords } from "../words.ts";
import { listed, sayCount } from "../reader-language.ts";
import { say } from "../texts.ts";
import type { OpenRoom } from "./lobby.ts";
import { type People, type Person, personOf } from "./people.ts";

const backIn = (): string => say("room.backIn");

export function noVoice(): Notice {
  return { what: say("room.noVoice"), todo: say("noVoice.todo") };
}

/** Where the browser keeps pages from the clipboard. */
export function linkInHand(link: string): Notice {
  return { what: say("room.linkInHand"), todo: link };
}

/** Why the user is out of the room; null for a wanted end. */
export function roomCloseNotice(closing: Closing, reachable: boolean): Notice | null {
  const notice = closeNotice(closing, reachable);
  return notice && (reachable && closing.wasOpen ? { what: notice.what, todo: backIn() } : notice);
}

/** The notice for the reason of the server's end; null for a wanted end. */
export function roomEndNotice(reason: string): Notice | null {
  if (reason === "kicked") return { what: say("room.kicked"), todo: "" };
  if (reason === "absent") return { what: say("room.absent"), todo: backIn() };
  // Another notice explains it.
  if (reason === "agent_failed" || reason === "agent_ended") return null;
  const notice = endNotice(reason);
  return notice && { what: notice.what, todo: backIn() };
}

/** The status line: the line to the server first, then who has the floor. */
export function statusWords(state: ClientState | null, attempt: number, people: People): string {
  if (state === null || state === "closed" || state === "closing") return "";
  if (state === "reconnecting") return reconnectingWords(attempt);
  if (state === "connecting" || people.me === null) return say("room.comingIn");
  const speaker = personOf(people, people.floor);
  if (speaker) return speaker.id === people.me ? say("room.yourFloor") : say("room.floorOf", { name: speaker.name });
  return say(people.all.length === 1 ? "room.alone" : "room.anybody");
}

/** The activity of a participant. `sounds`: the agent's speech plays. */
export function doingWords(person: Person, sounds: boolean, muted: boolean): string {
  if (person.away) return say("room.away");
  if (muted) return say("state.muted");
  if (person.kind === "agent") return sounds ? say("state.speaking") : person.active ? say("state.thinking") : "";
  return person.active ? say("state.speaking") : "";
}

/** Who is in a room of the lobby. */
export function insideWords({ humans, count }: OpenRoom): string {
  if (humans && humans.length > 0) return listed(humans);
  return count > 0 ? sayCount("room.people", count) : say("room.nobody");
}

/** Which agents are in a room of the lobby; empty where they are not known. */
export function agentsWords({ agents }: OpenRoom): string {
  return agents.length === 0 ? "" : say("room.with", { names: listed(agents) });
}

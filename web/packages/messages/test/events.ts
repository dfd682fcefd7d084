/** Reply events for tests: written short, read by the reader that a page uses. */

import { type AgentEvent, type AgentEventOf, readReplyEvent } from "../src/index.ts";

export interface Fixture {
  about: string;
  events: unknown[];
  messages: unknown[];
  canonical: string[];
}

const FILES = import.meta.glob<Fixture>("../../../../fixtures/messages/*.json", { eager: true, import: "default" });

export const FIXTURES: readonly (readonly [name: string, fixture: Fixture])[] = Object.entries(FILES).map(
  ([path, fixture]) => [path.split("/").at(-1)!, fixture] as const,
);

let count = 0;

/** An event of reply `r`; every event has an id of its own and a later time. */
export function reply<Type extends AgentEvent["type"]>(
  type: Type,
  fields: Partial<AgentEventOf<Type>> = {},
): AgentEventOf<Type> {
  const defaults = { id: `e${++count}`, created_at: new Date(count * 1000).toISOString(), reply_id: "r" };
  return readReplyEvent({ type, ...defaults, ...fields }) as AgentEventOf<Type>;
}

export const start = (reply_id = "r", name = "Friday"): AgentEvent =>
  reply("REPLY_START", { reply_id, name, session_id: "s" });

export const end = (reply_id = "r"): AgentEvent => reply("REPLY_END", { reply_id, session_id: "s" });

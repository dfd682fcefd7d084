/**
 * The ids of this browser, which are secrets: who knows the id of a call's user can read the call, and who knows the id of
 * the session as well has what was allowed in it.
 */

import { type MakeStorage, keep, readKept } from "./storage.ts";

const KEY = "realtime.user";
const ID_BYTES = 12;
const SESSION_KEY = "realtime.session";
const SESSION_BYTES = 16;

type Random = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

/** An unguessable id, the same on each visit; a new one where the browser has no storage. */
export function ownUserId(storage: MakeStorage, random: Random): string {
  return keptId(storage, KEY, "guest", ID_BYTES, random);
}

/** The id under which the server keeps what was allowed, of 128 random bits; the same until it is forgotten. */
export function ownSessionId(storage: MakeStorage, random: Random): string {
  return keptId(storage, SESSION_KEY, "page", SESSION_BYTES, random);
}

/** The next call has a new session, in which nothing is allowed. */
export function forgetSessionId(storage: MakeStorage): void {
  keep(storage, SESSION_KEY, null);
}

/** Chance of this browser. */
export function browserRandom(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  return crypto.getRandomValues(bytes);
}

/** Of this browser. */
export function browserUserId(): string {
  return ownUserId(() => localStorage, browserRandom);
}

function keptId(storage: MakeStorage, key: string, prefix: string, length: number, random: Random): string {
  const kept = readKept(storage, key);
  if (kept) return kept;
  const made = `${prefix}-${[...random(new Uint8Array(length))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  keep(storage, key, made);
  return made;
}

/**
 * The secrets of this browser: who knows the id of a call's user can read the call, and who has the server's key to what
 * was allowed as well may do it.
 */

import { type MakeStorage, keep, readKept } from "./storage.ts";

const KEY = "realtime.user";
const ID_BYTES = 12;
const PERMISSIONS_KEY = "realtime.permissions";
/** The label of the page's calls. */
export const SESSION_ID = "page";

type Random = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

/** An unguessable id, the same on each visit; a new one where the browser has no storage. */
export function ownUserId(storage: MakeStorage, random: Random): string {
  const kept = readKept(storage, KEY);
  if (kept) return kept;
  const made = `guest-${[...random(new Uint8Array(ID_BYTES))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  keep(storage, KEY, made);
  return made;
}

/** The key that the server gave an earlier call to what was allowed in it; empty, which asks for one, where there is none. */
export function permissionsKey(storage: MakeStorage): string {
  return readKept(storage, PERMISSIONS_KEY) ?? "";
}

/** Keeps the key for later calls, or none (null): then nothing is allowed in them. False where the browser keeps nothing. */
export function keepPermissionsKey(storage: MakeStorage, key: string | null): boolean {
  keep(storage, PERMISSIONS_KEY, key);
  return readKept(storage, PERMISSIONS_KEY) === key;
}

/** Chance of this browser. */
export function browserRandom(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
  return crypto.getRandomValues(bytes);
}

/** Of this browser. */
export function browserUserId(): string {
  return ownUserId(() => localStorage, browserRandom);
}

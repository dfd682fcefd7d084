/** The user id of this browser: only who knows the id of a call's user can read the call. */

import { type MakeStorage, keep, readKept } from "./storage.ts";

const KEY = "realtime.user";
const ID_BYTES = 12;

/** An unguessable id, the same on each visit; a new one where the browser has no storage. */
export function ownUserId(storage: MakeStorage, random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): string {
  const kept = readKept(storage, KEY);
  if (kept) return kept;
  const bytes = random(new Uint8Array(ID_BYTES));
  const made = `guest-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  keep(storage, KEY, made);
  return made;
}

/** Of this browser. */
export function browserUserId(): string {
  return ownUserId(
    () => localStorage,
    (bytes) => crypto.getRandomValues(bytes),
  );
}

/** The user id of this browser: only who knows the id of a call's user can read the call. */

const KEY = "realtime.user";
const ID_BYTES = 12;

/** An unguessable id, the same on each visit; a new one where the browser has no storage. */
export function ownUserId(storage: () => Storage, random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): string {
  try {
    const kept = storage().getItem(KEY);
    if (kept) return kept;
  } catch {
    // The browser may forbid storage.
  }
  const bytes = random(new Uint8Array(ID_BYTES));
  const made = `guest-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  try {
    storage().setItem(KEY, made);
  } catch {
    // This visit has its own id.
  }
  return made;
}

/** Of this browser. */
export function browserUserId(): string {
  return ownUserId(
    () => localStorage,
    (bytes) => crypto.getRandomValues(bytes),
  );
}

/** Who this browser is to the server: calls are told only to whoever can name their user. */

const KEY = "realtime.user";
const ID_BYTES = 12;

/** A name that nobody guesses, the same on each visit; a new one where the browser keeps nothing. */
export function ownUserId(storage: () => Storage, random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): string {
  try {
    const kept = storage().getItem(KEY);
    if (kept) return kept;
  } catch {
    // Storage may be forbidden altogether.
  }
  const bytes = random(new Uint8Array(ID_BYTES));
  const made = `guest-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  try {
    storage().setItem(KEY, made);
  } catch {
    // Then this visit has a name of its own.
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

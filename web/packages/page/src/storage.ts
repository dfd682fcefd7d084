/** Values in a storage of the browser, which may forbid it: then nothing is kept. */

export type MakeStorage = () => Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** A kept value; null where there is none. */
export function readKept(storage: MakeStorage, key: string): string | null {
  try {
    return storage().getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a value, or nothing (null) under this key. Where there is no room, the earlier value is gone too. */
export function keep(storage: MakeStorage, key: string, value: string | null): void {
  try {
    storage().removeItem(key);
    if (value !== null) storage().setItem(key, value);
  } catch {
    // The value holds for this visit.
  }
}

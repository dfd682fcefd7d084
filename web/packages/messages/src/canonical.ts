/** Canonical JSON (RFC 8785): one text per value, whose UTF-8 bytes are those that Python writes. */

const HALF_PAIR = /\p{Surrogate}/u;
const ANY_HALF = /[\ud800-\udfff]/;

/** Whether text can be written as UTF-8: it has no half of a surrogate pair without the other. */
export function isWellFormed(text: string): boolean {
  // The first check is many times faster, and most text has no pairs.
  return !ANY_HALF.test(text) || !HALF_PAIR.test(text);
}

/**
 * `value` as RFC 8785 JSON: keys by UTF-16 code units, numbers as ECMAScript prints them. Like `JSON.stringify` it
 * leaves out undefined properties and calls `toJSON`. Throws a TypeError for what JSON cannot hold: NaN and infinity,
 * half a surrogate pair, functions, big integers.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new TypeError(`${value} is not JSON`);
    return JSON.stringify(value);
  }
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object") throw new TypeError(`${typeof value} is not JSON`);
  if ("toJSON" in value && typeof value.toJSON === "function") return canonicalJson(value.toJSON());
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  entries.sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, entry]) => `${quote(key)}:${canonicalJson(entry)}`).join(",")}}`;
}

function quote(text: string): string {
  if (!isWellFormed(text)) throw new TypeError("text with half a surrogate pair is not JSON");
  return JSON.stringify(text);
}

/** Reading of JSON values of unknown form. Pure. */

/** The value as an object; an empty one where it is none. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The value as text; empty where it is none. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The texts in the value; none where it is no list. */
export function asTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

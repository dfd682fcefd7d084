/** The last events of a call in both directions, as the inspector shows them. Pure. */

import type { ClientEvent, ServerEvent } from "@realtime-voice/client";

export type Direction = "in" | "out";

export interface LogEntry {
  readonly number: number;
  readonly direction: Direction;
  readonly type: string;
  /** ms since the call began. */
  readonly atMs: number;
  readonly audio: boolean;
  /** Its JSON, with long base64 elided. Made when it is first asked for: most events are never looked at. */
  readonly json: string;
}

/** Which events are shown. */
export interface Filter {
  readonly direction: Direction | null;
  readonly audio: boolean;
  /** Words that are all in the event's type or JSON, in any case. */
  readonly search: string;
}

/** Events that audio causes many times a second. */
const AUDIO_TYPES = new Set([
  "agent_response_audio_delta",
  "client_audio_append",
  "client_playback_ack",
  "server_audio_received",
]);
/** Events whose bytes would be kept for as long as the log is: their JSON is made at once. */
const LARGE_TYPES = new Set(["agent_response_audio_delta", "client_audio_append", "client_image_append"]);
const LONG_TEXT = 400;

export class InspectorLog {
  readonly #limit: number;
  #entries: LogEntry[] = [];
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  addEvent(direction: Direction, event: ServerEvent | ClientEvent, atMs: number): LogEntry {
    return this.#add(direction, event.type, atMs, AUDIO_TYPES.has(event.type), event);
  }

  addAudio(direction: Direction, samples: number, offset: number, atMs: number): LogEntry {
    return this.#add(direction, "audio frame", atMs, true, { samples, offset });
  }

  /** A frame that is no event which this page knows. */
  addUnknown(type: string, atMs: number): LogEntry {
    return this.#add("in", type, atMs, false, { unknown: type });
  }

  clear(): void {
    this.#entries = [];
  }

  /** The entries that a filter shows, as one JSON value a line. */
  lines(filter: Filter): string {
    const shown = this.#entries.filter((entry) => passes(entry, filter));
    return shown.map(({ direction, atMs, type, json }) => `${JSON.stringify({ at_ms: Math.round(atMs), direction, type, event: JSON.parse(json) })}\n`).join("");
  }

  #add(direction: Direction, type: string, atMs: number, audio: boolean, value: object): LogEntry {
    const entry = new Entry(this.#count++, direction, type, atMs, audio, value);
    if (LARGE_TYPES.has(type)) entry.settle();
    this.#entries.push(entry);
    // Dropped in batches: shifting one by one would move the whole array for each event.
    if (this.#entries.length > this.#limit * 1.25) this.#entries = this.#entries.slice(-this.#limit);
    return entry;
  }
}

class Entry implements LogEntry {
  #value: object | null;
  #json = "";

  constructor(
    readonly number: number,
    readonly direction: Direction,
    readonly type: string,
    readonly atMs: number,
    readonly audio: boolean,
    value: object,
  ) {
    this.#value = value;
  }

  get json(): string {
    this.settle();
    return this.#json;
  }

  settle(): void {
    if (this.#value === null) return;
    this.#json = JSON.stringify(this.#value, elide, 2);
    this.#value = null;
  }
}

/** Whether a filter shows an entry. */
export function passes(entry: LogEntry, { direction, audio, search }: Filter): boolean {
  if ((direction !== null && entry.direction !== direction) || (entry.audio && !audio)) return false;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = `${entry.type} ${entry.json}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function elide(key: string, value: unknown): unknown {
  // A screenshot must not let another person resume the call, or do what was allowed in it.
  if ((key === "token" || key === "resume_token") && typeof value === "string") return "…";
  if (key === "key" && typeof value === "string" && value.startsWith("permissions_")) return "…";
  const binary = key === "audio" || key === "image" || key === "delta" || key === "data";
  if (!binary || typeof value !== "string" || value.length <= LONG_TEXT) return value;
  return `${value.slice(0, 32)}… (${value.length} characters)`;
}

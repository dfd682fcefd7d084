/** The last events of a call in both directions, as the inspector shows them. Pure. */

import type { ClientEvent, ServerEvent } from "@realtime-voice/client";

export interface LogEntry {
  readonly number: number;
  readonly direction: "in" | "out";
  readonly type: string;
  /** ms since the call began. */
  readonly atMs: number;
  readonly audio: boolean;
  /** Its JSON, with long base64 elided. */
  readonly json: string;
}

/** Events that audio causes many times a second. */
const AUDIO_TYPES = new Set([
  "agent_response_audio_delta",
  "client_audio_append",
  "client_playback_ack",
  "server_audio_received",
]);
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

  addEvent(direction: "in" | "out", event: ServerEvent | ClientEvent, atMs: number): LogEntry {
    return this.#add(direction, event.type, atMs, AUDIO_TYPES.has(event.type), event);
  }

  addAudio(direction: "in" | "out", samples: number, offset: number, atMs: number): LogEntry {
    return this.#add(direction, "audio frame", atMs, true, { samples, offset });
  }

  clear(): void {
    this.#entries = [];
  }

  #add(direction: "in" | "out", type: string, atMs: number, audio: boolean, value: object): LogEntry {
    const entry = { number: this.#count++, direction, type, atMs, audio, json: JSON.stringify(value, elide, 2) };
    this.#entries.push(entry);
    // Dropped in batches: shifting one by one would move the whole array for each event.
    if (this.#entries.length > this.#limit * 1.25) this.#entries = this.#entries.slice(-this.#limit);
    return entry;
  }
}

function elide(key: string, value: unknown): unknown {
  // A screenshot must not let another person resume the call.
  if ((key === "token" || key === "resume_token") && typeof value === "string") return "…";
  const binary = key === "audio" || key === "image" || key === "delta" || key === "data";
  if (!binary || typeof value !== "string" || value.length <= LONG_TEXT) return value;
  return `${value.slice(0, 32)}… (${value.length} characters)`;
}

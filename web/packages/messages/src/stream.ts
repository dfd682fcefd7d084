/** Server-sent events: parses the text of a stream, cut anywhere, and folds it into messages. */

import { warnUnknown } from "./fold.ts";
import type { Msg } from "./msg.ts";
import { eventInOurNames } from "./older.ts";
import { Transcript, isReplyEventType, readReplyEvent } from "./transcript.ts";
import type { AgentEvent } from "./types.generated.ts";

/** A source of text: `response.body`, or anything that yields text or UTF-8 bytes. */
export type TextSource = ReadableStream<Uint8Array | string> | AsyncIterable<Uint8Array | string>;

/** One server-sent event. `id` is the latest so far, which a reconnect sends as `Last-Event-ID`. */
export interface SseEvent {
  id: string;
  event: string;
  data: string;
}

/** One step of a fold: the event, the message it went into (null: none), and the id to resume after. */
export interface FoldStep {
  id: string;
  event: AgentEvent;
  message: Msg | null;
}

/** Parses the text of an event stream that arrives in pieces cut anywhere (the format of the HTML standard). */
export class SseParser {
  #rest = "";
  #started = false;
  #skipsNewline = false;
  #id = "";
  #event = "";
  #data: string[] = [];

  /** The events that `text` completes; an unfinished one is not returned. */
  push(text: string): SseEvent[] {
    if (text === "") return [];
    // Only new text is searched for line ends, so that a long line in many pieces stays cheap.
    let added = this.#skipsNewline && text.startsWith("\n") ? text.slice(1) : text;
    // A carriage return at the end ends its line at once: the next piece may come much later.
    this.#skipsNewline = text.endsWith("\r");
    if (!this.#started && added.startsWith("\ufeff")) added = added.slice(1);
    this.#started = true;
    const lines = added.split(/\r\n|\r|\n/);
    lines[0] = this.#rest + lines[0]!;
    this.#rest = lines.pop()!;
    return lines.map((line) => this.#line(line)).filter((event) => event !== null);
  }

  #line(line: string): SseEvent | null {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  #dispatch(): SseEvent | null {
    const found = this.#data.length > 0 ? { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") } : null;
    this.#data = [];
    this.#event = "";
    return found;
  }
}

/** The server-sent events of a stream. Leaving the loop early cancels the stream. */
export async function* parseSse(source: TextSource): AsyncGenerator<SseEvent, void> {
  const decoder = new TextDecoder();
  const parser = new SseParser();
  for await (const chunk of chunks(source)) {
    yield* parser.push(typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }));
  }
}

/**
 * Folds a stream of reply events as it arrives: yields one step per applied event. Skips events of an unknown type and
 * unreadable ones with a warning. To resume after a lost connection, ask the server for what follows the last step's
 * `id` and fold it into the same `transcript`, which ignores repeated events.
 */
export async function* foldStream(source: TextSource, transcript = new Transcript()): AsyncGenerator<FoldStep, Transcript> {
  for await (const { id, data } of parseSse(source)) {
    const event = readOrWarn(data);
    if (event) yield { id, event, message: transcript.append(event) };
  }
  return transcript;
}

function readOrWarn(data: string): AgentEvent | null {
  try {
    const value = eventInOurNames(JSON.parse(data));
    const type: unknown = (value as { type?: unknown } | null)?.type;
    if (typeof type === "string" && !isReplyEventType(type)) {
      warnUnknown(type);
      return null;
    }
    return readReplyEvent(value);
  } catch (error) {
    console.warn(`an event of the stream is skipped: ${error instanceof TypeError ? error.message : "it is not JSON"}`);
    return null;
  }
}

/** Not every browser can iterate over a `ReadableStream`. */
async function* chunks(source: TextSource): AsyncGenerator<Uint8Array | string, void> {
  if (!("getReader" in source)) {
    yield* source;
    return;
  }
  const reader = source.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

/** Reads reply events and folds a stream of them, of any number of replies, into messages. */

import { type DataSink, warnUnknown } from "./fold.ts";
import { Msg } from "./msg.ts";
import { eventInOurNames } from "./older.ts";
import { isRecord } from "./read.ts";
import { type AgentEvent, type AgentEventOf, EVENT_READERS, type MsgData } from "./types.generated.ts";

/** Whether `type` is a known type of reply events. */
export function isReplyEventType(type: unknown): type is AgentEvent["type"] {
  return typeof type === "string" && Object.hasOwn(EVENT_READERS, type);
}

/**
 * Reads and completes the event in a JSON text or an object parsed from one. A nested block without an id gets one from
 * the event's, so that reading the event again gives the same block. Takes the names of older AgentScope releases, too
 * (`RUN_STARTED`, `replyId`). Throws a TypeError that names the fault: the type, a field, or no JSON.
 */
export function readReplyEvent(frame: unknown): AgentEvent {
  const value = eventInOurNames(typeof frame === "string" ? parse(frame) : frame);
  if (!isRecord(value)) throw new TypeError("an event is a JSON object");
  if (!isReplyEventType(value["type"])) throw new TypeError("unknown event type");
  const event = EVENT_READERS[value["type"]](completed(value), "");
  if (event.type === "TOOL_RESULT_DATA_DELTA" && (event.data === null) === (event.url === null)) {
    throw new TypeError("tool output is either `data` or `url`: give exactly one");
  }
  return event;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError("the event is not JSON");
  }
}

function completed(value: Record<string, unknown>): Record<string, unknown> {
  const id = value["id"];
  if (typeof id !== "string" || id === "") return value;
  if (value["type"] === "HINT_BLOCK") return { ...value, hint: withIds(value["hint"], id) };
  if (value["type"] !== "EXTERNAL_EXECUTION_RESULT" || !Array.isArray(value["execution_results"])) return value;
  const execution_results = value["execution_results"].map((result: unknown, place) =>
    isRecord(result) && "output" in result ? { ...result, output: withIds(result["output"], `${id}_${place}`) } : result,
  );
  return { ...value, execution_results };
}

function withIds(parts: unknown, prefix: string): unknown {
  if (!Array.isArray(parts)) return parts;
  return parts.map((part: unknown, place) => (isRecord(part) ? { id: `${prefix}_${place}`, ...part } : part));
}

/**
 * The messages of a stream of events, in the order in which their replies begin. Replies may interleave; events of
 * replies that never began are skipped. `messages` may begin with stored messages after a reload: repeated events are
 * ignored only if this transcript has applied them itself.
 */
export class Transcript {
  readonly messages: Msg[];
  readonly #byId: Map<string, Msg>;
  readonly #onData: DataSink | undefined;
  readonly #corrections = new Map<string, Correction>();

  constructor({ messages = [], onData }: { messages?: readonly MsgData[]; onData?: DataSink } = {}) {
    this.messages = messages.map((message) => (message instanceof Msg ? message : Msg.read(message)));
    this.#byId = new Map(this.messages.map((message) => [message.id, message]));
    this.#onData = onData;
  }

  /** Applies one event. Returns its message; null where there is none. */
  append(event: AgentEvent): Msg | null {
    if (event.type === "CUSTOM") this.#note(event);
    const msg = this.#byId.get(event.reply_id);
    if (msg) return msg.appendEvent(event, this.#onData);
    if (!isReplyEventType(event.type)) warnUnknown(String((event as { type: unknown }).type));
    if (event.type !== "REPLY_START") return null;
    const started = Msg.started(event);
    this.#byId.set(started.id, started);
    this.messages.push(started);
    return started;
  }

  /**
   * The messages as the server lists them: with the corrections of `text_corrected` signals, which come after the end of
   * their reply, and without discarded messages (withdrawn, deleted, a noise taken for a voice). Corrected messages are
   * copies.
   */
  told(): Msg[] {
    const corrected = new Map<string, Msg>();
    for (const { reply_id, block_id, text, created_at } of this.#corrections.values()) {
      const msg = corrected.get(reply_id) ?? this.#byId.get(reply_id)?.copy();
      if (!msg) continue;
      corrected.set(reply_id, msg);
      const block = msg.getContentBlocks("text").find(({ id }) => id === block_id);
      if (block) block.text = text;
      else if (text) msg.content.push({ type: "text", text, id: block_id, created_at, finished_at: created_at });
    }
    return this.messages.map((msg) => corrected.get(msg.id) ?? msg).filter((msg) => !cameToNothing(msg));
  }

  #note({ id, name, value, created_at }: AgentEventOf<"CUSTOM">): void {
    const { reply_id, block_id, text } = value;
    if (name !== "text_corrected" || this.#corrections.has(id)) return;
    if (typeof reply_id !== "string" || typeof block_id !== "string" || typeof text !== "string") return;
    this.#corrections.set(id, { reply_id, block_id, text, created_at });
  }
}

interface Correction {
  reply_id: string;
  block_id: string;
  text: string;
  created_at: string;
}

function cameToNothing(msg: Msg): boolean {
  const interrupted = msg.finished_reason === "interrupted";
  for (const block of msg.content) {
    if (block.type === "text" && block.text === "") continue;
    // The thoughts of a withdrawn response go with it.
    if (!(interrupted && block.type === "thinking")) return false;
  }
  return interrupted || (msg.finished_reason === "completed" && msg.role === "assistant");
}

/** The messages of all replies whose start is among `events`, in the order of their starts. */
export function foldMessages(events: Iterable<AgentEvent>, onData?: DataSink): Msg[] {
  const transcript = new Transcript(onData ? { onData } : {});
  for (const event of events) transcript.append(event);
  return transcript.messages;
}

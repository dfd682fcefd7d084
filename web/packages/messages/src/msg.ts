/** `Msg`: one complete turn of a conversation, and how it grows from the events of a reply. */

import { canonicalJson } from "./canonical.ts";
import { type DataSink, appendEvent, shareHistory } from "./fold.ts";
import { messageInOurNames } from "./older.ts";
import { byType, isRecord, newId, now } from "./read.ts";
import {
  ALLOWED_BLOCKS,
  type AgentEvent,
  type AgentEventOf,
  BLOCK_READERS,
  type BlockType,
  type ContentBlock,
  type ContentBlockInput,
  type MsgData,
  type Role,
  readMsgData,
} from "./types.generated.ts";

/** Text, which becomes one text block, or blocks. */
export type ContentLike = string | ContentBlockInput | readonly ContentBlockInput[] | null;

/** Optional fields of a new message. */
export type MsgOptions = Partial<Omit<MsgData, "name" | "content" | "role">>;

/** Arguments of a new message without its role. */
export type MsgFields = MsgOptions & { name: string; content?: ContentLike };

/** The block with this `type`. */
export type BlockOf<Type extends BlockType> = Extract<ContentBlock, { type: Type }>;

/** The fields of a message, which its class does not repeat. */
export interface Msg extends MsgData {}

const readBlock = byType(BLOCK_READERS);

/** A block from its JSON object, completed. Throws a TypeError that says what is wrong. */
export function readContentBlock(value: unknown): ContentBlock {
  return readBlock(value, "block");
}

/** The text blocks, joined; null where there is none. */
export function getTextContent(msg: MsgData, separator = "\n"): string | null {
  const texts = getContentBlocks(msg, "text").map((block) => block.text);
  return texts.length > 0 ? texts.join(separator) : null;
}

/** The blocks of this type, or of one of these types, in order; without an argument all of them. */
export function getContentBlocks<Type extends BlockType = BlockType>(
  msg: MsgData,
  type?: Type | readonly Type[],
): BlockOf<Type>[] {
  const wanted: readonly string[] | null = type === undefined ? null : typeof type === "string" ? [type] : type;
  return msg.content.filter((block): block is BlockOf<Type> => wanted === null || wanted.includes(block.type));
}

/** The first block of this type, or of one of these types; null where there is none. */
export function getFirstContentBlock<Type extends BlockType = BlockType>(
  msg: MsgData,
  type?: Type | readonly Type[],
): BlockOf<Type> | null {
  return getContentBlocks(msg, type)[0] ?? null;
}

/** Whether there is a block of this type, or of one of these types. */
export function hasContentBlocks(msg: MsgData, type?: BlockType | readonly BlockType[]): boolean {
  return getFirstContentBlock(msg, type) !== null;
}

/**
 * A user's input, a complete reply of an assistant, or a system prompt.
 *
 * It is `MsgData` with methods: the same fields, the same JSON. Throws a TypeError for a role that does not exist or
 * that may not hold a block that is given (user: text and data; system: text; assistant: all).
 */
export class Msg {
  constructor(name: string, content: ContentLike | undefined, role: Role, options: MsgOptions = {}) {
    const data = readMsgData(
      { id: newId(), created_at: now(), ...given(options), name, role, content: blocks(content) },
      "message",
    );
    const allowed = ALLOWED_BLOCKS[role];
    const stranger = data.content.find((block) => !allowed.includes(block.type));
    if (stranger) throw new TypeError(`a ${role} message holds no ${stranger.type} block`);
    if (data.usage !== null && role !== "assistant") throw new TypeError("only assistant messages have usage");
    Object.assign(this, data);
  }

  /** The message of one reply, from its start event on. Throws a TypeError where no reply starts. */
  static fromEvents(events: Iterable<AgentEvent>, onData?: DataSink): Msg {
    let msg: Msg | null = null;
    for (const event of events) {
      if (msg) msg.appendEvent(event, onData);
      else if (event.type === "REPLY_START") msg = Msg.started(event);
    }
    if (!msg) throw new TypeError("no event starts a reply");
    return msg;
  }

  /** The empty message of a reply that begins. */
  static started({ name, role, reply_id, created_at }: AgentEventOf<"REPLY_START">): Msg {
    return new Msg(name, null, role, { id: reply_id, created_at });
  }

  /**
   * A message from its JSON object, completed; also one of older AgentScope releases (`timestamp`, `mediaType`). Throws a
   * TypeError that says what is wrong.
   */
  static read(value: unknown): Msg {
    if (!isRecord(value)) throw new TypeError("a message is a JSON object");
    const { name, content, role, ...options } = messageInOurNames(value) as MsgData;
    return new Msg(name, content, role, options);
  }

  /** Applies one event of this message's reply: `appendEvent(msg, event)` as a method. */
  appendEvent(event: AgentEvent, onData?: DataSink): this {
    return appendEvent(this, event, onData);
  }

  getTextContent(separator?: string): string | null {
    return getTextContent(this, separator);
  }

  getContentBlocks<Type extends BlockType = BlockType>(type?: Type | readonly Type[]): BlockOf<Type>[] {
    return getContentBlocks(this, type);
  }

  getFirstContentBlock<Type extends BlockType = BlockType>(type?: Type | readonly Type[]): BlockOf<Type> | null {
    return getFirstContentBlock(this, type);
  }

  hasContentBlocks(type?: BlockType | readonly BlockType[]): boolean {
    return hasContentBlocks(this, type);
  }

  /** An independent copy, with the same applied events. */
  copy(): Msg {
    const { name, content, role, ...others } = structuredClone({ ...this });
    const twin = new Msg(name, content, role, others);
    shareHistory(this, twin);
    return twin;
  }

  /** The message as canonical JSON (RFC 8785): equal messages are equal text, here and in Python. */
  toCanonicalJson(): string {
    return canonicalJson(this);
  }
}

/** Makes messages of one role, from an object of fields or from a name. */
export interface MsgMaker {
  (fields: MsgFields): Msg;
  (name: string, content?: ContentLike, options?: MsgOptions): Msg;
}

/** A message of a user: text and data blocks. */
export const UserMsg = makerOf("user");

/** A message of an assistant: any blocks. */
export const AssistantMsg = makerOf("assistant");

/** A system prompt: text blocks. */
export const SystemMsg = makerOf("system");

function makerOf(role: Role): MsgMaker {
  return (name: string | MsgFields, content?: ContentLike, options?: MsgOptions): Msg => {
    if (typeof name === "string") return new Msg(name, content, role, options);
    const { name: sender, content: parts, ...others } = name;
    return new Msg(sender, parts, role, others);
  };
}

function given(options: MsgOptions): MsgOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== null));
}

function blocks(content: ContentLike | undefined): readonly ContentBlockInput[] {
  if (content === null || content === undefined) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content : [content as ContentBlockInput];
}

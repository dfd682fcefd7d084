/**
 * Events and messages of AgentScope's older TypeScript releases (0.0.2), in the names of today: camelCase fields, runs
 * instead of replies, binary blocks instead of data blocks. Only readers accept these; nothing here writes them.
 */

import { isRecord } from "./read.ts";

type Json = Record<string, unknown>;

const TYPES: Readonly<Record<string, string>> = {
  RUN_STARTED: "REPLY_START",
  RUN_FINISHED: "REPLY_END",
  MODEL_CALL_STARTED: "MODEL_CALL_START",
  MODEL_CALL_ENDED: "MODEL_CALL_END",
  BINARY_BLOCK_START: "DATA_BLOCK_START",
  BINARY_BLOCK_DELTA: "DATA_BLOCK_DELTA",
  BINARY_BLOCK_END: "DATA_BLOCK_END",
  TOOL_RESULT_BINARY_DELTA: "TOOL_RESULT_DATA_DELTA",
};

const FIELDS: Readonly<Record<string, string>> = {
  createdAt: "created_at",
  sessionId: "session_id",
  replyId: "reply_id",
  modelName: "model_name",
  inputTokens: "input_tokens",
  outputTokens: "output_tokens",
  blockId: "block_id",
  mediaType: "media_type",
  toolCallId: "tool_call_id",
  toolCallName: "tool_call_name",
  toolCalls: "tool_calls",
  toolCall: "tool_call",
  confirmResults: "confirm_results",
  executionResults: "execution_results",
};

/** Where an event holds objects of the older shape. What programs and models put into fields is not searched. */
const INNER: Readonly<Record<string, (value: unknown) => unknown>> = {
  tool_calls: blocksInOurNames,
  execution_results: blocksInOurNames,
  confirm_results: (value) => each(value, (result) => renamed(result, { tool_call: blockInOurNames })),
};

/** A reply event in today's names. What is no object, and what is right already, stays as it is. */
export function eventInOurNames(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const event = renamed(value, INNER) as Json;
  const { type, id } = value;
  if (typeof type !== "string" || !Object.hasOwn(TYPES, type)) return event;
  event["type"] = TYPES[type];
  // Each was a whole piece of output, without an id of its own.
  if (type === "TOOL_RESULT_BINARY_DELTA" && typeof id === "string") event["block_id"] ??= `${id}_data`;
  return event;
}

/** A message in today's names. */
export function messageInOurNames(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { timestamp, content, usage, ...message } = value;
  return {
    ...(timestamp !== undefined && { created_at: timestamp }),
    ...message,
    content: blocksInOurNames(content),
    usage: renamed(usage),
  };
}

function blockInOurNames(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { awaitUserConfirmation: asks, ...block } = value;
  if (asks === true) block["state"] ??= "asking";
  if (isRecord(block["source"])) block["source"] = renamed(block["source"]);
  if (Array.isArray(block["output"])) block["output"] = blocksInOurNames(block["output"]);
  return block;
}

function blocksInOurNames(value: unknown): unknown {
  return each(value, blockInOurNames);
}

function each(value: unknown, change: (entry: unknown) => unknown): unknown {
  return Array.isArray(value) ? value.map(change) : value;
}

/** An object with our names. Where a field has both names, the value of ours stays. */
function renamed(value: unknown, inner: Readonly<Record<string, (value: unknown) => unknown>> = {}): unknown {
  if (!isRecord(value)) return value;
  const fields: Json = {};
  for (const [field, found] of Object.entries(value)) {
    const name = Object.hasOwn(FIELDS, field) ? FIELDS[field]! : field;
    if (name !== field && Object.hasOwn(value, name)) continue;
    fields[name] = Object.hasOwn(inner, name) ? inner[name]!(found) : found;
  }
  return fields;
}

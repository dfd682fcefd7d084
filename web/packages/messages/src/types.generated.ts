// Generated from realtime/message and realtime/event by `python -m realtime.event.schema`. Never edit by hand.

import {
  base64,
  boolean,
  byType,
  caseless,
  integer,
  json,
  listOf,
  made,
  newId,
  now,
  nullable,
  omitted,
  open,
  type Reader,
  recordOf,
  string,
  struct,
  textOr,
  uri,
  word,
} from "./read.ts";

/** Bytes as base64 text. */
export type Base64 = string;

/** A piece of text. */
export interface TextBlock {
  type: "text";
  created_at?: string | null;
  finished_at?: string | null;
  text: string;
  id: string;
}

/**
 * A model's thinking. Unknown fields (a provider's `signature`) are kept in `extra`.
 *
 * They are given as keywords, stand beside the others in `model_dump()`, and `read_block` reads them back.
 */
export interface ThinkingBlock {
  type: "thinking";
  created_at?: string | null;
  finished_at?: string | null;
  thinking: string;
  id: string;
  [extra: string]: unknown;
}

/** Binary content inside the message. `data` is base64 in JSON, bytes in Python; construction accepts both. */
export interface Base64Source {
  type: "base64";
  data: Base64;
  media_type: string;
}

/** Binary content elsewhere: `url` is an RFC 3986 URI with a scheme (ValueError otherwise). */
export interface URLSource {
  type: "url";
  url: string;
  media_type: string;
}

/** Image, audio, video or other binary content. */
export interface DataBlock {
  type: "data";
  created_at?: string | null;
  finished_at?: string | null;
  source: Base64Source | URLSource;
  id: string;
  name: string | null;
}

/**
 * A message to the model during its work.
 *
 * Examples: a scheduled trigger, a team message, a background tool's result. `source` names its origin, as a name or
 * as JSON that a page shows as a label.
 */
export interface HintBlock {
  type: "hint";
  created_at?: string | null;
  finished_at?: string | null;
  hint: string | (TextBlock | DataBlock)[];
  id: string;
  source: string | null;
}

/**
 * Whether a tool may run without a question. `rule_content`: a pattern for its arguments; None: all arguments.
 *
 * `source`: where the rule comes from, such as `user`. What patterns mean is in `realtime.permission`.
 */
export interface PermissionRule {
  tool_name: string;
  rule_content: string | null;
  behavior: "allow" | "deny" | "ask";
  source: string;
}

/**
 * A model's request to run a tool. `input` is the arguments as a JSON string, as far as received.
 *
 * `suggested_rules`: rules that the user may accept together with the call, to avoid further questions.
 */
export interface ToolCallBlock {
  type: "tool_call";
  created_at?: string | null;
  finished_at?: string | null;
  id: string;
  name: string;
  input: string;
  state: "pending" | "asking" | "allowed" | "submitted" | "finished";
  suggested_rules?: PermissionRule[];
}

/** The outcome of the tool call with the same `id`. */
export interface ToolResultBlock {
  type: "tool_result";
  created_at?: string | null;
  finished_at?: string | null;
  id: string;
  name: string;
  output: string | (TextBlock | DataBlock)[];
  state: "running" | "success" | "error" | "interrupted" | "denied";
}

/** Tokens of all model calls of one reply. */
export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cache_input_tokens: number;
  cache_creation_input_tokens: number;
}

/** A message in JSON. Times are ISO 8601 in UTC with milliseconds. */
export interface MsgData {
  id: string;
  name: string;
  role: "assistant" | "system" | "user";
  content: (TextBlock | ThinkingBlock | DataBlock | HintBlock | ToolCallBlock | ToolResultBlock)[];
  metadata: Record<string, unknown>;
  created_at: string;
  finished_at: string | null;
  usage: Usage | null;
  finished_reason: "completed" | "error" | "exceed_max_iters" | "interrupted" | null;
  structured_output: Record<string, unknown> | null;
  error: string | null;
}

/** A reply begins. `name` is the speaker; what the user says is a reply with the role `user`. */
export interface ReplyStartEvent {
  type: "REPLY_START";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  session_id: string;
  name: string;
  role: "assistant" | "system" | "user";
}

/**
 * The reply is complete; nothing of it follows. `error`: what went wrong, where that ended it.
 *
 * `message`: fields of the message, as in its JSON, that the other events do not tell, such as its `metadata` and
 * `structured_output`; all of its `content` where a hook or an interruption has put other blocks in its place.
 */
export interface ReplyEndEvent {
  type: "REPLY_END";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  session_id: string;
  finished_reason: "completed" | "error" | "exceed_max_iters" | "interrupted";
  error: string | null;
  message: Record<string, unknown>;
}

/** The agent `name` has reached its limit of reasoning and acting steps. */
export interface ExceedMaxItersEvent {
  type: "EXCEED_MAX_ITERS";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  name: string;
}

/** A hook or a tool (`source`) asks to stop early, for `reason`. */
export interface RequestStopEvent {
  type: "REQUEST_STOP";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  source: string;
  reason: string;
}

/** A model call begins. */
export interface ModelCallStartEvent {
  type: "MODEL_CALL_START";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  model_name: string;
}

/** The model call has ended; its usage in tokens. */
export interface ModelCallEndEvent {
  type: "MODEL_CALL_END";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  input_tokens: number;
  output_tokens: number;
}

/** A text block begins, empty. */
export interface TextBlockStartEvent {
  type: "TEXT_BLOCK_START";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
}

/** More text of the block. */
export interface TextBlockDeltaEvent {
  type: "TEXT_BLOCK_DELTA";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
  delta: string;
}

/** The text block is complete. `text`, where given, is all of it: after a barge-in what was heard. */
export interface TextBlockEndEvent {
  type: "TEXT_BLOCK_END";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
  text: string | null;
}

/** A thinking block begins, empty. */
export interface ThinkingBlockStartEvent {
  type: "THINKING_BLOCK_START";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
}

/** More of the model's thinking. */
export interface ThinkingBlockDeltaEvent {
  type: "THINKING_BLOCK_DELTA";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
  delta: string;
}

/** The thinking block is complete. `extra`: what the provider wants back with it, such as a `signature`. */
export interface ThinkingBlockEndEvent {
  type: "THINKING_BLOCK_END";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
  extra: Record<string, unknown>;
}

/** A block of binary data begins, empty; with a `url` it is what stands there. Raises ValueError for no URL. */
export interface DataBlockStartEvent {
  type: "DATA_BLOCK_START";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
  media_type: string;
  url: string | null;
  name: string | null;
}

/** More bytes of the block, as base64 of their own in JSON. Python accepts bytes and base64. */
export interface DataBlockDeltaEvent {
  type: "DATA_BLOCK_DELTA";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
  data: Base64;
  media_type: string | null;
}

/** The data block is complete. */
export interface DataBlockEndEvent {
  type: "DATA_BLOCK_END";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
}

/** A whole hint block enters the agent's context. */
export interface HintBlockEvent {
  type: "HINT_BLOCK";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  block_id: string;
  hint: string | (TextBlock | DataBlock)[];
  source: string | null;
}

/** The model calls a tool; its input follows. */
export interface ToolCallStartEvent {
  type: "TOOL_CALL_START";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_call_id: string;
  tool_call_name: string;
}

/** Another fragment of the input, which is a JSON string. */
export interface ToolCallDeltaEvent {
  type: "TOOL_CALL_DELTA";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_call_id: string;
  delta: string;
}

/** The input of the tool call is complete. */
export interface ToolCallEndEvent {
  type: "TOOL_CALL_END";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_call_id: string;
}

/** The tool is about to run. */
export interface ToolResultStartEvent {
  type: "TOOL_RESULT_START";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_call_id: string;
  tool_call_name: string;
}

/** More text of the tool's output. */
export interface ToolResultTextDeltaEvent {
  type: "TOOL_RESULT_TEXT_DELTA";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_call_id: string;
  delta: string;
}

/**
 * Binary output of the tool: either bytes (`data`) or a reference (`url`).
 *
 * Raises ValueError for both or neither. Data of an existing block is appended to it.
 */
export interface ToolResultDataDeltaEvent {
  type: "TOOL_RESULT_DATA_DELTA";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_call_id: string;
  block_id: string;
  media_type: string;
  data: Base64 | null;
  url: string | null;
}

/** The tool is done. `running`: it continues in the background, its result comes later as a hint. */
export interface ToolResultEndEvent {
  type: "TOOL_RESULT_END";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_call_id: string;
  state: "running" | "success" | "error" | "interrupted" | "denied";
}

/** The reply waits for the user's decision on each of `tool_calls`. */
export interface RequireUserConfirmEvent {
  type: "REQUIRE_USER_CONFIRM";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_calls: ToolCallBlock[];
}

/**
 * The user's decision on one call. `tool_call` is the call as it shall run: name and input may be changed.
 *
 * `rules`: the suggested rules that the user accepted with it.
 */
export interface ConfirmResult {
  confirmed: boolean;
  tool_call: ToolCallBlock;
  rules: PermissionRule[] | null;
}

/** To the agent: the user's decisions, one per waiting call. */
export interface UserConfirmResultEvent {
  type: "USER_CONFIRM_RESULT";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  confirm_results: ConfirmResult[];
}

/** The reply waits for an external executor to run `tool_calls`. */
export interface RequireExternalExecutionEvent {
  type: "REQUIRE_EXTERNAL_EXECUTION";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  tool_calls: ToolCallBlock[];
}

/** To the agent: the results of the external executor. */
export interface ExternalExecutionResultEvent {
  type: "EXTERNAL_EXECUTION_RESULT";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  execution_results: ToolResultBlock[];
}

/** To the agent: cancel the waiting reply. */
export interface UserInterruptEvent {
  type: "USER_INTERRUPT";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
}

/**
 * A signal of the layer around the agent (`tasks_context`, `team_updated`). Readers skip an unknown `name`.
 *
 * `reply_id` is empty for signals outside a reply. Raises ValueError where `value` is not JSON.
 */
export interface CustomEvent {
  type: "CUSTOM";
  id: string;
  created_at: string;
  reply_id: string;
  metadata: Record<string, unknown>;
  name: string;
  value: Record<string, unknown>;
}

/** A piece of text. */
export interface TextBlockInput {
  type: "text";
  created_at?: string | null;
  finished_at?: string | null;
  text: string;
  id?: string;
}

/**
 * A model's thinking. Unknown fields (a provider's `signature`) are kept in `extra`.
 *
 * They are given as keywords, stand beside the others in `model_dump()`, and `read_block` reads them back.
 */
export interface ThinkingBlockInput {
  type: "thinking";
  created_at?: string | null;
  finished_at?: string | null;
  thinking: string;
  id?: string;
  [extra: string]: unknown;
}

/** Image, audio, video or other binary content. */
export interface DataBlockInput {
  type: "data";
  created_at?: string | null;
  finished_at?: string | null;
  source: Base64Source | URLSource;
  id?: string;
  name?: string | null;
}

/**
 * A message to the model during its work.
 *
 * Examples: a scheduled trigger, a team message, a background tool's result. `source` names its origin, as a name or
 * as JSON that a page shows as a label.
 */
export interface HintBlockInput {
  type: "hint";
  created_at?: string | null;
  finished_at?: string | null;
  hint: string | (TextBlockInput | DataBlockInput)[];
  id?: string;
  source?: string | null;
}

/**
 * Whether a tool may run without a question. `rule_content`: a pattern for its arguments; None: all arguments.
 *
 * `source`: where the rule comes from, such as `user`. What patterns mean is in `realtime.permission`.
 */
export interface PermissionRuleInput {
  tool_name: string;
  rule_content?: string | null;
  behavior?: "allow" | "deny" | "ask";
  source?: string;
}

/**
 * A model's request to run a tool. `input` is the arguments as a JSON string, as far as received.
 *
 * `suggested_rules`: rules that the user may accept together with the call, to avoid further questions.
 */
export interface ToolCallBlockInput {
  type: "tool_call";
  created_at?: string | null;
  finished_at?: string | null;
  id: string;
  name: string;
  input?: string;
  state?: "pending" | "asking" | "allowed" | "submitted" | "finished";
  suggested_rules?: PermissionRuleInput[];
}

/** The outcome of the tool call with the same `id`. */
export interface ToolResultBlockInput {
  type: "tool_result";
  created_at?: string | null;
  finished_at?: string | null;
  id: string;
  name: string;
  output?: string | (TextBlockInput | DataBlockInput)[];
  state?: "running" | "success" | "error" | "interrupted" | "denied";
}

/**
 * The user's decision on one call. `tool_call` is the call as it shall run: name and input may be changed.
 *
 * `rules`: the suggested rules that the user accepted with it.
 */
export interface ConfirmResultInput {
  confirmed: boolean;
  tool_call: ToolCallBlockInput;
  rules?: PermissionRuleInput[] | null;
}

/** To the agent: the user's decisions, one per waiting call. */
export interface UserConfirmResultEventInput {
  type: "USER_CONFIRM_RESULT";
  id?: string;
  created_at?: string;
  reply_id: string;
  metadata?: Record<string, unknown>;
  confirm_results: ConfirmResultInput[];
}

/** To the agent: the results of the external executor. */
export interface ExternalExecutionResultEventInput {
  type: "EXTERNAL_EXECUTION_RESULT";
  id?: string;
  created_at?: string;
  reply_id: string;
  metadata?: Record<string, unknown>;
  execution_results: ToolResultBlockInput[];
}

/** To the agent: cancel the waiting reply. */
export interface UserInterruptEventInput {
  type: "USER_INTERRUPT";
  id?: string;
  created_at?: string;
  reply_id: string;
  metadata?: Record<string, unknown>;
}

/** A part of a message. */
export type ContentBlock =
  | TextBlock
  | ThinkingBlock
  | DataBlock
  | HintBlock
  | ToolCallBlock
  | ToolResultBlock;

/** A block as it may be written by hand. */
export type ContentBlockInput =
  | TextBlockInput
  | ThinkingBlockInput
  | DataBlockInput
  | HintBlockInput
  | ToolCallBlockInput
  | ToolResultBlockInput;

/** What one reply is made of. */
export type AgentEvent =
  | ReplyStartEvent
  | ReplyEndEvent
  | ExceedMaxItersEvent
  | RequestStopEvent
  | ModelCallStartEvent
  | ModelCallEndEvent
  | TextBlockStartEvent
  | TextBlockDeltaEvent
  | TextBlockEndEvent
  | ThinkingBlockStartEvent
  | ThinkingBlockDeltaEvent
  | ThinkingBlockEndEvent
  | DataBlockStartEvent
  | DataBlockDeltaEvent
  | DataBlockEndEvent
  | HintBlockEvent
  | ToolCallStartEvent
  | ToolCallDeltaEvent
  | ToolCallEndEvent
  | ToolResultStartEvent
  | ToolResultTextDeltaEvent
  | ToolResultDataDeltaEvent
  | ToolResultEndEvent
  | RequireUserConfirmEvent
  | UserConfirmResultEvent
  | RequireExternalExecutionEvent
  | ExternalExecutionResultEvent
  | UserInterruptEvent
  | CustomEvent;

/** An event that goes to the agent, written by hand. */
export type AgentInput =
  | UserConfirmResultEventInput
  | ExternalExecutionResultEventInput
  | UserInterruptEventInput;

/** The reply event with this `type`. */
export type AgentEventOf<Type extends AgentEvent["type"]> = Extract<AgentEvent, { type: Type }>;

export type Role = "user" | "assistant" | "system";

export type BlockType = "text" | "thinking" | "data" | "hint" | "tool_call" | "tool_result";

export type ToolCallState = "pending" | "asking" | "allowed" | "submitted" | "finished";

export type ToolResultState = "running" | "success" | "error" | "interrupted" | "denied";

export type FinishedReason = "completed" | "interrupted" | "exceed_max_iters" | "error";

export type PermissionBehavior = "allow" | "deny" | "ask";

/** The block types that a message of each role may hold. */
export const ALLOWED_BLOCKS: Readonly<Record<Role, readonly BlockType[]>> = {
  user: ["text", "data"],
  assistant: ["text", "thinking", "data", "hint", "tool_call", "tool_result"],
  system: ["text"],
};

/** Where the state of a call may go from each state; it never goes back. */
export const TOOL_CALL_ARROWS: Readonly<Record<ToolCallState, readonly ToolCallState[]>> = {
  pending: ["asking", "allowed", "submitted", "finished"],
  asking: ["allowed", "finished"],
  allowed: ["submitted", "finished"],
  submitted: ["finished"],
  finished: [],
};

export const AGENT_EVENT_TYPES = [
  "REPLY_START",
  "REPLY_END",
  "EXCEED_MAX_ITERS",
  "REQUEST_STOP",
  "MODEL_CALL_START",
  "MODEL_CALL_END",
  "TEXT_BLOCK_START",
  "TEXT_BLOCK_DELTA",
  "TEXT_BLOCK_END",
  "THINKING_BLOCK_START",
  "THINKING_BLOCK_DELTA",
  "THINKING_BLOCK_END",
  "DATA_BLOCK_START",
  "DATA_BLOCK_DELTA",
  "DATA_BLOCK_END",
  "HINT_BLOCK",
  "TOOL_CALL_START",
  "TOOL_CALL_DELTA",
  "TOOL_CALL_END",
  "TOOL_RESULT_START",
  "TOOL_RESULT_TEXT_DELTA",
  "TOOL_RESULT_DATA_DELTA",
  "TOOL_RESULT_END",
  "REQUIRE_USER_CONFIRM",
  "USER_CONFIRM_RESULT",
  "REQUIRE_EXTERNAL_EXECUTION",
  "EXTERNAL_EXECUTION_RESULT",
  "USER_INTERRUPT",
  "CUSTOM",
] as const satisfies readonly AgentEvent["type"][];

export const readTextBlock: Reader<TextBlock> = struct("TextBlock", {
  type: word("text"),
  created_at: omitted(nullable(string)),
  finished_at: omitted(nullable(string)),
  text: string,
  id: made(string, newId),
});

export const readThinkingBlock: Reader<ThinkingBlock> = open("ThinkingBlock", {
  type: word("thinking"),
  created_at: omitted(nullable(string)),
  finished_at: omitted(nullable(string)),
  thinking: string,
  id: made(string, newId),
});

export const readBase64Source: Reader<Base64Source> = struct("Base64Source", {
  type: word("base64"),
  data: base64,
  media_type: string,
});

export const readURLSource: Reader<URLSource> = struct("URLSource", {
  type: word("url"),
  url: uri,
  media_type: string,
});

export const readDataBlock: Reader<DataBlock> = struct("DataBlock", {
  type: word("data"),
  created_at: omitted(nullable(string)),
  finished_at: omitted(nullable(string)),
  source: byType({ base64: readBase64Source, url: readURLSource }),
  id: made(string, newId),
  name: made(nullable(string), () => null),
});

export const readHintBlock: Reader<HintBlock> = struct("HintBlock", {
  type: word("hint"),
  created_at: omitted(nullable(string)),
  finished_at: omitted(nullable(string)),
  hint: textOr(listOf(byType({ text: readTextBlock, data: readDataBlock }))),
  id: made(string, newId),
  source: made(nullable(string), () => null),
});

export const readPermissionRule: Reader<PermissionRule> = struct("PermissionRule", {
  tool_name: string,
  rule_content: made(nullable(string), () => null),
  behavior: made(caseless("allow", "deny", "ask"), () => "ask"),
  source: made(string, () => ""),
});

export const readToolCallBlock: Reader<ToolCallBlock> = struct("ToolCallBlock", {
  type: word("tool_call"),
  created_at: omitted(nullable(string)),
  finished_at: omitted(nullable(string)),
  id: string,
  name: string,
  input: made(string, () => ""),
  state: made(caseless("pending", "asking", "allowed", "submitted", "finished"), () => "pending"),
  suggested_rules: omitted(listOf(readPermissionRule)),
});

export const readToolResultBlock: Reader<ToolResultBlock> = struct("ToolResultBlock", {
  type: word("tool_result"),
  created_at: omitted(nullable(string)),
  finished_at: omitted(nullable(string)),
  id: string,
  name: string,
  output: made(textOr(listOf(byType({ text: readTextBlock, data: readDataBlock }))), () => ""),
  state: made(caseless("running", "success", "error", "interrupted", "denied"), () => "success"),
});

export const readUsage: Reader<Usage> = struct("Usage", {
  input_tokens: integer,
  output_tokens: integer,
  cache_input_tokens: made(integer, () => 0),
  cache_creation_input_tokens: made(integer, () => 0),
});

export const readMsgData: Reader<MsgData> = struct("MsgData", {
  id: made(string, newId),
  name: string,
  role: word("assistant", "system", "user"),
  content: listOf(byType({ text: readTextBlock, thinking: readThinkingBlock, data: readDataBlock, hint: readHintBlock, tool_call: readToolCallBlock, tool_result: readToolResultBlock })),
  metadata: made(recordOf(json), () => ({})),
  created_at: made(string, now),
  finished_at: made(nullable(string), () => null),
  usage: made(nullable(readUsage), () => null),
  finished_reason: made(nullable(word("completed", "error", "exceed_max_iters", "interrupted")), () => null),
  structured_output: made(nullable(recordOf(json)), () => null),
  error: made(nullable(string), () => null),
});

export const readReplyStartEvent: Reader<ReplyStartEvent> = struct("ReplyStartEvent", {
  type: word("REPLY_START"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  session_id: string,
  name: string,
  role: made(word("assistant", "system", "user"), () => "assistant"),
});

export const readReplyEndEvent: Reader<ReplyEndEvent> = struct("ReplyEndEvent", {
  type: word("REPLY_END"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  session_id: string,
  finished_reason: made(word("completed", "error", "exceed_max_iters", "interrupted"), () => "completed"),
  error: made(nullable(string), () => null),
  message: made(recordOf(json), () => ({})),
});

export const readExceedMaxItersEvent: Reader<ExceedMaxItersEvent> = struct("ExceedMaxItersEvent", {
  type: word("EXCEED_MAX_ITERS"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  name: string,
});

export const readRequestStopEvent: Reader<RequestStopEvent> = struct("RequestStopEvent", {
  type: word("REQUEST_STOP"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  source: made(string, () => ""),
  reason: made(string, () => ""),
});

export const readModelCallStartEvent: Reader<ModelCallStartEvent> = struct("ModelCallStartEvent", {
  type: word("MODEL_CALL_START"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  model_name: string,
});

export const readModelCallEndEvent: Reader<ModelCallEndEvent> = struct("ModelCallEndEvent", {
  type: word("MODEL_CALL_END"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  input_tokens: integer,
  output_tokens: integer,
});

export const readTextBlockStartEvent: Reader<TextBlockStartEvent> = struct("TextBlockStartEvent", {
  type: word("TEXT_BLOCK_START"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
});

export const readTextBlockDeltaEvent: Reader<TextBlockDeltaEvent> = struct("TextBlockDeltaEvent", {
  type: word("TEXT_BLOCK_DELTA"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
  delta: string,
});

export const readTextBlockEndEvent: Reader<TextBlockEndEvent> = struct("TextBlockEndEvent", {
  type: word("TEXT_BLOCK_END"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
  text: made(nullable(string), () => null),
});

export const readThinkingBlockStartEvent: Reader<ThinkingBlockStartEvent> = struct("ThinkingBlockStartEvent", {
  type: word("THINKING_BLOCK_START"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
});

export const readThinkingBlockDeltaEvent: Reader<ThinkingBlockDeltaEvent> = struct("ThinkingBlockDeltaEvent", {
  type: word("THINKING_BLOCK_DELTA"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
  delta: string,
});

export const readThinkingBlockEndEvent: Reader<ThinkingBlockEndEvent> = struct("ThinkingBlockEndEvent", {
  type: word("THINKING_BLOCK_END"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
  extra: made(recordOf(json), () => ({})),
});

export const readDataBlockStartEvent: Reader<DataBlockStartEvent> = struct("DataBlockStartEvent", {
  type: word("DATA_BLOCK_START"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
  media_type: string,
  url: made(nullable(uri), () => null),
  name: made(nullable(string), () => null),
});

export const readDataBlockDeltaEvent: Reader<DataBlockDeltaEvent> = struct("DataBlockDeltaEvent", {
  type: word("DATA_BLOCK_DELTA"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
  data: base64,
  media_type: made(nullable(string), () => null),
});

export const readDataBlockEndEvent: Reader<DataBlockEndEvent> = struct("DataBlockEndEvent", {
  type: word("DATA_BLOCK_END"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
});

export const readHintBlockEvent: Reader<HintBlockEvent> = struct("HintBlockEvent", {
  type: word("HINT_BLOCK"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  block_id: string,
  hint: textOr(listOf(byType({ text: readTextBlock, data: readDataBlock }))),
  source: made(nullable(string), () => null),
});

export const readToolCallStartEvent: Reader<ToolCallStartEvent> = struct("ToolCallStartEvent", {
  type: word("TOOL_CALL_START"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_call_id: string,
  tool_call_name: string,
});

export const readToolCallDeltaEvent: Reader<ToolCallDeltaEvent> = struct("ToolCallDeltaEvent", {
  type: word("TOOL_CALL_DELTA"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_call_id: string,
  delta: string,
});

export const readToolCallEndEvent: Reader<ToolCallEndEvent> = struct("ToolCallEndEvent", {
  type: word("TOOL_CALL_END"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_call_id: string,
});

export const readToolResultStartEvent: Reader<ToolResultStartEvent> = struct("ToolResultStartEvent", {
  type: word("TOOL_RESULT_START"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_call_id: string,
  tool_call_name: string,
});

export const readToolResultTextDeltaEvent: Reader<ToolResultTextDeltaEvent> = struct("ToolResultTextDeltaEvent", {
  type: word("TOOL_RESULT_TEXT_DELTA"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_call_id: string,
  delta: string,
});

export const readToolResultDataDeltaEvent: Reader<ToolResultDataDeltaEvent> = struct("ToolResultDataDeltaEvent", {
  type: word("TOOL_RESULT_DATA_DELTA"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_call_id: string,
  block_id: string,
  media_type: string,
  data: made(nullable(base64), () => null),
  url: made(nullable(uri), () => null),
});

export const readToolResultEndEvent: Reader<ToolResultEndEvent> = struct("ToolResultEndEvent", {
  type: word("TOOL_RESULT_END"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_call_id: string,
  state: caseless("running", "success", "error", "interrupted", "denied"),
});

export const readRequireUserConfirmEvent: Reader<RequireUserConfirmEvent> = struct("RequireUserConfirmEvent", {
  type: word("REQUIRE_USER_CONFIRM"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_calls: listOf(readToolCallBlock),
});

export const readConfirmResult: Reader<ConfirmResult> = struct("ConfirmResult", {
  confirmed: boolean,
  tool_call: readToolCallBlock,
  rules: made(nullable(listOf(readPermissionRule)), () => null),
});

export const readUserConfirmResultEvent: Reader<UserConfirmResultEvent> = struct("UserConfirmResultEvent", {
  type: word("USER_CONFIRM_RESULT"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  confirm_results: listOf(readConfirmResult),
});

export const readRequireExternalExecutionEvent: Reader<RequireExternalExecutionEvent> = struct("RequireExternalExecutionEvent", {
  type: word("REQUIRE_EXTERNAL_EXECUTION"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  tool_calls: listOf(readToolCallBlock),
});

export const readExternalExecutionResultEvent: Reader<ExternalExecutionResultEvent> = struct("ExternalExecutionResultEvent", {
  type: word("EXTERNAL_EXECUTION_RESULT"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
  execution_results: listOf(readToolResultBlock),
});

export const readUserInterruptEvent: Reader<UserInterruptEvent> = struct("UserInterruptEvent", {
  type: word("USER_INTERRUPT"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: string,
  metadata: made(recordOf(json), () => ({})),
});

export const readCustomEvent: Reader<CustomEvent> = struct("CustomEvent", {
  type: word("CUSTOM"),
  id: made(string, newId),
  created_at: made(string, now),
  reply_id: made(string, () => ""),
  metadata: made(recordOf(json), () => ({})),
  name: string,
  value: made(recordOf(json), () => ({})),
});

/** The readers of the blocks, by their `type`. */
export const BLOCK_READERS = {
  text: readTextBlock,
  thinking: readThinkingBlock,
  data: readDataBlock,
  hint: readHintBlock,
  tool_call: readToolCallBlock,
  tool_result: readToolResultBlock,
} as const;

/** The readers of the events, by their `type`. */
export const EVENT_READERS = {
  REPLY_START: readReplyStartEvent,
  REPLY_END: readReplyEndEvent,
  EXCEED_MAX_ITERS: readExceedMaxItersEvent,
  REQUEST_STOP: readRequestStopEvent,
  MODEL_CALL_START: readModelCallStartEvent,
  MODEL_CALL_END: readModelCallEndEvent,
  TEXT_BLOCK_START: readTextBlockStartEvent,
  TEXT_BLOCK_DELTA: readTextBlockDeltaEvent,
  TEXT_BLOCK_END: readTextBlockEndEvent,
  THINKING_BLOCK_START: readThinkingBlockStartEvent,
  THINKING_BLOCK_DELTA: readThinkingBlockDeltaEvent,
  THINKING_BLOCK_END: readThinkingBlockEndEvent,
  DATA_BLOCK_START: readDataBlockStartEvent,
  DATA_BLOCK_DELTA: readDataBlockDeltaEvent,
  DATA_BLOCK_END: readDataBlockEndEvent,
  HINT_BLOCK: readHintBlockEvent,
  TOOL_CALL_START: readToolCallStartEvent,
  TOOL_CALL_DELTA: readToolCallDeltaEvent,
  TOOL_CALL_END: readToolCallEndEvent,
  TOOL_RESULT_START: readToolResultStartEvent,
  TOOL_RESULT_TEXT_DELTA: readToolResultTextDeltaEvent,
  TOOL_RESULT_DATA_DELTA: readToolResultDataDeltaEvent,
  TOOL_RESULT_END: readToolResultEndEvent,
  REQUIRE_USER_CONFIRM: readRequireUserConfirmEvent,
  USER_CONFIRM_RESULT: readUserConfirmResultEvent,
  REQUIRE_EXTERNAL_EXECUTION: readRequireExternalExecutionEvent,
  EXTERNAL_EXECUTION_RESULT: readExternalExecutionResultEvent,
  USER_INTERRUPT: readUserInterruptEvent,
  CUSTOM: readCustomEvent,
} as const;

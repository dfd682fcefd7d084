/**
 * Applies reply events to the message of their reply: without clock or new ids, so that a replay gives the same message,
 * here and in Python (`realtime/message/fold.py`).
 */

import { decodeBase64 } from "./base64.ts";
import { addBytes, growingSource } from "./growing.ts";
import {
  ALLOWED_BLOCKS,
  type AgentEvent,
  type AgentEventOf,
  type BlockType,
  type ContentBlock,
  type DataBlock,
  type MsgData,
  TOOL_CALL_ARROWS,
  type TextBlock,
  type ToolCallState,
  readMsgData,
} from "./types.generated.ts";

/** Bytes of a data block, as they arrive. */
export interface DataPiece {
  reply_id: string;
  block_id: string;
  media_type: string;
  bytes: Uint8Array;
}

/** Receives every piece of data once, even if it arrives twice: the place for a player. */
export type DataSink = (piece: DataPiece) => void;

type BlockOf<Type extends BlockType> = Extract<ContentBlock, { type: Type }>;
type Complaint = string | null;

interface FoldState {
  seen: Set<string>;
  complaints: Set<string>;
}

const STATE = Symbol("fold");
const NULLABLE = new Set(["finished_at", "usage", "finished_reason", "structured_output", "error"]);
const MAX_UNKNOWN_TYPES = 100;
const unknownTypes = new Set<string>();

/**
 * Applies one event of the message's reply, and returns the message.
 *
 * Ignores repeated events, by their ids, and events of other replies. Skips an event that does not fit (an unknown
 * block) with a warning. `onData` receives the bytes of data blocks as they arrive.
 */
export function appendEvent<M extends MsgData>(msg: M, event: AgentEvent, onData?: DataSink): M {
  if (event.reply_id !== msg.id) return msg;
  const state = stateOf(msg);
  if (state.seen.has(event.id)) return msg;
  state.seen.add(event.id);
  const complaint = apply(msg, event, onData);
  if (complaint !== null && !state.complaints.has(complaint)) {
    state.complaints.add(complaint);
    console.warn(`${event.type} of reply ${msg.id} skipped: ${complaint}`);
  }
  return msg;
}

/** Warns once per type of an unknown event. */
export function warnUnknown(type: string): void {
  if (unknownTypes.has(type) || unknownTypes.size >= MAX_UNKNOWN_TYPES) return;
  unknownTypes.add(type);
  console.warn(`reply events of the unknown type ${JSON.stringify(type.slice(0, 64))} are skipped`);
}

/** Copies the set of applied events from `msg` to `twin`. */
export function shareHistory(msg: MsgData, twin: MsgData): void {
  for (const id of stateOf(msg).seen) stateOf(twin).seen.add(id);
}

function stateOf(msg: MsgData): FoldState {
  const holder: MsgData & { [STATE]?: FoldState } = msg;
  if (!holder[STATE]) Object.defineProperty(holder, STATE, { value: { seen: new Set(), complaints: new Set() } });
  return holder[STATE]!;
}

function apply(msg: MsgData, event: AgentEvent, onData: DataSink | undefined): Complaint {
  const created_at = event.created_at;
  switch (event.type) {
    case "REPLY_END":
      msg.finished_at = created_at;
      msg.finished_reason = event.finished_reason;
      msg.error = event.error;
      return changeFields(msg, event.message);
    case "MODEL_CALL_END":
      return addUsage(msg, event);
    case "TEXT_BLOCK_START":
      return add(msg, { type: "text", text: "", id: event.block_id, created_at });
    case "TEXT_BLOCK_DELTA":
      return change(unfinished(msg, "text", event.block_id), (block) => (block.text += event.delta));
    case "TEXT_BLOCK_END":
      return change(end(msg, "text", event.block_id, created_at), (block) => (block.text = event.text ?? block.text));
    case "THINKING_BLOCK_START":
      return add(msg, { type: "thinking", thinking: "", id: event.block_id, created_at });
    case "THINKING_BLOCK_DELTA":
      return change(unfinished(msg, "thinking", event.block_id), (block) => (block.thinking += event.delta));
    case "THINKING_BLOCK_END":
      return change(end(msg, "thinking", event.block_id, created_at), (block) =>
        Object.assign(block, { ...event.extra, ...block }),
      );
    case "DATA_BLOCK_START": {
      const { media_type, url, name } = event;
      const source = url == null ? growingSource(media_type, new Uint8Array()) : { type: "url" as const, url, media_type };
      return add(msg, { type: "data", source, id: event.block_id, name, created_at });
    }
    case "DATA_BLOCK_DELTA":
      return change(unfinished(msg, "data", event.block_id), (block) => addPiece(block, event, onData));
    case "DATA_BLOCK_END":
      return change(end(msg, "data", event.block_id, created_at));
    case "HINT_BLOCK": {
      const { block_id: id, source } = event;
      return add(msg, { type: "hint", hint: structuredClone(event.hint), id, source, created_at, finished_at: created_at });
    }
    case "TOOL_CALL_START": {
      const { tool_call_id: id, tool_call_name: name } = event;
      return add(msg, { type: "tool_call", id, name, input: "", state: "pending", created_at });
    }
    case "TOOL_CALL_DELTA":
      return change(unfinished(msg, "tool_call", event.tool_call_id), (block) => (block.input += event.delta));
    case "TOOL_CALL_END":
      return change(end(msg, "tool_call", event.tool_call_id, created_at));
    case "TOOL_RESULT_START": {
      const { tool_call_id: id, tool_call_name: name } = event;
      return add(msg, { type: "tool_result", id, name, output: "", state: "running", created_at });
    }
    case "TOOL_RESULT_TEXT_DELTA":
      return change(unfinished(msg, "tool_result", event.tool_call_id), (block) => addText(block, event));
    case "TOOL_RESULT_DATA_DELTA":
      return change(unfinished(msg, "tool_result", event.tool_call_id), (block) => addData(block, event));
    case "TOOL_RESULT_END":
      move(msg, event.tool_call_id, "finished");
      return change(end(msg, "tool_result", event.tool_call_id, created_at), (block) => (block.state = event.state));
    case "REQUIRE_USER_CONFIRM":
      return together(event.tool_calls.map((call) => ask(msg, call)));
    case "USER_CONFIRM_RESULT":
      return together(event.confirm_results.map((result) => answer(msg, result)));
    case "REQUIRE_EXTERNAL_EXECUTION":
      return together(event.tool_calls.map((call) => move(msg, call.id, "submitted")));
    case "EXTERNAL_EXECUTION_RESULT":
      return together(
        event.execution_results.map((result) => move(msg, result.id, "finished") ?? add(msg, structuredClone(result))),
      );
    case "REPLY_START":
    case "MODEL_CALL_START":
    case "EXCEED_MAX_ITERS":
    case "REQUEST_STOP":
    case "USER_INTERRUPT":
    case "CUSTOM":
      return null;
    default:
      // A newer server may send more than this version knows.
      warnUnknown((event satisfies never as AgentEvent).type);
      return null;
  }
}

/** Sets what the end of a reply tells of its message beyond the other events, if it is right. */
function changeFields(msg: MsgData, fields: Record<string, unknown>): Complaint {
  const given = Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null || NULLABLE.has(name)),
  );
  if (Object.keys(given).length === 0) return null;
  const { name, role, usage } = msg;
  try {
    const changed = readMsgData({ id: "", created_at: "", name, role, usage, content: [], ...given }, "message");
    const content = "content" in given ? changed.content : msg.content;
    const stranger = content.find((block) => !ALLOWED_BLOCKS[changed.role].includes(block.type));
    if (stranger) return `a ${changed.role} message holds no ${stranger.type} block`;
    if (changed.usage !== null && changed.role !== "assistant") return "only assistant messages have usage";
    Object.assign(msg, Object.fromEntries(Object.entries(changed).filter(([field]) => field in given)));
    return null;
  } catch (error) {
    return String(error);
  }
}

/** The block of this type and id; ids are unique within a type. Searched from the end, where events name blocks. */
function find<Type extends BlockType>(msg: MsgData, type: Type, id: string): BlockOf<Type> | undefined {
  return msg.content.findLast((block): block is BlockOf<Type> => block.type === type && block.id === id);
}

function unfinished<Type extends BlockType>(msg: MsgData, type: Type, id: string): BlockOf<Type> | string {
  const block = find(msg, type, id);
  return block && block.finished_at == null ? block : `there is no unfinished ${type} block ${id}`;
}

function end<Type extends BlockType>(msg: MsgData, type: Type, id: string, at: string): BlockOf<Type> | string {
  const block = find(msg, type, id);
  if (!block) return `there is no ${type} block ${id}`;
  block.finished_at = at;
  return block;
}

function change<Block extends object>(found: Block | string, effect?: (block: Block) => void): Complaint {
  if (typeof found === "string") return found;
  effect?.(found);
  return null;
}

function add(msg: MsgData, block: ContentBlock): Complaint {
  if (!ALLOWED_BLOCKS[msg.role].includes(block.type)) return `a ${msg.role} message holds no ${block.type} block`;
  // The start of a known block again: a harmless overlap of two replays.
  if (!find(msg, block.type, block.id)) msg.content.push(block);
  return null;
}

function addPiece(block: DataBlock, event: AgentEventOf<"DATA_BLOCK_DELTA">, onData: DataSink | undefined): void {
  const bytes = decodeBase64(event.data);
  addBytes(block, bytes);
  if (onData && block.source.type === "base64") {
    onData({ reply_id: event.reply_id, block_id: event.block_id, media_type: block.source.media_type, bytes });
  }
}

function addUsage(msg: MsgData, event: AgentEventOf<"MODEL_CALL_END">): Complaint {
  if (msg.role !== "assistant") return "only assistant messages have usage";
  const before = msg.usage ?? { input_tokens: 0, output_tokens: 0, cache_input_tokens: 0, cache_creation_input_tokens: 0 };
  msg.usage = {
    ...before,
    input_tokens: before.input_tokens + event.input_tokens,
    output_tokens: before.output_tokens + event.output_tokens,
  };
  return null;
}

/** The text block that `event` begins in a tool's output; its id derives from the event's. */
function textOf(event: AgentEvent, text: string): TextBlock {
  return { type: "text", text, id: `${event.id}_text`, created_at: event.created_at };
}

function addText(result: BlockOf<"tool_result">, event: AgentEventOf<"TOOL_RESULT_TEXT_DELTA">): void {
  if (typeof result.output === "string") {
    result.output += event.delta;
    return;
  }
  const last = result.output.at(-1);
  if (last?.type === "text") last.text += event.delta;
  else result.output.push(textOf(event, event.delta));
}

function addData(result: BlockOf<"tool_result">, event: AgentEventOf<"TOOL_RESULT_DATA_DELTA">): void {
  if (typeof result.output === "string") result.output = result.output ? [textOf(event, result.output)] : [];
  const bytes = decodeBase64(event.data ?? "");
  const known = result.output.find((part): part is DataBlock => part.type === "data" && part.id === event.block_id);
  if (known) {
    addBytes(known, bytes);
    return;
  }
  const media_type = event.media_type;
  const source = event.url == null ? growingSource(media_type, bytes) : { type: "url" as const, url: event.url, media_type };
  result.output.push({ type: "data", source, id: event.block_id, name: null, created_at: event.created_at });
}

/** Moves a call to `state`, if an arrow leads there; does nothing if it is there. */
function move(
  msg: MsgData,
  id: string,
  state: ToolCallState,
  further?: (call: BlockOf<"tool_call">) => void,
): Complaint {
  const call = find(msg, "tool_call", id);
  if (!call) return `there is no tool call ${id}`;
  if (call.state === state) return null;
  if (!TOOL_CALL_ARROWS[call.state].includes(state)) {
    return `tool call ${id} is ${call.state}, so it cannot become ${state}`;
  }
  call.state = state;
  further?.(call);
  return null;
}

function ask(msg: MsgData, asked: BlockOf<"tool_call">): Complaint {
  return move(msg, asked.id, "asking", (call) => {
    if (asked.suggested_rules?.length) call.suggested_rules = structuredClone(asked.suggested_rules);
    else delete call.suggested_rules;
  });
}

function answer(msg: MsgData, result: AgentEventOf<"USER_CONFIRM_RESULT">["confirm_results"][number]): Complaint {
  const { id, name, input } = result.tool_call;
  if (!result.confirmed) return move(msg, id, "finished");
  return move(msg, id, "allowed", (call) => {
    call.name = name;
    call.input = input;
  });
}

function together(complaints: readonly Complaint[]): Complaint {
  return complaints.filter((complaint) => complaint !== null).join("; ") || null;
}

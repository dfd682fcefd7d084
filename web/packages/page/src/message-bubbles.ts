/** What a bubble shows of a message: one per message, with all its rounds of tools. Pure, but for the texts' language. */

import type { ContentBlock, DataBlock, HintBlock, MsgData, PermissionRule, TextBlock, ToolCallBlock } from "@realtime-voice/messages";
import type { ClaimWithheld, ConsentReceipt } from "@realtime-voice/client";
import { CallDeeds } from "./call-deeds.ts";
import { say } from "./texts.ts";

export interface TextPart {
  readonly kind: "text" | "thinking";
  readonly key: string;
  readonly text: string;
}

/** Claims of deeds that were not done, which were to be said here. */
export interface ClaimPart {
  readonly kind: "claim";
  readonly key: string;
  readonly claims: readonly ClaimWithheld[];
}

export interface DataPart {
  readonly kind: "data";
  readonly key: string;
  readonly shape: "audio" | "image" | "link" | "file";
  readonly title: string;
  /** Its media type without parameters. */
  readonly type: string;
  /** Whether more of it may arrive. */
  readonly isGrowing: boolean;
  readonly block: DataBlock;
}

export interface HintPart {
  readonly kind: "hint";
  readonly key: string;
  readonly label: string;
  readonly parts: readonly (TextPart | DataPart)[];
}

export interface ToolPart {
  readonly kind: "tool";
  readonly key: string;
  readonly name: string;
  readonly input: string;
  readonly state: string;
  readonly output: readonly (TextPart | DataPart)[];
  /** The tool call that waits for the user's consent; null where none does. */
  readonly asking: ToolCallBlock | null;
  readonly receipt: ConsentReceipt | null;
}

export type Part = TextPart | ClaimPart | DataPart | HintPart | ToolPart;

export interface BubbleView {
  readonly side: "user" | "agent" | "system";
  readonly who: string;
  readonly at: string;
  readonly isLive: boolean;
  /** How it ended, where not completed; else empty. */
  readonly mark: string;
  readonly parts: readonly Part[];
}

const SIDES = { user: "user", assistant: "agent", system: "system" } as const;
const WHO = { user: "message.user", assistant: "bubble.agent", system: "message.system" } as const;
const CALL_WORDS = {
  pending: "message.preparing",
  asking: "message.asking",
  allowed: "message.allowed",
  submitted: "message.waits",
  finished: "message.finished",
} as const;
const RESULT_WORDS = {
  running: "message.running",
  success: "message.done",
  error: "message.broken",
  interrupted: "message.interrupted",
  denied: "message.refused",
} as const;
const SHAPES = { audio: "message.sound", image: "message.picture", link: "message.link", file: "message.file" } as const;
const RULES = { allow: "message.always", deny: "message.never", ask: "message.askFirst" } as const;
const DEFAULT_RATE_HZ = 24_000;

export function bubbleOf(msg: MsgData, deeds = new CallDeeds()): BubbleView {
  return {
    side: SIDES[msg.role],
    who: msg.name === "" || msg.name === "user" ? say(WHO[msg.role]) : msg.name,
    at: msg.created_at,
    isLive: msg.finished_at === null && msg.content.some(({ finished_at, created_at }) => created_at != null && finished_at == null),
    mark: markOf(msg),
    parts: partsOf(msg.content, deeds),
  };
}

function markOf({ finished_reason, error }: MsgData): string {
  if (finished_reason === "interrupted") return say("bubble.interrupted");
  if (finished_reason === "exceed_max_iters") return say("message.tooMany");
  return finished_reason === "error" ? say("message.failed", { why: error || say("message.noReason") }) : "";
}

/** Blocks are only added at the end, so their index is a stable key. A result is shown with its call. */
function partsOf(content: readonly ContentBlock[], deeds: CallDeeds): Part[] {
  const called = new Set(content.filter(({ type }) => type === "tool_call").map(({ id }) => id));
  return content.flatMap((block, place): Part[] => {
    const key = `${block.type} ${place}`;
    switch (block.type) {
      case "text":
        return [...(block.text === "" ? [] : [{ kind: "text" as const, key, text: block.text }]), ...claimsAfter(block.id, place, deeds)];
      case "thinking":
        return [{ kind: "thinking", key, text: block.thinking }];
      case "data":
        return [dataPart(block, key, block.created_at != null && block.finished_at == null)];
      case "hint":
        return [{ kind: "hint", key, label: labelOf(block.source), parts: innerParts(block.hint, false) }];
      case "tool_call":
        return [toolPart(key, block, content, deeds)];
      case "tool_result":
        return called.has(block.id) ? [] : [toolPart(key, { ...block, input: "", type: "tool_call", state: "finished" }, content, deeds)];
    }
  });
}

function claimsAfter(itemId: string, place: number, deeds: CallDeeds): ClaimPart[] {
  const claims = deeds.claimsOf(itemId);
  return claims.length === 0 ? [] : [{ kind: "claim", key: `claim ${place}`, claims }];
}

function toolPart(key: string, call: ToolCallBlock, content: readonly ContentBlock[], deeds: CallDeeds): ToolPart {
  const result = content.find((block) => block.type === "tool_result" && block.id === call.id);
  const told = result?.type === "tool_result" ? result : null;
  return {
    kind: "tool",
    key,
    name: call.name,
    input: call.input,
    state: say(told ? RESULT_WORDS[told.state] : CALL_WORDS[call.state]),
    output: told ? innerParts(told.output, told.state === "running") : [],
    asking: call.state === "asking" ? call : null,
    receipt: deeds.receiptOf(call.id),
  };
}

function innerParts(content: HintBlock["hint"] | readonly (TextBlock | DataBlock)[], isGrowing: boolean): (TextPart | DataPart)[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", key: "text", text: content }];
  return content.map((block, place) =>
    block.type === "text"
      ? { kind: "text", key: `text ${place}`, text: block.text }
      : dataPart(block, `data ${place}`, isGrowing),
  );
}

function dataPart(block: DataBlock, key: string, isGrowing: boolean): DataPart {
  const type = block.source.media_type.split(";")[0]!.trim().toLowerCase();
  const family = type.split("/")[0];
  const shape = block.source.type === "url" ? "link" : family === "audio" || family === "image" ? family : "file";
  return { kind: "data", key, shape, title: block.name || say(SHAPES[shape]), type, isGrowing, block };
}

/** The label of a hint: `source` is plain text, or JSON with a label or a name. */
export function labelOf(source: string | null): string {
  const plain = say("message.hint");
  if (source === null || source.trim() === "") return plain;
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    return source;
  }
  if (typeof value === "string") return value || plain;
  if (typeof value !== "object" || value === null) return source;
  const { label, name } = value as Record<string, unknown>;
  return [label, name].find((words): words is string => typeof words === "string" && words.trim() !== "") ?? plain;
}

/** The meaning of a suggested rule, e.g. "Always allow pay (amount < 10)". */
export function ruleWords({ behavior, tool_name, rule_content }: PermissionRule): string {
  return say(RULES[behavior], { tool: `${tool_name}${rule_content ? ` (${rule_content})` : ""}` });
}

/** An address that may become a link; null for one that would run or open something on this machine. */
export function linkTo(address: string): string | null {
  return URL.canParse(address) && ["http:", "https:"].includes(new URL(address).protocol) ? address : null;
}

/** The rate in Hz of raw samples by their media type; null for other formats. */
export function rawRateHz(mediaType: string): number | null {
  if (!/^audio\/(?:pcm|x-pcm|raw)\s*(?:;|$)/i.test(mediaType)) return null;
  return Number(/;\s*rate=(\d+)/i.exec(mediaType)?.[1] ?? DEFAULT_RATE_HZ);
}

export function sizeWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** The conversation as bubbles in order, folded from the events. Pure. */

import {
  type ClaimWithheld,
  type ConsentQuestion,
  type ConsentReceipt,
  type Deed,
  type LocalSignal,
  type PermissionRule,
  type PermissionUpdate,
  type Plan,
  type PlanUpdate,
  type ServerEvent,
  type ServerEventOf,
  type ToolCallBlock,
  readDeed,
} from "@realtime-voice/client";
import type { Wait } from "./latency/waterfall.ts";
import { say } from "./texts.ts";

export interface Bubble {
  readonly id: string;
  /** change: another agent has the call from here on. */
  readonly side: "user" | "agent" | "tool" | "change";
  /** The agent's or the tool's name. */
  readonly name: string;
  readonly text: string;
  /**
   * live: still growing; done; cut: interrupted, `text` is the played part; failed: not transcribed; deleted: kept so that
   * no late event brings it back; asking: a tool that waits for the user's consent.
   */
  readonly status: "live" | "done" | "cut" | "failed" | "deleted" | "asking";
  readonly responseId: string | null;
  /** The reason why a voice stopped this reply. */
  readonly stoppedBy?: string;
  /** The reasons why voices did not stop it, each once. */
  readonly ignored?: readonly string[];
  /** The words after those that were heard, where it was interrupted. */
  readonly lost?: string;
  /** How many pictures the user showed here, without words. */
  readonly pictures?: number;
  readonly tool?: ToolWork;
  /** Claims of deeds that were not done, which were to be said here. */
  readonly withheld?: readonly ClaimWithheld[];
}

/** What a tool does, and what came of it. */
export interface ToolWork {
  /** What it was given, as JSON. */
  readonly input: string;
  /** Its latest note about its work. */
  readonly note: string;
  /** Its result, as far as it came. */
  readonly output: string;
  /** running: it works in the background, with its result to come; null: it works, or asks. */
  readonly outcome: "success" | "error" | "interrupted" | "denied" | "running" | null;
  /** Whether the user was asked before it ran. */
  readonly isAsked?: true;
  /** Its question for consent, as far as it is. */
  readonly question?: ConsentQuestion;
  /** What may be allowed from now on. */
  readonly rules?: readonly PermissionRule[];
  /** What it was to be given before the user changed it, as JSON. */
  readonly before?: string;
  /** Why the latest words were no answer to the question. */
  readonly ignored?: string;
  readonly receipt?: ConsentReceipt;
}

/** A plan, and the agent that follows it. */
export interface AgentPlan {
  readonly agentId: string;
  /** Empty where there is one agent only. */
  readonly agentName: string;
  readonly plan: Plan;
  /** Whether the user may change it. */
  readonly isEditable: boolean;
}

export interface Captions {
  readonly bubbles: readonly Bubble[];
  /** By response id. */
  readonly latencies: Readonly<Record<string, Wait>>;
  /** What may be done without asking; unknown until the server tells. */
  readonly permissions?: PermissionUpdate;
  /** What the agents are to do, and how far they are. */
  readonly plans?: readonly AgentPlan[];
}

export const NO_CAPTIONS: Captions = { bubbles: [], latencies: {} };

/** The bubbles to show: user speech before its first word too, but none that ended without words. */
export function visibleBubbles(captions: Captions): readonly Bubble[] {
  return captions.bubbles.filter(
    ({ status, text, side, tool, pictures, withheld }) =>
      status !== "deleted" &&
      (text !== "" ||
        [tool, pictures, withheld].some(Boolean) ||
        ["failed", "asking"].includes(status) ||
        (status === "live" && side === "user")),
  );
}

/** Whether a claim was taken back here, and no voice stopped the reply. */
export function isTakenBack({ withheld, stoppedBy }: Bubble): boolean {
  return withheld !== undefined && stoppedBy === undefined;
}

export function foldCaptions(captions: Captions, event: ServerEvent | LocalSignal): Captions {
  if (event.type === "server_latency") {
    const { latency_ms: totalMs, estimated } = event;
    // A server of an earlier version measured something else.
    if (totalMs === null) return captions;
    const latency = { totalMs, stages: Object.entries(event.stages_ms), estimated };
    return { ...captions, latencies: { ...captions.latencies, [event.response_id]: latency } };
  }
  const deed = event.type === "server_custom" ? readDeed(event) : null;
  if (deed?.name === "permission_updated") return { ...captions, permissions: deed.value };
  if (deed?.name === "permissions_key") return captions;
  if (deed?.name === "plan_updated") return { ...captions, plans: foldPlans(captions.plans ?? [], deed.value) };
  const bubbles = deed ? foldDeed(captions.bubbles, deed) : foldBubbles(captions.bubbles, event);
  // The plan was that of the agent before; that of the other one is told next.
  if (event.type === "server_custom" && event.name === "agent_changed") return { ...captions, bubbles, plans: [] };
  return bubbles === captions.bubbles ? captions : { ...captions, bubbles };
}

/** Each agent has one plan at a time; its place stays. */
function foldPlans(plans: readonly AgentPlan[], { plan, agent_id: agentId = "", agent_name: agentName = "", editable = false }: PlanUpdate): readonly AgentPlan[] {
  if (!plan) return plans.filter((one) => one.agentId !== agentId);
  const now = { agentId, agentName, plan, isEditable: editable };
  return plans.some((one) => one.agentId === agentId) ? plans.map((one) => (one.agentId === agentId ? now : one)) : [...plans, now];
}

function foldBubbles(bubbles: readonly Bubble[], event: ServerEvent | LocalSignal): readonly Bubble[] {
  switch (event.type) {
    case "agent_input_started":
      // The same item again: a hasty end of turn was reverted, and the user goes on.
      return reopen(bubbles, user(event.item_id));
    case "agent_input_transcription_delta":
      return grow(bubbles, user(event.item_id), event.delta);
    case "agent_input_transcription_done":
      return settle(bubbles, user(event.item_id), event.transcript);
    case "agent_input_transcription_failed":
      return change(bubbles, user(event.item_id), () => ({ status: "failed" }));
    case "agent_response_audio_transcript_delta":
    case "agent_response_text_delta":
      return grow(bubbles, agent(event), event.delta);
    case "agent_response_audio_transcript_done":
      return settle(bubbles, agent(event), event.transcript);
    case "agent_response_text_done":
      return settle(bubbles, agent(event), event.text);
    case "agent_response_tool_use_done": {
      const { state } = event.tool_use;
      const bubble = tool(event.tool_use, event.response_id);
      const status = state === "asking" ? "asking" : "live";
      return change(bubbles, bubble, (old) => ({ text: bubble.text, tool: given(old, event.tool_use), status }));
    }
    case "agent_item_done": {
      const { tool_call: call } = event.item;
      if (call?.state !== "allowed") return bubbles;
      const { name, text } = tool(call, null);
      const isAsked = (old: Bubble): boolean => old.status === "asking" || (old.status === "live" && old.tool?.question !== undefined);
      const isIt = (old: Bubble): boolean => old.id === `tool:${call.id}` && isAsked(old);
      return bubbles.map((old) => (isIt(old) ? { ...old, name, text, tool: given(old, call), status: "live" } : old));
    }
    case "agent_error":
      // The rule was no suggestion of this question any more, or only a voice may agree: it stays open, and is shown anew.
      if (event.code !== "unknown_rule" && event.code !== "asked_by_voice" && event.code !== "other_tool") return bubbles;
      return bubbles.map((old) => (old.status === "asking" ? { ...old, tool: { ...(old.tool ?? NO_WORK) } } : old));
    case "agent_tool_progress": {
      const id = `tool:${event.tool_call_id}`;
      return bubbles.map((old) => (old.id === id ? { ...old, tool: reported(old.tool ?? NO_WORK, event) } : old));
    }
    case "agent_response_tool_result": {
      const { id, name, output, state: outcome } = event.tool_result;
      const bubble: Bubble = { id: `tool:${id}`, side: "tool", name, text: "", status: "done", responseId: event.response_id };
      // A picture is no caption: half a megabyte of base64 would be read aloud.
      const result = typeof output === "string" ? output : output.map((part) => ("text" in part ? part.text : say("tool.data"))).join(" ");
      return change(bubbles, bubble, (old) => ({
        text: `${old.text} → ${result}`.trim(),
        tool: { ...(old.tool ?? NO_WORK), output: result, outcome },
        status: "done",
      }));
    }
    case "agent_ended":
    case "server_session_ended":
    case "closed":
      return bubbles.map((bubble) => (bubble.status === "asking" ? { ...bubble, status: "cut" } : bubble));
    case "agent_response_done":
      return bubbles.map((bubble) =>
        bubble.responseId === event.response_id && bubble.side === "agent" && bubble.status === "live"
          ? { ...bubble, status: "done" }
          : bubble,
      );
    case "agent_item_added": {
      const { item, previous_item_id: previous } = event;
      if (item.role !== "user") return bubbles;
      const text = item.content.map((part) => part.text ?? part.transcript ?? "").join(" ").trim();
      if (text === "" && item.content.some(({ type }) => type === "image")) return withPicture(bubbles, item.id);
      return place(bubbles, { ...user(item.id), text, status: text === "" ? "live" : "done" }, previous);
    }
    case "agent_item_truncated": {
      const { transcript } = event;
      return change(bubbles, known(bubbles, event.item_id), ({ text, lost = "" }) => ({
        text: transcript ?? text,
        // A second truncation corrects the first: it divides the same words anew.
        lost: transcript === null ? lost : restOf(`${text} ${lost}`, transcript.trim()),
        status: "cut",
      }));
    }
    case "server_custom": {
      const name = event.name === "agent_changed" ? event.value["to"] : null;
      if (typeof name !== "string") return bubbles;
      const text = say("bubble.changed", { name });
      return [...bubbles, { ...user(`change:${event.seq}`), side: "change", name, text, status: "done" }];
    }
    case "agent_interruption":
      return bubbles.map((old) => (old.id === event.item_id ? { ...old, ...decided(old, event) } : old));
    case "agent_item_deleted":
      return change(bubbles, known(bubbles, event.item_id), () => ({ status: "deleted" }));
    default:
      return bubbles;
  }
}

function user(id: string): Bubble {
  return { id, side: "user", name: "", text: "", status: "live", responseId: null };
}

function agent(event: { item_id: string; agent_name: string; response_id: string }): Bubble {
  const { item_id: id, agent_name: name, response_id: responseId } = event;
  return { id, side: "agent", name, text: "", status: "live", responseId };
}

const NO_WORK: ToolWork = { input: "", note: "", output: "", outcome: null };

function tool({ id, name, input }: { id: string; name: string; input: string }, responseId: string | null): Bubble {
  const text = input === "{}" ? "" : input;
  return { id: `tool:${id}`, side: "tool", name, text, status: "live", responseId, tool: { ...NO_WORK, input: text } };
}

/** The work with what it is given, and what may be allowed from now on. */
function given({ tool: work = NO_WORK }: Bubble, { input, state, suggested_rules: rules = [] }: ToolCallBlock): ToolWork {
  const asked = state === "asking" && { isAsked: true as const };
  return { ...work, ...asked, input: input === "{}" ? "" : input, ...(rules.length > 0 && { rules }) };
}

function foldDeed(bubbles: readonly Bubble[], deed: Exclude<Deed, { name: "permission_updated" | "permissions_key" | "plan_updated" }>): readonly Bubble[] {
  switch (deed.name) {
    case "consent_question": {
      const { value: question } = deed;
      return change(bubbles, askedTool(question), ({ text, tool: { ignored, ...work } = NO_WORK, status }) => {
        const { input = work.input } = question;
        // Asked again at once because of these words: why is to be read meanwhile.
        const why = question.state === "repeated" && ignored !== undefined && { ignored };
        return {
          text: status === "asking" ? input : text,
          tool: { ...work, ...why, question, input, ...(input !== work.input && { before: work.input }) },
          // Whoever answers, and however: the question is over.
          status: question.state === "answered" && status === "asking" ? "live" : status,
        };
      });
    }
    case "consent_ignored": {
      const { value: ignored } = deed;
      return change(bubbles, askedTool(ignored), ({ tool: work = NO_WORK }) => ({ tool: { ...work, ignored: ignored.reason } }));
    }
    case "consent_receipt": {
      const { value: receipt } = deed;
      const done = (status: Bubble["status"]): Bubble["status"] => (status === "live" || status === "asking" ? "done" : status);
      return change(bubbles, askedTool(receipt), ({ tool: work = NO_WORK, status }) => ({ tool: { ...work, receipt }, status: done(status) }));
    }
    case "claim_withheld": {
      const { value: claim } = deed;
      const responseId = claim.response_id;
      return change(bubbles, { ...known(bubbles, claim.item_id), responseId }, ({ withheld = [] }) => ({ withheld: [...withheld, claim] }));
    }
  }
}

/** The bubble of a tool of which only the question or the receipt is known. */
function askedTool({ tool_call_id: id, tool: name }: Pick<ConsentQuestion, "tool_call_id" | "tool">): Bubble {
  return { id: `tool:${id}`, side: "tool", name, text: "", status: "live", responseId: null, tool: NO_WORK };
}

function reported(work: ToolWork, { kind, delta }: ServerEventOf<"agent_tool_progress">): ToolWork {
  return kind === "note" ? { ...work, note: delta } : { ...work, output: work.output + delta };
}

/** Pictures without words between them are one bubble: a camera sends one a second. */
function withPicture(bubbles: readonly Bubble[], id: string): readonly Bubble[] {
  const last = bubbles.at(-1);
  if (last?.pictures !== undefined && last.status === "done") return [...bubbles.slice(0, -1), { ...last, pictures: last.pictures + 1 }];
  return [...bubbles, { ...user(id), status: "done", pictures: 1 }];
}

/** The rest of `text` after `heard`; empty where `text` does not begin with it. */
function restOf(text: string, heard: string): string {
  return text.startsWith(heard) ? text.slice(heard.length).trim() : "";
}

function decided({ ignored = [] }: Bubble, { state, reason }: ServerEventOf<"agent_interruption">): Partial<Bubble> {
  if (state === "possible") return {};
  return state === "confirmed" ? { stoppedBy: reason } : { ignored: [...new Set([...ignored, reason])] };
}

/** The id of the call that a tool's bubble shows. */
export function callIdOf({ id }: Bubble): string {
  return id.slice("tool:".length);
}

/** The bubble with this id, or an empty one of the agent, so that its late events find it ended. */
function known(bubbles: readonly Bubble[], id: string): Bubble {
  return bubbles.find((bubble) => bubble.id === id) ?? { ...user(id), side: "agent" };
}

function isClosed({ status }: Bubble): boolean {
  return status === "cut" || status === "deleted";
}

function grow(bubbles: readonly Bubble[], bubble: Bubble, delta: string): readonly Bubble[] {
  return change(bubbles, bubble, (old) => (isClosed(old) ? {} : { name: old.name || bubble.name, text: old.text + delta, status: "live" }));
}

function settle(bubbles: readonly Bubble[], bubble: Bubble, text: string): readonly Bubble[] {
  return change(bubbles, bubble, (old) => (isClosed(old) ? {} : { name: old.name || bubble.name, text, status: "done" }));
}

/** Changes the bubble with this id; adds the changed `bubble` at the end where there is none. */
function change(
  bubbles: readonly Bubble[],
  bubble: Bubble,
  how: (old: Bubble) => Partial<Bubble>,
): readonly Bubble[] {
  if (!bubbles.some(({ id }) => id === bubble.id)) return [...bubbles, { ...bubble, ...how(bubble) }];
  return bubbles.map((old) => (old.id === bubble.id ? { ...old, ...how(old) } : old));
}

/** Adds an empty bubble, or reopens the existing one with its words. */
function reopen(bubbles: readonly Bubble[], bubble: Bubble): readonly Bubble[] {
  return change(bubbles, bubble, (old) => ({ status: "live", text: old.status === "deleted" ? "" : old.text }));
}

/** Puts `bubble` after `previousId`, else at the end. An existing one keeps its place, and its words if any. */
function place(bubbles: readonly Bubble[], bubble: Bubble, previousId: string | null): readonly Bubble[] {
  if (bubbles.some(({ id }) => id === bubble.id)) return bubble.text === "" ? bubbles : change(bubbles, bubble, () => bubble);
  const at = bubbles.findIndex(({ id }) => id === previousId) + 1;
  return at === 0 ? [...bubbles, bubble] : bubbles.toSpliced(at, 0, bubble);
}

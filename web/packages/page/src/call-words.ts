/** Sentences of the calls page. Pure. */

import type { CallInfo } from "./call-reader.ts";

const END_REASONS: Record<string, string> = {
  client_end: "Ended by the caller",
  listener_gone: "Ended: the caller was gone",
  client_left: "Ended by the caller",
  idle: "Ended: nobody spoke",
  call_limit: "Ended at its longest allowed time",
  shutdown: "Ended: the server stopped",
  server_stopped: "Ended: the server stopped",
  agent_ended: "Ended by the agent",
  agent_failed: "Ended: no agent could be made",
};
/** Ends that need no words in a list. */
const PLAIN_ENDS = new Set(["client_end", "client_left"]);

export const NO_CALLS = "No calls yet. What is said in a call can be read here, while it goes on and later.";
export const NO_MATCH = "No call matches.";
export const NOTHING_YET = "What is said in this call appears here.";
export const NOTHING_SAID = "Nothing was said in this call.";
export const STILL_SHOWN = { what: "The server does not know this call any more.", todo: "What was told is still shown." };
export const GAPS = { what: "A part of this call was not kept.", todo: "" };
export const NOT_DELETED = "The call was not deleted.";
export const NOT_PLAYED = {
  what: "The sound of this call cannot be played.",
  todo: "It may have been deleted, or the server is away. The words are still here.",
};
export const RECORDED_NOW = { what: "The sound of this call is being kept.", todo: "It can be heard here when the call is over." };

export function listTitle(user: string, isMe: boolean): string {
  return isMe ? "Your calls" : `Calls of ${user}`;
}

/** The agent and the beginning of a call. */
export function startedWords({ agent_name, created_at }: CallInfo): string {
  const time = new Date(created_at);
  const at = Number.isNaN(time.getTime()) ? "" : time.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return [agent_name || "A call", at].filter(Boolean).join(", ");
}

/** The first words of a call, or what is known instead. */
export function firstWords(call: CallInfo): string {
  if (call.first_words) return call.first_words;
  if (call.first_words == null) return call.agent_name ? `A call with ${call.agent_name}` : "A call";
  return call.live ? "Nothing was said yet" : "Nothing was said";
}

/** The day of a time: today, yesterday, or its date. Empty where unknown. */
export function dayWords(at: string, now: Date): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return "";
  const days = Math.round((midnight(now) - midnight(time)) / 86_400_000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  const year = time.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return time.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year });
}

function midnight(time: Date): number {
  // In UTC every day has 24 hours.
  return Date.UTC(time.getFullYear(), time.getMonth(), time.getDate());
}

export function clockWords(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? "" : time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

/** How long a call was; empty while that is unknown. */
export function durationWords({ created_at, ended_at }: CallInfo): string {
  const seconds = ended_at === null ? NaN : Math.round((Date.parse(ended_at) - Date.parse(created_at)) / 1000);
  if (!(seconds >= 0)) return "";
  if (seconds < 60) return `${seconds}\u00a0s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes}\u00a0min` : `${minutes}\u00a0min ${seconds % 60}\u00a0s`;
  return `${Math.floor(minutes / 60)}\u00a0h ${minutes % 60}\u00a0min`;
}

/** The line under the first words in a list. */
export function listedWords(call: CallInfo): string {
  const turns = !call.turns ? "" : counted(call.turns, "turn");
  return [clockWords(call.created_at), call.agent_name, durationWords(call), turns].filter(Boolean).join(" · ");
}

/** What is special about a call in a list; empty where nothing is. */
export function oddWords(call: CallInfo): string {
  if (call.live || (!call.unreadable && PLAIN_ENDS.has(call.ended_reason ?? ""))) return "";
  return endedWords(call);
}

/** How many errors a call had; empty for none. */
export function errorWords(errors: number | null | undefined): string {
  return errors ? counted(errors, "error") : "";
}

function counted(count: number, what: string): string {
  return `${count}\u00a0${what}${count === 1 ? "" : "s"}`;
}

/** Whether a call is neither live nor ended: its server was killed, and it was not resumed. */
export function isCutOff({ ended_at, live }: CallInfo): boolean {
  return ended_at === null && !live;
}

/** How a call ended, as far as known. */
export function endedWords(info: CallInfo): string {
  if (info.unreadable) return "Damaged: it cannot be read";
  if (isCutOff(info)) return "Cut off with its server";
  return END_REASONS[info.ended_reason ?? ""] ?? "Ended";
}

/** The question before a call is deleted. */
export function deleteQuestion({ live, recorded }: CallInfo): string {
  const what = recorded ? "delete it with its sound" : "delete it";
  return live ? `End this call and ${what}?` : `${recorded ? "Delete this call and its sound" : "Delete this call"} for good?`;
}

/** A place in a recording, such as 1:05. */
export function placeWords(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

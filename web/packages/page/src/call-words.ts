/** Sentences of the calls page. Pure, but for the language of the texts. */

import type { CallInfo } from "./call-reader.ts";
import { locale, sayCount } from "./reader-language.ts";
import { type Key, say } from "./texts.ts";
import type { Notice } from "./words.ts";

const END_REASONS: Record<string, Key> = {
  client_end: "over.client_end",
  listener_gone: "over.listener_gone",
  client_left: "over.client_end",
  idle: "over.idle",
  call_limit: "over.call_limit",
  shutdown: "over.shutdown",
  server_stopped: "over.shutdown",
  agent_ended: "over.agent_ended",
  agent_failed: "over.agent_failed",
};
/** Ends that need no words in a list. */
const PLAIN_ENDS = new Set(["client_end", "client_left"]);

export function stillShown(): Notice {
  return { what: say("call.forgotten.what"), todo: say("call.forgotten.todo") };
}

export function notPlayed(): Notice {
  return { what: say("call.unplayed.what"), todo: say("call.unplayed.todo") };
}

export function recordedNow(): Notice {
  return { what: say("call.recording.what"), todo: say("call.recording.todo") };
}

export function listTitle(user: string, isMe: boolean): string {
  return isMe ? say("calls.mine") : say("calls.of", { user });
}

/** The agent and the beginning of a call. */
export function startedWords({ agent_name, created_at }: CallInfo): string {
  const time = new Date(created_at);
  const at = Number.isNaN(time.getTime()) ? "" : time.toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });
  return [agent_name || say("calls.unnamed"), at].filter(Boolean).join(", ");
}

/** The first words of a call, or what is known instead. */
export function firstWords(call: CallInfo): string {
  if (call.first_words) return call.first_words;
  if (call.first_words == null) return call.agent_name ? say("calls.with", { name: call.agent_name }) : say("calls.unnamed");
  return say(call.live ? "calls.unsaidYet" : "calls.unsaid");
}

/** The day of a time: today, yesterday, or its date. Empty where unknown. */
export function dayWords(at: string, now: Date): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return "";
  const days = Math.round((midnight(now) - midnight(time)) / 86_400_000);
  if (days === 0) return say("calls.today");
  if (days === 1) return say("calls.yesterday");
  const year = time.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return time.toLocaleDateString(locale(), { weekday: "long", day: "numeric", month: "long", year });
}

function midnight(time: Date): number {
  // In UTC every day has 24 hours.
  return Date.UTC(time.getFullYear(), time.getMonth(), time.getDate());
}

export function clockWords(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? "" : time.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" });
}

/** How long a call was; empty while that is unknown. */
export function durationWords({ created_at, ended_at }: CallInfo): string {
  const whole = ended_at === null ? NaN : Math.round((Date.parse(ended_at) - Date.parse(created_at)) / 1000);
  if (!(whole >= 0)) return "";
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const parts = [
    hours > 0 && counted(hours, "hour"),
    minutes > 0 && counted(minutes, "minute"),
    hours === 0 && (seconds > 0 || whole === 0) && counted(seconds, "second"),
  ];
  return parts.filter((part) => part !== false).join(" ");
}

function counted(count: number, unit: "hour" | "minute" | "second"): string {
  const words = new Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "short" }).format(count);
  return words.replace(" ", "\u00a0");
}

/** The line under the first words in a list. */
export function listedWords(call: CallInfo): string {
  const turns = call.turns ? sayCount("calls.turns", call.turns) : "";
  return [clockWords(call.created_at), call.agent_name, durationWords(call), turns].filter(Boolean).join(" · ");
}

/** What is special about a call in a list; empty where nothing is. */
export function oddWords(call: CallInfo): string {
  if (call.live || (!call.unreadable && PLAIN_ENDS.has(call.ended_reason ?? ""))) return "";
  return endedWords(call);
}

/** How many errors a call had; empty for none. */
export function errorWords(errors: number | null | undefined): string {
  return errors ? sayCount("calls.errors", errors) : "";
}

/** Whether a call is neither live nor ended: its server was killed, and it was not resumed. */
export function isCutOff({ ended_at, live }: CallInfo): boolean {
  return ended_at === null && !live;
}

/** How a call ended, as far as known. */
export function endedWords(info: CallInfo): string {
  if (info.unreadable) return say("over.damaged");
  if (isCutOff(info)) return say("over.cut");
  return say(END_REASONS[info.ended_reason ?? ""] ?? "over.other");
}

/** The question before a call is deleted. */
export function deleteQuestion({ live, recorded }: CallInfo): string {
  if (live) return say(recorded ? "delete.askLiveSound" : "delete.askLive");
  return say(recorded ? "delete.askSound" : "delete.ask");
}

/** A place in a recording, such as 1:05. */
export function placeWords(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** Sentences about a call. Pure. */

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

/** The agent and the beginning of a call. */
export function startedWords({ agent_name, created_at }: CallInfo): string {
  const time = new Date(created_at);
  const at = Number.isNaN(time.getTime()) ? "" : time.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return [agent_name || "A call", at].filter(Boolean).join(", ");
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

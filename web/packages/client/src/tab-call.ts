/** The call of this tab, kept so that a reloaded page goes on with it. */

import type { ResumeToken } from "./call-socket.ts";
import type { Played } from "./replay-buffer.ts";

export interface TabCall {
  readonly server: string;
  readonly user: string;
  readonly session: string;
  readonly resumeToken: ResumeToken;
  readonly lastPlayed: Played | null;
  /** Epoch ms. */
  readonly leftAt: number;
}

const KEY = "realtime.client.call";

/** Keeps a call, or forgets it (null). Without storage nothing is kept. */
export function keepTabCall(call: TabCall | null): void {
  try {
    if (call) sessionStorage.setItem(KEY, JSON.stringify(call));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Private windows may have no storage.
  }
}

/** The kept call to this server, where the server still waits for it at `now` (epoch ms). */
export function tabCall(server: string, now: number): TabCall | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as TabCall | null;
    return kept && kept.server === server && now - kept.leftAt < kept.resumeToken.withinMs ? kept : null;
  } catch {
    return null;
  }
}

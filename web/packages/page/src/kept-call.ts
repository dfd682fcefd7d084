/**
 * What a tab keeps of its call, so that the page can resume it after a reload. Kept per tab (`sessionStorage`) until the
 * call is over.
 */

import type { Played, ResumeToken } from "@realtime-voice/client";
import type { Captions } from "./captions.ts";
import { asRecord } from "./json.ts";
import { type MakeStorage, keep, readKept } from "./storage.ts";

export interface KeptCall {
  /** Of the socket's path. */
  readonly sessionId: string;
  readonly resumeToken: ResumeToken;
  /** What was shown and played when the page was left; null where unknown. */
  readonly captions: Captions | null;
  readonly lastPlayed: Played | null;
}

/** Storage for one call per page; `page` is the page's address, since a host may serve several. */
export class CallStorage {
  readonly #storage: MakeStorage;
  readonly #name: string;

  /** `storage` throws where the browser forbids it. */
  constructor(storage: MakeStorage, page: string) {
    this.#storage = storage;
    this.#name = `realtime.call ${new URL(page).pathname}`;
  }

  /** The call to resume; null where there is none that can be read. */
  load(): KeptCall | null {
    try {
      const kept: unknown = JSON.parse(readKept(this.#storage, this.#name) ?? "null");
      return isKeptCall(kept) ? kept : null;
    } catch {
      return null;
    }
  }

  /** Keeps the call, or none (null); where the browser has no storage or no room, it ends with the page. */
  save(call: KeptCall | null): void {
    keep(this.#storage, this.#name, call && JSON.stringify(call));
  }
}

function isKeptCall(value: unknown): value is KeptCall {
  const { sessionId, resumeToken, captions, lastPlayed } = asRecord(value);
  const { token, withinMs } = asRecord(resumeToken);
  const { bubbles, latencies } = asRecord(captions);
  return (
    typeof sessionId === "string" &&
    typeof token === "string" &&
    typeof withinMs === "number" &&
    (captions === null || (Array.isArray(bubbles) && typeof latencies === "object" && latencies !== null)) &&
    (lastPlayed === null || typeof asRecord(lastPlayed)["itemId"] === "string")
  );
}

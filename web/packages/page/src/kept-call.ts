/**
 * What a tab keeps of its call, so that the page can resume it after a reload. Kept per tab (`sessionStorage`) until the
 * call is over.
 */

import type { Played, ResumeToken } from "@realtime-voice/client";
import type { Captions } from "./captions.ts";

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
  readonly #storage: () => Pick<Storage, "getItem" | "setItem" | "removeItem">;
  readonly #name: string;

  /** `storage` throws where the browser forbids it. */
  constructor(storage: () => Pick<Storage, "getItem" | "setItem" | "removeItem">, page: string) {
    this.#storage = storage;
    this.#name = `realtime.call ${new URL(page).pathname}`;
  }

  /** The call to resume; null where there is none that can be read. */
  load(): KeptCall | null {
    try {
      const kept: unknown = JSON.parse(this.#storage().getItem(this.#name) ?? "null");
      return isKeptCall(kept) ? kept : null;
    } catch {
      return null;
    }
  }

  /** Keeps the call; where the browser has no storage or no room, it ends with the page. */
  save(call: KeptCall): void {
    try {
      this.#storage().setItem(this.#name, JSON.stringify(call));
    } catch {
      this.forget();
    }
  }

  forget(): void {
    try {
      this.#storage().removeItem(this.#name);
    } catch {
      // A browser that forbids storage keeps nothing.
    }
  }
}

function isKeptCall(value: unknown): value is KeptCall {
  if (!isRecord(value) || !isRecord(value["resumeToken"])) return false;
  const { token, withinMs } = value["resumeToken"];
  const { captions, lastPlayed } = value;
  return (
    typeof value["sessionId"] === "string" &&
    typeof token === "string" &&
    typeof withinMs === "number" &&
    (captions === null || (isRecord(captions) && Array.isArray(captions["bubbles"]) && isRecord(captions["latencies"]))) &&
    (lastPlayed === null || (isRecord(lastPlayed) && typeof lastPlayed["itemId"] === "string"))
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

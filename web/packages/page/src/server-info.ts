/** Where the server's doors are, seen from the page, and what it says of itself before a call. */

import { type ModelInfo, readModelInfo } from "./words.ts";

export interface ServerInfo {
  readonly model: ModelInfo | null;
  /** The server answers, but not to a page without its token. */
  readonly refused: boolean;
  /** Sentences on what is missing on the server. */
  readonly notices: readonly string[];
}

/** A path next to the page, with the token that the page's own address carries. The page may live under any prefix. */
export function besidePage(page: string, path: string): URL {
  const url = new URL(path, page);
  const token = new URL(page).searchParams.get("token");
  if (token !== null) url.searchParams.set("token", token);
  return url;
}

/** The address of a new call's socket. */
export function callUrl(page: string, userId: string, sessionId: string): string {
  const url = besidePage(page, `ws/${encodeURIComponent(userId)}/${encodeURIComponent(sessionId)}`);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** What the server says of itself; null where it does not answer at all. */
export async function fetchServerInfo(page: string): Promise<ServerInfo | null> {
  try {
    const response = await fetch(besidePage(page, "api/info"), { cache: "no-store" });
    const body: unknown = response.ok ? await response.json() : {};
    const fields = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
    const notices = Array.isArray(fields["notices"]) ? fields["notices"] : [];
    return {
      model: readModelInfo(fields["model"]),
      refused: [401, 403, 429].includes(response.status),
      notices: notices.filter((text) => typeof text === "string"),
    };
  } catch {
    return null;
  }
}

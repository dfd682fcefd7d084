/** Addresses of the server's endpoints, and what it reports before a call. */

import { asRecord, asText, asTexts } from "./json.ts";
import { type ModelInfo, readModelInfo } from "./words.ts";

export interface ServerInfo {
  readonly model: ModelInfo | null;
  /** The name of the agent; empty where it is not known before a call. */
  readonly agentName: string;
  /** What can be said first. */
  readonly suggestions: readonly string[];
  readonly version: string;
  /** What it speaks with pages; empty where it does not say. */
  readonly protocols: readonly string[];
  /** Whether the server refuses a page without its token. */
  readonly refused: boolean;
  /** Sentences about what the server lacks. */
  readonly notices: readonly string[];
}

/** The address of a path beside the page, under any prefix, with the token of the page's own address. */
export function besidePage(page: string, path: string): URL {
  const url = new URL(path, page);
  const token = new URL(page).searchParams.get("token");
  if (token !== null) url.searchParams.set("token", token);
  return url;
}

/** The address of a new call's socket. */
export function callUrl(page: string, userId: string, sessionId: string): string {
  return asSocket(besidePage(page, `ws/${encodeURIComponent(userId)}/${encodeURIComponent(sessionId)}`)).href;
}

/** The address with the protocol of a socket. */
export function asSocket(url: URL): URL {
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url;
}

/** What the server reports of itself; null where it does not answer. */
export async function fetchServerInfo(page: string): Promise<ServerInfo | null> {
  try {
    const response = await fetch(besidePage(page, "api/info"), { cache: "no-store" });
    const fields = asRecord(response.ok ? await response.json() : {});
    return {
      model: readModelInfo(fields["model"]),
      agentName: asText(fields["agent_name"]),
      suggestions: asTexts(fields["suggestions"]),
      version: asText(fields["version"]),
      protocols: asTexts(fields["protocols"]),
      refused: [401, 403, 429].includes(response.status),
      notices: asTexts(fields["notices"]),
    };
  } catch {
    return null;
  }
}

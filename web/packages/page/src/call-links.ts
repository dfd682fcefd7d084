/** Where a call can be read after its end, and the tools that run in its background. */

import { asRecord, asText } from "./json.ts";
import { besidePage } from "./server-info.ts";

export interface CallLinks {
  /** The address of the page that shows the call. */
  readonly transcript: string;
  /** Null where the server makes no reports. */
  readonly report: string | null;
}

/** A tool that runs in the background. */
export interface BackgroundTool {
  readonly id: string;
  readonly tool: string;
  /** What it reported last. */
  readonly latest: string;
}

/** The HTTP addresses of one call of this user. */
export class CallLinkFinder {
  readonly #page: string;
  readonly #user: string;

  constructor(page: string, user: string) {
    this.#page = page;
    this.#user = user;
  }

  /** Where an ended call can be read; null where the server keeps none of it. */
  async find(callId: string): Promise<CallLinks | null> {
    const info = await this.#ask(callId, "");
    if (info === null) return null;
    const transcript = besidePage(this.#page, "transcript.html");
    transcript.searchParams.set("call", callId);
    // Servers that make test cases of calls make reports of them as well.
    const makes = "case" in info && info["case"] !== null;
    return { transcript: transcript.href, report: makes ? this.#url(callId, "/report").href : null };
  }

  /** The tools that run in the background now; none where the server does not say. */
  async tools(callId: string): Promise<readonly BackgroundTool[]> {
    const told = (await this.#ask(callId, "/tasks"))?.["tasks"];
    return Array.isArray(told) ? told.map(readTool).filter(({ id }) => id !== "") : [];
  }

  /** Stops a tool. Returns whether the server did. */
  async stopTool(callId: string, toolId: string): Promise<boolean> {
    try {
      return (await fetch(this.#url(callId, `/tasks/${encodeURIComponent(toolId)}`), { method: "DELETE" })).ok;
    } catch {
      return false;
    }
  }

  async #ask(callId: string, path: string): Promise<Record<string, unknown> | null> {
    try {
      const response = await fetch(this.#url(callId, path), { cache: "no-store" });
      return response.ok ? asRecord(await response.json()) : null;
    } catch {
      return null;
    }
  }

  #url(callId: string, path: string): URL {
    const url = besidePage(this.#page, `api/calls/${encodeURIComponent(callId)}${path}`);
    url.searchParams.set("user", this.#user);
    return url;
  }
}

function readTool(value: unknown): BackgroundTool {
  const { id, tool, latest } = asRecord(value);
  return { id: asText(id), tool: asText(tool), latest: asText(latest) };
}

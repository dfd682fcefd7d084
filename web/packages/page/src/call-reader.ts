/**
 * Calls over HTTP: a user's list, and one call followed to its end by server-sent events.
 *
 * `EventSource` reports neither why a call is refused nor whether a stream ended or broke, so `fetch` reads the stream
 * and sends the last id as `Last-Event-ID` of the next request.
 */

import { readDeed, retryDelayMs } from "@realtime-voice/client";
import { type AgentEventOf, Transcript, foldStream } from "@realtime-voice/messages";
import { CallDeeds } from "./call-deeds.ts";
import { asRecord, asText } from "./json.ts";
import { besidePage } from "./server-info.ts";
import { say } from "./texts.ts";
import { type Notice, REFUSED } from "./words.ts";

/** A call as its owner sees it. Times are ISO 8601 in UTC. */
export interface CallInfo {
  readonly call_id: string;
  readonly agent_name: string;
  readonly created_at: string;
  /** Null while the call is live, and where its server was killed. */
  readonly ended_at: string | null;
  /** Whether it is live now. */
  readonly live: boolean;
  readonly ended_reason: string | null;
  /** Parts of the call that were lost. */
  readonly gaps?: readonly unknown[];
  /** Whether its log or description is damaged. */
  readonly unreadable?: boolean;
  /** How to get a test case of it; null: there is none, and no report either. */
  readonly case?: "download" | "save" | null;
  /** The first words of its user; null where they were not noted, as `turns` and `errors`. */
  readonly first_words?: string | null;
  readonly turns?: number | null;
  readonly errors?: number | null;
  /** Whether its sound is kept. */
  readonly recorded?: boolean;
}

/** Something that was said, written or done in a call. Times in ms since its beginning. */
export interface Line {
  readonly item_id: string;
  readonly who: string;
  readonly kind: "speech" | "text" | "tool";
  readonly text: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Which calls of a list are wanted: those with all of these words, and those with errors. */
export interface CallFilter {
  readonly words: string;
  readonly errors: boolean;
}

export const ALL_CALLS: CallFilter = { words: "", errors: false };

/** A test case that was saved on the server's machine. */
export interface SavedCase {
  readonly folder: string;
  /** What runs it, in a terminal. */
  readonly command: string;
}

/** What can be had of a call besides its events. */
export type CallFile = "report" | "sound" | "transcript";

/** A part of a list of calls; `next` is the start of the following part, null at the end. */
export interface CallPage {
  readonly calls: readonly CallInfo[];
  readonly next: string | null;
}

/** The server answered with an error. */
export class HttpProblem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    /** The server's own sentence. */
    readonly told = "",
  ) {
    super(`HTTP ${status} ${code}`);
  }

  /** Whether asking again may help. */
  get mayPass(): boolean {
    return this.status >= 500 || this.status === 429;
  }
}

/** The server sends a line at least every 15 s. */
const SILENCE_MS = 45_000;

/** The notice for a failed request of a call or a list. */
export function problemWords(error: unknown): Notice {
  const again = say("problem.away.todo");
  if (!(error instanceof HttpProblem)) return { what: say("problem.away.what"), todo: again };
  if (error.code === "calls_not_listed") return { what: say("problem.unlisted.what"), todo: say("problem.unlisted.todo") };
  if (error.status === 401) return REFUSED;
  if (error.status === 404) return { what: say("problem.unknown.what"), todo: say("problem.unknown.todo") };
  if (error.mayPass) return { what: say("problem.store"), todo: again };
  return { what: say("problem.other.what", { status: error.status }), todo: say("problem.other.todo") };
}

/** Why something was not done: in the server's words where it gave any. */
export function reasonWords(error: unknown): string {
  return error instanceof HttpProblem && error.told !== "" ? error.told : problemWords(error).what;
}

/** The HTTP endpoints of one user's calls. `page` is the page's own address. */
export class CallShelf {
  readonly #page: string;
  readonly #user: string;

  constructor(page: string, user: string) {
    this.#page = page;
    this.#user = user;
  }

  /** At most `pages` pages of the wanted calls, newest first. Throws HttpProblem; TypeError without an answer. */
  async list(pages: number, { words, errors }: CallFilter = ALL_CALLS): Promise<CallPage> {
    const wanted = { ...(words === "" ? {} : { q: words }), ...(errors ? { errors: "true" } : {}) };
    const calls: CallInfo[] = [];
    let next: string | null = null;
    for (let page = 0; page === 0 || (page < pages && next !== null); page++) {
      const query: Record<string, string> = next === null ? wanted : { ...wanted, after: next };
      const told = (await (await this.#ask("", {}, query)).json()) as CallPage;
      calls.push(...told.calls);
      next = told.next ?? null;
    }
    return { calls, next };
  }

  /** Throws like `list`. */
  async info(callId: string): Promise<CallInfo> {
    return (await (await this.#ask(`/${encodeURIComponent(callId)}`)).json()) as CallInfo;
  }

  /** Ends the call if it is live, and deletes it. Throws like `list`. */
  async delete(callId: string): Promise<void> {
    await this.#ask(`/${encodeURIComponent(callId)}`, { method: "DELETE" });
  }

  /** An ended call as a test case of this name, zipped. Throws like `list`. */
  async case(callId: string, name: string): Promise<Blob> {
    return (await this.#ask(`/${encodeURIComponent(callId)}/case`, {}, { name })).blob();
  }

  /** Makes the test case on the server's machine. Throws like `list`. */
  async saveCase(callId: string, name: string): Promise<SavedCase> {
    const answer = await this.#ask(`/${encodeURIComponent(callId)}/case`, { method: "POST" }, { name });
    return (await answer.json()) as SavedCase;
  }

  /** What was said in a call, and when it was heard. Throws like `list`. */
  async lines(callId: string): Promise<readonly Line[]> {
    const answer = await this.#ask(`/${encodeURIComponent(callId)}/transcript`, {}, { form: "json" });
    return ((await answer.json()) as { lines: Line[] }).lines;
  }

  /** The address of a file of a call, for a link or a player. */
  address(callId: string, file: CallFile, query: Record<string, string> = {}): string {
    return this.#url(`/${encodeURIComponent(callId)}/${file}`, query).href;
  }

  /** The event stream of a call after the event with this id. Throws like `list`. */
  async events(callId: string, lastId: string, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = lastId === "" ? {} : { "Last-Event-ID": lastId };
    return this.#ask(`/${encodeURIComponent(callId)}/events`, { headers, signal }, { vocabulary: "reply" });
  }

  #url(path: string, query: Record<string, string>): URL {
    const url = besidePage(this.#page, `api/calls${path}`);
    for (const [name, value] of Object.entries({ user: this.#user, ...query })) url.searchParams.set(name, value);
    return url;
  }

  async #ask(path: string, options: RequestInit = {}, query: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(this.#url(path, query), { cache: "no-store", ...options });
    if (response.ok) return response;
    const body: unknown = await response.json().catch(() => null);
    const { code, error } = asRecord(body);
    throw new HttpProblem(response.status, asText(code), asText(error));
  }
}

/** An error that the client of a call was told. */
export interface CallError {
  readonly id: string;
  readonly message: string;
  /** ISO 8601 in UTC. */
  readonly at: string;
}

export interface CallListener {
  info(info: CallInfo): void;
  /** The message with this id is new or has changed. */
  changed(messageId: string): void;
  /** The call had an error. */
  failed(error: CallError): void;
  /** Whether the stream is open; if not, the reason, as far as known. */
  line(isOpen: boolean, error: unknown): void;
}

/** Follows one call and folds its events. */
export class CallReader {
  readonly transcript = new Transcript();
  readonly deeds = new CallDeeds();
  readonly #shelf: CallShelf;
  readonly #callId: string;
  readonly #listener: CallListener;
  #lastId = "";

  constructor(shelf: CallShelf, callId: string, listener: CallListener) {
    this.#shelf = shelf;
    this.#callId = callId;
    this.#listener = listener;
  }

  get lastId(): string {
    return this.#lastId;
  }

  /** Returns when the call is over and read. Throws an HttpProblem that no further try would solve. */
  async follow(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const before = this.#lastId;
      let error: unknown = null;
      try {
        const info = await this.#shelf.info(this.#callId);
        this.#listener.info(info);
        await this.#read();
        // The call was over before the stream opened, and the stream ended in order: this was all.
        if (info.ended_at !== null) return;
      } catch (problem) {
        if (problem instanceof HttpProblem && !problem.mayPass) throw problem;
        error = problem;
      }
      this.#listener.line(false, error);
      if (this.#lastId !== before) attempt = 0;
      const delayMs = retryDelayMs(attempt, Math.random);
      await new Promise((go) => setTimeout(go, delayMs));
    }
  }

  /** The id of the message that an event without a reply of its own is about; empty for none. */
  #concerned(event: AgentEventOf<"CUSTOM">): string {
    const deed = readDeed(event);
    // A correction names the reply that it corrects.
    if (!deed) return String(event.value["reply_id"]);
    const blockId = this.deeds.add(deed);
    return this.transcript.messages.find(({ content }) => content.some(({ id }) => id === blockId))?.id ?? "";
  }

  /** Reads one stream to its end. Throws when it breaks or falls silent. */
  async #read(): Promise<void> {
    const silence = new AbortController();
    const response = await this.#shelf.events(this.#callId, this.#lastId, silence.signal);
    // Nothing more comes: the call is over and read.
    if (response.status === 204) return;
    if (!response.body) throw new TypeError("the answer has no body");
    this.#listener.line(true, null);
    for await (const { id, event } of foldStream(watched(response.body, silence), this.transcript)) {
      this.#lastId = id;
      if (event.type === "CUSTOM" && event.name === "error") {
        this.#listener.failed({ id: event.id, message: asText(event.value["message"]), at: event.created_at });
      }
      this.#listener.changed(event.type === "CUSTOM" ? this.#concerned(event) : event.reply_id);
    }
  }
}

/** Yields the stream's bytes; gives up when none come for too long, since a connection may be lost silently. */
async function* watched(body: ReadableStream<Uint8Array>, silence: AbortController): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  let timer = 0;
  const listen = (): void => {
    clearTimeout(timer);
    timer = window.setTimeout(() => silence.abort(), SILENCE_MS);
  };
  try {
    listen();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      listen();
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel();
  }
}

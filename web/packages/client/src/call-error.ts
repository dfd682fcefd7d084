/** What can go wrong in a call, each with a sentence to show. */

import type { Closing } from "./call-socket.ts";
import { MicrophoneError } from "./microphone-capture.ts";

/**
 * What went wrong:
 *
 * - `microphone_insecure`, `microphone_refused`, `microphone_missing`, `microphone_busy`, `microphone_failed`: there is
 *   no microphone; the call goes on, and typed text works. `microphone_lost`: it was unplugged.
 * - `sound_blocked`: the browser keeps the page silent until the user touches it. `no_sound`: it cannot play the voice,
 *   for instance because the page's Content-Security-Policy forbids the worklets; the words still come.
 * - `unreachable`: no server answers. `refused`: it does not let this page or token in. `busy`: it has no room for one
 *   more call. `other_version`: it speaks no version of the protocol that this client knows. `no_token`: the function
 *   that gives the token failed, or gave none.
 * - `lost`: the call broke off and could not be resumed. `elsewhere`: it was resumed on another page.
 * - `agent`: the agent or its model reports an error; the call goes on where it can.
 * - `picture_unreadable`, `pictures_unwanted`: `sendPicture` rejects, since it got no picture that the browser can read, or
 *   the model takes none.
 */
export type CallProblem =
  | "microphone_insecure"
  | "microphone_refused"
  | "microphone_missing"
  | "microphone_busy"
  | "microphone_failed"
  | "microphone_lost"
  | "sound_blocked"
  | "no_sound"
  | "unreachable"
  | "refused"
  | "busy"
  | "other_version"
  | "no_token"
  | "lost"
  | "elsewhere"
  | "agent"
  | "picture_unreadable"
  | "pictures_unwanted";

/** A problem of a call; `message` is a sentence to show to the user. */
export class CallError extends Error {
  /** Which problem it is, for programs. */
  readonly problem: CallProblem;
  /** What the page's developer or the server's operator has to know, which is in the browser's console as well; "": nothing. */
  readonly detail: string;

  constructor(problem: CallProblem, message: string, { detail = "", cause }: { detail?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = "CallError";
    this.problem = problem;
    this.detail = detail;
  }
}

export const PROTOCOL = "realtime.v1";
const TRY_AGAIN_LATER = 1013;
const REFUSED = 1008;

const OTHER_VERSION =
  "This page and the server have different versions and do not understand each other. Reload the page; if that does " +
  "not help, the page needs the client of the server's version.";

const UNREACHABLE =
  "No answer: the server is away, or a Content-Security-Policy or its own list of origins (--allow-embed) keeps this page from it.";

export function microphoneProblem(error: unknown): CallError {
  const known = error instanceof MicrophoneError ? error : new MicrophoneError("failed", error);
  return new CallError(`microphone_${known.problem}`, known.message, { cause: error });
}

export function microphoneLost(): CallError {
  return new CallError("microphone_lost", "The microphone was unplugged. Connect one and press again to go on talking.");
}

export function soundBlocked(): CallError {
  return new CallError("sound_blocked", "The browser keeps this page silent. Click anywhere to hear the voice.");
}

export function noSound(): CallError {
  return new CallError("no_sound", "This browser cannot play the voice here. You can read what is said.");
}

export function otherVersion(): CallError {
  return new CallError("other_version", OTHER_VERSION);
}

export function noToken(cause: unknown): CallError {
  const detail = `No token: ${cause instanceof Error ? cause.message : String(cause)}.`;
  return new CallError("no_token", "The page got no permission to call from its own server. Reload it, or sign in again.", { detail, cause });
}

/** The server refuses a call before it begins, and says why in words for its operator. */
export function cannotBegin(detail: string): CallError {
  return new CallError("refused", "The agent cannot be called now. The browser's console says why, for those who run this page.", { detail });
}

export function picturesUnwanted(agent: string): CallError {
  return new CallError("pictures_unwanted", `${agent || "The agent"} takes no pictures.`, { detail: "The model has no input modality image." });
}

/** The server does not let the page in: `why` in its words, `token` what the page showed. */
function refused(why: string, token: string): CallError {
  // Names are quoted.
  const isToken = /\btoken\b/.test(why.replaceAll(/'[^']*'/g, ""));
  const todo = !isToken
    ? "its developer has to allow it at the server."
    : token === ""
      ? "its developer has to give it a token."
      : "its permission is wrong or has expired. Reload it, or sign in again.";
  return new CallError("refused", `This page may not call: ${todo}`, { detail: `The server refuses the call: ${why}.` });
}

/**
 * What a closing means; null for an end that was wanted. `token` is what the page showed; `asked` tells what the server
 * says over HTTP.
 */
export async function problemOf(closing: Closing, token: string, asked: () => Promise<ServerAnswer>): Promise<CallError | null> {
  if (closing.expected) return null;
  const { code, reason, instead, wasOpen } = closing;
  if (instead === "elsewhere") return new CallError("elsewhere", "The call goes on in another window.");
  if (instead === "gave_up") return new CallError("lost", "The connection was lost and did not come back in time. Call again.");
  if (instead === "refused") return new CallError("lost", "The call was over before the connection came back. Call again.");
  if (code === TRY_AGAIN_LATER) return new CallError("busy", `The server takes no more calls now. Try again later. ${reason}`.trim());
  if (code === REFUSED) return refused(reason || "it gives no reason", token);
  if (wasOpen) return new CallError("lost", `The connection broke off (code ${code}). ${reason} Call again.`.replace("  ", " "));
  const answer = await asked();
  if (answer === "other") return otherVersion();
  if (answer === "refuses") return refused("the token is missing, wrong or expired", token);
  return new CallError("unreachable", "The server cannot be reached. Check the connection, then try again.", { detail: UNREACHABLE });
}

/** The server speaks our protocol; speaks others only; does not let us in; or does not answer. */
export type ServerAnswer = "ours" | "other" | "refuses" | "silent";

/** Asks the server over HTTP what it speaks; `address` is that of its `api/info`. */
export async function askServer(address: string): Promise<ServerAnswer> {
  try {
    const response = await fetch(address, { cache: "no-store" });
    if ([401, 403, 429].includes(response.status)) return "refuses";
    if (!response.ok) return "silent";
    const info: unknown = await response.json();
    const protocols = typeof info === "object" && info !== null && "protocols" in info ? info.protocols : [];
    return Array.isArray(protocols) && protocols.includes(PROTOCOL) ? "ours" : "other";
  } catch {
    return "silent";
  }
}

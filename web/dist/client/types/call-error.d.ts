/** What can go wrong in a call, each with a sentence to show. */
import type { Closing } from "./call-socket.js";
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
export type CallProblem = "microphone_insecure" | "microphone_refused" | "microphone_missing" | "microphone_busy" | "microphone_failed" | "microphone_lost" | "sound_blocked" | "no_sound" | "unreachable" | "refused" | "busy" | "other_version" | "no_token" | "lost" | "elsewhere" | "agent" | "picture_unreadable" | "pictures_unwanted";
/** A problem of a call; `message` is a sentence to show to the user. */
export declare class CallError extends Error {
    /** Which problem it is, for programs. */
    readonly problem: CallProblem;
    /** What the page's developer or the server's operator has to know, which is in the browser's console as well; "": nothing. */
    readonly detail: string;
    constructor(problem: CallProblem, message: string, { detail, cause }?: {
        detail?: string;
        cause?: unknown;
    });
}
export declare const PROTOCOL = "realtime.v1";
export declare function microphoneProblem(error: unknown): CallError;
export declare function microphoneLost(): CallError;
export declare function soundBlocked(): CallError;
export declare function noSound(): CallError;
export declare function otherVersion(): CallError;
export declare function noToken(cause: unknown): CallError;
/** The server refuses a call before it begins, and says why in words for its operator. */
export declare function cannotBegin(detail: string): CallError;
export declare function picturesUnwanted(agent: string): CallError;
/**
 * What a closing means; null for an end that was wanted. `token` is what the page showed; `asked` tells what the server
 * says over HTTP.
 */
export declare function problemOf(closing: Closing, token: string, asked: () => Promise<ServerAnswer>): Promise<CallError | null>;
/** The server speaks our protocol; speaks others only; does not let us in; or does not answer. */
export type ServerAnswer = "ours" | "other" | "refuses" | "silent";
/** Asks the server over HTTP what it speaks; `address` is that of its `api/info`. */
export declare function askServer(address: string): Promise<ServerAnswer>;

/** The activity of a call in one word, folded from its events and from what the speaker plays. Pure. */
import type { LocalSignal } from "./call-controller.js";
import type { ServerEvent } from "./protocol.generated.js";
/** What a call is doing. hearing: the user speaks; thinking: the answer is being made. */
export type CallState = "connecting" | "reconnecting" | "listening" | "hearing" | "thinking" | "speaking" | "ended";
export interface Activity {
    readonly ready: boolean;
    readonly ended: boolean;
    /** Whether the line is lost and may be resumed. */
    readonly away: boolean;
    /** Whether the user is speaking. */
    readonly hearing: boolean;
    /** Whether a turn ended and its response has not begun. */
    readonly awaiting: boolean;
    readonly responses: readonly string[];
    /** Whether speech came and no sample of it was played yet. */
    readonly voiceWaits: boolean;
    readonly playing: boolean;
}
export declare const INITIAL_ACTIVITY: Activity;
/** The word for an activity: speech counts before preparation. */
export declare function callState(activity: Activity): CallState;
export declare function foldActivity(activity: Activity, event: ServerEvent | LocalSignal): Activity;

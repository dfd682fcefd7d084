/** The activity of a call in one word. */

export { type Activity, type CallState, INITIAL_ACTIVITY, callState, foldActivity } from "@realtime-voice/client";

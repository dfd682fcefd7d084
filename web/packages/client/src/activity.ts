/** The activity of a call in one word, folded from its events and from what the speaker plays. Pure. */

import type { LocalSignal } from "./call-controller.ts";
import { readDeed } from "./deeds.ts";
import type { ServerEvent } from "./protocol.generated.ts";

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

export const INITIAL_ACTIVITY: Activity = {
  ready: false,
  ended: false,
  away: false,
  hearing: false,
  awaiting: false,
  responses: [],
  voiceWaits: false,
  playing: false,
};

/** The word for an activity: speech counts before preparation. */
export function callState(activity: Activity): CallState {
  if (activity.ended) return "ended";
  if (activity.away) return "reconnecting";
  if (!activity.ready) return "connecting";
  if (activity.hearing) return "hearing";
  if (activity.playing) return "speaking";
  const working = activity.awaiting || activity.responses.length > 0 || activity.voiceWaits;
  return working ? "thinking" : "listening";
}

export function foldActivity(activity: Activity, event: ServerEvent | LocalSignal): Activity {
  switch (event.type) {
    case "agent_ready":
      return { ...activity, ready: true };
    case "agent_input_started":
      return { ...activity, hearing: true, awaiting: false };
    case "agent_input_done":
    case "agent_input_committed":
      // A turn may be committed after its response began: then the response counts.
      return { ...activity, hearing: false, awaiting: activity.responses.length === 0 };
    case "text_sent":
      return { ...activity, awaiting: true };
    case "agent_response_tool_use_done":
      // Another response answers the result; one that asks waits for the user first.
      return { ...activity, awaiting: event.tool_use.state !== "asking" };
    case "server_custom": {
      const deed = readDeed(event);
      if (deed?.name === "consent_ignored") return { ...activity, awaiting: false };
      return deed?.name === "consent_question" ? { ...activity, awaiting: deed.value.state === "answered" } : activity;
    }
    case "agent_input_cleared":
      return { ...activity, hearing: false, awaiting: false };
    case "agent_item_deleted":
    case "agent_error":
      return { ...activity, awaiting: false };
    case "agent_response_created":
      return { ...activity, awaiting: false, responses: [...activity.responses, event.response_id] };
    case "agent_response_done":
      return { ...activity, responses: activity.responses.filter((id) => id !== event.response_id) };
    case "voice_waiting":
      return { ...activity, voiceWaits: true };
    case "voice_started":
      return { ...activity, voiceWaits: false, playing: true };
    case "voice_idle":
      return { ...activity, voiceWaits: false, playing: false };
    case "line_lost":
      return { ...activity, away: true };
    case "line_back":
      return { ...activity, away: false };
    case "agent_ended":
    case "server_session_ended":
    case "closed":
      return { ...INITIAL_ACTIVITY, ended: true };
    default:
      return activity;
  }
}

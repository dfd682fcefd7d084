/** What the page shows of its call: captions and what the call is doing. Pure. */

import { type Activity, type CallController, type CallState, INITIAL_ACTIVITY, type Projection, callState, foldActivity } from "@realtime-voice/client";
import { type Captions, NO_CAPTIONS, foldCaptions } from "./captions.ts";

export interface CallShown {
  readonly captions: Captions;
  readonly activity: Activity;
}

export type Call = CallController<CallShown>;

export const CALL: Projection<CallShown> = {
  empty: { captions: NO_CAPTIONS, activity: INITIAL_ACTIVITY },
  fold: ({ captions, activity }, event) => ({
    captions: foldCaptions(captions, event),
    activity: foldActivity(activity, event),
  }),
  phase: ({ activity: { ended, ready, away } }) => (ended ? "over" : ready && !away ? "ready" : "waiting"),
  rewind: ({ captions, activity }, { activity: { away, playing, voiceWaits } }) => ({
    captions,
    activity: { ...activity, away, playing, voiceWaits },
  }),
  isHuman: () => false,
};

export function stateOf(call: Call): CallState {
  return callState(call.state.activity);
}

/** A voice call with a realtime server, from a browser: socket, microphone, speaker, playback acknowledgements. */

export { type Activity, type CallState, INITIAL_ACTIVITY, callState, foldActivity } from "./activity.ts";
export { retryDelayMs } from "./backoff.ts";
export { CallController } from "./call-controller.ts";
export type { AnswerChanges, CallControllerEvents, CallOptions, DeviceChoice, LocalSignal, Projection, Worklets } from "./call-controller.ts";
export { CallSocket } from "./call-socket.ts";
export type { ClientEvents, ClientState, Closing, ResumeToken, SessionSettings } from "./call-socket.ts";
export {
  type ClaimWithheld,
  type ConsentIgnored,
  type ConsentQuestion,
  type ConsentReceipt,
  type Deed,
  type DeedEvents,
  type PermissionUpdate,
  type PermissionsKey,
  type Plan,
  type PlanEdit,
  type PlanUpdate,
  type SubTask,
  readDeed,
} from "./deeds.ts";
export { type AudioDevice, type AudioDevices, canChooseSpeaker, listDevices, watchDevices } from "./devices.ts";
export { Emitter } from "./emitter.ts";
export type { AudioFrame } from "./frames.ts";
export type { LaneCounters } from "./jitter-lane.ts";
export { type LiveVoices, type VoicesEvents, type VoicesOutput, isGone, openVoices } from "./live-voices.ts";
export { MicrophoneCapture, MicrophoneError, type MicrophoneEvents, type MicrophoneProblem } from "./microphone-capture.ts";
export { meterLevel } from "./pcm.ts";
export { jpegOf } from "./picture.ts";
export * from "./protocol.generated.ts";
export type { Played } from "./replay-buffer.ts";
export { Rewind } from "./rewind.ts";
export { SpeakerOutput, type SpeakerCounters, type SpeakerEvents } from "./speaker-output.ts";
export { OUTPUT_RATE_HZ, SilentOutput, type VoiceOutput, attachVoice, openOutput } from "./voice-output.ts";

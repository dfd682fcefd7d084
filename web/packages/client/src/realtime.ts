/**
 * Voice calls with the agents of a realtime server, from any web page.
 *
 * `RealtimeClient` holds a call; `<realtime-voice>` is a button that talks. Importing this file defines the element.
 */

import { defineRealtimeVoice } from "./element.ts";

export type { CallState } from "./activity.ts";
export type { AnswerChanges } from "./call-controller.ts";
export { CallError, type CallProblem } from "./call-error.ts";
export type { CallSettings } from "./call-socket.ts";
export type { ClaimWithheld, ConsentBy, ConsentIgnored, ConsentQuestion, ConsentReceipt, DeedEvents, PermissionUpdate, Plan, PlanEdit, PlanUpdate, SubTask } from "./deeds.ts";
export { type AudioDevice, type AudioDevices, DeviceError, canChooseSpeaker, listDevices, watchDevices } from "./devices.ts";
export { RealtimeVoice, type VoiceWords } from "./element.ts";
export { Emitter } from "./emitter.ts";
export { type Message, Messages, type MessagesEvents } from "./messages.ts";
export { MicrophoneError, type MicrophoneProblem } from "./microphone-capture.ts";
export { Microphone, type MicrophoneControlEvents } from "./microphone.ts";
export type { Picture } from "./picture.ts";
export type * from "./protocol.generated.ts";
export {
  type AgentInfo,
  RealtimeClient,
  type RealtimeEvents,
  type RealtimeOptions,
  type RealtimeState,
} from "./realtime-client.ts";
export { Speaker, type SpeakerControlEvents } from "./speaker.ts";
export type { Tool, ToolFunction, ToolRegistration } from "./tools.ts";

defineRealtimeVoice();

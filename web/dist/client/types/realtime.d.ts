/**
 * Voice calls with the agents of a realtime server, from any web page.
 *
 * `RealtimeClient` holds a call; `<realtime-voice>` is a button that talks. Importing this file defines the element.
 */
export type { CallState } from "./activity.js";
export type { AnswerChanges } from "./call-controller.js";
export { CallError, type CallProblem } from "./call-error.js";
export type { CallSettings } from "./call-socket.js";
export type { ClaimWithheld, ConsentBy, ConsentIgnored, ConsentQuestion, ConsentReceipt, DeedEvents, PermissionUpdate, Plan, PlanEdit, PlanUpdate, SubTask } from "./deeds.js";
export { type AudioDevice, type AudioDevices, DeviceError, canChooseSpeaker, listDevices, watchDevices } from "./devices.js";
export { RealtimeVoice, type VoiceWords } from "./element.js";
export { Emitter } from "./emitter.js";
export { type Message, Messages, type MessagesEvents } from "./messages.js";
export { MicrophoneError, type MicrophoneProblem } from "./microphone-capture.js";
export { Microphone, type MicrophoneControlEvents } from "./microphone.js";
export type { Picture } from "./picture.js";
export type * from "./protocol.generated.js";
export { type AgentInfo, RealtimeClient, type RealtimeEvents, type RealtimeOptions, type RealtimeState, } from "./realtime-client.js";
export { Speaker, type SpeakerControlEvents } from "./speaker.js";
export type { Tool, ToolFunction, ToolRegistration } from "./tools.js";

/** One call, or one place in a room: socket, speaker, microphone, and the state that a page shows. No DOM. */

import { type Address, type CallSettings, CallSocket, type ClientState, type Closing, type ResumeToken } from "./call-socket.ts";
import type { PlanEdit } from "./deeds.ts";
import { type AudioDevices, watchDevices } from "./devices.ts";
import { Emitter } from "./emitter.ts";
import type { LiveVoices, VoicesOutput } from "./live-voices.ts";
import { MicrophoneCapture } from "./microphone-capture.ts";
import type { PermissionRule, ServerEvent } from "./protocol.generated.ts";
import { Rewind } from "./rewind.ts";
import type { Played } from "./replay-buffer.ts";
import { SpeakerOutput } from "./speaker-output.ts";
import { OUTPUT_RATE_HZ, type VoiceOutput, attachVoice, openOutput } from "./voice-output.ts";

export const INPUT_RATE_HZ = 16_000;
/** What was said by the release of a key is on its way from the microphone for less. */
const RELEASE_MS = 120;
const SHORTEST_TURN_MS = 250;

/** What happens on this side, without an event of the server. */
export type LocalSignal =
  | { readonly type: "voice_waiting" | "voice_started"; readonly itemId: string }
  | { readonly type: "text_sent" | "voice_idle" | "line_lost" | "line_back" | "closed" };

/** What a page shows of a call: a pure fold of its events. */
export interface Projection<State> {
  readonly empty: State;
  fold(state: State, event: ServerEvent | LocalSignal): State;
  /** The microphone and typed text wait while it is "waiting"; "over" opens no microphone any more. */
  phase(state: State): "waiting" | "ready" | "over";
  /** The `earlier` state, with what only this side knows as it is `now`. */
  rewind(earlier: State, now: State): State;
  /** Whether a participant is a human, whose voice is played live. */
  isHuman(state: State, participantId: string): boolean;
}

export interface CallControllerEvents {
  /** Something that a page shows is new. */
  change: undefined;
  /** Loudness (RMS, 0..1) of the microphone or of the agents' voice. */
  level: { side: "user" | "agent"; rms: number };
  microphoneLost: undefined;
  /** Whether the browser keeps the page silent until the user touches it. */
  blocked: boolean;
  /** What a reloaded page can resume the call with; null: nothing any more. */
  resumeToken: ResumeToken | null;
  closed: Closing;
}

/** Addresses of the worklets. */
export interface Worklets {
  capture: string;
  playback: string;
}

export interface CallOptions<State> {
  url: Address;
  projection: Projection<State>;
  worklets: Worklets;
  /** Opens the output for the live voices of other humans (`openVoices`); without it they are played in turn. */
  openVoices?: () => Promise<LiveVoices>;
  /** Of a new call. */
  settings?: CallSettings;
  /** Resumes the call of an earlier page. */
  resume?: { resumeToken: ResumeToken; lastPlayed: Played | null } | null;
  /** What is shown first. */
  state?: State;
  /** Keeps the call silent until `wake`: a page that was reloaded may not sound before a click. */
  silent?: boolean;
  /** The devices and the volume of the call; default: the system's choices, full volume. */
  devices?: Partial<DeviceChoice>;
  /** The user's turns lie between `press` and `release`; default: voice detection decides. */
  pushToTalk?: boolean;
}

/** What an answer to a tool that asks may change. */
export interface AnswerChanges {
  /** The arguments with which it shall run, as JSON; default: those that it asked with. */
  readonly input?: string;
  /** Suggested rules that the user accepts: no question more where they hold. */
  readonly rules?: readonly PermissionRule[];
}

/** An id of `listDevices`, or "" for the system's choice, which also stands in for a device that is away. */
export interface DeviceChoice {
  microphoneId: string;
  speakerId: string;
  /** From 0 to 1. */
  volume: number;
}

/** The parts of a call that tests replace. */
export interface CallParts<State> extends Pick<CallOptions<State>, "projection" | "state" | "silent" | "devices" | "pushToTalk"> {
  client: CallSocket;
  output: VoiceOutput;
  voices: LiveVoices | undefined;
  captureUrl: string;
  cancelEcho?: boolean;
}

export class CallController<State> extends Emitter<CallControllerEvents> {
  readonly client: CallSocket;
  readonly output: VoiceOutput;
  /** Undefined in a call that plays no live voices. */
  readonly voices: VoicesOutput | undefined;
  readonly #projection: Projection<State>;
  readonly #captureUrl: string;
  readonly #cancelEcho: boolean;
  readonly #rewind: Rewind<State>;
  #state: State;
  #attempt = 0;
  #silent: boolean;
  #away = false;
  #created = false;
  #closed = false;
  #microphone: MicrophoneCapture | null = null;
  #microphoneId: string;
  readonly #pushToTalk: boolean;
  #pressed = false;
  /** Samples of the user's turn so far. */
  #turnSamples = 0;
  #releaseTimer: ReturnType<typeof setTimeout> | undefined;
  #sounding = false;
  #speakerId = "";
  readonly #stopWatching: () => void;
  #microphoneSamples = 0;
  #microphoneStart: Promise<void> | null = null;
  readonly #settled: Promise<void>;
  #settle: () => void = () => undefined;
  /** Typed in the phase "waiting". */
  #unsent: string[] = [];

  /** Opens outputs and socket. Call it in a click or key handler, else the browser may keep the call silent. */
  static async open<State>(options: CallOptions<State>): Promise<CallController<State>> {
    const { url, worklets, settings, resume, openVoices, pushToTalk } = options;
    const [output, voices] = await Promise.all([openOutput(worklets.playback), openVoices?.()]);
    const client = resume
      ? CallSocket.resume(url, INPUT_RATE_HZ, resume.resumeToken, resume.lastPlayed)
      : CallSocket.connect(url, {
          ...settings,
          ...(pushToTalk && { turn_detection: "none" as const }),
          input_audio_format: { type: "audio/pcm", rate: INPUT_RATE_HZ },
          output_audio_format: { type: "audio/pcm", rate: OUTPUT_RATE_HZ },
        });
    // A microphone whose echo the server removes has to come as it is.
    const cancelEcho = (settings?.audio?.echo_cancellation ?? "client") === "client";
    return new CallController({ ...options, client, output, voices, captureUrl: worklets.capture, cancelEcho });
  }

  constructor({ client, output, voices, captureUrl, cancelEcho, projection, state, silent, devices, pushToTalk }: CallParts<State>) {
    super();
    this.client = client;
    this.output = output;
    this.voices = voices?.output;
    this.#projection = projection;
    this.#captureUrl = captureUrl;
    this.#cancelEcho = cancelEcho ?? true;
    this.#rewind = new Rewind(projection.empty);
    this.#state = state ?? projection.empty;
    this.#silent = silent ?? false;
    this.#pushToTalk = pushToTalk ?? false;
    this.#microphoneId = devices?.microphoneId ?? "";
    this.volume = devices?.volume ?? 1;
    // A loudspeaker that is away leaves the system's choice.
    if (devices?.speakerId) void this.useSpeaker(devices.speakerId).catch(() => undefined);
    this.#stopWatching = watchDevices((present) => this.#leaveLostSpeaker(present));
    this.#settled = new Promise((settle) => {
      this.#settle = settle;
    });
    // Before the voices: the state knows who is a human by the time that a voice is announced.
    client.on("event", (event) => this.#receive(event));
    const live = voices?.attach(client, voices.output, (id) => projection.isHuman(this.#state, id));
    attachVoice(client, output, live?.isLive);
    client.on("state", (clientState) => this.#followLine(clientState));
    client.on("attempt", (attempt) => {
      this.#attempt = attempt;
      this.#changed();
    });
    client.on("resumeToken", (resumeToken) => this.emit("resumeToken", resumeToken));
    client.on("closed", (closing) => void this.#close(closing));
    output.on("waiting", ({ itemId }) => this.#fold({ type: "voice_waiting", itemId }));
    output.on("started", ({ itemId }) => {
      this.#sounding = true;
      this.#fold({ type: "voice_started", itemId });
    });
    output.on("idle", () => {
      this.#sounding = false;
      this.#fold({ type: "voice_idle" });
    });
    output.on("blocked", (blocked) => this.emit("blocked", blocked));
    output.on("level", (rms) => this.emit("level", { side: "agent", rms }));
    this.#followLine(client.state);
  }

  get state(): State {
    return this.#state;
  }

  /** The number of the last try to reconnect, from 1. */
  get attempt(): number {
    return this.#attempt;
  }

  /** The call goes on, but the browser wants a click before it may sound. */
  get needsClick(): boolean {
    return this.#silent && !this.#isOver;
  }

  /** Lets the call sound. Call it in a click or key handler. */
  wake(): void {
    if (!this.#silent) return;
    this.#silent = false;
    this.output.unlock();
    this.voices?.unlock();
    if (!this.#away) this.output.resume();
    this.#changed();
  }

  get hasVoice(): boolean {
    return this.output instanceof SpeakerOutput;
  }

  get hasMicrophone(): boolean {
    return this.#microphone !== null;
  }

  /** Samples that the microphone gave, at 16 kHz. */
  get microphoneSamples(): number {
    return this.#microphoneSamples;
  }

  /** Whether the browser removes the agent's voice from the microphone; null without one, or where it does not say. */
  get cancelsEcho(): boolean | null {
    return this.#microphone?.cancelsEcho ?? null;
  }

  get muted(): boolean {
    return this.#microphone?.muted ?? false;
  }

  set muted(muted: boolean) {
    if (this.#microphone) this.#microphone.muted = muted;
    this.#changed();
  }

  /** How loud agents and other humans are, from 0 (silent) to 1 (as they came). */
  get volume(): number {
    return this.output.volume;
  }

  set volume(volume: number) {
    this.output.volume = volume;
    if (this.voices) this.voices.volume = volume;
    this.#changed();
  }

  /** The id of the microphone in use, else of the one to be used; "": the system's choice. */
  get microphoneId(): string {
    return this.#microphone?.deviceId ?? this.#microphoneId;
  }

  /** The id of the loudspeaker in use; "": the system's choice. */
  get speakerId(): string {
    return this.#speakerId;
  }

  /**
   * Uses another microphone, at once or from its next start; "": the system's choice. Throws MicrophoneError, and then
   * goes on with the one that it has.
   */
  async useMicrophone(deviceId: string): Promise<void> {
    await this.#microphone?.useDevice(deviceId);
    this.#microphoneId = deviceId;
    if (this.#microphone) this.#reportEchoCancellation(this.#microphone.cancelsEcho);
    this.#changed();
  }

  /** Uses another loudspeaker; "": the system's choice. Throws DOMException for one that is not there. */
  async useSpeaker(deviceId: string): Promise<void> {
    if (!this.#closed) await Promise.all([this.output.useDevice(deviceId), this.voices?.useDevice(deviceId)]);
    this.#speakerId = deviceId;
    this.#changed();
  }

  #leaveLostSpeaker({ speakers }: AudioDevices): void {
    if (this.#speakerId === "" || speakers.some(({ id }) => id === this.#speakerId)) return;
    void this.useSpeaker("").catch(() => undefined);
  }

  /** Resolves with the first phase that is not "waiting". */
  get settled(): Promise<void> {
    return this.#settled;
  }

  /**
   * Asks for the microphone in the phase "ready", and sends what it hears: no user is asked for a call that is not made,
   * and no first word is lost. Throws MicrophoneError.
   */
  startMicrophone(): Promise<void> {
    this.#microphoneStart ??= this.#startMicrophone().finally(() => {
      this.#microphoneStart = null;
    });
    return this.#microphoneStart;
  }

  async #startMicrophone(): Promise<void> {
    await this.#settled;
    if (this.#microphone || this.#isOver) return;
    const deviceId = this.#microphoneId;
    const microphone = await MicrophoneCapture.create({
      workletUrl: this.#captureUrl,
      rateHz: INPUT_RATE_HZ,
      cancelEcho: this.#cancelEcho,
      deviceId,
    });
    // Another choice came while the browser asked the user.
    if (deviceId !== this.#microphoneId) await microphone.useDevice(this.#microphoneId).catch(() => undefined);
    if (this.#isOver) return microphone.close();
    this.#microphone = microphone;
    this.#reportEchoCancellation(microphone.cancelsEcho);
    microphone.on("frame", ({ pcm, rms }) => {
      this.#microphoneSamples += pcm.length;
      this.emit("level", { side: "user", rms });
      if (this.#pushToTalk && !this.#pressed) return;
      this.#turnSamples += pcm.length;
      this.client.sendAudio(pcm);
    });
    microphone.on("lost", () => {
      void this.#closeMicrophone();
      this.emit("microphoneLost", undefined);
    });
    this.#changed();
  }

  /** What a browser is asked for and what it does differ: the server knows which clients may hear themselves. */
  #reportEchoCancellation(cancelsEcho: boolean | null): void {
    if (cancelsEcho === null) return;
    this.client.send({ type: "client_session_update", config: { audio: { cancels_echo: cancelsEcho } } });
  }

  /** Whether the user's turn goes on, in push-to-talk. */
  get pressed(): boolean {
    return this.#pressed;
  }

  /** Begins the user's turn, in push-to-talk. Stops the agent. */
  press(): void {
    if (!this.#pushToTalk || this.#isOver) return;
    clearTimeout(this.#releaseTimer);
    if (this.#pressed) return;
    if (this.#sounding) this.interrupt();
    this.#pressed = true;
    this.#turnSamples = 0;
    this.#changed();
  }

  /** Ends the user's turn shortly after, so that its last sound is in it. A turn too short for a word is discarded. */
  release(): void {
    if (!this.#pressed) return;
    clearTimeout(this.#releaseTimer);
    this.#releaseTimer = setTimeout(() => {
      this.#pressed = false;
      const isWord = this.#turnSamples >= (INPUT_RATE_HZ * SHORTEST_TURN_MS) / 1000;
      this.client.send({ type: isWord ? "client_audio_commit" : "client_audio_clear" });
      this.#changed();
    }, RELEASE_MS);
  }

  /** Sends a typed turn, as soon as the other side is ready. */
  sendText(text: string): void {
    if (this.#projection.phase(this.#state) === "waiting" && !this.#away) {
      this.#unsent.push(text);
      return;
    }
    this.client.send({ type: "client_text_append", text });
    this.#fold({ type: "text_sent" });
  }

  /** Shows the model a picture: its bytes in base64, and its type, such as "image/jpeg". */
  sendPicture(base64: string, type: string): void {
    this.client.send({ type: "client_image_append", image: base64, format: { type } });
  }

  /** Answers a tool that asks the user. */
  answerTool(id: string, name: string, confirmed: boolean, { input, rules }: AnswerChanges = {}): void {
    const changed = input === undefined ? {} : { tool_call: { type: "tool_call" as const, id, name, input } };
    const accepted = rules && rules.length > 0 ? { rules: [...rules] } : {};
    this.client.send({ type: "client_tool_result", id, name, output: "", confirmed, ...changed, ...accepted });
  }

  /** Changes a plan of the agents. */
  editPlan(planId: string, edit: PlanEdit): void {
    this.client.send({ type: "client_plan_edit", plan_id: planId, edit });
  }

  /** Asks the agents to stop speaking. */
  interrupt(): void {
    this.client.send({ type: "client_response_cancel" });
  }

  end(): void {
    this.client.close();
  }

  get #isOver(): boolean {
    return this.#closed || this.#projection.phase(this.#state) === "over";
  }

  #receive(event: ServerEvent): void {
    if (event.type === "server_session_resumed") {
      // From the beginning everything follows.
      if (event.last_seq === 0 && !event.gap) this.#goBack(this.#projection.empty);
      else if (event.rewound_to_seq !== null) this.#goBack(this.#rewind.to(event.rewound_to_seq));
    }
    this.#fold(event);
    if (event.seq !== undefined) this.#rewind.note(event.seq, this.#state);
    if (event.type === "server_session_created" || event.type === "server_session_resumed") this.#created = true;
    // An error before the session is one that kept it from being made. One call per socket: it closes with the call.
    if (event.type === "server_session_ended" || (event.type === "agent_error" && !this.#created)) this.client.close();
  }

  /** Shows what was shown earlier; what plays goes on. */
  #goBack(earlier: State): void {
    this.#state = this.#projection.rewind(earlier, this.#state);
  }

  #fold(event: ServerEvent | LocalSignal): void {
    this.#state = this.#projection.fold(this.#state, event);
    const phase = this.#projection.phase(this.#state);
    if (phase !== "waiting") this.#settle();
    if (phase === "ready") for (const text of this.#unsent.splice(0)) this.sendText(text);
    this.#changed();
  }

  #changed(): void {
    this.emit("change", undefined);
  }

  /** A lost line cannot carry an interruption: the voice waits, the microphone goes on. */
  #followLine(clientState: ClientState): void {
    if (clientState === "reconnecting" && !this.#away) {
      this.#away = true;
      this.output.pause();
      this.#fold({ type: "line_lost" });
    } else if (clientState === "open" && this.#away) {
      this.#away = false;
      if (!this.#silent) this.output.resume();
      this.#fold({ type: "line_back" });
    } else {
      this.#changed();
    }
  }

  async #close(closing: Closing): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#releaseTimer);
    this.#stopWatching();
    this.#settle();
    this.#fold({ type: "closed" });
    this.emit("closed", closing);
    await Promise.all([this.#closeMicrophone(), this.output.close(), this.voices?.close()]);
  }

  async #closeMicrophone(): Promise<void> {
    const microphone = this.#microphone;
    this.#microphone = null;
    this.emit("level", { side: "user", rms: 0 });
    this.#changed();
    await microphone?.close();
  }
}

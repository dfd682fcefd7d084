/** One call: socket, speaker and microphone together, and what the page shows of it. No DOM. */

import { type Captions, NO_CAPTIONS, foldCaptions, withdrawQuestions } from "./captions.ts";
import {
  type ClientState,
  type Closing,
  Emitter,
  Microphone,
  OUTPUT_RATE_HZ,
  RealtimeClient,
  Rewind,
  type ServerEvent,
  type SessionSettings,
  Speaker,
  type Ticket,
  type VoiceOutput,
  attachVoice,
  openOutput,
} from "@realtime-voice/client";
import type { KeptCall } from "./kept-call.ts";
import { type Activity, type CallState, INITIAL_ACTIVITY, type LocalSignal, callState, foldActivity } from "./state.ts";

export const INPUT_RATE_HZ = 16_000;

export interface CallEvents {
  /** State or captions are new. */
  change: undefined;
  /** Loudness (RMS, 0..1) of one side. */
  level: { side: "user" | "agent"; rms: number };
  microphoneLost: undefined;
  /** With what a reloaded page can go on with this call; null: no more. */
  ticket: Ticket | null;
  closed: Closing;
}

interface Shown {
  readonly captions: Captions;
  readonly activity: Activity;
}

const NOTHING: Shown = { captions: NO_CAPTIONS, activity: INITIAL_ACTIVITY };

interface Worklets {
  capture: string;
  playback: string;
}

export interface CallOptions {
  url: string;
  settings: Omit<SessionSettings, "input_audio_format" | "output_audio_format">;
  worklets: Worklets;
}

export interface ReturnOptions {
  url: string;
  kept: KeptCall;
  worklets: Worklets;
}

export class Call extends Emitter<CallEvents> {
  readonly client: RealtimeClient;
  readonly output: VoiceOutput;
  readonly #captureUrl: string;
  #activity: Activity = INITIAL_ACTIVITY;
  #captions: Captions = NO_CAPTIONS;
  readonly #shown = new Rewind<Shown>(NOTHING);
  #attempt = 0;
  /** Silent until a click: a page that was reloaded may not sound. */
  #hushed = false;
  #microphone: Microphone | null = null;
  #microphoneSamples = 0;
  #microphoneStart: Promise<void> | null = null;
  #created = false;
  readonly #settled: Promise<void>;
  #settle: () => void = () => undefined;
  /** Typed before the agent was ready. */
  #unsent: string[] = [];

  /** Opens speaker and socket. Call it in a click or key handler, else the browser keeps the voice silent. */
  static async start({ url, settings, worklets }: CallOptions): Promise<Call> {
    const output = await openOutput(worklets.playback);
    const client = RealtimeClient.connect(url, {
      ...settings,
      input_audio_format: { type: "audio/pcm", rate: INPUT_RATE_HZ },
      output_audio_format: { type: "audio/pcm", rate: OUTPUT_RATE_HZ },
    });
    return new Call(client, output, worklets.capture);
  }

  /** Goes on with the call of a page that was reloaded. Without sound and microphone until `wake`. */
  static async comeBack({ url, kept, worklets }: ReturnOptions): Promise<Call> {
    const output = await openOutput(worklets.playback);
    const client = RealtimeClient.comeBack(url, INPUT_RATE_HZ, kept.ticket, kept.lastPlayed);
    const call = new Call(client, output, worklets.capture);
    call.#hushed = true;
    call.#captions = kept.captions ?? NO_CAPTIONS;
    call.#followLine("reconnecting");
    return call;
  }

  private constructor(client: RealtimeClient, output: VoiceOutput, captureUrl: string) {
    super();
    this.client = client;
    this.output = output;
    this.#captureUrl = captureUrl;
    this.#settled = new Promise((settle) => {
      this.#settle = settle;
    });
    attachVoice(client, output);
    client.on("event", (event) => this.#receive(event));
    client.on("state", (state) => this.#followLine(state));
    client.on("attempt", (attempt) => {
      this.#attempt = attempt;
      this.emit("change", undefined);
    });
    client.on("ticket", (ticket) => this.emit("ticket", ticket));
    client.on("closed", (closing) => void this.#closed(closing));
    output.on("waiting", () => this.#signal({ type: "voice_waiting" }));
    output.on("started", () => this.#signal({ type: "voice_started" }));
    output.on("idle", () => this.#signal({ type: "voice_idle" }));
    output.on("level", (rms) => this.emit("level", { side: "agent", rms }));
  }

  get state(): CallState {
    return callState(this.#activity);
  }

  get captions(): Captions {
    return this.#captions;
  }

  /** The number of the last try to come back, from 1. */
  get attempt(): number {
    return this.#attempt;
  }

  /** It goes on, but the browser wants a click before it may sound. */
  get needsClick(): boolean {
    return this.#hushed && this.state !== "ended";
  }

  /** Lets it sound. Call it in a click or key handler. */
  wake(): void {
    if (!this.#hushed) return;
    this.#hushed = false;
    this.output.unlock();
    if (!this.#activity.away) this.output.resume();
    this.emit("change", undefined);
  }

  get hasVoice(): boolean {
    return this.output instanceof Speaker;
  }

  get hasMicrophone(): boolean {
    return this.#microphone !== null;
  }

  /** Samples that the microphone gave, at 16 kHz. */
  get microphoneSamples(): number {
    return this.#microphoneSamples;
  }

  get muted(): boolean {
    return this.#microphone?.muted ?? false;
  }

  set muted(muted: boolean) {
    if (this.#microphone) this.#microphone.muted = muted;
    this.emit("change", undefined);
  }

  /**
   * Asks for the microphone, once the agent is ready to hear, and lets it into the call. Nobody is asked in vain for a
   * call that is not made, and no first word is lost. Throws MicrophoneError.
   */
  startMicrophone(): Promise<void> {
    this.#microphoneStart ??= this.#startMicrophone().finally(() => {
      this.#microphoneStart = null;
    });
    return this.#microphoneStart;
  }

  async #startMicrophone(): Promise<void> {
    await this.#settled;
    if (this.#microphone || this.#activity.ended) return;
    const microphone = await Microphone.create(this.#captureUrl, INPUT_RATE_HZ);
    if (this.#activity.ended) return microphone.close();
    this.#microphone = microphone;
    microphone.on("frame", ({ pcm, rms }) => {
      this.#microphoneSamples += pcm.length;
      this.client.sendAudio(pcm);
      this.emit("level", { side: "user", rms });
    });
    microphone.on("lost", () => {
      void this.#closeMicrophone();
      this.emit("microphoneLost", undefined);
    });
    this.emit("change", undefined);
  }

  /** A typed turn. Before the agent is ready it waits for that. */
  sendText(text: string): void {
    if (this.state === "connecting") {
      this.#unsent.push(text);
      return;
    }
    this.client.send({ type: "client_text_append", text });
    this.#signal({ type: "text_sent" });
  }

  /** The user's answer to a tool that asks. */
  answerTool(id: string, name: string, confirmed: boolean): void {
    this.client.send({ type: "client_tool_result", id, name, output: "", confirmed });
  }

  /** Asks the agent to stop speaking. */
  interrupt(): void {
    this.client.send({ type: "client_response_cancel" });
  }

  end(): void {
    this.client.close();
  }

  #receive(event: ServerEvent): void {
    if (event.type === "server_session_resumed") {
      // From the beginning everything follows.
      if (event.last_seq === 0 && !event.gap) this.#goBack(NOTHING);
      else if (event.rewound_to_seq !== null) this.#goBack(this.#shown.to(event.rewound_to_seq));
    }
    this.#captions = foldCaptions(this.#captions, event);
    this.#signal(event);
    if (event.seq !== undefined) this.#shown.note(event.seq, { captions: this.#captions, activity: this.#activity });
    if (event.type === "server_session_created" || event.type === "server_session_resumed") this.#created = true;
    if (event.type === "agent_ready") for (const text of this.#unsent.splice(0)) this.sendText(text);
    // An error before the session is one that kept it from being made. One call per socket: it closes with the call.
    if (event.type === "server_session_ended" || (event.type === "agent_error" && !this.#created)) this.client.close();
  }

  /** Shows what was shown earlier; what plays goes on. */
  #goBack({ captions, activity }: Shown): void {
    const { away, playing, voiceWaits } = this.#activity;
    this.#activity = { ...activity, away, playing, voiceWaits };
    this.#captions = captions;
  }

  #signal(signal: ServerEvent | LocalSignal): void {
    this.#activity = foldActivity(this.#activity, signal);
    const { ended, ready, away } = this.#activity;
    if (ended || (ready && !away)) this.#settle();
    this.emit("change", undefined);
  }

  /** Nobody would hear an interruption on a line that is lost: the voice waits, the microphone goes on. */
  #followLine(state: ClientState): void {
    if (state === "reconnecting") {
      this.output.pause();
      this.#signal({ type: "line_lost" });
    } else if (state === "open" && this.#activity.away) {
      if (!this.#hushed) this.output.resume();
      this.#signal({ type: "line_back" });
    }
  }

  async #closed(closing: Closing): Promise<void> {
    this.#captions = withdrawQuestions(this.#captions);
    this.#signal({ type: "closed" });
    this.emit("closed", closing);
    await Promise.all([this.#closeMicrophone(), this.output.close()]);
  }

  async #closeMicrophone(): Promise<void> {
    const microphone = this.#microphone;
    this.#microphone = null;
    this.emit("level", { side: "user", rms: 0 });
    this.emit("change", undefined);
    await microphone?.close();
  }
}

/** One seat in a room: socket, agents' speaker, humans' voices and microphone together, and what the page shows. No DOM. */

import {
  type ClientState,
  type Closing,
  Emitter,
  LiveVoices,
  Microphone,
  OUTPUT_RATE_HZ,
  RealtimeClient,
  Rewind,
  type ServerEvent,
  type SessionSettings,
  Speaker,
  type Ticket,
  type VoiceOutput,
  type VoicesOutput,
  attachVoice,
  attachVoices,
  openOutput,
} from "@realtime-voice/client";
import type { KeptCall } from "../kept-call.ts";
import { NOBODY, type People, foldPeople, makerOf, personOf } from "./people.ts";
import { NO_TALK, type Talk, endTalk, foldTalk } from "./talk.ts";

export const INPUT_RATE_HZ = 16_000;

export interface RoomEvents {
  /** State, people or talk are new. */
  change: undefined;
  /** How loud somebody is (RMS, 0..1). */
  level: { who: string; rms: number };
  /** The server says what went wrong. */
  trouble: string;
  /** The server is about to close, or the call is over, for this reason. */
  goodbye: string;
  microphoneLost: undefined;
  /** With what a reloaded page can go on; null: no more. */
  ticket: Ticket | null;
  closed: Closing;
}

export interface RoomWorklets {
  capture: string;
  playback: string;
  voices: string;
}

export interface RoomOptions {
  url: string;
  worklets: RoomWorklets;
  /** What an earlier page left of this seat; null: a new one is taken. */
  kept: KeptCall | null;
}

interface Shown {
  readonly people: People;
  readonly talk: Talk;
}

const EMPTY: Shown = { people: NOBODY, talk: NO_TALK };

export class RoomCall extends Emitter<RoomEvents> {
  readonly client: RealtimeClient;
  readonly output: VoiceOutput;
  /** Null where the browser has no audio worklets. */
  readonly voices: VoicesOutput | null;
  readonly #captureUrl: string;
  #people: People = EMPTY.people;
  #talk: Talk = EMPTY.talk;
  readonly #shown = new Rewind<Shown>(EMPTY);
  #attempt = 0;
  #left = false;
  readonly #settled: Promise<void>;
  #settle: () => void = () => undefined;
  #microphone: Microphone | null = null;
  #microphoneStart: Promise<void> | null = null;
  /** Whose voice the speaker plays; null: nobody's. */
  #sounding: string | null = null;

  /** Opens outputs and socket. Call it in a click or key handler, else the browser may keep it silent. */
  static async enter({ url, worklets, kept }: RoomOptions): Promise<RoomCall> {
    const [output, voices] = await Promise.all([
      openOutput(worklets.playback),
      LiveVoices.create(worklets.voices).catch(() => null),
    ]);
    const settings: SessionSettings = {
      input_audio_format: { type: "audio/pcm", rate: INPUT_RATE_HZ },
      output_audio_format: { type: "audio/pcm", rate: OUTPUT_RATE_HZ },
    };
    const client = kept
      ? RealtimeClient.comeBack(url, INPUT_RATE_HZ, kept.ticket, kept.lastPlayed)
      : RealtimeClient.connect(url, settings);
    return new RoomCall(client, output, voices, worklets.capture);
  }

  private constructor(client: RealtimeClient, output: VoiceOutput, voices: VoicesOutput | null, captureUrl: string) {
    super();
    this.client = client;
    this.output = output;
    this.voices = voices;
    this.#captureUrl = captureUrl;
    this.#settled = new Promise((settle) => {
      this.#settle = settle;
    });
    // First of all: who is a human is known before anybody's voice is announced.
    client.on("event", (event) => this.#receive(event));
    const live = voices && attachVoices(client, voices, (id) => personOf(this.#people, id)?.kind === "human");
    attachVoice(client, output, live?.isLive ?? ((itemId) => this.#isHumans(itemId)));
    client.on("state", (state) => this.#followLine(state));
    client.on("attempt", (attempt) => {
      this.#attempt = attempt;
      this.emit("change", undefined);
    });
    client.on("ticket", (ticket) => this.emit("ticket", ticket));
    client.on("closed", (closing) => void this.#closed(closing));
    voices?.on("level", (level) => this.emit("level", level));
    output.on("started", ({ itemId }) => this.#sounds(makerOf(this.#people, itemId)?.id ?? null));
    output.on("idle", () => this.#sounds(null));
    output.on("level", (rms) => {
      if (this.#sounding !== null) this.emit("level", { who: this.#sounding, rms });
    });
  }

  get state(): ClientState {
    return this.client.state;
  }

  get people(): People {
    return this.#people;
  }

  get talk(): Talk {
    return this.#talk;
  }

  /** The number of the last try to come back, from 1. */
  get attempt(): number {
    return this.#attempt;
  }

  /** Whose speech is played at the moment; null: no agent's. */
  get sounding(): string | null {
    return this.#sounding;
  }

  get hasVoice(): boolean {
    return this.output instanceof Speaker;
  }

  get hasMicrophone(): boolean {
    return this.#microphone !== null;
  }

  get muted(): boolean {
    return this.#microphone?.muted ?? true;
  }

  set muted(muted: boolean) {
    if (this.#microphone) this.#microphone.muted = muted;
    this.emit("change", undefined);
  }

  /** Asks for the microphone, once we are in, and lets it into the room. Throws MicrophoneError. */
  startMicrophone(): Promise<void> {
    this.#microphoneStart ??= this.#startMicrophone().finally(() => {
      this.#microphoneStart = null;
    });
    return this.#microphoneStart;
  }

  async #startMicrophone(): Promise<void> {
    await this.#settled;
    if (this.#microphone || this.#left) return;
    const microphone = await Microphone.create(this.#captureUrl, INPUT_RATE_HZ);
    if (this.#left) return microphone.close();
    this.#microphone = microphone;
    microphone.on("frame", ({ pcm, rms }) => {
      this.client.sendAudio(pcm);
      if (this.#people.me !== null) this.emit("level", { who: this.#people.me, rms });
    });
    microphone.on("lost", () => {
      void this.#closeMicrophone();
      this.emit("microphoneLost", undefined);
    });
    this.emit("change", undefined);
  }

  say(text: string): void {
    this.client.send({ type: "client_text_append", text });
  }

  /** Our answer to a tool that asks. */
  answerTool(id: string, name: string, confirmed: boolean): void {
    this.client.send({ type: "client_tool_result", id, name, output: "", confirmed });
  }

  /** Asks whoever of the agents speaks to stop. */
  interrupt(): void {
    this.client.send({ type: "client_response_cancel" });
  }

  leave(): void {
    this.client.close();
  }

  #receive(event: ServerEvent): void {
    if (event.type === "server_session_resumed") {
      // From the beginning everything follows.
      if (event.last_seq === 0 && !event.gap) ({ people: this.#people, talk: this.#talk } = EMPTY);
      else if (event.rewound_to_seq !== null) ({ people: this.#people, talk: this.#talk } = this.#shown.to(event.rewound_to_seq));
    }
    this.#people = foldPeople(this.#people, event);
    this.#talk = foldTalk(this.#talk, event);
    if (event.seq !== undefined) this.#shown.note(event.seq, { people: this.#people, talk: this.#talk });
    if (this.#people.me !== null) this.#settle();
    if (event.type === "agent_error") this.emit("trouble", event.message);
    // A room that puts us out ends our call for that reason.
    if (event.type === "agent_ended" && event.agent_id === this.#people.me) this.emit("goodbye", event.reason);
    if (event.type === "server_goodbye" || event.type === "server_session_ended") this.emit("goodbye", event.reason);
    if (event.type === "server_session_ended") this.client.close();
    this.emit("change", undefined);
  }

  #isHumans(itemId: string): boolean {
    return makerOf(this.#people, itemId)?.kind === "human";
  }

  #sounds(who: string | null): void {
    if (this.#sounding !== null && this.#sounding !== who) this.emit("level", { who: this.#sounding, rms: 0 });
    this.#sounding = who;
    this.emit("change", undefined);
  }

  /** Nobody would hear an interruption on a line that is lost: the agents wait, the microphone goes on. */
  #followLine(state: ClientState): void {
    if (state === "reconnecting") this.output.pause();
    else if (state === "open") this.output.resume();
    this.emit("change", undefined);
  }

  async #closed(closing: Closing): Promise<void> {
    this.#left = true;
    this.#settle();
    this.#people = NOBODY;
    this.#talk = endTalk(this.#talk);
    this.#sounding = null;
    this.emit("change", undefined);
    this.emit("closed", closing);
    await Promise.all([this.#closeMicrophone(), this.output.close(), this.voices?.close()]);
  }

  async #closeMicrophone(): Promise<void> {
    const microphone = this.#microphone;
    this.#microphone = null;
    this.emit("change", undefined);
    await microphone?.close();
  }
}

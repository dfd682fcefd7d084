/**
 * The socket to a call, typed: events in and out, audio as binary frames, one state, the end with its cause.
 *
 * It knows no microphone, no speaker and no page. Listeners put on right after `connect()` miss nothing.
 */

import { Emitter } from "./emitter.ts";
import { type AudioFrame, FLAG_PLAYED, KIND_CLIENT_AUDIO, decodeAudioFrame, encodeAudioFrame } from "./frames.ts";
import { type Outgoing, Outbox } from "./outbox.ts";
import { type ClientEvent, type ServerEvent, isServerEvent } from "./protocol.generated.ts";
import { type SentFrame, SentAudio } from "./sent-audio.ts";

export const SUBPROTOCOL = "realtime.v1";

/** While more than this waits in the socket, frames wait here. At 16 kHz it is 1 s of speech. */
const HIGH_WATER_BYTES = 32_000;
/** Audio frames that wait here at most; at 20 ms each, 2 s. Older speech would only come too late. */
const MAX_WAITING_AUDIO_FRAMES = 100;
/** How often a full socket is looked at again: it tells nobody when it drains. */
const DRAIN_INTERVAL_MS = 20;
const KEEP_SENT_S = 10;

export type ClientState = "connecting" | "open" | "closing" | "closed";

/** The end of the connection, told once. */
export interface Closing {
  /** False: the socket never opened, so the server is away or refused. */
  wasOpen: boolean;
  code: number;
  reason: string;
  /** We asked for the end, or the server said goodbye first. */
  expected: boolean;
}

/** How much of an item was heard. */
export interface Played {
  /** Of its `server_audio_item`. */
  itemIndex: number;
  playedMs: number;
}

export interface ClientEvents {
  state: ClientState;
  event: ServerEvent;
  audio: AudioFrame;
  /** A control event that left, for the inspector. */
  sent: ClientEvent;
  /** A frame that is no known event; only its type is told. */
  unknown: string;
  closed: Closing;
}

export interface SessionSettings {
  instructions?: string;
  user_name?: string;
  agent_name?: string;
  voice?: string;
  /** A name of `GET api/models`. */
  model_provider?: string;
  output_modalities?: ("text" | "audio")[];
  /** Rates in Hz. */
  input_audio_format: { type: "audio/pcm"; rate: number };
  output_audio_format: { type: "audio/pcm"; rate: number };
}

export class RealtimeClient extends Emitter<ClientEvents> {
  /** What the next frame of speech carries, once. */
  played: Played | null = null;
  readonly #socket: WebSocket;
  readonly #outbox = new Outbox(MAX_WAITING_AUDIO_FRAMES);
  readonly #sentAudio: SentAudio;
  #state: ClientState = "connecting";
  #wasOpen = false;
  /** The server said that it will close; whether the session is over already. */
  #goodbye = false;
  #sessionOver = false;
  #drainTimer: ReturnType<typeof setTimeout> | undefined;

  /** Opens the socket and, as soon as it is open, the session. Never throws for a server that is away: see `closed`. */
  static connect(url: string, settings: SessionSettings): RealtimeClient {
    return new RealtimeClient(new WebSocket(url, SUBPROTOCOL), settings);
  }

  private constructor(socket: WebSocket, settings: SessionSettings) {
    super();
    this.#socket = socket;
    this.#sentAudio = new SentAudio(settings.input_audio_format.rate * KEEP_SENT_S);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.#wasOpen = true;
      this.#setState("open");
      this.send({ type: "client_session_create", config: { ...settings, audio_frames: "binary" } });
    };
    socket.onmessage = (message: MessageEvent<string | ArrayBuffer>) => this.#receive(message.data);
    socket.onclose = ({ code, reason }) => this.#closed(code, reason);
  }

  get state(): ClientState {
    return this.#state;
  }

  /** Samples of the client's audio stream so far, and frames of it that were dropped because the socket was behind. */
  get audioSent(): { samples: number; droppedFrames: number; receivedOffset: number } {
    return {
      samples: this.#sentAudio.nextOffset,
      droppedFrames: this.#outbox.droppedFrames,
      receivedOffset: this.#sentAudio.receivedOffset,
    };
  }

  /** Sends an event; without effect once the socket closes. */
  send(event: ClientEvent): void {
    if (this.#state !== "open") return;
    this.#enqueue({ kind: "control", data: JSON.stringify(event) });
    this.emit("sent", event);
  }

  /** Sends speech: the next samples of the client's stream. Takes over `pcm`. */
  sendAudio(pcm: Int16Array<ArrayBuffer>): void {
    if (this.#state !== "open") return;
    this.#enqueue({ kind: "audio", data: encodeClientAudio(this.#sentAudio.add(pcm), this.played) });
    this.played = null;
  }

  /** Ends the call and closes the socket. */
  close(): void {
    if (this.#state === "open") {
      if (!this.#sessionOver) this.send({ type: "client_session_end" });
      while (this.#outbox.length > 0) this.#transmit();
    }
    if (this.#state === "closed") return;
    this.#setState("closing");
    this.#socket.close(1000, "ended by the user");
  }

  #receive(data: string | ArrayBuffer): void {
    if (this.#state !== "open") return;
    if (data instanceof ArrayBuffer) {
      const frame = decodeAudioFrame(data);
      if (frame) this.emit("audio", frame);
      else this.emit("unknown", "binary frame");
      return;
    }
    const event = parse(data);
    if (!isServerEvent(event)) return this.emit("unknown", typeOf(event));
    if (event.type === "server_audio_received") this.#sentAudio.acknowledge(event.offset);
    if (event.type === "server_goodbye") this.#goodbye = true;
    if (event.type === "server_session_ended") this.#sessionOver = true;
    this.emit("event", event);
  }

  #enqueue(frame: Outgoing): void {
    this.#outbox.push(frame);
    this.#drain();
  }

  #drain(): void {
    while (this.#outbox.length > 0 && this.#socket.bufferedAmount < HIGH_WATER_BYTES) this.#transmit();
    if (this.#outbox.length === 0 || this.#drainTimer !== undefined) return;
    this.#drainTimer = setTimeout(() => {
      this.#drainTimer = undefined;
      this.#drain();
    }, DRAIN_INTERVAL_MS);
  }

  #transmit(): void {
    const frame = this.#outbox.shift();
    if (frame) this.#socket.send(frame.data);
  }

  #closed(code: number, reason: string): void {
    const expected = this.#goodbye || this.#sessionOver || this.#state === "closing";
    clearTimeout(this.#drainTimer);
    this.#outbox.clear();
    this.#setState("closed");
    this.emit("closed", { wasOpen: this.#wasOpen, code, reason, expected });
  }

  #setState(state: ClientState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.emit("state", state);
  }
}

function encodeClientAudio({ offset, pcm }: SentFrame, played: Played | null): ArrayBuffer {
  const frame = { kind: KIND_CLIENT_AUDIO, flags: 0, stream: 0, itemIndex: 0, sampleOffset: offset, pcm };
  return encodeAudioFrame(played ? { ...frame, ...played, flags: FLAG_PLAYED } : frame);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function typeOf(value: unknown): string {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  return typeof type === "string" ? type : "no type";
}

/**
 * A call as the server speaks it, typed: events in and out, speech as binary frames, one state, the end with its cause.
 *
 * A socket that is lost is not the end: the client comes back on another one, says again what may not have arrived and
 * is told what it missed. It knows no microphone, no speaker and no page. Listeners put on right after `connect()` miss
 * nothing.
 */

import { retryDelayMs } from "./backoff.ts";
import { Emitter } from "./emitter.ts";
import { type AudioFrame, decodeAudioFrame } from "./frames.ts";
import { Line } from "./line.ts";
import { type AgentErrorEvent, type ClientEvent, type ServerEvent, isServerEvent } from "./protocol.generated.ts";
import { type Played, type Said, SaidLog } from "./said.ts";

const KEEP_SPEECH_S = 10;
/** Far fewer than the server can tell apart when they are said twice. */
const KEEP_EVENTS = 64;
/** A try that takes longer than this is given up for the next one. */
const TRY_MS = 8_000;
/** How long the server has to hear that the call is over. */
const CLOSE_MS = 1_000;
/** The server tells every second how much speech it has. After this much of neither that nor anything else the line is dead. */
const SILENCE_MS = 5_000;
/** The server tells every second: where the network is said to have changed, a line that said nothing for this long is not trusted. */
const FRESH_MS = 1_500;
/** How much longer than the server waits is tried: its count begins when it notices. */
const EXTRA_MS = 2_000;
/** A line that held for less counts as a try that failed. */
const STEADY_MS = 1_000;
/** After a call that was read from a store, the place from which to say speech again comes at once, or not at all. */
const PLACE_MS = 250;

const NORMAL = 1000;
/** The client may not come in. */
const REFUSED = 1008;
const ELSEWHERE = 4000;
/** After these the call is over: a normal end, no entry, a fault of the server, gone on elsewhere. */
const FINAL_CODES: readonly number[] = [NORMAL, REFUSED, 1011, ELSEWHERE];

/** With 1011 too, by uvicorn: the server heard nothing from us for a while, as in a tunnel or with the lid closed. */
const NO_PONG = "keepalive ping timeout";

export type ClientState = "connecting" | "open" | "reconnecting" | "closing" | "closed";

/** What it takes to come back to a call. */
export interface ResumeToken {
  readonly token: string;
  /** How long the call waits for us. */
  readonly withinMs: number;
}

/** The end of the connection, told once. */
export interface Closing {
  /** False: no socket ever opened, so the server is away or refused. */
  wasOpen: boolean;
  code: number;
  reason: string;
  /** We asked for the end, or the server said goodbye first. */
  expected: boolean;
  /**
   * Why a call that could have gone on is over here. gave_up: the line did not come back in time; refused: the server
   * does not let us back in; elsewhere: another page went on with it.
   */
  instead: "gave_up" | "refused" | "elsewhere" | null;
}

export interface ClientEvents {
  state: ClientState;
  event: ServerEvent;
  audio: AudioFrame;
  /** An event that left, for the inspector. */
  sent: ClientEvent;
  /** A frame that is no known event; only its type is told. */
  unknown: string;
  /** The number of the try to come back that begins now, from 1. */
  attempt: number;
  /** With what the call can be come back to; null: no more. */
  resumeToken: ResumeToken | null;
  closed: Closing;
}

export interface SessionSettings {
  instructions?: string;
  user_name?: string;
  agent_name?: string;
  voice?: string;
  /** A name of `GET api/models`. */
  model_provider?: string;
  /** Consent to keep the sound of the call. */
  recording?: boolean;
  output_modalities?: ("text" | "audio")[];
  /** Rates in Hz. */
  input_audio_format: { type: "audio/pcm"; rate: number };
  output_audio_format: { type: "audio/pcm"; rate: number };
}

interface Opening {
  url: string;
  inputRateHz: number;
  /** Makes a new call; null: comes back to one. */
  settings: SessionSettings | null;
  resumeToken: ResumeToken | null;
  lastPlayed: Played | null;
  /** Numbers from 0 to below 1. */
  chance: () => number;
}

export class RealtimeClient extends Emitter<ClientEvents> {
  /** What the next frame of speech carries, once. */
  played: Played | null = null;
  /** The item that was heard last: where the server was restarted, the answer is cut there. */
  lastPlayed: Played | null;
  readonly #url: string;
  readonly #settings: SessionSettings | null;
  readonly #chance: () => number;
  readonly #said: SaidLog;
  readonly #silenceSamples: number;
  #state: ClientState;
  #line: Line | null = null;
  #resumeToken: ResumeToken | null;
  #lastSeq = 0;
  #wasOpen = false;
  #droppedFrames = 0;
  /** The server said that it will close; whether the session is over already. */
  #goodbye = false;
  #sessionOver = false;
  /** When the server that goes down may be back, by the goodbye that held a token. */
  #retryAfterMs: number | null = null;
  #nextEventId = 0;
  readonly #eventIdPrefix: string;
  /** On a new socket of an old call: asking; then waiting for the place from which to say speech again; then done. */
  #comingBack: "asking" | "placing" | null = null;
  #fromStore = false;
  #attempt = 0;
  #openedAtMs = 0;
  #heardAtMs = 0;
  #toldReceived = false;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #tryTimer: ReturnType<typeof setTimeout> | undefined;
  #giveUpTimer: ReturnType<typeof setTimeout> | undefined;
  #placeTimer: ReturnType<typeof setTimeout> | undefined;
  #wordTimer: ReturnType<typeof setTimeout> | undefined;

  /** Opens the socket and, as soon as it is open, the session. Never throws for a server that is away: see `closed`. */
  static connect(url: string, settings: SessionSettings, chance: () => number = Math.random): RealtimeClient {
    const inputRateHz = settings.input_audio_format.rate;
    return new RealtimeClient({ url, inputRateHz, settings, resumeToken: null, lastPlayed: null, chance });
  }

  /** Comes back to a call that another page at the same `url` had, with all its events from the beginning. */
  static resume(
    url: string,
    inputRateHz: number,
    resumeToken: ResumeToken,
    lastPlayed: Played | null,
    chance: () => number = Math.random,
  ): RealtimeClient {
    return new RealtimeClient({ url, inputRateHz, settings: null, resumeToken, lastPlayed, chance });
  }

  private constructor({ url, inputRateHz, settings, resumeToken, lastPlayed, chance }: Opening) {
    super();
    this.#url = url;
    this.#settings = settings;
    this.#resumeToken = resumeToken;
    this.lastPlayed = lastPlayed;
    this.#chance = chance;
    this.#said = new SaidLog(inputRateHz * KEEP_SPEECH_S, KEEP_EVENTS);
    this.#silenceSamples = (inputRateHz * SILENCE_MS) / 1000;
    this.#eventIdPrefix = `page_${Math.floor(chance() * 2 ** 48).toString(36)}`;
    this.#state = resumeToken ? "reconnecting" : "connecting";
    if (resumeToken) this.#giveUpLater(resumeToken);
    this.#connect();
  }

  get state(): ClientState {
    return this.#state;
  }

  /** Samples of the client's audio stream so far, and frames of it that were dropped because the socket was behind. */
  get audioSent(): { samples: number; droppedFrames: number; receivedOffset: number } {
    return {
      samples: this.#said.nextOffset,
      droppedFrames: this.#droppedFrames + (this.#line?.droppedFrames ?? 0),
      receivedOffset: this.#said.receivedOffset,
    };
  }

  /** Sends an event, on a line that is lost as soon as it is back; without effect once the call closes. */
  send(event: ClientEvent): void {
    if (this.#state !== "open" && this.#state !== "reconnecting") return;
    // Positions do no harm when they come twice, and are too many for the server to remember.
    const named = event.type === "client_playback_ack" ? event : { ...event, event_id: event.event_id ?? this.#newEventId() };
    this.#say(this.#said.event(named));
    if (event.type === "client_text_append") this.#expectWord();
  }

  /** Sends speech: the next samples of the client's stream. Takes over `pcm`. */
  sendAudio(pcm: Int16Array<ArrayBuffer>): void {
    if (this.#state !== "open" && this.#state !== "reconnecting") return;
    const speech = this.#said.speech(pcm, this.played);
    this.played = null;
    this.#say(speech);
    this.#mindSilence();
  }

  /** Ends the call and closes the socket. */
  close(): void {
    if (this.#state === "closed" || this.#state === "closing") return;
    if (this.#state === "reconnecting") {
      this.#line?.abandon();
      return this.#end({ code: NORMAL, reason: "", expected: true });
    }
    if (this.#state === "open" && !this.#sessionOver) this.send({ type: "client_session_end" });
    this.#setResumeToken(null);
    this.#setState("closing");
    this.#line?.close(NORMAL, "ended by the user");
    clearTimeout(this.#tryTimer);
    this.#tryTimer = setTimeout(() => this.#leaveUnheard(), CLOSE_MS);
  }

  /** A line that is dead says nothing of its end for a minute: nobody waits for it with an open microphone. */
  #leaveUnheard(): void {
    if (this.#state !== "closing") return;
    this.#line?.abandon();
    this.#end({ code: NORMAL, reason: "", expected: true });
  }

  /**
   * The network is said to be back: does not wait for the next try to come back. A line of the network before says
   * nothing of its end, so that one which has said nothing of late is given up.
   */
  retryNow(): void {
    if (this.#state === "open" && this.#resumeToken && performance.now() - this.#heardAtMs > FRESH_MS) this.#tryAgain();
    if (this.#state !== "reconnecting" || this.#line?.opened) return;
    this.#line?.abandon();
    this.#connect();
  }

  // -- the line -------------------------------------------------------------------------------------------------------

  #connect(): void {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#tryTimer);
    if (this.#resumeToken) {
      this.#attempt += 1;
      this.emit("attempt", this.#attempt);
      this.#tryTimer = setTimeout(() => this.#tryAgain(), TRY_MS);
    }
    const line = new Line(this.#url, {
      opened: () => this.#opened(line),
      received: (data) => this.#receive(data),
      lost: (code, reason) => this.#lost(code, reason),
    });
    this.#line = line;
  }

  #opened(line: Line): void {
    this.#heardAtMs = performance.now();
    this.#toldReceived = false;
    if (this.#resumeToken) return this.#askToResume(line, this.#resumeToken);
    this.#wasOpen = true;
    this.#setState("open");
    const create: ClientEvent = { type: "client_session_create", config: { ...this.#settings, audio_frames: "binary" } };
    line.tell(create);
    this.emit("sent", create);
  }

  #askToResume(line: Line, { token }: ResumeToken): void {
    this.#comingBack = "asking";
    const heard = this.lastPlayed;
    const played = heard && { played_item_id: heard.itemId, played_ms: heard.playedMs };
    const ask: ClientEvent = { type: "client_session_resume", token, last_seq: this.#lastSeq, ...played };
    line.tell(ask);
    this.emit("sent", ask);
  }

  #lost(code: number, reason: string): void {
    this.#dropLine();
    const over = this.#state === "closing" || this.#sessionOver;
    if (over || !this.#resumeToken || this.#isFinal(code, reason)) {
      const expected = over || (this.#goodbye && this.#retryAfterMs === null);
      return this.#end({ code, reason, expected, instead: this.#resumeToken ? insteadOf(code) : null });
    }
    this.#comeBackLater();
  }

  #isFinal(code: number, reason: string): boolean {
    // A server that goes down may close like one that is done.
    if (code === NORMAL) return this.#retryAfterMs === null;
    return FINAL_CODES.includes(code) && reason !== NO_PONG;
  }

  /** The line is gone, by word of the browser, of the server or of nobody. */
  #comeBackLater(): void {
    if (this.#state === "open") {
      if (performance.now() - this.#openedAtMs >= STEADY_MS) this.#attempt = 0;
      if (this.#resumeToken) this.#giveUpLater(this.#resumeToken);
      this.#setState("reconnecting");
    }
    const delayMs = Math.max(retryDelayMs(this.#attempt, this.#chance), this.#retryAfterMs ?? 0);
    this.#retryAfterMs = null;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = setTimeout(() => this.#connect(), delayMs);
  }

  #tryAgain(): void {
    this.#line?.abandon();
    this.#dropLine();
    this.#comeBackLater();
  }

  #giveUpLater({ withinMs }: ResumeToken): void {
    clearTimeout(this.#giveUpTimer);
    this.#giveUpTimer = setTimeout(() => {
      this.#line?.abandon();
      this.#end({ code: 1006, reason: "", expected: false, instead: "gave_up" });
    }, withinMs + EXTRA_MS);
  }

  /** Where the server is known to tell how much it has, its silence means a line that nobody told us is dead. */
  #mindSilence(): void {
    if (this.#state !== "open" || !this.#resumeToken || !this.#toldReceived) return;
    const { nextOffset, receivedOffset } = this.#said;
    const isBehind = nextOffset - receivedOffset > this.#silenceSamples;
    if (isBehind && performance.now() - this.#heardAtMs > SILENCE_MS) this.#tryAgain();
  }

  /** A typed line is always answered, if only by its own item: where no microphone tells, this does. */
  #expectWord(): void {
    const askedAtMs = performance.now();
    clearTimeout(this.#wordTimer);
    this.#wordTimer = setTimeout(() => {
      if (this.#state === "open" && this.#resumeToken && this.#heardAtMs < askedAtMs) this.#tryAgain();
    }, SILENCE_MS);
  }

  #dropLine(): void {
    clearTimeout(this.#wordTimer);
    clearTimeout(this.#tryTimer);
    clearTimeout(this.#placeTimer);
    this.#comingBack = null;
    this.#droppedFrames += this.#line?.droppedFrames ?? 0;
    this.#line = null;
  }

  // -- what comes -----------------------------------------------------------------------------------------------------

  #receive(data: string | ArrayBuffer): void {
    if (this.#state !== "open" && this.#state !== "reconnecting") return;
    this.#heardAtMs = performance.now();
    if (data instanceof ArrayBuffer) {
      this.#placedByOther();
      const frame = decodeAudioFrame(data);
      if (frame) this.emit("audio", frame);
      else this.emit("unknown", "binary frame");
      return;
    }
    const event = parse(data);
    if (!isServerEvent(event)) return this.emit("unknown", typeOf(event));
    if (this.#comingBack === "asking" && event.type === "agent_error") return this.#refused(event);
    if (event.type !== "server_audio_received") this.#placedByOther();
    this.#lastSeq = Math.max(this.#lastSeq, event.seq ?? 0);
    if (this.#note(event)) this.emit("event", event);
  }

  /** Takes from an event what concerns the line. Returns whether the others are to be told of it. */
  #note(event: ServerEvent): boolean {
    switch (event.type) {
      case "server_session_created":
        // One that is told anew after coming back is that of the log, without a token.
        if (event.resume_token !== null) {
          this.#setResumeToken({ token: event.resume_token, withinMs: event.resume_within_ms ?? 0 });
        }
        return true;
      case "server_session_resumed":
        this.#isBack(event.token, event.from_store);
        this.#lastSeq = event.rewound_to_seq ?? this.#lastSeq;
        return true;
      case "server_audio_received":
        if (this.#comingBack === "placing") this.#sayAgain(event.offset);
        this.#said.acknowledge(event.offset);
        this.#toldReceived = true;
        return true;
      case "server_audio_item":
        this.#line?.introduce(event.item_id, event.item_index);
        return true;
      case "server_goodbye":
        this.#goodbye = true;
        if (event.resume_token === null || !this.#resumeToken) return true;
        this.#setResumeToken({ ...this.#resumeToken, token: event.resume_token });
        this.#retryAfterMs = event.retry_after_ms ?? 0;
        return false;
      case "agent_ended":
        // The server goes down and the call does not: nothing is over.
        return this.#retryAfterMs === null;
      case "server_session_ended":
        if (this.#retryAfterMs !== null) {
          this.#tryAgain();
          return false;
        }
        this.#sessionOver = true;
        this.#setResumeToken(null);
        return true;
      default:
        return true;
    }
  }

  #isBack(token: string | null, fromStore: boolean): void {
    this.#wasOpen = true;
    this.#goodbye = false;
    this.#comingBack = "placing";
    this.#fromStore = fromStore;
    if (token !== null && this.#resumeToken) this.#setResumeToken({ ...this.#resumeToken, token });
    if (fromStore) this.#placeTimer = setTimeout(() => this.#placedByOther(), PLACE_MS);
  }

  /** Something else came where the place for our speech would have been. */
  #placedByOther(): void {
    if (this.#comingBack === "placing" && this.#fromStore) this.#sayAgain(null);
  }

  /** Says what the server lacks; from then on the line is as good as the one before. */
  #sayAgain(received: number | null): void {
    clearTimeout(this.#placeTimer);
    clearTimeout(this.#tryTimer);
    clearTimeout(this.#giveUpTimer);
    this.#comingBack = null;
    if (received !== null) this.#said.goOnAt(received);
    this.#openedAtMs = performance.now();
    for (const said of this.#said.again(received)) this.#transmit(said, true);
    this.#setState("open");
  }

  #refused({ retryable }: AgentErrorEvent): void {
    if (retryable) return this.#tryAgain();
    this.#line?.abandon();
    this.#end({ code: REFUSED, reason: "", expected: false, instead: "refused" });
  }

  // -- what goes ------------------------------------------------------------------------------------------------------

  #say(said: Said): void {
    if (this.#state === "open") this.#transmit(said, false);
  }

  #transmit(said: Said, again: boolean): void {
    this.#line?.say(said, again);
    if (said.kind === "control") this.emit("sent", said.event);
  }

  #newEventId(): string {
    return `${this.#eventIdPrefix}_${this.#nextEventId++}`;
  }

  // -- states ---------------------------------------------------------------------------------------------------------

  #end(how: Pick<Closing, "code" | "reason" | "expected"> & Partial<Closing>): void {
    this.#dropLine();
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#giveUpTimer);
    this.#setResumeToken(null);
    this.#setState("closed");
    this.emit("closed", { wasOpen: this.#wasOpen, instead: null, ...how });
  }

  #setResumeToken(resumeToken: ResumeToken | null): void {
    if (resumeToken === this.#resumeToken) return;
    this.#resumeToken = resumeToken;
    this.emit("resumeToken", resumeToken);
  }

  #setState(state: ClientState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.emit("state", state);
  }
}

function insteadOf(code: number): Closing["instead"] {
  if (code === ELSEWHERE) return "elsewhere";
  return code === REFUSED ? "refused" : null;
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

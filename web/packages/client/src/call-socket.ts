/**
 * The protocol of one call, typed: events both ways, speech as binary frames, one state, the end with its cause.
 *
 * A lost socket does not end the call: the client resumes it on another one, sends again what may not have arrived, and
 * receives what it missed. It knows no microphone, speaker or page. Listeners added right after `connect()` miss nothing.
 */

import { retryDelayMs } from "./backoff.ts";
import { Emitter } from "./emitter.ts";
import { type AudioFrame, decodeAudioFrame } from "./frames.ts";
import { Line } from "./line.ts";
import { type AgentErrorEvent, type ClientEvent, type ServerEvent, type SessionConfig, isServerEvent } from "./protocol.generated.ts";
import { type Played, type Outgoing, ReplayBuffer } from "./replay-buffer.ts";

const KEEP_SPEECH_S = 10;
/** Far fewer than the server recognizes as repeated. */
const KEEP_EVENTS = 64;
/** A try that takes longer is given up for the next one. */
const TRY_MS = 8_000;
/** How long closing waits for the server. */
const CLOSE_MS = 1_000;
/** The server reports every second how much speech it has. A line without any frame for this long is dead. */
const SILENCE_MS = 5_000;
/** After a change of the network, a line without any frame for this long counts as dead. */
const FRESH_MS = 1_500;
/** Tries go on for this much longer than the server waits: its wait begins when it notices the loss. */
const EXTRA_MS = 2_000;
/** A line that held for less counts as a failed try. */
const STEADY_MS = 1_000;
/** Frames of speech follow each other faster; a stop of the page plays nothing. */
const CARRIED_WITHIN_MS = 20;
/** For a call read from a store, the offset from which to repeat speech comes within this time or not at all. */
const PLACE_MS = 250;

const NORMAL = 1000;
/** The server refuses the client. */
const REFUSED = 1008;
const ELSEWHERE = 4000;
/** Browsers report it where no socket opens. */
const UNREACHED = 1006;
/** These end the call: a normal end, a refusal, a fault of the server, resumed elsewhere. */
const FINAL_CODES: readonly number[] = [NORMAL, REFUSED, 1011, ELSEWHERE];

/** uvicorn closes with 1011 and this reason when it hears nothing for a while, as in a tunnel or with the lid closed. */
const NO_PONG = "keepalive ping timeout";

export type ClientState = "connecting" | "open" | "reconnecting" | "closing" | "closed";

/** The right to resume a call. */
export interface ResumeToken {
  readonly token: string;
  /** How long the call waits for its client. */
  readonly withinMs: number;
}

/** The end of the connection; emitted once. */
export interface Closing {
  /** False where no socket ever opened: the server is away or refuses. */
  wasOpen: boolean;
  code: number;
  reason: string;
  /** The client asked for the end, or the server said goodbye first. */
  expected: boolean;
  /**
   * Why a call that could be resumed is over here. gave_up: no line opened in time; refused: the server does not resume
   * it; elsewhere: another page resumed it.
   */
  instead: "gave_up" | "refused" | "elsewhere" | null;
}

export interface ClientEvents {
  state: ClientState;
  event: ServerEvent;
  audio: AudioFrame;
  /** An event that was sent. */
  sent: ClientEvent;
  /** The type of a frame that is no known event. */
  unknown: string;
  /** The number of the try to reconnect that begins, from 1. */
  attempt: number;
  /** What the call can be resumed with; null: it cannot any more. */
  resumeToken: ResumeToken | null;
  closed: Closing;
}

/** What a call may ask for; see `SessionConfig`. */
export type CallSettings = Omit<SessionConfig, "input_audio_format" | "output_audio_format" | "audio_frames">;

export interface SessionSettings extends CallSettings {
  /** Rates in Hz. */
  input_audio_format: { type: "audio/pcm"; rate: number };
  output_audio_format: { type: "audio/pcm"; rate: number };
}

/** The address of a call's socket, or what gives it for each new socket: a short-lived token in it may have expired. */
export type Address = string | (() => Promise<string>);

interface Opening {
  url: Address;
  inputRateHz: number;
  /** Of a new call; null: resumes one. */
  settings: SessionSettings | null;
  resumeToken: ResumeToken | null;
  lastPlayed: Played | null;
  /** Numbers from 0 to below 1. */
  chance: () => number;
}

export class CallSocket extends Emitter<ClientEvents> {
  #played: Played | null = null;
  #playedSinceMs = 0;
  /** The latest position: a restarted server truncates the response there. */
  lastPlayed: Played | null;
  readonly #url: Address;
  readonly #settings: SessionSettings | null;
  readonly #chance: () => number;
  readonly #replayBuffer: ReplayBuffer;
  readonly #silenceSamples: number;
  #state: ClientState;
  #line: Line | null = null;
  /** Counts the sockets that were wanted: only the last one is. */
  #dials = 0;
  #resumeToken: ResumeToken | null;
  #lastSeq = 0;
  #wasOpen = false;
  #droppedFrames = 0;
  /** The server said goodbye. */
  #goodbye = false;
  #sessionOver = false;
  /** When a restarting server may be back, from its goodbye with a resume token. */
  #retryAfterMs: number | null = null;
  #nextEventId = 0;
  readonly #eventIdPrefix: string;
  /** On a new line of an old call: asking to resume, then waiting for the offset from which to repeat speech. */
  #resuming: "asking" | "placing" | null = null;
  #fromStore = false;
  #attempt = 0;
  #openedAtMs = 0;
  #receivedAtMs = 0;
  #isReported = false;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #tryTimer: ReturnType<typeof setTimeout> | undefined;
  #giveUpTimer: ReturnType<typeof setTimeout> | undefined;
  #placeTimer: ReturnType<typeof setTimeout> | undefined;
  #answerTimer: ReturnType<typeof setTimeout> | undefined;

  /** Opens a socket and then a session. Does not throw where the server is away: see `closed`. */
  static connect(url: Address, settings: SessionSettings, chance: () => number = Math.random): CallSocket {
    const inputRateHz = settings.input_audio_format.rate;
    return new CallSocket({ url, inputRateHz, settings, resumeToken: null, lastPlayed: null, chance });
  }

  /** Resumes the call of an earlier page at the same `url`, with all events from the beginning. */
  static resume(
    url: Address,
    inputRateHz: number,
    resumeToken: ResumeToken,
    lastPlayed: Played | null,
    chance: () => number = Math.random,
  ): CallSocket {
    return new CallSocket({ url, inputRateHz, settings: null, resumeToken, lastPlayed, chance });
  }

  private constructor({ url, inputRateHz, settings, resumeToken, lastPlayed, chance }: Opening) {
    super();
    this.#url = url;
    this.#settings = settings;
    this.#resumeToken = resumeToken;
    this.lastPlayed = lastPlayed;
    this.#chance = chance;
    this.#replayBuffer = new ReplayBuffer(inputRateHz * KEEP_SPEECH_S, KEEP_EVENTS);
    this.#silenceSamples = (inputRateHz * SILENCE_MS) / 1000;
    this.#eventIdPrefix = `page_${Math.floor(chance() * 2 ** 48).toString(36)}`;
    this.#state = resumeToken ? "reconnecting" : "connecting";
    if (resumeToken) this.#giveUpLater(resumeToken);
    this.#connect();
  }

  get state(): ClientState {
    return this.#state;
  }

  /** What the call can be resumed with now; null: nothing. */
  get resumeToken(): ResumeToken | null {
    return this.#resumeToken;
  }

  /** A position that the next frame of speech reports. */
  get played(): Played | null {
    return this.#played;
  }

  set played(played: Played | null) {
    this.#played = played;
    this.#playedSinceMs = performance.now();
  }

  /** The position when its frame leaves: it plays on meanwhile. */
  #playedNow(): Played | null {
    if (!this.#played) return null;
    const { itemId, playedMs } = this.#played;
    const sinceMs = Math.floor(performance.now() - this.#playedSinceMs);
    return { itemId, playedMs: playedMs + Math.min(sinceMs, CARRIED_WITHIN_MS) };
  }

  /** Samples of the client's audio stream so far, frames dropped by a slow socket, and samples that the server has. */
  get audioSent(): { samples: number; droppedFrames: number; receivedOffset: number } {
    return {
      samples: this.#replayBuffer.nextOffset,
      droppedFrames: this.#droppedFrames + (this.#line?.droppedFrames ?? 0),
      receivedOffset: this.#replayBuffer.receivedOffset,
    };
  }

  /** Sends an event, on a lost line as soon as there is another; does nothing once the call closes. */
  send(event: ClientEvent): void {
    if (this.#state !== "open" && this.#state !== "reconnecting") return;
    // A repeated position does no harm, and there are too many for the server to remember.
    const named = event.type === "client_playback_ack" ? event : { ...event, event_id: event.event_id ?? this.#newEventId() };
    this.#sendIfOpen(this.#replayBuffer.event(named));
    if (event.type === "client_text_append") this.#expectAnswer();
  }

  /** Sends the next samples of the client's audio stream. Takes over `pcm`. */
  sendAudio(pcm: Int16Array<ArrayBuffer>): void {
    if (this.#state !== "open" && this.#state !== "reconnecting") return;
    const speech = this.#replayBuffer.speech(pcm, this.#playedNow());
    this.played = null;
    this.#sendIfOpen(speech);
    this.#checkSilence();
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
    this.#tryTimer = setTimeout(() => this.#endUnanswered(), CLOSE_MS);
  }

  /** Ends the call where the close handshake does not: that of a dead line takes a minute. */
  #endUnanswered(): void {
    if (this.#state !== "closing") return;
    this.#line?.abandon();
    this.#end({ code: NORMAL, reason: "", expected: true });
  }

  /**
   * Tries to reconnect at once; call it when the browser is online again. Gives up an open line that is silent, since a
   * line of the network before does not report its end.
   */
  retryNow(): void {
    if (this.#state === "open" && this.#resumeToken && performance.now() - this.#receivedAtMs > FRESH_MS) this.#tryAgain();
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
    const dial = ++this.#dials;
    if (typeof this.#url === "string") return this.#dial(this.#url);
    const isWanted = (): boolean => dial === this.#dials && (this.#state === "connecting" || this.#state === "reconnecting");
    this.#url().then(
      (url) => isWanted() && this.#dial(url),
      // Without an address it goes on as without a network.
      () => isWanted() && this.#lost(UNREACHED, ""),
    );
  }

  #dial(url: string): void {
    const line = new Line(url, {
      opened: () => this.#opened(line),
      received: (data) => this.#receive(data),
      lost: (code, reason) => this.#lost(code, reason),
    });
    this.#line = line;
  }

  #opened(line: Line): void {
    this.#receivedAtMs = performance.now();
    this.#isReported = false;
    if (this.#resumeToken) return this.#askToResume(line, this.#resumeToken);
    this.#wasOpen = true;
    this.#setState("open");
    const create: ClientEvent = { type: "client_session_create", config: { ...this.#settings, audio_frames: "binary" } };
    line.write(create);
    this.emit("sent", create);
  }

  #askToResume(line: Line, { token }: ResumeToken): void {
    this.#resuming = "asking";
    const last = this.lastPlayed;
    const played = last && { played_item_id: last.itemId, played_ms: last.playedMs };
    const ask: ClientEvent = { type: "client_session_resume", token, last_seq: this.#lastSeq, ...played };
    line.write(ask);
    this.emit("sent", ask);
  }

  #lost(code: number, reason: string): void {
    this.#dropLine();
    const over = this.#state === "closing" || this.#sessionOver;
    if (over || !this.#resumeToken || this.#isFinal(code, reason)) {
      const expected = over || (this.#goodbye && this.#retryAfterMs === null);
      return this.#end({ code, reason, expected, instead: this.#resumeToken ? insteadOf(code) : null });
    }
    this.#reconnectLater();
  }

  #isFinal(code: number, reason: string): boolean {
    // A restarting server may close with the code of a normal end.
    if (code === NORMAL) return this.#retryAfterMs === null;
    return FINAL_CODES.includes(code) && reason !== NO_PONG;
  }

  /** The line is lost: the next try comes after a delay. */
  #reconnectLater(): void {
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
    this.#reconnectLater();
  }

  #giveUpLater({ withinMs }: ResumeToken): void {
    clearTimeout(this.#giveUpTimer);
    this.#giveUpTimer = setTimeout(() => {
      this.#line?.abandon();
      this.#end({ code: UNREACHED, reason: "", expected: false, instead: "gave_up" });
    }, withinMs + EXTRA_MS);
  }

  /** Gives up a line on which the server stopped reporting how much speech it has. */
  #checkSilence(): void {
    if (this.#state !== "open" || !this.#resumeToken || !this.#isReported) return;
    const { nextOffset, receivedOffset } = this.#replayBuffer;
    const isBehind = nextOffset - receivedOffset > this.#silenceSamples;
    if (isBehind && performance.now() - this.#receivedAtMs > SILENCE_MS) this.#tryAgain();
  }

  /** Gives up a line on which typed text gets no answer: each text is answered by its item at least. */
  #expectAnswer(): void {
    const askedAtMs = performance.now();
    clearTimeout(this.#answerTimer);
    this.#answerTimer = setTimeout(() => {
      if (this.#state === "open" && this.#resumeToken && this.#receivedAtMs < askedAtMs) this.#tryAgain();
    }, SILENCE_MS);
  }

  #dropLine(): void {
    clearTimeout(this.#answerTimer);
    clearTimeout(this.#tryTimer);
    clearTimeout(this.#placeTimer);
    this.#resuming = null;
    this.#droppedFrames += this.#line?.droppedFrames ?? 0;
    this.#line = null;
  }

  // -- received -------------------------------------------------------------------------------------------------------

  #receive(data: string | ArrayBuffer): void {
    if (this.#state !== "open" && this.#state !== "reconnecting") return;
    this.#receivedAtMs = performance.now();
    if (data instanceof ArrayBuffer) {
      this.#placeMissing();
      const frame = decodeAudioFrame(data);
      if (frame) this.emit("audio", frame);
      else this.emit("unknown", "binary frame");
      return;
    }
    const event = parse(data);
    if (!isServerEvent(event)) {
      this.emit("unknown", typeOf(event));
      return;
    }
    if (this.#resuming === "asking" && event.type === "agent_error") return this.#refused(event);
    if (event.type !== "server_audio_received") this.#placeMissing();
    this.#lastSeq = Math.max(this.#lastSeq, event.seq ?? 0);
    if (this.#note(event)) this.emit("event", event);
  }

  /** Takes what concerns the line from an event. Returns whether to emit it. */
  #note(event: ServerEvent): boolean {
    switch (event.type) {
      case "server_session_created":
        // The event of the log, repeated after resuming, has no token.
        if (event.resume_token !== null) {
          this.#setResumeToken({ token: event.resume_token, withinMs: event.resume_within_ms ?? 0 });
        }
        return true;
      case "server_session_resumed":
        this.#resumed(event.token, event.from_store);
        this.#lastSeq = event.rewound_to_seq ?? this.#lastSeq;
        return true;
      case "server_audio_received":
        if (this.#resuming === "placing") this.#replay(event.offset);
        this.#replayBuffer.acknowledge(event.offset);
        this.#isReported = true;
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
        // The server restarts and the call goes on: nothing has ended.
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

  #resumed(token: string | null, fromStore: boolean): void {
    this.#wasOpen = true;
    this.#goodbye = false;
    this.#resuming = "placing";
    this.#fromStore = fromStore;
    if (token !== null && this.#resumeToken) this.#setResumeToken({ ...this.#resumeToken, token });
    if (fromStore) this.#placeTimer = setTimeout(() => this.#placeMissing(), PLACE_MS);
  }

  /** Another frame came where the offset for repeated speech would have been. */
  #placeMissing(): void {
    if (this.#resuming === "placing" && this.#fromStore) this.#replay(null);
  }

  /** Sends what the server lacks; the call is open from then on. */
  #replay(received: number | null): void {
    clearTimeout(this.#placeTimer);
    clearTimeout(this.#tryTimer);
    clearTimeout(this.#giveUpTimer);
    this.#resuming = null;
    if (received !== null) this.#replayBuffer.continueAt(received);
    this.#openedAtMs = performance.now();
    for (const outgoing of this.#replayBuffer.after(received)) this.#transmit(outgoing, true);
    this.#setState("open");
  }

  #refused({ retryable }: AgentErrorEvent): void {
    if (retryable) return this.#tryAgain();
    this.#line?.abandon();
    this.#end({ code: REFUSED, reason: "", expected: false, instead: "refused" });
  }

  // -- sent -----------------------------------------------------------------------------------------------------------

  #sendIfOpen(outgoing: Outgoing): void {
    if (this.#state === "open") this.#transmit(outgoing, false);
  }

  #transmit(outgoing: Outgoing, again: boolean): void {
    this.#line?.send(outgoing, again);
    if (outgoing.kind === "control") this.emit("sent", outgoing.event);
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

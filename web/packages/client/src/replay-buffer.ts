/**
 * What the client sent, in order and with its place in the stream of speech: kept for as long as another socket may have
 * to repeat it. Pure.
 */

import type { ClientEvent } from "./protocol.generated.ts";

/** How much of an item was played. */
export interface Played {
  readonly itemId: string;
  readonly playedMs: number;
}

export interface Speech {
  readonly kind: "speech";
  /** Samples of the client's stream before this frame. */
  readonly offset: number;
  readonly pcm: Int16Array<ArrayBuffer>;
  /** The position of playback at its recording, where that was new. */
  readonly played: Played | null;
  /** Whether it was written to a socket; it may not have arrived. */
  sent: boolean;
}

export interface Control {
  readonly kind: "control";
  /** Samples of the client's stream before this event. */
  readonly place: number;
  readonly event: ClientEvent;
  sent: boolean;
}

export type Outgoing = Speech | Control;

export class ReplayBuffer {
  readonly #keepSamples: number;
  readonly #keepEvents: number;
  #entries: Outgoing[] = [];
  #events = 0;
  #next = 0;
  #received = 0;

  /** Keeps the last `keepSamples` of speech and the last `keepEvents` events that may not have arrived. */
  constructor(keepSamples: number, keepEvents: number) {
    this.#keepSamples = keepSamples;
    this.#keepEvents = keepEvents;
  }

  /** Samples of the stream so far: the offset of the next frame. */
  get nextOffset(): number {
    return this.#next;
  }

  /** The offset up to which the server has received everything. */
  get receivedOffset(): number {
    return this.#received;
  }

  /** Appends `pcm` to the stream and forgets older speech than the limit. */
  speech(pcm: Int16Array<ArrayBuffer>, played: Played | null): Speech {
    const speech: Speech = { kind: "speech", offset: this.#next, pcm, played, sent: false };
    this.#entries.push(speech);
    this.#next += pcm.length;
    const oldest = this.#next - this.#keepSamples;
    // Events before it stay: they are few, and typed text must not be lost with a long silence.
    let at = 0;
    while (isControl(this.#entries[at]) || endOf(this.#entries[at]) <= oldest) {
      if (isControl(this.#entries[at])) at += 1;
      else this.#entries.splice(at, 1);
    }
    return speech;
  }

  /** Appends an event. Of several positions of one item in a row it keeps the last. */
  event(event: ClientEvent): Control {
    const control: Control = { kind: "control", place: this.#next, event, sent: false };
    const last = this.#entries.at(-1);
    if (last?.kind === "control" && isNewerPosition(last.event, event)) {
      this.#entries[this.#entries.length - 1] = control;
      return control;
    }
    this.#entries.push(control);
    if (++this.#events > this.#keepEvents) {
      this.#entries.splice(this.#entries.findIndex(isControl), 1);
      this.#events -= 1;
    }
    return control;
  }

  /**
   * Notes that the server has all speech before `offset`, and so the events before that. They are kept as long as speech
   * is: a killed server has not stored everything that it received.
   */
  acknowledge(offset: number): void {
    this.#received = Math.max(this.#received, offset);
    const settled = this.#received - this.#keepSamples;
    this.#entries = this.#entries.filter((one) => one.kind === "speech" || !one.sent || one.place >= settled);
    this.#events = this.#entries.filter(isControl).length;
  }

  /** Continues at the server's offset, after a reload of the page. */
  continueAt(offset: number): void {
    this.#next = Math.max(this.#next, offset);
  }

  /**
   * What to send on a new socket, in order: the speech from sample `received` on, and all events that may not have
   * arrived, of which the server takes each once. `received` null: repeats no speech.
   */
  after(received: number | null): Outgoing[] {
    return this.#entries.filter(
      (one) => one.kind === "control" || !one.sent || (received !== null && endOf(one) > received),
    );
  }
}

function isControl(outgoing: Outgoing | undefined): boolean {
  return outgoing?.kind === "control";
}

/** The end of a frame of speech; Infinity for everything else. */
function endOf(outgoing: Outgoing | undefined): number {
  return outgoing?.kind === "speech" ? outgoing.offset + outgoing.pcm.length : Infinity;
}

function isNewerPosition(old: ClientEvent, event: ClientEvent): boolean {
  if (old.type !== "client_playback_ack" || event.type !== "client_playback_ack") return false;
  return old.item_id === event.item_id && old.flushed !== true;
}

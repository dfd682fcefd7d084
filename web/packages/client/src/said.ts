/**
 * What this side said, in its order and with its place in the stream of speech: kept for as long as it may have to be
 * said again on another socket. Pure.
 */

import type { ClientEvent } from "./protocol.generated.ts";

/** How much of an item was heard. */
export interface Played {
  readonly itemId: string;
  readonly playedMs: number;
}

export interface Speech {
  readonly kind: "speech";
  /** Samples of the client's stream before this frame. */
  readonly offset: number;
  readonly pcm: Int16Array<ArrayBuffer>;
  /** What had been played when it was recorded, where that was new. */
  readonly played: Played | null;
  /** It went into a socket, which is not to say that it arrived. */
  sent: boolean;
}

export interface Control {
  readonly kind: "control";
  /** Samples of the client's stream before this event. */
  readonly place: number;
  readonly event: ClientEvent;
  sent: boolean;
}

export type Said = Speech | Control;

export class SaidLog {
  readonly #keepSamples: number;
  readonly #keepEvents: number;
  #entries: Said[] = [];
  #events = 0;
  #next = 0;
  #received = 0;

  /** Keeps the last `keepSamples` of speech and, of the events that may not have arrived, the last `keepEvents`. */
  constructor(keepSamples: number, keepEvents: number) {
    this.#keepSamples = keepSamples;
    this.#keepEvents = keepEvents;
  }

  /** Samples of the stream so far: the offset of the next frame. */
  get nextOffset(): number {
    return this.#next;
  }

  /** The offset up to which the server has said it got everything. */
  get receivedOffset(): number {
    return this.#received;
  }

  /** Places `pcm` at the end of the stream and forgets what is older than the limit. */
  speech(pcm: Int16Array<ArrayBuffer>, played: Played | null): Speech {
    const speech: Speech = { kind: "speech", offset: this.#next, pcm, played, sent: false };
    this.#entries.push(speech);
    this.#next += pcm.length;
    const oldest = this.#next - this.#keepSamples;
    // Events in front of it stay: they are few, and what somebody typed must not be lost with a long silence.
    let at = 0;
    while (isControl(this.#entries[at]) || endOf(this.#entries[at]) <= oldest) {
      if (isControl(this.#entries[at])) at += 1;
      else this.#entries.splice(at, 1);
    }
    return speech;
  }

  /** Places an event behind the speech so far. Of several positions of one item in a row the last is kept. */
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
   * The server has all speech before `offset`, and so the events that were said before the end of that. They are kept as
   * long as speech is: a server that is killed has not stored all that it has.
   */
  acknowledge(offset: number): void {
    this.#received = Math.max(this.#received, offset);
    const settled = this.#received - this.#keepSamples;
    this.#entries = this.#entries.filter((said) => said.kind === "speech" || !said.sent || said.place >= settled);
    this.#events = this.#entries.filter(isControl).length;
  }

  /** A page that was reloaded goes on where the server's count is. */
  goOnAt(offset: number): void {
    this.#next = Math.max(this.#next, offset);
  }

  /**
   * What to say on a new socket, in the order in which it was said: the speech from sample `received` on, and all events
   * that may not have arrived, of which the server takes each once. `received` null: no speech twice.
   */
  again(received: number | null): Said[] {
    return this.#entries.filter(
      (said) => said.kind === "control" || !said.sent || (received !== null && endOf(said) > received),
    );
  }
}

function isControl(said: Said | undefined): boolean {
  return said?.kind === "control";
}

/** Where a frame ends; beyond everything for what is no frame. */
function endOf(said: Said | undefined): number {
  return said?.kind === "speech" ? said.offset + said.pcm.length : Infinity;
}

function isNewerPosition(old: ClientEvent, event: ClientEvent): boolean {
  if (old.type !== "client_playback_ack" || event.type !== "client_playback_ack") return false;
  return old.item_id === event.item_id && old.flushed !== true;
}

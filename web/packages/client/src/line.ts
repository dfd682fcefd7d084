/** One socket of a call: sends in order without filling the browser's buffer, and reports its loss once. */

import { FLAG_PLAYED, KIND_CLIENT_AUDIO, encodeAudioFrame } from "./frames.ts";
import { Outbox } from "./outbox.ts";
import type { ClientEvent } from "./protocol.generated.ts";
import type { Outgoing, Speech } from "./replay-buffer.ts";

export const SUBPROTOCOL = "realtime.v1";

/** While more than this waits in the socket, frames wait here: 1 s of speech at 16 kHz. */
const HIGH_WATER_BYTES = 32_000;
/** At most this many frames of speech wait: 2 s of 20 ms each. Older speech would come too late. */
const MAX_WAITING_FRAMES = 100;
/** How often a full socket is polled: browsers report no drain. */
const DRAIN_INTERVAL_MS = 20;

export interface LineEnds {
  opened(): void;
  received(data: string | ArrayBuffer): void;
  /** The socket closed, or never opened. Not called for an abandoned line. */
  lost(code: number, reason: string): void;
}

export class Line {
  readonly #socket: WebSocket;
  readonly #outbox = new Outbox(MAX_WAITING_FRAMES);
  /** By item id: its number on this socket. */
  readonly #indexOfItem = new Map<string, number>();
  #drainTimer: ReturnType<typeof setTimeout> | undefined;
  #opened = false;

  constructor(url: string, ends: LineEnds) {
    const socket = new WebSocket(url, SUBPROTOCOL);
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.#opened = true;
      ends.opened();
    };
    socket.onmessage = (message: MessageEvent<string | ArrayBuffer>) => ends.received(message.data);
    socket.onclose = ({ code, reason }) => {
      clearTimeout(this.#drainTimer);
      ends.lost(code, reason);
    };
  }

  /** Whether the socket ever opened. */
  get opened(): boolean {
    return this.#opened;
  }

  get droppedFrames(): number {
    return this.#outbox.droppedFrames;
  }

  /** Notes the server's number for an item on this socket. */
  introduce(itemId: string, itemIndex: number): void {
    this.#indexOfItem.set(itemId, itemIndex);
  }

  /** Sends in order. `again`: see `Outbox.push`. */
  send(outgoing: Outgoing, again = false): void {
    this.#outbox.push(outgoing, again);
    this.#drain();
  }

  /** Writes an event of this socket alone, at once. */
  write(event: ClientEvent): void {
    this.#socket.send(JSON.stringify(event));
  }

  /** Sends everything that waits, then closes. */
  close(code: number, reason: string): void {
    if (this.#opened) while (this.#outbox.length > 0) this.#transmit();
    this.#socket.close(code, reason);
  }

  /** Closes the socket and ignores what it still receives. */
  abandon(): void {
    clearTimeout(this.#drainTimer);
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    // 1000 would end the call.
    this.#socket.close(4001, "lost");
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
    const outgoing = this.#outbox.shift();
    if (!outgoing) return;
    outgoing.sent = true;
    if (outgoing.kind === "control") this.write(outgoing.event);
    else this.#socket.send(this.#encode(outgoing));
  }

  /** A played item without a number on this socket is acknowledged by an event before the frame. */
  #encode({ offset, pcm, played }: Speech): ArrayBuffer {
    const frame = { kind: KIND_CLIENT_AUDIO, flags: 0, stream: 0, itemIndex: 0, sampleOffset: offset, pcm };
    if (!played) return encodeAudioFrame(frame);
    const { itemId, playedMs } = played;
    const itemIndex = this.#indexOfItem.get(itemId);
    if (itemIndex !== undefined) return encodeAudioFrame({ ...frame, itemIndex, playedMs, flags: FLAG_PLAYED });
    this.write({ type: "client_playback_ack", item_id: itemId, played_ms: playedMs });
    return encodeAudioFrame(frame);
  }
}

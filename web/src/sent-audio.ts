/** The audio sent in the last seconds, with its place in the stream, for sending again after a drop. Pure. */

export interface SentFrame {
  /** Samples of the client's stream before this frame. */
  offset: number;
  pcm: Int16Array<ArrayBuffer>;
}

export class SentAudio {
  readonly #keepSamples: number;
  #frames: SentFrame[] = [];
  #next = 0;
  #received = 0;

  constructor(keepSamples: number) {
    this.#keepSamples = keepSamples;
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
  add(pcm: Int16Array<ArrayBuffer>): SentFrame {
    const frame = { offset: this.#next, pcm };
    this.#frames.push(frame);
    this.#next += pcm.length;
    const oldest = this.#next - this.#keepSamples;
    let old = 0;
    while (old < this.#frames.length && endOf(this.#frames[old] as SentFrame) <= oldest) old += 1;
    if (old > 0) this.#frames.splice(0, old);
    return frame;
  }

  /** The server has everything before `offset`. */
  acknowledge(offset: number): void {
    this.#received = Math.max(this.#received, offset);
  }

  /** The kept frames that hold a sample at or after `offset`, oldest first. */
  from(offset: number): SentFrame[] {
    return this.#frames.filter((frame) => endOf(frame) > offset);
  }
}

function endOf(frame: SentFrame): number {
  return frame.offset + frame.pcm.length;
}

/** Frames that wait because the socket is behind. Bounded: the oldest audio is dropped, control never. Pure. */

export type Outgoing = { kind: "control"; data: string } | { kind: "audio"; data: ArrayBuffer };

export class Outbox {
  readonly #maxAudioFrames: number;
  #waiting: Outgoing[] = [];
  #audioFrames = 0;
  #dropped = 0;

  constructor(maxAudioFrames: number) {
    this.#maxAudioFrames = maxAudioFrames;
  }

  get length(): number {
    return this.#waiting.length;
  }

  get droppedFrames(): number {
    return this.#dropped;
  }

  push(frame: Outgoing): void {
    this.#waiting.push(frame);
    if (frame.kind === "audio" && ++this.#audioFrames > this.#maxAudioFrames) {
      this.#waiting.splice(this.#waiting.findIndex((waiting) => waiting.kind === "audio"), 1);
      this.#audioFrames -= 1;
      this.#dropped += 1;
    }
  }

  shift(): Outgoing | undefined {
    const frame = this.#waiting.shift();
    if (frame?.kind === "audio") this.#audioFrames -= 1;
    return frame;
  }

  clear(): void {
    this.#waiting = [];
    this.#audioFrames = 0;
  }
}

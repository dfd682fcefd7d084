/** What waits for a slow socket. Bounded: the oldest speech is dropped, events never. Pure. */

import type { Outgoing } from "./replay-buffer.ts";

interface Waiting {
  readonly entry: Outgoing;
  readonly bounded: boolean;
}

export class Outbox {
  readonly #maxSpeechFrames: number;
  #waiting: Waiting[] = [];
  #boundedFrames = 0;
  #dropped = 0;

  constructor(maxSpeechFrames: number) {
    this.#maxSpeechFrames = maxSpeechFrames;
  }

  get length(): number {
    return this.#waiting.length;
  }

  get droppedFrames(): number {
    return this.#dropped;
  }

  /** `again`: it is repeated after a lost socket, and not dropped for being late. */
  push(outgoing: Outgoing, again = false): void {
    const bounded = outgoing.kind === "speech" && !again;
    this.#waiting.push({ entry: outgoing, bounded });
    if (bounded && ++this.#boundedFrames > this.#maxSpeechFrames) {
      this.#waiting.splice(this.#waiting.findIndex((waiting) => waiting.bounded), 1);
      this.#boundedFrames -= 1;
      this.#dropped += 1;
    }
  }

  shift(): Outgoing | undefined {
    const first = this.#waiting.shift();
    if (first?.bounded) this.#boundedFrames -= 1;
    return first?.entry;
  }
}

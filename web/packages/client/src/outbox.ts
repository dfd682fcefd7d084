/** What waits for a slow socket. Bounded: the oldest speech is dropped, events never. Pure. */

import type { Said } from "./said.ts";

interface Waiting {
  readonly said: Said;
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
  push(said: Said, again = false): void {
    const bounded = said.kind === "speech" && !again;
    this.#waiting.push({ said, bounded });
    if (bounded && ++this.#boundedFrames > this.#maxSpeechFrames) {
      this.#waiting.splice(this.#waiting.findIndex((waiting) => waiting.bounded), 1);
      this.#boundedFrames -= 1;
      this.#dropped += 1;
    }
  }

  shift(): Said | undefined {
    const first = this.#waiting.shift();
    if (first?.bounded) this.#boundedFrames -= 1;
    return first?.said;
  }
}

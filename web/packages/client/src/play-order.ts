/**
 * Plays one item at a time, in the order in which items began: two that arrive interleaved (two responses at once) are
 * played one after the other. Pure.
 */

export interface PlayOrderTarget {
  push(slot: number, pcm: Int16Array<ArrayBuffer>): void;
  end(slot: number): void;
}

interface Waiting {
  readonly slot: number;
  chunks: Int16Array<ArrayBuffer>[];
  ended: boolean;
}

export class PlayOrder {
  readonly #target: PlayOrderTarget;
  /** The first one plays, the others wait. */
  #items: Waiting[] = [];

  constructor(target: PlayOrderTarget) {
    this.#target = target;
  }

  push(slot: number, pcm: Int16Array<ArrayBuffer>): void {
    const item = this.#item(slot);
    if (item === this.#items[0]) this.#target.push(slot, pcm);
    else item.chunks.push(pcm);
  }

  end(slot: number): void {
    this.#item(slot).ended = true;
    this.#advance();
  }

  /** The first item ran dry: the next one plays, so that a missing end does not block it. */
  starved(): void {
    if (this.#items.length < 2) return;
    const [first] = this.#items.splice(0, 1);
    this.#begin();
    // If more of the item comes, it queues again.
    if (first && !first.ended) this.#items.push({ slot: first.slot, chunks: [], ended: false });
    this.#advance();
  }

  /** Forgets a slot, or all (null), and its waiting audio. */
  drop(slot: number | null): void {
    const first = this.#items[0];
    this.#items = slot === null ? [] : this.#items.filter((item) => item.slot !== slot);
    if (this.#items[0] !== first) this.#begin();
    this.#advance();
  }

  #item(slot: number): Waiting {
    let item = this.#items.find((candidate) => candidate.slot === slot);
    if (!item) this.#items.push((item = { slot, chunks: [], ended: false }));
    return item;
  }

  #advance(): void {
    while (this.#items[0]?.ended) {
      this.#target.end(this.#items[0].slot);
      this.#items.shift();
      this.#begin();
    }
  }

  /** Plays what the new first item has collected. */
  #begin(): void {
    const item = this.#items[0];
    if (!item) return;
    for (const chunk of item.chunks) this.#target.push(item.slot, chunk);
    item.chunks = [];
  }
}

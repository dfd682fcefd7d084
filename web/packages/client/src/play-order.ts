/**
 * Lets one item's audio through at a time, in the order in which items began: two that arrive interleaved (two responses
 * at once) are heard one after the other. Pure.
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
  /** The first one is let through, the others wait. */
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

  /** The first item ran dry. Where another one waits, it goes on: an end that never comes must not hold it up. */
  starved(): void {
    if (this.#items.length < 2) return;
    const [first] = this.#items.splice(0, 1);
    this.#begin();
    // Should it go on after all, it stands in line again.
    if (first && !first.ended) this.#items.push({ slot: first.slot, chunks: [], ended: false });
    this.#advance();
  }

  /** Forgets a slot, or all (null), with what waits of it. */
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

  /** Lets through what the item that is now first has collected. */
  #begin(): void {
    const item = this.#items[0];
    if (!item) return;
    for (const chunk of item.chunks) this.#target.push(item.slot, chunk);
    item.chunks = [];
  }
}

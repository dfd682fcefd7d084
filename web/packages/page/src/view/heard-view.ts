/**
 * Paints the words that were not heard yet grey.
 *
 * They are ranges of the browser's highlight registry (`::highlight(ahead)`), so the captions do not change while a
 * voice moves through them: no screen reader reads them twice, and no selection is lost. An older browser shows all
 * words alike.
 */

import type { Bubble } from "../captions.ts";

export class HeardView {
  readonly #box: Element;
  readonly #ahead = typeof Highlight === "undefined" ? null : new Highlight();
  /** The element of the words of each bubble that is painted. */
  readonly #words = new Map<string, Element>();

  constructor(box: Element) {
    this.#box = box;
    if (this.#ahead) CSS.highlights.set("ahead", this.#ahead);
  }

  /** `heard` is how many characters of a bubble's words were heard; null: all. */
  render(bubbles: readonly Bubble[], heard: (bubble: Bubble) => number | null): void {
    if (!this.#ahead) return;
    this.#ahead.clear();
    const spoken = new Set<string>();
    for (const bubble of bubbles) {
      if (bubble.side !== "agent" || bubble.status === "cut" || bubble.status === "deleted") continue;
      const from = heard(bubble);
      if (from === null || from >= bubble.text.length) continue;
      spoken.add(bubble.id);
      const text = this.#wordsOf(bubble.id)?.firstChild;
      if (text?.nodeType !== Node.TEXT_NODE || (text.nodeValue?.length ?? 0) < bubble.text.length) continue;
      const range = new Range();
      range.setStart(text, from);
      range.setEnd(text, bubble.text.length);
      this.#ahead.add(range);
    }
    for (const id of this.#words.keys()) if (!spoken.has(id)) this.#words.delete(id);
  }

  #wordsOf(id: string): Element | undefined {
    let found = this.#words.get(id);
    if (!found) {
      found = this.#box.querySelector(`.bubble[data-id="${CSS.escape(id)}"] .words`) ?? undefined;
      if (found) this.#words.set(id, found);
    }
    return found;
  }
}

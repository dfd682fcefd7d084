/** How long each answer of the call was waited for, as a line; hidden before the first. */

import { sayWait } from "../latency/texts.ts";
import { waitLine } from "../latency/wait-line.ts";
import type { Wait } from "../latency/waterfall.ts";
import { inMs } from "../latency/words.ts";
import { make, setText } from "./elements.ts";

export class WaitsView {
  readonly #box: HTMLDetailsElement;
  readonly #title = make("span");
  readonly #latest = make("span", "latest");
  readonly #inside = make("div", "inside");
  #shown: Readonly<Record<string, Wait>> | null = null;

  constructor(box: HTMLDetailsElement) {
    this.#box = box;
    box.append(make("summary", "", this.#title, " ", this.#latest), this.#inside);
    box.addEventListener("toggle", () => this.#draw());
  }

  /** `latencies` in the order of the answers. */
  render(latencies: Readonly<Record<string, Wait>>): void {
    if (latencies === this.#shown) return;
    this.#shown = latencies;
    this.#draw();
  }

  /** Writes what the language changes. */
  writeTexts(): void {
    this.#draw();
  }

  #draw(): void {
    const waits = Object.values(this.#shown ?? {}).flatMap(({ totalMs, estimated }, place) =>
      totalMs === null ? [] : [{ turn: place + 1, ms: totalMs, estimated }],
    );
    const last = waits.at(-1);
    this.#box.hidden = !last;
    setText(this.#title, sayWait("wait.title"));
    setText(this.#latest, last ? sayWait("wait.last", { ms: inMs(last.ms) }) : "");
    if (this.#box.open && last) this.#inside.replaceChildren(waitLine(waits));
  }
}

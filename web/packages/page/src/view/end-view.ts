/** What is there after a call: its length, where it can be read, and another call. */

import type { CallLinks } from "../call-links.ts";
import { say } from "../texts.ts";
import { lengthWords } from "../words.ts";
import { byId, setText } from "./elements.ts";

export class EndView {
  readonly #root = byId("ended", HTMLElement);
  readonly #length = byId("ended-length", HTMLElement);
  readonly #report = byId("ended-report", HTMLAnchorElement);
  readonly #transcript = byId("ended-transcript", HTMLAnchorElement);
  readonly #unkept = byId("ended-unkept", HTMLElement);
  #lengthMs = 0;

  constructor(onAgain: () => void) {
    byId("ended-again", HTMLButtonElement).addEventListener("click", onAgain);
  }

  /** Shows a call that is over; where it can be read is said by `link`. */
  show(lengthMs: number): void {
    this.#lengthMs = lengthMs;
    this.writeTexts();
    for (const part of [this.#report, this.#transcript, this.#unkept]) part.hidden = true;
    this.#root.hidden = false;
  }

  /** `links` is null where the server keeps nothing of the call. */
  link(links: CallLinks | null): void {
    this.#unkept.hidden = links !== null;
    this.#transcript.hidden = links === null;
    this.#report.hidden = !links?.report;
    if (!links) return;
    this.#transcript.href = links.transcript;
    if (links.report) this.#report.href = links.report;
  }

  hide(): void {
    this.#root.hidden = true;
  }

  writeTexts(): void {
    setText(this.#length, say("end.length", { length: lengthWords(this.#lengthMs) }));
  }
}

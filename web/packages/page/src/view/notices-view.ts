/** Shows what went wrong and what to do; each notice can be closed. */

import type { Notice } from "../words.ts";
import { say } from "../texts.ts";
import { make } from "./elements.ts";

export class NoticesView {
  readonly #box: HTMLElement;

  constructor(box: HTMLElement) {
    this.#box = box;
  }

  /** Shows a notice under `key`; a newer one with that key replaces it. */
  show(key: string, { what, todo }: Notice, tone: "problem" | "hint" = "problem"): void {
    this.remove(key);
    const root = make("div", `notice ${tone}`);
    root.dataset["key"] = key;
    const close = make("button", "close", "×");
    close.type = "button";
    close.setAttribute("aria-label", say("notice.close"));
    close.addEventListener("click", () => root.remove());
    const words = make("p", "");
    words.dir = "auto";
    words.append(make("strong", "", what), ` ${todo}`);
    root.append(words, close);
    this.#box.append(root);
  }

  remove(key: string): void {
    for (const notice of this.#box.querySelectorAll<HTMLElement>(".notice")) {
      if (notice.dataset["key"] === key) notice.remove();
    }
  }

  get texts(): string[] {
    return [...this.#box.querySelectorAll(".notice p")].map((notice) => notice.textContent ?? "");
  }
}

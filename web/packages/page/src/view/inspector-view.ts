/** Lists the events of a call; a click shows one as JSON. Draws only while it is open. */

import type { InspectorLog, LogEntry } from "../inspector-log.ts";
import { byId, keepAtEnd, make, setText } from "./elements.ts";

const MAX_ROWS = 500;

export class InspectorView {
  readonly #root = byId("inspector", HTMLDetailsElement);
  readonly #list = byId("events", HTMLOListElement);
  readonly #json = byId("event-json", HTMLPreElement);
  readonly #count = byId("event-count", HTMLSpanElement);
  readonly #audio = byId("show-audio", HTMLInputElement);
  readonly #toEnd = keepAtEnd(this.#list);
  readonly #log: InspectorLog;
  #drawn = -1;

  constructor(log: InspectorLog) {
    this.#log = log;
    this.#root.addEventListener("toggle", () => this.#redraw());
    this.#audio.addEventListener("change", () => this.#redraw());
    byId("clear-events", HTMLButtonElement).addEventListener("click", () => this.clear());
  }

  clear(): void {
    this.#log.clear();
    setText(this.#json, "Choose an event to see it.");
    this.#redraw();
  }

  /** Draws what is new. */
  render(): void {
    const entries = this.#log.entries;
    setText(this.#count, entries.length === 0 ? "" : String((entries.at(-1)?.number ?? 0) + 1));
    if (!this.#root.open) return;
    const fresh = entries.filter((entry) => entry.number > this.#drawn && (!entry.audio || this.#audio.checked));
    this.#drawn = entries.at(-1)?.number ?? this.#drawn;
    if (fresh.length === 0) return;
    this.#list.append(...fresh.map((entry) => this.#row(entry)));
    while (this.#list.childElementCount > MAX_ROWS) this.#list.firstElementChild?.remove();
    this.#toEnd();
  }

  #redraw(): void {
    this.#list.replaceChildren();
    this.#drawn = -1;
    this.render();
  }

  #row(entry: LogEntry): HTMLElement {
    const item = make("li", entry.direction);
    const button = make("button", "");
    button.type = "button";
    const arrow = make("span", "arrow", entry.direction === "in" ? "←" : "→");
    arrow.setAttribute("aria-label", entry.direction === "in" ? "received" : "sent");
    button.append(make("span", "at", `${(entry.atMs / 1000).toFixed(2)} s`), arrow, make("span", "type", entry.type));
    button.addEventListener("click", () => {
      this.#list.querySelector("[aria-current]")?.removeAttribute("aria-current");
      button.setAttribute("aria-current", "true");
      setText(this.#json, entry.json);
    });
    item.append(button);
    return item;
  }
}

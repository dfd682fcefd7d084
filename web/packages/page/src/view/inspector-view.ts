/** Lists the events of a call; a click shows one as JSON. Draws only while it is open. */

import { type Direction, type Filter, type InspectorLog, type LogEntry, passes } from "../inspector-log.ts";
import { say } from "../texts.ts";
import { byId, keepAtEnd, make, setText } from "./elements.ts";
import { download } from "./download.ts";

const MAX_ROWS = 500;
const FILE_NAME = "events.jsonl";

export class InspectorView {
  readonly #root = byId("inspector", HTMLDetailsElement);
  readonly #list = byId("events", HTMLOListElement);
  readonly #none = byId("no-events", HTMLParagraphElement);
  readonly #json = byId("event-json", HTMLPreElement);
  readonly #count = byId("event-count", HTMLSpanElement);
  readonly #audio = byId("show-audio", HTMLInputElement);
  readonly #search = byId("search-events", HTMLInputElement);
  readonly #direction = byId("event-direction", HTMLSelectElement);
  readonly #pause = byId("pause-events", HTMLButtonElement);
  readonly #toEnd = keepAtEnd(this.#list);
  readonly #log: InspectorLog;
  #drawn = -1;
  #isPaused = false;
  #hasChosen = false;

  constructor(log: InspectorLog) {
    this.#log = log;
    this.#root.addEventListener("toggle", () => this.#redraw());
    for (const control of [this.#audio, this.#direction]) control.addEventListener("change", () => this.#redraw());
    this.#search.addEventListener("input", () => this.#redraw());
    this.#pause.addEventListener("click", () => {
      this.#isPaused = !this.#isPaused;
      this.writeTexts();
      this.render();
    });
    byId("clear-events", HTMLButtonElement).addEventListener("click", () => this.clear());
    byId("download-events", HTMLButtonElement).addEventListener("click", () => {
      download(new Blob([this.#log.lines(this.#filter)], { type: "application/x-ndjson" }), FILE_NAME);
    });
  }

  clear(): void {
    this.#log.clear();
    this.#hasChosen = false;
    this.#redraw();
    this.writeTexts();
  }

  /** Writes what the language changes. */
  writeTexts(): void {
    setText(this.#pause, say(this.#isPaused ? "inspector.resume" : "inspector.pause"));
    this.#pause.setAttribute("aria-pressed", String(this.#isPaused));
    if (!this.#hasChosen) setText(this.#json, say("inspector.choose"));
  }

  /** Draws what is new. While it is paused, it only counts. */
  render(): void {
    const entries = this.#log.entries;
    setText(this.#count, entries.length === 0 ? "" : String((entries.at(-1)?.number ?? 0) + 1));
    if (!this.#root.open || this.#isPaused) return;
    const filter = this.#filter;
    const fresh = entries.filter((entry) => entry.number > this.#drawn && passes(entry, filter));
    this.#drawn = entries.at(-1)?.number ?? this.#drawn;
    if (fresh.length > 0) {
      this.#list.append(...fresh.slice(-MAX_ROWS).map((entry) => this.#row(entry)));
      while (this.#list.childElementCount > MAX_ROWS) this.#list.firstElementChild?.remove();
      this.#toEnd();
    }
    this.#none.hidden = this.#list.childElementCount > 0 || entries.length === 0;
  }

  get #filter(): Filter {
    const direction = this.#direction.value;
    return {
      direction: direction === "in" || direction === "out" ? (direction satisfies Direction) : null,
      audio: this.#audio.checked,
      search: this.#search.value,
    };
  }

  #redraw(): void {
    this.#list.replaceChildren();
    this.#drawn = -1;
    const wasPaused = this.#isPaused;
    this.#isPaused = false;
    this.render();
    this.#isPaused = wasPaused;
  }

  #row(entry: LogEntry): HTMLElement {
    const item = make("li", entry.direction);
    const button = make("button", "");
    button.type = "button";
    const arrow = make("span", "arrow", entry.direction === "in" ? "←" : "→");
    arrow.setAttribute("role", "img");
    arrow.setAttribute("aria-label", say(entry.direction === "in" ? "inspector.received" : "inspector.sent"));
    button.append(make("span", "at", `${(entry.atMs / 1000).toFixed(2)} s`), arrow, make("span", "type", entry.type));
    button.addEventListener("click", () => {
      this.#list.querySelector("[aria-current]")?.removeAttribute("aria-current");
      button.setAttribute("aria-current", "true");
      this.#hasChosen = true;
      setText(this.#json, entry.json);
    });
    item.append(button);
    return item;
  }
}

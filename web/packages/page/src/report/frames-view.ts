/** The frames on the wire: a long list, of which only the rows in sight are in the page, and the chosen frame. */

import { make } from "../view/elements.ts";
import type { Frame, Run } from "./data.ts";
import { card, clock, counted, pretty } from "./parts.ts";

const ROW_PX = 26;
const ALL = "all";

export class FramesView {
  readonly element: HTMLElement;
  readonly #run: Run;
  readonly #show: (ms: number) => void;
  readonly #rowsElement = make("div", "rows");
  readonly #list = make("div", "list", this.#rowsElement);
  readonly #json = make("pre", "json");
  readonly #count = make("span", "soft");
  readonly #search = make("input");
  readonly #sockets = make("select");
  #rows: readonly Frame[];
  #chosen = -1;

  /** `show` brings a time into sight elsewhere. */
  constructor(run: Run, show: (ms: number) => void) {
    this.#run = run;
    this.#show = show;
    this.#rows = run.frames;
    this.#list.id = "frames";
    this.#list.tabIndex = 0;
    this.#list.setAttribute("role", "listbox");
    this.#list.setAttribute("aria-label", "Frames on the wire");
    this.#json.id = "frame-json";
    this.#json.tabIndex = 0;
    this.#json.setAttribute("aria-live", "polite");
    this.#prepareSearch();
    this.#prepareSockets();
    const bar = make("div", "bar", this.#search, this.#sockets, make("span", "space"), this.#count);
    const isLog = run.frames[0]?.[1] === "log";
    this.element = card(isLog ? "Log" : "Frames on the wire", bar, make("div", "frames", this.#list, this.#json));
    if (isLog) bar.prepend(make("span", "soft", "This call has no frames: these are the events of its log."));
    this.#list.addEventListener("scroll", () => this.#draw());
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    this.#list.addEventListener("click", (event) => {
      const row = event.target instanceof Element ? event.target.closest("[data-place]") : null;
      if (row instanceof HTMLElement) this.#choose(Number(row.dataset["place"]));
    });
  }

  /** Call it once the element is in the page. */
  start(): void {
    this.#pick();
    new ResizeObserver(() => this.#draw()).observe(this.#list);
  }

  #prepareSearch(): void {
    this.#search.type = "search";
    this.#search.placeholder = "Find in frames";
    this.#search.setAttribute("aria-label", "Find in frames");
    this.#search.addEventListener("input", () => this.#pick());
  }

  #prepareSockets(): void {
    this.#sockets.setAttribute("aria-label", "Which socket");
    for (const socket of [ALL, ...new Set(this.#run.frames.map(socketOf))]) {
      const option = make("option", "", socket === ALL ? "All sockets" : socket);
      option.value = socket;
      this.#sockets.append(option);
    }
    this.#sockets.addEventListener("change", () => this.#pick());
  }

  /** Lists the frames of the chosen socket that hold the text of the search. */
  #pick(): void {
    const text = this.#search.value.toLowerCase();
    const socket = this.#sockets.value;
    this.#rows = this.#run.frames.filter(
      (frame) => (socket === ALL || socket === socketOf(frame)) && (!text || frame[5].toLowerCase().includes(text)),
    );
    this.#chosen = -1;
    this.#json.textContent = this.#rows.length ? "Choose a frame to see what is in it." : "No frame is like this.";
    const more = this.#run.frames_left_out ? `; ${this.#run.frames_left_out} later ones are left out` : "";
    this.#count.textContent = `${counted(this.#rows.length, "row")}${more}`;
    this.#rowsElement.style.height = `${this.#rows.length * ROW_PX}px`;
    this.#list.scrollTop = 0;
    this.#draw();
  }

  #draw(): void {
    const first = Math.max(0, Math.floor(this.#list.scrollTop / ROW_PX) - 8);
    const last = first + Math.ceil(this.#list.clientHeight / ROW_PX) + 16;
    this.#rowsElement.replaceChildren(
      ...this.#rows.slice(first, last).map((frame, index) => this.#row(frame, first + index)),
    );
  }

  #row([at, leg, direction, who, kind, , more]: Frame, place: number): HTMLElement {
    const arrow = make("span", "arrow", direction === "sent" ? "↓" : "↑");
    arrow.title = `${direction} by the server`;
    const made = make("div", `frame ${leg}`, make("span", "at", clock(at)), make("span", "leg", leg), arrow);
    made.append(make("span", "who", who), make("span", "kind", kind));
    if (more) made.append(make("span", "more", `and ${more} like it`));
    made.dataset["place"] = String(place);
    made.dataset["direction"] = direction;
    made.id = `frame-${place}`;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", String(place === this.#chosen));
    made.style.top = `${place * ROW_PX}px`;
    return made;
  }

  #choose(place: number): void {
    const frame = this.#rows[place];
    if (!frame) return;
    this.#chosen = place;
    const [at, leg, direction, who, , text, more, until] = frame;
    const about = `${clock(at)}, ${leg}, ${direction} by the server, ${who}`;
    const others = more ? `\n${more} more until ${clock(until)} differ from it in numbers and ids only` : "";
    this.#json.textContent = `${about}${others}\n\n${pretty(text)}`;
    this.#list.setAttribute("aria-activedescendant", `frame-${place}`);
    const top = place * ROW_PX;
    if (top < this.#list.scrollTop) this.#list.scrollTop = top;
    const below = top + ROW_PX - this.#list.clientHeight;
    if (below > this.#list.scrollTop) this.#list.scrollTop = below;
    this.#draw();
    this.#show(at);
  }

  #key(event: KeyboardEvent): void {
    const page = Math.floor(this.#list.clientHeight / ROW_PX);
    const last = this.#rows.length - 1;
    const places: Readonly<Record<string, number>> = {
      ArrowDown: this.#chosen + 1,
      ArrowUp: this.#chosen - 1,
      PageDown: this.#chosen + page,
      PageUp: this.#chosen - page,
      Home: 0,
      End: last,
    };
    const place = places[event.key];
    if (place === undefined) return;
    event.preventDefault();
    this.#choose(Math.min(Math.max(0, place), last));
  }
}

function socketOf([, leg, , who]: Frame): string {
  return `${leg}: ${who}`;
}

// @ts-check
// The frames on the wire: a long list of which only what is in sight is in the page, and the one that was chosen.

const ROW_PX = 26;

class Frames {
  /**
   * @param {Run} run
   * @param {(ms: number) => void} show
   */
  constructor(run, show) {
    this.run = run;
    this.show = show;
    this.chosen = -1;
    /** @type {Frame[]} */
    this.rows = run.frames;
    this.rowsElement = make("div", "rows");
    this.list = make("div", "list", this.rowsElement);
    this.list.id = "frames";
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Frames on the wire");
    this.json = make("pre", "json");
    this.json.id = "frame-json";
    this.json.tabIndex = 0;
    this.json.setAttribute("aria-live", "polite");
    this.count = make("span", "soft");
    const bar = make("div", "bar", this.filter(), this.leg(), make("span", "space"), this.count);
    const isLog = run.frames[0]?.[1] === "log";
    this.element = card(isLog ? "Log" : "Frames on the wire", bar, make("div", "frames", this.list, this.json));
    if (isLog) bar.prepend(make("span", "soft", "This call has no frames: these are the events of its log."));
    this.list.addEventListener("scroll", () => this.draw());
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => {
      const row = event.target instanceof Element ? event.target.closest("[data-place]") : null;
      if (row instanceof HTMLElement) this.choose(Number(row.dataset["place"]));
    });
  }

  /** Call once the element is in the page. */
  start() {
    this.pick();
    new ResizeObserver(() => this.draw()).observe(this.list);
  }

  filter() {
    this.search = make("input");
    this.search.type = "search";
    this.search.placeholder = "Find in frames";
    this.search.setAttribute("aria-label", "Find in frames");
    this.search.addEventListener("input", () => this.pick());
    return this.search;
  }

  leg() {
    this.legs = make("select");
    this.legs.setAttribute("aria-label", "Which socket");
    for (const leg of ["all", ...new Set(this.run.frames.map((frame) => `${frame[1]}: ${frame[3]}`))]) {
      const option = make("option", "", leg === "all" ? "All sockets" : leg);
      option.value = leg;
      this.legs.append(option);
    }
    this.legs.addEventListener("change", () => this.pick());
    return this.legs;
  }

  /** Take the frames that are wanted. */
  pick() {
    const text = this.search?.value.toLowerCase() ?? "";
    const leg = this.legs?.value ?? "all";
    this.rows = this.run.frames.filter(
      (frame) => (leg === "all" || leg === `${frame[1]}: ${frame[3]}`) && (!text || frame[5].toLowerCase().includes(text)),
    );
    this.chosen = -1;
    this.json.textContent = this.rows.length ? "Choose a frame to see what is in it." : "No frame is like this.";
    const more = this.run.frames_left_out ? `; ${this.run.frames_left_out} later ones are left out` : "";
    this.count.textContent = `${counted(this.rows.length, "row")}${more}`;
    this.rowsElement.style.height = `${this.rows.length * ROW_PX}px`;
    this.list.scrollTop = 0;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW_PX) - 8);
    const last = Math.min(this.rows.length, first + Math.ceil(this.list.clientHeight / ROW_PX) + 16);
    const shown = [];
    for (let place = first; place < last; place += 1) {
      const frame = this.rows[place];
      if (frame) shown.push(this.row(frame, place));
    }
    this.rowsElement.replaceChildren(...shown);
  }

  /**
   * @param {Frame} frame
   * @param {number} place
   */
  row([at, leg, direction, who, kind, , more], place) {
    const sent = direction === "sent";
    const arrow = make("span", "arrow", sent ? "↓" : "↑");
    arrow.title = `${direction} by the server`;
    const made = make("div", `frame ${leg}`, make("span", "at", clock(at)), make("span", "leg", leg), arrow);
    made.append(make("span", "who", who), make("span", "kind", kind));
    if (more) made.append(make("span", "more", `and ${more} like it`));
    made.dataset["place"] = String(place);
    made.dataset["direction"] = direction;
    made.id = `frame-${place}`;
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", String(place === this.chosen));
    made.style.top = `${place * ROW_PX}px`;
    return made;
  }

  /** @param {number} place */
  choose(place) {
    const frame = this.rows[place];
    if (!frame) return;
    this.chosen = place;
    const [at, leg, direction, who, , text, more, until] = frame;
    const about = `${clock(at)}, ${leg}, ${direction} by the server, ${who}`;
    const others = more ? `\n${more} more until ${clock(until)} differ from it in numbers and ids only` : "";
    this.json.textContent = `${about}${others}\n\n${pretty(text)}`;
    this.list.setAttribute("aria-activedescendant", `frame-${place}`);
    const top = place * ROW_PX;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    const below = top + ROW_PX - this.list.clientHeight;
    if (below > this.list.scrollTop) this.list.scrollTop = below;
    this.draw();
    this.show(at);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = Math.floor(this.list.clientHeight / ROW_PX);
    const steps = new Map([["ArrowDown", 1], ["ArrowUp", -1], ["PageDown", page], ["PageUp", -page]]);
    const step = steps.get(event.key);
    const place = event.key === "Home" ? 0 : event.key === "End" ? this.rows.length - 1 : this.chosen + (step ?? 0);
    if (step === undefined && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    this.choose(Math.min(Math.max(0, place), this.rows.length - 1));
  }
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

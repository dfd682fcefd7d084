/** The lanes of a call on one axis of time: sound, voice, captions, tools, floor, marks. Zooms, scrolls and plays. */

import { make } from "../view/elements.ts";
import type { Lane, Run } from "./data.ts";
import { button, bytesOf, card, clock, words } from "./parts.ts";

const MAX_PX_PER_S = 800;
const WAVE_PX = 52;
/** The width of a mark with its name. */
const PIN_PX = 84;
const TICKS_MS = [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000];

interface Wave {
  readonly canvas: HTMLCanvasElement;
  readonly peaks: Uint8Array;
}

/** A caption: spoken from `from` to `to`, the next one begins at `end`. */
interface Text {
  readonly element: HTMLElement;
  readonly from: number;
  readonly to: number;
  readonly end: number;
}

interface Pin {
  readonly element: HTMLElement;
  readonly at: number;
  /** When the next one stands; Infinity for the last. */
  readonly next: number;
}

export class Timeline {
  readonly element: HTMLElement;
  readonly #run: Run;
  readonly #openTool: (tool: number) => void;
  readonly #waves: Wave[] = [];
  readonly #texts: Text[] = [];
  readonly #captions: HTMLElement[] = [];
  readonly #pins: Pin[] = [];
  readonly #audio: HTMLAudioElement | null;
  readonly #readout = make("output", "readout", clock(0));
  readonly #ruler = make("canvas", "ruler");
  readonly #hair = make("i", "hair");
  readonly #head = make("i", "head");
  readonly #inner = make("div", "inner", this.#ruler, this.#hair, this.#head);
  readonly #scroller = make("div", "scroller", this.#inner);
  readonly #play = button("▶ Play", () => this.#toggle(), "play");
  #pxPerMs = 0.03;
  #frame = 0;

  /** `openTool` is called with the place of a tool in the run. */
  constructor(run: Run, openTool: (tool: number) => void) {
    this.#run = run;
    this.#openTool = openTool;
    this.#audio = run.audio
      ? new Audio(URL.createObjectURL(new Blob([bytesOf(run.audio)], { type: "audio/flac" })))
      : null;
    this.#head.hidden = true;
    this.#scroller.tabIndex = 0;
    this.#scroller.setAttribute("role", "group");
    this.#scroller.setAttribute("aria-label", "Lanes of the call. Arrows scroll, plus and minus zoom, 0 shows all.");
    this.#build();

    const tools = make("div", "bar", this.#play, this.#readout, make("span", "space"));
    if (!this.#audio) {
      const why = run.silent ? "The sound of this call is not known." : "The sound is left out: it is too long for one page.";
      this.#play.hidden = true;
      tools.append(make("span", "soft", why));
    }
    const zooms: [label: string, about: string, factor: number][] = [
      ["−", "Zoom out", 0.5],
      ["+", "Zoom in", 2],
      ["All", "Show all", 0],
    ];
    for (const [label, about, factor] of zooms) {
      const zoom = button(label, () => (factor ? this.#zoom(factor) : this.#fit()), "zoom");
      zoom.title = about;
      zoom.setAttribute("aria-label", about);
      tools.append(zoom);
    }
    this.element = card("Timeline", tools, this.#scroller, this.#legend());
    this.#listen();
  }

  /** Call it once the element is in the page. */
  start(): void {
    this.#fit(24 / 1_000);
    new ResizeObserver(() => this.#draw()).observe(this.#scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  /** Releases the sound. */
  stop(): void {
    this.#audio?.pause();
    if (this.#audio) URL.revokeObjectURL(this.#audio.src);
  }

  #build(): void {
    const run = this.#run;
    const top = make("div", "row pins");
    run.moments.forEach((moment, place) => {
      const about = [moment.what, moment.who, moment.text].filter(Boolean).join(" · ");
      const pin = make("div", "pin", make("span", "label", moment.what));
      pin.title = `${clock(moment.ts_ms)} ${about}`;
      pin.dataset["what"] = moment.what;
      this.#at(pin, moment.ts_ms);
      top.append(pin);
      this.#pins.push({ element: pin, at: moment.ts_ms, next: run.moments[place + 1]?.ts_ms ?? Infinity });
    });
    if (run.moments.length) this.#inner.append(top);
    if (run.floor.length) {
      const floor = make("div", "row floor");
      floor.append(make("span", "name", "Floor"));
      for (const span of run.floor) {
        floor.append(this.#block("span", span.who || "nobody", span.from_ms, span.to_ms, span.text));
      }
      this.#inner.append(floor);
    }
    for (const lane of run.lanes) this.#inner.append(this.#lane(lane));
  }

  #lane(lane: Lane): HTMLElement {
    const run = this.#run;
    const row = make("div", `row lane ${lane.kind}`);
    const canvas = make("canvas", "wave");
    row.append(make("span", "name", lane.speaker), canvas);
    this.#waves.push({ canvas, peaks: bytesOf(lane.peaks) });
    if (lane.kind === "human") {
      const strip = make("div", "strip");
      for (const [who, from, to, text, bargeIn] of run.script) {
        if (who !== lane.speaker) continue;
        const about = `${bargeIn ? "meant to interrupt" : "script"}: ${text || "speaks"}`;
        strip.append(this.#block("script", "", from, to, about));
      }
      for (const span of run.voice) {
        if (span.who === lane.speaker) strip.append(this.#block("voice", "", span.from_ms, span.to_ms, "voice"));
      }
      row.append(strip);
    }
    const said = run.captions
      .filter((caption) => caption.who === lane.speaker)
      .sort((one, other) => one.from_ms - other.from_ms);
    const captions = make("div", "captions");
    said.forEach((caption, place) => {
      const text = make("div", `caption ${caption.kind}`, words(caption));
      text.title = `${clock(caption.from_ms)} ${caption.heard}${caption.unheard ? ` [not heard: ${caption.unheard.trim()}]` : ""}`;
      this.#at(text, caption.from_ms);
      captions.append(text);
      const end = said[place + 1]?.from_ms ?? run.duration_ms;
      this.#texts.push({ element: text, from: caption.from_ms, to: caption.to_ms, end });
    });
    row.append(captions);
    this.#captions.push(captions);
    const uses = run.tools.flatMap((tool, place) => (tool.who === lane.speaker ? [{ tool, place }] : []));
    if (uses.length) {
      const tools = make("div", "tools");
      for (const { tool, place } of uses) {
        const made = button(tool.name, () => this.#openTool(place), "tool");
        made.dataset["state"] = tool.state;
        made.title = `${tool.name}(${tool.input}) → ${tool.state}`;
        this.#at(made, tool.from_ms, (tool.to_ms ?? run.duration_ms) - tool.from_ms);
        tools.append(made);
      }
      row.append(tools);
    }
    return row;
  }

  #block(className: string, text: string, from: number, to: number, about: string): HTMLElement {
    const made = make("span", className, text);
    made.title = `${clock(from)} to ${clock(to)} ${about}`;
    this.#at(made, from, to - from);
    return made;
  }

  /** Places an element on the axis, in ms: the style makes pixels of it. */
  #at(element: HTMLElement, from: number, length?: number): void {
    element.style.setProperty("--from", String(from));
    if (length !== undefined) element.style.setProperty("--for", String(Math.max(0, length)));
  }

  #legend(): HTMLElement {
    const made = make("p", "legend");
    const marks: [name: string, about: string][] = [
      ["voice", "a voice was noticed"],
      ["unheard", "words that nobody heard"],
    ];
    if (this.#run.script.length) marks.splice(1, 0, ["script", "a recording was played"]);
    for (const [name, about] of marks) {
      made.append(make("span", "entry", name === "unheard" ? make("del", "unheard", "abc") : make("i", name), about));
    }
    return made;
  }

  // -- moving ------------------------------------------------------------------------------------------------------

  get #width(): number {
    return this.#scroller.clientWidth;
  }

  /** Shows the whole call, or as much as fits with at least `least` pixels per ms. */
  #fit(least = 0): void {
    const all = (this.#width - 24) / Math.max(1_000, this.#run.duration_ms);
    this.#scale(Math.max(all, least), 0);
  }

  /** `x` is the pixel of the window that keeps its time. */
  #zoom(factor: number, x = this.#width / 2): void {
    this.#scale(this.#pxPerMs * factor, x);
  }

  #scale(pxPerMs: number, x: number): void {
    const least = (this.#width - 24) / Math.max(1_000, this.#run.duration_ms);
    const ms = (this.#scroller.scrollLeft + x) / this.#pxPerMs;
    this.#pxPerMs = Math.min(MAX_PX_PER_S / 1_000, Math.max(least, pxPerMs));
    this.#inner.style.setProperty("--scale", String(this.#pxPerMs));
    this.#inner.style.setProperty("--all", String(this.#run.duration_ms));
    for (const { element, from, to, end } of this.#texts) {
      const room = Math.max((Math.max(to, end) - from) * this.#pxPerMs - 6, 3);
      const spoken = Math.min(room, (to - from) * this.#pxPerMs);
      element.style.minWidth = `${spoken}px`;
      element.style.maxWidth = `${Math.min(room, Math.max(320, spoken))}px`;
      element.classList.toggle("narrow", room < 26);
    }
    const heights = this.#captions.map((row) => {
      const texts = [...row.children] as HTMLElement[];
      return Math.max(0, ...texts.map((text) => text.offsetHeight));
    });
    this.#captions.forEach((row, place) => (row.style.height = `${(heights[place] ?? 0) + 8}px`));
    for (const { element, at, next } of this.#pins) {
      const last = (this.#run.duration_ms - at) * this.#pxPerMs < PIN_PX;
      element.classList.toggle("last", last && next === Infinity);
      element.classList.toggle("tight", (next === Infinity ? false : last) || (next - at) * this.#pxPerMs < PIN_PX);
    }
    this.#scroller.scrollLeft = ms * this.#pxPerMs - x;
    this.#draw();
  }

  /** Brings a time into sight and marks it. */
  show(ms: number): void {
    const x = ms * this.#pxPerMs - this.#scroller.scrollLeft;
    if (x < 40 || x > this.#width - 40) this.#scroller.scrollLeft = ms * this.#pxPerMs - this.#width / 3;
    this.#point(ms);
  }

  #point(ms: number): void {
    const at = Math.min(Math.max(0, ms), this.#run.duration_ms);
    this.#at(this.#hair, at);
    this.#readout.textContent = clock(at);
  }

  #timeAt(event: MouseEvent): number {
    return (event.clientX - this.#scroller.getBoundingClientRect().left + this.#scroller.scrollLeft) / this.#pxPerMs;
  }

  #toggle(): void {
    if (!this.#audio) return;
    if (this.#audio.paused) void this.#audio.play();
    else this.#audio.pause();
  }

  #follow(): void {
    if (!this.#audio) return;
    const ms = this.#audio.currentTime * 1_000;
    this.#at(this.#head, ms);
    this.#head.hidden = false;
    if (!this.#audio.paused) {
      this.show(ms);
      requestAnimationFrame(() => this.#follow());
    }
  }

  #listen(): void {
    const [scroller, audio] = [this.#scroller, this.#audio];
    scroller.addEventListener("scroll", () => this.#draw());
    scroller.addEventListener("pointermove", (event) => this.#point(this.#timeAt(event)));
    scroller.addEventListener("click", (event) => {
      if (!audio || event.target instanceof HTMLButtonElement) return;
      audio.currentTime = Math.min(this.#timeAt(event), this.#run.duration_ms) / 1_000;
      this.#follow();
    });
    scroller.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.#zoom(2 ** (-event.deltaY / 200), event.clientX - scroller.getBoundingClientRect().left);
      },
      { passive: false },
    );
    scroller.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "+" || event.key === "=") this.#zoom(2);
      else if (event.key === "-") this.#zoom(0.5);
      else if (event.key === "0") this.#fit();
      else if (event.key === " " && event.target === scroller) this.#toggle();
      else return;
      event.preventDefault();
    });
    for (const name of ["play", "pause", "ended"]) {
      audio?.addEventListener(name, () => {
        this.#play.textContent = audio.paused ? "▶ Play" : "❚❚ Pause";
        this.#follow();
      });
    }
  }

  // -- drawing -----------------------------------------------------------------------------------------------------

  #draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => {
      this.#drawRuler();
      for (const wave of this.#waves) this.#drawWave(wave);
    });
  }

  /** The pen of a canvas, cleared and as wide as the window, in pixels of the page. */
  #clean(canvas: HTMLCanvasElement, height: number): CanvasRenderingContext2D | null {
    const ratio = devicePixelRatio || 1;
    const width = this.#width;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen?.scale(ratio, ratio);
    return pen;
  }

  #drawRuler(): void {
    const pen = this.#clean(this.#ruler, 24);
    if (!pen) return;
    const style = getComputedStyle(this.#ruler);
    const step = TICKS_MS.find((ms) => ms * this.#pxPerMs >= 64) ?? 600_000;
    const left = this.#scroller.scrollLeft;
    const digits = step >= 1_000 ? 0 : step >= 100 ? 1 : 2;
    pen.font = style.font;
    const last = Math.min(this.#run.duration_ms, (left + this.#width) / this.#pxPerMs);
    for (let ms = Math.floor(left / this.#pxPerMs / step) * step; ms <= last; ms += step) {
      const x = ms * this.#pxPerMs - left;
      pen.fillStyle = style.borderColor;
      pen.fillRect(x, 14, 1, 10);
      for (let part = 1; part < 5; part += 1) pen.fillRect(x + (part * step * this.#pxPerMs) / 5, 20, 1, 4);
      pen.fillStyle = style.color;
      pen.fillText(clock(ms, digits), x + 4, 13);
    }
  }

  #drawWave({ canvas, peaks }: Wave): void {
    const pen = this.#clean(canvas, WAVE_PX);
    if (!pen) return;
    const style = getComputedStyle(canvas);
    const left = this.#scroller.scrollLeft;
    const middle = WAVE_PX / 2;
    const end = Math.min(this.#width, this.#run.duration_ms * this.#pxPerMs - left);
    const perPx = 1 / (this.#pxPerMs * this.#run.step_ms);
    pen.fillStyle = style.borderColor;
    pen.fillRect(0, middle, end, 1);
    pen.fillStyle = style.color;
    for (let x = 0; x < end; x += 1) {
      const from = Math.floor((left + x) * perPx);
      const to = Math.max(from + 1, Math.floor((left + x + 1) * perPx));
      let loudest = 0;
      for (let place = from; place < to && place < peaks.length; place += 1) {
        loudest = Math.max(loudest, peaks[place] ?? 0);
      }
      // The bytes are roots of the amplitude. Kept a little flat, so that soft voices are seen beside loud ones.
      const height = (loudest / 255) ** 1.4 * (WAVE_PX - 4);
      if (height >= 1) pen.fillRect(x, middle - height / 2, 1, height);
    }
  }
}

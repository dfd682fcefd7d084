/**
 * Plays the sound of a recorded call in step with its words: the bubble and the word that sound are marked, and each
 * bubble plays its part.
 */

import type { Line } from "../call-reader.ts";
import { placeWords } from "../call-words.ts";
import type { MsgData } from "@realtime-voice/messages";
import { type Stretch, lineAt, portionAt, stretchOf, wordAt } from "../sound-lines.ts";
import { say } from "../texts.ts";
import { byId, make, setText } from "./elements.ts";

/** The stylesheet marks a word of this highlight. */
const SPOKEN = "spoken";
/** A part plays on for this long: its end is known to about this. */
const PART_TAIL_MS = 150;
/** How far an arrow key moves. */
const STEP_S = 5;

interface Heard {
  readonly root: HTMLElement;
  readonly button: HTMLButtonElement;
  readonly stretch: Stretch;
  /** The elements with the words of each item. */
  readonly words: ReadonlyMap<string, HTMLElement>;
}

export class SoundView {
  readonly #box: HTMLElement;
  readonly #audio: HTMLAudioElement;
  readonly #play: HTMLButtonElement;
  readonly #seek: HTMLInputElement;
  readonly #place: HTMLElement;
  readonly #byItem = new Map<string, Heard>();
  readonly #bubbles: Heard[] = [];
  #lines: readonly Line[] = [];
  #part: Stretch | null = null;
  #marked: Heard | null = null;

  /** `onTrouble` is called when the sound cannot be played. */
  constructor(onTrouble: () => void) {
    this.#box = byId("player", HTMLElement);
    this.#audio = byId("sound", HTMLAudioElement);
    this.#play = byId("play", HTMLButtonElement);
    this.#seek = byId("seek", HTMLInputElement);
    this.#place = byId("place", HTMLElement);
    const audio = this.#audio;
    this.#play.addEventListener("click", () => this.#toggle(null));
    this.#seek.addEventListener("input", () => {
      this.#part = null;
      audio.currentTime = this.#seek.valueAsNumber;
      this.#draw();
    });
    this.#seek.addEventListener("keydown", (event) => {
      const seconds = { ArrowLeft: -STEP_S, ArrowDown: -STEP_S, ArrowRight: STEP_S, ArrowUp: STEP_S }[event.key];
      if (seconds === undefined) return;
      event.preventDefault();
      this.#part = null;
      audio.currentTime = Math.max(0, audio.currentTime + seconds);
    });
    for (const type of ["play", "pause", "seeked", "timeupdate", "durationchange", "ended"]) {
      audio.addEventListener(type, () => this.#draw());
    }
    audio.addEventListener("play", () => requestAnimationFrame(() => this.#move()));
    audio.addEventListener("error", () => {
      if (audio.getAttribute("src") === null) return;
      this.hide();
      onTrouble();
    });
  }

  /** Shows the player and a button in each bubble that sounds. `bubbles` are the messages with their elements. */
  show(address: string, lines: readonly Line[], bubbles: Iterable<readonly [MsgData, HTMLElement]>): void {
    this.#lines = lines;
    for (const [msg, root] of bubbles) this.#follow(msg, root);
    this.#audio.src = address;
    this.#box.hidden = false;
    this.#draw();
  }

  hide(): void {
    this.#box.hidden = true;
    this.#audio.pause();
    this.#audio.removeAttribute("src");
    this.#mark(null, 0);
    for (const { button } of this.#bubbles) button.remove();
  }

  #follow(msg: MsgData, root: HTMLElement): void {
    const texts = msg.content.filter((block) => block.type === "text" && block.text !== "");
    const stretch = stretchOf(this.#lines, new Set(texts.map(({ id }) => id)));
    if (!stretch) return;
    const elements = root.querySelectorAll<HTMLElement>(":scope > .parts > .words");
    const words = new Map(texts.flatMap(({ id }, place) => (elements[place] ? [[id, elements[place]] as const] : [])));
    const button = make("button", "hear");
    button.type = "button";
    const heard: Heard = { root, button, stretch, words };
    this.#bubbles.push(heard);
    for (const { id } of texts) this.#byItem.set(id, heard);
    root.querySelector(".head")?.append(button);
    root.classList.add("sounds");
    button.addEventListener("click", () => this.#toggle(heard));
    root.addEventListener("click", ({ target }) => {
      const isSelecting = getSelection()?.isCollapsed === false;
      if (isSelecting || !(target instanceof Element) || target.closest("button, a, summary, input")) return;
      this.#toggle(heard);
    });
  }

  /** Plays a bubble's part, or all from here on; pauses where that plays already. */
  #toggle(heard: Heard | null): void {
    const stretch = heard?.stretch ?? null;
    if (!this.#audio.paused && (!stretch || this.#part === stretch)) {
      this.#audio.pause();
      return;
    }
    this.#part = stretch;
    if (stretch) this.#audio.currentTime = stretch.fromMs / 1000;
    else if (this.#audio.ended) this.#audio.currentTime = 0;
    // What goes wrong comes as an event as well.
    this.#audio.play().catch(() => undefined);
    this.#draw();
  }

  #move(): void {
    if (this.#audio.paused) return;
    if (this.#part && this.#nowMs >= this.#part.toMs + PART_TAIL_MS) this.#audio.pause();
    this.#mark(lineAt(this.#lines, this.#nowMs), this.#nowMs);
    requestAnimationFrame(() => this.#move());
  }

  get #nowMs(): number {
    return this.#audio.currentTime * 1000;
  }

  #draw(): void {
    const { paused, currentTime, duration } = this.#audio;
    const isPlaying = !paused;
    const whole = Number.isFinite(duration) ? duration : 0;
    const line = lineAt(this.#lines, this.#nowMs);
    this.#play.dataset["playing"] = String(isPlaying);
    this.#play.setAttribute("aria-label", say(isPlaying ? "call.pause" : "call.play"));
    this.#seek.max = String(whole);
    this.#seek.value = String(currentTime);
    this.#seek.style.setProperty("--done", `${whole > 0 ? (100 * currentTime) / whole : 0}%`);
    const place = `${placeWords(this.#nowMs)} / ${placeWords(whole * 1000)}`;
    this.#seek.setAttribute("aria-valuetext", line ? say("call.speaks", { place, who: line.who }) : place);
    setText(this.#place, place);
    this.#mark(isPlaying ? line : null, this.#nowMs);
    for (const heard of this.#bubbles) {
      const sounds = isPlaying && this.#part === heard.stretch;
      heard.button.dataset["playing"] = String(sounds);
      const place = placeWords(heard.stretch.fromMs);
      setText(heard.button, place);
      heard.button.setAttribute("aria-label", say(sounds ? "call.pauseAt" : "call.hear", { place }));
    }
  }

  /** Marks the bubble and the word of a line. */
  #mark(line: Line | null, nowMs: number): void {
    const heard = line ? (this.#byItem.get(line.item_id) ?? null) : null;
    if (heard !== this.#marked) {
      this.#marked?.root.removeAttribute("data-sounding");
      heard?.root.setAttribute("data-sounding", "true");
      // A part is where its reader is already.
      if (heard && !this.#part) heard.root.scrollIntoView({ block: "nearest" });
      this.#marked = heard;
    }
    // Older browsers mark the bubble only.
    if (!("highlights" in CSS)) return;
    const node = line ? heard?.words.get(line.item_id)?.firstChild : null;
    const place = line && node ? wordAt(node.textContent ?? "", portionAt(line, nowMs)) : null;
    if (!node || !place) {
      CSS.highlights.delete(SPOKEN);
      return;
    }
    const range = new Range();
    range.setStart(node, place[0]);
    range.setEnd(node, place[1]);
    CSS.highlights.set(SPOKEN, new Highlight(range));
  }
}

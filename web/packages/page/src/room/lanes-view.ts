/** One lane per participant: name, loudness, latest words, and a mark on the one who has the floor. */

import { KeyedList, type Row } from "../view/keyed-list.ts";
import { make, setText } from "../view/elements.ts";
import { say } from "../texts.ts";
import type { Hues } from "./hues.ts";
import { LevelHistory, STEP_MS, drawWaveform } from "./waveform.ts";

const STEPS = 80;

export interface Lane {
  readonly id: string;
  readonly name: string;
  readonly isMe: boolean;
  readonly isAgent: boolean;
  /** The name of an agent's voice, if it has one. */
  readonly voice: string | null;
  readonly hasFloor: boolean;
  readonly isAway: boolean;
  readonly isMuted: boolean;
  /** The activity in a word or two; may be empty. */
  readonly doing: string;
  /** Their latest words. */
  readonly words: string;
}

interface Drawn {
  readonly canvas: HTMLCanvasElement;
  readonly history: LevelHistory;
}

export class LanesView {
  readonly #list: KeyedList<Lane>;
  readonly #drawn = new Map<string, Drawn>();
  readonly #hues: Hues;
  readonly #still = window.matchMedia("(prefers-reduced-motion: reduce)");
  #steppedAtMs = 0;
  #moving = false;

  constructor(box: HTMLElement, hues: Hues) {
    this.#hues = hues;
    this.#list = new KeyedList<Lane>(
      box,
      ({ id }) => id,
      (lane) => this.#make(lane),
    );
    const redraw = (): void => this.#draw();
    new ResizeObserver(redraw).observe(box);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  render(lanes: readonly Lane[]): void {
    const here = new Set(lanes.map(({ id }) => id));
    for (const id of this.#drawn.keys()) if (!here.has(id)) this.#drawn.delete(id);
    this.#list.update(lanes);
    if (!this.#moving) this.#draw();
  }

  /** Notes a participant's loudness (RMS, 0..1). */
  tell(id: string, rms: number): void {
    const drawn = this.#drawn.get(id);
    if (!drawn) return;
    drawn.history.tell(rms, performance.now());
    if (this.#moving || rms === 0) return;
    this.#moving = true;
    this.#steppedAtMs = performance.now();
    requestAnimationFrame(() => this.#move());
  }

  /** Runs while any bar is visible. */
  #move(): void {
    const nowMs = performance.now();
    // A page in the background gets no frames: missed steps are skipped, not shown in slow motion.
    if (nowMs - this.#steppedAtMs > STEPS * STEP_MS) this.#steppedAtMs = nowMs - STEP_MS;
    while (nowMs - this.#steppedAtMs >= STEP_MS) {
      this.#steppedAtMs += STEP_MS;
      for (const { history } of this.#drawn.values()) history.step(nowMs);
    }
    this.#draw();
    this.#moving = [...this.#drawn.values()].some(({ history }) => !history.isFlat(nowMs));
    if (this.#moving) requestAnimationFrame(() => this.#move());
  }

  #draw(): void {
    for (const { canvas, history } of this.#drawn.values()) drawWaveform(canvas, history.levels, this.#still.matches);
  }

  #make({ id }: Lane): Row<Lane> {
    const root = make("li", "lane");
    const badge = make("span", "badge");
    badge.setAttribute("aria-hidden", "true");
    const who = make("div", "lane-who");
    const name = make("p", "lane-name");
    name.dir = "auto";
    const kind = make("p", "lane-kind");
    const what = make("span", "");
    const voice = make("span", "voice");
    kind.append(what, voice);
    who.append(name, kind);
    const canvas = make("canvas", "wave");
    canvas.setAttribute("aria-hidden", "true");
    const floor = make("p", "floor", say("room.hasFloor"));
    const doing = make("p", "doing");
    // Screen readers read the conversation instead.
    const words = make("p", "latest");
    words.setAttribute("aria-hidden", "true");
    words.dir = "auto";
    root.append(badge, who, floor, canvas, doing, words);
    this.#drawn.set(id, { canvas, history: new LevelHistory(STEPS) });
    return {
      root,
      update: (lane) => {
        Object.assign(root.dataset, {
          id: lane.id,
          hue: this.#hues.of(lane.name),
          floor: String(lane.hasFloor),
          away: String(lane.isAway),
          muted: String(lane.isMuted),
          kind: lane.isAgent ? "agent" : "human",
        });
        setText(badge, initialOf(lane.name));
        setText(name, lane.isMe ? say("room.you", { name: lane.name }) : lane.name);
        setText(what, say(lane.isAgent ? "bubble.agent" : "room.human"));
        setText(voice, lane.voice === null ? "" : ` · ${lane.voice}`);
        floor.hidden = !lane.hasFloor;
        setText(doing, lane.doing);
        setText(words, lane.words);
      },
    };
  }
}

function initialOf(name: string): string {
  const [first] = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(name);
  return (first?.segment ?? "?").toLocaleUpperCase();
}

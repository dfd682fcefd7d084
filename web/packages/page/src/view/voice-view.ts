/**
 * The voices as a ring of rays around the round button: the newest loudness at the bottom, older ones further up.
 *
 * It draws what microphone and reply really were, at most 30 times a second, and only while there is something to
 * see: silence stops it. While it draws it makes no objects. Whoever wants less motion or forced colours sees the two
 * plain meters of the page instead, which this also moves.
 */

import { meterLevel } from "@realtime-voice/client";

const RAYS = 48;
/** Rays on each side of the ring. */
const HISTORY = RAYS / 2 + 1;
const STEP_MS = 33;
/** How fast a ray falls back when nothing new is heard, per step. */
const FALL = 0.82;
const QUIET = 0.012;
const INNER = 0.66;

type Side = "user" | "agent";

export class VoiceView {
  readonly #canvas: HTMLCanvasElement;
  readonly #pen: CanvasRenderingContext2D | null;
  readonly #meters: Record<Side, HTMLElement>;
  readonly #calm = matchMedia("(prefers-reduced-motion: reduce), (forced-colors: active)");
  readonly #levels = new Float32Array(HISTORY);
  readonly #isAgent = new Uint8Array(HISTORY);
  readonly #cos = Float32Array.from({ length: RAYS }, (_, ray) => Math.cos((ray / RAYS) * 2 * Math.PI));
  readonly #sin = Float32Array.from({ length: RAYS }, (_, ray) => Math.sin((ray / RAYS) * 2 * Math.PI));
  readonly #draw = (nowMs: number): void => this.#frame(nowMs);
  readonly #now: Record<Side, number> = { user: 0, agent: 0 };
  #colours: Record<Side, string> | null = null;
  #size = 0;
  #lastMs = 0;
  #isDrawing = false;

  constructor(canvas: HTMLCanvasElement, meters: Record<Side, HTMLElement>) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d");
    this.#meters = meters;
    const changed = (): void => {
      this.#colours = null;
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
    this.#calm.addEventListener("change", () => {
      changed();
      this.#pen?.clearRect(0, 0, this.#size, this.#size);
    });
    new ResizeObserver(() => {
      this.#size = 0;
    }).observe(canvas);
  }

  /** Loudness (RMS, 0..1) of a side. */
  hear(side: Side, rms: number): void {
    const level = meterLevel(rms);
    this.#now[side] = level;
    if (this.#calm.matches) {
      this.#meters[side].style.transform = `scaleX(${level.toFixed(2)})`;
      return;
    }
    if (this.#isDrawing || level < QUIET || document.hidden) return;
    this.#isDrawing = true;
    requestAnimationFrame(this.#draw);
  }

  #frame(nowMs: number): void {
    if (this.#calm.matches || document.hidden) {
      this.#isDrawing = false;
      return;
    }
    if (nowMs - this.#lastMs < STEP_MS - 4) {
      requestAnimationFrame(this.#draw);
      return;
    }
    this.#lastMs = nowMs;
    const { user, agent } = this.#now;
    const levels = this.#levels;
    levels.copyWithin(1, 0, HISTORY - 1);
    this.#isAgent.copyWithin(1, 0, HISTORY - 1);
    levels[0] = Math.max(user, agent);
    this.#isAgent[0] = agent >= user ? 1 : 0;
    // A report may be late: what was loud falls, rather than stays.
    this.#now.user = user * FALL;
    this.#now.agent = agent * FALL;
    this.#paint();
    let loudest = 0;
    for (let i = 0; i < HISTORY; i++) loudest = Math.max(loudest, levels[i] as number);
    if (loudest < QUIET) {
      levels.fill(0);
      this.#isDrawing = false;
      this.#pen?.clearRect(0, 0, this.#size, this.#size);
      return;
    }
    requestAnimationFrame(this.#draw);
  }

  #paint(): void {
    const pen = this.#pen;
    if (!pen) return;
    const size = this.#fit();
    const colours = (this.#colours ??= this.#readColours());
    const middle = size / 2;
    const inner = middle * INNER;
    const room = middle - inner - size * 0.02;
    pen.clearRect(0, 0, size, size);
    pen.lineCap = "round";
    pen.lineWidth = Math.max(2, size * 0.016);
    for (let side = 0; side < 2; side++) {
      pen.strokeStyle = side === 1 ? colours.agent : colours.user;
      pen.beginPath();
      for (let ray = 0; ray < RAYS; ray++) {
        // Ray 0 is on the right; the newest is at the bottom, and both sides go up.
        const fromBottom = Math.abs(((ray - RAYS / 4 + RAYS + RAYS / 2) % RAYS) - RAYS / 2);
        if (this.#isAgent[fromBottom] !== side) continue;
        const level = this.#levels[fromBottom] as number;
        if (level < QUIET) continue;
        const outer = inner + Math.max(1, room * level);
        const cos = this.#cos[ray] as number;
        const sin = this.#sin[ray] as number;
        pen.moveTo(middle + inner * cos, middle + inner * sin);
        pen.lineTo(middle + outer * cos, middle + outer * sin);
      }
      pen.stroke();
    }
  }

  /** The size of the canvas in its own pixels. */
  #fit(): number {
    if (this.#size > 0) return this.#size;
    this.#size = Math.max(1, Math.round(this.#canvas.clientWidth * Math.min(2, devicePixelRatio)));
    this.#canvas.width = this.#canvas.height = this.#size;
    return this.#size;
  }

  #readColours(): Record<Side, string> {
    const style = getComputedStyle(this.#canvas);
    return { user: style.getPropertyValue("--user").trim(), agent: style.getPropertyValue("--agent").trim() };
  }
}

/** How loud somebody was in the last seconds, as bars on a canvas: the newest on the right. */

import { meterLevel } from "../pcm.ts";

/** One bar. */
export const STEP_MS = 60;
const BAR_PX = 3;
const GAP_PX = 2;
const MIN_PX = 2;
/** A voice that nobody tells of any more is silent. */
const STALE_MS = 200;

/** The loudness of the latest steps. Pure. */
export class LevelHistory {
  readonly #levels: number[];
  #latest = 0;
  #toldAtMs = -Infinity;

  constructor(steps: number) {
    this.#levels = new Array<number>(steps).fill(0);
  }

  /** Meter positions, 0..1, oldest first. */
  get levels(): readonly number[] {
    return this.#levels;
  }

  get isFlat(): boolean {
    return this.#levels.every((level) => level === 0);
  }

  /** `rms` (0..1) holds until the next word, and not for long. */
  tell(rms: number, nowMs: number): void {
    this.#latest = meterLevel(rms);
    this.#toldAtMs = nowMs;
  }

  step(nowMs: number): void {
    this.#levels.shift();
    this.#levels.push(nowMs - this.#toldAtMs > STALE_MS ? 0 : this.#latest);
  }
}

/** Draws a history. `still`: one bar of the present loudness, for people who want nothing to move. */
export function drawWaveform(canvas: HTMLCanvasElement, levels: readonly number[], still: boolean): void {
  const scale = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const drawing = canvas.getContext("2d");
  if (!drawing || width === 0) return;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  drawing.setTransform(scale, 0, 0, scale, 0, 0);
  drawing.clearRect(0, 0, width, height);
  const { color } = getComputedStyle(canvas);
  drawing.fillStyle = color;
  if (still) return bar(drawing, 0, height / 2 - BAR_PX, Math.max(MIN_PX, (levels.at(-1) ?? 0) * width), BAR_PX * 2);
  const count = Math.min(levels.length, Math.floor(width / (BAR_PX + GAP_PX)));
  for (let i = 0; i < count; i++) {
    const level = levels[levels.length - count + i] as number;
    const size = Math.max(MIN_PX, level * height);
    drawing.globalAlpha = level === 0 ? 0.3 : 0.45 + 0.55 * (i / count);
    bar(drawing, i * (BAR_PX + GAP_PX), (height - size) / 2, BAR_PX, size);
  }
  drawing.globalAlpha = 1;
}

function bar(drawing: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
  drawing.beginPath();
  drawing.roundRect(x, y, width, height, Math.min(width, height) / 2);
  drawing.fill();
}

/** The loudness of a voice in the last seconds, as bars on a canvas: the newest on the right. */

/** One bar. */
export const STEP_MS = 60;
const BAR_PX = 3;
const GAP_PX = 2;
const MIN_PX = 2;
/** The loudness (RMS) of a bar of full height: that of a loud voice. */
const LOUD = 0.2;
/** Below this (-60 dB) there is no bar. */
const SILENT = 0.001;
/** A voice without a report for this long is silent. */
const STALE_MS = 200;

/** The loudness of the latest steps. Pure. */
export class LevelHistory {
  readonly #levels: number[];
  #latest = 0;
  #toldAtMs = -Infinity;

  constructor(steps: number) {
    this.#levels = new Array<number>(steps).fill(0);
  }

  /** Heights of bars, 0..1, oldest first. */
  get levels(): readonly number[] {
    return this.#levels;
  }

  /** Whether no bar is visible, now and at the next step. */
  isFlat(nowMs: number): boolean {
    return this.#present(nowMs) === 0 && this.#levels.every((level) => level === 0);
  }

  /** Notes `rms` (0..1), which holds until the next report, and not for long. */
  tell(rms: number, nowMs: number): void {
    // Between a linear scale, which shows the loudest only, and decibels, which show everything as loud.
    this.#latest = rms < SILENT ? 0 : Math.min(1, (rms / LOUD) ** 0.6);
    this.#toldAtMs = nowMs;
  }

  step(nowMs: number): void {
    this.#levels.shift();
    this.#levels.push(this.#present(nowMs));
  }

  #present(nowMs: number): number {
    return nowMs - this.#toldAtMs > STALE_MS ? 0 : this.#latest;
  }
}

/** Draws a history. `still`: one bar of the present loudness, for users who prefer reduced motion. */
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

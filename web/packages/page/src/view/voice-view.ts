/**
 * Shows the loudness of microphone and reply, as they really were, around the round button; silence costs nothing.
 *
 * A worker draws the rays, or this file where the browser gives workers no canvas. With less motion or forced colours,
 * two plain meters stand in their place.
 */

import { meterLevel } from "@realtime-voice/client";
import { Ring, RingMotion, type Side, type ToRing } from "../ring.ts";

/** How often the rays and the meters get a new level at most, in ms. */
const RAYS_MS = 50;
const METERS_MS = 100;
const WORKER = "./ring-worker.js";

export class VoiceView {
  readonly #canvas: HTMLCanvasElement;
  readonly #meters: Record<Side, HTMLElement>;
  readonly #calm = matchMedia("(prefers-reduced-motion: reduce), (forced-colors: active)");
  readonly #post: (message: ToRing) => void;
  /** The last level of each side, and the loudest one since it was shown. */
  readonly #last: Record<Side, number> = { user: 0, agent: 0 };
  readonly #loudest: Record<Side, number> = { user: 0, agent: 0 };
  #toldMs = 0;
  #isSilent = true;

  constructor(canvas: HTMLCanvasElement, meters: Record<Side, HTMLElement>) {
    this.#canvas = canvas;
    this.#meters = meters;
    this.#post = drawing(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#dress());
    this.#calm.addEventListener("change", () => this.#post({ type: "clear" }));
    new ResizeObserver(() => this.#dress()).observe(canvas);
  }

  /** Loudness (RMS, 0..1) of a side. */
  hear(side: Side, rms: number): void {
    const levels = this.#loudest;
    const last = this.#last;
    last[side] = meterLevel(rms);
    levels[side] = Math.max(levels[side], last[side]);
    const isSilent = last.user === 0 && last.agent === 0;
    if (isSilent && this.#isSilent) return;
    const nowMs = performance.now();
    if (!isSilent && nowMs - this.#toldMs < (this.#calm.matches ? METERS_MS : RAYS_MS)) return;
    this.#toldMs = nowMs;
    this.#isSilent = isSilent;
    if (isSilent) levels.user = levels.agent = 0;
    if (this.#calm.matches) {
      for (const one of ["user", "agent"] as const) this.#meters[one].style.transform = `scaleX(${levels[one].toFixed(2)})`;
    } else if (!document.hidden) this.#post({ type: "hear", ...levels });
    levels.user = last.user;
    levels.agent = last.agent;
  }

  #dress(): void {
    const size = Math.round(this.#canvas.clientWidth * Math.min(2, devicePixelRatio));
    if (size === 0) return;
    const style = getComputedStyle(this.#canvas);
    const colours = { user: style.getPropertyValue("--user").trim(), agent: style.getPropertyValue("--agent").trim() };
    this.#post({ type: "dress", size, colours });
  }
}

/** What draws on the canvas: a worker, or this thread. */
function drawing(canvas: HTMLCanvasElement): (message: ToRing) => void {
  try {
    const worker = new Worker(new URL(WORKER, document.baseURI), { type: "module" });
    const offscreen = canvas.transferControlToOffscreen();
    worker.postMessage({ type: "canvas", canvas: offscreen } satisfies ToRing, [offscreen]);
    return (message) => worker.postMessage(message);
  } catch {
    const ring = new Ring(canvas);
    const motion = new RingMotion(ring);
    return (message) => {
      if (message.type === "dress") ring.dress(message.size, message.colours);
      else if (message.type === "hear") motion.hear(message.user, message.agent);
      else if (message.type === "clear") ring.clear();
    };
  }
}

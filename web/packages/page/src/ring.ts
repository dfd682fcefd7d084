/**
 * The rays around the round button: the newest loudness at the bottom, older ones further up on both sides.
 *
 * It works on any canvas, of a page or of a worker. While it draws it makes no objects.
 */

const RAYS = 48;
/** Rays on each side of the ring. */
const HISTORY = RAYS / 2 + 1;
/** How fast a ray falls back when nothing new is heard, per step. */
const FALL = 0.82;
const QUIET = 0.012;
/** Where the rays begin, as a share of the ring's radius. */
const INNER = 0.66;

export type Side = "user" | "agent";
export type Colours = Readonly<Record<Side, string>>;

export class Ring {
  readonly #canvas: HTMLCanvasElement | OffscreenCanvas;
  readonly #pen: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D | null;
  readonly #levels = new Float32Array(HISTORY);
  readonly #isAgent = new Uint8Array(HISTORY);
  readonly #cos = Float32Array.from({ length: RAYS }, (_, ray) => Math.cos((ray / RAYS) * 2 * Math.PI));
  readonly #sin = Float32Array.from({ length: RAYS }, (_, ray) => Math.sin((ray / RAYS) * 2 * Math.PI));
  #user = 0;
  #agent = 0;
  #colours: Colours = { user: "", agent: "" };

  constructor(canvas: HTMLCanvasElement | OffscreenCanvas) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d") as CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D | null;
  }

  /** Its width and height in pixels, and the colour of each side. */
  dress(size: number, colours: Colours): void {
    this.#canvas.width = this.#canvas.height = size;
    this.#colours = colours;
  }

  /** The loudness of both sides now, 0..1. Returns whether there is something to see. */
  hear(user: number, agent: number): boolean {
    this.#user = user;
    this.#agent = agent;
    return Math.max(user, agent) >= QUIET;
  }

  /** Moves all rays by one place, and draws them. Returns false when all is silent: nothing is left to draw. */
  step(): boolean {
    const levels = this.#levels;
    levels.copyWithin(1, 0, HISTORY - 1);
    this.#isAgent.copyWithin(1, 0, HISTORY - 1);
    levels[0] = Math.max(this.#user, this.#agent);
    this.#isAgent[0] = this.#agent >= this.#user ? 1 : 0;
    // A report may be late: what was loud falls, rather than stays.
    this.#user *= FALL;
    this.#agent *= FALL;
    this.#pen?.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    let loudest = 0;
    for (let i = 0; i < HISTORY; i++) loudest = Math.max(loudest, levels[i] as number);
    if (loudest < QUIET) {
      levels.fill(0);
      return false;
    }
    this.#paint(0, this.#colours.user);
    this.#paint(1, this.#colours.agent);
    return true;
  }

  clear(): void {
    this.#levels.fill(0);
    this.#user = this.#agent = 0;
    this.#pen?.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
  }

  #paint(side: number, colour: string): void {
    const pen = this.#pen;
    if (!pen) return;
    const size = this.#canvas.width;
    const middle = size / 2;
    const inner = middle * INNER;
    const room = middle - inner - size * 0.02;
    pen.lineCap = "round";
    pen.lineWidth = Math.max(2, size * 0.016);
    pen.strokeStyle = colour;
    pen.beginPath();
    for (let ray = 0; ray < RAYS; ray++) {
      // Ray 0 is on the right; the newest is at the bottom, and both sides go up.
      const fromBottom = Math.abs(((ray - RAYS / 4 + RAYS + RAYS / 2) % RAYS) - RAYS / 2);
      const level = this.#levels[fromBottom] as number;
      if (this.#isAgent[fromBottom] !== side || level < QUIET) continue;
      const outer = inner + Math.max(1, room * level);
      const cos = this.#cos[ray] as number;
      const sin = this.#sin[ray] as number;
      pen.moveTo(middle + inner * cos, middle + inner * sin);
      pen.lineTo(middle + outer * cos, middle + outer * sin);
    }
    pen.stroke();
  }
}

/** How long a step takes, in ms. */
const STEP_MS = 40;

/** Moves a ring while there is something to see. */
export class RingMotion {
  readonly #ring: Ring;
  readonly #step = (): void => this.#go();
  #goes = false;

  constructor(ring: Ring) {
    this.#ring = ring;
  }

  hear(user: number, agent: number): void {
    if (!this.#ring.hear(user, agent) || this.#goes) return;
    this.#goes = true;
    this.#go();
  }

  #go(): void {
    this.#goes = this.#ring.step();
    if (this.#goes) setTimeout(this.#step, STEP_MS);
  }
}

export type ToRing =
  | { readonly type: "canvas"; readonly canvas: OffscreenCanvas }
  | { readonly type: "dress"; readonly size: number; readonly colours: Colours }
  | { readonly type: "hear"; readonly user: number; readonly agent: number }
  | { readonly type: "clear" };

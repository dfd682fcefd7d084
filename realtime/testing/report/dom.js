// @ts-check
// What every part of the page uses: the shape of the data, elements made without markup, times as text.

/** @typedef {{who: string, kind: string, from_ms: number, to_ms: number, heard: string, unheard: string,
 *   withdrawn: boolean}} Caption */
/** @typedef {{id: string, name: string, who: string, from_ms: number, to_ms: number | null, input: string,
 *   output: string, state: string}} Tool */
/** @typedef {{name: string, at_ms: number}} Step */
/** @typedef {{who: string, at_ms: number, said: number | null, answers: number[], tools: number[], steps: Step[],
 *   interrupts: boolean, latency_ms: number | null}} Turn */
/** @typedef {{who: string, from_ms: number, to_ms: number, text: string}} Span */
/** @typedef {{ts_ms: number, who: string, what: string, text: string}} Moment */
/** @typedef {{speaker: string, kind: string, peaks: string}} Lane */
/** @typedef {[at_ms: number, leg: string, direction: string, who: string, kind: string, text: string, more: number,
 *   until_ms: number]} Frame */
/** @typedef {[op: string, text: string]} Piece */
/** @typedef {{kind: string, number: number, who: string, said: Piece[], answer: Piece[], unheard: Piece[],
 *   tools: Piece[], latency_ms: [number | null, number | null] | null}} TurnChange */
/** @typedef {{known: boolean, facts: [string, string, string][], turns: TurnChange[]}} Change */
/** @typedef {{name: string, judged: boolean, failure: string | null, duration_ms: number, wall_s: number,
 *   latency_p50_ms: number | null, latency_p95_ms: number | null, barge_ins: number, late_samples: number,
 *   step_ms: number, lanes: Lane[], captions: Caption[], turns: Turn[], tools: Tool[], voice: Span[],
 *   script: [who: string, from_ms: number, to_ms: number, text: string, barge_in: boolean][], floor: Span[],
 *   moments: Moment[], frames: Frame[], frames_left_out: number, audio: string | null, silent: boolean,
 *   change: Change | null}} Run */
/** @typedef {{title: string, compared: boolean, missing: string[], runs: Run[]}} AllRuns */

/**
 * An element. Text goes in as text: nothing here reads markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [className]
 * @param {...(Node | string)} inside
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function make(tag, className = "", ...inside) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...inside);
  return element;
}

/**
 * @param {string} label
 * @param {() => void} act
 * @param {string} [className]
 */
function button(label, act, className = "") {
  const made = make("button", className, label);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

/**
 * A part of the page with a heading.
 * @param {string} title
 * @param {...(Node | string)} inside
 */
function card(title, ...inside) {
  const heading = make("h3", "", title);
  const made = make("section", "card", heading, ...inside);
  made.setAttribute("aria-label", title);
  return made;
}

/**
 * `1:02.345`, with as many digits after the point as asked for.
 * @param {number} ms
 */
function clock(ms, digits = 3) {
  const unit = 10 ** (3 - digits);
  const rounded = Math.round(ms / unit) * unit;
  const minutes = Math.floor(rounded / 60_000);
  const seconds = ((rounded % 60_000) / 1_000).toFixed(digits);
  return `${minutes}:${seconds.padStart(digits ? digits + 3 : 2, "0")}`;
}

/** @param {number | null} ms */
function inMs(ms) {
  return ms === null ? "–" : `${Math.round(ms)} ms`;
}

/**
 * @param {number} count
 * @param {string} one
 */
function counted(count, one) {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

/**
 * The words, those that nobody heard struck through.
 * @param {Caption} caption
 */
function words(caption) {
  const text = caption.unheard.trimStart();
  const made = make("span", "words", caption.heard, caption.heard && text ? " " : "");
  if (text) {
    const unheard = make("del", "unheard", text);
    unheard.title = caption.withdrawn ? "withdrawn" : "not heard";
    made.append(unheard);
  }
  return made;
}

/**
 * Bytes of base64.
 * @param {string} text
 */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

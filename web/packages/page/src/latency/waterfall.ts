/** What one answer was waited for, step by step: a bar, and behind it a table with an explanation of each step. */

import { make } from "../view/elements.ts";
import { sayWait } from "./texts.ts";
import { inMs, stageWords } from "./words.ts";

export interface Wait {
  /** From the end of the voice to the first sound that was played; null where none was. */
  readonly totalMs: number | null;
  /** Its parts in order: names as in `stages_ms` of `server_latency`. */
  readonly stages: readonly (readonly [name: string, ms: number])[];
  /** Whether the listener's device did not report it. */
  readonly estimated: boolean;
}

/** A wait that opens; its bar is as wide as its part of `scaleMs`. A screen reader is not told of it unasked. */
export function waterfall(wait: Wait, scaleMs = sumOf(wait)): HTMLDetailsElement {
  const bar = make("span", "wait-bar");
  bar.setAttribute("aria-hidden", "true");
  for (const [name, ms] of wait.stages) {
    const part = make("i");
    part.dataset["stage"] = name;
    part.style.width = percent(ms, scaleMs);
    bar.append(part);
  }
  const made = make("details", "wait", make("summary", "", make("span", "total", totalWords(wait)), bar), table(wait));
  made.ariaLive = "off";
  return made;
}

function totalWords({ totalMs, estimated }: Wait): string {
  if (totalMs === null) return sayWait("wait.none");
  return sayWait(estimated ? "wait.totalEstimated" : "wait.total", { ms: inMs(totalMs) });
}

function table(wait: Wait): HTMLElement {
  const head = make("tr");
  for (const name of [sayWait("wait.step"), "", sayWait("wait.took"), sayWait("wait.after")]) {
    const cell = make(name ? "th" : "td", "", name);
    if (cell instanceof HTMLTableCellElement && name) cell.scope = "col";
    else cell.setAttribute("aria-hidden", "true");
    head.append(cell);
  }
  const body = make("tbody");
  const scaleMs = sumOf(wait);
  let sinceMs = 0;
  for (const [name, ms] of wait.stages) {
    body.append(...rows(name, ms, sinceMs, scaleMs));
    sinceMs += ms;
  }
  const made = make("table", "", make("thead", "", head), body);
  made.setAttribute("aria-label", sayWait("wait.table"));
  return made;
}

/** The row of a step, and its explanation, which opens below it. */
function rows(name: string, ms: number, sinceMs: number, scaleMs: number): HTMLTableRowElement[] {
  const words = stageWords(name);
  const step = make("th", "", words?.done ?? name.replaceAll("_", " "));
  step.scope = "row";
  const part = make("i");
  part.dataset["stage"] = name;
  part.style.marginInlineStart = percent(sinceMs, scaleMs);
  part.style.width = percent(ms, scaleMs);
  const picture = make("td", "picture", part);
  picture.setAttribute("aria-hidden", "true");
  const row = make("tr", "", step, picture, make("td", "number", inMs(ms)), make("td", "number", inMs(sinceMs + ms)));
  if (!words) return [row];
  const text = make("td", "", words.means);
  text.colSpan = 4;
  const explanation = make("tr", "means", text);
  explanation.hidden = true;
  const about = make("button", "about", "i");
  about.type = "button";
  about.setAttribute("aria-label", sayWait("wait.about", { step: words.done }));
  about.setAttribute("aria-expanded", "false");
  about.addEventListener("click", () => {
    explanation.hidden = !explanation.hidden;
    about.setAttribute("aria-expanded", String(!explanation.hidden));
  });
  step.append(" ", about);
  return [row, explanation];
}

function sumOf({ stages }: Wait): number {
  return Math.max(1, stages.reduce((sum, [, ms]) => sum + ms, 0));
}

function percent(ms: number, ofMs: number): string {
  return `${(100 * ms) / ofMs}%`;
}

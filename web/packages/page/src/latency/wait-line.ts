/** How long each turn of a call was waited for: a line, its summary in a sentence, and a table behind it. */

import { make } from "../view/elements.ts";
import { sayWait } from "./texts.ts";
import { inMs, median } from "./words.ts";

export interface TurnWait {
  /** The turn, from 1. */
  readonly turn: number;
  readonly ms: number;
  readonly estimated: boolean;
}

const SVG = "http://www.w3.org/2000/svg";

/** The waits in order of the turns; at least one. */
export function waitLine(waits: readonly TurnWait[]): HTMLElement {
  const topMs = Math.max(1, ...waits.map(({ ms }) => ms));
  const x = (place: number): number => (waits.length < 2 ? 50 : (100 * place) / (waits.length - 1));
  const y = (ms: number): number => 100 - (100 * ms) / topMs;
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", waits.map(({ ms }, place) => `${x(place)},${y(ms)}`).join(" "));
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 100 100");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.append(line);
  const plot = make("div", "plot");
  plot.append(picture);
  waits.forEach(({ turn, ms, estimated }, place) => {
    const point = make("i", estimated ? "estimated" : "");
    point.style.left = `${x(place)}%`;
    point.style.top = `${y(ms)}%`;
    point.title = sayWait("wait.point", { number: turn, ms: waitedWords(ms, estimated) });
    plot.append(point);
  });
  const first = waits[0]?.turn ?? 0;
  const last = waits.at(-1)?.turn ?? 0;
  const turns = make("p", "turns-of", make("span", "", numbered(first)), make("span", "", last === first ? "" : numbered(last)));
  const chart = make("div", "chart", make("span", "top", inMs(topMs)), make("span", "bottom", "0 ms"), plot, turns);
  chart.setAttribute("aria-hidden", "true");
  return make("figure", "wait-line", make("figcaption", "", summary(waits)), chart, table(waits));
}

function summary(waits: readonly TurnWait[]): string {
  const values = waits.map(({ ms }) => ms);
  const longest = waits.reduce((one, other) => (other.ms > one.ms ? other : one));
  const guessed = waits.filter(({ estimated }) => estimated).length;
  const parts = [
    sayWait(waits.length === 1 ? "wait.answers.one" : "wait.answers.other", { count: waits.length }),
    sayWait("wait.half", { ms: inMs(median(values)) }),
    sayWait("wait.longest", { ms: inMs(longest.ms), number: longest.turn }),
  ];
  if (guessed) {
    parts.push(guessed === waits.length ? sayWait("wait.allEstimated") : sayWait("wait.someEstimated", { count: guessed }));
  }
  return `${parts.join(", ")}.`;
}

function numbered(turn: number): string {
  return sayWait("wait.turnNumber", { number: turn });
}

function waitedWords(ms: number, estimated: boolean): string {
  return estimated ? sayWait("wait.estimated", { ms: inMs(ms) }) : inMs(ms);
}

function table(waits: readonly TurnWait[]): HTMLElement {
  const head = make("tr");
  for (const name of [sayWait("wait.turn"), sayWait("wait.waited")]) {
    const cell = make("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = make("tbody");
  for (const { turn, ms, estimated } of waits) {
    const number = make("th", "", String(turn));
    number.scope = "row";
    body.append(make("tr", "", number, make("td", "number", waitedWords(ms, estimated))));
  }
  return make("details", "", make("summary", "", sayWait("wait.asTable")), make("table", "", make("thead", "", head), body));
}

/** The report of a run of tests: the table of runs, and the chosen run. Its data is in the page. */

import "./report.css";
import "./timeline.css";
import "./turns.css";
import "../latency/latency.css";
import { byId, make } from "../view/elements.ts";
import { changeText, changesCard, isChanged } from "./changes.ts";
import type { Report, Run } from "./data.ts";
import { FramesView } from "./frames-view.ts";
import { card, clock, counted, inMs } from "./parts.ts";
import { plansCard } from "./plans.ts";
import { Timeline } from "./timeline.ts";
import { toolDetails, turnsCard, waitsCard } from "./turns.ts";

const report = JSON.parse(byId("data", HTMLScriptElement).text) as Report;
let timeline: Timeline | null = null;

// -- all runs --------------------------------------------------------------------------------------------------------

function showSummary(): void {
  const { runs } = report;
  const failed = runs.filter((run) => run.failure !== null).length;
  const changed = runs.filter((run) => isChanged(run.change)).length;
  const parts = [counted(runs.length, "run")];
  if (runs.some((run) => run.judged)) parts.push(failed ? `${failed} failed` : "all passed");
  if (report.compared) parts.push(`${changed || "none"} changed since the accepted report`);
  if (report.missing.length) parts.push(`no longer run: ${report.missing.join(", ")}`);
  byId("about", HTMLElement).textContent = runs.length ? parts.join(" · ") : "no runs";

  const head = make("tr");
  for (const name of ["Run", "Result", "Length", "Turns", "Latency p50", "p95", "Barge-ins"]) {
    const cell = make("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  if (report.compared) head.append(make("th", "", "Since accepted"));
  const table = make("table", "summary", make("thead", "", head), make("tbody", "", ...runs.map(summaryRow)));
  table.setAttribute("aria-label", "Runs");
  const box = byId("runs", HTMLElement);
  box.append(table);
  box.hidden = !runs.length;
}

function summaryRow(run: Run, number: number): HTMLElement {
  const link = make("a", "", run.name);
  link.href = `#run-${number + 1}`;
  const result = make("td", "", pill(run));
  if (run.failure !== null) result.append(make("span", "why", firstLine(run.failure)));
  const row = make("tr", "", make("td", "", link), result);
  const length = clock(run.duration_ms, 1);
  const latency = [inMs(run.latency_p50_ms), inMs(run.latency_p95_ms)];
  for (const text of [length, String(turnCount(run)), ...latency, String(run.barge_ins)]) {
    row.append(make("td", "number", text));
  }
  if (report.compared) row.append(make("td", "soft", changeText(run.change)));
  return row;
}

function pill(run: Run): HTMLElement {
  if (!run.judged) return make("span");
  return run.failure === null ? make("span", "pill passed", "passed") : make("span", "pill failed", "failed");
}

function firstLine(text: string): string {
  return text.trim().split("\n")[0] ?? "";
}

// -- one run ---------------------------------------------------------------------------------------------------------

function showRun(number: number): void {
  const run = report.runs[number];
  if (!run) return;
  timeline?.stop();
  document.querySelectorAll(".summary tbody tr").forEach((row, at) => {
    row.classList.toggle("chosen", at === number);
    row.querySelector("a")?.setAttribute("aria-current", String(at === number));
  });
  const details = run.tools.map(toolDetails);
  const lanes = new Timeline(run, (tool) => {
    const found = details[tool];
    if (!found) return;
    found.open = true;
    found.scrollIntoView({ block: "center" });
    found.querySelector("summary")?.focus();
  });
  timeline = lanes;
  const show = (ms: number): void => lanes.show(ms);
  const frames = new FramesView(run, show);
  const heading = make("h2", "", run.name, " ", pill(run));
  heading.tabIndex = -1;
  const inside: HTMLElement[] = [heading, make("p", "facts soft", facts(run))];
  if (run.failure !== null) {
    const [finding = "", ...around] = run.failure.split(/(?=\n)/);
    inside.push(make("pre", "failure", make("strong", "", finding), around.join("")));
  }
  if (run.change !== null) inside.push(changesCard(run.change));
  inside.push(lanes.element);
  const waits = waitsCard(run);
  if (waits) inside.push(waits);
  if (run.plans.length) inside.push(plansCard(run.plans));
  inside.push(turnsCard(run, details, show));
  if (run.listening !== null) inside.push(card("Listening", make("pre", "listening", run.listening)));
  inside.push(frames.element);
  byId("run", HTMLElement).replaceChildren(...inside);
  lanes.start();
  frames.start();
}

function facts(run: Run): string {
  const parts = [clock(run.duration_ms, 1), counted(turnCount(run), "turn"), counted(run.barge_ins, "barge-in")];
  if (run.latency_p50_ms !== null) {
    parts.push(`latency p50 ${inMs(run.latency_p50_ms)}, p95 ${inMs(run.latency_p95_ms)}`);
  }
  if (run.late_samples) parts.push(`${run.late_samples} samples came after a flush`);
  if (run.wall_s) parts.push(`ran in ${run.wall_s.toFixed(2)} s`);
  return parts.join(" · ");
}

/** Turns of humans: an agent that speaks first makes none of theirs. */
function turnCount(run: Run): number {
  return run.turns.filter((turn) => turn.said !== null).length;
}

// -- begin -----------------------------------------------------------------------------------------------------------

/** The run that the address names, else the first that failed, else the first. */
function chosen(): number {
  const named = /^#run-(\d+)$/.exec(location.hash)?.[1];
  if (named) return Number(named) - 1;
  return Math.max(0, report.runs.findIndex((run) => run.failure !== null));
}

showSummary();
showRun(chosen());
addEventListener("hashchange", () => {
  showRun(chosen());
  document.querySelector("h2")?.focus();
});

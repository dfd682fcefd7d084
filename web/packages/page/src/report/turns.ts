/** The turns of a run: what was said, tools, and from the end of the voice to the ear what took how long. */

import { make } from "../view/elements.ts";
import { waitLine } from "../latency/wait-line.ts";
import { waterfall } from "../latency/waterfall.ts";
import type { Caption, Run, Tool, Turn } from "./data.ts";
import { button, card, clock, inMs, pretty, words } from "./parts.ts";

type Show = (ms: number) => void;

export function toolDetails(tool: Tool): HTMLDetailsElement {
  const took = tool.to_ms === null ? "" : `, ${inMs(tool.to_ms - tool.from_ms)}`;
  const head = make("summary", "", make("code", "", tool.name), make("span", "soft", ` ${tool.state}${took}`));
  const made = make("details", "use", head);
  made.dataset["state"] = tool.state;
  made.append(make("pre", "", pretty(tool.input || "{}")));
  if (tool.output) made.append(make("pre", "", pretty(tool.output)));
  return made;
}

/** The card of all turns. `details` are those of the run's tools; `show` brings a time into sight. */
export function turnsCard(run: Run, details: readonly HTMLDetailsElement[], show: Show): HTMLElement {
  const longestMs = Math.max(1, ...run.turns.map(lengthMs));
  const firstNumber = run.turns[0]?.said === null ? 0 : 1;
  const rows = run.moments
    .filter((moment) => moment.what !== "typed")
    .map((moment) => {
      const about = [moment.what, moment.who, moment.text].filter(Boolean).join(" · ");
      const row = make("li", "moment", make("div", "when", jumpTo(moment.ts_ms, about, show)), make("p", "", about));
      row.dataset["what"] = moment.what;
      return { at: moment.ts_ms, row };
    });
  run.turns.forEach((turn, place) => {
    const number = place + firstNumber;
    const jump = jumpTo(turn.at_ms, `turn ${number}`, show);
    const when = make("div", "when", jump, make("span", "soft", turn.said === null ? "" : String(number)));
    rows.push({ at: turn.at_ms, row: make("li", "", when, talk(run, turn, details), waitOf(turn, longestMs)) });
  });
  rows.sort((one, other) => one.at - other.at);
  const list = make("ol", "turns", ...rows.map(({ row }) => row));
  const others = details.filter((_, tool) => !run.turns.some((turn) => turn.tools.includes(tool)));
  return card("Turns", rows.length ? list : make("p", "soft", "Nobody said anything."), ...others);
}

/** The card of what was waited for the answers; null without any. */
export function waitsCard(run: Run): HTMLElement | null {
  const firstNumber = run.turns[0]?.said === null ? 0 : 1;
  const waits = run.turns.flatMap(({ latency_ms: ms, estimated }, place) =>
    ms === null ? [] : [{ turn: place + firstNumber, ms, estimated }],
  );
  if (!waits.length) return null;
  return card("How long the answers were waited for", make("div", "waits", waitLine(waits)));
}

function talk(run: Run, turn: Turn, details: readonly HTMLDetailsElement[]): HTMLElement {
  const made = make("div", "talk");
  const said = turn.said === null ? undefined : run.captions[turn.said];
  if (said) {
    const line = spoken(said, "human");
    if (turn.interrupts) line.append(make("span", "tag", "interrupts"));
    if (said.kind === "typed") line.append(make("span", "tag", "typed"));
    made.append(line);
  }
  for (const tool of turn.tools) {
    const found = details[tool];
    if (found) made.append(found);
  }
  for (const answer of turn.answers) {
    const caption = run.captions[answer];
    if (caption) made.append(spoken(caption, "agent"));
  }
  return made;
}

function jumpTo(ms: number, what: string, show: Show): HTMLElement {
  const jump = button(clock(ms, 1), () => show(ms), "at");
  jump.setAttribute("aria-label", `${what} at ${clock(ms, 1)}: show in the timeline`);
  return jump;
}

function spoken(caption: Caption, kind: string): HTMLElement {
  return make("p", kind, make("b", "", caption.who), " ", words(caption));
}

function lengthMs({ steps }: Turn): number {
  const [first, last] = [steps[0], steps.at(-1)];
  return first && last ? last.at_ms - first.at_ms : 0;
}

/** From the end of the voice to the ear, all turns on one scale. */
function waitOf(turn: Turn, longestMs: number): HTMLElement {
  const made = make("div", "waited");
  const stages = turn.steps.slice(1).map(({ name, at_ms }, place) => {
    const since = turn.steps[place]?.at_ms ?? at_ms;
    return [name.replaceAll(" ", "_"), at_ms - since] as const;
  });
  if (stages.length) made.append(waterfall({ totalMs: turn.latency_ms, stages, estimated: turn.estimated }, longestMs));
  return made;
}

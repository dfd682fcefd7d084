/** The turns of a run: what was said, tools, and from the end of the voice to the ear what took how long. */

import { make } from "../view/elements.ts";
import type { Caption, Run, Tool, Turn } from "./data.ts";
import { button, card, clock, inMs, pretty, words } from "./parts.ts";

const STEP_NAMES = new Map([
  ["turn end", "until the turn was over"],
  ["transcript", "until its words were there"],
  ["response", "until a response began"],
  ["tool call", "until a tool was called"],
  ["tool result", "until its result was there"],
  ["first text", "until the first written word"],
  ["first audio", "until the first sound was sent"],
  ["first heard", "until it was heard"],
]);

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
    rows.push({ at: turn.at_ms, row: make("li", "", when, talk(run, turn, details), waterfall(turn, longestMs)) });
  });
  rows.sort((one, other) => one.at - other.at);
  const list = make("ol", "turns", ...rows.map(({ row }) => row));
  const others = details.filter((_, tool) => !run.turns.some((turn) => turn.tools.includes(tool)));
  return card("Turns", rows.length ? list : make("p", "soft", "Nobody said anything."), ...others);
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
function waterfall(turn: Turn, longestMs: number): HTMLElement {
  const made = make("div", "waterfall");
  const first = turn.steps[0];
  if (!first || turn.steps.length < 2) return made;
  const bar = make("div", "steps");
  const list = make("ul");
  let since = first.at_ms;
  for (const step of turn.steps.slice(1)) {
    const ms = step.at_ms - since;
    const className = step.name.replace(" ", "-");
    const part = make("i", className);
    part.style.width = `${(100 * ms) / longestMs}%`;
    part.title = `${inMs(ms)} ${STEP_NAMES.get(step.name) ?? step.name}`;
    bar.append(part);
    list.append(make("li", "", make("i", className), `${step.name} `, make("b", "", `+${Math.round(ms)}`)));
    since = step.at_ms;
  }
  if (turn.latency_ms !== null) {
    made.append(make("p", "total", make("b", "", inMs(turn.latency_ms)), make("span", "soft", ` after ${first.name}`)));
  }
  made.append(bar, list);
  return made;
}

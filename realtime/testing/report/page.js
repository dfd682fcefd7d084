// @ts-check
// The page: the table of runs, and the run that was chosen.

const STEP_NAMES = new Map(
  Object.entries({
    "turn end": "until the turn was over",
    transcript: "until its words were there",
    response: "until a response began",
    "tool call": "until a tool was called",
    "tool result": "until its result was there",
    "first text": "until the first written word",
    "first audio": "until the first sound was sent",
    "first heard": "until it was heard",
  }),
);

/** @type {AllRuns} */
const report = JSON.parse(document.getElementById("data")?.textContent ?? "");
/** @type {Timeline | null} */
let timeline = null;

/**
 * @param {string} id
 */
function place(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

// -- all runs --------------------------------------------------------------------------------------------------------

function summary() {
  const { runs } = report;
  const failed = runs.filter((run) => run.failure !== null).length;
  const changed = runs.filter((run) => isChanged(run.change)).length;
  const parts = [counted(runs.length, "run")];
  if (runs.some((run) => run.judged)) parts.push(failed ? `${failed} failed` : "all passed");
  if (report.compared) parts.push(`${changed || "none"} changed since the accepted report`);
  if (report.missing.length) parts.push(`no longer run: ${report.missing.join(", ")}`);
  place("about").textContent = runs.length ? parts.join(" · ") : "no runs";

  const head = make("tr");
  for (const name of ["Run", "Result", "Length", "Turns", "Latency p50", "p95", "Barge-ins"]) {
    const cell = make("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  if (report.compared) head.append(make("th", "", "Since accepted"));
  const body = make("tbody");
  runs.forEach((run, number) => body.append(summaryRow(run, number)));
  const table = make("table", "summary", make("thead", "", head), body);
  table.setAttribute("aria-label", "Runs");
  place("runs").append(table);
  place("runs").hidden = !runs.length;
}

/**
 * @param {Run} run
 * @param {number} number
 */
function summaryRow(run, number) {
  const link = make("a", "", run.name);
  link.href = `#run-${number + 1}`;
  const result = make("td", "", pill(run));
  if (run.failure !== null) result.append(make("span", "why", firstLine(run.failure)));
  const row = make("tr", "", make("td", "", link), result);
  const numbers = [
    clock(run.duration_ms, 1), String(turnCount(run)), inMs(run.latency_p50_ms), inMs(run.latency_p95_ms),
    String(run.barge_ins),
  ];
  for (const text of numbers) row.append(make("td", "number", text));
  if (report.compared) row.append(make("td", "soft", changeText(run.change)));
  return row;
}

/** @param {Run} run */
function pill(run) {
  if (!run.judged) return make("span");
  return run.failure === null ? make("span", "pill passed", "passed") : make("span", "pill failed", "failed");
}

/** @param {string} text */
function firstLine(text) {
  return text.trim().split("\n")[0] ?? "";
}

/** @param {Change | null} change */
function isChanged(change) {
  return change !== null && (!change.known || change.facts.length > 0 || change.turns.length > 0);
}

/** @param {Change | null} change */
function changeText(change) {
  if (change === null) return "";
  if (!change.known) return "new";
  if (!isChanged(change)) return "same";
  return change.turns.length ? `${counted(change.turns.length, "turn")} changed` : "other numbers";
}

// -- one run ---------------------------------------------------------------------------------------------------------

/** @param {number} number */
function showRun(number) {
  const run = report.runs[number];
  if (!run) return;
  timeline?.stop();
  document.querySelectorAll(".summary tbody tr").forEach((row, at) => {
    row.classList.toggle("chosen", at === number);
    row.querySelector("a")?.setAttribute("aria-current", String(at === number));
  });
  /** @type {HTMLDetailsElement[]} */
  const details = run.tools.map(toolDetails);
  const lanes = (timeline = new Timeline(run, (tool) => {
    const found = details[tool];
    if (!found) return;
    found.open = true;
    found.scrollIntoView({ block: "center" });
    found.querySelector("summary")?.focus();
  }));
  const frames = new Frames(run, (ms) => lanes.show(ms));
  const heading = make("h2", "", run.name, " ", pill(run));
  heading.tabIndex = -1;
  /** @type {HTMLElement[]} */
  const inside = [heading, make("p", "facts soft", facts(run))];
  if (run.failure !== null) {
    const [finding = "", ...around] = run.failure.split(/(?=\n)/);
    inside.push(make("pre", "failure", make("strong", "", finding), around.join("")));
  }
  if (run.change !== null) inside.push(changes(run.change));
  inside.push(lanes.element, turns(run, details, lanes), frames.element);
  place("run").replaceChildren(...inside);
  lanes.start();
  frames.start();
}

/** @param {Run} run */
function facts(run) {
  const parts = [clock(run.duration_ms, 1), counted(turnCount(run), "turn"), counted(run.barge_ins, "barge-in")];
  if (run.latency_p50_ms !== null) {
    parts.push(`latency p50 ${inMs(run.latency_p50_ms)}, p95 ${inMs(run.latency_p95_ms)}`);
  }
  if (run.late_samples) parts.push(`${run.late_samples} samples came after a flush`);
  if (run.wall_s) parts.push(`ran in ${run.wall_s.toFixed(2)} s`);
  return parts.join(" · ");
}

/**
 * What humans said; an agent that speaks first makes no turn of theirs.
 * @param {Run} run
 */
function turnCount(run) {
  return run.turns.filter((turn) => turn.said !== null).length;
}

/** @param {Tool} tool */
function toolDetails(tool) {
  const took = tool.to_ms === null ? "" : `, ${inMs(tool.to_ms - tool.from_ms)}`;
  const head = make("summary", "", make("code", "", tool.name), make("span", "soft", ` ${tool.state}${took}`));
  const made = make("details", "use", head);
  made.dataset["state"] = tool.state;
  made.append(make("pre", "", pretty(tool.input || "{}")));
  if (tool.output) made.append(make("pre", "", pretty(tool.output)));
  return made;
}

/**
 * @param {Run} run
 * @param {HTMLDetailsElement[]} details
 * @param {Timeline} lanes
 */
function turns(run, details, lanes) {
  const longest = Math.max(1, ...run.turns.map((turn) => stepsLength(turn)));
  const list = make("ol", "turns");
  const before = run.turns[0]?.said === null ? 0 : 1;
  /** @type {{at: number, row: HTMLLIElement}[]} */
  const rows = run.moments
    .filter((moment) => moment.what !== "typed")
    .map((moment) => {
      const about = [moment.what, moment.who, moment.text].filter(Boolean).join(" · ");
      const row = make("li", "moment", make("div", "when", jumpTo(moment.ts_ms, about, lanes)), make("p", "", about));
      row.dataset["what"] = moment.what;
      return { at: moment.ts_ms, row };
    });
  run.turns.forEach((turn, place) => {
    const number = turn.said === null ? "" : String(place + before);
    const jump = jumpTo(turn.at_ms, `turn ${place + before}`, lanes);
    const when = make("div", "when", jump, make("span", "soft", number));
    const talk = make("div", "talk");
    const said = turn.said === null ? undefined : run.captions[turn.said];
    if (said) {
      const line = spoken(said, "human");
      if (turn.interrupts) line.append(make("span", "tag", "interrupts"));
      if (said.kind === "typed") line.append(make("span", "tag", "typed"));
      talk.append(line);
    }
    for (const tool of turn.tools) {
      const found = details[tool];
      if (found) talk.append(found);
    }
    for (const answer of turn.answers) {
      const caption = run.captions[answer];
      if (caption) talk.append(spoken(caption, "agent"));
    }
    rows.push({ at: turn.at_ms, row: make("li", "", when, talk, waterfall(turn, longest)) });
  });
  list.append(...rows.sort((one, other) => one.at - other.at).map(({ row }) => row));
  const others = run.tools.flatMap((_, tool) => {
    const found = details[tool];
    return found && !run.turns.some((turn) => turn.tools.includes(tool)) ? [found] : [];
  });
  return card("Turns", rows.length ? list : make("p", "soft", "Nobody said anything."), ...others);
}

/**
 * @param {number} ms
 * @param {string} what
 * @param {Timeline} lanes
 */
function jumpTo(ms, what, lanes) {
  const jump = button(clock(ms, 1), () => lanes.show(ms), "at");
  jump.setAttribute("aria-label", `${what} at ${clock(ms, 1)}: show in the timeline`);
  return jump;
}

/**
 * @param {Caption} caption
 * @param {string} kind
 */
function spoken(caption, kind) {
  return make("p", kind, make("b", "", caption.who), " ", words(caption));
}

/** @param {Turn} turn */
function stepsLength(turn) {
  const first = turn.steps[0];
  const last = turn.steps.at(-1);
  return first && last ? last.at_ms - first.at_ms : 0;
}

/**
 * From the end of the voice to the ear, all turns on one scale.
 * @param {Turn} turn
 * @param {number} longest
 */
function waterfall(turn, longest) {
  const made = make("div", "waterfall");
  const first = turn.steps[0];
  if (!first || turn.steps.length < 2) return made;
  const bar = make("div", "steps");
  const list = make("ul");
  let since = first.at_ms;
  for (const step of turn.steps.slice(1)) {
    const ms = step.at_ms - since;
    const part = make("i", step.name.replace(" ", "-"));
    part.style.width = `${(100 * ms) / longest}%`;
    part.title = `${inMs(ms)} ${STEP_NAMES.get(step.name) ?? step.name}`;
    bar.append(part);
    list.append(make("li", "", make("i", step.name.replace(" ", "-")), `${step.name} `, make("b", "", `+${Math.round(ms)}`)));
    since = step.at_ms;
  }
  const total = turn.latency_ms === null ? "" : inMs(turn.latency_ms);
  const head = make("p", "total", make("b", "", total), make("span", "soft", ` after ${first.name}`));
  if (total) made.append(head);
  made.append(bar, list);
  return made;
}

// -- what is different -----------------------------------------------------------------------------------------------

/** @param {Change} change */
function changes(change) {
  const title = "Since the accepted run";
  if (!change.known) return card(title, make("p", "soft", "The accepted report has no run of this name."));
  if (!isChanged(change)) return card(title, make("p", "soft", "Nothing is different."));
  const table = make("table", "changed");
  for (const [name, before, after] of change.facts) {
    table.append(make("tr", "", make("th", "", name), make("td", "", make("del", "", before), " ", make("ins", "", after))));
  }
  for (const turn of change.turns) {
    const about = `turn ${turn.number}${turn.kind === "changed" ? "" : ` ${turn.kind}`}`;
    const cell = make("td");
    /** @type {[string, Piece[], string][]} */
    const parts = [
      [turn.who || "said", turn.said, ""], ["answer", turn.answer, ""], ["not heard", turn.unheard, ""],
      ["tools", turn.tools, " "],
    ];
    for (const [name, pieces, between] of parts) {
      if (pieces.length) cell.append(make("p", "", make("b", "", name), " ", ...marked(pieces, between)));
    }
    if (turn.latency_ms) {
      const [before, after] = turn.latency_ms;
      const line = make("p", "", make("b", "", "latency"), " ", make("del", "", inMs(before)), " ", make("ins", "", inMs(after)));
      if (before !== null && after !== null) line.append(` ${after < before ? "−" : "+"}${inMs(Math.abs(after - before))}`);
      cell.append(line);
    }
    table.append(make("tr", "", make("th", "", about), cell));
  }
  return card(title, table);
}

/**
 * @param {Piece[]} pieces
 * @param {string} between
 * @returns {(Node | string)[]}
 */
function marked(pieces, between) {
  return pieces.flatMap(([op, text]) => [op === "=" ? text : make(op === "-" ? "del" : "ins", "", text), between]);
}

// -- begin -----------------------------------------------------------------------------------------------------------

function chosen() {
  const named = /^#run-(\d+)$/.exec(location.hash)?.[1];
  if (named) return Number(named) - 1;
  return Math.max(0, report.runs.findIndex((run) => run.failure !== null));
}

summary();
showRun(chosen());
addEventListener("hashchange", () => {
  showRun(chosen());
  document.querySelector("h2")?.focus();
});

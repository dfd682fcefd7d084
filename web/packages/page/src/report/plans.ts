/** The plans of a run as checklists, each as far as it came. */

import type { Plan, SubTask } from "@realtime-voice/client";
import { make } from "../view/elements.ts";
import { card } from "./parts.ts";

const STATES: Readonly<Record<SubTask["state"], string>> = {
  todo: "To do",
  in_progress: "In progress",
  done: "Done",
  abandoned: "Given up",
};

export function plansCard(plans: readonly Plan[]): HTMLElement {
  return card(plans.length === 1 ? "Plan" : "Plans", ...plans.map(checklist));
}

function checklist({ name, state, subtasks }: Plan): HTMLElement {
  const made = make("div", "plan", make("h4", "", name));
  if (state === "suspended") made.append(make("p", "soft", "Put aside"));
  const rows = subtasks.map((subtask) => {
    const row = make("li", "", make("span", "state soft", STATES[subtask.state]), make("span", "", subtask.name));
    row.dataset["state"] = subtask.state;
    return row;
  });
  made.append(make("ol", "", ...rows));
  return made;
}

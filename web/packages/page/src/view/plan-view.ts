/** Plans as checklists: the name of each, and its subtasks with how far they are. */

import type { Plan, SubTask } from "@realtime-voice/client";
import { say } from "../texts.ts";
import { make, setText, setTextOrHide } from "./elements.ts";
import { KeyedList, type Row } from "./keyed-list.ts";

export class PlanView {
  readonly #box: HTMLElement;
  readonly #plans: KeyedList<Plan>;

  constructor(box: HTMLElement) {
    this.#box = box;
    this.#plans = new KeyedList<Plan>(box, ({ id }) => id, makePlan);
  }

  render(plans: readonly Plan[]): void {
    this.#plans.update(plans);
    // A long plan scrolls, also by keyboard. An empty box stays: what is announced needs a place that was there before.
    this.#box.tabIndex = plans.length > 0 ? 0 : -1;
  }
}

function makePlan(): Row<Plan> {
  const name = make("h2", "");
  name.dir = "auto";
  const state = make("p", "plan-state");
  const list = make("ol", "");
  const subtasks = new KeyedList<SubTask>(list, (_, place) => String(place), makeSubTask);
  return {
    root: make("section", "plan", name, state, list),
    update(plan) {
      setText(name, plan.name);
      setTextOrHide(state, plan.state === "suspended" ? say("plan.suspended") : "");
      subtasks.update(plan.subtasks);
    },
  };
}

function makeSubTask(): Row<SubTask> {
  const state = make("span", "state");
  const name = make("span", "name");
  name.dir = "auto";
  const root = make("li", "", state, name);
  // Of a state that changes, a screen reader reads whose it is.
  root.ariaAtomic = "true";
  return {
    root,
    update(subtask) {
      root.dataset["state"] = subtask.state;
      setText(state, say(`plan.${subtask.state}`));
      setText(name, subtask.name);
    },
  };
}

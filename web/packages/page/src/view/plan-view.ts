/** Plans as checklists: the name of each, its subtasks with how far they are, and what changes them by hand. */

import type { PlanEdit, SubTask } from "@realtime-voice/client";
import type { AgentPlan } from "../captions.ts";
import { say } from "../texts.ts";
import { make, setText, setTextOrHide } from "./elements.ts";
import { KeyedList, type Row } from "./keyed-list.ts";

/** As the server bounds a name. */
const MAX_NAME = 200;

/** Receives what the user changes; the plan stays as it is until the server tells otherwise. */
export type EditHandler = (planId: string, edit: PlanEdit) => void;
type Send = (edit: PlanEdit) => void;

interface Step {
  readonly subtask: SubTask;
  readonly isEditable: boolean;
  /** Whether the buttons that change it are shown. */
  readonly isOpen: boolean;
}

export class PlanView {
  readonly #box: HTMLElement;
  readonly #plans: KeyedList<AgentPlan>;

  /** Without `onEdit` the plans are only shown. */
  constructor(box: HTMLElement, onEdit?: EditHandler) {
    this.#box = box;
    this.#plans = new KeyedList<AgentPlan>(
      box,
      ({ agentId, plan }) => `${agentId} ${plan.id}`,
      ({ plan: { id } }) => makePlan(onEdit && ((edit) => onEdit(id, edit))),
    );
  }

  render(plans: readonly AgentPlan[]): void {
    const hadFocus = this.#box.contains(document.activeElement);
    this.#plans.update(plans);
    // A long plan scrolls, also by keyboard. An empty box stays: what is announced needs a place that was there before.
    this.#box.tabIndex = plans.length > 0 ? 0 : -1;
    // What had the focus is gone: the keyboard goes on at the plan.
    if (hadFocus && !this.#box.contains(document.activeElement)) this.#box.focus({ preventScroll: true });
  }
}

function makePlan(send: Send | undefined): Row<AgentPlan> {
  const who = make("p", "plan-of");
  const name = make("h2", "");
  who.dir = name.dir = "auto";
  const state = make("p", "plan-state");
  const list = make("ol", "");
  const steps = new KeyedList<Step>(list, ({ subtask }, place) => subtask.id || String(place), () => makeStep(send));
  const root = make("section", "plan", who, name, state, list);
  let shown: AgentPlan | null = null;
  let isOpen = false;
  const draw = (): void => {
    if (!shown) return;
    const { plan, agentName, isEditable } = shown;
    setTextOrHide(who, agentName === "" ? "" : say("plan.of", { name: agentName }));
    setText(name, plan.name);
    setTextOrHide(state, plan.state === "suspended" ? say("plan.suspended") : "");
    steps.update(plan.subtasks.map((subtask) => ({ subtask, isEditable, isOpen: isOpen && isEditable })));
    tools?.update(plan.name, isEditable, isOpen);
  };
  const turn = (): void => {
    isOpen = !isOpen;
    draw();
  };
  const tools = send && makeTools(root, send, turn);
  return {
    root,
    update(plan) {
      shown = plan;
      draw();
    },
  };
}

/** The button that shows what changes a plan, and what adds to it and ends it. */
function makeTools(root: HTMLElement, send: Send, turn: () => void): { update(name: string, isEditable: boolean, isOpen: boolean): void } {
  const open = makeButton("plan-open", turn);
  const add = makeNameForm(() => say("plan.add"), (name) => send({ type: "add_subtask", name }));
  const done = makeButton("", () => send({ type: "end_plan", state: "done" }));
  const drop = makeButton("", () => send({ type: "end_plan", state: "abandoned" }));
  const ends = make("div", "plan-ends", done, drop);
  const box = make("div", "plan-tools", open, add.root, ends);
  // Buttons are no news of the plan.
  box.ariaLive = "off";
  root.append(box);
  return {
    update(name, isEditable, isOpen) {
      box.hidden = !isEditable;
      open.ariaExpanded = String(isOpen);
      label(open, say("plan.change"), say("plan.changeName", { name }));
      add.root.hidden = ends.hidden = !isOpen;
      add.label(say("plan.newStep"));
      label(done, say("plan.end"), say("plan.endName", { name }));
      label(drop, say("plan.drop"), say("plan.dropName", { name }));
    },
  };
}

function makeStep(send: Send | undefined): Row<Step> {
  const tick = make("input", "tick");
  tick.type = "checkbox";
  const state = make("span", "state");
  const name = make("span", "name");
  name.dir = "auto";
  const root = make("li", "", tick, state, name);
  // Of a state that changes, a screen reader reads whose it is.
  root.ariaAtomic = "true";
  let shown: SubTask | null = null;
  let tools: ReturnType<typeof makeStepTools> | null = null;
  tick.addEventListener("change", () => {
    const isDone = tick.checked;
    // It is done once the server says so.
    tick.checked = !isDone;
    if (shown) send?.({ type: "mark_subtask", subtask_id: shown.id, state: isDone ? "done" : "todo" });
  });
  return {
    root,
    update({ subtask, isEditable, isOpen }) {
      shown = subtask;
      root.dataset["state"] = subtask.state;
      tick.hidden = !send || !isEditable;
      tick.checked = subtask.state === "done";
      tick.disabled = subtask.state === "abandoned";
      tick.ariaLabel = subtask.name;
      setText(state, say(`plan.${subtask.state}`));
      setText(name, subtask.name);
      if (send && isOpen && !tools) root.append((tools = makeStepTools(name, send)).root);
      tools?.update(subtask, isOpen);
    },
  };
}

/** What changes a subtask: `name` is where its name stands, which a field takes the place of while it is written anew. */
function makeStepTools(name: HTMLElement, send: Send): { root: HTMLElement; update(subtask: SubTask, isOpen: boolean): void } {
  let shown: SubTask | null = null;
  const change = (edit: (subtask_id: string) => PlanEdit): void => {
    if (shown) send(edit(shown.id));
  };
  let isWritten = false;
  const write = (begins: boolean): void => {
    isWritten = begins;
    form.root.hidden = !begins;
    name.hidden = begins;
  };
  const form = makeNameForm(() => say("plan.save"), (written) => {
    if (written !== shown?.name) change((subtask_id) => ({ type: "rename_subtask", subtask_id, name: written }));
    write(false);
    rename.focus();
  });
  form.root.hidden = true;
  form.root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    // It stops this, and not the agent.
    event.stopPropagation();
    write(false);
    rename.focus();
  });
  const rename = makeButton("", () => {
    if (isWritten) return write(false);
    form.begin(shown?.name ?? "");
    write(true);
    form.focus();
  });
  const giveUp = makeButton("", () => {
    const state = shown?.state === "abandoned" ? "todo" : "abandoned";
    change((subtask_id) => ({ type: "mark_subtask", subtask_id, state }));
  });
  const remove = makeButton("", () => change((subtask_id) => ({ type: "remove_subtask", subtask_id })));
  const root = make("div", "step-tools", form.root, rename, giveUp, remove);
  root.ariaLive = "off";
  return {
    root,
    update(subtask, isOpen) {
      shown = subtask;
      if (!isOpen) write(false);
      root.hidden = !isOpen;
      const called = { name: subtask.name };
      form.label(say("plan.nameOf", called));
      label(rename, say("plan.rename"), say("plan.renameName", called));
      if (subtask.state === "abandoned") label(giveUp, say("plan.takeUp"), say("plan.takeUpName", called));
      else label(giveUp, say("plan.giveUp"), say("plan.giveUpName", called));
      giveUp.hidden = subtask.state === "done";
      label(remove, say("plan.remove"), say("plan.removeName", called));
    },
  };
}

/** A field for a name with its button. */
function makeNameForm(button: () => string, onName: (name: string) => void): { root: HTMLFormElement; label(text: string): void; begin(name: string): void; focus(): void } {
  const field = make("input", "");
  field.type = "text";
  field.maxLength = MAX_NAME;
  field.required = true;
  field.dir = "auto";
  field.autocomplete = "off";
  const submit = make("button", "");
  const root = make("form", "plan-name", field, submit);
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = field.value.trim();
    if (name === "") return;
    field.value = "";
    onName(name);
  });
  return {
    root,
    label(text) {
      field.ariaLabel = field.placeholder = text;
      setText(submit, button());
    },
    begin(name) {
      field.value = name;
    },
    focus() {
      field.focus();
      field.select();
    },
  };
}

function makeButton(className: string, onClick: () => void): HTMLButtonElement {
  const button = make("button", className);
  button.type = "button";
  button.addEventListener("click", onClick);
  return button;
}

/** Writes what a button says, and what it is called where there are several alike. */
function label(button: HTMLElement, text: string, name: string): void {
  setText(button, text);
  button.ariaLabel = name;
}

/** The question whether a tool may run, with a button for each answer. */

import { say } from "../texts.ts";
import { make, setText } from "./elements.ts";

/** What the question is about: a tool and its arguments as JSON. */
export interface Asked {
  readonly name: string;
  readonly input: string;
}

export interface ConfirmCard {
  readonly root: HTMLElement;
  /** The row of buttons, last in `root`. */
  readonly buttons: HTMLElement;
  /** Writes the question, and enables or disables its buttons. */
  update(asked: Asked, isEnabled: boolean): void;
}

export function makeConfirmCard(onAnswer: (confirmed: boolean) => void): ConfirmCard {
  const root = make("div", "confirm");
  root.setAttribute("role", "group");
  const question = make("p", "question");
  question.dir = "auto";
  const buttons = make("div", "buttons");
  const both = [make("button", "allow"), make("button", "refuse")] as const;
  buttons.append(...both);
  root.append(question, buttons);
  for (const button of both) {
    button.type = "button";
    button.addEventListener("click", () => onAnswer(button === both[0]));
  }
  return {
    root,
    buttons,
    update({ name, input }, isEnabled) {
      const bare = input === "" || input === "{}";
      setText(question, bare ? say("confirm.question", { name }) : say("confirm.questionWith", { name, input }));
      root.setAttribute("aria-label", say("confirm.group", { name }));
      setText(both[0], say("confirm.allow"));
      setText(both[1], say("confirm.refuse"));
      for (const button of both) button.disabled = !isEnabled;
    },
  };
}

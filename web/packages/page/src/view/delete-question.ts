/** A button that deletes a call after one question. */

import { say } from "../texts.ts";
import { make, setText } from "./elements.ts";

export interface DeleteQuestion {
  /** The button, and then the question. */
  readonly parts: readonly [HTMLButtonElement, HTMLElement];
  /** Writes the question, and what the button is called for screen readers. */
  ask(question: string, label: string): void;
}

/** `onYes` is called when the user has agreed. */
export function makeDeleteQuestion(onYes: () => void): DeleteQuestion {
  const remove = make("button", "delete", say("delete.delete"));
  const question = make("div", "question");
  const words = make("span", "");
  const yes = make("button", "yes", say("delete.delete"));
  const no = make("button", "no", say("delete.keep"));
  for (const button of [remove, yes, no]) button.type = "button";
  question.append(words, yes, no);
  question.setAttribute("role", "group");
  question.hidden = true;
  const show = (isAsking: boolean): void => {
    question.hidden = !isAsking;
    remove.hidden = isAsking;
    (isAsking ? no : remove).focus();
  };
  remove.addEventListener("click", () => show(true));
  no.addEventListener("click", () => show(false));
  question.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") show(false);
  });
  yes.addEventListener("click", () => {
    show(false);
    onYes();
  });
  return {
    parts: [remove, question],
    ask(asked, label) {
      setText(words, asked);
      question.setAttribute("aria-label", asked);
      remove.setAttribute("aria-label", label);
    },
  };
}

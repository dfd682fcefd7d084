/** A user's calls: each opens its page, and can be deleted after one question. */

import type { CallInfo } from "../call-reader.ts";
import { endedWords, startedWords } from "../call-words.ts";
import { make, setText } from "./elements.ts";
import { KeyedList, type Row } from "./keyed-list.ts";

export class CallListView {
  readonly #box: HTMLElement;
  readonly #rows: KeyedList<CallInfo>;

  /** `onDelete` is called when the user has agreed. */
  constructor(box: HTMLElement, urlOf: (callId: string) => string, onDelete: (call: CallInfo) => void) {
    this.#box = box;
    this.#rows = new KeyedList<CallInfo>(box, ({ call_id }) => call_id, (call) => makeRow(urlOf(call.call_id), onDelete));
  }

  update(calls: readonly CallInfo[]): void {
    const hadFocus = this.#box.contains(document.activeElement);
    this.#rows.update(calls);
    this.#box.hidden = calls.length === 0;
    // The focused row may be deleted: the keyboard continues at the first row, not at the top of the page.
    if (hadFocus && !this.#box.contains(document.activeElement)) this.#box.querySelector("a")?.focus();
  }
}

function makeRow(url: string, onDelete: (call: CallInfo) => void): Row<CallInfo> {
  const root = make("li", "call");
  const link = make("a", "open");
  link.href = url;
  const name = make("span", "name");
  const state = make("span", "state");
  link.append(name, state);
  const remove = make("button", "delete", "Delete");
  const question = make("div", "question");
  const words = make("span", "");
  const yes = make("button", "yes", "Delete");
  const no = make("button", "no", "Keep");
  for (const button of [remove, yes, no]) button.type = "button";
  question.append(words, yes, no);
  question.setAttribute("role", "group");
  question.hidden = true;
  root.append(link, remove, question);
  let call: CallInfo | null = null;
  const ask = (isAsking: boolean): void => {
    question.hidden = !isAsking;
    remove.hidden = isAsking;
    (isAsking ? no : remove).focus();
  };
  remove.addEventListener("click", () => ask(true));
  no.addEventListener("click", () => ask(false));
  question.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") ask(false);
  });
  yes.addEventListener("click", () => {
    ask(false);
    if (call) onDelete(call);
  });
  return {
    root,
    update(told) {
      call = told;
      const isLive = told.live;
      root.dataset["live"] = String(isLive);
      setText(name, startedWords(told));
      setText(state, isLive ? "Live" : endedWords(told));
      remove.setAttribute("aria-label", `Delete the call ${startedWords(told)}`);
      setText(words, isLive ? "End this call and delete it?" : "Delete this call for good?");
      question.setAttribute("aria-label", words.textContent ?? "");
    },
  };
}

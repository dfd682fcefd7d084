/** A user's calls by day: each opens its page, and can be deleted after one question. */

import type { CallInfo } from "../call-reader.ts";
import { dayWords, deleteQuestion, errorWords, firstWords, listedWords, oddWords } from "../call-words.ts";
import { say } from "../texts.ts";
import { makeDeleteQuestion } from "./delete-question.ts";
import { make, setText, setTextOrHide } from "./elements.ts";
import { KeyedList, type Row } from "./keyed-list.ts";

interface Listed {
  readonly call: CallInfo;
  /** The day, where it is the first call of one; else empty. */
  readonly day: string;
}

export class CallListView {
  readonly #box: HTMLElement;
  readonly #rows: KeyedList<Listed>;

  /** `onDelete` is called when the user has agreed. */
  constructor(box: HTMLElement, urlOf: (callId: string) => string, onDelete: (call: CallInfo) => void) {
    this.#box = box;
    this.#rows = new KeyedList<Listed>(
      box,
      ({ call }) => call.call_id,
      ({ call }) => makeRow(urlOf(call.call_id), onDelete),
    );
  }

  update(calls: readonly CallInfo[]): void {
    const hadFocus = this.#box.contains(document.activeElement);
    const now = new Date();
    let before = "";
    const listed = calls.map((call): Listed => {
      const day = dayWords(call.created_at, now);
      const isFirst = day !== before;
      before = day;
      return { call, day: isFirst ? day : "" };
    });
    this.#rows.update(listed);
    this.#box.hidden = calls.length === 0;
    // The focused row may be deleted: the keyboard continues at the first row, not at the top of the page.
    if (hadFocus && !this.#box.contains(document.activeElement)) this.#box.querySelector("a")?.focus();
  }
}

function makeRow(url: string, onDelete: (call: CallInfo) => void): Row<Listed> {
  const root = make("li", "call");
  const dayLine = make("h2", "day");
  const link = make("a", "open");
  link.href = url;
  const name = make("span", "name");
  name.dir = "auto";
  const about = make("span", "facts");
  const details = make("span", "details");
  const tags = make("span", "tags");
  const live = make("span", "tag live", say("calls.live"));
  const odd = make("span", "tag odd");
  const errors = make("span", "tag errors");
  const sound = make("span", "tag sound", say("calls.withSound"));
  tags.append(live, odd, errors, sound);
  about.append(details, tags);
  link.append(name, about);
  let call: CallInfo | null = null;
  const remove = makeDeleteQuestion(() => call && onDelete(call));
  root.append(dayLine, link, ...remove.parts);
  return {
    root,
    update({ call: told, day }) {
      call = told;
      root.dataset["live"] = String(told.live);
      setTextOrHide(dayLine, day);
      setText(name, firstWords(told));
      name.classList.toggle("unsaid", !told.first_words);
      setText(details, listedWords(told));
      live.hidden = !told.live;
      setTextOrHide(odd, oddWords(told));
      setTextOrHide(errors, errorWords(told.errors));
      sound.hidden = told.recorded !== true;
      remove.ask(deleteQuestion(told), say("delete.named", { words: firstWords(told) }));
    },
  };
}

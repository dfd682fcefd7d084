/** Makes a test case of a call: a file to download, or a folder on the server's machine. */

import { type CallInfo, type CallShelf, HttpProblem, problemWords } from "../call-reader.ts";
import { byId } from "./elements.ts";
import type { NoticesView } from "./notices-view.ts";

const KEY = "case";

export class CaseView {
  readonly #form: HTMLFormElement;
  #how: CallInfo["case"] = null;

  constructor(form: HTMLFormElement, shelf: CallShelf, callId: string, notices: NoticesView) {
    this.#form = form;
    const name = byId("case-name", HTMLInputElement);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      notices.remove(KEY);
      const called = name.value.trim();
      try {
        if (this.#how === "save") {
          const folder = await shelf.saveCase(callId, called);
          notices.show(KEY, { what: `Saved as ${folder}.`, todo: "Look at what its case.json expects, and write the test." }, "hint");
        } else download(await shelf.case(callId, called), `${called}.zip`);
      } catch (error) {
        const todo = error instanceof HttpProblem && error.told !== "" ? error.told : problemWords(error).what;
        notices.show(KEY, { what: "No test case was made.", todo });
      }
    });
  }

  /** `info` is of a call that can become a case; null hides the form. */
  update(info: CallInfo | null): void {
    this.#how = info?.case ?? null;
    this.#form.hidden = this.#how === null;
  }
}

function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after this click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

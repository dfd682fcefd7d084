/** Makes a test case of a call: a file to download, or a folder on the server's machine. */

import { type CallInfo, type CallShelf, HttpProblem, problemWords } from "../call-reader.ts";
import { byId, make } from "./elements.ts";

export class CaseView {
  readonly #box: HTMLDetailsElement;
  #how: CallInfo["case"] = null;

  constructor(shelf: CallShelf, callId: string) {
    this.#box = byId("case", HTMLDetailsElement);
    const name = byId("case-name", HTMLInputElement);
    const result = byId("case-result", HTMLElement);
    this.#box.addEventListener("toggle", () => this.#box.open && name.focus());
    byId("case-form", HTMLFormElement).addEventListener("submit", async (event) => {
      event.preventDefault();
      result.replaceChildren();
      const called = name.value.trim();
      try {
        if (this.#how === "save") {
          const { folder, command } = await shelf.saveCase(callId, called);
          result.replaceChildren(...saved(folder, command, "Run it where the server was started:"));
        } else {
          download(await shelf.case(callId, called), `${called}.zip`);
          result.replaceChildren(...saved(`${called}.zip, among your downloads`, `realtime report ${called}`, "Unpack it, and run it there:"));
        }
        result.className = "done";
      } catch (error) {
        const why = error instanceof HttpProblem && error.told !== "" ? error.told : problemWords(error).what;
        result.replaceChildren(make("strong", "", "No test case was made."), ` ${why}`);
        result.className = "failed";
      }
    });
  }

  /** `info` is of a call that can become a case; null hides the form. */
  update(info: CallInfo | null): void {
    this.#how = info?.case ?? null;
    this.#box.hidden = this.#how === null;
  }
}

function saved(where: string, command: string, todo: string): readonly (Node | string)[] {
  return [make("strong", "", "Saved:"), " ", make("span", "where", where), `. ${todo} `, make("code", "", command)];
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

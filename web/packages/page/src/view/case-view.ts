/** Makes a test case of a call: a file to download, or a folder on the server's machine. */

import { type CallInfo, type CallShelf, reasonWords } from "../call-reader.ts";
import { say } from "../texts.ts";
import { download } from "./download.ts";
import { byId, make } from "./elements.ts";

export class CaseView {
  readonly #box: HTMLDetailsElement;
  #how: CallInfo["case"] = null;

  constructor(shelf: CallShelf, callId: string) {
    this.#box = byId("case", HTMLDetailsElement);
    const name = byId("case-name", HTMLInputElement);
    name.title = say("case.nameHint");
    const result = byId("case-result", HTMLElement);
    this.#box.addEventListener("toggle", () => this.#box.open && name.focus());
    byId("case-form", HTMLFormElement).addEventListener("submit", async (event) => {
      event.preventDefault();
      result.replaceChildren();
      const called = name.value.trim();
      try {
        if (this.#how === "save") {
          const { folder, command } = await shelf.saveCase(callId, called);
          result.replaceChildren(...saved(folder, command, say("case.run")));
        } else {
          download(await shelf.case(callId, called), `${called}.zip`);
          const where = say("case.downloaded", { name: `${called}.zip` });
          result.replaceChildren(...saved(where, `realtime report ${called}`, say("case.unpack")));
        }
        result.className = "done";
      } catch (error) {
        result.replaceChildren(make("strong", "", say("case.failed")), ` ${reasonWords(error)}`);
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
  return [make("strong", "", say("case.saved")), " ", make("span", "where", where), `. ${todo} `, make("code", "", command)];
}

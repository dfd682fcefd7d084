/** What can be said first: sentences to say or to choose, until the user has said something. */

import { EN } from "../texts/en.ts";
import { say } from "../texts.ts";
import { byId, make } from "./elements.ts";

/** What every agent can answer; sums and jokes are not every agent's business. */
const DEFAULT = "start.can";

export class StartView {
  readonly #root = byId("start", HTMLElement);
  readonly #list = byId("suggestions", HTMLUListElement);
  readonly #onChoice: (words: string) => void;
  #given: readonly string[] = [];
  #englishOnly = false;

  /** `onChoice` gets the sentence that was chosen. */
  constructor(onChoice: (words: string) => void) {
    this.#onChoice = onChoice;
  }

  /** `given` are the agent's own sentences; none: the page's own, in English where the model knows no other. */
  offer(given: readonly string[], englishOnly: boolean): void {
    this.#given = given;
    this.#englishOnly = englishOnly;
    this.writeTexts();
  }

  set hidden(hidden: boolean) {
    this.#root.hidden = hidden;
  }

  writeTexts(): void {
    const own = this.#englishOnly ? EN[DEFAULT] : say(DEFAULT);
    const sentences = this.#given.length > 0 ? this.#given : [own];
    this.#list.replaceChildren(...sentences.map((words) => this.#chip(words)));
  }

  #chip(words: string): HTMLElement {
    const button = make("button", "", words);
    button.type = "button";
    button.dir = "auto";
    if (this.#englishOnly) button.lang = "en";
    button.addEventListener("click", () => this.#onChoice(words));
    return make("li", "", button);
  }
}

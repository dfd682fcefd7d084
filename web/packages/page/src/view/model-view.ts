/** The list of models, and the sentence about who hears the user. */

import { type Offer, type OfferedModel, choiceWords, hearingWords, modelToBeginWith } from "../models.ts";
import { setText } from "./elements.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

export class ModelView {
  readonly #label: HTMLElement;
  readonly #list: HTMLSelectElement;
  readonly #hearing: HTMLElement;
  #offer: readonly OfferedModel[] = [];

  /** `onChoice` is called with each model that the user chooses. */
  constructor(label: HTMLElement, list: HTMLSelectElement, hearing: HTMLElement, onChoice: (model: OfferedModel) => void) {
    this.#label = label;
    this.#list = list;
    this.#hearing = hearing;
    list.addEventListener("change", () => {
      this.#sayWhoHears();
      if (this.chosen) onChoice(this.chosen);
    });
  }

  /** The model of the next call; null: the server decides. */
  get chosen(): OfferedModel | null {
    return this.#offer.find(({ name }) => name === this.#list.value) ?? null;
  }

  set disabled(disabled: boolean) {
    this.#list.disabled = disabled;
  }

  show(offer: Offer, remembered: string | null): void {
    const first = modelToBeginWith(offer, remembered);
    this.#offer = offer.models;
    this.#list.replaceChildren(
      ...offer.models.map((model) => {
        const option = new Option(choiceWords(model), model.name, false, model === first);
        option.disabled = model.missing !== null;
        return option;
      }),
    );
    this.#label.hidden = offer.models.length === 0;
    this.#sayWhoHears();
  }

  #sayWhoHears(): void {
    const words = this.chosen ? hearingWords(this.chosen, LOOPBACK.includes(location.hostname)) : "";
    setText(this.#hearing, words);
    this.#hearing.classList.toggle("costs", this.chosen?.mayCost ?? false);
  }
}

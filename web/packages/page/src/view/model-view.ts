/** The list of models, and the sentence about who hears the user. */

import { type Hearing, type Offer, type OfferedModel, choiceWords, hearingWords, modelToBeginWith } from "../models.ts";
import { setText } from "./elements.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

export class ModelView {
  readonly #label: HTMLElement;
  readonly #list: HTMLSelectElement;
  readonly #hearing: HTMLElement;
  #offer: readonly OfferedModel[] = [];
  /** Who hears where nothing can be chosen. */
  #otherwise: Hearing | null = null;

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

  show(offer: Offer, remembered: string | null, otherwise: Hearing | null): void {
    const first = modelToBeginWith(offer, remembered);
    this.#offer = offer.models;
    this.#otherwise = otherwise;
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

  /** Writes what the language changes. */
  writeTexts(): void {
    for (const [place, model] of this.#offer.entries()) {
      const option = this.#list.options[place];
      if (option) option.text = choiceWords(model);
    }
    this.#sayWhoHears();
  }

  #sayWhoHears(): void {
    const hearing = this.chosen ?? this.#otherwise;
    setText(this.#hearing, hearing ? hearingWords(hearing, LOOPBACK.includes(location.hostname)) : "");
    this.#hearing.classList.toggle("costs", hearing?.mayCost ?? false);
  }
}

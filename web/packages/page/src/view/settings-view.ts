/** The settings: devices, volume, turns, instructions, recording. It can be opened before and during a call. */

import type { AudioDevice, AudioDevices } from "@realtime-voice/client";
import { INTERRUPTIONS, PAUSES_MS, type Pause, type Preferences } from "../preferences.ts";
import { type Key, say } from "../texts.ts";
import { byId, setText } from "./elements.ts";

/** When a changed setting holds. */
export type Holds = "now" | "nextCall" | null;

export class SettingsView {
  readonly #dialog = byId("settings", HTMLDialogElement);
  readonly #microphone = byId("microphone", HTMLSelectElement);
  readonly #speaker = byId("speaker", HTMLSelectElement);
  readonly #speakerRow = byId("speaker-row", HTMLElement);
  readonly #unnamed = byId("devices-unnamed", HTMLElement);
  readonly #volume = byId("volume", HTMLInputElement);
  readonly #pushToTalk = byId("push-to-talk", HTMLInputElement);
  readonly #interruption = byId("interruption", HTMLSelectElement);
  readonly #pause = byId("pause", HTMLSelectElement);
  readonly #instructions = byId("instructions", HTMLTextAreaElement);
  readonly #singleKeys = byId("single-keys", HTMLInputElement);
  readonly #record = byId("record", HTMLInputElement);
  readonly #holds = byId("holds", HTMLElement);
  #devices: AudioDevices = { microphones: [], speakers: [] };
  #preferences: Preferences;

  /** `onChange` gets all preferences after each change, `onConsent` the answer about recordings. */
  constructor(
    preferences: Preferences,
    consented: boolean,
    onChange: (changed: Preferences) => void,
    onConsent: (agreed: boolean) => void,
  ) {
    this.#preferences = preferences;
    this.#volume.valueAsNumber = preferences.volume;
    this.#pushToTalk.checked = preferences.pushToTalk;
    this.#instructions.value = preferences.instructions;
    this.#singleKeys.checked = preferences.singleKeys;
    this.#record.checked = consented;
    const changed = (): void => {
      this.#preferences = this.#read();
      this.#showTurns();
      onChange(this.#preferences);
    };
    const controls = [this.#microphone, this.#speaker, this.#pushToTalk, this.#interruption, this.#pause, this.#singleKeys];
    for (const control of controls) control.addEventListener("change", changed);
    this.#volume.addEventListener("input", changed);
    byId("instructions-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      changed();
    });
    this.#record.addEventListener("change", () => onConsent(this.#record.checked));
    byId("close-settings", HTMLButtonElement).addEventListener("click", () => this.#dialog.close());
    byId("open-settings", HTMLButtonElement).addEventListener("click", () => this.open());
    // Typed instructions hold without the button as well.
    this.#dialog.addEventListener("close", () => {
      if (this.#instructions.value !== this.#preferences.instructions) changed();
    });
    closeOnBackdrop(this.#dialog);
    this.writeTexts();
  }

  open(): void {
    this.tell(null);
    if (!this.#dialog.open) this.#dialog.showModal();
  }

  get isOpen(): boolean {
    return this.#dialog.open;
  }

  set consented(consented: boolean) {
    this.#record.checked = consented;
  }

  /** Says from when on the last change holds. */
  tell(holds: Holds): void {
    setText(this.#holds, holds === null ? "" : say(holds === "now" ? "settings.applied" : "settings.nextCall"));
  }

  /** Shows the devices that there are, and which ones are in use. */
  showDevices(devices: AudioDevices, microphoneId: string, speakerId: string): void {
    this.#devices = devices;
    showChoice(this.#microphone, devices.microphones, microphoneId);
    showChoice(this.#speaker, devices.speakers, speakerId);
    this.#speakerRow.hidden = devices.speakers.length === 0;
    this.#unnamed.hidden = devices.microphones.some(({ label }) => label !== "");
  }

  /** Writes what the language changes. */
  writeTexts(): void {
    const { interruption, pause, microphone, speaker } = this.#preferences;
    showWords(this.#interruption, INTERRUPTIONS, (one) => `settings.over.${one}`, interruption);
    showWords(this.#pause, Object.keys(PAUSES_MS) as Pause[], (one) => `settings.pause.${one}`, pause);
    this.showDevices(this.#devices, microphone, speaker);
    this.#showTurns();
    this.tell(null);
  }

  /** Who presses for each turn decides about its end alone. */
  #showTurns(): void {
    this.#interruption.disabled = this.#pause.disabled = this.#pushToTalk.checked;
  }

  #read(): Preferences {
    return {
      microphone: this.#microphone.value,
      speaker: this.#speaker.value,
      volume: this.#volume.valueAsNumber,
      pushToTalk: this.#pushToTalk.checked,
      interruption: INTERRUPTIONS.find((one) => one === this.#interruption.value) ?? "selective",
      pause: this.#pause.value as Pause,
      instructions: this.#instructions.value,
      singleKeys: this.#singleKeys.checked,
    };
  }
}

/** A click beside a dialog closes it. */
export function closeOnBackdrop(dialog: HTMLDialogElement): void {
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}

function showChoice(list: HTMLSelectElement, devices: readonly AudioDevice[], chosen: string): void {
  const named = devices.map(({ id, label }, place) => new Option(label || say("settings.unnamed", { number: place + 1 }), id));
  list.replaceChildren(new Option(say("settings.default"), ""), ...named);
  list.value = devices.some(({ id }) => id === chosen) ? chosen : "";
}

function showWords<One extends string>(list: HTMLSelectElement, all: readonly One[], key: (one: One) => Key, chosen: One): void {
  list.replaceChildren(...all.map((one) => new Option(say(key(one)), one, false, one === chosen)));
}

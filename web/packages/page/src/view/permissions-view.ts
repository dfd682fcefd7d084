/** What may be done without asking, in the settings, and a button that forgets it. */

import type { PermissionRule, PermissionUpdate } from "@realtime-voice/client";
import { listedRule, modeWords } from "../consent-words.ts";
import { say } from "../texts.ts";
import { byId, make, setText, setTextOrHide } from "./elements.ts";
import { KeyedList } from "./keyed-list.ts";

export class PermissionsView {
  readonly #list = byId("rules-in-force", HTMLUListElement);
  readonly #state = byId("rules-state", HTMLElement);
  readonly #mode = byId("rules-mode", HTMLElement);
  readonly #rules: KeyedList<PermissionRule>;

  readonly #hint = byId("rules-hint", HTMLElement);

  constructor(onForget: () => void) {
    this.#rules = new KeyedList<PermissionRule>(this.#list, (_, place) => String(place), () => {
      const root = make("li", "");
      root.dir = "auto";
      return { root, update: (rule) => setText(root, listedRule(rule)) };
    });
    const forgotten = byId("rules-forgotten", HTMLElement);
    byId("forget-rules", HTMLButtonElement).addEventListener("click", () => {
      onForget();
      setText(forgotten, say("rules.forgotten"));
    });
    byId("open-settings", HTMLElement).addEventListener("click", () => setText(forgotten, ""));
  }

  /** Whether what is allowed ends with the call. */
  endWithCall(ends: boolean): void {
    setText(this.#hint, say(ends ? "rules.endWithCall" : "rules.hint"));
  }

  /** Shows what is in force; null where no call told it. */
  render(permissions: PermissionUpdate | null): void {
    const rules = permissions?.rules ?? [];
    this.#rules.update(rules);
    this.#list.hidden = rules.length === 0;
    setTextOrHide(this.#mode, modeWords(permissions?.mode ?? "default"));
    setTextOrHide(this.#state, permissions === null ? say("rules.unknown") : rules.length === 0 ? say("rules.none") : "");
  }
}

/** A quiet line in the conversation that opens to say more. */

import { make, setText } from "./elements.ts";

export interface NoteLine {
  readonly root: HTMLDetailsElement;
  /** Writes the line and what it opens to: lines with a name or without one. Until then it is hidden. */
  update(line: string, more: readonly (readonly [name: string, words: string])[]): void;
}

export function makeNoteLine(className: string): NoteLine {
  const root = make("details", `note ${className}`);
  const summary = make("summary", "");
  const list = make("dl", "");
  root.append(summary, list);
  root.hidden = true;
  let shown = "";
  return {
    root,
    update(line, more) {
      root.hidden = false;
      setText(summary, line);
      const written = JSON.stringify(more);
      if (written === shown) return;
      shown = written;
      list.replaceChildren(...more.map(([name, words]) => {
        const told = make("dd", "", words);
        told.dir = "auto";
        return make("div", "", make("dt", "", name), told);
      }));
    },
  };
}

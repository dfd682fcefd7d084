/** The tools that work in the background of the call, each with a button that stops it. */

import type { BackgroundTool } from "../call-links.ts";
import { say } from "../texts.ts";
import { nameWords } from "../tool-words.ts";
import { byId, make, setText, setTextOrHide } from "./elements.ts";
import { KeyedList, type Row } from "./keyed-list.ts";

export class BackgroundView {
  readonly #root = byId("background", HTMLElement);
  readonly #list: KeyedList<BackgroundTool>;

  constructor(onStop: (tool: BackgroundTool) => void) {
    this.#list = new KeyedList<BackgroundTool>(
      byId("background-tools", HTMLUListElement),
      ({ id }) => id,
      (tool) => makeRow(tool, onStop),
    );
  }

  render(tools: readonly BackgroundTool[]): void {
    this.#root.hidden = tools.length === 0;
    this.#list.update(tools);
  }
}

function makeRow(tool: BackgroundTool, onStop: (tool: BackgroundTool) => void): Row<BackgroundTool> {
  const name = make("span", "name", nameWords(tool.tool));
  const latest = make("span", "latest");
  latest.dir = "auto";
  const stop = make("button", "");
  stop.type = "button";
  stop.addEventListener("click", () => {
    stop.disabled = true;
    onStop(tool);
  });
  const root = make("li", "", name, latest, stop);
  return {
    root,
    update(changed) {
      setTextOrHide(latest, changed.latest);
      setText(stop, say("tool.stop"));
      stop.setAttribute("aria-label", say("tool.stopName", { name: nameWords(tool.tool) }));
    },
  };
}

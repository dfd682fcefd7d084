/** Draws the captions as bubbles; keeps an element for each bubble and writes only what changed. */

import { type Bubble, type Captions, type Latency, visibleBubbles } from "../captions.ts";
import { type ConfirmCard, makeConfirmCard } from "./confirm-card.ts";
import { keepAtEnd, make, setText } from "./elements.ts";

const WAITING = "…";
const FIXED_SPACE = "\u00a0";
/** A line may break behind the dot only. */
const SEPARATOR = `${FIXED_SPACE}· `;

interface Row {
  readonly root: HTMLElement;
  readonly who: HTMLElement;
  readonly text: HTMLElement;
  readonly mark: HTMLElement;
  latency: HTMLElement | null;
  card: ConfirmCard | null;
}

/** Receives the user's answer to a tool that asks. */
export type AnswerHandler = (asking: Bubble, confirmed: boolean) => void;

export class CaptionsView {
  readonly #empty: HTMLElement;
  readonly #toEnd: () => void;
  readonly #onAnswer: AnswerHandler;
  readonly #rows = new Map<string, Row>();

  /** `empty` is shown inside `box` while there is nothing to read. */
  constructor(box: HTMLElement, empty: HTMLElement, onAnswer: AnswerHandler) {
    this.#empty = empty;
    this.#toEnd = keepAtEnd(box);
    this.#onAnswer = onAnswer;
  }

  render(captions: Captions): void {
    const bubbles = visibleBubbles(captions);
    const shown = new Set(bubbles.map(({ id }) => id));
    this.#empty.hidden = bubbles.length > 0;
    for (const [id, row] of this.#rows) {
      if (shown.has(id)) continue;
      row.root.remove();
      this.#rows.delete(id);
    }
    let before: Element = this.#empty;
    for (const bubble of bubbles) {
      const row = this.#row(bubble);
      fill(row, bubble, bubble.responseId === null ? undefined : captions.latencies[bubble.responseId]);
      this.#ask(row, bubble);
      if (before.nextElementSibling !== row.root) before.after(row.root);
      before = row.root;
    }
    this.#toEnd();
  }

  #row({ id, side }: Bubble): Row {
    const known = this.#rows.get(id);
    if (known) return known;
    const root = make("article", `bubble ${side}`);
    const row: Row = { root, who: make("h2", "who"), text: make("p", "words"), mark: make("p", "mark"), latency: null, card: null };
    root.append(row.who, row.text, row.mark);
    this.#rows.set(id, row);
    return row;
  }

  /** Shows the question while it is open; it is answered once. */
  #ask(row: Row, bubble: Bubble): void {
    if (bubble.status !== "asking") {
      row.card?.root.remove();
      row.card = null;
    } else if (!row.card) {
      const asked = { name: bubble.name, input: bubble.text };
      const card = makeConfirmCard((confirmed) => {
        card.update(asked, false);
        this.#onAnswer(bubble, confirmed);
      });
      card.update(asked, true);
      row.root.append(card.root);
      row.card = card;
    }
  }
}

function fill(row: Row, bubble: Bubble, latency: Latency | undefined): void {
  row.root.dataset["status"] = bubble.status;
  row.root.setAttribute("aria-busy", String(bubble.status === "live"));
  setText(row.who, bubble.side === "user" ? "You" : bubble.side === "tool" ? `Tool ${bubble.name}` : bubble.name || "Agent");
  setText(row.text, bubble.status === "asking" ? "" : bubble.text || (bubble.status === "live" ? WAITING : ""));
  setText(row.mark, markOf(bubble));
  row.mark.hidden = row.mark.textContent === "";
  if (latency && !row.latency && bubble.side === "agent") row.root.append((row.latency = latencyBar(latency)));
}

function markOf({ status }: Bubble): string {
  if (status === "cut") return "Interrupted here";
  return status === "failed" ? "These words could not be written down." : "";
}

/** The stages between the end of the turn and the first sound, side by side, as wide as they are long. */
function latencyBar({ totalMs, stages }: Latency): HTMLElement {
  const root = make("div", "latency");
  root.ariaLive = "off";
  const bar = make("div", "bar");
  bar.setAttribute("aria-hidden", "true");
  for (const [name, ms] of stages) {
    const stage = make("span", "stage");
    stage.style.flexGrow = String(Math.max(ms, 1));
    stage.title = `${name} ${ms} ms`;
    bar.append(stage);
  }
  const parts = stages.map(([name, ms]) => `${name.replaceAll("_", " ")}${FIXED_SPACE}${ms}`).join(SEPARATOR);
  root.append(bar, make("p", "total", `${totalMs} ms to the first sound${parts === "" ? "" : `${SEPARATOR}${parts}`}`));
  return root;
}

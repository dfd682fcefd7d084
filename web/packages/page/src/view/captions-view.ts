/** Draws the captions as bubbles; keeps an element for each bubble and writes only what changed. */

import { type Bubble, type Captions, type Latency, visibleBubbles } from "../captions.ts";
import { stoppedWords, wentOnWords } from "../interruption-words.ts";
import { showQuestion } from "./confirm-card.ts";
import { keepAtEnd, make, makeAside, setText, setTextOrHide } from "./elements.ts";
import { KeyedList, type Row } from "./keyed-list.ts";

const WAITING = "…";
const FIXED_SPACE = "\u00a0";
/** A line may break behind the dot only. */
const SEPARATOR = `${FIXED_SPACE}· `;

interface Caption extends Bubble {
  readonly latency: Latency | undefined;
}

/** Receives the user's answer to a tool that asks. */
export type AnswerHandler = (asking: Bubble, confirmed: boolean) => void;

export class CaptionsView {
  readonly #empty: HTMLElement;
  readonly #toEnd: () => void;
  readonly #list: KeyedList<Caption>;

  /** `empty` is shown inside `box` while there is nothing to read. */
  constructor(box: HTMLElement, empty: HTMLElement, onAnswer: AnswerHandler) {
    this.#empty = empty;
    this.#toEnd = keepAtEnd(box);
    this.#list = new KeyedList<Caption>(box, ({ id }) => id, (caption) => makeRow(caption, onAnswer));
  }

  render(captions: Captions): void {
    const bubbles = visibleBubbles(captions);
    this.#empty.hidden = bubbles.length > 0;
    this.#list.update(bubbles.map((bubble) => ({ ...bubble, latency: captions.latencies[bubble.responseId ?? ""] })));
    this.#toEnd();
  }
}

function makeRow({ side }: Caption, onAnswer: AnswerHandler): Row<Caption> {
  const root = make("article", `bubble ${side}`);
  const who = make("h2", "who");
  const words = make("p", "words");
  const mark = make("p", "mark");
  const wentOn = makeAside();
  root.append(who, words, wentOn, mark);
  const ask = showQuestion(root, onAnswer);
  let hasLatency = false;
  return {
    root,
    update(caption) {
      const { name, status, text, latency } = caption;
      root.dataset["status"] = status;
      root.setAttribute("aria-busy", String(status === "live"));
      who.hidden = side === "change";
      setText(who, side === "user" ? "You" : side === "tool" ? `Tool ${name}` : name || "Agent");
      setText(words, status === "asking" ? "" : text || (status === "live" ? WAITING : ""));
      setTextOrHide(wentOn, wentOnWords(caption));
      setTextOrHide(mark, markOf(caption));
      if (latency && !hasLatency && side === "agent") {
        hasLatency = true;
        root.append(latencyBar(latency));
      }
      ask(caption);
    },
  };
}

function markOf(bubble: Bubble): string {
  if (bubble.status === "cut") return stoppedWords(bubble);
  return bubble.status === "failed" ? "These words could not be written down." : "";
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

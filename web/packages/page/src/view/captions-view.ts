/** Draws the captions as bubbles; keeps an element for each bubble and touches only the changed ones. */

import { type Bubble, type Captions, isTakenBack, visibleBubbles } from "../captions.ts";
import { claimLines, claimWords } from "../consent-words.ts";
import { stoppedWords, wentOnWords } from "../interruption-words.ts";
import { type Wait, waterfall } from "../latency/waterfall.ts";
import { presentLanguage, say } from "../texts.ts";
import { keepAtEnd, make, makeAside, setText, setTextOrHide } from "./elements.ts";
import { KeyedList, type Row } from "./keyed-list.ts";
import { makeNoteLine } from "./note-line.ts";
import { type AnswerHandler, makeToolCard } from "./tool-card.ts";

const WAITING = "…";

interface Caption {
  readonly bubble: Bubble;
  readonly latency: Wait | undefined;
}

export class CaptionsView {
  readonly #empty: HTMLElement;
  readonly #toEnd: () => void;
  readonly #list: KeyedList<Caption>;

  /** `empty` is shown inside `box` while there is nothing to read. */
  constructor(box: HTMLElement, empty: HTMLElement, onAnswer: AnswerHandler) {
    this.#empty = empty;
    this.#toEnd = keepAtEnd(box);
    this.#list = new KeyedList<Caption>(
      box,
      ({ bubble }) => bubble.id,
      (caption) => onlyWhenChanged(caption.bubble.side === "tool" ? toolRow(onAnswer) : makeRow(caption)),
    );
  }

  render(captions: Captions): void {
    const bubbles = visibleBubbles(captions);
    this.#empty.hidden = bubbles.length > 0;
    this.#list.update(bubbles.map((bubble) => ({ bubble, latency: captions.latencies[bubble.responseId ?? ""] })));
    this.#toEnd();
  }
}

/** A call of hundreds of turns: a bubble that did not change costs nothing. */
function onlyWhenChanged(row: Row<Caption>): Row<Caption> {
  let shown: Caption | null = null;
  let language = "";
  return {
    root: row.root,
    update(caption) {
      if (shown?.bubble === caption.bubble && shown.latency === caption.latency && language === presentLanguage()) return;
      shown = caption;
      language = presentLanguage();
      row.update(caption);
    },
  };
}

function toolRow(onAnswer: AnswerHandler): Row<Caption> {
  const card = makeToolCard(onAnswer);
  return { root: card.root, update: ({ bubble }) => card.update(bubble) };
}

function makeRow({ bubble: { side } }: Caption): Row<Caption> {
  const root = make("article", `bubble ${side}`);
  const who = make("h2", "who");
  const words = make("p", "words");
  // What was not heard is no part of the conversation, so no screen reader reads it.
  const lost = make("s", "lost");
  lost.ariaHidden = "true";
  const mark = make("p", "mark");
  const wentOn = makeAside();
  for (const part of [who, words, lost]) part.dir = "auto";
  const withheld = makeNoteLine("claim");
  root.append(who, words, lost, wentOn, mark, withheld.root);
  let wait: HTMLElement | null = null;
  let waitLanguage = "";
  return {
    root,
    update({ bubble, latency }) {
      const { id, name, status } = bubble;
      root.dataset["status"] = status;
      root.dataset["id"] = id;
      root.setAttribute("aria-busy", String(status === "live"));
      who.hidden = side === "change";
      setText(who, side === "user" ? say("bubble.you") : name || say("bubble.agent"));
      setText(words, wordsOf(bubble));
      setTextOrHide(lost, isTakenBack(bubble) ? "" : (bubble.lost ?? ""));
      setTextOrHide(wentOn, wentOnWords(bubble));
      setTextOrHide(mark, markOf(bubble));
      if (bubble.withheld) withheld.update(claimWords(bubble.withheld), bubble.withheld.flatMap(claimLines));
      if (latency && side === "agent" && waitLanguage !== presentLanguage()) {
        waitLanguage = presentLanguage();
        const shown = waterfall(latency);
        wait?.replaceWith(shown);
        if (!wait) root.append(shown);
        wait = shown;
      }
    },
  };
}

function wordsOf({ status, text, pictures = 0 }: Bubble): string {
  if (pictures > 0) return pictures === 1 ? say("bubble.picture") : say("bubble.pictures", { count: pictures });
  return text || (status === "live" ? WAITING : "");
}

function markOf(bubble: Bubble): string {
  if (bubble.status === "cut") return isTakenBack(bubble) ? "" : stoppedWords(bubble);
  return bubble.status === "failed" ? say("bubble.failed") : "";
}

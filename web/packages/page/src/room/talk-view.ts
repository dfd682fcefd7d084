/** The conversation of a room as bubbles: the author, and unplayed words struck through. */

import { claimLines, claimWords, receiptLines, receiptWords } from "../consent-words.ts";
import { stoppedWords, wentOnWords } from "../interruption-words.ts";
import { type Answer, showQuestion } from "../view/consent-card.ts";
import { keepAtEnd, make, makeAside, setText, setTextOrHide } from "../view/elements.ts";
import { KeyedList, type Row } from "../view/keyed-list.ts";
import { makeNoteLine } from "../view/note-line.ts";
import type { Hues } from "./hues.ts";
import { say } from "../texts.ts";
import { isTakenBack } from "../captions.ts";
import type { Turn } from "./talk.ts";

const WAITING = "…";

export interface SaidTurn extends Turn {
  /** The name of the author. */
  readonly who: string;
  readonly isMine: boolean;
}

/** Receives the answer to a tool that asks. */
export type AnswerHandler = (asking: Turn, answer: Answer) => void;

export class TalkView {
  readonly #list: KeyedList<SaidTurn>;
  readonly #empty: HTMLElement;
  readonly #toEnd: () => void;

  /** `box` scrolls and holds `list` and, while there is nothing to read, `empty`. */
  constructor(box: HTMLElement, list: HTMLElement, empty: HTMLElement, hues: Hues, onAnswer: AnswerHandler) {
    this.#empty = empty;
    this.#toEnd = keepAtEnd(box);
    this.#list = new KeyedList<SaidTurn>(
      list,
      ({ id }) => id,
      (turn) => makeRow(turn, hues, onAnswer),
    );
  }

  render(turns: readonly SaidTurn[]): void {
    this.#empty.hidden = turns.length > 0;
    this.#list.update(turns);
    this.#toEnd();
  }
}

function makeRow({ side }: SaidTurn, hues: Hues, onAnswer: AnswerHandler): Row<SaidTurn> {
  const root = make("article", `bubble ${side === "tool" ? "tool" : "said"}`);
  const who = make("h2", "who");
  who.dir = "auto";
  const words = make("p", "words");
  words.dir = "auto";
  const heard = make("span", "heard");
  const unheard = make("s", "unheard");
  unheard.title = say("room.unheard");
  words.append(heard, unheard);
  const mark = make("p", "mark");
  const wentOn = makeAside();
  const note = makeNoteLine(side === "tool" ? "receipt" : "claim");
  root.append(who, words, wentOn, mark, note.root);
  const ask = showQuestion(root, onAnswer);
  return {
    root,
    update: (turn) => {
      root.dataset["status"] = turn.status;
      root.dataset["side"] = turn.side;
      root.dataset["hue"] = hues.of(turn.who);
      root.classList.toggle("mine", turn.isMine);
      root.setAttribute("aria-busy", String(turn.status === "live"));
      setText(who, side === "tool" ? say("room.toolOf", { name: turn.name, who: turn.who }) : turn.isMine ? say("room.you", { name: turn.who }) : turn.who);
      const text = turn.status === "asking" ? "" : turn.text || (turn.status === "live" ? WAITING : "");
      setText(heard, text);
      setText(unheard, turn.unheard);
      unheard.hidden = turn.unheard === "";
      // A space between played and unplayed words, where there are both.
      words.classList.toggle("both", text !== "" && turn.unheard !== "");
      setTextOrHide(wentOn, wentOnWords(turn));
      setTextOrHide(mark, markOf(turn));
      if (turn.tool?.receipt) note.update(receiptWords(turn.tool.receipt), receiptLines(turn.tool.receipt));
      else if (turn.withheld) note.update(claimWords(turn.withheld), turn.withheld.flatMap(claimLines));
      ask(turn);
    },
  };
}

function markOf(turn: Turn): string {
  if (turn.status === "cut" && turn.side === "agent") return isTakenBack(turn) ? "" : stoppedWords(turn);
  return turn.status === "failed" ? say("bubble.failed") : "";
}

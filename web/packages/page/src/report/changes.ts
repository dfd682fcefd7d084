/** What differs from the accepted run. */

import { make } from "../view/elements.ts";
import type { Change, Piece, TurnChange } from "./data.ts";
import { card, counted, inMs } from "./parts.ts";

export function isChanged(change: Change | null): boolean {
  return change !== null && (!change.known || change.facts.length > 0 || change.turns.length > 0);
}

/** The change in a few words; empty where nothing was compared. */
export function changeText(change: Change | null): string {
  if (change === null) return "";
  if (!change.known) return "new";
  if (!isChanged(change)) return "same";
  return change.turns.length ? `${counted(change.turns.length, "turn")} changed` : "other numbers";
}

export function changesCard(change: Change): HTMLElement {
  const title = "Since the accepted run";
  if (!change.known) return card(title, make("p", "soft", "The accepted report has no run of this name."));
  if (!isChanged(change)) return card(title, make("p", "soft", "Nothing is different."));
  const table = make("table", "changed");
  for (const [name, before, after] of change.facts) {
    table.append(make("tr", "", make("th", "", name), make("td", "", make("del", "", before), " ", make("ins", "", after))));
  }
  for (const turn of change.turns) {
    const about = `turn ${turn.number}${turn.kind === "changed" ? "" : ` ${turn.kind}`}`;
    table.append(make("tr", "", make("th", "", about), turnCell(turn)));
  }
  return card(title, table);
}

function turnCell(turn: TurnChange): HTMLElement {
  const cell = make("td");
  const parts: [name: string, pieces: readonly Piece[], between: string][] = [
    [turn.who || "said", turn.said, ""],
    ["answer", turn.answer, ""],
    ["not heard", turn.unheard, ""],
    ["tools", turn.tools, " "],
  ];
  for (const [name, pieces, between] of parts) {
    if (pieces.length) cell.append(make("p", "", make("b", "", name), " ", ...marked(pieces, between)));
  }
  if (turn.latency_ms) {
    const [before, after] = turn.latency_ms;
    const line = make("p", "", make("b", "", "latency"), " ", make("del", "", inMs(before)), " ", make("ins", "", inMs(after)));
    if (before !== null && after !== null) line.append(` ${after < before ? "−" : "+"}${inMs(Math.abs(after - before))}`);
    cell.append(line);
  }
  return cell;
}

function marked(pieces: readonly Piece[], between: string): (Node | string)[] {
  return pieces.flatMap(([op, text]) => [op === "=" ? text : make(op === "-" ? "del" : "ins", "", text), between]);
}

/** A tool in words: what it does, what it was given, how far it is, what came of it, and a way to stop it. */

import type { Bubble, ToolWork } from "../captions.ts";
import { type Key, say } from "../texts.ts";
import { showQuestion } from "./confirm-card.ts";
import { make, setText, setTextOrHide } from "./elements.ts";
import type { Row } from "./keyed-list.ts";

const OUTCOMES: Record<NonNullable<ToolWork["outcome"]>, Key> = {
  success: "tool.done",
  error: "tool.failed",
  interrupted: "tool.stopped",
  denied: "tool.denied",
  running: "tool.background",
};
/** A longer result is shown in part; the details have all of it. */
const SHORT_CHARS = 280;

/** Receives the user's answer to a tool that asks. */
export type AnswerHandler = (asking: Bubble, confirmed: boolean) => void;

export function makeToolCard(onAnswer: AnswerHandler): Row<Bubble> {
  const root = make("article", "bubble tool");
  const who = make("h2", "who");
  const state = make("p", "tool-state");
  const note = make("p", "tool-note");
  const given = make("dl", "tool-given");
  const result = make("p", "tool-result");
  for (const part of [who, note, result]) part.dir = "auto";
  const details = make("details", "tool-details");
  const summary = make("summary", "");
  const words = make("p", "words");
  words.dir = "auto";
  details.append(summary, words);
  const head = make("div", "tool-head");
  head.append(who, state);
  root.append(head, given, note, result, details);
  const ask = showQuestion(root, onAnswer);
  let shown = "";
  return {
    root,
    update(bubble) {
      const { name, status, text, tool } = bubble;
      root.dataset["status"] = status;
      root.dataset["outcome"] = tool?.outcome ?? "";
      root.setAttribute("aria-busy", String(status === "live"));
      setText(who, nameWords(name));
      who.title = name;
      setText(state, say(stateOf(bubble)));
      setTextOrHide(note, tool?.outcome === null || tool?.outcome === "running" ? (tool?.note ?? "") : "");
      const output = tool?.outcome === "running" ? "" : (tool?.output ?? "");
      setTextOrHide(result, output.length > SHORT_CHARS ? `${output.slice(0, SHORT_CHARS)}…` : output);
      if (tool && tool.input !== shown) given.replaceChildren(...givenWords((shown = tool.input)));
      given.hidden = given.childElementCount === 0 || status === "asking";
      setText(summary, say("tool.details"));
      setText(words, status === "asking" ? "" : text);
      details.hidden = text === "" || status === "asking";
      ask(bubble);
    },
  };
}

function stateOf({ status, tool }: Bubble): Key {
  if (status === "asking") return "tool.asking";
  if (status === "cut") return "tool.withheld";
  if (tool?.outcome) return OUTCOMES[tool.outcome];
  return status === "done" ? "tool.done" : "tool.running";
}

/** The name of a tool as words: `find_order` and `findOrder` are "Find order". */
export function nameWords(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replaceAll(/[_\-.]+/g, " ").trim();
  return words === "" ? name : `${words.charAt(0).toUpperCase()}${words.slice(1).toLowerCase()}`;
}

/** What a tool was given: each argument by its name. */
function givenWords(input: string): HTMLElement[] {
  let value: unknown;
  try {
    value = JSON.parse(input === "" ? "{}" : input);
  } catch {
    return [];
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).map(([name, given]) => {
    const row = make("div", "", make("dt", "", nameWords(name)));
    const told = make("dd", "", typeof given === "string" ? given : JSON.stringify(given));
    told.dir = "auto";
    row.append(told);
    return row;
  });
}

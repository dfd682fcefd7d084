/** A tool in words: what it does, what it was given, how far it is, what came of it, and a way to stop it. */

import type { Bubble } from "../captions.ts";
import { receiptLines, receiptWords } from "../consent-words.ts";
import { ELICITATION, argumentsOf, elicitationOf } from "../form.ts";
import { asRecord } from "../json.ts";
import { say } from "../texts.ts";
import { nameWords, stateOf, valueWords } from "../tool-words.ts";
import { type Answer, showQuestion } from "./consent-card.ts";
import { make, setText, setTextOrHide } from "./elements.ts";
import type { Row } from "./keyed-list.ts";
import { makeNoteLine } from "./note-line.ts";

/** A longer result is shown in part; the details have all of it. */
const SHORT_CHARS = 280;

/** Receives the user's answer to a tool that asks. */
export type AnswerHandler = (asking: Bubble, answer: Answer) => void;

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
  const receipt = makeNoteLine("receipt");
  root.append(head, given, note, result, details, receipt.root);
  const ask = showQuestion(root, onAnswer);
  let shown = "";
  return {
    root,
    update(bubble) {
      const { name, status, text, tool } = bubble;
      root.dataset["status"] = status;
      root.dataset["outcome"] = tool?.outcome ?? "";
      root.setAttribute("aria-busy", String(status === "live"));
      setText(who, name === ELICITATION && tool ? say("elicit.title", { server: elicitationOf(tool.input).server }) : nameWords(name));
      who.title = name;
      setText(state, say(stateOf(bubble)));
      setTextOrHide(note, tool?.outcome === null || tool?.outcome === "running" ? (tool?.note ?? "") : "");
      const output = tool?.outcome === "running" ? "" : (tool?.output ?? "");
      setTextOrHide(result, output.length > SHORT_CHARS ? `${output.slice(0, SHORT_CHARS)}…` : output);
      if (tool && tool.input !== shown) given.replaceChildren(...givenWords(name, (shown = tool.input)));
      // What a form begins with goes to its server only when it is sent.
      const isUnsent = name === ELICITATION && tool?.outcome !== "success";
      given.hidden = given.childElementCount === 0 || status === "asking" || isUnsent;
      setText(summary, say("tool.details"));
      setText(words, status === "asking" ? "" : text);
      details.hidden = text === "" || status === "asking";
      if (tool?.receipt) receipt.update(receiptWords(tool.receipt), receiptLines(tool.receipt));
      ask(bubble);
    },
  };
}

/** What a tool was given, each argument by its name; of a server's question the answers. */
function givenWords(name: string, input: string): HTMLElement[] {
  const values = argumentsOf(input) ?? {};
  const given = name === ELICITATION ? asRecord(values["content"]) : values;
  return Object.entries(given).map(([argument, value]) => {
    const told = make("dd", "", valueWords(value));
    told.dir = "auto";
    return make("div", "", make("dt", "", nameWords(argument)), told);
  });
}

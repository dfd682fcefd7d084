/** Names of tools and arguments as words, and how far a tool is. Pure. */

import type { Bubble, ToolWork } from "./captions.ts";
import { ELICITATION } from "./form.ts";
import type { Key } from "./texts.ts";

const OUTCOMES: Record<Exclude<ToolWork["outcome"], "denied" | null>, Key> = {
  success: "tool.done",
  error: "tool.failed",
  interrupted: "tool.stopped",
  running: "tool.background",
};

/** How far a tool is. */
export function stateOf({ name, status, tool }: Pick<Bubble, "name" | "status" | "tool">): Key {
  if (status === "asking") return name === ELICITATION ? "elicit.state" : "tool.asking";
  if (status === "cut") return "tool.withheld";
  if (tool?.outcome === "denied") {
    const { receipt, question, isAsked } = tool;
    // Nobody was asked: a rule of the program, or its mode.
    if (!receipt && !question && !isAsked) return "tool.notAllowed";
    // Denied by silence or a rule, or by the user.
    return receipt && receipt.answer !== "no" ? "tool.withheld" : "tool.denied";
  }
  if (tool?.outcome) return OUTCOMES[tool.outcome];
  return status === "done" ? "tool.done" : "tool.running";
}

/** The name of a tool as words: `find_order` and `findOrder` are "Find order". */
export function nameWords(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replaceAll(/[_\-.]+/g, " ").trim();
  return words === "" ? name : `${words.charAt(0).toUpperCase()}${words.slice(1).toLowerCase()}`;
}

/** A value as it is shown: text as it is, anything else as JSON. */
export function valueWords(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

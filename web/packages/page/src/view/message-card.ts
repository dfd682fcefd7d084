/** Draws a message as one bubble; keeps its element and writes only what changed. */

import type { ConfirmResult, MsgData, PermissionRule, ToolCallBlock } from "@realtime-voice/messages";
import { type ClaimPart, type HintPart, type Part, type TextPart, type ToolPart, bubbleOf, ruleWords } from "../message-bubbles.ts";
import { CallDeeds } from "../call-deeds.ts";
import { clockWords } from "../call-words.ts";
import { claimLines, claimWords, receiptLines, receiptWords } from "../consent-words.ts";
import { say } from "../texts.ts";
import { makeConfirmCard } from "./confirm-card.ts";
import { makeDataPart } from "./data-part.ts";
import { make, setText } from "./elements.ts";
import { KeyedList, type Row } from "./keyed-list.ts";
import { makeNoteLine } from "./note-line.ts";

/** Receives the user's answer whether a tool may run. */
export type ConfirmHandler = (result: ConfirmResult) => void;

const WAITING = "…";

/**
 * A bubble for `msg`; `update` shows a later state of it, with what `deeds` tell of its parts by then. Without a handler,
 * tool calls cannot be answered.
 */
export function renderMessage(msg: MsgData, onConfirm: ConfirmHandler | null = null, deeds = new CallDeeds()): Row<MsgData> {
  const root = make("article", "bubble");
  const head = make("div", "head");
  const who = make("h2", "who");
  who.dir = "auto";
  const at = make("time", "at");
  head.append(who, at);
  const body = make("div", "parts");
  const waiting = make("p", "words", WAITING);
  const mark = make("p", "mark");
  root.append(head, body, waiting, mark);
  const parts = new KeyedList<Part>(body, ({ key }) => key, (part) => makePart(part, onConfirm));
  const update = (changed: MsgData): void => {
    const view = bubbleOf(changed, deeds);
    root.className = `bubble ${view.side}`;
    root.dataset["id"] = changed.id;
    root.dataset["status"] = changed.finished_at !== null ? (changed.finished_reason ?? "completed") : "live";
    root.setAttribute("aria-busy", String(view.isLive));
    setText(who, view.who);
    at.dateTime = view.at;
    setText(at, clockWords(view.at));
    parts.update(view.parts);
    waiting.hidden = view.parts.length > 0 || changed.finished_at !== null;
    setText(mark, view.mark);
    mark.hidden = view.mark === "";
  };
  update(msg);
  return { root, update };
}

function makePart(part: Part, onConfirm: ConfirmHandler | null): Row<Part> {
  const row = { text: makeText, claim: makeClaim, thinking: makeThinking, data: makeDataPart, hint: makeHint, tool: () => makeTool(onConfirm) };
  // A key names the kind, so a row gets parts of its kind only.
  return row[part.kind]() as Row<Part>;
}

function makeText(): Row<TextPart> {
  const root = make("p", "words");
  root.dir = "auto";
  return { root, update: ({ text }) => setText(root, text) };
}

function makeClaim(): Row<ClaimPart> {
  const { root, update } = makeNoteLine("claim");
  return { root, update: ({ claims }) => update(claimWords(claims), claims.flatMap(claimLines)) };
}

function makeThinking(): Row<TextPart> {
  const root = make("details", "thinking");
  const text = make("p", "words");
  text.dir = "auto";
  root.append(make("summary", "", say("message.thinking")), text);
  return { root, update: (part) => setText(text, part.text) };
}

function makeHint(): Row<HintPart> {
  const root = make("aside", "hint");
  const label = make("h3", "label");
  const body = make("div", "parts");
  root.append(label, body);
  const parts = innerParts(body);
  return {
    root,
    update(part) {
      setText(label, part.label);
      parts.update(part.parts);
    },
  };
}

function innerParts(box: Element): KeyedList<Part> {
  return new KeyedList<Part>(box, ({ key }) => key, (part) => makePart(part, null));
}

function makeTool(onConfirm: ConfirmHandler | null): Row<ToolPart> {
  const root = make("section", "tool");
  const details = make("details", "");
  const summary = make("summary", "");
  const name = make("span", "name");
  const state = make("span", "state");
  summary.append(name, state);
  const input = make("pre", "input");
  const output = make("div", "output");
  details.append(summary, input, output);
  const receipt = makeNoteLine("receipt");
  root.append(details, receipt.root);
  const parts = innerParts(output);
  let card: Row<ToolCallBlock> | null = null;
  return {
    root,
    update(part) {
      root.setAttribute("aria-label", say("message.tool", { name: part.name }));
      setText(name, part.name);
      setText(state, part.state);
      setText(input, part.input);
      input.hidden = part.input === "";
      parts.update(part.output);
      output.hidden = part.output.length === 0;
      if (part.receipt) receipt.update(receiptWords(part.receipt), receiptLines(part.receipt));
      if (part.asking === null) {
        card?.root.remove();
        card = null;
        return;
      }
      if (!card) root.append((card = makeConfirm(onConfirm)).root);
      card.update(part.asking);
    },
  };
}

function makeConfirm(onConfirm: ConfirmHandler | null): Row<ToolCallBlock> {
  const rules = make("ul", "rules");
  let asked: ToolCallBlock | null = null;
  const card = makeConfirmCard((confirmed) => {
    if (!asked) return;
    const boxes = [...rules.querySelectorAll("input")];
    const chosen = (asked.suggested_rules ?? []).filter((_, place) => boxes[place]?.checked);
    onConfirm?.({ confirmed, tool_call: asked, rules: chosen.length > 0 ? chosen : null });
  });
  card.buttons.before(rules);
  const rows = new KeyedList<PermissionRule>(rules, (_, place) => String(place), () => makeRule(onConfirm === null));
  return {
    root: card.root,
    update(call) {
      asked = call;
      card.update(call, onConfirm !== null);
      rows.update(call.suggested_rules ?? []);
      rules.hidden = (call.suggested_rules ?? []).length === 0;
    },
  };
}

function makeRule(isDisabled: boolean): Row<PermissionRule> {
  const root = make("li", "");
  const label = make("label", "");
  const box = make("input", "");
  box.type = "checkbox";
  box.disabled = isDisabled;
  const text = make("span", "");
  label.append(box, text);
  root.append(label);
  return { root, update: (rule) => setText(text, ruleWords(rule)) };
}

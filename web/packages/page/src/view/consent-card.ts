/** The question whether a tool may run: its words, how to answer it by voice, and what answers it by hand. */

import type { AnswerChanges, PermissionRule } from "@realtime-voice/client";
import type { Bubble } from "../captions.ts";
import { askingWords, ignoredWords, offerWords } from "../consent-words.ts";
import { ELICITATION, answered, argumentsOf, elicitationOf, fieldsOfValues } from "../form.ts";
import { say } from "../texts.ts";
import { nameWords, valueWords } from "../tool-words.ts";
import { make, setText, setTextOrHide } from "./elements.ts";
import { type FormView, makeForm } from "./form-view.ts";

/** The user's answer to a tool that asks. */
export interface Answer extends AnswerChanges {
  readonly confirmed: boolean;
}

interface Card<Asking> {
  readonly root: HTMLElement;
  update(asking: Asking, isEnabled: boolean): void;
}

let groups = 0;

/** Returns a function that shows the question in `root` while a bubble asks; an answer by voice closes it as well. */
export function showQuestion<Asking extends Bubble>(
  root: HTMLElement,
  onAnswer: (asking: Asking, answer: Answer) => void,
): (bubble: Asking) => void {
  let shown: Card<Asking> | null = null;
  /** What the answered bubble was: the server may ask again. */
  let answeredTo: Bubble["tool"] | null = null;
  return (bubble) => {
    if (bubble.status !== "asking") {
      if (shown) close(root, shown.root);
      shown = null;
      return;
    }
    if (!shown) {
      const make = bubble.name === ELICITATION ? makeElicitation : makeConsent;
      shown = make((asking: Asking, answer) => {
        answeredTo = asking.tool;
        shown?.update(asking, false);
        onAnswer(asking, answer);
      });
      root.append(shown.root);
    }
    shown.update(bubble, bubble.tool !== answeredTo);
  };
}

/** Removes a card; a focus that it has goes to what it was in. */
function close(root: HTMLElement, card: HTMLElement): void {
  const hadFocus = card.contains(document.activeElement);
  card.remove();
  if (!hadFocus) return;
  root.tabIndex = -1;
  root.focus();
}

function makeConsent<Asking extends Bubble>(onAnswer: (asking: Asking, answer: Answer) => void): Card<Asking> {
  const root = make("div", "confirm");
  root.setAttribute("role", "group");
  const question = make("p", "question");
  const how = make("p", "how");
  const given = make("div", "ask-given");
  const rules = make("fieldset", "ask-rules");
  const buttons = make("div", "buttons");
  const [yes, no] = [makeButton("allow"), makeButton("refuse")];
  question.dir = "auto";
  buttons.append(yes, no);
  root.append(question, how, given, rules, buttons);
  let asked: Asking | null = null;
  let form: FormView | null = null;
  let shownInput: string | null = null;
  let offered: readonly PermissionRule[] = [];
  const label = (): void => setText(yes, say(form?.isChanged ? "ask.yesChanged" : "ask.yes"));
  yes.addEventListener("click", () => {
    if (!asked) return;
    const values = form?.isChanged ? form.read() : {};
    if (values === null) return;
    const input = form?.isChanged ? { input: JSON.stringify({ ...argumentsOf(inputOf(asked)), ...values }) } : {};
    const chosen = offered.filter((_, place) => rules.querySelectorAll("input")[place + 1]?.checked);
    onAnswer(asked, { confirmed: true, ...input, ...(chosen.length > 0 ? { rules: chosen } : {}) });
  });
  no.addEventListener("click", () => asked && onAnswer(asked, { confirmed: false }));
  return {
    root,
    update(asking, isEnabled) {
      asked = asking;
      const { name, tool } = asking;
      const input = inputOf(asking);
      const spoken = tool?.question;
      const byVoice = spoken?.by === "voice";
      root.setAttribute("aria-label", say("confirm.group", { name: nameWords(name) }));
      setText(question, spoken?.question ?? say("confirm.question", { name: nameWords(name) }));
      setTextOrHide(how, ignoredWords(tool?.ignored ?? "") || (spoken ? askingWords(spoken) : ""));
      how.dataset["state"] = spoken?.state ?? "";
      if (input !== shownInput) {
        shownInput = input;
        form = null;
        given.replaceChildren(...givenParts(input, tool?.before, (made) => {
          form = made;
          made.root.addEventListener("input", label);
        }));
      }
      for (const change of given.querySelectorAll<HTMLElement>(":scope > button")) change.hidden = byVoice;
      if (offered !== (tool?.rules ?? offered)) {
        offered = tool?.rules ?? [];
        rules.replaceChildren(...ruleChoice(offered));
      }
      rules.hidden = offered.length === 0 || byVoice;
      yes.hidden = byVoice;
      label();
      setText(no, say("ask.no"));
      for (const control of [yes, no, rules]) control.disabled = !isEnabled;
      if (form) form.isEnabled = isEnabled;
    },
  };
}

function inputOf({ tool, text }: Bubble): string {
  return tool?.input ?? text;
}

/** What a tool shall be given, each argument by its name, with what it was before a change; and a button that edits it. */
function givenParts(input: string, before: string | undefined, onEdit: (form: FormView) => void): HTMLElement[] {
  const values = argumentsOf(input);
  // Not what a model should give: shown as it is.
  if (values === null) return [make("pre", "words", input)];
  if (Object.keys(values).length === 0) return [];
  const earlier = before === undefined ? values : (argumentsOf(before) ?? values);
  const rows = Object.entries(values).map(([name, value]) => {
    const told = make("dd", "", valueWords(value));
    told.dir = "auto";
    const was = valueWords(earlier[name]);
    if (was !== valueWords(value)) told.append(" ", make("span", "was", say("ask.was", { value: was })));
    return make("div", "", make("dt", "", nameWords(name)), told);
  });
  const list = make("dl", "tool-given", ...rows);
  const note = before === undefined ? [] : [make("p", "how", say("ask.changed"))];
  const fields = fieldsOfValues(values, nameWords);
  if (fields.length === 0) return [...note, list];
  const edit = makeButton("change");
  setText(edit, say("ask.change"));
  edit.addEventListener("click", () => {
    const form = makeForm(fields);
    list.replaceWith(form.root);
    edit.remove();
    form.root.querySelector<HTMLElement>("input, select")?.focus();
    onEdit(form);
  });
  return [...note, list, edit];
}

/** Ask each time, or one of the rules. */
function ruleChoice(rules: readonly PermissionRule[]): HTMLElement[] {
  groups += 1;
  const name = `rules-${groups}`;
  const choice = (words: string, isChosen: boolean): HTMLElement => {
    const button = make("input", "");
    button.type = "radio";
    button.name = name;
    button.checked = isChosen;
    const text = make("span", "", words);
    text.dir = "auto";
    return make("label", "tick", button, text);
  };
  return [make("legend", "", say("ask.rules")), choice(say("ask.eachTime"), true), ...rules.map((rule) => choice(offerWords(rule), false))];
}

function makeElicitation<Asking extends Bubble>(onAnswer: (asking: Asking, answer: Answer) => void): Card<Asking> {
  const root = make("form", "confirm");
  root.noValidate = true;
  const who = make("p", "how");
  const question = make("p", "question");
  const goes = make("p", "how");
  const buttons = make("div", "buttons");
  const [send, decline] = [makeButton("allow"), makeButton("refuse")];
  for (const part of [who, question, goes]) part.dir = "auto";
  send.type = "submit";
  buttons.append(send, decline);
  root.append(who, question, goes, buttons);
  let asked: Asking | null = null;
  let form: FormView | null = null;
  let shownInput: string | null = null;
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    const content = form?.read();
    if (asked && content) onAnswer(asked, { confirmed: true, input: answered(inputOf(asked), content) });
  });
  decline.addEventListener("click", () => asked && onAnswer(asked, { confirmed: false }));
  return {
    root,
    update(asking, isEnabled) {
      asked = asking;
      const { server, message, fields } = elicitationOf(inputOf(asking));
      root.setAttribute("aria-label", say("elicit.title", { server }));
      setText(who, say("elicit.asks", { server }));
      setText(question, message);
      setText(goes, fields ? say("elicit.goes", { server }) : say("elicit.unreadable"));
      if (shownInput !== inputOf(asking)) {
        shownInput = inputOf(asking);
        form?.root.remove();
        form = fields && makeForm(fields);
        if (form) question.after(form.root);
      }
      setText(send, say("elicit.send"));
      setText(decline, say("elicit.decline"));
      send.hidden = form === null;
      for (const control of [send, decline]) control.disabled = !isEnabled;
      if (form) form.isEnabled = isEnabled;
    },
  };
}

function makeButton(className: string): HTMLButtonElement {
  const button = make("button", className);
  button.type = "button";
  return button;
}

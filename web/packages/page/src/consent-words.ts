/** Sentences about consent, receipts, rules and claims. Pure, but for the language of the texts. */

import type { ClaimWithheld, ConsentQuestion, ConsentReceipt, PermissionRule, PermissionUpdate } from "@realtime-voice/client";
import { ruleWords } from "./message-bubbles.ts";
import { type Key, isKey, say } from "./texts.ts";
import { nameWords } from "./tool-words.ts";
import type { Notice } from "./words.ts";

/** How an open question can be answered now; empty for one that was meant for a card. */
export function askingWords(question: ConsentQuestion): string {
  const who = question.participant ? say("ask.of", { name: question.participant }) : "";
  return [who, howWords(question)].filter((words) => words !== "").join(" ");
}

function howWords({ by, state, why }: ConsentQuestion): string {
  if (by === "card") return why ? say("ask.cardOnly") : "";
  if (state === "heard") return say(by === "voice" ? "ask.speakOnly" : "ask.speak");
  if (state === "waiting") return say("ask.waiting");
  return say(state === "repeated" ? "ask.spokenAgain" : "ask.spoken");
}

/** Why words were no answer; empty where that is nothing to say. */
export function ignoredWords(reason: string): string {
  const key = `ask.ignored.${reason}`;
  return isKey(key) ? say(key) : "";
}

const CONDITION = /\s*([^\s=!<>,"]+)\s*(<=|>=|!=|=|<|>)\s*("(?:[^"\\]|\\.)*"|[^,"[{]*)(?:,|$)/gy;
const SIGNS: Readonly<Record<string, string>> = { "<=": "≤", ">=": "≥", "!=": "≠" };

/** The conditions of a rule, such as "People ≤ 4, Day = Friday"; the pattern itself where it is another language. */
export function conditionWords(pattern: string): string {
  const found = [...pattern.matchAll(CONDITION)];
  if (found.map(([whole]) => whole).join("") !== pattern) return pattern;
  return found.map(([, name = "", sign = "", value = ""]) => `${nameWords(name)} ${SIGNS[sign] ?? sign} ${value.trim()}`).join(", ");
}

/** What a suggested rule offers. */
export function offerWords(rule: PermissionRule): string {
  if (rule.behavior !== "allow") return ruleWords(rule);
  const tool = nameWords(rule.tool_name);
  return rule.rule_content ? say("ask.fromNowOnWith", { tool, rule: conditionWords(rule.rule_content) }) : say("ask.fromNowOn", { tool });
}

/** A rule in a list of rules. */
export function listedRule(rule: PermissionRule): string {
  if (rule.behavior !== "allow") return ruleWords(rule);
  return `${nameWords(rule.tool_name)}${rule.rule_content ? ` (${conditionWords(rule.rule_content)})` : ""}`;
}

/** What a mode does besides the rules; empty for the usual one, in which the user is asked. */
export function modeWords(mode: string): string {
  const key = `rules.mode.${mode}`;
  return isKey(key) ? say(key) : "";
}

/** What has changed of the permissions; null where there is nothing to say. */
export function permissionNotice({ by, added, removed }: PermissionUpdate): Notice | null {
  const list = (some: readonly PermissionRule[]): string => some.map(listedRule).join(", ");
  const todo = say("rules.listed");
  if (by === "session") return added.length > 0 ? { what: say("rules.kept", { rules: list(added) }), todo } : null;
  const allows = ({ behavior }: PermissionRule): boolean => behavior === "allow";
  const [on, off] = [added.filter(allows), removed.filter(allows)];
  const parts = [
    ...(on.length > 0 ? [say("rules.added", { rules: list(on) })] : []),
    ...(off.length > 0 ? [say("rules.removed", { rules: list(off) })] : []),
  ];
  return { what: parts.join(" ") || say("rules.changed"), todo };
}

/** A receipt in one line. */
export function receiptWords({ answer, answered_by: by, done }: ConsentReceipt): string {
  if (by === "interrupted") return say("receipt.interrupted");
  if (by === "timeout" || answer === "silence") return say("receipt.silence");
  // On a card, a change is a consent as well.
  if (answer === "change" && done !== "denied") return say("receipt.yesChanged");
  const key = answer === "change" ? "receipt.change" : `receipt.${answer}.${by}`;
  return isKey(key) ? say(key) : "";
}

/** The lines of a receipt: what was asked, heard, answered and done, each with its name. */
export function receiptLines(receipt: ConsentReceipt): readonly (readonly [name: string, words: string])[] {
  const { question, heard_whole: whole, question_played_ms: playedMs, question_item_id: itemId, words, participant, done } = receipt;
  const seconds = (playedMs / 1000).toFixed(1);
  const lines: readonly (readonly [Key, string])[] = [
    ["receipt.asked", question],
    ["receipt.heard", itemId === null ? "" : whole ? say("receipt.heardWhole") : say("receipt.heardPart", { seconds })],
    ["receipt.answered", words === "" ? "" : `“${words}”`],
    ["receipt.by", participant ?? ""],
    ["receipt.outcome", say(`receipt.done.${done}`)],
  ];
  return lines.filter(([, text]) => text !== "").map(([key, text]) => [say(key), text]);
}

/** Withheld claims in one line. */
export function claimWords(claims: readonly ClaimWithheld[]): string {
  return say(claims.some(({ heard }) => heard) ? "claim.after" : "claim.before");
}

/** What a claim was. */
export function claimLines({ sentence, tools, heard }: ClaimWithheld): readonly (readonly [name: string, words: string])[] {
  const undone = tools.length > 0 ? [say("claim.undone", { tools: tools.map(nameWords).join(", ") })] : [];
  return [say(heard ? "claim.said" : "claim.about", { sentence }), ...undone].map((words) => ["", words]);
}

import { expect, test } from "vitest";
import { readDeed } from "../src/deeds.ts";

const RULE = { tool_name: "pay", rule_content: "amount<=20", behavior: "allow", source: "suggested" };
const QUESTION = { tool_call_id: "t1", tool: "pay", question: "Shall I pay 5 euros?", by: "either", state: "asking", n: 1 };
const RECEIPT = {
  tool_call_id: "t1",
  tool: "pay",
  question: "Shall I pay 5 euros?",
  question_item_id: "a1",
  question_played_ms: 1800,
  heard_whole: true,
  answered_by: "voice",
  answer: "yes",
  words: "Yes.",
  answer_start_ms: 2100,
  answer_end_ms: 2500,
  participant: null,
  recording: null,
  done: "success",
};
const UPDATE = { mode: "default", rules: [RULE], added: [RULE], removed: [], by: "user" };
const CLAIM = { item_id: "a1", response_id: "r1", sentence: "I paid.", tools: ["pay"], correction: "I did not pay.", heard: false };
const TASK = { id: "t1", name: "Book", description: "Find a train.", expected_outcome: "A train.", outcome: null, state: "todo", created_at: "2026", finished_at: null };
const PLAN = { id: "p1", name: "Trip", description: "Go.", expected_outcome: "Gone.", subtasks: [TASK], state: "suspended", created_at: "2026", finished_at: null, outcome: null };

test.each([
  ["consent_question", QUESTION],
  ["consent_question", { ...QUESTION, input: "{}", why: "it writes" }],
  ["consent_question", { ...QUESTION, by: "voice", state: "waiting", n: 0 }],
  ["consent_ignored", { tool_call_id: "t1", tool: "pay", reason: "before_end", words: "Yes." }],
  ["consent_receipt", RECEIPT],
  ["consent_receipt", { ...RECEIPT, done: "running" }],
  ["permission_updated", UPDATE],
  ["claim_withheld", CLAIM],
  ["plan_updated", { plan: PLAN }],
  ["plan_updated", { plan: { ...PLAN, subtasks: [{ ...TASK, state: "done", outcome: "Booked." }] } }],
  ["plan_updated", { plan: null }],
  ["plan_updated", { plan: PLAN, agent_id: "a1", agent_name: "Ann", editable: true, edited: { by: "Ben", edit: { type: "remove_subtask", subtask_id: "t0" } } }],
])("%s is told with its name", (name, value) => {
  expect(readDeed({ name, value })).toEqual({ name, value });
});

test.each([
  ["another name", "weather", QUESTION],
  ["a name that every object has", "constructor", QUESTION],
  ["a field less", "consent_question", { ...QUESTION, question: undefined }],
  ["a word that is not known", "consent_question", { ...QUESTION, by: "letter" }],
  ["arguments that are no text", "consent_question", { ...QUESTION, input: {} }],
  ["a number as text", "consent_receipt", { ...RECEIPT, question_played_ms: "1800" }],
  ["a rule that is none", "permission_updated", { ...UPDATE, rules: [{ ...RULE, behavior: "perhaps" }] }],
  ["no list", "claim_withheld", { ...CLAIM, tools: "pay" }],
  ["no rule at all", "permission_updated", { ...UPDATE, added: [null] }],
  ["no plan, and not null", "plan_updated", {}],
  ["a plan of other fields", "plan_updated", { plan: { ...PLAN, subtasks: undefined } }],
  ["a subtask that no change can name", "plan_updated", { plan: { ...PLAN, subtasks: [{ ...TASK, id: undefined }] } }],
  ["a change of nothing", "plan_updated", { plan: PLAN, edited: { by: "Ben", edit: null } }],
  ["a state that is none", "plan_updated", { plan: { ...PLAN, subtasks: [{ ...TASK, state: "later" }] } }],
])("a program's own event is none: %s", (_, name, value) => {
  expect(readDeed({ name, value })).toBeNull();
});

test("a field more changes nothing", () => {
  expect(readDeed({ name: "claim_withheld", value: { ...CLAIM, more: 1 } })?.name).toBe("claim_withheld");
});

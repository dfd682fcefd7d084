import { expect, test } from "vitest";
import { isAboutPlan, planNotice } from "../src/plan-words.ts";

const RULE = "Subtask (at index 0) named 'Train' is not done yet.";

test.each([
  ["plan_edit_refused", RULE],
  ["plan_replaced", "Meanwhile it was replaced or ended."],
  ["no_plan", "Meanwhile it was replaced or ended."],
  ["plan_not_editable", "This plan is not for you to change."],
  ["too_many_plan_edits", "It was changed too often. Try again later."],
])("%s says that the plan stays, and why", (code, todo) => {
  expect(isAboutPlan(code)).toBe(true);
  expect(planNotice({ code, message: RULE })).toEqual({ what: "The plan was not changed.", todo });
});

test.each(["invalid_event", "constructor", ""])("the error %j is about something else", (code) => {
  expect(isAboutPlan(code)).toBe(false);
});

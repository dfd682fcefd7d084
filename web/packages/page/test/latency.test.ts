import { expect, test } from "vitest";
import { median, stageWords } from "../src/latency/words.ts";

test.each([
  ...["turn_end", "transcript", "response", "tool_call", "consent", "tool_result", "first_token", "first_sentence"],
  ...["first_audio", "sent", "played"],
])("the stage %s has words and an explanation in a sentence", (name) => {
  expect(stageWords(name)?.done).toMatch(/^[A-Z][a-z ]+$/);
  expect(stageWords(name)?.means).toMatch(/^[A-Z].{20,}\.$/);
});

test("a stage of a later version has none", () => {
  expect(stageWords("thinking")).toBeNull();
});

test("the middle of an even count is the lower one, as in the report", () => {
  expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([])]).toEqual([2, 2, 0]);
});

import { expect, test } from "vitest";
import type { Bubble } from "../src/captions.ts";
import { stoppedWords, wentOnWords } from "../src/interruption-words.ts";

const REPLY: Bubble = { id: "a1", side: "agent", name: "", text: "One", status: "cut", responseId: "r1" };

test("a reply that was stopped names the reason, where one is known", () => {
  expect(stoppedWords(REPLY)).toBe("Interrupted here");
  expect(stoppedWords({ ...REPLY, stoppedBy: "answer" })).toBe("Interrupted here: an answer to its question");
});

test("a reply that went on has a line for each reason", () => {
  expect(wentOnWords(REPLY)).toBe("");
  const live: Bubble = { ...REPLY, status: "live", ignored: ["backchannel", "far_voice"] };
  expect(wentOnWords(live)).toBe("Went on: only “mm-hm” or the like\nWent on: the voice was much quieter than yours");
  expect(wentOnWords({ ...live, status: "cut" })).toBe("");
});

test("a reason of a newer server is shown as it is", () => {
  expect(wentOnWords({ ...REPLY, status: "done", ignored: ["another_room"] })).toBe("Went on: another room");
});

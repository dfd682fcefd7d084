import type { ConsentQuestion, ConsentReceipt, PermissionRule, PermissionUpdate } from "@realtime-voice/client";
import { describe, expect, test } from "vitest";
import { askingWords, claimLines, claimWords, conditionWords, ignoredWords, listedRule, modeWords, offerWords, permissionNotice, receiptLines, receiptWords } from "../src/consent-words.ts";

const RULE: PermissionRule = { tool_name: "book_table", rule_content: "people<=4, day=Friday", behavior: "allow", source: "suggested" };
const QUESTION: ConsentQuestion = { tool_call_id: "t1", tool: "book_table", question: "Shall I?", by: "either", state: "asking", n: 1 };
const RECEIPT: ConsentReceipt = {
  tool_call_id: "t1",
  tool: "book_table",
  question: "Shall I book?",
  question_item_id: "a1",
  question_played_ms: 1840,
  heard_whole: true,
  answered_by: "voice",
  answer: "yes",
  words: "Yes.",
  answer_start_ms: 1,
  answer_end_ms: 2,
  participant: null,
  recording: null,
  done: "success",
};

describe("how a question can be answered", () => {
  test("while it is asked aloud, a yes has to wait; then it counts", () => {
    expect(askingWords(QUESTION)).toContain("once you have heard the question to its end");
    expect(askingWords({ ...QUESTION, state: "changed" })).toContain("once you have heard");
    expect(askingWords({ ...QUESTION, state: "repeated" })).toContain("once more");
    expect(askingWords({ ...QUESTION, state: "waiting", n: 0 })).toBe("It is about to be asked aloud.");
    expect(askingWords({ ...QUESTION, state: "heard" })).toBe("Say “yes” or “no”, or choose here.");
    expect(askingWords({ ...QUESTION, state: "heard", by: "voice" })).toBe("Say or type “yes” or “no”.");
  });

  test("in a room it says who is asked", () => {
    expect(askingWords({ ...QUESTION, state: "heard", participant: "Anna" })).toBe("Anna is asked. Say “yes” or “no”, or choose here.");
    expect(askingWords({ ...QUESTION, by: "card", participant: "Anna" })).toBe("Anna is asked.");
    expect(ignoredWords("other_person")).toContain("Only the answer of the one who is asked counts");
  });

  test("a card alone needs no words", () => {
    expect(askingWords({ ...QUESTION, by: "card" })).toBe("");
    expect(askingWords({ ...QUESTION, by: "card", why: "this agent writes" })).toBe("It cannot be asked aloud here. Please choose, or type “yes” or “no”.");
  });

  test("an answer that does not count says why, where its speaker can do something about it", () => {
    expect(ignoredWords("before_end")).toContain("Please wait for its end.");
    expect(ignoredWords("too_soon")).toContain("type it again");
    expect(ignoredWords("card_only")).toBe("That is agreed to here only. Please choose.");
    expect(["echo", "", "of tomorrow"].map(ignoredWords)).toEqual(["", "", ""]);
  });
});

describe("rules", () => {
  test("are offered and listed in words", () => {
    expect(offerWords(RULE)).toBe("Allow “Book table” from now on for People ≤ 4, Day = Friday");
    expect(offerWords({ ...RULE, rule_content: null })).toBe("Allow “Book table” from now on");
    expect(offerWords({ ...RULE, rule_content: null, behavior: "deny" })).toBe("Never allow book_table");
    expect(listedRule(RULE)).toBe("Book table (People ≤ 4, Day = Friday)");
  });

  test.each([
    ['title="2 * 3, please", n!=1', 'Title = "2 * 3, please", N ≠ 1'],
    ["address.city=Oslo", "Address city = Oslo"],
    ["git:*", "git:*"],
    ["/home/**", "/home/**"],
    ["tags=[1, 2]", "tags=[1, 2]"],
    ["", ""],
  ])("%s", (pattern, words) => {
    expect(conditionWords(pattern)).toBe(words);
  });

  test("a change of what is allowed is told once, and nothing is told of nothing", () => {
    const update: PermissionUpdate = { mode: "default", rules: [RULE], added: [RULE], removed: [], by: "user" };
    expect(permissionNotice(update)?.what).toBe("No more questions before: Book table (People ≤ 4, Day = Friday).");
    expect(permissionNotice({ ...update, by: "session" })?.what).toContain("Allowed in earlier calls");
    expect(permissionNotice({ ...update, by: "session", added: [] })).toBeNull();
    expect(permissionNotice({ ...update, added: [], removed: [RULE], by: "program" })?.what).toContain("You are asked again");
    expect(permissionNotice({ ...update, added: [], by: "program" })?.what).toBe("What needs your consent has changed.");
    expect([modeWords("default"), modeWords("bypass"), modeWords("of tomorrow")]).toEqual(["", "Everything runs without asking.", ""]);
  });
});

describe("a receipt", () => {
  test("is one line, whatever the answer was", () => {
    const line = (answered_by: ConsentReceipt["answered_by"], answer: ConsentReceipt["answer"]) => receiptWords({ ...RECEIPT, answered_by, answer });
    expect(line("voice", "yes")).toBe("You agreed by voice");
    expect(line("card", "no")).toBe("You refused on the card");
    expect(line("rule", "yes")).toBe("A rule allowed it");
    expect(receiptWords({ ...RECEIPT, answer: "change", done: "denied" })).toBe("You wanted a change");
    expect(line("card", "change")).toBe("You agreed to it as you changed it");
    expect(line("timeout", "silence")).toBe("Nobody answered");
    expect(line("interrupted", "silence")).toBe("The question was interrupted");
    for (const by of ["voice", "card", "rule", "timeout", "interrupted"] as const) {
      for (const answer of ["yes", "no", "change", "silence"] as const) expect(line(by, answer)).not.toBe("");
    }
  });

  test("opens to what was asked, heard, answered and done", () => {
    expect(receiptLines({ ...RECEIPT, participant: "Ann" })).toEqual([
      ["Asked", "Shall I book?"],
      ["Heard", "to its end"],
      ["Answered", "“Yes.”"],
      ["By", "Ann"],
      ["Then", "it was done"],
    ]);
    expect(receiptLines({ ...RECEIPT, heard_whole: false })[1]).toEqual(["Heard", "1.8 s of it"]);
    expect(receiptLines({ ...RECEIPT, question_item_id: null, words: "", done: "denied" })).toEqual([["Asked", "Shall I book?"], ["Then", "it did not run"]]);
  });
});

test("a withheld claim says whether it was heard", () => {
  const claim = { item_id: "a1", response_id: "r1", sentence: "I booked it.", tools: ["book_table"], correction: "", heard: false };
  expect(claimWords([claim])).toBe("Corrected before you heard it");
  expect(claimWords([claim, { ...claim, heard: true }])).toBe("Corrected after you heard it");
  expect(claimLines(claim)).toEqual([["", "It was about to say: “I booked it.”"], ["", "But this was not done: Book table"]]);
  expect(claimLines({ ...claim, heard: true, tools: [] })).toEqual([["", "It said: “I booked it.”"]]);
});

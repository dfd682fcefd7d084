import { expect, test } from "vitest";
import type { ContentBlock, MsgData } from "@realtime-voice/messages";
import { inOrder } from "../src/in-order.ts";

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString();
const text = (id: string, second: number): ContentBlock => ({ type: "text", id, text: id, created_at: at(second), finished_at: at(second) });
const call = (second: number): ContentBlock => ({ type: "tool_call", id: "c1", name: "pay", input: "{}", state: "finished", suggested_rules: [], created_at: at(second), finished_at: at(second) });
const result = (second: number): ContentBlock => ({ type: "tool_result", id: "c1", name: "pay", output: "paid", state: "success", created_at: at(second), finished_at: at(second) });

function message(id: string, role: "user" | "assistant", second: number, ...content: ContentBlock[]): MsgData {
  return { id, name: role, role, content, metadata: {}, created_at: at(second), finished_at: at(50), finished_reason: "interrupted", error: null, usage: null, model_name: "" } as unknown as MsgData;
}

const shown = (messages: readonly MsgData[]): string[] => inOrder(messages).map(({ msg }) => `${msg.role}: ${msg.content.map(({ type, id }) => `${type} ${id}`).join(", ")}`);

test("what is said after a question's yes stands below it, and the result with its call", () => {
  const messages = [
    message("u1", "user", 1, text("Pay five.", 1)),
    message("r1", "assistant", 2, text("One moment.", 2), call(3), result(9), text("It is paid.", 10)),
    message("u2", "user", 4, text("How much?", 4)),
    message("r2", "assistant", 5, text("Five.", 5)),
    message("u3", "user", 7, text("Yes.", 7)),
    message("u4", "user", 12, text("Thanks.", 12)),
  ];
  expect(shown(messages)).toEqual([
    "user: text Pay five.",
    "assistant: text One moment., tool_call c1, tool_result c1",
    "user: text How much?",
    "assistant: text Five.",
    "user: text Yes.",
    "assistant: text It is paid.",
    "user: text Thanks.",
  ]);
  const pieces = inOrder(messages).filter(({ of }) => of === "r1");
  expect(pieces.map(({ key, msg }) => [key, msg.created_at, msg.finished_reason])).toEqual([
    ["r1", at(2), "completed"],
    ["r1 1", at(10), "interrupted"],
  ]);
});

test("a reply that nobody answered in between stays whole", () => {
  const messages = [
    message("u1", "user", 1, text("Pay five.", 1)),
    message("r1", "assistant", 2, call(3), result(4), text("It is paid.", 5)),
    message("u2", "user", 6, text("Thanks.", 6)),
  ];
  expect(inOrder(messages)).toEqual(messages.map((msg) => ({ key: msg.id, of: msg.id, msg })));
});

test("pieces keep their keys while the reply grows", () => {
  const yes = message("u2", "user", 4, text("Yes.", 4));
  const before = inOrder([message("r1", "assistant", 2, call(3)), yes]);
  const after = inOrder([message("r1", "assistant", 2, call(3), result(5), text("It is paid.", 6)), yes]);
  expect([before, after].map((pieces) => pieces.map(({ key }) => key))).toEqual([["r1", "u2"], ["r1", "u2", "r1 1"]]);
});

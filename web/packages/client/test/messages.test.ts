import { expect, test } from "vitest";
import type { LocalSignal } from "../src/call-controller.ts";
import { type Conversation, EMPTY, Messages, foldConversation } from "../src/messages.ts";
import type { ServerEvent } from "../src/protocol.generated.ts";
import { event } from "../../../test/events.ts";

/** Each message in short, after these events. */
function after(...events: (ServerEvent | LocalSignal)[]): string[] {
  const conversation = events.reduce<Conversation>(foldConversation, EMPTY);
  return conversation.list.map(({ from, text, status }) => `${from} ${status}: ${text}`);
}

const started = (item_id: string) => event("agent_input_started", { item_id });
const heard = (item_id: string, transcript: string) => event("agent_input_transcription_done", { item_id, transcript });
const saying = (item_id: string, delta: string) => event("agent_response_audio_transcript_delta", { item_id, delta });
const said = (item_id: string, transcript: string) => event("agent_response_audio_transcript_done", { item_id, transcript });
const cut = (item_id: string, transcript: string) => event("agent_item_truncated", { item_id, transcript });
const typed = (id: string, text: string, previous: string | null = null) =>
  event("agent_item_added", {
    previous_item_id: previous,
    item: { ...event("agent_item_added").item, id, role: "user", content: [{ ...PART, text }] },
  });
const PART = { type: "text", text: null, transcript: null, image: null, media_type: null, audio: null, format: null } as const;
const tool = (state: "asking" | "submitted") =>
  event("agent_response_tool_use_done", {
    tool_use: { ...event("agent_response_tool_use_done").tool_use, id: "t1", name: "pay", input: '{"to": "Ann"}', state },
  });
const result = (output: string, state: "success" | "denied" | "error") =>
  event("agent_response_tool_result", {
    tool_result: { ...event("agent_response_tool_result").tool_result, id: "t1", name: "pay", output, state },
  });

test("what both say grows, and settles", () => {
  expect(after(started("u1"), saying("a1", "Hel"), saying("a1", "lo"))).toEqual(["user growing: ", "agent growing: Hello"]);
  expect(after(started("u1"), heard("u1", "Hi."), said("a1", "Hello."))).toEqual(["user done: Hi.", "agent done: Hello."]);
});

test("after an interruption only the words that were heard are there, whatever comes late", () => {
  const words = [saying("a1", "One two three"), cut("a1", "One two")];
  expect(after(...words, said("a1", "One two three four."))).toEqual(["agent cut: One two"]);
  expect(after(cut("a1", "One"), said("a1", "One two."))).toEqual(["agent cut: One"]);
});

test("a reply that was not heard at all is gone, whatever comes late", () => {
  const gone = event("agent_item_deleted", { item_id: "a1" });
  expect(after(started("u1"), saying("a1", "He"), gone, said("a1", "Hello."))).toEqual(["user growing: "]);
});

test("a user who goes on after a hasty end of turn has one message", () => {
  const deleted = event("agent_item_deleted", { item_id: "u1" });
  expect(after(started("u1"), deleted, started("u1"), heard("u1", "One two."))).toEqual(["user done: One two."]);
});

test("a sound without words leaves no message", () => {
  expect(after(started("u1"), heard("u1", " "))).toEqual([]);
  expect(after(started("u1"), event("agent_input_cleared", { item_id: "u1" }))).toEqual([]);
});

test("typed text stands where its item stands", () => {
  expect(after(started("u1"), saying("a1", "Yes"), typed("u2", "And now?", "u1"))).toEqual([
    "user growing: ",
    "user done: And now?",
    "agent growing: Yes",
  ]);
});

test("a tool asks, runs and ends", () => {
  expect(after(tool("asking"))).toEqual(["tool asking: "]);
  expect(after(tool("submitted"), result("paid", "success"))).toEqual(["tool done: paid"]);
  expect(after(tool("asking"), result("no", "denied"))).toEqual(["tool failed: no"]);
});

test("what was not finished when the call ended counts as cut", () => {
  expect(after(saying("a1", "Well"), tool("asking"), { type: "closed" })).toEqual(["agent cut: Well", "tool cut: "]);
});

test("events that change no words change no list", () => {
  const messages = new Messages();
  const lists: number[] = [];
  messages.on("change", (list) => lists.push(list.length));
  const before = foldConversation(EMPTY, said("a1", "Hello."));
  messages.replace(before.list);
  messages.replace(foldConversation(before, event("server_latency")).list);
  messages.replace(foldConversation(before, { type: "closed" }).list);
  expect(lists).toEqual([1]);
});

test("a line without words is no message: a turn that is being recognised, or an answer before its first word", () => {
  const messages = new Messages();
  const lists: string[][] = [];
  messages.on("change", (list) => lists.push(list.map(({ from, text }) => `${from}: ${text}`)));
  const events = [started("u1"), saying("a1", " "), heard("u1", "Hi."), saying("a1", "Hello."), tool("submitted")];
  events.reduce((before, each) => {
    const now = foldConversation(before, each);
    messages.replace(now.list);
    return now;
  }, EMPTY);
  expect(lists).toEqual([["user: Hi."], ["user: Hi.", "agent:  Hello."], ["user: Hi.", "agent:  Hello.", "tool: "]]);
});

test("a tool that asks has the words of its question and the rules that may be accepted, until it is answered", () => {
  const rule = { tool_name: "pay", rule_content: null, behavior: "allow" as const, source: "suggested" };
  const { tool_use: use } = event("agent_response_tool_use_done");
  const asking = event("agent_response_tool_use_done", { tool_use: { ...use, id: "t1", name: "pay", state: "asking", suggested_rules: [rule] } });
  const question = (state: string) =>
    event("server_custom", {
      name: "consent_question",
      value: { tool_call_id: "t1", tool: "pay", question: "Shall I pay?", by: "either", state, n: 1 },
    });
  const { list } = [asking, question("asking")].reduce<Conversation>(foldConversation, EMPTY);
  expect(list).toMatchObject([{ id: "t1", from: "tool", question: "Shall I pay?", suggestedRules: [rule], status: "asking" }]);
  expect(after(asking, question("heard"))).toEqual(["tool asking: "]);
  expect(after(asking, question("answered"))).toEqual(["tool growing: "]);
  expect(after(asking, result("paid", "success"), question("answered"))).toEqual(["tool done: paid"]);
});

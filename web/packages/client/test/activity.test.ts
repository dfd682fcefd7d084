import { expect, test } from "vitest";
import type { LocalSignal, ServerEvent } from "../src/index.ts";
import { INITIAL_ACTIVITY, callState, foldActivity } from "../src/activity.ts";
import { event } from "../../../test/events.ts";

/** The states that a reader sees, one after the other. */
function states(...events: (ServerEvent | LocalSignal)[]): string[] {
  let activity = INITIAL_ACTIVITY;
  const seen = [callState(activity)];
  for (const next of events) {
    activity = foldActivity(activity, next);
    if (callState(activity) !== seen.at(-1)) seen.push(callState(activity));
  }
  return seen;
}

const ready = event("agent_ready");
const started = event("agent_input_started");
const done = event("agent_input_done");
const committed = event("agent_input_committed");
const created = event("agent_response_created", { response_id: "r1" });
const closed = event("agent_response_done", { response_id: "r1" });
const voice = { type: "voice_started", itemId: "i1" } as const;
const idle = { type: "voice_idle" } as const;

test("a spoken turn: hearing, thinking, speaking until the voice is out, listening", () => {
  expect(states(ready, started, done, committed, created, voice, closed, idle)).toEqual([
    "connecting",
    "listening",
    "hearing",
    "thinking",
    "speaking",
    "listening",
  ]);
});

test("between the end of a response and the first sample of its voice it still thinks", () => {
  expect(states(ready, started, done, created, { type: "voice_waiting", itemId: "i1" }, closed, voice, idle).slice(2)).toEqual([
    "hearing",
    "thinking",
    "speaking",
    "listening",
  ]);
});

test("a typed turn thinks from the sending on, and ends with a text answer too", () => {
  expect(states(ready, { type: "text_sent" }, created, closed)).toEqual(["connecting", "listening", "thinking", "listening"]);
});

test("barge-in: the user is heard over the voice, and the cancelled response is not waited for", () => {
  expect(states(ready, created, voice, started, closed, idle, done).slice(2)).toEqual([
    "thinking",
    "speaking",
    "hearing",
    "thinking",
  ]);
});

test("a tool call thinks on until the response that answers its result", () => {
  const second = event("agent_response_created", { response_id: "r2" });
  const events = [created, event("agent_response_tool_use_done"), closed, second, voice];
  expect(states(ready, ...events)).toEqual(["connecting", "listening", "thinking", "speaking"]);
});

test("input that comes to nothing goes back to listening", () => {
  expect(states(ready, started, done, event("agent_input_cleared")).at(-1)).toBe("listening");
  expect(states(ready, started, done, event("agent_item_deleted")).at(-1)).toBe("listening");
  expect(states(ready, started, done, event("agent_error")).at(-1)).toBe("listening");
});

test("a commit after the beginning of its response does not keep the state at thinking", () => {
  expect(states(ready, started, done, created, committed, closed).at(-1)).toBe("listening");
});

test.each([event("agent_ended"), event("server_session_ended"), { type: "closed" } as const])("$type ends it", (ending) => {
  expect(states(ready, started, ending)).toEqual(["connecting", "listening", "hearing", "ended"]);
});

test("a lost line is shown before all else, and what went on is shown again when it is back", () => {
  const lost = { type: "line_lost" } as const;
  const back = { type: "line_back" } as const;
  expect(states(ready, created, voice, lost, started, back, done)).toEqual([
    "connecting",
    "listening",
    "thinking",
    "speaking",
    "reconnecting",
    "hearing",
    "speaking",
  ]);
  expect(states(ready, lost, { type: "closed" }).at(-1)).toBe("ended");
});

test("a tool that asks for consent waits for the user; the answer is thought about", () => {
  const { tool_use: use } = event("agent_response_tool_use_done");
  const asking = event("agent_response_tool_use_done", { tool_use: { ...use, state: "asking" } });
  const question = (state: string) =>
    event("server_custom", { name: "consent_question", value: { tool_call_id: "t1", tool: "pay", question: "?", by: "either", state, n: 1 } });
  const early = event("server_custom", { name: "consent_ignored", value: { tool_call_id: "t1", tool: "pay", reason: "before_end", words: "Yes" } });
  const turn = [started, done];
  expect(states(ready, created, asking, closed, question("asking"), voice, ...turn, early, idle, question("heard"), ...turn, question("answered")).slice(2)).toEqual([
    "thinking",
    "listening",
    "speaking",
    "hearing",
    "speaking",
    "listening",
    "hearing",
    "thinking",
  ]);
});

import { expect, test } from "vitest";
import { InspectorLog } from "../src/inspector-log.ts";
import { event } from "../../../test/events.ts";

test("events are numbered in both directions, audio is marked", () => {
  const log = new InspectorLog(10);
  log.addEvent("out", { type: "client_text_append", text: "hello" }, 5);
  log.addEvent("in", event("agent_ready"), 7);
  log.addEvent("in", event("server_audio_received"), 9);
  log.addAudio("in", 480, 960, 11);
  expect(log.entries.map(({ number, direction, type, audio }) => [number, direction, type, audio])).toEqual([
    [0, "out", "client_text_append", false],
    [1, "in", "agent_ready", false],
    [2, "in", "server_audio_received", true],
    [3, "in", "audio frame", true],
  ]);
  expect(JSON.parse(log.entries[0]?.json ?? "")).toEqual({ type: "client_text_append", text: "hello" });
});

test("the log is bounded, and its numbers go on", () => {
  const log = new InspectorLog(100);
  for (let i = 0; i < 1000; i++) log.addAudio("in", 480, i, i);
  expect(log.entries.length).toBeLessThanOrEqual(125);
  expect(log.entries.at(-1)?.number).toBe(999);
});

test("long base64 is elided", () => {
  const log = new InspectorLog(10);
  const entry = log.addEvent("in", event("agent_response_audio_delta", { delta: "A".repeat(5000) }), 0);
  expect(entry.json.length).toBeLessThan(700);
  expect(entry.json).toContain("5000 characters");
});

test("what opens the call to others is not shown", () => {
  const log = new InspectorLog(10);
  log.addEvent("in", event("server_session_created", { resume_token: "call_1.secret" }), 0);
  log.addEvent("in", event("server_session_resumed", { token: "call_1.secret" }), 0);
  log.addEvent("in", event("server_goodbye", { resume_token: "call_1.secret" }), 0);
  log.addEvent("out", { type: "client_session_resume", token: "call_1.secret", last_seq: 4 }, 0);
  expect(log.entries.map(({ json }) => json.includes("secret"))).toEqual([false, false, false, false]);
  expect(log.entries.at(-1)?.json).toContain('"last_seq": 4');
});

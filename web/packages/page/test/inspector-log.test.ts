import { expect, test } from "vitest";
import { type Filter, InspectorLog, passes } from "../src/inspector-log.ts";
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
  log.addEvent("in", event("server_custom", { name: "permissions_key", value: { key: "permissions_secret" } }), 0);
  log.addEvent("out", { type: "client_session_create", config: { permissions: { keep: true, key: "permissions_secret" } } }, 0);
  expect(log.entries.map(({ json }) => json.includes("secret"))).toEqual(Array(6).fill(false));
  expect(log.entries[3]?.json).toContain('"last_seq": 4');
});

test("a filter shows a direction, audio or none, and what has all the words", () => {
  const log = new InspectorLog(10);
  log.addEvent("out", { type: "client_text_append", text: "Where is order SEVEN?" }, 5);
  log.addEvent("in", event("agent_ready", { agent_name: "Friday" }), 7);
  log.addAudio("in", 480, 960, 11);
  const shown = (filter: Partial<Filter>): number[] =>
    log.entries.filter((entry) => passes(entry, { direction: null, audio: false, search: "", ...filter })).map(({ number }) => number);
  expect(shown({})).toEqual([0, 1]);
  expect(shown({ audio: true })).toEqual([0, 1, 2]);
  expect(shown({ direction: "in" })).toEqual([1]);
  expect(shown({ search: "seven ORDER" })).toEqual([0]);
  expect(shown({ search: "ready friday" })).toEqual([1]);
  expect(shown({ search: "nothing like it" })).toEqual([]);
});

test("a download has one event a line, without what opens the call to others", () => {
  const log = new InspectorLog(10);
  log.addEvent("in", event("server_session_created", { resume_token: "call_1.secret" }), 1.4);
  log.addUnknown("server_of_tomorrow", 2);
  const lines = log.lines({ direction: null, audio: false, search: "" }).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { at_ms: 1, direction: "in", type: "server_session_created", event: { resume_token: "…" } },
    { at_ms: 2, direction: "in", type: "server_of_tomorrow" },
  ]);
});

test("bytes are not kept, and other events become JSON only when they are looked at", () => {
  const log = new InspectorLog(10);
  const picture = { type: "client_image_append", image: "A".repeat(5000) } as const;
  expect(log.addEvent("out", picture, 0).json).toContain("5000 characters");
  const looked: string[] = [];
  const seen = { type: "client_text_append", get text() { looked.push("text"); return "hello"; } } as const;
  const entry = log.addEvent("out", seen, 0);
  expect(looked).toEqual([]);
  expect([entry.json, entry.json].map((json) => JSON.parse(json) as object)[1]).toEqual({ type: "client_text_append", text: "hello" });
  expect(looked).toEqual(["text"]);
});

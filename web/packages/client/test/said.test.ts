import { expect, test } from "vitest";
import type { ClientEvent } from "../src/protocol.generated.ts";
import { type Said, SaidLog } from "../src/said.ts";

const frame = (): Int16Array<ArrayBuffer> => new Int16Array(320);
const typed = (text: string): ClientEvent => ({ type: "client_text_append", text, event_id: text });
const position = (item_id: string, played_ms: number, flushed = false): ClientEvent => ({
  type: "client_playback_ack",
  item_id,
  played_ms,
  flushed,
});

/** Offsets of speech, texts of events. */
function names(said: Said[]): (string | number)[] {
  return said.map((one) => (one.kind === "speech" ? one.offset : one.event.type === "client_text_append" ? one.event.text : "ack"));
}

function all(log: SaidLog): (string | number)[] {
  return names(log.again(0));
}

/** Everything said so far went into a socket. */
function sent(log: SaidLog): void {
  for (const said of log.again(null)) said.sent = true;
}

test("each frame gets its place in the stream", () => {
  const log = new SaidLog(16_000, 8);
  expect([log.speech(frame(), null).offset, log.speech(frame(), null).offset, log.nextOffset]).toEqual([0, 320, 640]);
});

test("only the last seconds of speech are kept, and all events", () => {
  const log = new SaidLog(1000, 8);
  log.event(typed("first"));
  for (let i = 0; i < 100; i++) {
    log.speech(frame(), null);
    if (i === 50) log.event(typed("middle"));
  }
  expect(all(log)).toEqual(["first", "middle", 30_720, 31_040, 31_360, 31_680]);
  expect(log.nextOffset).toBe(32_000);
});

test("too many events push out the oldest one", () => {
  const log = new SaidLog(1000, 3);
  for (const text of ["a", "b", "c", "d"]) log.event(typed(text));
  expect(all(log)).toEqual(["b", "c", "d"]);
});

test("what is said again has its order, and begins at the first frame that holds a missing sample", () => {
  const log = new SaidLog(16_000, 8);
  log.event(typed("a"));
  for (let i = 0; i < 4; i++) {
    log.speech(frame(), null);
    log.event(typed(`after ${i}`));
  }
  sent(log);
  expect(names(log.again(640))).toEqual(["a", "after 0", "after 1", 640, "after 2", 960, "after 3"]);
  expect(names(log.again(641)).filter(Number.isInteger)).toEqual([640, 960]);
  expect(names(log.again(1280)).filter(Number.isInteger)).toEqual([]);
});

test("events are kept for as long as speech is behind the speech that the server has", () => {
  const log = new SaidLog(640, 8);
  log.event(typed("a"));
  log.speech(frame(), null);
  log.event(typed("b"));
  log.speech(frame(), null);
  sent(log);
  log.acknowledge(640);
  expect(all(log)).toEqual(["a", 0, "b", 320]);
  log.acknowledge(641);
  expect(names(log.again(640))).toEqual(["b"]);
  log.acknowledge(961);
  expect(names(log.again(640))).toEqual([]);
});

test("speech goes on from the told place, or not at all, and every event is said again", () => {
  const log = new SaidLog(16_000, 8);
  log.speech(frame(), null);
  log.event(typed("sent"));
  log.speech(frame(), null);
  sent(log);
  log.speech(frame(), null);
  log.event(typed("new"));
  expect(names(log.again(null))).toEqual(["sent", 640, "new"]);
  expect(names(log.again(320))).toEqual(["sent", 320, 640, "new"]);
});

test("positions of one item in a row are one, those of others and the last word on a flush are not", () => {
  const log = new SaidLog(16_000, 8);
  for (let ms = 0; ms < 500; ms += 100) log.event(position("a", ms));
  log.event(position("a", 450, true));
  log.event(position("a", 450));
  log.event(position("b", 20));
  const kept = log.again(0).map((said) => said.kind === "control" && "played_ms" in said.event && said.event.played_ms);
  expect(kept).toEqual([450, 450, 20]);
});

test("what the server received never falls back", () => {
  const log = new SaidLog(16_000, 8);
  log.acknowledge(640);
  log.acknowledge(320);
  expect(log.receivedOffset).toBe(640);
});

test("a page that was reloaded goes on at the server's count", () => {
  const log = new SaidLog(16_000, 8);
  log.goOnAt(4800);
  expect(log.speech(frame(), null).offset).toBe(4800);
  log.goOnAt(320);
  expect(log.nextOffset).toBe(5120);
});

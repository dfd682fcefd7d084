import { expect, test } from "vitest";
import type { ClientEvent } from "../src/protocol.generated.ts";
import { type Outgoing, ReplayBuffer } from "../src/replay-buffer.ts";

const frame = (): Int16Array<ArrayBuffer> => new Int16Array(320);
const typed = (text: string): ClientEvent => ({ type: "client_text_append", text, event_id: text });
const position = (item_id: string, played_ms: number, flushed = false): ClientEvent => ({
  type: "client_playback_ack",
  item_id,
  played_ms,
  flushed,
});

/** Offsets of speech, texts of events. */
function names(outgoing: Outgoing[]): (string | number)[] {
  return outgoing.map((one) => (one.kind === "speech" ? one.offset : one.event.type === "client_text_append" ? one.event.text : "ack"));
}

function all(buffer: ReplayBuffer): (string | number)[] {
  return names(buffer.after(0));
}

/** Marks everything so far as sent. */
function sent(buffer: ReplayBuffer): void {
  for (const outgoing of buffer.after(null)) outgoing.sent = true;
}

test("each frame gets its place in the stream", () => {
  const buffer = new ReplayBuffer(16_000, 8);
  expect([buffer.speech(frame(), null).offset, buffer.speech(frame(), null).offset, buffer.nextOffset]).toEqual([0, 320, 640]);
});

test("only the last seconds of speech are kept, and all events", () => {
  const buffer = new ReplayBuffer(1000, 8);
  buffer.event(typed("first"));
  for (let i = 0; i < 100; i++) {
    buffer.speech(frame(), null);
    if (i === 50) buffer.event(typed("middle"));
  }
  expect(all(buffer)).toEqual(["first", "middle", 30_720, 31_040, 31_360, 31_680]);
  expect(buffer.nextOffset).toBe(32_000);
});

test("too many events push out the oldest one", () => {
  const buffer = new ReplayBuffer(1000, 3);
  for (const text of ["a", "b", "c", "d"]) buffer.event(typed(text));
  expect(all(buffer)).toEqual(["b", "c", "d"]);
});

test("what is repeated keeps its order, and begins at the first frame that holds a missing sample", () => {
  const buffer = new ReplayBuffer(16_000, 8);
  buffer.event(typed("a"));
  for (let i = 0; i < 4; i++) {
    buffer.speech(frame(), null);
    buffer.event(typed(`after ${i}`));
  }
  sent(buffer);
  expect(names(buffer.after(640))).toEqual(["a", "after 0", "after 1", 640, "after 2", 960, "after 3"]);
  expect(names(buffer.after(641)).filter(Number.isInteger)).toEqual([640, 960]);
  expect(names(buffer.after(1280)).filter(Number.isInteger)).toEqual([]);
});

test("events are kept for as long as speech is behind the speech that the server has", () => {
  const buffer = new ReplayBuffer(640, 8);
  buffer.event(typed("a"));
  buffer.speech(frame(), null);
  buffer.event(typed("b"));
  buffer.speech(frame(), null);
  sent(buffer);
  buffer.acknowledge(640);
  expect(all(buffer)).toEqual(["a", 0, "b", 320]);
  buffer.acknowledge(641);
  expect(names(buffer.after(640))).toEqual(["b"]);
  buffer.acknowledge(961);
  expect(names(buffer.after(640))).toEqual([]);
});

test("speech is repeated from the given offset or not at all, and every event is repeated", () => {
  const buffer = new ReplayBuffer(16_000, 8);
  buffer.speech(frame(), null);
  buffer.event(typed("sent"));
  buffer.speech(frame(), null);
  sent(buffer);
  buffer.speech(frame(), null);
  buffer.event(typed("new"));
  expect(names(buffer.after(null))).toEqual(["sent", 640, "new"]);
  expect(names(buffer.after(320))).toEqual(["sent", 320, 640, "new"]);
});

test("positions of one item in a row are one, those of others and the last word on a flush are not", () => {
  const buffer = new ReplayBuffer(16_000, 8);
  for (let ms = 0; ms < 500; ms += 100) buffer.event(position("a", ms));
  buffer.event(position("a", 450, true));
  buffer.event(position("a", 450));
  buffer.event(position("b", 20));
  const kept = buffer.after(0).map((one) => one.kind === "control" && "played_ms" in one.event && one.event.played_ms);
  expect(kept).toEqual([450, 450, 20]);
});

test("what the server received never falls back", () => {
  const buffer = new ReplayBuffer(16_000, 8);
  buffer.acknowledge(640);
  buffer.acknowledge(320);
  expect(buffer.receivedOffset).toBe(640);
});

test("a page that was reloaded goes on at the server's count", () => {
  const buffer = new ReplayBuffer(16_000, 8);
  buffer.continueAt(4800);
  expect(buffer.speech(frame(), null).offset).toBe(4800);
  buffer.continueAt(320);
  expect(buffer.nextOffset).toBe(5120);
});

import { expect, test } from "vitest";
import { Outbox } from "../src/outbox.ts";
import type { Outgoing } from "../src/replay-buffer.ts";

const speech = (offset: number): Outgoing => ({ kind: "speech", offset, pcm: new Int16Array(1), played: null, sent: false });
const control = (text: string): Outgoing => ({
  kind: "control",
  place: 0,
  event: { type: "client_text_append", text },
  sent: false,
});

function drain(outbox: Outbox): (string | number)[] {
  const out: (string | number)[] = [];
  for (let outgoing = outbox.shift(); outgoing; outgoing = outbox.shift()) {
    if (outgoing.kind === "speech") out.push(outgoing.offset);
    else if (outgoing.event.type === "client_text_append") out.push(outgoing.event.text);
  }
  return out;
}

test("what is outgoing leaves in the order in which it came", () => {
  const outbox = new Outbox(10);
  for (const outgoing of [control("a"), speech(1), control("b"), speech(2)]) outbox.push(outgoing);
  expect(drain(outbox)).toEqual(["a", 1, "b", 2]);
});

test("too much speech drops the oldest speech, never an event", () => {
  const outbox = new Outbox(2);
  for (const outgoing of [control("a"), speech(1), control("b"), speech(2), speech(3), speech(4)]) outbox.push(outgoing);
  expect(outbox.droppedFrames).toBe(2);
  expect(drain(outbox)).toEqual(["a", "b", 3, 4]);
});

test("what is outgoing again is not too much", () => {
  const outbox = new Outbox(1);
  for (let i = 0; i < 5; i++) outbox.push(speech(i), true);
  for (const outgoing of [speech(5), speech(6)]) outbox.push(outgoing);
  expect(drain(outbox)).toEqual([0, 1, 2, 3, 4, 6]);
});

test("what left counts no more", () => {
  const outbox = new Outbox(2);
  for (let i = 1; i <= 9; i++) {
    outbox.push(speech(i));
    expect(drain(outbox)).toEqual([i]);
  }
  expect(outbox.droppedFrames).toBe(0);
});

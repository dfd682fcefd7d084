import { expect, test } from "vitest";
import { Outbox, type Outgoing } from "../src/outbox.ts";

const audio = (size: number): Outgoing => ({ kind: "audio", data: new ArrayBuffer(size) });
const control = (data: string): Outgoing => ({ kind: "control", data });

function drain(outbox: Outbox): (string | number)[] {
  const out: (string | number)[] = [];
  for (let frame = outbox.shift(); frame; frame = outbox.shift()) {
    out.push(frame.kind === "audio" ? frame.data.byteLength : frame.data);
  }
  return out;
}

test("frames leave in the order they came", () => {
  const outbox = new Outbox(10);
  for (const frame of [control("a"), audio(1), control("b"), audio(2)]) outbox.push(frame);
  expect(drain(outbox)).toEqual(["a", 1, "b", 2]);
});

test("too much audio drops the oldest audio, never control", () => {
  const outbox = new Outbox(2);
  for (const frame of [control("a"), audio(1), control("b"), audio(2), audio(3), audio(4)]) outbox.push(frame);
  expect(outbox.droppedFrames).toBe(2);
  expect(drain(outbox)).toEqual(["a", "b", 3, 4]);
});

test("what left counts no more", () => {
  const outbox = new Outbox(2);
  for (let i = 1; i <= 9; i++) {
    outbox.push(audio(i));
    expect(drain(outbox)).toEqual([i]);
  }
  expect(outbox.droppedFrames).toBe(0);
});

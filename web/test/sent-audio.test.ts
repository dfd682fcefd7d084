import { expect, test } from "vitest";
import { SentAudio } from "../src/sent-audio.ts";

const frame = (): Int16Array<ArrayBuffer> => new Int16Array(320);

test("each frame gets its place in the stream", () => {
  const sent = new SentAudio(16_000);
  expect([sent.add(frame()).offset, sent.add(frame()).offset, sent.nextOffset]).toEqual([0, 320, 640]);
});

test("only the last seconds are kept", () => {
  const sent = new SentAudio(1000);
  for (let i = 0; i < 100; i++) sent.add(frame());
  const kept = sent.from(0).map(({ offset }) => offset);
  expect(kept).toEqual([30_720, 31_040, 31_360, 31_680]);
  expect(sent.nextOffset).toBe(32_000);
});

test("from an offset on means every frame that holds a later sample", () => {
  const sent = new SentAudio(16_000);
  for (let i = 0; i < 4; i++) sent.add(frame());
  expect(sent.from(640).map(({ offset }) => offset)).toEqual([640, 960]);
  expect(sent.from(641).map(({ offset }) => offset)).toEqual([640, 960]);
  expect(sent.from(1280)).toEqual([]);
});

test("what the server received never falls back", () => {
  const sent = new SentAudio(16_000);
  sent.acknowledge(640);
  sent.acknowledge(320);
  expect(sent.receivedOffset).toBe(640);
});

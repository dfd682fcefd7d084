import { expect, test } from "vitest";
import { meterLevel, pcmFromBase64, rms, toFloats, toPcm16, toPcm16Block } from "../src/pcm.ts";

test("full scale and beyond is clamped, never wrapped around", () => {
  expect([1, 1.2, 99, -1, -1.5, 0, 0.5].map(toPcm16)).toEqual([32767, 32767, 32767, -32768, -32768, 0, 16384]);
});

test("every pcm16 sample survives the way to float and back", () => {
  const all = Int16Array.from({ length: 65536 }, (_, i) => i - 32768);
  expect(toPcm16Block(toFloats(all))).toEqual(all);
});

test("a tone is as loud as half its square says, and silence is 0", () => {
  const tone = Float32Array.from({ length: 4800 }, (_, i) => Math.sin((2 * Math.PI * i) / 48));
  expect(rms(tone)).toBeCloseTo(Math.SQRT1_2, 6);
  expect(rms(new Float32Array(0))).toBe(0);
});

test("the meter goes from silence to loud speech, and not beyond", () => {
  expect(meterLevel(0)).toBe(0);
  expect(meterLevel(1)).toBe(1);
  expect(meterLevel(10 ** (-35 / 20))).toBeCloseTo(0.5, 6);
});

test("base64 becomes samples; an odd last byte is dropped", () => {
  expect([...pcmFromBase64("AADoAxj8")]).toEqual([0, 1000, -1000]);
  expect([...pcmFromBase64("6AMA")]).toEqual([1000]);
  expect(() => pcmFromBase64("%%%")).toThrow();
});

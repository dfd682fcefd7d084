import { describe, expect, test } from "vitest";
import { rms } from "../src/pcm.ts";
import { Resampler } from "../src/resampler.ts";
import { random } from "../../../test/random.ts";

const tone = (hz: number, rateHz: number, samples: number): Float32Array =>
  Float32Array.from({ length: samples }, (_, i) => 0.5 * Math.sin((2 * Math.PI * hz * i) / rateHz));

function whole(input: Float32Array, from: number, to: number): Float32Array {
  const resampler = new Resampler(from, to);
  return Float32Array.from([...resampler.process(input), ...resampler.flush()]);
}

const RATES = [
  [48000, 16000],
  [44100, 16000],
  [96000, 16000],
  [24000, 48000],
  [8000, 24000],
] as const;

describe.each(RATES)("from %d to %d Hz", (from, to) => {
  test("chunks of any size give what one block gives", () => {
    const input = tone(440, from, from / 4);
    for (let seed = 0; seed < 5; seed++) {
      const next = random(seed);
      const resampler = new Resampler(from, to);
      const pieces: number[] = [];
      for (let at = 0; at < input.length; ) {
        const size = Math.floor(next() * 700);
        pieces.push(...resampler.process(input.subarray(at, at + size)));
        at += size;
      }
      pieces.push(...resampler.flush());
      const expected = whole(input, from, to);
      expect(pieces.length).toBe(expected.length);
      expect(Math.max(...pieces.map((sample, i) => Math.abs(sample - (expected[i] as number))))).toBeLessThan(1e-6);
    }
  });

  test("a tone keeps its pitch, its place and its loudness, and the length is that of the input", () => {
    const output = whole(tone(440, from, from), from, to);
    expect(Math.abs(output.length - to)).toBeLessThanOrEqual(1);
    const middle = output.subarray(to / 4, (to * 3) / 4);
    const expected = tone(440, to, to).subarray(to / 4, (to * 3) / 4);
    expect(rms(middle.map((sample, i) => sample - (expected[i] as number)))).toBeLessThan(0.002);
  });
});

test("what the lower rate cannot hold is removed, not folded down into speech", () => {
  const output = whole(tone(9500, 48000, 48000), 48000, 16000);
  expect(20 * Math.log10(rms(output.subarray(1000, 15000)) / rms(tone(9500, 48000, 48000)))).toBeLessThan(-60);
});

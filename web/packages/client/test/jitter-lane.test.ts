import { expect, test } from "vitest";
import { JitterLane } from "../src/jitter-lane.ts";
import { random } from "../../../test/random.ts";

const BLOCK = 128;
const HOLD = 1440;
const MAX = 7200;

const speech = (samples: number, value = 16384): Int16Array => new Int16Array(samples).fill(value);

/** Renders blocks, and the sum of what is to be heard in each. */
function render(lane: JitterLane, blocks: number): number[] {
  return Array.from({ length: blocks }, () => {
    const output = new Float32Array(BLOCK);
    lane.mixInto(output);
    return output.reduce((sum, sample) => sum + sample, 0);
  });
}

const isSilent = (sums: number[]): boolean => sums.every((sum) => sum === 0);

test("speech begins when enough of it waits, and not before", () => {
  const lane = new JitterLane(HOLD, MAX);
  lane.push(speech(480));
  expect(isSilent(render(lane, 4))).toBe(true);
  lane.push(speech(480));
  lane.push(speech(480));
  const [first, second] = render(lane, 2);
  expect(first).toBeGreaterThan(0);
  expect(second).toBe(BLOCK / 2);
});

test("an end that is shorter than the hold is heard all the same", () => {
  const lane = new JitterLane(HOLD, MAX);
  lane.push(speech(300));
  const blocks = render(lane, 30);
  expect(isSilent(blocks.slice(0, 11))).toBe(true);
  expect(isSilent(blocks)).toBe(false);
  expect(lane.counters).toEqual({ played: 300, dropped: 0, underruns: 1 });
});

test("both edges fade within a block", () => {
  const lane = new JitterLane(0, MAX);
  lane.push(speech(BLOCK + 64));
  const first = new Float32Array(BLOCK);
  const last = new Float32Array(BLOCK);
  lane.mixInto(first);
  lane.mixInto(last);
  expect(first[0]).toBeLessThan(0.01);
  expect(first[BLOCK - 1]).toBe(0.5);
  expect(last[0]).toBeLessThan(0.5);
  expect(last[63]).toBeLessThan(0.01);
  expect(last[64]).toBe(0);
});

test("it adds to what is there", () => {
  const [one, other] = [new JitterLane(0, MAX), new JitterLane(0, MAX)];
  const output = new Float32Array(BLOCK);
  for (const lane of [one, other]) {
    lane.push(speech(BLOCK, 8192));
    lane.mixInto(output);
  }
  expect(output[BLOCK - 1]).toBe(0.5);
});

test("a backlog is cut down to the hold, so that no voice plays late", () => {
  const lane = new JitterLane(HOLD, MAX);
  for (let i = 0; i < 20; i++) lane.push(speech(480));
  expect(lane.queuedSamples).toBeLessThanOrEqual(MAX);
  expect(lane.counters.dropped).toBeGreaterThanOrEqual(20 * 480 - MAX);
  lane.push(speech(3 * MAX));
  expect(lane.queuedSamples).toBeLessThanOrEqual(MAX);
});

test("whatever comes when: each sample is played once, dropped or still waits", () => {
  const chance = random(6);
  const lane = new JitterLane(HOLD, MAX);
  let pushed = 0;
  for (let i = 0; i < 5_000; i++) {
    if (chance() < 0.25) {
      const samples = Math.floor(chance() * 1200);
      lane.push(speech(samples));
      pushed += samples;
    } else render(lane, 1);
    expect(lane.queuedSamples).toBeLessThanOrEqual(MAX);
  }
  expect(lane.counters.played + lane.counters.dropped + lane.queuedSamples).toBe(pushed);
});

import { expect, test } from "vitest";
import { retryDelayMs } from "../src/backoff.ts";
import { random } from "../../../test/random.ts";

test("the first try is made at once, each later one waits twice as long, up to 4 s", () => {
  const most = (): number => 1 - Number.EPSILON;
  expect([0, 1, 2, 3, 4, 5, 6, 60].map((attempt) => Math.round(retryDelayMs(attempt, most)))).toEqual([
    0, 250, 500, 1000, 2000, 4000, 4000, 4000,
  ]);
});

test("half of each delay is chance", () => {
  const chance = random(7);
  const delays = Array.from({ length: 1000 }, () => retryDelayMs(3, chance));
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(500);
  expect(Math.max(...delays)).toBeLessThan(1000);
  expect(new Set(delays.map((delay) => Math.floor(delay / 100))).size).toBe(5);
});

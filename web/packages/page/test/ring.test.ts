import { describe, expect, test, vi } from "vitest";
import { Ring, RingMotion } from "../src/ring.ts";

/** A canvas that counts the rays of each colour since it was cleared. */
function canvas() {
  const rays = new Map<string, number>();
  let lines = 0;
  const pen = {
    lineCap: "",
    lineWidth: 0,
    strokeStyle: "",
    clearRect: () => rays.clear(),
    beginPath: () => (lines = 0),
    moveTo: () => undefined,
    lineTo: () => lines++,
    stroke: () => rays.set(pen.strokeStyle, lines),
  };
  return { width: 0, height: 0, getContext: () => pen, rays };
}

function ringOn(made: ReturnType<typeof canvas>): Ring {
  const ring = new Ring(made as unknown as HTMLCanvasElement);
  ring.dress(200, { user: "blue", agent: "teal" });
  return ring;
}

describe("the ring", () => {
  test("shows the newest loudness at one place, and the older one further up on both sides", () => {
    const made = canvas();
    const ring = ringOn(made);
    ring.hear(0.5, 0);
    ring.step();
    expect([made.width, made.rays.get("blue"), made.rays.get("teal")]).toEqual([200, 1, 0]);
    ring.hear(0, 0.5);
    ring.step();
    expect([made.rays.get("blue"), made.rays.get("teal")]).toEqual([2, 1]);
  });

  test("falls silent by itself and then draws nothing", () => {
    const made = canvas();
    const ring = ringOn(made);
    ring.hear(1, 0);
    let steps = 0;
    while (ring.step()) expect(++steps).toBeLessThan(100);
    expect(steps).toBeGreaterThan(10);
    expect(made.rays.size).toBe(0);
    expect([ring.hear(0, 0), ring.hear(0.001, 0), ring.hear(0, 0.2)]).toEqual([false, false, true]);
  });

  test("moves only while there is something to see", () => {
    vi.useFakeTimers();
    const ring = ringOn(canvas());
    const step = vi.spyOn(ring, "step");
    const motion = new RingMotion(ring);
    motion.hear(0, 0);
    vi.advanceTimersByTime(1000);
    expect(step).not.toHaveBeenCalled();
    motion.hear(0.4, 0);
    motion.hear(0.5, 0);
    vi.advanceTimersByTime(10_000);
    const moved = step.mock.calls.length;
    expect(moved).toBeGreaterThan(10);
    vi.advanceTimersByTime(10_000);
    expect(step.mock.calls.length).toBe(moved);
    vi.useRealTimers();
  });
});

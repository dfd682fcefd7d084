import { describe, expect, test } from "vitest";
import { PlaybackQueue } from "../src/playback-queue.ts";
import { random } from "../../../test/random.ts";

const QUANTUM = 128;
const FADE = 120;
const CAPACITY = 4096;

/** `count` samples with one value, so that the output tells whose they are. */
const samples = (count: number, value: number): Int16Array => new Int16Array(count).fill(value);

function quantum(queue: PlaybackQueue, size = QUANTUM): number[] {
  const output = new Float32Array(size).fill(9);
  queue.render(output);
  return [...output].map((sample) => Math.round(sample * 32768));
}

function queueOf(capacity = CAPACITY): { queue: PlaybackQueue; finished: [number, number][] } {
  const finished: [number, number][] = [];
  return { queue: new PlaybackQueue(capacity, FADE, (slot, played) => finished.push([slot, played])), finished };
}

describe("playing", () => {
  test("items come out sample by sample in the order they went in, then silence", () => {
    const { queue, finished } = queueOf();
    queue.push(0, samples(100, 1000));
    queue.push(1, samples(50, 2000));
    queue.end(0);
    queue.end(1);
    const expected = [...samples(100, 1000), ...samples(50, 2000), ...samples(106, 0)];
    expect([...quantum(queue), ...quantum(queue)]).toEqual(expected);
    expect(finished).toEqual([[0, 100], [1, 50]]);
    expect([queue.played(0), queue.played(1), queue.queuedSamples, queue.currentSlot]).toEqual([100, 50, 0, -1]);
  });

  test("an item whose end comes after its last sample finishes then", () => {
    const { queue, finished } = queueOf();
    queue.push(3, samples(QUANTUM, 1000));
    quantum(queue);
    expect(finished).toEqual([]);
    queue.end(3);
    queue.end(3);
    expect(finished).toEqual([[3, QUANTUM]]);
  });

  test("the ring goes round: more than it holds passes through it unchanged", () => {
    const { queue } = queueOf(300);
    const next = random(1);
    const heard: number[] = [];
    const sent: number[] = [];
    for (let i = 0; i < 200; i++) {
      const pcm = Int16Array.from({ length: Math.floor(next() * 170) }, () => Math.floor(next() * 60000) - 30000);
      const room = 300 - queue.queuedSamples;
      queue.push(i % 3, pcm);
      sent.push(...pcm.subarray(0, room));
      const ready = Math.min(QUANTUM, queue.queuedSamples);
      heard.push(...quantum(queue).slice(0, ready));
    }
    while (queue.queuedSamples > 0) heard.push(...quantum(queue, 1));
    expect(heard).toEqual(sent);
    expect(queue.counters.rendered).toBe(sent.length);
  });

  test("what does not fit is dropped and counted", () => {
    const { queue } = queueOf(100);
    queue.push(0, samples(150, 1000));
    expect([queue.queuedSamples, queue.counters.overflowed]).toEqual([100, 50]);
  });

  test("running dry before the end counts as an underrun, once, and the item goes on", () => {
    const { queue } = queueOf();
    queue.push(0, samples(10, 1000));
    quantum(queue);
    quantum(queue);
    expect(queue.counters.underruns).toBe(1);
    queue.push(0, samples(10, 2000));
    expect(quantum(queue).slice(0, 11)).toEqual([...samples(10, 2000), 0]);
  });

  test("audible samples are counted, silence inside speech is not", () => {
    const { queue } = queueOf();
    queue.push(0, Int16Array.from([0, 5, -5, 1000, -1000]));
    quantum(queue);
    expect([queue.counters.rendered, queue.counters.audible]).toEqual([5, 2]);
  });
});

describe("flushing", () => {
  test("what sounds fades out, within the fade and without a jump, and nothing of it follows", () => {
    const { queue, finished } = queueOf();
    queue.push(0, samples(1000, 12000));
    quantum(queue);
    expect(queue.flush(0)).toEqual([{ slot: 0, playedSamples: QUANTUM + FADE }]);
    queue.push(0, samples(500, 12000));
    queue.end(0);
    const after = [...quantum(queue), ...quantum(queue)];
    const steps = after.map((sample, i) => (after[i - 1] ?? 12000) - sample);
    expect(Math.max(...steps)).toBeLessThanOrEqual(Math.ceil(12000 / FADE));
    expect(Math.min(...steps)).toBeGreaterThanOrEqual(0);
    expect(after.slice(FADE - 1).every((sample) => sample === 0)).toBe(true);
    expect(queue.counters).toMatchObject({ afterFlush: FADE, refused: 500, flushes: 1 });
    expect(queue.played(0)).toBe(QUANTUM + FADE);
    expect(finished).toEqual([]);
  });

  test("the fade goes on over the edge between two quanta", () => {
    const { queue } = queueOf();
    queue.push(0, samples(1000, 12000));
    quantum(queue);
    queue.flush(null);
    const after = [...quantum(queue, 50), ...quantum(queue, 50), ...quantum(queue, 50)];
    expect(after).toEqual([...Array(FADE).keys()].map((i) => Math.round((12000 * (FADE - 1 - i)) / FADE)).concat(Array(30).fill(0)));
  });

  test("an item that waits is dropped without a sound, and the one behind it moves up", () => {
    const { queue } = queueOf();
    queue.push(0, samples(10, 1000));
    queue.push(1, samples(10, 2000));
    queue.push(2, samples(10, 3000));
    expect(queue.flush(1)).toEqual([{ slot: 1, playedSamples: 0 }]);
    expect(quantum(queue).slice(0, 21)).toEqual([...samples(10, 1000), ...samples(10, 3000), 0]);
    expect(queue.counters.afterFlush).toBe(0);
  });

  test("an item that ran dry has nothing to fade", () => {
    const { queue } = queueOf();
    queue.push(0, samples(10, 1000));
    quantum(queue);
    queue.push(0, samples(500, 1000));
    queue.flush(0);
    expect(quantum(queue)).toEqual([...samples(QUANTUM, 0)]);
  });

  test("null flushes all that is not over, and a later item plays", () => {
    const { queue } = queueOf();
    queue.push(0, samples(10, 1000));
    queue.end(0);
    quantum(queue);
    queue.push(1, samples(10, 2000));
    queue.push(2, samples(10, 3000));
    expect(queue.flush(null)).toEqual([{ slot: 1, playedSamples: 0 }, { slot: 2, playedSamples: 0 }]);
    queue.push(3, samples(10, 4000));
    expect(quantum(queue).slice(0, 11)).toEqual([...samples(10, 4000), 0]);
  });

  test("an item flushed before its first sample plays none when they come", () => {
    const { queue } = queueOf();
    expect(queue.flush(7)).toEqual([{ slot: 7, playedSamples: 0 }]);
    queue.push(7, samples(200, 1000));
    expect(quantum(queue)).toEqual([...samples(QUANTUM, 0)]);
  });

  test("after any mix of pushes, flushes and renders, a flushed item plays at most its fade and counts add up", () => {
    for (let seed = 0; seed < 200; seed++) {
      const next = random(seed);
      const { queue } = queueOf(2000);
      const flushed = new Map<number, number>();
      let heard = 0;
      for (let step = 0; step < 60; step++) {
        const slot = Math.floor(next() * 4);
        const choice = next();
        if (choice < 0.4) queue.push(slot, samples(Math.floor(next() * 400), 1000 * (slot + 1)));
        else if (choice < 0.5) for (const hit of queue.flush(slot)) flushed.set(hit.slot, hit.playedSamples);
        else if (choice < 0.55) for (const hit of queue.flush(null)) flushed.set(hit.slot, hit.playedSamples);
        else heard += quantum(queue).filter((sample) => sample !== 0).length;
        for (const [hit, playedSamples] of flushed) expect(queue.played(hit)).toBeLessThanOrEqual(playedSamples);
      }
      for (let i = 0; i < 20; i++) heard += quantum(queue).filter((sample) => sample !== 0).length;
      for (const [hit, playedSamples] of flushed) expect(queue.played(hit)).toBe(playedSamples);
      expect(queue.counters.afterFlush).toBeLessThanOrEqual(flushed.size * FADE);
      expect([0, 1, 2, 3].reduce((sum, slot) => sum + queue.played(slot), 0)).toBe(queue.counters.rendered);
      expect(heard).toBeLessThanOrEqual(queue.counters.rendered);
      expect(queue.queuedSamples).toBe(0);
    }
  });
});

describe("pausing", () => {
  test("is silence that counts as nothing, and the very next sample follows it", () => {
    const { queue, finished } = queueOf();
    queue.push(0, Int16Array.from({ length: 200 }, (_, i) => i + 1));
    queue.end(0);
    const before = quantum(queue);
    queue.pause();
    const silence = [...quantum(queue), ...quantum(queue)];
    expect([new Set(silence).size, silence[0], queue.played(0), queue.queuedSamples]).toEqual([1, 0, QUANTUM, 72]);
    queue.resume();
    expect([...before, ...quantum(queue)].slice(0, 200)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    expect([finished, queue.counters.rendered, queue.counters.underruns]).toEqual([[[0, 200]], 200, 0]);
  });

  test("what comes meanwhile waits, and a flush leaves nothing to be heard afterwards", () => {
    const { queue } = queueOf();
    queue.push(0, samples(400, 1000));
    quantum(queue);
    queue.pause();
    queue.push(0, samples(400, 1000));
    expect(queue.flush(null)).toEqual([{ slot: 0, playedSamples: QUANTUM }]);
    queue.resume();
    expect(new Set(quantum(queue))).toEqual(new Set([0]));
    expect([queue.counters.rendered, queue.counters.afterFlush]).toEqual([QUANTUM, 0]);
  });
});

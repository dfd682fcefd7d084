/**
 * What the speaker still has to play: a ring of pcm16 samples and, in playing order, runs of samples of one item each.
 *
 * Pure, runs in the playback worklet. `render()` allocates nothing; `push`, `end` and `flush` are called between renders.
 * The speaker names items by small numbers ("slots"). Of a flushed slot at most the fade still plays, and later samples
 * are refused.
 */

/** A sample above this counts as audible: -60 dB, over the noise of a synthetic silence. */
const AUDIBLE = 0.001;
/** Runs that can wait. Pushes of one item in a row share a run, so this is the number of changes between items. */
const MAX_RUNS = 4096;

interface Track {
  readonly slot: number;
  played: number;
  queued: number;
  ended: boolean;
  flushed: boolean;
}

interface Run {
  track: Track | null;
  /** First sample, counted from the creation of the ring; its place in the ring is the remainder. */
  start: number;
  length: number;
  /** Samples of this run left to fade out over; 0: no fade. */
  fade: number;
}

export interface QueueCounters {
  /** Samples of items rendered, all and audible ones. */
  rendered: number;
  audible: number;
  /** Samples rendered of items after their flush; never more than the fade for each flush. */
  afterFlush: number;
  flushes: number;
  /** Samples refused because the ring was full, or because their item was flushed. */
  overflowed: number;
  refused: number;
  /** Times an item ran dry before its end. */
  underruns: number;
}

export class PlaybackQueue {
  readonly counters: QueueCounters = {
    rendered: 0,
    audible: 0,
    afterFlush: 0,
    flushes: 0,
    overflowed: 0,
    refused: 0,
    underruns: 0,
  };
  readonly #ring: Int16Array;
  readonly #fadeSamples: number;
  readonly #finished: (slot: number, playedSamples: number) => void;
  readonly #runs: Run[] = [];
  readonly #tracks = new Map<number, Track>();
  #firstRun = 0;
  #runCount = 0;
  #written = 0;
  /** The track whose sample was the last one rendered; null after silence. */
  #sounding: Track | null = null;
  #paused = false;

  /** `finished` is called when the last sample of an ended slot was rendered. */
  constructor(
    capacitySamples: number,
    fadeSamples: number,
    finished: (slot: number, playedSamples: number) => void = () => undefined,
  ) {
    this.#ring = new Int16Array(capacitySamples);
    this.#fadeSamples = fadeSamples;
    this.#finished = finished;
    for (let i = 0; i < MAX_RUNS; i++) this.#runs.push({ track: null, start: 0, length: 0, fade: 0 });
  }

  /** The slot whose samples come next; -1 where nothing waits. */
  get currentSlot(): number {
    return this.#runCount === 0 ? -1 : (this.#run(0).track?.slot ?? -1);
  }

  get queuedSamples(): number {
    let sum = 0;
    for (let i = 0; i < this.#runCount; i++) sum += this.#run(i).length;
    return sum;
  }

  played(slot: number): number {
    return this.#tracks.get(slot)?.played ?? 0;
  }

  /** Queues samples behind everything that waits. What does not fit is dropped and counted. */
  push(slot: number, pcm: Int16Array): void {
    const track = this.#track(slot);
    if (track.flushed) {
      this.counters.refused += pcm.length;
      return;
    }
    const oldest = this.#runCount === 0 ? this.#written : this.#run(0).start;
    const last = this.#runCount === 0 ? null : this.#run(this.#runCount - 1);
    const extend = last !== null && last.track === track && last.start + last.length === this.#written;
    const room = extend || this.#runCount < MAX_RUNS ? this.#ring.length - (this.#written - oldest) : 0;
    const count = Math.min(pcm.length, room);
    this.counters.overflowed += pcm.length - count;
    if (count === 0) return;
    const place = this.#written % this.#ring.length;
    const untilEdge = Math.min(count, this.#ring.length - place);
    this.#ring.set(pcm.subarray(0, untilEdge), place);
    this.#ring.set(pcm.subarray(untilEdge, count), 0);
    if (extend) last.length += count;
    else {
      const run = this.#run(this.#runCount++);
      run.track = track;
      run.start = this.#written;
      run.length = count;
      run.fade = 0;
    }
    this.#written += count;
    track.queued += count;
  }

  /** No more samples of `slot` will come. */
  end(slot: number): void {
    const track = this.#track(slot);
    if (track.ended) return;
    track.ended = true;
    if (track.queued === 0 && !track.flushed) this.#finished(slot, track.played);
  }

  /**
   * Drops what waits of `slot` (null: of all), after a fade of what plays. Returns the samples of each slot hit that will
   * have been played when the fade is over.
   */
  flush(slot: number | null): { slot: number; playedSamples: number }[] {
    this.counters.flushes += 1;
    const named = slot === null ? [...this.#tracks.values()] : [this.#track(slot)];
    const hit = named.filter((track) => !track.flushed && !(track.ended && track.queued === 0));
    for (const track of hit) track.flushed = true;
    for (let i = 0; i < this.#runCount; i++) {
      const run = this.#run(i);
      if (run.track === null || !hit.includes(run.track)) continue;
      const fade = i === 0 && this.#sounding === run.track ? Math.min(this.#fadeSamples, run.length) : 0;
      run.track.queued -= run.length - fade;
      run.length = fade;
      run.fade = fade;
    }
    this.#dropEmptyRuns();
    return hit.map((track) => ({ slot: track.slot, playedSamples: track.played + track.queued }));
  }

  /** Plays silence until `resume`; everything keeps its place. */
  pause(): void {
    this.#paused = true;
    // Nothing plays that a flush would have to fade out.
    this.#sounding = null;
  }

  resume(): void {
    this.#paused = false;
  }

  /** Fills `output` with the next samples, else with silence. Allocates nothing. */
  render(output: Float32Array): void {
    if (this.#paused) {
      output.fill(0);
      return;
    }
    let at = 0;
    while (at < output.length && this.#runCount > 0) {
      const run = this.#run(0);
      const track = run.track as Track;
      const count = Math.min(run.length, output.length - at);
      for (let i = 0; i < count; i++) {
        let sample = (this.#ring[(run.start + i) % this.#ring.length] as number) / 32768;
        if (run.fade > 0) sample *= (run.length - i - 1) / run.fade;
        output[at + i] = sample;
        if (sample > AUDIBLE || sample < -AUDIBLE) this.counters.audible += 1;
      }
      run.start += count;
      run.length -= count;
      at += count;
      track.played += count;
      track.queued -= count;
      this.counters.rendered += count;
      if (track.flushed) this.counters.afterFlush += count;
      this.#sounding = track;
      this.#dropEmptyRuns();
      if (track.queued === 0 && track.ended && !track.flushed) this.#finished(track.slot, track.played);
    }
    if (at < output.length) {
      if (this.#sounding !== null && !this.#sounding.ended && !this.#sounding.flushed) this.counters.underruns += 1;
      this.#sounding = null;
      output.fill(0, at);
    }
  }

  #run(index: number): Run {
    return this.#runs[(this.#firstRun + index) % MAX_RUNS] as Run;
  }

  #dropEmptyRuns(): void {
    while (this.#runCount > 0 && this.#run(0).length === 0) {
      this.#run(0).track = null;
      this.#firstRun = (this.#firstRun + 1) % MAX_RUNS;
      this.#runCount -= 1;
    }
  }

  #track(slot: number): Track {
    let track = this.#tracks.get(slot);
    if (!track) {
      track = { slot, played: 0, queued: 0, ended: false, flushed: false };
      this.#tracks.set(slot, track);
    }
    return track;
  }
}

/**
 * A jitter buffer for one human's voice: holds it back a little, so that late frames leave no gap, and never for long.
 * Pure; `mixInto` allocates nothing.
 */

export interface LaneCounters {
  /** Samples that were played. */
  played: number;
  /** Samples dropped because too many waited: the voice would fall behind. */
  dropped: number;
  /** Times the buffer ran dry during speech. */
  underruns: number;
}

export class JitterLane {
  readonly counters: LaneCounters = { played: 0, dropped: 0, underruns: 0 };
  readonly #ring: Float32Array;
  readonly #holdSamples: number;
  #read = 0;
  #queued = 0;
  #playing = false;
  /** Samples rendered since the first waiting sample came. */
  #waitedSamples = 0;

  /** Speech begins `holdSamples` after its first sample came; at most `maxSamples` wait. */
  constructor(holdSamples: number, maxSamples: number) {
    this.#holdSamples = holdSamples;
    this.#ring = new Float32Array(maxSamples);
  }

  get queuedSamples(): number {
    return this.#queued;
  }

  push(pcm: Int16Array): void {
    const fresh = pcm.length > this.#ring.length ? pcm.subarray(pcm.length - this.#ring.length) : pcm;
    this.counters.dropped += pcm.length - fresh.length;
    if (this.#queued + fresh.length > this.#ring.length) {
      // Down to the hold, so that the next frame does not overflow again.
      const drop = Math.min(this.#queued, this.#queued + fresh.length - this.#holdSamples);
      this.#read = (this.#read + drop) % this.#ring.length;
      this.#queued -= drop;
      this.counters.dropped += drop;
    }
    for (let i = 0; i < fresh.length; i++) {
      this.#ring[(this.#read + this.#queued + i) % this.#ring.length] = (fresh[i] as number) / 32768;
    }
    this.#queued += fresh.length;
  }

  /** Adds the next samples to `output`. Returns the sum of their squares, for a meter. */
  mixInto(output: Float32Array): number {
    const begins = !this.#playing && this.#isDue(output.length);
    if (begins) {
      this.#playing = true;
      this.#waitedSamples = 0;
    }
    if (!this.#playing) return 0;
    const count = Math.min(output.length, this.#queued);
    const ends = count < output.length;
    let squares = 0;
    for (let i = 0; i < count; i++) {
      let sample = this.#ring[(this.#read + i) % this.#ring.length] as number;
      // A fade of one block at each edge: a step would click.
      if (begins) sample *= (i + 1) / output.length;
      if (ends) sample *= (count - i) / (count + 1);
      output[i] = (output[i] as number) + sample;
      squares += sample * sample;
    }
    this.#read = (this.#read + count) % this.#ring.length;
    this.#queued -= count;
    this.counters.played += count;
    if (ends) {
      this.#playing = false;
      this.counters.underruns += 1;
    }
    return squares;
  }

  #isDue(blockSamples: number): boolean {
    if (this.#queued === 0) {
      this.#waitedSamples = 0;
      return false;
    }
    this.#waitedSamples += blockSamples;
    // A whole hold that came in one piece begins at once; the end of a sentence does not wait for more.
    return this.#queued >= this.#holdSamples || this.#waitedSamples > this.#holdSamples;
  }
}

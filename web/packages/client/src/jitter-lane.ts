/**
 * One human's voice as it comes from the network: held back a little, so that frames that come late leave no hole, and
 * never held back for long. Pure; `mixInto` allocates nothing.
 */

export interface LaneCounters {
  /** Samples that were played. */
  played: number;
  /** Samples that were left out, because too many waited: the voice would come later and later. */
  dropped: number;
  /** Times it ran dry in the middle of speech. */
  underruns: number;
}

export class JitterLane {
  readonly counters: LaneCounters = { played: 0, dropped: 0, underruns: 0 };
  readonly #ring: Float32Array;
  readonly #holdSamples: number;
  #read = 0;
  #queued = 0;
  #playing = false;
  /** Samples rendered since the first one that waits now came. */
  #waitedSamples = 0;

  /** Speech begins `holdSamples` after its first sample came; more than `maxSamples` never wait. */
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
      // Down to what it is meant to hold back, so that this does not happen again with the next frame.
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

  /** Adds what comes next to `output`. Returns the sum of the squares that it added, for a meter. */
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
      // A block of fading at each edge: a step would click.
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
    // What came in one piece may begin at once, the end of a sentence is not kept for ever.
    return this.#queued >= this.#holdSamples || this.#waitedSamples > this.#holdSamples;
  }
}

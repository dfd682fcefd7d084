/**
 * Streaming sample rate conversion: a windowed sinc read at fractional positions, its state kept between chunks, so
 * that chunks of any size give the same samples as one long block.
 *
 * Pure; runs in the speaker (an item whose rate is not the output's), and in the capture worklet where the browser does not
 * convert the microphone's rate itself (Firefox).
 */

/** Zero crossings of the sinc on each side. 16 keep aliases of a 48 to 16 kHz conversion below -60 dB. */
const HALF_CROSSINGS = 16;
/** Table points between two crossings; between points the table is read linearly. */
const TABLE_STEPS = 256;

export class Resampler {
  readonly #step: number;
  readonly #half: number;
  readonly #scale: number;
  readonly #table: Float64Array;
  #kept = new Float32Array(0);
  /** Position of the next output sample, in input samples from the start of `#kept`. */
  #position: number;

  /** Rates in Hz, both above 0. */
  constructor(inputRateHz: number, outputRateHz: number) {
    this.#step = inputRateHz / outputRateHz;
    // Downwards, the sinc is stretched to remove what the lower rate cannot hold; 0.94 leaves room for its slope.
    this.#scale = Math.min(1, outputRateHz / inputRateHz) * 0.94;
    this.#half = Math.ceil(HALF_CROSSINGS / this.#scale);
    this.#table = sincTable();
    // Half a filter of silence in front: the first output sample is at the first input sample.
    this.#kept = new Float32Array(this.#half);
    this.#position = this.#half;
  }

  /** The delay of the filter, in input samples. */
  get delaySamples(): number {
    return this.#half;
  }

  /** The output samples that `input` completes (often none for a short input). */
  process(input: Float32Array): Float32Array<ArrayBuffer> {
    const data = new Float32Array(this.#kept.length + input.length);
    data.set(this.#kept);
    data.set(input, this.#kept.length);
    const ready = data.length - this.#half - this.#position;
    const count = ready > 0 ? Math.ceil(ready / this.#step) : 0;
    const output = new Float32Array(count);
    for (let i = 0; i < count; i++) output[i] = this.#at(data, this.#position + i * this.#step);
    this.#position += count * this.#step;
    const drop = Math.max(0, Math.floor(this.#position) - this.#half);
    this.#kept = data.slice(drop);
    this.#position -= drop;
    return output;
  }

  /** The samples still held back, at the end of a stream. */
  flush(): Float32Array<ArrayBuffer> {
    return this.process(new Float32Array(this.#half));
  }

  #at(data: Float32Array, position: number): number {
    const first = Math.max(0, Math.ceil(position - this.#half));
    const last = Math.min(data.length - 1, Math.floor(position + this.#half));
    let sum = 0;
    for (let i = first; i <= last; i++) {
      const index = Math.abs(i - position) * this.#scale * TABLE_STEPS;
      const low = Math.floor(index);
      const here = this.#table[low] ?? 0;
      const next = this.#table[low + 1] ?? 0;
      sum += (data[i] as number) * (here + (next - here) * (index - low));
    }
    return sum * this.#scale;
  }
}

/** One side of a sinc under a Blackman window, from its middle to its last crossing. */
function sincTable(): Float64Array {
  const table = new Float64Array(HALF_CROSSINGS * TABLE_STEPS + 1);
  for (let i = 0; i < table.length; i++) {
    const x = i / TABLE_STEPS;
    const turn = (Math.PI * x) / HALF_CROSSINGS;
    const window = 0.42 + 0.5 * Math.cos(turn) + 0.08 * Math.cos(2 * turn);
    table[i] = (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)) * window;
  }
  return table;
}

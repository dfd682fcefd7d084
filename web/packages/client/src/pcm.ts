/** Conversion of samples: pcm16, floats, loudness, base64. Pure. */

/** One float sample as pcm16. Beyond -1..1 it is clamped: writing 1.2 * 32768 into an Int16Array would wrap around. */
export function toPcm16(sample: number): number {
  const scaled = Math.round(sample * 32768);
  return scaled > 32767 ? 32767 : scaled < -32768 ? -32768 : scaled;
}

/** Root mean square of the first `count` samples of a float block, 0..1. */
export function rms(samples: Float32Array, count = samples.length): number {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const sample = samples[i] as number;
    sum += sample * sample;
  }
  return count === 0 ? 0 : Math.sqrt(sum / count);
}

/** The position of a meter, 0..1, for an RMS: linear from -60 to -10 dB, the range of speech. */
export function meterLevel(value: number): number {
  const decibel = 20 * Math.log10(Math.max(value, 1e-6));
  return Math.min(1, Math.max(0, (decibel + 60) / 50));
}

/** The pcm16 samples in base64 text. Throws for bad base64; an odd last byte is dropped. */
export function pcmFromBase64(text: string): Int16Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length & ~1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Int16Array(bytes.buffer);
}

/** pcm16 samples as floats, -1..1. */
export function toFloats(pcm: Int16Array): Float32Array<ArrayBuffer> {
  return Float32Array.from(pcm, (sample) => sample / 32768);
}

/** Float samples as pcm16, clamped. */
export function toPcm16Block(samples: Float32Array): Int16Array<ArrayBuffer> {
  return Int16Array.from(samples, toPcm16);
}

/** The globals of an AudioWorklet, for which TypeScript ships no types. */

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
  abstract process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

declare function registerProcessor(
  name: string,
  processor: new (options: { processorOptions: never }) => AudioWorkletProcessor,
): void;

/** Rate of the context, in Hz. */
declare const sampleRate: number;
/** Frames rendered by the context when the current block began. */
declare const currentFrame: number;

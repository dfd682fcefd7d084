/** Turns the microphone's sound into short frames of pcm16 at the call's rate. Runs on the audio thread. */

import { rms, toPcm16 } from "../pcm.ts";
import { Resampler } from "../resampler.ts";
import type { CaptureFrame, CaptureOptions } from "./messages.ts";

class CaptureProcessor extends AudioWorkletProcessor {
  /** Null where the context already runs at the call's rate. */
  readonly #resampler: Resampler | null;
  readonly #frame: Float32Array;
  #filled = 0;
  #open = true;

  constructor({ processorOptions }: { processorOptions: CaptureOptions }) {
    super();
    const { rateHz, frameMs } = processorOptions;
    this.#resampler = sampleRate === rateHz ? null : new Resampler(sampleRate, rateHz);
    this.#frame = new Float32Array(Math.round((rateHz * frameMs) / 1000));
    this.port.onmessage = () => {
      this.#open = false;
    };
  }

  process(inputs: Float32Array[][]): boolean {
    const input = inputs[0]?.[0];
    if (input) this.#take(this.#resampler ? this.#resampler.process(input) : input);
    return this.#open;
  }

  #take(samples: Float32Array): void {
    for (let i = 0; i < samples.length; i++) {
      this.#frame[this.#filled++] = samples[i] as number;
      if (this.#filled === this.#frame.length) this.#send();
    }
  }

  #send(): void {
    // A new array per frame, because its buffer leaves this thread with the message.
    const pcm = new Int16Array(this.#frame.length);
    for (let i = 0; i < pcm.length; i++) pcm[i] = toPcm16(this.#frame[i] as number);
    const message: CaptureFrame = { pcm, rms: rms(this.#frame) };
    this.port.postMessage(message, [pcm.buffer]);
    this.#filled = 0;
  }
}

registerProcessor("realtime-capture", CaptureProcessor);

/** Plays the voices of the humans in a room, all at once. Runs on the audio thread. */

import { JitterLane } from "../jitter-lane.ts";
import type { FromVoices, ToVoices, VoicesOptions } from "./messages.ts";

interface Voice {
  readonly lane: JitterLane;
  squares: number;
  /** Whether the last report was silent. */
  quiet: boolean;
}

class VoicesProcessor extends AudioWorkletProcessor {
  readonly #voices = new Map<string, Voice>();
  readonly #holdSamples: number;
  readonly #maxSamples: number;
  readonly #reportSamples: number;
  #sinceReport = 0;
  #open = true;

  constructor({ processorOptions }: { processorOptions: VoicesOptions }) {
    super();
    this.#holdSamples = (processorOptions.holdMs * sampleRate) / 1000;
    this.#maxSamples = (processorOptions.maxMs * sampleRate) / 1000;
    this.#reportSamples = (processorOptions.reportMs * sampleRate) / 1000;
    this.port.onmessage = (message: MessageEvent<ToVoices>) => this.#receive(message.data);
  }

  process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const output = outputs[0]?.[0];
    if (!output) return this.#open;
    for (const voice of this.#voices.values()) voice.squares += voice.lane.mixInto(output);
    for (let i = 0; i < output.length; i++) output[i] = Math.min(1, Math.max(-1, output[i] as number));
    this.#sinceReport += output.length;
    if (this.#sinceReport >= this.#reportSamples) this.#report();
    return this.#open;
  }

  #report(): void {
    const voices: FromVoices["voices"] = [];
    for (const [lane, voice] of this.#voices) {
      const rms = Math.sqrt(voice.squares / this.#sinceReport);
      if (rms > 0 || !voice.quiet) voices.push({ lane, rms, counters: voice.lane.counters });
      voice.quiet = rms === 0;
      voice.squares = 0;
    }
    this.#sinceReport = 0;
    if (voices.length > 0) this.port.postMessage({ voices } satisfies FromVoices);
  }

  #receive(message: ToVoices): void {
    switch (message.type) {
      case "push":
        return this.#voice(message.lane).lane.push(message.pcm);
      case "remove":
        this.#voices.delete(message.lane);
        return;
      case "close":
        this.#open = false;
    }
  }

  #voice(lane: string): Voice {
    let voice = this.#voices.get(lane);
    if (!voice) {
      voice = { lane: new JitterLane(this.#holdSamples, this.#maxSamples), squares: 0, quiet: true };
      this.#voices.set(lane, voice);
    }
    return voice;
  }
}

registerProcessor("realtime-voices", VoicesProcessor);

/** Plays the speaker's samples. Runs on the audio thread. */

import { PlaybackQueue } from "../playback-queue.ts";
import type { FromPlayback, PlaybackOptions, ToPlayback } from "./messages.ts";

class PlaybackProcessor extends AudioWorkletProcessor {
  readonly #queue: PlaybackQueue;
  readonly #reportSamples: number;
  readonly #position: Extract<FromPlayback, { type: "position" }>;
  #open = true;
  #sinceReport = 0;
  #squares = 0;
  #quiet = true;

  constructor({ processorOptions }: { processorOptions: PlaybackOptions }) {
    super();
    const fadeSamples = Math.floor((processorOptions.fadeMs * sampleRate) / 1000);
    this.#reportSamples = (processorOptions.reportMs * sampleRate) / 1000;
    this.#queue = new PlaybackQueue(processorOptions.capacitySamples, fadeSamples, (slot, playedSamples) => {
      this.#report();
      this.#post({ type: "finished", slot, playedSamples });
    });
    const counters = this.#queue.counters;
    this.#position = { type: "position", slot: -1, playedSamples: 0, queuedSamples: 0, rms: 0, counters };
    this.port.onmessage = (message: MessageEvent<ToPlayback>) => this.#receive(message.data);
  }

  process(_inputs: Float32Array[][], outputs: Float32Array[][]): boolean {
    const output = outputs[0]?.[0];
    if (!output) return this.#open;
    const slot = this.#queue.currentSlot;
    this.#queue.render(output);
    if (slot >= 0) {
      this.#position.slot = slot;
      this.#quiet = false;
      for (let i = 0; i < output.length; i++) this.#squares += (output[i] as number) ** 2;
    }
    this.#sinceReport += output.length;
    // One more report after the voice stops, with the last position and a meter at zero.
    if (this.#sinceReport >= this.#reportSamples && !this.#quiet) this.#report();
    return this.#open;
  }

  #report(): void {
    const position = this.#position;
    position.playedSamples = this.#queue.played(position.slot);
    position.queuedSamples = this.#queue.queuedSamples;
    position.rms = Math.sqrt(this.#squares / Math.max(1, this.#sinceReport));
    this.#post(position);
    this.#squares = 0;
    this.#sinceReport = 0;
    this.#quiet = position.queuedSamples === 0 && position.rms === 0;
  }

  #receive(message: ToPlayback): void {
    switch (message.type) {
      case "push":
        return this.#queue.push(message.slot, message.pcm);
      case "end":
        return this.#queue.end(message.slot);
      case "flush": {
        const slots = this.#queue.flush(message.slot);
        const delaySamples = Math.max(0, currentFrame - Math.round(message.postedAtS * sampleRate));
        return this.#post({ type: "flushed", id: message.id, slots, delaySamples, counters: this.#queue.counters });
      }
      case "pause":
        this.#queue.pause();
        return this.#report();
      case "resume":
        return this.#queue.resume();
      case "close":
        this.#open = false;
    }
  }

  #post(message: FromPlayback): void {
    this.port.postMessage(message);
  }
}

registerProcessor("realtime-playback", PlaybackProcessor);

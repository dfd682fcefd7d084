/** A browser's sound on a clock that the test moves: the real worklets, a microphone and a loudspeaker. */

import { vi } from "vitest";

const QUANTUM = 128;

/** Messages arrive at once, copied as a browser does. */
class FakePort {
  onmessage: ((message: { data: unknown }) => void) | null = null;
  other: FakePort | null = null;
  postMessage(data: unknown): void {
    this.other?.onmessage?.({ data: structuredClone(data) });
  }
}

abstract class FakeProcessor {
  readonly port = new FakePort();
  abstract process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

const processors = new Map<string, new (options: { processorOptions: object }) => FakeProcessor>();

/** Defines the worklets as the browser's audio thread does, once. */
async function loadWorklets(): Promise<void> {
  if (processors.size > 0) return;
  vi.stubGlobal("AudioWorkletProcessor", FakeProcessor);
  vi.stubGlobal("registerProcessor", processors.set.bind(processors));
  await import("../src/worklets/playback.ts");
  await import("../src/worklets/capture.ts");
}

class FakeNode {
  connect<Target>(target: Target): Target {
    return target;
  }
}

class FakeGain extends FakeNode {
  readonly gain = { value: 1, setTargetAtTime() {}, cancelScheduledValues() {}, setValueAtTime() {}, linearRampToValueAtTime() {} };
}

class FakeWorkletNode extends FakeNode {
  readonly port = new FakePort();
  readonly processor: FakeProcessor;
  constructor(context: FakeContext, name: string, options: { processorOptions: object }) {
    super();
    const Processor = processors.get(name);
    if (!Processor) throw new Error(`no worklet ${name}`);
    context.enter();
    this.processor = new Processor(options);
    this.port.other = this.processor.port;
    this.processor.port.other = this.port;
    context.nodes.push(this);
  }
}

class FakeContext extends EventTarget {
  state: AudioContextState = "running";
  frames = 0;
  readonly destination = {};
  readonly audioWorklet = { addModule: async (): Promise<void> => undefined };
  readonly nodes: FakeWorkletNode[] = [];
  readonly sampleRate: number;
  readonly #beganMs: number;
  readonly #audio: FakeAudio;

  constructor(audio: FakeAudio, sampleRate: number) {
    super();
    this.#audio = audio;
    this.#beganMs = audio.nowMs;
    this.sampleRate = sampleRate;
    audio.contexts.push(this);
  }

  get currentTime(): number {
    return this.frames / this.sampleRate;
  }
  get outputLatency(): number {
    return this.#audio.outputLatencyMs / 1000;
  }
  /** When the samples before the next ones are all there. */
  get nextMs(): number {
    return this.#beganMs + ((this.frames + QUANTUM) * 1000) / this.sampleRate;
  }
  /** The globals of a worklet are those of its context. */
  enter(): void {
    Object.assign(globalThis, { sampleRate: this.sampleRate, currentFrame: this.frames });
  }
  createMediaStreamSource(): FakeNode {
    return new FakeNode();
  }
  async resume(): Promise<void> {}
  async close(): Promise<void> {
    this.state = "closed";
  }

  /** Renders the next samples: what the microphone heard in the last ones goes in, what comes out sounds after the latency. */
  render(): void {
    this.enter();
    const beganMs = this.nextMs - (QUANTUM * 1000) / this.sampleRate;
    const input = Float32Array.from({ length: QUANTUM }, (_, place) => this.#audio.voice(beganMs + (place * 1000) / this.sampleRate));
    const soundsMs = this.nextMs + this.#audio.outputLatencyMs;
    this.frames += QUANTUM;
    for (const { processor } of this.nodes) {
      const output = new Float32Array(QUANTUM);
      processor.process([[input]], [[output]]);
      const place = output.findIndex((sample) => sample !== 0);
      if (place >= 0) this.#audio.soundedMs ??= soundsMs + (place * 1000) / this.sampleRate;
    }
  }
}

export class FakeAudio {
  nowMs = 0;
  readonly contexts: FakeContext[] = [];
  /** When the loudspeaker sounded first, in ms of the clock. */
  soundedMs: number | null = null;
  /** How long a rendered sample needs to the loudspeaker. */
  readonly outputLatencyMs: number;
  /** The user's voice at a moment (-1..1). */
  readonly voice: (ms: number) => number;

  private constructor(outputLatencyMs: number, voice: (ms: number) => number) {
    this.outputLatencyMs = outputLatencyMs;
    this.voice = voice;
  }

  /** Takes the place of the browser's sound. Undone by `vi.unstubAllGlobals` and `vi.useRealTimers`. */
  static async install(outputLatencyMs: number, voice: (ms: number) => number): Promise<FakeAudio> {
    const audio = new FakeAudio(outputLatencyMs, voice);
    const track = { getSettings: () => ({}), stop() {}, enabled: true, onended: null };
    const getUserMedia = async (): Promise<object> => ({ getTracks: () => [track], getAudioTracks: () => [track] });
    const mediaDevices = Object.assign(new EventTarget(), { getUserMedia, enumerateDevices: async () => [] });
    vi.useFakeTimers();
    vi.stubGlobal("sampleRate", 0);
    vi.stubGlobal("currentFrame", 0);
    vi.stubGlobal("window", { isSecureContext: true });
    vi.stubGlobal("document", new EventTarget());
    vi.stubGlobal("navigator", { mediaDevices });
    vi.stubGlobal("GainNode", FakeGain);
    vi.stubGlobal("AudioWorkletNode", FakeWorkletNode);
    vi.stubGlobal(
      "AudioContext",
      class extends FakeContext {
        constructor({ sampleRate }: { sampleRate: number }) {
          super(audio, sampleRate);
        }
      },
    );
    await loadWorklets();
    return audio;
  }

  /** Lets `ms` pass for the sound and for the timers. */
  advance(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (true) {
      const [next] = this.contexts.filter(({ state }) => state === "running").sort((one, other) => one.nextMs - other.nextMs);
      if (!next || next.nextMs > untilMs) break;
      this.#pass(next.nextMs);
      next.render();
    }
    this.#pass(untilMs);
  }

  #pass(untilMs: number): void {
    vi.advanceTimersByTime(Math.floor(untilMs) - Math.floor(this.nowMs));
    this.nowMs = untilMs;
  }
}

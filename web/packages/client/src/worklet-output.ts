/** The worklet of a sound output, its volume and its device. */

/** Below what one hears as a click. */
const VOLUME_RAMP_S = 0.01;

export class WorkletOutput {
  readonly context: AudioContext;
  readonly node: AudioWorkletNode;
  /** Stands last, before the device. */
  readonly #gain: GainNode;
  #volume = 1;

  /** Loads the worklet `name` into the context; closes the context on failure. Nothing sounds before `connect`. */
  static async open(context: AudioContext, workletUrl: string, name: string, processorOptions: object): Promise<WorkletOutput> {
    try {
      await context.audioWorklet.addModule(workletUrl);
      const node = new AudioWorkletNode(context, name, { numberOfInputs: 0, outputChannelCount: [1], processorOptions });
      return new WorkletOutput(context, node);
    } catch (error) {
      await context.close();
      throw error;
    }
  }

  private constructor(context: AudioContext, node: AudioWorkletNode) {
    this.context = context;
    this.node = node;
    this.#gain = new GainNode(context);
    this.#gain.connect(context.destination);
  }

  /** Lets what comes out of `last` sound. */
  connect(last: AudioNode): void {
    last.connect(this.#gain);
  }

  /** From 0 (silent) to 1 (as it came). */
  get volume(): number {
    return this.#volume;
  }

  set volume(volume: number) {
    this.#volume = Math.min(1, Math.max(0, volume));
    this.#gain.gain.setTargetAtTime(this.#volume, this.context.currentTime, VOLUME_RAMP_S);
  }

  /** Plays on another device from now on; "": the system's choice. Throws DOMException for an unknown one. */
  async useDevice(deviceId: string): Promise<void> {
    const { context } = this;
    if ("setSinkId" in context && typeof context.setSinkId === "function") await context.setSinkId(deviceId);
  }
}

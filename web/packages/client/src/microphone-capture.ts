/** The microphone as frames of pcm16 at the call's rate. */

import { listedId } from "./devices.ts";
import { Emitter } from "./emitter.ts";
import { keepSounding } from "./keep-sounding.ts";
import type { CaptureFrame, CaptureOptions } from "./worklets/messages.ts";

const FRAME_MS = 20;

/**
 * Why there is no microphone. insecure: the page is not served over HTTPS; refused: by the user, the browser or the
 * policy of an embedding page; missing: there is no such device; busy: another program has it; failed: anything else.
 */
export type MicrophoneProblem = "insecure" | "refused" | "missing" | "busy" | "failed";

const SENTENCES: Readonly<Record<MicrophoneProblem, string>> = {
  insecure: "The microphone works only on pages served over HTTPS, or from localhost.",
  refused: "The microphone is not allowed. Allow it in the browser's address bar, then try again.",
  missing: "No microphone was found. Connect one, then try again.",
  busy: "Another program is using the microphone. Close it there, then try again.",
  failed: "The microphone could not be started. Reload the page, or try another browser.",
};

/** There is no microphone; `message` is a sentence to show to the user. */
export class MicrophoneError extends Error {
  /** Which problem it is, for programs. */
  readonly problem: MicrophoneProblem;

  constructor(problem: MicrophoneProblem, cause?: unknown) {
    super(SENTENCES[problem], { cause });
    this.name = "MicrophoneError";
    this.problem = problem;
  }
}

export interface MicrophoneOptions {
  /** Address of the capture worklet. */
  workletUrl: string;
  rateHz: number;
  /** Whether the browser is asked to remove the agent's voice; default true. */
  cancelEcho?: boolean;
  /** An id of `listDevices`; default "", the system's choice, which also stands in for a device that is away. */
  deviceId?: string;
}

export interface MicrophoneEvents {
  frame: CaptureFrame;
  /** The device was removed while in use. */
  lost: undefined;
}

export class MicrophoneCapture extends Emitter<MicrophoneEvents> {
  readonly #context: AudioContext;
  readonly #node: AudioWorkletNode;
  readonly #letRest: () => void;
  readonly #cancelEcho: boolean;
  #stream: MediaStream;
  #source: MediaStreamAudioSourceNode;
  /** Of the last wish: an earlier one that is answered later does not count. */
  #wish = 0;
  #closed = false;

  /** Asks for the microphone. Throws MicrophoneError and releases everything then. */
  static async create({ workletUrl, rateHz, cancelEcho = true, deviceId = "" }: MicrophoneOptions): Promise<MicrophoneCapture> {
    if (!window.isSecureContext || !navigator.mediaDevices) throw new MicrophoneError("insecure");
    const open: { context?: AudioContext; stream?: MediaStream } = {};
    try {
      // Everything slow comes before the microphone opens, so that no first word is lost.
      open.context = await loadContext(new AudioContext({ sampleRate: rateHz }), workletUrl);
      open.stream = await openStream(cancelEcho, { ideal: deviceId });
      let source: MediaStreamAudioSourceNode;
      try {
        source = open.context.createMediaStreamSource(open.stream);
      } catch {
        // Firefox connects no microphone to a context of another rate: the worklet resamples then.
        await open.context.close();
        open.context = await loadContext(new AudioContext(), workletUrl);
        source = open.context.createMediaStreamSource(open.stream);
      }
      const processorOptions: CaptureOptions = { rateHz, frameMs: FRAME_MS };
      const node = new AudioWorkletNode(open.context, "realtime-capture", {
        numberOfOutputs: 0,
        channelCount: 1,
        channelCountMode: "explicit",
        processorOptions,
      });
      source.connect(node);
      return new MicrophoneCapture(open.stream, open.context, source, node, cancelEcho);
    } catch (error) {
      for (const track of open.stream?.getTracks() ?? []) track.stop();
      if (open.context && open.context.state !== "closed") await open.context.close();
      throw error instanceof MicrophoneError ? error : new MicrophoneError("failed", error);
    }
  }

  private constructor(
    stream: MediaStream,
    context: AudioContext,
    source: MediaStreamAudioSourceNode,
    node: AudioWorkletNode,
    cancelEcho: boolean,
  ) {
    super();
    this.#stream = stream;
    this.#context = context;
    this.#source = source;
    this.#node = node;
    this.#cancelEcho = cancelEcho;
    this.#letRest = keepSounding(context);
    node.port.onmessage = (message: MessageEvent<CaptureFrame>) => this.emit("frame", message.data);
    this.#watch(stream);
  }

  /** The id of the device in use; "": the system's choice. */
  get deviceId(): string {
    return listedId(this.#stream.getAudioTracks()[0]?.getSettings().deviceId ?? "");
  }

  /**
   * Listens to another device from now on, without a gap in the stream of frames; "": the system's choice. Throws
   * MicrophoneError, and then goes on with the device that it has. The last of several wishes counts.
   */
  async useDevice(deviceId: string): Promise<void> {
    const wish = ++this.#wish;
    const stream = await openStream(this.#cancelEcho, { exact: deviceId });
    let source: MediaStreamAudioSourceNode;
    try {
      if (this.#closed || wish !== this.#wish) return stop(stream);
      source = this.#context.createMediaStreamSource(stream);
    } catch (error) {
      stop(stream);
      throw new MicrophoneError("failed", error);
    }
    for (const track of stream.getAudioTracks()) track.enabled = !this.muted;
    source.connect(this.#node);
    this.#source.disconnect();
    stop(this.#stream);
    this.#source = source;
    this.#stream = stream;
    this.#watch(stream);
  }

  /** Whether the browser really removes the agent's voice; null where it does not say. */
  get cancelsEcho(): boolean | null {
    const setting: unknown = this.#stream.getAudioTracks()[0]?.getSettings().echoCancellation;
    // Newer browsers name what they remove ("all", "remote-only").
    return setting === undefined ? null : setting !== false;
  }

  get muted(): boolean {
    return this.#stream.getAudioTracks().every((track) => !track.enabled);
  }

  /** Mutes at the source: the browser sends silence, and the clock of the stream goes on. */
  set muted(muted: boolean) {
    for (const track of this.#stream.getAudioTracks()) track.enabled = !muted;
  }

  async close(): Promise<void> {
    this.#closed = true;
    stop(this.#stream);
    this.#node.port.onmessage = null;
    this.#node.port.postMessage("close");
    this.#letRest();
    if (this.#context.state !== "closed") await this.#context.close();
  }

  #watch(stream: MediaStream): void {
    for (const track of stream.getAudioTracks()) track.onended = () => this.emit("lost", undefined);
  }
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) {
    track.onended = null;
    track.stop();
  }
}

async function openStream(cancelEcho: boolean, deviceId: { ideal: string } | { exact: string }): Promise<MediaStream> {
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: {
        ...(Object.values(deviceId)[0] === "" ? {} : { deviceId }),
        channelCount: 1,
        echoCancellation: cancelEcho,
        noiseSuppression: true,
        autoGainControl: true,
      },
    });
  } catch (error) {
    throw new MicrophoneError(problemOf(error), error);
  }
}

/** Loads the worklet into a context; closes the context on failure. */
async function loadContext(context: AudioContext, workletUrl: string): Promise<AudioContext> {
  try {
    await context.audioWorklet.addModule(workletUrl);
    return context;
  } catch (error) {
    await context.close();
    throw error;
  }
}

function problemOf(error: unknown): MicrophoneProblem {
  switch (error instanceof DOMException ? error.name : "") {
    case "NotAllowedError":
    case "SecurityError":
      return "refused";
    case "NotFoundError":
    case "OverconstrainedError":
      return "missing";
    case "NotReadableError":
    case "AbortError":
      return "busy";
    default:
      return "failed";
  }
}

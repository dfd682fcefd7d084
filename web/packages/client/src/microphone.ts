/** The microphone as frames of pcm16 at the call's rate. */

import { Emitter } from "./emitter.ts";
import { keepSounding } from "./keep-sounding.ts";
import type { CaptureFrame, CaptureOptions } from "./worklets/messages.ts";

const FRAME_MS = 20;

export type MicrophoneProblem = "insecure" | "refused" | "missing" | "busy" | "failed";

export class MicrophoneError extends Error {
  readonly problem: MicrophoneProblem;

  constructor(problem: MicrophoneProblem, cause?: unknown) {
    super(`microphone: ${problem}`, { cause });
    this.problem = problem;
  }
}

export interface MicrophoneEvents {
  frame: CaptureFrame;
  /** The device was removed while in use. */
  lost: undefined;
}

export class Microphone extends Emitter<MicrophoneEvents> {
  readonly #stream: MediaStream;
  readonly #context: AudioContext;
  readonly #letRest: () => void;
  readonly #node: AudioWorkletNode;

  /** Asks for the microphone. Throws MicrophoneError and releases everything then. */
  static async create(workletUrl: string, rateHz: number, cancelEcho = true): Promise<Microphone> {
    if (!window.isSecureContext || !navigator.mediaDevices) throw new MicrophoneError("insecure");
    const open: { context?: AudioContext; stream?: MediaStream } = {};
    try {
      // Everything slow comes before the microphone opens, so that no first word is lost.
      open.context = await loadContext(new AudioContext({ sampleRate: rateHz }), workletUrl);
      open.stream = await openStream(cancelEcho);
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
      return new Microphone(open.stream, open.context, node);
    } catch (error) {
      for (const track of open.stream?.getTracks() ?? []) track.stop();
      if (open.context && open.context.state !== "closed") await open.context.close();
      throw error instanceof MicrophoneError ? error : new MicrophoneError("failed", error);
    }
  }

  private constructor(stream: MediaStream, context: AudioContext, node: AudioWorkletNode) {
    super();
    this.#stream = stream;
    this.#context = context;
    this.#node = node;
    this.#letRest = keepSounding(context);
    node.port.onmessage = (message: MessageEvent<CaptureFrame>) => this.emit("frame", message.data);
    for (const track of stream.getAudioTracks()) track.onended = () => this.emit("lost", undefined);
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
    for (const track of this.#stream.getTracks()) {
      track.onended = null;
      track.stop();
    }
    this.#node.port.onmessage = null;
    this.#node.port.postMessage("close");
    this.#letRest();
    if (this.#context.state !== "closed") await this.#context.close();
  }
}

async function openStream(cancelEcho: boolean): Promise<MediaStream> {
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: cancelEcho, noiseSuppression: true, autoGainControl: true },
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

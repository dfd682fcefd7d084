/** The microphone as frames of pcm16 at the call's rate. */

import { Emitter } from "./emitter.ts";
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
  /** The device went away while in use. */
  lost: undefined;
}

export class Microphone extends Emitter<MicrophoneEvents> {
  readonly #stream: MediaStream;
  readonly #context: AudioContext;
  readonly #node: AudioWorkletNode;

  /** Asks for the microphone. Throws MicrophoneError, and then holds nothing: no track, no context. */
  static async create(workletUrl: string, rateHz: number): Promise<Microphone> {
    if (!window.isSecureContext || !navigator.mediaDevices) throw new MicrophoneError("insecure");
    const stream = await openStream();
    let context: AudioContext | undefined;
    try {
      const opened = await openContext(stream, rateHz);
      context = opened.context;
      await context.audioWorklet.addModule(workletUrl);
      const processorOptions: CaptureOptions = { rateHz, frameMs: FRAME_MS };
      const node = new AudioWorkletNode(context, "realtime-capture", {
        numberOfOutputs: 0,
        channelCount: 1,
        channelCountMode: "explicit",
        processorOptions,
      });
      opened.source.connect(node);
      await context.resume();
      return new Microphone(stream, context, node);
    } catch (error) {
      for (const track of stream.getTracks()) track.stop();
      await context?.close();
      throw new MicrophoneError("failed", error);
    }
  }

  private constructor(stream: MediaStream, context: AudioContext, node: AudioWorkletNode) {
    super();
    this.#stream = stream;
    this.#context = context;
    this.#node = node;
    node.port.onmessage = (message: MessageEvent<CaptureFrame>) => this.emit("frame", message.data);
    for (const track of stream.getAudioTracks()) track.onended = () => this.emit("lost", undefined);
  }

  get muted(): boolean {
    return this.#stream.getAudioTracks().every((track) => !track.enabled);
  }

  /** Mutes at the source: the browser gives silence from then on, and the stream's clock goes on. */
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
    if (this.#context.state !== "closed") await this.#context.close();
  }
}

async function openStream(): Promise<MediaStream> {
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
    });
  } catch (error) {
    throw new MicrophoneError(problemOf(error), error);
  }
}

/** A context at the call's rate; at the device's own where the browser cannot join the two (Firefox). */
async function openContext(
  stream: MediaStream,
  rateHz: number,
): Promise<{ context: AudioContext; source: MediaStreamAudioSourceNode }> {
  const context = new AudioContext({ sampleRate: rateHz });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    await context.close();
  }
  const own = new AudioContext();
  try {
    return { context: own, source: own.createMediaStreamSource(stream) };
  } catch (error) {
    await own.close();
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

/**
 * The live voices of other humans, all at once, each with a small jitter buffer. They are neither acknowledged nor
 * flushed: a human is not cut off.
 */

import type { CallSocket } from "./call-socket.ts";
import { Emitter } from "./emitter.ts";
import { type AudioFrame, KIND_AGENT_AUDIO } from "./frames.ts";
import { keepSounding } from "./keep-sounding.ts";
import { pcmFromBase64, toFloats, toPcm16Block } from "./pcm.ts";
import type { ServerEvent, ServerEventOf } from "./protocol.generated.ts";
import { Resampler } from "./resampler.ts";
import { OUTPUT_RATE_HZ, rateOf } from "./voice-output.ts";
import { WorkletOutput } from "./worklet-output.ts";
import type { FromVoices, ToVoices, VoicesOptions } from "./worklets/messages.ts";
import type { LaneCounters } from "./jitter-lane.ts";

const HOLD_MS = 60;
/** Speech that comes in one piece after a gap in the network is cut down to the hold. */
const MAX_MS = 300;
const REPORT_MS = 50;

export interface VoicesEvents {
  /** Loudness of a participant's voice (RMS, 0..1). */
  level: { who: string; rms: number };
}

/** Where live voices are played. */
export interface VoicesOutput extends Emitter<VoicesEvents> {
  /** Takes over `pcm`. */
  play(who: string, pcm: Int16Array<ArrayBuffer>, rateHz: number): void;
  /** Forgets a participant who left. */
  remove(who: string): void;
  /** How loud the voices are, from 0 (silent) to 1 (as they came). */
  volume: number;
  /** Plays on another loudspeaker from now on; "": the system's choice. Throws DOMException for an unknown one. */
  useDevice(deviceId: string): Promise<void>;
  /** Lets the voices sound. Call it in a click or key handler. */
  unlock(): void;
  close(): Promise<void>;
  /** By participant. */
  readonly counters: Readonly<Record<string, LaneCounters>>;
}

class VoicesSpeaker extends Emitter<VoicesEvents> implements VoicesOutput {
  readonly #output: WorkletOutput;
  readonly #context: AudioContext;
  readonly #letRest: () => void;
  readonly #node: AudioWorkletNode;
  readonly #resamplers = new Map<string, Resampler>();
  readonly #counters: Record<string, LaneCounters> = {};

  /** Opens an output. Call it in a click or key handler. Throws where the browser has no audio worklets. */
  static async create(workletUrl: string): Promise<VoicesSpeaker> {
    const context = new AudioContext({ sampleRate: OUTPUT_RATE_HZ, latencyHint: "interactive" });
    const options: VoicesOptions = { holdMs: HOLD_MS, maxMs: MAX_MS, reportMs: REPORT_MS };
    return new VoicesSpeaker(await WorkletOutput.open(context, workletUrl, "realtime-voices", options));
  }

  private constructor(output: WorkletOutput) {
    super();
    const { context, node } = output;
    output.connect(node);
    this.#output = output;
    this.#context = context;
    this.#node = node;
    node.port.onmessage = ({ data }: MessageEvent<FromVoices>) => {
      for (const { lane, rms, counters } of data.voices) {
        this.#counters[lane] = counters;
        this.emit("level", { who: lane, rms });
      }
    };
    this.#letRest = keepSounding(context);
  }

  get counters(): Readonly<Record<string, LaneCounters>> {
    return this.#counters;
  }

  play(who: string, pcm: Int16Array<ArrayBuffer>, rateHz: number): void {
    const ours = rateHz === this.#context.sampleRate ? pcm.slice() : this.#resampled(who, pcm, rateHz);
    this.#post({ type: "push", lane: who, pcm: ours }, [ours.buffer]);
  }

  remove(who: string): void {
    this.#resamplers.delete(who);
    this.#post({ type: "remove", lane: who });
  }

  get volume(): number {
    return this.#output.volume;
  }

  set volume(volume: number) {
    this.#output.volume = volume;
  }

  useDevice(deviceId: string): Promise<void> {
    return this.#output.useDevice(deviceId);
  }

  unlock(): void {
    void this.#context.resume();
  }

  async close(): Promise<void> {
    this.#node.port.onmessage = null;
    this.#post({ type: "close" });
    this.#letRest();
    if (this.#context.state !== "closed") await this.#context.close();
  }

  #resampled(who: string, pcm: Int16Array, rateHz: number): Int16Array<ArrayBuffer> {
    let resampler = this.#resamplers.get(who);
    if (!resampler) this.#resamplers.set(who, (resampler = new Resampler(rateHz, this.#context.sampleRate)));
    return toPcm16Block(resampler.process(toFloats(pcm)));
  }

  #post(message: ToVoices, transfer: Transferable[] = []): void {
    this.#node.port.postMessage(message, transfer);
  }
}

/** Whether a participant left for good: not away, and not renamed (who joins again at once). */
export function isGone({ reason }: ServerEventOf<"server_room_left">): boolean {
  return reason !== "away" && reason !== "renamed";
}

/** Plays nothing, where the browser has no audio worklets: live voices are captions only. */
class SilentVoices extends Emitter<VoicesEvents> implements VoicesOutput {
  readonly counters = {};
  volume = 1;

  play(): void {}

  async useDevice(): Promise<void> {}

  remove(): void {}

  unlock(): void {}

  async close(): Promise<void> {}
}

/** Live voices for a call of `CallController`. */
export interface LiveVoices {
  readonly output: VoicesOutput;
  /** See `attachVoices`. */
  readonly attach: typeof attachVoices;
}

/** Opens an output for live voices; a silent one where the browser has none. Call it in a click or key handler. */
export async function openVoices(workletUrl: string): Promise<LiveVoices> {
  const output = await VoicesSpeaker.create(workletUrl).catch(() => new SilentVoices());
  return { output, attach: attachVoices };
}

interface Lane {
  readonly who: string;
  readonly itemId: string;
  readonly rateHz: number;
}

/**
 * Plays the speech of humans until `detach` is called. `isLive` names the items that are live voices, which no other
 * output may play.
 */
export function attachVoices(
  client: Pick<CallSocket, "on">,
  output: VoicesOutput,
  isHuman: (participantId: string) => boolean,
): { isLive: (itemId: string) => boolean; detach: () => void } {
  const lanes = new Map<number, Lane>();
  const live = new Map<string, Lane>();
  /** Samples of each voice so far: what is repeated after a lost line plays once. */
  const received = new Map<string, number>();

  const onEvent = (event: ServerEvent): void => {
    switch (event.type) {
      case "server_audio_item": {
        // Item numbers belong to one socket: on another one they mean other items.
        lanes.delete(event.item_index);
        if (!isHuman(event.agent_id)) return;
        const lane: Lane = { who: event.agent_id, itemId: event.item_id, rateHz: rateOf(event.format) };
        lanes.set(event.item_index, lane);
        live.set(event.item_id, lane);
        return;
      }
      case "agent_response_audio_delta": {
        const lane = live.get(event.item_id);
        if (lane) output.play(lane.who, pcmFromBase64(event.delta), rateOf(event.format));
        return;
      }
      case "server_room_left":
        if (!isGone(event)) return;
        for (const [index, { who }] of lanes) if (who === event.participant_id) lanes.delete(index);
        output.remove(event.participant_id);
        return;
      default:
        return;
    }
  };

  const onAudio = (frame: AudioFrame): void => {
    const lane = frame.kind === KIND_AGENT_AUDIO ? lanes.get(frame.itemIndex) : undefined;
    if (!lane) return;
    const before = received.get(lane.itemId) ?? 0;
    received.set(lane.itemId, Math.max(before, frame.sampleOffset + frame.pcm.length));
    const fresh = frame.pcm.subarray(Math.max(0, before - frame.sampleOffset));
    if (fresh.length > 0) output.play(lane.who, fresh, lane.rateHz);
  };

  const undo = [client.on("event", onEvent), client.on("audio", onAudio)];
  return {
    isLive: (itemId) => live.has(itemId),
    detach: () => {
      for (const off of undo) off();
    },
  };
}

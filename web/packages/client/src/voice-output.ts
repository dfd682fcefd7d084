/** Connects the socket's audio to the speaker, and the speaker's positions to the socket. */

import type { CallSocket } from "./call-socket.ts";
import { Emitter } from "./emitter.ts";
import { type AudioFrame, FLAG_LAST, KIND_AGENT_AUDIO } from "./frames.ts";
import { pcmFromBase64 } from "./pcm.ts";
import type { AudioFormat, ServerEvent } from "./protocol.generated.ts";
import { SpeakerOutput, type SpeakerCounters, type SpeakerEvents } from "./speaker-output.ts";

export const OUTPUT_RATE_HZ = 24_000;

/** What a call needs of a speaker. */
export type VoiceOutput = Pick<
  SpeakerOutput,
  | "on"
  | "play"
  | "skip"
  | "end"
  | "flush"
  | "setGain"
  | "volume"
  | "useDevice"
  | "pause"
  | "resume"
  | "unlock"
  | "close"
  | "counters"
  | "played"
  | "ranges"
>;

/**
 * Plays nothing, where the browser has no audio worklets: the words are captions, so everything counts as played when it
 * comes. Otherwise the server would keep it as unplayed audio, and close at its limit.
 */
export class SilentOutput extends Emitter<SpeakerEvents> implements VoiceOutput {
  readonly counters: SpeakerCounters | null = null;
  readonly ranges = {};
  volume = 1;
  readonly #playedMs = new Map<string, number>();

  get played(): Record<string, number> {
    return Object.fromEntries(this.#playedMs);
  }

  play(itemId: string, pcm: Int16Array, rateHz: number): void {
    const playedMs = (this.#playedMs.get(itemId) ?? 0) + (pcm.length * 1000) / rateHz;
    this.#playedMs.set(itemId, playedMs);
    this.emit("progress", { itemId, playedMs: Math.floor(playedMs) });
  }

  skip(itemId: string, samples: number, rateHz: number): void {
    this.#playedMs.set(itemId, (this.#playedMs.get(itemId) ?? 0) + (samples * 1000) / rateHz);
  }

  setGain(): void {}

  async useDevice(): Promise<void> {}

  pause(): void {}

  resume(): void {}

  unlock(): void {}

  end(itemId: string): void {
    this.emit("finished", { itemId, playedMs: Math.floor(this.#playedMs.get(itemId) ?? 0) });
  }

  flush(itemId: string | null): void {
    const hit = itemId === null ? [...this.#playedMs.keys()] : [itemId];
    for (const id of hit) this.emit("flushed", { itemId: id, playedMs: Math.floor(this.#playedMs.get(id) ?? 0) });
  }

  async close(): Promise<void> {}
}

/** Opens a speaker; a silent output where the browser has none. Call it in a click or key handler. */
export async function openOutput(workletUrl: string): Promise<VoiceOutput> {
  try {
    return await SpeakerOutput.create(workletUrl, OUTPUT_RATE_HZ);
  } catch {
    return new SilentOutput();
  }
}

/** Items whose beginning is kept: the server takes back the latest ones only. */
const KEPT_ITEMS = 64;

interface Part {
  readonly itemId: string;
  readonly responseId: string;
  readonly rateHz: number;
  /** Names the part on every socket. */
  readonly key: string;
}

/**
 * Plays the agents' speech and acknowledges what was played, until the returned function is called.
 *
 * While the user's speech is sent, it carries the acknowledgements; the end of an item is an event. Items that
 * `isElsewhere` names when they are announced are neither played nor acknowledged here.
 */
export function attachVoice(
  client: Pick<CallSocket, "on" | "send" | "audioSent" | "played" | "lastPlayed">,
  output: VoiceOutput,
  isElsewhere: (itemId: string) => boolean = () => false,
): () => void {
  const parts = new Map<number, Part>();
  /** Samples of each part so far. The numbers in `parts` belong to one socket; the speech continues on another. */
  const received = new Map<string, number>();
  let spokenSamples = 0;
  const itemsOfResponse = new Map<string, Set<string>>();
  let lastSeq = 0;
  /** The event after which the sound of each of the latest items began. */
  const begunAt = new Map<string, number>();

  const begins = (itemId: string): void => {
    if (begunAt.has(itemId)) return;
    begunAt.set(itemId, lastSeq);
    const [oldest] = begunAt.keys();
    if (begunAt.size > KEPT_ITEMS && oldest !== undefined) begunAt.delete(oldest);
  };

  /** Flushes the items whose sound began after the event `seq`: they are not in the call any more. */
  const rewind = (seq: number): void => {
    lastSeq = seq;
    for (const [itemId, begun] of begunAt) {
      if (begun <= seq) continue;
      begunAt.delete(itemId);
      output.flush(itemId);
    }
  };

  const belongs = (responseId: string, itemId: string): void => {
    const items = itemsOfResponse.get(responseId) ?? new Set();
    itemsOfResponse.set(responseId, items.add(itemId));
  };

  const onEvent = (event: ServerEvent): void => {
    lastSeq = Math.max(lastSeq, event.seq ?? 0);
    switch (event.type) {
      case "server_audio_item": {
        const { item_id: itemId, response_id: responseId } = event;
        parts.delete(event.item_index);
        if (isElsewhere(itemId)) return;
        begins(itemId);
        const key = `${event.content_index} ${itemId}`;
        parts.set(event.item_index, { itemId, responseId, rateHz: rateOf(event.format), key });
        return belongs(responseId, itemId);
      }
      case "agent_response_audio_delta":
        if (isElsewhere(event.item_id)) return;
        begins(event.item_id);
        belongs(event.response_id, event.item_id);
        return output.play(event.item_id, pcmFromBase64(event.delta), rateOf(event.format));
      case "agent_response_audio_done":
        return output.end(event.item_id);
      case "agent_response_done":
        // Nothing more comes of its items, with whatever status the response ended.
        for (const itemId of itemsOfResponse.get(event.response_id) ?? []) output.end(itemId);
        itemsOfResponse.delete(event.response_id);
        for (const [index, part] of parts) if (part.responseId === event.response_id) parts.delete(index);
        return;
      case "server_audio_flush":
        return output.flush(event.item_id);
      case "server_audio_gain":
        return output.setGain(event.gain_db, event.ramp_ms);
      case "server_session_resumed":
        return event.rewound_to_seq === null ? undefined : rewind(event.rewound_to_seq);
      case "agent_item_truncated":
        // Truncated without a flush, in a call read from a store: its speech does not go on.
        return output.flush(event.item_id);
      default:
        return;
    }
  };

  const onAudio = (frame: AudioFrame): void => {
    const part = frame.kind === KIND_AGENT_AUDIO ? parts.get(frame.itemIndex) : undefined;
    if (!part) return;
    const before = received.get(part.key) ?? 0;
    if (frame.sampleOffset > before) output.skip(part.itemId, frame.sampleOffset - before, part.rateHz);
    received.set(part.key, Math.max(before, frame.sampleOffset + frame.pcm.length));
    // Repeated samples do not play twice.
    const fresh = frame.pcm.subarray(Math.max(0, before - frame.sampleOffset));
    if (fresh.length > 0) output.play(part.itemId, fresh, part.rateHz);
    if (frame.flags & FLAG_LAST) output.end(part.itemId);
  };

  const acknowledge = (itemId: string, playedMs: number, flushed: boolean): void =>
    client.send({ type: "client_playback_ack", item_id: itemId, played_ms: playedMs, flushed });

  const onProgress = (itemId: string, playedMs: number): void => {
    const { samples } = client.audioSent;
    const speaking = samples > spokenSamples;
    spokenSamples = samples;
    client.lastPlayed = { itemId, playedMs };
    client.played = speaking ? client.lastPlayed : null;
    if (!speaking) acknowledge(itemId, playedMs, false);
  };

  const onOver = (itemId: string, playedMs: number, flushed: boolean): void => {
    if (client.played?.itemId === itemId) client.played = null;
    client.lastPlayed = { itemId, playedMs };
    acknowledge(itemId, playedMs, flushed);
  };

  const undo = [
    client.on("event", onEvent),
    client.on("audio", onAudio),
    output.on("progress", ({ itemId, playedMs }) => onProgress(itemId, playedMs)),
    output.on("finished", ({ itemId, playedMs }) => onOver(itemId, playedMs, false)),
    output.on("flushed", ({ itemId, playedMs }) => onOver(itemId, playedMs, true)),
  ];
  return () => {
    for (const off of undo) off();
  };
}

/** The rate of a format in Hz; that of agents' speech where it has none. */
export function rateOf(format: AudioFormat): number {
  return format.rate ?? format.sample_rate ?? OUTPUT_RATE_HZ;
}

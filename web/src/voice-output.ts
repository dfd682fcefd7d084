/** Joins the socket's audio to the speaker, and the speaker's truth about what was heard to the socket. */

import type { RealtimeClient } from "./client.ts";
import { Emitter } from "./emitter.ts";
import { type AudioFrame, FLAG_LAST, KIND_AGENT_AUDIO } from "./frames.ts";
import { pcmFromBase64 } from "./pcm.ts";
import type { AudioFormat, ServerEvent } from "./protocol.generated.ts";
import type { Speaker, SpeakerCounters, SpeakerEvents } from "./speaker.ts";

export const OUTPUT_RATE_HZ = 24_000;

/** What a call needs of a speaker. */
export type VoiceOutput = Pick<Speaker, "on" | "play" | "end" | "flush" | "close" | "counters" | "played">;

/**
 * Stands in for the speaker where the browser has no audio worklets: the words are read as captions, so everything
 * counts as heard when it comes. Otherwise the server would keep it as unheard, and close at its limit.
 */
export class SilentOutput extends Emitter<SpeakerEvents> implements VoiceOutput {
  readonly counters: SpeakerCounters | null = null;
  readonly #playedMs = new Map<string, number>();

  get played(): Record<string, number> {
    return Object.fromEntries(this.#playedMs);
  }

  play(itemId: string, pcm: Int16Array, rateHz: number): void {
    const playedMs = (this.#playedMs.get(itemId) ?? 0) + (pcm.length * 1000) / rateHz;
    this.#playedMs.set(itemId, playedMs);
    this.emit("progress", { itemId, playedMs: Math.floor(playedMs) });
  }

  end(itemId: string): void {
    this.emit("finished", { itemId, playedMs: Math.floor(this.#playedMs.get(itemId) ?? 0) });
  }

  flush(itemId: string | null): void {
    const hit = itemId === null ? [...this.#playedMs.keys()] : [itemId];
    for (const id of hit) this.emit("flushed", { itemId: id, playedMs: Math.floor(this.#playedMs.get(id) ?? 0) });
  }

  async close(): Promise<void> {}
}

interface Part {
  readonly itemId: string;
  readonly responseId: string;
  readonly rateHz: number;
  receivedSamples: number;
}

/**
 * Plays what comes and acknowledges what was heard, until the returned function is called.
 *
 * While the user's speech is being sent, it carries the acknowledgements; an item's end is an event of its own.
 */
export function attachVoice(
  client: Pick<RealtimeClient, "on" | "send" | "audioSent" | "played">,
  output: VoiceOutput,
): () => void {
  const parts = new Map<number, Part>();
  /** Of items that may still be heard, which they are for longer than something comes of them. */
  const indexOfItem = new Map<string, number>();
  let spokenSamples = 0;
  const itemsOfResponse = new Map<string, Set<string>>();

  const belongs = (responseId: string, itemId: string): void => {
    const items = itemsOfResponse.get(responseId) ?? new Set();
    itemsOfResponse.set(responseId, items.add(itemId));
  };

  const onEvent = (event: ServerEvent): void => {
    switch (event.type) {
      case "server_audio_item": {
        const { item_id: itemId, response_id: responseId } = event;
        parts.set(event.item_index, { itemId, responseId, rateHz: rateOf(event.format), receivedSamples: 0 });
        indexOfItem.set(itemId, event.item_index);
        return belongs(responseId, itemId);
      }
      case "agent_response_audio_delta":
        belongs(event.response_id, event.item_id);
        return output.play(event.item_id, pcmFromBase64(event.delta), rateOf(event.format));
      case "agent_response_audio_done":
        return output.end(event.item_id);
      case "agent_response_done":
        // However the response ended, nothing more comes of its items.
        for (const itemId of itemsOfResponse.get(event.response_id) ?? []) output.end(itemId);
        itemsOfResponse.delete(event.response_id);
        for (const [index, part] of parts) if (part.responseId === event.response_id) parts.delete(index);
        return;
      case "server_audio_flush":
        return output.flush(event.item_id);
      default:
        return;
    }
  };

  const onAudio = (frame: AudioFrame): void => {
    const part = frame.kind === KIND_AGENT_AUDIO ? parts.get(frame.itemIndex) : undefined;
    if (!part) return;
    // What was received before is not played twice.
    const fresh = frame.pcm.subarray(Math.max(0, part.receivedSamples - frame.sampleOffset));
    part.receivedSamples = Math.max(part.receivedSamples, frame.sampleOffset + frame.pcm.length);
    if (fresh.length > 0) output.play(part.itemId, fresh, part.rateHz);
    if (frame.flags & FLAG_LAST) output.end(part.itemId);
  };

  const acknowledge = (itemId: string, playedMs: number, flushed: boolean): void =>
    client.send({ type: "client_playback_ack", item_id: itemId, played_ms: playedMs, flushed });

  const onProgress = (itemId: string, playedMs: number): void => {
    const { samples } = client.audioSent;
    const speaking = samples > spokenSamples;
    spokenSamples = samples;
    const itemIndex = indexOfItem.get(itemId);
    const carried = speaking && itemIndex !== undefined;
    client.played = carried ? { itemIndex, playedMs } : null;
    if (!carried) acknowledge(itemId, playedMs, false);
  };

  const onOver = (itemId: string, playedMs: number, flushed: boolean): void => {
    if (client.played?.itemIndex === indexOfItem.get(itemId)) client.played = null;
    indexOfItem.delete(itemId);
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

function rateOf(format: AudioFormat): number {
  return format.rate ?? format.sample_rate ?? OUTPUT_RATE_HZ;
}

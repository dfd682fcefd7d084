/**
 * The agent's voice: plays items in order, stops at once on a flush, and knows how much was played.
 *
 * The worklet counts the samples that it renders of each item. A rendered sample sounds one output latency later. What is
 * rendered by the time of a flush still sounds, so the position after a flush subtracts no latency.
 */

import { Emitter } from "./emitter.ts";
import { keepSounding } from "./keep-sounding.ts";
import { toFloats, toPcm16Block } from "./pcm.ts";
import { PlayOrder } from "./play-order.ts";
import type { QueueCounters } from "./playback-queue.ts";
import { Resampler } from "./resampler.ts";
import { WorkletOutput } from "./worklet-output.ts";
import type { FromPlayback, PlaybackOptions, ToPlayback } from "./worklets/messages.ts";

const FADE_MS = 5;
const REPORT_MS = 100;
/** A lowered voice comes back to its level after the flush has taken effect. */
const AFTER_FLUSH_MS = 50;
/** An output that may sound does so within this time. */
const BLOCKED_AFTER_MS = 1_000;
/** Twice the unplayed audio that the server allows (4 MB of pcm16), so that this ring never overflows first. */
const CAPACITY_SAMPLES = 2 ** 22;

export interface SpeakerEvents {
  /** The first speech of an item came. */
  waiting: { itemId: string };
  /** The first samples of an item were played. */
  started: { itemId: string };
  progress: { itemId: string; playedMs: number };
  /** All of an item was played. */
  finished: { itemId: string; playedMs: number };
  /** A flush took effect, once for each item: nothing more of it plays. */
  flushed: { itemId: string; playedMs: number };
  /** Every item is over. */
  idle: undefined;
  /** Loudness of the voice (RMS, 0..1). */
  level: number;
  /** Whether the browser keeps the page silent until the user touches it. */
  blocked: boolean;
}

export interface SpeakerCounters extends QueueCounters {
  /** The largest delay of a flush so far, in samples of the audio thread. */
  flushDelay: number;
}

interface Item {
  readonly itemId: string;
  readonly slot: number;
  resampler: Resampler | null;
  /** Samples before the first one that came here: played elsewhere, or lost. */
  skippedSamples: number;
  renderedSamples: number;
  heardMs: number;
  waiting: boolean;
  started: boolean;
  ended: boolean;
  over: boolean;
  lastTimer: ReturnType<typeof setTimeout> | undefined;
}

export class SpeakerOutput extends Emitter<SpeakerEvents> {
  readonly #output: WorkletOutput;
  readonly #context: AudioContext;
  readonly #letRest: () => void;
  readonly #node: AudioWorkletNode;
  /** What the server asks for: the voice is quieter while it may be interrupted. */
  readonly #gain: GainNode;
  readonly #items = new Map<string, Item>();
  readonly #bySlot: Item[] = [];
  readonly #order: PlayOrder;
  readonly #flushes = new Map<number, Item[]>();
  #counters: QueueCounters | null = null;
  #flushDelay = 0;
  #nextFlush = 0;
  #blocked = false;
  readonly #blockedTimer: ReturnType<typeof setTimeout>;

  /** Opens the output at `rateHz`. Call it in a click or key handler: browsers keep pages silent until then. */
  static async create(workletUrl: string, rateHz: number): Promise<SpeakerOutput> {
    const context = new AudioContext({ sampleRate: rateHz, latencyHint: "interactive" });
    const options: PlaybackOptions = { capacitySamples: CAPACITY_SAMPLES, fadeMs: FADE_MS, reportMs: REPORT_MS };
    return new SpeakerOutput(await WorkletOutput.open(context, workletUrl, "realtime-playback", options));
  }

  private constructor(output: WorkletOutput) {
    super();
    const { context, node } = output;
    this.#output = output;
    this.#context = context;
    this.#node = node;
    this.#gain = new GainNode(context);
    output.connect(node.connect(this.#gain));
    this.#order = new PlayOrder({
      push: (slot, pcm) => this.#post({ type: "push", slot, pcm }, [pcm.buffer]),
      end: (slot) => this.#post({ type: "end", slot }),
    });
    node.port.onmessage = (message: MessageEvent<FromPlayback>) => this.#receive(message.data);
    this.#letRest = keepSounding(context);
    context.addEventListener("statechange", () => context.state === "running" && this.#tellBlocked(false));
    this.#blockedTimer = setTimeout(() => this.#tellBlocked(context.state === "suspended"), BLOCKED_AFTER_MS);
  }

  #tellBlocked(blocked: boolean): void {
    if (blocked === this.#blocked || this.#context.state === "closed") return;
    this.#blocked = blocked;
    this.emit("blocked", blocked);
  }

  get rateHz(): number {
    return this.#context.sampleRate;
  }

  get counters(): SpeakerCounters | null {
    return this.#counters && { ...this.#counters, flushDelay: this.#flushDelay };
  }

  /** Queues speech of an item. Ignored once the item is over. Takes over `pcm`. */
  play(itemId: string, pcm: Int16Array<ArrayBuffer>, rateHz: number): void {
    const item = this.#item(itemId);
    if (item.over || item.ended || pcm.length === 0) return;
    if (!item.waiting) {
      item.waiting = true;
      this.emit("waiting", { itemId });
    }
    if (rateHz === this.rateHz) return this.#order.push(item.slot, own(pcm));
    item.resampler ??= new Resampler(rateHz, this.rateHz);
    this.#order.push(item.slot, toPcm16Block(item.resampler.process(toFloats(pcm))));
  }

  /** Counts `samples` of an item that do not come here, before the next ones. */
  skip(itemId: string, samples: number, rateHz: number): void {
    const item = this.#item(itemId);
    item.skippedSamples += Math.round((samples * this.rateHz) / rateHz);
    item.heardMs = this.#ms(item.skippedSamples + item.renderedSamples);
  }

  /** Plays silence at once, until `resume` goes on with the very next sample. */
  pause(): void {
    this.#post({ type: "pause" });
  }

  resume(): void {
    this.#post({ type: "resume" });
  }

  /** Plays at `gainDb` from now on, reached over `rampMs`; a flush ends it. */
  setGain(gainDb: number, rampMs: number): void {
    const { gain } = this.#gain;
    const nowS = this.#context.currentTime;
    gain.cancelScheduledValues(nowS);
    gain.setValueAtTime(gain.value, nowS);
    gain.linearRampToValueAtTime(10 ** (gainDb / 20), nowS + rampMs / 1000);
  }

  /** How loud the voice is, from 0 (silent) to 1 (as it came). */
  get volume(): number {
    return this.#output.volume;
  }

  set volume(volume: number) {
    this.#output.volume = volume;
  }

  /** Plays on another loudspeaker from now on; "": the system's choice. Throws DOMException for an unknown one. */
  useDevice(deviceId: string): Promise<void> {
    return this.#output.useDevice(deviceId);
  }

  /** Lets the page sound. Call it in a click or key handler: browsers allow it there only. */
  unlock(): void {
    void this.#context.resume();
  }

  /** No more speech of this item will come. */
  end(itemId: string): void {
    const item = this.#items.get(itemId);
    if (!item || item.over || item.ended) return;
    item.ended = true;
    if (item.resampler) this.#order.push(item.slot, toPcm16Block(item.resampler.flush()));
    this.#order.end(item.slot);
  }

  /** Plays silence at once: drops what waits of the item (null: of all items). Ignores later speech of them. */
  flush(itemId: string | null): void {
    const named = itemId === null ? this.#bySlot : [this.#item(itemId)];
    const hit = named.filter((item) => !item.over);
    if (itemId !== null && hit.length === 0) return;
    for (const item of hit) {
      item.over = true;
      clearTimeout(item.lastTimer);
    }
    const slot = itemId === null ? null : (hit[0] as Item).slot;
    this.#order.drop(slot);
    const id = this.#nextFlush++;
    this.#flushes.set(id, hit);
    this.#post({ type: "flush", slot, id, postedAtS: this.#context.currentTime });
    this.setGain(0, AFTER_FLUSH_MS);
  }

  /** How much of an item was played, in ms. */
  playedMs(itemId: string): number {
    return this.#items.get(itemId)?.heardMs ?? 0;
  }

  /** The same for every item, by its id. */
  get played(): Record<string, number> {
    return Object.fromEntries(this.#bySlot.map(({ itemId, heardMs }) => [itemId, heardMs]));
  }

  /** Which samples of each item were played here: from the first to before the last. */
  get ranges(): Record<string, readonly [number, number]> {
    const range = (item: Item): readonly [number, number] => [
      item.skippedSamples,
      item.skippedSamples + item.renderedSamples,
    ];
    return Object.fromEntries(this.#bySlot.map((item) => [item.itemId, range(item)]));
  }

  async close(): Promise<void> {
    clearTimeout(this.#blockedTimer);
    for (const item of this.#bySlot) clearTimeout(item.lastTimer);
    this.#node.port.onmessage = null;
    this.#post({ type: "close" });
    this.#letRest();
    if (this.#context.state !== "closed") await this.#context.close();
  }

  #receive(message: FromPlayback): void {
    if (message.type === "finished") return this.#finished(message.slot, message.playedSamples);
    this.#counters = message.counters;
    if (message.type === "position") return this.#position(message);
    this.#flushDelay = Math.max(this.#flushDelay, message.delaySamples);
    const played = new Map(message.slots.map(({ slot, playedSamples }) => [slot, playedSamples]));
    for (const item of this.#flushes.get(message.id) ?? []) {
      item.renderedSamples = played.get(item.slot) ?? item.renderedSamples;
      item.heardMs = Math.max(item.heardMs, this.#ms(item.skippedSamples + item.renderedSamples));
      this.emit("flushed", { itemId: item.itemId, playedMs: item.heardMs });
    }
    this.#flushes.delete(message.id);
    this.#tellIdle();
  }

  #position({ slot, playedSamples, queuedSamples, rms }: Extract<FromPlayback, { type: "position" }>): void {
    this.emit("level", rms);
    const item = this.#bySlot[slot];
    if (!item || item.over) return;
    this.#heard(item, playedSamples);
    if (queuedSamples === 0) this.#order.starved();
  }

  #heard(item: Item, renderedSamples: number): void {
    item.renderedSamples = renderedSamples;
    if (!item.started && renderedSamples > 0) {
      item.started = true;
      this.emit("started", { itemId: item.itemId });
    }
    const heardMs = Math.max(0, this.#ms(item.skippedSamples + renderedSamples) - this.#latencyMs());
    if (heardMs <= item.heardMs) return;
    item.heardMs = heardMs;
    this.emit("progress", { itemId: item.itemId, playedMs: heardMs });
  }

  #finished(slot: number, playedSamples: number): void {
    const item = this.#bySlot[slot];
    if (!item || item.over) return;
    this.#heard(item, playedSamples);
    item.lastTimer = setTimeout(() => {
      item.over = true;
      item.heardMs = this.#ms(item.skippedSamples + playedSamples);
      this.emit("finished", { itemId: item.itemId, playedMs: item.heardMs });
      this.#tellIdle();
    }, this.#latencyMs());
  }

  #tellIdle(): void {
    if (this.#bySlot.every((item) => item.over)) this.emit("idle", undefined);
  }

  #latencyMs(): number {
    // Safari has no outputLatency.
    const seconds = this.#context.outputLatency || this.#context.baseLatency || 0;
    return Math.round(seconds * 1000);
  }

  #ms(samples: number): number {
    return Math.floor((samples * 1000) / this.rateHz);
  }

  #item(itemId: string): Item {
    let item = this.#items.get(itemId);
    if (!item) {
      item = {
        itemId,
        slot: this.#bySlot.length,
        resampler: null,
        skippedSamples: 0,
        renderedSamples: 0,
        heardMs: 0,
        waiting: false,
        started: false,
        ended: false,
        over: false,
        lastTimer: undefined,
      };
      this.#items.set(itemId, item);
      this.#bySlot.push(item);
    }
    return item;
  }

  #post(message: ToPlayback, transfer: Transferable[] = []): void {
    this.#node.port.postMessage(message, transfer);
  }
}

/** The samples in their own buffer: a view into a frame cannot be transferred without its header. */
function own(pcm: Int16Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
  return pcm.byteLength === pcm.buffer.byteLength ? pcm : pcm.slice();
}

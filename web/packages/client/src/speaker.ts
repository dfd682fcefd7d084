/**
 * The agent's voice: plays items in order, stops at once when told, and knows what was heard.
 *
 * The worklet counts the samples it renders of each item. What it rendered is heard one output latency later. What is
 * rendered when a flush comes will still be heard, so the answer to a flush takes nothing off.
 */

import { Emitter } from "./emitter.ts";
import { keepSounding } from "./keep-sounding.ts";
import { toFloats, toPcm16Block } from "./pcm.ts";
import { PlayOrder } from "./play-order.ts";
import type { QueueCounters } from "./playback-queue.ts";
import { Resampler } from "./resampler.ts";
import type { FromPlayback, PlaybackOptions, ToPlayback } from "./worklets/messages.ts";

const FADE_MS = 5;
const REPORT_MS = 100;
/** Twice what the server lets wait unheard (4 MB of pcm16), so that this ring never overflows first. */
const CAPACITY_SAMPLES = 2 ** 22;

export interface SpeakerEvents {
  /** The first speech of an item came. */
  waiting: { itemId: string };
  /** The first samples of an item were played. */
  started: { itemId: string };
  progress: { itemId: string; playedMs: number };
  /** All of an item was heard. */
  finished: { itemId: string; playedMs: number };
  /** The answer to a flush, once for each item it hit: nothing more of it will be played. */
  flushed: { itemId: string; playedMs: number };
  /** Every item is over. */
  idle: undefined;
  /** Loudness of the voice (RMS, 0..1). */
  level: number;
}

export interface SpeakerCounters extends QueueCounters {
  /** Samples that the audio thread was ahead when a flush took effect, the largest so far. */
  flushDelay: number;
}

interface Item {
  readonly itemId: string;
  readonly slot: number;
  resampler: Resampler | null;
  /** Samples before the first one that came here: heard elsewhere, or lost. */
  skippedSamples: number;
  renderedSamples: number;
  heardMs: number;
  waiting: boolean;
  started: boolean;
  ended: boolean;
  over: boolean;
  lastTimer: ReturnType<typeof setTimeout> | undefined;
}

export class Speaker extends Emitter<SpeakerEvents> {
  readonly #context: AudioContext;
  readonly #letRest: () => void;
  readonly #node: AudioWorkletNode;
  readonly #items = new Map<string, Item>();
  readonly #bySlot: Item[] = [];
  readonly #order: PlayOrder;
  readonly #flushes = new Map<number, Item[]>();
  #counters: QueueCounters | null = null;
  #flushDelay = 0;
  #nextFlush = 0;

  /** Opens the output at `rateHz`. Call it in a click or key handler: browsers keep pages silent until then. */
  static async create(workletUrl: string, rateHz: number): Promise<Speaker> {
    const context = new AudioContext({ sampleRate: rateHz, latencyHint: "interactive" });
    try {
      await context.audioWorklet.addModule(workletUrl);
      const processorOptions: PlaybackOptions = {
        capacitySamples: CAPACITY_SAMPLES,
        fadeMs: FADE_MS,
        reportMs: REPORT_MS,
      };
      const node = new AudioWorkletNode(context, "realtime-playback", {
        numberOfInputs: 0,
        outputChannelCount: [1],
        processorOptions,
      });
      node.connect(context.destination);
      return new Speaker(context, node);
    } catch (error) {
      await context.close();
      throw error;
    }
  }

  private constructor(context: AudioContext, node: AudioWorkletNode) {
    super();
    this.#context = context;
    this.#node = node;
    this.#order = new PlayOrder({
      push: (slot, pcm) => this.#post({ type: "push", slot, pcm }, [pcm.buffer]),
      end: (slot) => this.#post({ type: "end", slot }),
    });
    node.port.onmessage = (message: MessageEvent<FromPlayback>) => this.#receive(message.data);
    this.#letRest = keepSounding(context);
  }

  get rateHz(): number {
    return this.#context.sampleRate;
  }

  get counters(): SpeakerCounters | null {
    return this.#counters && { ...this.#counters, flushDelay: this.#flushDelay };
  }

  /** Queues speech of an item behind what waits. Ignored once the item is over. Takes over `pcm`. */
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

  /** `samples` of an item will not come here: the next ones count as behind them. */
  skip(itemId: string, samples: number, rateHz: number): void {
    const item = this.#item(itemId);
    item.skippedSamples += Math.round((samples * this.rateHz) / rateHz);
    item.heardMs = this.#ms(item.skippedSamples + item.renderedSamples);
  }

  /** Silence at once, until `resume`: what waits is kept, and goes on at the very next sample. */
  pause(): void {
    this.#post({ type: "pause" });
  }

  resume(): void {
    this.#post({ type: "resume" });
  }

  /** Browsers let a page sound after a click or a key only: call it then. */
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

  /** Silence at once: drops what waits of the item (null: of all items). Later speech of them is ignored. */
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
  }

  /** How much of an item was heard, in ms. */
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
    // Safari knows no outputLatency.
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

/** Samples in a buffer of their own: a view into a frame cannot be transferred without the frame's header. */
function own(pcm: Int16Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
  return pcm.byteLength === pcm.buffer.byteLength ? pcm : pcm.slice();
}

/**
 * The agent's voice: plays items in order, stops at once on a flush, and knows how much was played.
 *
 * The worklet counts the samples that it renders of each item. A rendered sample sounds one output latency later. What is
 * rendered by the time of a flush still sounds, so the position after a flush subtracts no latency.
 */
import { Emitter } from "./emitter.js";
import type { QueueCounters } from "./playback-queue.js";
export interface SpeakerEvents {
    /** The first speech of an item came. */
    waiting: {
        itemId: string;
    };
    /** The first samples of an item were played. */
    started: {
        itemId: string;
    };
    progress: {
        itemId: string;
        playedMs: number;
    };
    /** All of an item was played. */
    finished: {
        itemId: string;
        playedMs: number;
    };
    /** A flush took effect, once for each item: nothing more of it plays. */
    flushed: {
        itemId: string;
        playedMs: number;
    };
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
export declare class SpeakerOutput extends Emitter<SpeakerEvents> {
    #private;
    /** Opens the output at `rateHz`. Call it in a click or key handler: browsers keep pages silent until then. */
    static create(workletUrl: string, rateHz: number): Promise<SpeakerOutput>;
    private constructor();
    get rateHz(): number;
    get counters(): SpeakerCounters | null;
    /** Queues speech of an item. Ignored once the item is over. Takes over `pcm`. */
    play(itemId: string, pcm: Int16Array<ArrayBuffer>, rateHz: number): void;
    /** Counts `samples` of an item that do not come here, before the next ones. */
    skip(itemId: string, samples: number, rateHz: number): void;
    /** Plays silence at once, until `resume` goes on with the very next sample. */
    pause(): void;
    resume(): void;
    /** Plays at `gainDb` from now on, reached over `rampMs`; a flush ends it. */
    setGain(gainDb: number, rampMs: number): void;
    /** How loud the voice is, from 0 (silent) to 1 (as it came). */
    get volume(): number;
    set volume(volume: number);
    /** Plays on another loudspeaker from now on; "": the system's choice. Throws DOMException for an unknown one. */
    useDevice(deviceId: string): Promise<void>;
    /** Lets the page sound. Call it in a click or key handler: browsers allow it there only. */
    unlock(): void;
    /** No more speech of this item will come. */
    end(itemId: string): void;
    /** Plays silence at once: drops what waits of the item (null: of all items). Ignores later speech of them. */
    flush(itemId: string | null): void;
    /** How much of an item was played, in ms. */
    playedMs(itemId: string): number;
    /** The same for every item, by its id. */
    get played(): Record<string, number>;
    /** Which samples of each item were played here: from the first to before the last. */
    get ranges(): Record<string, readonly [number, number]>;
    close(): Promise<void>;
}

/** The messages between a page and its worklets. Types only. */
import type { QueueCounters } from "../playback-queue.ts";
import type { LaneCounters } from "../jitter-lane.ts";
export interface CaptureOptions {
    /** Rate of the frames, in Hz. */
    rateHz: number;
    frameMs: number;
}
/** One frame of pcm16 (its buffer is transferred) and its loudness (RMS, 0..1). */
export interface CaptureFrame {
    pcm: Int16Array<ArrayBuffer>;
    rms: number;
}
export interface PlaybackOptions {
    capacitySamples: number;
    fadeMs: number;
    reportMs: number;
}
export type ToPlayback = {
    type: "push";
    slot: number;
    pcm: Int16Array<ArrayBuffer>;
} | {
    type: "end";
    slot: number;
}
/** `postedAtS` is the context's time when the page posted this. */
 | {
    type: "flush";
    slot: number | null;
    id: number;
    postedAtS: number;
}
/** Plays silence and keeps what waits; answered by a position. */
 | {
    type: "pause";
} | {
    type: "resume";
} | {
    type: "close";
};
export type FromPlayback = 
/** The position of the voice; `slot` -1: nothing waits. Sent every `reportMs` while something plays. */
{
    type: "position";
    slot: number;
    playedSamples: number;
    queuedSamples: number;
    rms: number;
    counters: QueueCounters;
} | {
    type: "finished";
    slot: number;
    playedSamples: number;
} | {
    type: "flushed";
    id: number;
    slots: {
        slot: number;
        playedSamples: number;
    }[];
    /** Samples between the posting and the effect of the flush. */
    delaySamples: number;
    counters: QueueCounters;
};
export interface VoicesOptions {
    /** How long a voice is held back, and how much of it may wait. */
    holdMs: number;
    maxMs: number;
    reportMs: number;
}
export type ToVoices = {
    type: "push";
    lane: string;
    pcm: Int16Array<ArrayBuffer>;
} | {
    type: "remove";
    lane: string;
} | {
    type: "close";
};
/** Loudness of each voice since the last report (RMS, 0..1), and its counters since the beginning. */
export interface FromVoices {
    voices: {
        lane: string;
        rms: number;
        counters: LaneCounters;
    }[];
}

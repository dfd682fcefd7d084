/**
 * A jitter buffer for one human's voice: holds it back a little, so that late frames leave no gap, and never for long.
 * Pure; `mixInto` allocates nothing.
 */
export interface LaneCounters {
    /** Samples that were played. */
    played: number;
    /** Samples dropped because too many waited: the voice would fall behind. */
    dropped: number;
    /** Times the buffer ran dry during speech. */
    underruns: number;
}
export declare class JitterLane {
    #private;
    readonly counters: LaneCounters;
    /** Speech begins `holdSamples` after its first sample came; at most `maxSamples` wait. */
    constructor(holdSamples: number, maxSamples: number);
    get queuedSamples(): number;
    push(pcm: Int16Array): void;
    /** Adds the next samples to `output`. Returns the sum of their squares, for a meter. */
    mixInto(output: Float32Array): number;
}

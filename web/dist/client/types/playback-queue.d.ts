/**
 * What the speaker still has to play: a ring of pcm16 samples and, in playing order, runs of samples of one item each.
 *
 * Pure, runs in the playback worklet. `render()` allocates nothing; `push`, `end` and `flush` are called between renders.
 * The speaker names items by small numbers ("slots"). Of a flushed slot at most the fade still plays, and later samples
 * are refused.
 */
export interface QueueCounters {
    /** Samples of items rendered, all and audible ones. */
    rendered: number;
    audible: number;
    /** Samples rendered of items after their flush; never more than the fade for each flush. */
    afterFlush: number;
    flushes: number;
    /** Samples refused because the ring was full, or because their item was flushed. */
    overflowed: number;
    refused: number;
    /** Times an item ran dry before its end. */
    underruns: number;
}
export declare class PlaybackQueue {
    #private;
    readonly counters: QueueCounters;
    /** `finished` is called when the last sample of an ended slot was rendered. */
    constructor(capacitySamples: number, fadeSamples: number, finished?: (slot: number, playedSamples: number) => void);
    /** The slot whose samples come next; -1 where nothing waits. */
    get currentSlot(): number;
    get queuedSamples(): number;
    played(slot: number): number;
    /** Queues samples behind everything that waits. What does not fit is dropped and counted. */
    push(slot: number, pcm: Int16Array): void;
    /** No more samples of `slot` will come. */
    end(slot: number): void;
    /**
     * Drops what waits of `slot` (null: of all), after a fade of what plays. Returns the samples of each slot hit that will
     * have been played when the fade is over.
     */
    flush(slot: number | null): {
        slot: number;
        playedSamples: number;
    }[];
    /** Plays silence until `resume`; everything keeps its place. */
    pause(): void;
    resume(): void;
    /** Fills `output` with the next samples, else with silence. Allocates nothing. */
    render(output: Float32Array): void;
}
